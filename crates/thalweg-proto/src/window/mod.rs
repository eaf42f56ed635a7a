//! The window transport.

mod config;

pub use config::{Counting, DelayedAck, ReceiverConfig, Recovery, RttConfig, SenderConfig};
