//! Transfer between two endpoints in one thread, without sockets and in simulated time. The work is the same in every
//! run, so `benches/instruction_counts.py` can count its instructions. The program prints the amount of work.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{
    Arrival, Connect, Endpoint, EndpointConfig, EndpointEvent, Handle, Listen, Trust,
};
use thalweg_net::identity::{Entropy, Identity};
use thalweg_net::session::{PollResult, SessionEvent};
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Duration, Time};

/// Deterministic random bytes.
struct Seeded(Stream);

impl Entropy for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.bits() as u8;
        }
    }
}

/// An endpoint and its application.
struct End {
    endpoint: Endpoint,
    address: SocketAddr,
    handle: Option<Handle>,
    unread: u64,
    received: u64,
    over: bool,
    batch: Batch,
    packets: u64,
}

impl End {
    fn new(config: EndpointConfig, address: &str) -> Self {
        let entropy = Seeded(Stream::new(1, address, 0));
        Self {
            endpoint: Endpoint::new(Time::ZERO, config, Box::new(entropy)),
            address: address.parse().expect("an address"),
            handle: None,
            unread: 0,
            received: 0,
            over: false,
            batch: Batch::new(),
            packets: 0,
        }
    }

    /// Writes as much of `to_write` as the endpoint accepts, and reads the delivered data.
    fn application(&mut self, now: Time, to_write: &mut VecDeque<Slice>) {
        while let Some((handle, event)) = self.endpoint.event() {
            match event {
                EndpointEvent::Accepted { .. } | EndpointEvent::Connected { .. } => {
                    self.handle = Some(handle);
                    self.endpoint.authorise(handle);
                }
                EndpointEvent::Session(SessionEvent::Delivered(data)) => self.unread += u64::from(data.len()),
                EndpointEvent::Session(SessionEvent::Ended { .. } | SessionEvent::Finished) => {
                    self.over = true;
                }
                _ => {}
            }
        }
        let Some(handle) = self.handle else { return };
        let Some(session) = self.endpoint.session(handle) else { return };
        let mut touched = self.unread > 0;
        if touched {
            self.received += self.unread;
            session.consumed(now, std::mem::take(&mut self.unread));
        }
        while session.writable() > 0
            && let Some(piece) = to_write.pop_front()
        {
            session.write(now, piece);
            touched = true;
            if to_write.is_empty() {
                session.finish(now);
            }
        }
        if touched {
            self.endpoint.schedule_poll(handle);
        }
    }

    /// Sends due packets, a few batches at most, to the other end. Returns the time of the next event.
    fn send(&mut self, now: Time, to: &mut Self) -> Option<Time> {
        for _ in 0..4 {
            self.batch.clear();
            let next = self.endpoint.poll(now, &mut self.batch);
            for run in self.batch.runs() {
                let bytes: Arc<[u8]> = Arc::from(self.batch.bytes(run));
                self.packets += run.segments() as u64;
                let arrival = Arrival { from: self.address, ecn: run.purpose.ecn() };
                to.endpoint.receive(now, arrival, run.segment, SharedBuffer(bytes), |SharedBuffer(bytes)| {
                    Slice::new(bytes)
                });
            }
            match next {
                PollResult::At(at) if self.batch.is_empty() => return Some(at),
                _ => {}
            }
        }
        None
    }
}

/// Coalesced datagrams in memory that is shared after decryption.
struct SharedBuffer(Arc<[u8]>);

impl AsMut<[u8]> for SharedBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.0).expect("nobody else has it yet")
    }
}

/// Bytes per write.
const PIECE: usize = 256 << 10;

/// Number of writes.
const PIECES: usize = 80;

fn main() {
    let identity = |number| Identity::from_secret([number; 32]);
    // Datagram size of an Ethernet path.
    let config = |number| EndpointConfig { largest: 1472, ..EndpointConfig::client(identity(number)) };
    let listen = Some(Listen::new(Trust::Anyone, ["test"]));
    let mut client = End::new(config(1), "192.0.2.1:1000");
    let mut server = End::new(EndpointConfig { listen, ..config(2) }, "192.0.2.2:2000");
    let mut now = Time::ZERO + Duration::from_secs(1);
    let connect = Connect {
        remote: server.address,
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().expect("it is listed"),
        recorder: None,
    };
    client.handle = Some(client.endpoint.connect(now, connect));
    let piece = Slice::new(vec![7; PIECE]);
    let mut to_write: VecDeque<Slice> = std::iter::repeat_n(piece, PIECES).collect();
    let mut nothing = VecDeque::new();
    while !(client.over && server.over) {
        client.application(now, &mut to_write);
        let due = [client.send(now, &mut server), server.send(now, &mut client)];
        server.application(now, &mut nothing);
        let min = now + ROUND;
        let next = due.into_iter().map(|at| at.unwrap_or(min)).min();
        now = next.unwrap_or(min).max(min).min(now + MAX_PAUSE);
    }
    assert_eq!(server.received, (PIECE * PIECES) as u64, "all of it arrives");
    println!("{} bytes in {} packets, {} back, by {now}", server.received, client.packets, server.packets);
}

/// Duration of a round while there is work.
const ROUND: Duration = Duration::from_micros(20);

/// Maximum interval without a poll.
const MAX_PAUSE: Duration = Duration::from_millis(100);
