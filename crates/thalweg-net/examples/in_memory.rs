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
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Deterministic random bytes.
struct SeededEntropy(RandomStream);

impl Entropy for SeededEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.next_u64() as u8;
        }
    }
}

/// A host: an endpoint and its application.
struct Host {
    endpoint: Endpoint,
    address: SocketAddr,
    handle: Option<Handle>,
    unconsumed_bytes: u64,
    received_bytes: u64,
    is_closed: bool,
    batch: Batch,
    sent_datagrams: u64,
}

impl Host {
    fn new(config: EndpointConfig, address: &str) -> Self {
        let entropy = SeededEntropy(RandomStream::new(1, address, 0));
        Self {
            endpoint: Endpoint::new(Time::ZERO, config, Box::new(entropy)),
            address: address.parse().expect("an address"),
            handle: None,
            unconsumed_bytes: 0,
            received_bytes: 0,
            is_closed: false,
            batch: Batch::new(),
            sent_datagrams: 0,
        }
    }

    /// Writes as much of `to_write` as the endpoint accepts, and reads the delivered data.
    fn run_application(&mut self, now: Time, to_write: &mut VecDeque<Slice>) {
        while let Some((handle, event)) = self.endpoint.event() {
            match event {
                EndpointEvent::Accepted { .. } | EndpointEvent::Connected { .. } => {
                    self.handle = Some(handle);
                    self.endpoint.authorise(handle);
                }
                EndpointEvent::Session(SessionEvent::Delivered(data)) => {
                    self.unconsumed_bytes += u64::from(data.len());
                }
                EndpointEvent::Session(
                    SessionEvent::PeerStreamEnded { .. } | SessionEvent::OwnStreamAcknowledged,
                ) => {
                    self.is_closed = true;
                }
                _ => {}
            }
        }
        let Some(handle) = self.handle else { return };
        let Some(session) = self.endpoint.session(handle) else { return };
        let mut needs_poll = self.unconsumed_bytes > 0;
        if needs_poll {
            self.received_bytes += self.unconsumed_bytes;
            session.consumed(now, std::mem::take(&mut self.unconsumed_bytes));
        }
        while session.writable_bytes() > 0
            && let Some(block) = to_write.pop_front()
        {
            session.write(now, block);
            needs_poll = true;
            if to_write.is_empty() {
                session.finish(now);
            }
        }
        if needs_poll {
            self.endpoint.schedule_poll(handle);
        }
    }

    /// Sends due packets, a few batches at most, to the other host. Returns the time of the next event.
    fn send(&mut self, now: Time, to: &mut Self) -> Option<Time> {
        for _ in 0..MAX_POLLS_PER_STEP {
            self.batch.clear();
            let next = self.endpoint.poll(now, &mut self.batch);
            for run in self.batch.runs() {
                let bytes: Arc<[u8]> = Arc::from(self.batch.bytes(run));
                self.sent_datagrams += run.segments() as u64;
                let arrival = Arrival { from: self.address, ecn: run.purpose.ecn() };
                to.endpoint.receive(
                    now,
                    arrival,
                    run.segment_bytes,
                    DatagramBuffer(bytes),
                    |DatagramBuffer(bytes)| Slice::new(bytes),
                );
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
struct DatagramBuffer(Arc<[u8]>);

impl AsMut<[u8]> for DatagramBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.0).expect("nobody else has it yet")
    }
}

/// Maximum number of batches that a host sends in a step.
const MAX_POLLS_PER_STEP: u32 = 4;

/// Bytes per write.
const WRITE_BYTES: usize = 256 << 10;

/// Number of writes.
const WRITE_COUNT: usize = 80;

fn main() {
    let identity = |number| Identity::from_secret([number; 32]);
    // Datagram size of an Ethernet path.
    let config =
        |number| EndpointConfig { max_datagram_bytes: 1472, ..EndpointConfig::new(identity(number)) };
    let listen = Some(Listen::new(Trust::Anyone, ["test"]));
    let mut client = Host::new(config(1), "192.0.2.1:1000");
    let mut server = Host::new(EndpointConfig { listen, ..config(2) }, "192.0.2.2:2000");
    let mut now = Time::ZERO + Duration::from_secs(1);
    let connect = Connect {
        remote: server.address,
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().expect("it is listed"),
        recorder: None,
    };
    client.handle = Some(client.endpoint.connect(now, connect));
    let block = Slice::new(vec![7; WRITE_BYTES]);
    let mut to_write: VecDeque<Slice> = std::iter::repeat_n(block, WRITE_COUNT).collect();
    let mut empty_queue = VecDeque::new();
    while !(client.is_closed && server.is_closed) {
        client.run_application(now, &mut to_write);
        let next_poll_times = [client.send(now, &mut server), server.send(now, &mut client)];
        server.run_application(now, &mut empty_queue);
        let earliest_step = now + MIN_STEP;
        let next = next_poll_times.into_iter().map(|at| at.unwrap_or(earliest_step)).min();
        now = next.unwrap_or(earliest_step).max(earliest_step).min(now + MAX_STEP);
    }
    assert_eq!(server.received_bytes, (WRITE_BYTES * WRITE_COUNT) as u64, "all of it arrives");
    println!(
        "{} bytes in {} packets, {} back, by {now}",
        server.received_bytes, client.sent_datagrams, server.sent_datagrams
    );
}

/// Minimum step of time.
const MIN_STEP: Duration = Duration::from_micros(20);

/// Maximum step of time.
const MAX_STEP: Duration = Duration::from_millis(100);
