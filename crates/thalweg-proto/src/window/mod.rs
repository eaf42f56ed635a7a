//! The window transport: a reliable byte stream, one way, under a congestion window.
//!
//! A [`Sender`] and a [`Receiver`] make a connection in one direction. The sender cuts written data into segments,
//! keeps each until it is acknowledged, and repairs losses under one of the [`Recovery`] rules. Its congestion
//! controller limits the outstanding data. The receiver delivers in order and exactly once, and answers with cumulative
//! and selective acknowledgements.

mod background;
mod config;
mod controller;
mod ends;
mod external;
mod family;
mod misbehaving;
mod pause;
mod pdu;
mod ranges;
mod receiver;
mod record;
mod rtt;
mod scoreboard;
mod sender;
mod special;
mod unreported;
pub mod wire;

pub(crate) use crate::congestion::MAX_WINDOW;
pub use crate::timestamp::{RelativeDelay, Timestamp};
pub use config::{
    Counting, DelayedAck, PauseConfig, RackConfig, ReceiverConfig, Recovery, RttConfig, SenderConfig,
    Validation, VerifyAcks,
};
pub use controller::{ControllerConfig, MadeSender};
pub use ends::EndsConfig;
pub use external::{AnySender, Carried, ExternalController};
pub use misbehaving::Misbehaviour;
pub use pdu::{Ack, Arrival, Pdu, SackBlock, Segment};
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use rtt::RttEstimator;
pub use sender::{Sender, SenderReason, WindowStats};
