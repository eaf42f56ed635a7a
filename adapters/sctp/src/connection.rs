//! One end of an SCTP association of `sctp-proto`, driven by the simulator.

use bytes::Bytes;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use rand_0_9 as rand;
use sctp_proto::{
    Association, AssociationError, AssociationHandle, Chunks, ClientConfig, DatagramEvent, Endpoint,
    EndpointConfig, Event, Payload, PayloadProtocolIdentifier, ServerConfig, Stream, StreamId,
    Transmit as Packets, TransportConfig,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use thalweg_stack_clock as clock;
use thalweg_stack_contract::{
    Config, Connection, Ecn, Failure, Side, State, Stats, Time, Transmit, exchange_events, random,
};

/// Address of either end: there is one peer.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 9899);

/// The stream with the application's data.
const STREAM: StreamId = 0;
/// Maximum size of a message in bytes. The receiver passes on whole messages only; browsers send data channels in such.
const MESSAGE: usize = 16_384;
/// Size of the common header of packets, and of a chunk's header, in bytes (RFC 9260, section 3).
const COMMON_HEADER: usize = 12;
const CHUNK_HEADER: usize = 4;
/// Type of chunks with data.
const DATA: u8 = 0;

/// One end of an association, with an endpoint of its own.
pub struct End {
    endpoint: Endpoint,
    /// `None` at a server until the first packet.
    association: Option<(AssociationHandle, Association)>,
    /// Maximum number of unacknowledged bytes at the client.
    buffer: usize,
    state: State,
    /// True once the association has been established, and once the stream has ended.
    is_connected: bool,
    is_ending: bool,
    /// Packets of one poll, and true if those taken so far have only new data.
    outgoing: VecDeque<Bytes>,
    is_new_data: bool,
    /// A message that was passed on in part.
    unread: Option<Chunks>,
    /// The highest transmission sequence number sent; data up to it is a retransmission.
    sent: Option<u32>,
    retransmissions: u64,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End")
            .field("state", &self.state)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Returns the instant of a simulated time, on the clock that the stack reads.
fn instant_of(now: Time) -> Instant {
    clock::with_simulated_clock(now, Instant::now)
}

/// Lets the generator of this thread continue with numbers of this connection: it may have those of another.
fn reseed_thread_generator() {
    // The first use in a thread draws a seed, which must not depend on the thread.
    random::with_generator(&mut random::Generator::new(0), || drop(rand::rng()));
    rand::rng().reseed().expect("the connection has random numbers");
}

impl End {
    /// Opens an end.
    ///
    /// # Panics
    ///
    /// If the stack refuses its own defaults.
    pub fn new(side: Side, config: &Config, now: Time) -> Self {
        reseed_thread_generator();
        // At most 1 GiB.
        let transport =
            Arc::new(TransportConfig::default().with_max_receive_buffer_size(config.buffer as u32));
        let server = (side == Side::Server).then(|| {
            let mut server = ServerConfig::new();
            server.transport = Arc::clone(&transport);
            Arc::new(server)
        });
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), server);
        let association = (side == Side::Client).then(|| {
            let mut client = ClientConfig::new();
            client.transport = transport;
            clock::with_simulated_clock(now, || endpoint.connect(client, PEER)).expect("the address is valid")
        });
        Self {
            endpoint,
            association,
            buffer: config.buffer as usize,
            state: State::Open,
            is_connected: false,
            is_ending: false,
            outgoing: VecDeque::new(),
            is_new_data: true,
            unread: None,
            sent: None,
            retransmissions: 0,
        }
    }

    /// Takes the events for the endpoint and for the application.
    fn process_events(&mut self) {
        let Some((handle, association)) = &mut self.association else { return };
        exchange_events!(self.endpoint, *handle, association, poll_endpoint_event);
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => {
                    self.is_connected = true;
                    if association.side().is_client() {
                        // Fails only if the stream exists.
                        let _ = association.open_stream(STREAM, PayloadProtocolIdentifier::Binary);
                    }
                }
                Event::HandshakeFailed { .. } => self.state = State::Failed(Failure::NoAnswer),
                Event::AssociationLost { reason } => self.state = state_after_loss(self.state, &reason),
                _ => {}
            }
        }
    }

    /// Returns the stream, once it exists.
    fn stream(&mut self) -> Option<Stream<'_>> {
        self.association.as_mut()?.1.stream(STREAM).ok()
    }

    /// Returns the number of bytes that wait or are in flight.
    fn buffered(&mut self) -> usize {
        self.stream().and_then(|stream| stream.buffered_amount().ok()).unwrap_or_default()
    }

    /// Queues the packets of one transmission.
    fn queue(&mut self, packets: Packets) {
        if let Payload::RawEncode(packets) = packets.payload {
            self.outgoing.extend(packets);
        }
    }

    /// Counts the chunks of a sent packet that repeat data: the stack does not count them.
    fn count(&mut self, packet: &[u8]) {
        let mut chunks = packet.get(COMMON_HEADER..).unwrap_or_default();
        while let Some((header, rest)) = chunks.split_first_chunk::<CHUNK_HEADER>() {
            let [kind, _, high, low] = *header;
            match rest.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) {
                // Serial number arithmetic (RFC 1982).
                Some(number)
                    if kind == DATA
                        && self.sent.is_none_or(|sent| number.wrapping_sub(sent).cast_signed() > 0) =>
                {
                    self.sent = Some(number);
                }
                _ => {
                    self.is_new_data = false;
                    self.retransmissions += u64::from(kind == DATA);
                }
            }
            // Chunks end at multiples of four bytes; the length includes the header.
            let length = usize::from(u16::from_be_bytes([high, low])).next_multiple_of(4);
            chunks = chunks.get(length.max(CHUNK_HEADER)..).unwrap_or_default();
        }
    }
}

