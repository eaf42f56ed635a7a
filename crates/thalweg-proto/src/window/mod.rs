//! The window transport: a reliable byte stream, one way, under a congestion window.
//!
//! A [`Sender`] and a [`Receiver`] make a connection in one direction. The sender cuts written data into segments,
//! keeps each until it is acknowledged, and repairs losses under one of the [`Recovery`] rules. Its congestion
//! controller limits the outstanding data. The receiver delivers in order and exactly once, and answers with cumulative
//! and selective acknowledgements.

mod byte_ranges;
mod config;
mod controller_selection;
mod endpoint_configs;
mod external_controller;
mod family_adapter;
mod gate_pause;
mod misbehaving_receiver;
mod optional_receiver_state;
mod pdu;
mod receiver;
mod rledbat;
mod rtt_estimator;
mod scoreboard;
mod segment_record;
mod sender;
mod unreported_ranges;
pub mod wire;

pub(crate) use crate::congestion::MAX_WINDOW;
pub use crate::one_way_delay::{RelativeDelay, Timestamp};
pub use config::{
    DelayedAck, PauseConfig, RackConfig, ReceiverConfig, Recovery, RttConfig, SenderConfig, Validation,
    VerifyAcks, WindowUnit,
};
pub use controller_selection::{ControllerConfig, MadeSender};
pub use endpoint_configs::EndsConfig;
pub use external_controller::{AnySender, ControllerPayload, ExternalController};
pub use misbehaving_receiver::Misbehaviour;
pub use pdu::{Ack, Arrival, Pdu, SackBlock, Segment};
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use rtt_estimator::RttEstimator;
pub use sender::{Sender, SenderReason, WindowStats};
