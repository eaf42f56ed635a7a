//! A search over adversaries: every state that an attacker can bring the endpoints to within bounds.
//!
//! The endpoints are those of [`thalweg_net`], byte for byte: a client, the server that it wants, and another socket of the
//! server's identity. The network is the attacker (Dolev and Yao 1983). He reads every datagram. It arrives when he lets it,
//! any number of times, or never; from any address, at any socket; and he puts datagrams together of all pieces that he has
//! seen: connection ids, cookies, first, second and third messages of handshakes, tokens of resets, sealed packets. He has a
//! key of his own, with which he answers in the server's place and connects to the server, which trusts it, by any connection
//! id that he likes. He asks every socket about every connection id. Keys that are not his he does not have, and ciphers he does not break.
//!
//! Checked in every state:
//!
//! - **Nobody but its peer ends a connection**: a close was said by the peer's application, and a reset sent by the very socket
//!   that had the connection and has it no more.
//! - **A cookie lets in one handshake**, that of the address, connection id and first message that it was made for. A hello
//!   without one lets in none beside the connection that came of it.
//! - **Both ends agree**: each connection has one other end, which has the key that is believed, the same binding (the hash of
//!   all that was said in the handshake), service and scheme, and the connection ids the other way round.
//! - **A datagram is taken once**, and was sent by the other end of the very connection.
//! - **An address that has not proved to receive** gets at most three bytes for one.
//! - **When the attacker stops, the client gets in**: from each state, a connection that was asked for is there at both ends
//!   soon, or over at both for a reason that was checked.
//!
//! # Pairing
//!
//! [`search_pairing`] does the same to a pairing by a code over such connections: a sender and a receiver that know it, and an
//! attacker who does not, and who may answer in the receiver's place and come to the receiver as often as he likes. Neither end
//! takes him for the other, the code answers three guesses at most, and an honest sender is paired once he stops.
//!
//! # States
//!
//! Endpoints are no values that could be copied, so a state is kept as the way to it, and come to by taking the same steps
//! again: nothing in an endpoint is random that was not handed in. States are compared by digests
//! ([`Digest`](thalweg_proto::digest::Digest)) of all endpoints and of the attacker's knowledge. What is refused without a trace leads
//! to no other state and costs next to nothing, which is most of what the attacker can try.
//!
//! # Faults
//!
//! A search that finds nothing may be one that can find nothing. [`Fault`]s are rules as they once were, or as they would be
//! wrong; each must be found.

mod agent;
mod knowledge;
mod pairing;
mod rules;
mod search;
mod steps;
mod system;
mod world;

pub use search::{search, search_pairing};

use thalweg_proto::units::Bytes;

/// The bounds of a search. What the attacker lets through is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections that the client asks for.
    pub connections: u8,
    /// Datagrams that the attacker puts together himself, or sends on to another socket or from another address, and that have
    /// an effect.
    pub forgeries: u8,
    /// Connections that the attacker asks for as himself.
    pub intrusions: u8,
    /// Times that time moves on to what is due next.
    pub expiries: u8,
    /// Times that the server is started anew.
    pub restarts: u8,
    /// Connections that the client closes.
    pub closes: u8,
    /// Handshakes at a time that the server begins without a cookie. It asks others for one.
    pub unproved: u8,
    /// Steps with an effect.
    pub depth: u32,
    /// Stop when the states take more memory than that.
    pub memory: Bytes,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 1,
            forgeries: 1,
            intrusions: 0,
            expiries: 0,
            restarts: 0,
            closes: 0,
            unproved: 1,
            depth: 12,
            memory: Bytes::new(1_000_000_000),
        }
    }
}

/// The bounds of a search through pairings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairingBounds {
    /// Connections that the attacker makes to the receiver.
    pub attempts: u8,
    /// Stop when the states take more memory than that.
    pub memory: Bytes,
}

impl Default for PairingBounds {
    fn default() -> Self {
        Self { attempts: 5, memory: Bytes::new(1_000_000_000) }
    }
}

/// A rule that is broken on purpose, for the search to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The rules of today.
    #[default]
    None,
    /// Tokens of resets come of the identity alone, so that another socket of it tells them.
    Tokens,
    /// A cookie makes another handshake when the last one is complete.
    CookieAgain,
    /// A cookie is good for any first message.
    CookieUnbound,
    /// A hello without a cookie makes another handshake when the last one is complete.
    HelloAgain,
    /// Neither keys nor the connection are part of what a pairing's keys are made of.
    PairingUnbound,
    /// An attempt that is left before anything is proved is no guess.
    GuessUncounted,
}