/// Returns the state after an association was lost.
fn state_after_loss(before: State, reason: &AssociationError) -> State {
    match reason {
        _ if before == State::Finished => before,
        AssociationError::ApplicationClosed
        | AssociationError::LocallyClosed
        | AssociationError::AssociationClosed => State::Closed,
        AssociationError::TimedOut => State::Failed(Failure::NoAnswer),
        _ => State::Failed(Failure::ClosedByPeer),
    }
}

impl Connection for End {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        if !self.is_connected {
            reseed_thread_generator();
        }
        let now = instant_of(now);
        match self.endpoint.handle(now, PEER, None, None, Bytes::copy_from_slice(datagram)) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            Some((handle, DatagramEvent::NewAssociation(association))) if self.association.is_none() => {
                self.association = Some((handle, association));
            }
            Some(_) | None => {}
        }
        self.process_events();
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.outgoing.is_empty() {
            self.is_new_data = true;
            if let Some(packets) = self.endpoint.poll_transmit() {
                self.queue(packets);
            }
            if let Some((_, association)) = &mut self.association
                && let Some(packets) = association.poll_transmit(instant_of(now))
            {
                self.queue(packets);
            }
        }
        let packet = self.outgoing.pop_front()?;
        self.count(&packet);
        buffer.extend_from_slice(&packet);
        // One poll gives all new data that may leave, and looks up each packet in flight four times. After a timeout each poll
        // gives another window of retransmissions.
        let is_last = self.is_new_data && self.outgoing.is_empty();
        Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last })
    }

    fn timeout(&mut self, _now: Time) -> Option<Time> {
        self.association
            .as_ref()
            .and_then(|(_, association)| association.poll_timeout())
            .map(clock::simulated_time_of)
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(instant_of(now));
        }
        self.process_events();
    }

    fn write(&mut self, _now: Time, bytes: &'static [u8]) -> usize {
        let message = &bytes[..bytes.len().min(MESSAGE)];
        if !self.is_connected || self.buffered() + message.len() > self.buffer {
            return 0;
        }
        let binary = PayloadProtocolIdentifier::Binary;
        self.stream().and_then(|mut stream| stream.write_with_ppi(message, binary).ok()).unwrap_or_default()
    }

    fn finish(&mut self, _now: Time) {
        self.is_ending = true;
    }

    fn read(&mut self, _now: Time, max: usize, take: &mut dyn FnMut(&[u8])) {
        let mut left = max;
        while left > 0 {
            if self.unread.is_none() {
                self.unread = self.stream().and_then(|mut stream| stream.read().ok().flatten());
            }
            let Some(message) = &mut self.unread else { break };
            match message.next(left) {
                Some(chunk) => {
                    take(&chunk.bytes);
                    left -= chunk.bytes.len();
                }
                None => self.unread = None,
            }
        }
        self.process_events();
    }

    fn close(&mut self, _now: Time) {
        if let Some((_, association)) = &mut self.association {
            // Fails only if the association is not established.
            let _ = association.shutdown();
        }
    }

    fn state(&mut self) -> State {
        // Streams have no end in SCTP: the last byte is acknowledged.
        if self.is_ending && self.is_connected && self.state == State::Open && self.buffered() == 0 {
            self.state = State::Finished;
        }
        self.state
    }

    fn stats(&self) -> Stats {
        let timeouts =
            self.association.as_ref().map_or(0, |(_, association)| association.stats().get_num_t3timeouts());
        Stats { lost: self.retransmissions, timeouts, ..Stats::default() }
    }
}
