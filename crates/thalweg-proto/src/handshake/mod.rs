//! Connections that open and close: the handshakes of TCP (RFC 9293) and QUIC (RFC 9000 and 9001) around the engines of any
//! family.
//!
//! An [`Opener`] has the sending engine in it and a [`Listener`] the receiving one. They exchange [`Control`] PDUs of their own,
//! repeat those that are lost, and pass everything else through: what the engines send is as it is without a handshake.
//!
//! ```text
//!   TCP                        QUIC                        QUIC, 0-RTT
//!   SYN ------------->         Initial --------->          Initial --------->
//!     <------- SYN-ACK           <------ Handshake         data ------------>
//!   ACK ------------->         Finished -------->            <------ Handshake
//!   data ------------>         data ------------>          Finished -------->
//!     ...                        <- HANDSHAKE_DONE           <- HANDSHAKE_DONE
//!   FIN ------------->           ...                         ...
//!     <----------- FIN         CONNECTION_CLOSE ->         CONNECTION_CLOSE ->
//!   ACK ------------->
//! ```
//!
//! The first measurement of the round trip is that of the handshake, unless its packets were repeated (Karn's rule). After a
//! SYN that was, the retransmission time-out is at least 3 s (RFC 6298, section 5.7).
//!
//! # Differences from the RFCs
//!
//! | RFC | here | reason | effect |
//! | --- | --- | --- | --- |
//! | 9293: a FIN may be a flag of the last data segment, and of the SYN-ACK's acknowledgement | a packet of its own, behind the last data that leaves for the first time, and an ACK of its own before the first data, as Linux sends when an application writes after it has connected | engines know nothing of it | a packet more each |
//! | 9293, section 3.6: each direction is closed by its own application | the listener closes when it has everything up to the FIN: its FIN acknowledges the other | data goes one way | one packet fewer |
//! | 9293: TIME-WAIT ends after 2 MSL | it ends with the listener, which is told of its last acknowledgement | no number is used again | memory is free at once |
//! | 5681, section 3.1: after a lost SYN the initial window is one segment | as without | RFC 6928, section 2, recommends that for a single loss | none but for two losses in one handshake |
//! | 9000: the server's flight is one to four datagrams, by its certificates | one of 1200 bytes, as the client's | as with a short chain, or a resumed session | fewer packets that can be lost |
//! | 9000: 0-RTT data may share the datagram of the client's Initial | it follows in the next, at the same instant | the keys of today's key exchanges fill the first | 1200 bytes more before the data |
//! | 9001, section 5.7: packets that cannot be read yet may be kept | they count as lost | a server may | a lost Finished costs what was sent behind it |
//! | 9002, section 6.2: the first time-out is 999 ms | that of RFC 6298, which is configured | RFC 9002 speaks of 1 s, too | 1 ms |
//! | 9000, section 10: a lost CONNECTION_CLOSE leaves the server to its idle time-out | the server's state ends with the client's | simulated servers have no bound on theirs | none |

mod backoff;
mod config;
mod control;
mod listener;
mod opener;

pub use config::{Config, Kind};
pub use control::{Control, Pdu, Protocol, Step};
pub use listener::Listener;
pub use opener::Opener;

use crate::end::End;

/// The reason for a time-out of an endpoint with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<R> {
    /// A packet that opens or closes the connection may be lost.
    Handshake,
    /// A reason of the engine.
    Engine(R),
}

/// An engine inside a handshake.
pub trait Carried {
    /// Returns its endpoint interface.
    fn end(&self) -> &dyn End;

    /// Returns its mutable endpoint interface; `None` for an engine that ignores the handshake.
    fn end_mut(&mut self) -> Option<&mut dyn End>;
}

impl<E: End> Carried for E {
    fn end(&self) -> &dyn End {
        self
    }

    fn end_mut(&mut self) -> Option<&mut dyn End> {
        Some(self)
    }
}
