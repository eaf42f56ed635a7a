//! Source Quench as a source should take it (Nagle, RFC 896, 1984).
//!
//! A window of fixed size. When a router sends a quench, the source acts as if the window were closed, until some
//! acknowledgements have come. What is repaired by the timer goes on.
//!
//! The same memorandum's rule against small packets is an option of the sender
//! ([`SenderConfig::nagle`](crate::window::SenderConfig::nagle)).

use super::{AckSample, ConfigureController, Controller, Decision, FeedbackKind, FeedbackSample, LossSample};

/// The configuration of a [`SourceQuench`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceQuenchConfig {
    /// The window in segments, at least 1.
    pub window: f64,
    /// A quench closes the window until so many acknowledgements have come (10 in RFC 896).
    pub acks: u32,
}

/// A source that hears quenches.
#[derive(Clone, Copy, Debug)]
pub struct SourceQuench {
    window: f64,
    acks: u32,
    /// Acknowledgements still to come until the window opens again; 0 while it is open.
    closed: u32,
}

impl SourceQuench {
    /// Starts as `config` says, with an open window.
    pub fn new(config: &SourceQuenchConfig) -> Self {
        Self { window: config.window.max(1.0), acks: config.acks, closed: 0 }
    }
}

impl Controller for SourceQuench {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        // With nothing outstanding no further acknowledgement would open it.
        let answered = sample.path.outstanding <= sample.acked;
        self.closed = if answered { 0 } else { self.closed.saturating_sub(1) };
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if sample.path.outstanding > 0 {
            self.closed = self.acks;
        }
    }

    fn decision(&self) -> Decision {
        // One segment is as good as none while something is outstanding, and lets the timer repair the only one.
        Decision::window(if self.closed > 0 { 1.0 } else { self.window })
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
