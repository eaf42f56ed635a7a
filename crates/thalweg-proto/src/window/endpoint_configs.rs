//! Configurations of the sender and the receiver of a window connection.

use super::{ControllerConfig, ReceiverConfig, SenderConfig};
use crate::handshake;
use std::sync::Arc;

/// Settings of both endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct EndsConfig {
    /// The sender.
    pub sender: Arc<SenderConfig>,
    /// The receiver.
    pub receiver: Arc<ReceiverConfig>,
    /// The congestion controller.
    pub controller: ControllerConfig,
    /// Handshake of simulated connections; `None` for connections that are open from the start.
    pub handshake: Option<handshake::Config>,
}

impl EndsConfig {
    /// Creates settings of both endpoints, for connections that are open from the start.
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig, controller: ControllerConfig) -> Self {
        Self { sender: Arc::new(sender), receiver: Arc::new(receiver), controller, handshake: None }
    }
}
