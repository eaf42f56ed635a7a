//! Adaptive acknowledgement: reliable transfer in which the receiver drives the reports, at a pace that adapts to loss
//! (Lee, Kim, Chung and Kim 1997, for clusters of workstations over ATM).
//!
//! A [`Transmitter`] and a [`Receiver`] make a connection in one direction, over a channel that keeps order and may
//! lose. Packets are numbered from 1. The receiver reports every `T_normal` while nothing is missing. When a number is
//! skipped it asks for the gap at once, and reports every `T_error` until all is repaired.
//!
//! A channel that breaks the order, or that copies packets, costs needless repetitions but nothing else: what is
//! delivered is in order and exactly once over any channel. `thalweg explore adaptive-ack` checks that exhaustively.
//!
//! # Differences from the paper
//!
//! | paper | here | reason | effect |
//! | --- | --- | --- | --- |
//! | the transmitter has no timer | with data outstanding and no report that brings news (releases or asks for something) for `max(4 T_normal, 4 RTT)` it sends its oldest packet and its newest again | a lost last packet, or reports that are all lost, would hang it; the newest shows the receiver how far the numbers go, so that it asks for the others | none in the figures: the source is greedy and reports are not lost |
//! | the receiver's timer runs from the start | it runs from the first packet on | a receiver knows of a connection by its packets | none |
//! | does a report at once restart the timer? not said | a loss found when none is outstanding sets it to `T_error` anew, others leave it | an error phase ends when all is repaired, so the next loss begins another | at a loss of 0.1 throughput is 1 % higher than if the timer ran on |
//! | when does the timer go back to `T_normal`? at the repair, or at the expiry after it | at the first expiry with nothing missing | the text on the paper's figure 2 | below 0.1 % for `T_error` of 5 to 15 ms |
//! | is a gap asked for again at the next expiry? | yes; the transmitter ignores it while the packet waits to be resent | a request or a repetition may be lost, and a receiver cannot tell | repairs take one `T_error` more for each such loss |
//! | the receiver's buffer is not bounded | `window` packets from the next to deliver | a peer must not fill memory | none: a transmitter's window is never larger |

mod config;
mod family;
mod pdu;
mod receiver;
mod transmitter;
pub mod wire;

pub use config::{Config, MAX_WINDOW};
pub use pdu::{Data, Pdu, Report};
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use transmitter::{Transmitter, TransmitterReason, TransmitterStats};
