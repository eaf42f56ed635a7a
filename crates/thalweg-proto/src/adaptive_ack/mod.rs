//! Adaptive acknowledgement: reliable transfer in which the receiver schedules the reports, at a rate that adapts to
//! loss (Lee, Kim, Chung and Kim 1997, for clusters of workstations over ATM).
//!
//! A [`Transmitter`] and a [`Receiver`] form a unidirectional connection over a channel that keeps order and may lose
//! packets. Packets are numbered from 1. The receiver reports every `T_normal` while no packet is missing. When a
//! number is skipped, the receiver requests the gap at once, and reports every `T_error` until the gap is repaired.
//!
//! A channel that reorders or duplicates packets causes unnecessary retransmissions only. Delivery is in order and
//! exactly once over any channel. `thalweg explore adaptive-ack` checks that exhaustively.
//!
//! # Differences from the paper
//!
//! | paper | here | reason | effect |
//! | --- | --- | --- | --- |
//! | the transmitter has no timer | retransmission timer: if data is outstanding and no report releases or requests packets for `max(4 T_normal, 4 RTT)`, the oldest and the newest packet are sent again | a lost last packet, or the loss of all reports, would stall the connection; the newest packet shows the receiver the highest number, and the receiver requests the others | none in the paper's figures: the source is greedy and reports are not lost |
//! | the receiver's timer runs from the start | it runs from the first packet on | a receiver learns of a connection from its packets | none |
//! | restart of the timer by an immediate report: unspecified | a loss detected when no packet is missing sets it to `T_error`; other reports leave it | an error phase ends once all losses are repaired, so the next loss begins another | at a loss rate of 0.1 throughput is 1 % higher than without the restart |
//! | return of the timer to `T_normal`: at the repair, or at the expiry after it | at the first expiry with no packet missing | the text on the paper's figure 2 | below 0.1 % for `T_error` of 5 to 15 ms |
//! | repeated request of a gap at the next expiry: unspecified | yes; the transmitter ignores the request while the packet waits for retransmission | a request or a retransmission may be lost, and a receiver cannot distinguish the two | repairs take one `T_error` longer for each such loss |
//! | the receiver's buffer is unbounded | `window` packets from the next one to deliver | a peer must not exhaust memory | none: a transmitter's window is never larger |

mod config;
mod family_adapter;
mod pdu;
mod receiver;
mod transmitter;
pub mod wire;

pub use config::{Config, MAX_WINDOW};
pub use pdu::{Data, Pdu, Report};
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use transmitter::{Transmitter, TransmitterReason, TransmitterStats};
