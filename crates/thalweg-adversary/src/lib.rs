//! Adversarial search: visits every state that an attacker can bring the endpoints to within bounds.
//!
//! The endpoints are from [`thalweg_net`], byte for byte: a client, its server, and another socket with the
//! server's identity. The network is the attacker (Dolev and Yao 1983). The attacker reads every datagram and delivers
//! it any number of times, or never, from any address and to any socket. It assembles datagrams from all observed
//! pieces: connection ids, cookies, first, second and third messages of handshakes, reset tokens, encrypted packets. It
//! has a key of its own. With it, the attacker answers in the server's place and connects to the server, which trusts
//! the key, under any connection id. It queries every socket about every connection id. It has no other keys and breaks
//! no ciphers.
//!
//! Checked in every state:
//!
//! - **Only its peer ends a connection**: a close comes from the peer's application, and a reset from the very socket
//!   that had the connection and has lost it.
//! - **A cookie admits one handshake**, that of the address, connection id and first message that it was issued for. A
//!   hello without a cookie admits no handshake beside the connection that it led to.
//! - **Both endpoints agree**: each connection has exactly one peer, with the expected key, the same binding (the hash
//!   of all handshake messages), service and scheme, and mirrored connection ids.
//! - **A datagram is accepted once**, and was sent by the peer of that very connection.
//! - **An unvalidated address** is sent at most three bytes per byte received from it.
//! - **When the attacker stops, the client connects**: from each state, a requested connection is soon established at
//!   both endpoints, or closed at both for a verified reason.
//!
//! # Pairing
//!
//! [`search_pairing`] does the same for pairing by code over such connections: a sender and a receiver know the code,
//! the attacker does not. The attacker may answer in the receiver's place and connect to the receiver any number of
//! times. Neither endpoint mistakes it for the other, the code answers three guesses at most, and an honest sender is
//! paired once the attacker stops.
//!
//! # States
//!
//! Endpoints cannot be copied. A state is therefore stored as the steps that lead to it and restored by repeating
//! them; an endpoint has no randomness of its own. States are compared by digests
//! ([`Digest`](thalweg_proto::state_digest::Digest)) of all endpoints and of the attacker's knowledge. Most of the attacker's
//! attempts are rejected without a change of state; these lead to no new state and cost next to nothing.
//!
//! # Faults
//!
//! The search itself is tested by fault injection. [`Fault`]s are earlier or deliberately wrong rules; the search must
//! find each.

mod attack_search;
mod attacker_knowledge;
mod attacker_steps;
mod client_server_attacker;
#[cfg(test)]
mod client_server_attacker_tests;
mod code_pairing;
mod connection_invariants;
mod endpoint_agent;
mod system_under_test;

pub use attack_search::{search, search_pairing};

use thalweg_proto::units::Bytes;

/// The bounds of a search. Deliveries to the intended socket are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections requested by the client.
    pub connections: u8,
    /// Effective datagrams that the attacker assembles, or sends on to another socket or from another address.
    pub forgeries: u8,
    /// Connections requested by the attacker under its own key.
    pub intrusions: u8,
    /// Advances of the clock to the next timer.
    pub expiries: u8,
    /// Restarts of the server.
    pub restarts: u8,
    /// Connections closed by the client.
    pub closes: u8,
    /// Concurrent handshakes that the server begins without a cookie; beyond it demands one.
    pub unvalidated: u8,
    /// Maximum number of effective steps.
    pub depth: u32,
    /// Memory limit for the states; the search stops beyond it.
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
            unvalidated: 1,
            depth: 12,
            memory: Bytes::new(1_000_000_000),
        }
    }
}

/// The bounds of a pairing search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairingBounds {
    /// Connections from the attacker to the receiver.
    pub attempts: u8,
    /// Memory limit for the states; the search stops beyond it.
    pub memory: Bytes,
}

impl Default for PairingBounds {
    fn default() -> Self {
        Self { attempts: 5, memory: Bytes::new(1_000_000_000) }
    }
}

/// An injected fault, for the search to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Reset tokens derive from the identity alone, so another socket of it reveals them.
    Tokens,
    /// A cookie admits another handshake when the last one is complete.
    CookieAgain,
    /// A cookie is valid for any first message.
    CookieUnbound,
    /// A hello without a cookie starts another handshake when the last one is complete.
    HelloAgain,
    /// Pairing keys are derived without the endpoints' keys and the connection.
    PairingUnbound,
    /// An attempt abandoned before any proof does not count as a guess.
    GuessUncounted,
}
