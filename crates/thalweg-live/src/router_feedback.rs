//! Router feedback for senders that support it: registration of senders and messages to them.
//!
//! A sender of this project is recognised by its packets ([`Head`]). Feedback is sent from the target's address and
//! port, to pass NATs and reach connected sockets.

use crate::ip_header::{Header, UDP};
use crate::router_originated_packets::compose_udp_datagram;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use thalweg_proto::router_feedback_datagram::{Head, RouterFeedback};
use thalweg_sim::live_network::Message;

/// Maximum number of registered senders.
const MAX_SENDERS: usize = 4096;
/// Number of recent packets per sender that feedback may refer to.
const MAX_PACKETS: usize = 1024;

/// Sender of this project.
#[derive(Debug)]
struct Source {
    node: usize,
    address: SocketAddr,
    target: SocketAddr,
    /// Recent packets: serial numbers in the network, and packet heads.
    packets: VecDeque<(u32, Head)>,
}

/// Registered senders, by connection in the network.
#[derive(Debug, Default)]
pub(crate) struct Sources(HashMap<u32, Source>);

impl Sources {
    /// Records a packet that enters the network with this serial number. Returns true once its sender is known: two
    /// consecutive packets carry the same random connection id.
    pub fn on_sent(
        &mut self,
        connection: u32,
        node: usize,
        header: &Header,
        head: Option<Head>,
        serial: u32,
    ) -> bool {
        let Some(head) = head else { return false };
        if self.0.len() >= MAX_SENDERS && !self.0.contains_key(&connection) {
            return false;
        }
        let source = self.0.entry(connection).or_insert_with(|| Source {
            node,
            address: SocketAddr::new(header.source, header.ports[0]),
            target: SocketAddr::new(header.target, header.ports[1]),
            packets: VecDeque::new(),
        });
        if source.packets.back().is_some_and(|(_, last)| last.connection != head.connection) {
            source.packets.clear();
        }
        if source.packets.len() >= MAX_PACKETS {
            source.packets.pop_front();
        }
        source.packets.push_back((serial, head));
        source.packets.len() == 2
    }

    /// Removes a closed connection.
    pub fn forget(&mut self, connection: u32) {
        self.0.remove(&connection);
    }

    /// Returns the source's node and the feedback datagram to deliver there.
    pub fn on_feedback(&self, message: &Message) -> Option<(usize, Vec<u8>)> {
        let source = self.0.get(&message.connection)?;
        let feedback = message.feedback;
        let dropped = feedback.dropped.and_then(|serial| {
            source.packets.iter().find(|(other, _)| u64::from(*other) == serial).map(|(_, head)| *head)
        });
        let (_, last) = *source.packets.back()?;
        let payload = RouterFeedback {
            head: dropped.unwrap_or(last),
            dropped: dropped.is_some(),
            queue: feedback.queue,
            rate: feedback.rate,
        };
        Some((source.node, compose_udp_datagram(source.target, source.address, &payload.encode())?))
    }
}

/// Parses the head of a packet from a sender of this project.
pub(crate) fn parse_packet_head(bytes: &[u8], header: &Header) -> Option<Head> {
    if header.protocol != UDP || header.is_later_fragment {
        return None;
    }
    Head::read(bytes.get(header.transport_offset + 8..)?)
}
