//! Routers' messages for senders that understand them: who they are, and what each is sent.
//!
//! A sender of this project is known by the packets that it sends ([`Head`]). The message comes from the target's address and port, as
//! what passes address translators and reaches sockets that are connected.

use crate::compose::datagram;
use crate::packet::{Header, UDP};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use thalweg_proto::told::{Head, Told};
use thalweg_sim::live::Message;

/// Senders that are told at a time.
const MOST: usize = 4096;
/// Packets of each that a router may still speak of.
const MOST_PACKETS: usize = 1024;

/// A sender of this project.
#[derive(Debug)]
struct Source {
    node: usize,
    address: SocketAddr,
    target: SocketAddr,
    /// Its last packets: their serial numbers in the network, and their heads.
    packets: VecDeque<(u32, Head)>,
}

/// All such senders, by their connections in the network.
#[derive(Debug, Default)]
pub(crate) struct Sources(HashMap<u32, Source>);

impl Sources {
    /// A packet of a connection enters the network with this serial number. True once its sender is known: two packets in a row have
    /// the same connection id, which is random.
    pub fn on_sent(
        &mut self,
        connection: u32,
        node: usize,
        header: &Header,
        head: Option<Head>,
        serial: u32,
    ) -> bool {
        let Some(head) = head else { return false };
        if self.0.len() >= MOST && !self.0.contains_key(&connection) {
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
        if source.packets.len() >= MOST_PACKETS {
            source.packets.pop_front();
        }
        source.packets.push_back((serial, head));
        source.packets.len() == 2
    }

    /// A connection is over.
    pub fn forget(&mut self, connection: u32) {
        self.0.remove(&connection);
    }

    /// The datagram that tells a source, and its node.
    pub fn tell(&self, message: &Message) -> Option<(usize, Vec<u8>)> {
        let source = self.0.get(&message.connection)?;
        let feedback = message.feedback;
        let dropped = feedback.dropped.and_then(|serial| {
            source.packets.iter().find(|(other, _)| u64::from(*other) == serial).map(|(_, head)| *head)
        });
        let (_, last) = *source.packets.back()?;
        let told = Told {
            head: dropped.unwrap_or(last),
            dropped: dropped.is_some(),
            queue: feedback.queue,
            rate: feedback.rate,
        };
        Some((source.node, datagram(source.target, source.address, &told.encode())?))
    }
}

/// The head of a packet of a sender of this project.
pub(crate) fn head(bytes: &[u8], header: &Header) -> Option<Head> {
    if header.protocol != UDP || header.is_later_fragment {
        return None;
    }
    Head::read(bytes.get(header.at + 8..)?)
}
