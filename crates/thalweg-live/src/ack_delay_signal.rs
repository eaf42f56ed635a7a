//! Delayed acknowledgements: a congestion signal for TCP sources without ECN.
//!
//! Feedback to a source delays its incoming acknowledgements for a fixed time, together and in order; TCP sends nothing
//! new meanwhile. Only pure acknowledgements are delayed. Further feedback during the delay has no effect.

use crate::ip_header::Header;
use crate::tcp_headers::Segment;
use std::collections::HashMap;
use std::net::SocketAddr;
use thalweg_proto::units::{Duration, Time};

/// Maximum number of delayed acknowledgements per connection; one more releases them all.
const MAX_DELAYED_ACKS: usize = 4096;

/// Source and target addresses of a flow.
type FlowAddresses = [SocketAddr; 2];

fn ends(header: &Header) -> FlowAddresses {
    [SocketAddr::new(header.source, header.ports[0]), SocketAddr::new(header.target, header.ports[1])]
}

/// Receiving node, arrival time and contents of a packet.
type Packet = (usize, Time, Vec<u8>);

/// Acknowledgements of a connection, held until a time.
#[derive(Debug)]
struct HeldAcks {
    until: Time,
    delayed_acks: Vec<Packet>,
}

/// Connections whose acknowledgements may be delayed.
#[derive(Debug)]
pub(crate) struct AckDelay {
    span: Duration,
    /// Source and target addresses by connection number in the network.
    connection_addresses: HashMap<u32, FlowAddresses>,
    held_acks: HashMap<FlowAddresses, HeldAcks>,
}

impl AckDelay {
    pub fn new(span: Duration) -> Self {
        Self { span, connection_addresses: HashMap::new(), held_acks: HashMap::new() }
    }

    /// Records data that a host sends on a connection. Returns true for the first.
    pub fn on_sent(&mut self, connection: u32, header: &Header) -> bool {
        self.connection_addresses.insert(connection, ends(header)).is_none()
    }

    /// Removes a closed connection.
    pub fn forget(&mut self, connection: u32) {
        self.connection_addresses.remove(&connection);
    }

    /// Starts the delay for feedback to the source of a connection. Returns false if the connection is unknown.
    pub fn on_feedback(&mut self, at: Time, connection: u32) -> bool {
        let Some(ends) = self.connection_addresses.get(&connection) else { return false };
        self.held_acks
            .entry(*ends)
            .or_insert_with(|| HeldAcks { until: at + self.span, delayed_acks: Vec::new() });
        true
    }

    /// Passes a packet to a host; returns `None` if it is delayed.
    pub fn pass(&mut self, packet: Packet, header: &Header) -> Option<Packet> {
        if self.held_acks.is_empty() {
            return Some(packet);
        }
        let [from, to] = ends(header);
        let Some(held) = self.held_acks.get_mut(&[to, from]) else { return Some(packet) };
        if !Segment::parse(&packet.2, header).is_some_and(|segment| segment.is_pure_ack()) {
            return Some(packet);
        }
        if held.delayed_acks.len() >= MAX_DELAYED_ACKS {
            held.until = packet.1;
        }
        held.delayed_acks.push(packet);
        None
    }

    /// Returns the time of the next release.
    pub fn next(&self) -> Option<Time> {
        self.held_acks.values().map(|held| held.until).min()
    }

    /// Releases acknowledgements whose delay has passed.
    pub fn release(&mut self, now: Time, mut deliver: impl FnMut(Packet)) {
        if self.next().is_none_or(|next| next > now) {
            return;
        }
        let mut due: Vec<(FlowAddresses, HeldAcks)> =
            self.held_acks.extract_if(|_, held| held.until <= now).collect();
        due.sort_by_key(|(ends, held)| (held.until, *ends));
        for (_, held) in due {
            for (node, at, bytes) in held.delayed_acks {
                deliver((node, at.max(held.until), bytes));
            }
        }
    }
}
