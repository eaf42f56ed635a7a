//! The window transport.

mod config;
mod pdu;

pub use config::{Counting, DelayedAck, ReceiverConfig, Recovery, RttConfig, SenderConfig};
pub use pdu::{Ack, Pdu, SackBlock, Segment};
