//! Source Quench with the source behaviour of Nagle (RFC 896, 1984).
//!
//! The window has a fixed size. After a quench from a router, the source treats the window as closed until a number of
//! acknowledgements have arrived. Retransmissions by the timer continue.
//!
//! The same memorandum's rule against small packets is an option of the sender
//! ([`SenderConfig::nagle`](crate::window::SenderConfig::nagle)).

use super::{AckSample, ConfigureController, Controller, Decision, FeedbackKind, FeedbackSample, LossSample};

/// Configuration of a [`SourceQuench`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceQuenchConfig {
    /// Window in segments, at least 1.
    pub window: f64,
    /// Number of acknowledgements for which a quench closes the window (10 in RFC 896).
    pub acks_per_quench: u32,
}

/// Source that responds to quenches.
#[derive(Clone, Copy, Debug)]
pub struct SourceQuench {
    window: f64,
    acks_per_quench: u32,
    /// Remaining acknowledgements until the window reopens; 0 while it is open.
    acks_until_open: u32,
}

impl SourceQuench {
    /// Creates the controller described by `config`, with an open window.
    pub fn new(config: &SourceQuenchConfig) -> Self {
        Self { window: config.window.max(1.0), acks_per_quench: config.acks_per_quench, acks_until_open: 0 }
    }
}

impl Controller for SourceQuench {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        // With nothing outstanding, no further acknowledgement would reopen the window.
        let nothing_outstanding = sample.connection.outstanding <= sample.acked;
        self.acks_until_open = if nothing_outstanding { 0 } else { self.acks_until_open.saturating_sub(1) };
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if sample.connection.outstanding > 0 {
            self.acks_until_open = self.acks_per_quench;
        }
    }

    fn decision(&self) -> Decision {
        // While data is outstanding, a window of one segment permits no new data, and lets the timer retransmit.
        Decision::window(if self.acks_until_open > 0 { 1.0 } else { self.window })
    }
}

impl ConfigureController for SourceQuenchConfig {
    type Controller = SourceQuench;
    const NAME: &'static str = "source-quench";

    fn make(&self) -> SourceQuench {
        SourceQuench::new(self)
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::SourceQuench)
    }
}
