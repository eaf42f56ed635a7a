//! One end of a TCP connection of `smoltcp`, driven by the simulator.

use crate::device::Queues;
use core::fmt;
use smoltcp::iface::{Config as Interfaces, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State as Tcp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, Ipv4Address, Ipv4Packet, TcpPacket, TcpSeqNumber};
use thalweg_stack_contract::{Config, Connection, Ecn, Failure, Side, State, Stats, Time, Transmit, random};

/// Addresses and ports of client and server.
const CLIENT: (Ipv4Address, u16) = (Ipv4Address::new(10, 0, 0, 1), 49_152);
const SERVER: (Ipv4Address, u16) = (Ipv4Address::new(10, 0, 0, 2), 5001);

const PICOS_PER_MICRO: u64 = 1_000_000;

/// One end of a connection: a host with one socket.
pub struct Smoltcp {
    side: Side,
    queues: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The client was connected.
    was_open: bool,
    /// The client has ended its stream.
    is_ending: bool,
    /// SND.MAX: end of the data sent so far; data before it is a retransmission.
    snd_max: Option<TcpSeqNumber>,
    retransmissions: u64,
}

impl fmt::Debug for Smoltcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Smoltcp({})", self.sockets.get::<Socket<'_>>(self.socket).state())
    }
}

impl Smoltcp {
    /// Opens an end with this controller.
    ///
    /// # Panics
    ///
    /// If the stack refuses its addresses.
    pub fn new(side: Side, config: &Config, control: CongestionControl, now: Time) -> Self {
        let now = smoltcp_instant(now);
        let mut queues = Queues::new(config.mtu as usize, config.gso as usize);
        let mut interfaces = Interfaces::new(HardwareAddress::Ip);
        interfaces.random_seed = random::random_bits().unwrap_or_default();
        let mut interface = Interface::new(interfaces, &mut queues, now);
        let own = if side == Side::Client { CLIENT } else { SERVER };
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(own.0.into(), 24)).expect("there is room for an address");
        });
        let buffer = || SocketBuffer::new(vec![0; config.buffer as usize]);
        // One end of each only receives, and the other only sends.
        let small_buffer = || SocketBuffer::new(vec![0; 4096]);
        let mut socket = match side {
            Side::Client => Socket::new(small_buffer(), buffer()),
            Side::Server => Socket::new(buffer(), small_buffer()),
        };
        socket.set_congestion_control(control);
        match side {
            Side::Client => socket.connect(interface.context(), SERVER, CLIENT).expect("addresses are valid"),
            Side::Server => socket.listen(SERVER.1).expect("the port is valid"),
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self {
            side,
            queues,
            interface,
            sockets,
            socket,
            was_open: false,
            is_ending: false,
            snd_max: None,
            retransmissions: 0,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Lets the stack process received packets and send others, as many as the interface takes.
    fn poll(&mut self, now: Time) {
        let now = smoltcp_instant(now);
        let result = self.interface.poll(now, &mut self.queues, &mut self.sockets);
        if result == PollResult::SocketStateChanged {
            self.was_open |= self.socket().may_send();
        }
    }
}

impl Smoltcp {
    /// Counts a sent packet if it repeats data: the stack has no counters.
    fn count_packet(&mut self, packet: &[u8]) {
        let Ok(packet) = Ipv4Packet::new_checked(packet) else { return };
        let Ok(segment) = TcpPacket::new_checked(packet.payload()) else { return };
        let length = segment.payload().len();
        if length == 0 {
            return;
        }
        let (start, end) = (segment.seq_number(), segment.seq_number() + length);
        match self.snd_max {
            Some(snd_max) if start < snd_max => self.retransmissions += 1,
            _ => self.snd_max = Some(end),
        }
    }
}

fn smoltcp_instant(time: Time) -> Instant {
    Instant::from_micros(i64::try_from(time.as_picos() / PICOS_PER_MICRO).unwrap_or(i64::MAX))
}

impl Connection for Smoltcp {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        self.queues.push(datagram);
        self.poll(now);
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let packet = self.queues.pop().or_else(|| {
            self.poll(now);
            self.queues.pop()
        })?;
        self.count_packet(&packet);
        buffer.extend(packet);
        Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false })
    }

    fn timeout(&mut self, now: Time) -> Option<Time> {
        if self.queues.is_full() {
            // The stack continues once these packets have left.
            return None;
        }
        let at = self.interface.poll_at(smoltcp_instant(now), &self.sockets)?;
        Some(Time::from_picos(
            u64::try_from(at.total_micros()).unwrap_or_default().saturating_mul(PICOS_PER_MICRO),
        ))
    }

    fn on_timeout(&mut self, now: Time) {
        self.poll(now);
    }

    fn write(&mut self, _now: Time, bytes: &'static [u8]) -> usize {
        self.socket().send_slice(bytes).unwrap_or_default()
    }

    fn finish(&mut self, _now: Time) {
        self.is_ending = true;
        self.socket().close();
    }

    fn read(&mut self, _now: Time, max: usize, take: &mut dyn FnMut(&[u8])) {
        let mut left = max;
        while left > 0 {
            let taken = self.socket().recv(|bytes| {
                let length = bytes.len().min(left);
                take(&bytes[..length]);
                (length, length)
            });
            match taken {
                Ok(length) if length > 0 => left -= length,
                _ => break,
            }
        }
        if self.socket().state() == Tcp::CloseWait && !self.socket().can_recv() {
            self.socket().close();
        }
    }

    fn close(&mut self, _now: Time) {}

    fn state(&mut self) -> State {
        let state = self.sockets.get::<Socket<'_>>(self.socket).state();
        match (self.side, state) {
            // The server has acknowledged the FIN.
            (Side::Client, Tcp::FinWait2 | Tcp::TimeWait) if self.is_ending => State::Finished,
            (Side::Client, Tcp::Closed) if self.was_open && self.is_ending => State::Finished,
            (Side::Client, Tcp::Closed) => State::Failed(Failure::ClosedByPeer),
            (Side::Server, Tcp::Closed) => State::Closed,
            _ => State::Open,
        }
    }

    fn stats(&self) -> Stats {
        Stats { lost: self.retransmissions, ..Stats::default() }
    }
}
