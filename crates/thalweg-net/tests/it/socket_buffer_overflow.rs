//! Two hosts separated only by processing delays: packets wait in the receiver's socket buffer, and are lost when it is
//! full.

use crate::endpoint_pair::{SeededEntropy, client_config, connect, server_config};
use std::collections::VecDeque;
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, Endpoint, EndpointConfig, EndpointEvent, Handle};
use thalweg_net::session::SessionEvent;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Socket buffer size, in bytes.
const BUFFER: usize = 8 << 20;

/// Duration of one pass of a host, which sends a batch of 64 KiB: 3.2 GB per second.
const PASS: Duration = Duration::from_micros(20);

/// Transfer size, in bytes.
const LENGTH: u64 = 100_000_000;

struct Host {
    endpoint: Endpoint,
    address: SocketAddr,
    handle: Option<Handle>,
    to_write: u64,
    received: u64,
    is_finished: bool,
    buffer: VecDeque<(Ecn, Vec<u8>)>,
    held: usize,
    dropped: usize,
}

impl Host {
    fn new(config: EndpointConfig, address: &str) -> Self {
        let entropy = SeededEntropy(RandomStream::new(1, address, 0));
        Self {
            endpoint: Endpoint::new(Time::ZERO, config, Box::new(entropy)),
            address: address.parse().unwrap(),
            handle: None,
            to_write: 0,
            received: 0,
            is_finished: false,
            buffer: VecDeque::new(),
            held: 0,
            dropped: 0,
        }
    }

    /// Receives from the socket buffer, serves the application, and sends a batch to the other.
    fn pass(&mut self, now: Time, other: &mut Self) {
        while let Some((ecn, mut bytes)) = self.buffer.pop_front() {
            self.held -= bytes.len();
            let (arrival, stride) = (Arrival { from: other.address, ecn }, bytes.len());
            self.endpoint.receive(now, arrival, stride, &mut bytes, |bytes| Slice::new(&bytes[..]));
        }
        self.application(now);
        let mut batch = Batch::new();
        // The next pass follows soon in any case.
        let _ = self.endpoint.poll(now, &mut batch);
        for (run, bytes) in batch.datagrams() {
            if other.held + bytes.len() > BUFFER {
                other.dropped += 1;
            } else {
                other.held += bytes.len();
                other.buffer.push_back((run.purpose.ecn(), bytes.to_vec()));
            }
        }
    }

    fn application(&mut self, now: Time) {
        let mut read = 0;
        while let Some((handle, event)) = self.endpoint.event() {
            match event {
                EndpointEvent::Accepted { .. } | EndpointEvent::Connected { .. } => {
                    self.handle = Some(handle);
                    self.endpoint.authorise(handle);
                }
                EndpointEvent::Session(SessionEvent::Delivered(data)) => read += u64::from(data.len()),
                EndpointEvent::Session(SessionEvent::OwnStreamAcknowledged) => self.is_finished = true,
                _ => {}
            }
        }
        self.received += read;
        let Some(handle) = self.handle else { return };
        let Some(session) = self.endpoint.session(handle) else { return };
        if read > 0 {
            session.consumed(now, read);
        }
        while self.to_write > 0 && session.writable_bytes() > 0 {
            let piece = self.to_write.min(1 << 18);
            session.write(now, Slice::new(vec![7; piece as usize]));
            self.to_write -= piece;
            if self.to_write == 0 {
                session.finish(now);
            }
        }
        self.endpoint.schedule_poll(handle);
    }
}

/// RFC 9002, section 7.8, and its purpose: if the window grew while only the sender's processor was the limit, all of
/// it would be sent while the receiver waits for its processor, far more than a socket buffer holds.
#[test]
fn a_receiver_that_waits_for_its_processor_loses_nothing() {
    let mut client = Host::new(client_config(), crate::endpoint_pair::CLIENT);
    let mut server = Host::new(server_config(), crate::endpoint_pair::SERVER);
    let mut now = Time::ZERO + Duration::from_secs(1);
    client.handle = Some(client.endpoint.connect(now, connect("cubic")));
    client.to_write = LENGTH;
    let mut passes = 0;
    while !client.is_finished {
        client.pass(now, &mut server);
        // The server pauses for 6 ms of every 20 ms; 19 MB could arrive meanwhile.
        if passes % 1000 >= 300 {
            server.pass(now, &mut client);
        }
        (now, passes) = (now + PASS, passes + 1);
        assert!(passes < 100_000, "{} of {LENGTH} came", server.received);
    }
    assert_eq!(server.received, LENGTH);
    assert_eq!((server.dropped, client.dropped), (0, 0));
}
