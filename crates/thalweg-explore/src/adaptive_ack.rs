//! Adaptive acknowledgement as a protocol to explore.

use super::{Bounds, Scheme, Tag};
use std::sync::Arc;
use thalweg_proto::adaptive_ack;
use thalweg_proto::units::Duration;

/// Adaptive acknowledgement; the paper's times by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdaptiveAck(pub adaptive_ack::Config);

impl Scheme for AdaptiveAck {
    type Pdu = adaptive_ack::Pdu<Tag>;
    type Sender = adaptive_ack::Transmitter<Tag>;
    type Receiver = adaptive_ack::Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let config = Arc::new(adaptive_ack::Config { segment: 1, window: bounds.window, ..self.0 });
        (adaptive_ack::Transmitter::new(Arc::clone(&config)), adaptive_ack::Receiver::new(config))
    }

    fn requested(&self, receiver: &Self::Receiver) -> Option<u64> {
        receiver.is_missing().then(|| receiver.expected())
    }

    /// The receiver reports every T_normal.
    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        match periods.iter().find(|&&period| period != self.0.normal) {
            Some(period) => Err(format!(
                "all losses are repaired, yet the receiver reports every {period} instead of every {}",
                self.0.normal
            )),
            None => Ok(()),
        }
    }
}
