//! The attacker's knowledge: every datagram sent, and the pieces extracted from them.

use std::fmt::Write as _;
use std::net::SocketAddr;
use thalweg_net::wire::{ConnectionId, HEADER, Packet, RESET_TOKEN};

/// A datagram sent by an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDatagram {
    /// Number of the sending agent.
    pub sending_agent: usize,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// Everything that the attacker has observed, in order of first observation. Pieces are named by their position.
#[derive(Debug, Default)]
pub struct Knowledge {
    pub datagrams: Vec<KnownDatagram>,
    pub ids: Vec<ConnectionId>,
    pub cookies: Vec<Vec<u8>>,
    /// First messages of handshakes.
    pub firsts: Vec<Vec<u8>>,
    /// Second and third messages.
    pub responses: Vec<Vec<u8>>,
    pub confirms: Vec<Vec<u8>>,
    pub tokens: Vec<[u8; RESET_TOKEN]>,
    /// Encrypted parts of packets with their numbers, each with its packet's id.
    pub bodies: Vec<(ConnectionId, Vec<u8>)>,
    /// Sum of the hashes of all datagrams, independent of their order.
    hash: u128,
}

impl Knowledge {
    /// Creates the initial knowledge: a first message of the attacker's own, any point of the curve.
    pub fn new() -> Self {
        let mut base = [0; 32];
        base[0] = 9;
        Self { firsts: vec![base.to_vec()], ..Self::default() }
    }

    /// Adds a datagram; returns true if it is new.
    pub fn learn(&mut self, known: KnownDatagram) -> bool {
        if self.datagrams.contains(&known) {
            return false;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{} {}", known.from, known.to).as_bytes()).update(&known.bytes);
        let hash = hasher.finalize();
        self.hash =
            self.hash.wrapping_add(u128::from_le_bytes(*hash.as_bytes().first_chunk().unwrap_or(&[0; 16])));
        match Packet::read(&known.bytes) {
            Some(Packet::Hello { source, message, .. }) => {
                add_if_new(&mut self.ids, source);
                add_if_new(&mut self.firsts, message.to_vec());
            }
            Some(Packet::Cookie { cookie, .. }) => add_if_new(&mut self.cookies, cookie.to_vec()),
            Some(Packet::Response { message, .. }) => add_if_new(&mut self.responses, message.to_vec()),
            Some(Packet::Confirm { destination, message }) => {
                add_if_new(&mut self.ids, destination);
                add_if_new(&mut self.confirms, message.to_vec());
            }
            Some(Packet::Reset { token, .. }) => add_if_new(&mut self.tokens, *token),
            Some(Packet::Protected { destination }) => {
                add_if_new(&mut self.ids, destination);
                add_if_new(&mut self.bodies, (destination, known.bytes[9..].to_vec()));
            }
            Some(Packet::Version { .. } | Packet::OtherHello { .. } | Packet::RouterFeedback(_)) | None => {}
        }
        self.datagrams.push(known);
        true
    }

    /// Returns a hash of the knowledge.
    pub const fn hash(&self) -> u128 {
        self.hash
    }

    /// Returns the name of an id for traces.
    pub fn name(&self, id: ConnectionId) -> String {
        let place = self.ids.iter().position(|known| *known == id);
        place.map_or_else(|| "an id that was never observed".to_owned(), |place| format!("id {}", place + 1))
    }

    /// Returns a description of a datagram.
    pub fn describe(&self, datagram: &[u8]) -> String {
        match Packet::read(datagram) {
            Some(Packet::Hello { source, cookie, message }) => {
                let mut text = format!("hello of {}", self.name(source));
                let first = self.firsts.iter().position(|known| known == message);
                // Writing to a string cannot fail.
                let _ = write!(text, " with first message {}", first.map_or(0, |place| place + 1));
                match self.cookies.iter().position(|known| known == cookie) {
                    Some(place) => write!(text, " and cookie {}", place + 1),
                    None if cookie.is_empty() => Ok(()),
                    None => write!(text, " and that cookie"),
                }
                .unwrap_or_default();
                text
            }
            Some(Packet::Cookie { destination, cookie }) => {
                let place = self.cookies.iter().position(|known| known == cookie);
                let name =
                    place.map_or_else(|| "a cookie".to_owned(), |place| format!("cookie {}", place + 1));
                format!("{name} for {}", self.name(destination))
            }
            Some(Packet::Response { destination, .. }) => format!("response to {}", self.name(destination)),
            Some(Packet::Confirm { destination, .. }) => format!("confirm to {}", self.name(destination)),
            Some(Packet::Reset { destination, token }) => {
                let place = self.tokens.iter().position(|known| known == token);
                format!(
                    "reset of {} with token {}",
                    self.name(destination),
                    place.map_or(0, |place| place + 1)
                )
            }
            Some(Packet::Version { destination, .. }) => {
                format!("another version for {}", self.name(destination))
            }
            Some(Packet::OtherHello { source }) => {
                format!("hello of another version of {}", self.name(source))
            }
            Some(Packet::Protected { destination }) => {
                let number = datagram.get(9..HEADER).map_or(0, |bytes| bytes[bytes.len() - 1]);
                format!("packet {number} to {}", self.name(destination))
            }
            Some(Packet::RouterFeedback(feedback)) => {
                format!("router's message about {}", self.name(ConnectionId(feedback.head.connection)))
            }
            None => "nonsense".to_owned(),
        }
    }
}

fn add_if_new<T: PartialEq>(to: &mut Vec<T>, piece: T) {
    if !to.contains(&piece) {
        to.push(piece);
    }
}
