//! Connection establishment and termination: the handshakes of TCP (RFC 9293) and QUIC (RFC 9000 and 9001) around the
//! engines of any family.
//!
//! An [`Opener`] contains the sending engine and a [`Listener`] the receiving one. They exchange their own [`Control`]
//! PDUs, retransmit lost ones, and pass all other PDUs through unchanged.
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
//! The handshake gives the first round-trip measurement, unless its packets were retransmitted (Karn's rule). After a
//! retransmitted SYN the retransmission timeout is at least 3 s (RFC 6298, section 5.7).
//!
//! # Differences from the RFCs
//!
//! | RFC | here | reason | effect |
//! | --- | --- | --- | --- |
//! | 9293: a FIN may be a flag of the last data segment, and the handshake's ACK may carry data | the FIN is a separate packet after the first transmission of all data; the ACK is a separate packet before the first data, as Linux sends when an application writes after connecting | engines are independent of the handshake | one more packet each |
//! | 9293, section 3.6: each direction is closed by its own application | the listener closes after receiving all data up to the FIN; its FIN acknowledges the other | data flows in one direction | one packet fewer |
//! | 9293: TIME-WAIT ends after 2 MSL | it ends with the listener, when that has received the last acknowledgement | no number is reused | memory is released at once |
//! | 5681, section 3.1: after a lost SYN the initial window is one segment | the initial window is unchanged | RFC 6928, section 2, recommends that for a single loss | none but for two losses in one handshake |
//! | 9000: the server's flight is one to four datagrams, by its certificates | one of 1200 bytes, like the client's | as with a short chain, or a resumed session | fewer packets that can be lost |
//! | 9000: 0-RTT data may share the datagram of the client's Initial | it follows in the next, at the same instant | the keys of today's key exchanges fill the first | 1200 bytes more before the data |
//! | 9001, section 5.7: packets that cannot be decrypted yet may be buffered | they count as lost | the RFC permits it | a lost Finished also loses the data sent behind it |
//! | 9002, section 6.2: the first timeout is 999 ms | the configured one of RFC 6298 | RFC 9002 mentions 1 s, too | 1 ms |
//! | 9000, section 10: a lost CONNECTION_CLOSE leaves the server to its idle timeout | the server's state ends with the client's | simulated servers have no state limit | none |

mod active_open;
mod config;
mod handshake_timer;
mod passive_open;
mod pdu;

pub use active_open::Opener;
pub use config::{Config, HandshakeKind};
pub use passive_open::Listener;
pub use pdu::{Control, HandshakeStep, Pdu, Protocol};

use crate::endpoint::End;

/// Cause of a timer expiry at an endpoint with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<R> {
    /// Retransmission of a packet that opens or closes the connection.
    Handshake,
    /// Timer of the engine.
    Engine(R),
}

/// An engine inside a handshake.
pub trait InnerEngine {
    /// Returns its endpoint interface.
    fn end(&self) -> &dyn End;

    /// Returns its mutable endpoint interface; `None` for an engine that ignores the handshake.
    fn end_mut(&mut self) -> Option<&mut dyn End>;
}

impl<E: End> InnerEngine for E {
    fn end(&self) -> &dyn End {
        self
    }

    fn end_mut(&mut self) -> Option<&mut dyn End> {
        Some(self)
    }
}
