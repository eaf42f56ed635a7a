//! SSCOP, the service-specific connection-oriented protocol of ITU-T Recommendation Q.2110.
//!
//! An [`Sscop`] is one endpoint of a full-duplex connection. It carries messages reliably and in order over a layer
//! that loses frames but keeps their order (AAL5 on an ATM connection). The sender polls (POLL). The receiver answers
//! with its complete state (STAT), and reports a new gap immediately (USTAT); there is no retransmission timer for
//! data. The receiver grants credit. SSCOP also has connection set-up and release, resynchronisation, recovery from
//! protocol errors, retrieval of unacknowledged messages, and unassured data transfer.
//!
//! [`rate`] adds the rate-based flow control of Chen and Chen (1999). [`Endpoint`] implements the interface that
//! endpoints of all families share.
//!
//! # Sources and differences
//!
//! The text of the Recommendation was not available. States, PDUs and rules are those on which three independent
//! implementations agree (FreeBSD's ngatm, HARP, and linux-atm), checked against Wireshark's dissector. Where they
//! disagree:
//!
//! | point | sources | ours | effect |
//! | --- | --- | --- | --- |
//! | an SD that was delivered before | taken for one beyond the window: USTAT, then recovery | the same; dropped with [`Config::ignore_old_data`] | a layer that duplicates or reorders causes recovery |
//! | STAT before any POLL; SD before the first POLL | differ | error R; is retransmitted | poll numbers are compared by half of the number space |
//! | BGN with a known number in state 1 | refused, or accepted | refused; accepted with [`Config::accept_any_begin`] | a peer that lost its number may be refused once |
//! | code V with a count of 0 | reported or not | not | none on the wire |
//! | order of retransmissions | by number, or in order of request | by number, each once | a second request causes no second retransmission |
//! | AA-RESYNC.request in state 7 | stays in 7, or goes to 5 | 5 | |
//! | RECOVER.response with data kept | empties queue and buffer, or only the buffer | the buffer | unsent messages are sent after recovery |
//! | SSCOP-UU in a repeated BGAK | as first sent, or none | as first sent in state 10, none elsewhere | |
//! | END with SSCOP-UU | one source sets the source bit | as the user requested | |
//! | a STAT longer than `MaxSTAT` | refused, or accepted | accepted | |
//! | a repeated BGN, RS or ER in the idle phase | starts `Timer_NO-RESPONSE` | does not | a late repetition does not end a healthy connection |

mod codec;
mod config;
mod data_receiver;
mod data_sender;
mod endpoint_adapter;
mod engine;
mod family_adapter;
mod pdu;
pub mod rate;
mod send_and_reorder_buffers;
mod sequence_number;
mod service_primitives;
mod state_digest;
mod states;
#[cfg(test)]
mod tests;
mod timers;

pub use codec::{MAX_MESSAGE, MAX_PDU, MAX_UU};
pub use config::{Config, Credit, TimerConfig};
pub use endpoint_adapter::{Endpoint, EndpointConfig, EndpointStats};
pub use engine::{Reason, Sscop, State, Stats, Variables};
pub use pdu::{MAX_ELEMENTS, Pdu, PduKind, Source, Stat, Ustat};
pub use sequence_number::SequenceNumber;
pub use service_primitives::{ErrorCode, Input, InvalidFrame, Request, RequestError, Retrieve, Signal};
pub use timers::Timer;
