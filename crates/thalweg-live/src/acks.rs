//! Acknowledgements that are held back: what a router has to tell a source of TCP that has no ECN.
//!
//! When the message is at the source, the acknowledgements that come for it wait for a time, all together and in order; meanwhile TCP sends
//! nothing new. Only segments that are nothing but acknowledgements wait. What comes while they do is heard, too, and does nothing.

use crate::packet::Header;
use crate::tcp::Segment;
use std::collections::HashMap;
use std::net::SocketAddr;
use thalweg_proto::units::{Duration, Time};

/// Acknowledgements of a connection that wait at a time; with one more they are let go.
const MOST: usize = 4096;

/// A source and its target.
type Ends = [SocketAddr; 2];

fn ends(header: &Header) -> Ends {
    [SocketAddr::new(header.source, header.ports[0]), SocketAddr::new(header.target, header.ports[1])]
}

/// A packet for a node, and the time at which it came.
type Packet = (usize, Time, Vec<u8>);

#[derive(Debug)]
struct Held {
    until: Time,
    waiting: Vec<Packet>,
}

/// All connections whose acknowledgements may be held back.
#[derive(Debug)]
pub(crate) struct Acks {
    span: Duration,
    /// By their numbers in the network.
    sources: HashMap<u32, Ends>,
    held: HashMap<Ends, Held>,
}

impl Acks {
    pub fn new(span: Duration) -> Self {
        Self { span, sources: HashMap::new(), held: HashMap::new() }
    }

    /// A host sends data on a connection; true for the first.
    pub fn on_sent(&mut self, connection: u32, header: &Header) -> bool {
        self.sources.insert(connection, ends(header)).is_none()
    }

    /// A connection is over.
    pub fn forget(&mut self, connection: u32) {
        self.sources.remove(&connection);
    }

    /// A message for the source of a connection is there; true if it is one of these.
    pub fn tell(&mut self, at: Time, connection: u32) -> bool {
        let Some(ends) = self.sources.get(&connection) else { return false };
        self.held.entry(*ends).or_insert_with(|| Held { until: at + self.span, waiting: Vec::new() });
        true
    }

    /// A packet comes to a host: `None` if it waits.
    pub fn pass(&mut self, packet: Packet, header: &Header) -> Option<Packet> {
        if self.held.is_empty() {
            return Some(packet);
        }
        let [from, to] = ends(header);
        let Some(held) = self.held.get_mut(&[to, from]) else { return Some(packet) };
        if !Segment::parse(&packet.2, header).is_some_and(|segment| segment.is_bare()) {
            return Some(packet);
        }
        if held.waiting.len() >= MOST {
            held.until = packet.1;
        }
        held.waiting.push(packet);
        None
    }

    /// The time at which some are let go.
    pub fn next(&self) -> Option<Time> {
        self.held.values().map(|held| held.until).min()
    }

    /// Lets go what has waited long enough.
    pub fn release(&mut self, now: Time, mut deliver: impl FnMut(Packet)) {
        if self.next().is_none_or(|next| next > now) {
            return;
        }
        let mut over: Vec<(Ends, Held)> = self.held.extract_if(|_, held| held.until <= now).collect();
        over.sort_by_key(|(ends, held)| (held.until, *ends));
        for (_, held) in over {
            for (node, at, bytes) in held.waiting {
                deliver((node, at.max(held.until), bytes));
            }
        }
    }
}
