//! The configurations of controllers, and which of them a sender is to have.

use super::{
    Any, BbnConfig, CubicConfig, DecBitConfig, FeedbackKind, FixedConfig, NewRenoConfig, SeifConfig,
    SlowStartConfig, SourceQuenchConfig, TriSConfig, VegasConfig,
};
use crate::payload::Payload;
use crate::window::{AnySender, Carried, CustomController, Sender, SenderConfig};
use std::sync::Arc;

/// A window sender with the controller that was asked for.
#[derive(Debug)]
pub enum MadeSender<P: Payload> {
    /// One of the list.
    Listed(Box<Sender<P, Any>>),
    /// A custom one.
    Custom(Box<dyn AnySender<P>>),
}

/// A controller with its configuration: one that [`Any`] has, or a custom one.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerConfig {
    /// A window that never changes.
    Fixed(FixedConfig),
    /// Slow Start with congestion avoidance (Jacobson 1988): Tahoe.
    SlowStart(SlowStartConfig),
    /// NewReno (RFC 5681, RFC 6582).
    NewReno(NewRenoConfig),
    /// Vegas (Brakmo and Peterson 1995).
    Vegas(VegasConfig),
    /// CUBIC (RFC 9438).
    Cubic(CubicConfig),
    /// SEIF (Liang 1991).
    Seif(SeifConfig),
    /// The DEC bit (Ramakrishnan and Jain 1988).
    DecBit(DecBitConfig),
    /// Tri-S (Wang and Crowcroft 1991).
    TriS(TriSConfig),
    /// Source Quench (Nagle 1984).
    SourceQuench(SourceQuenchConfig),
    /// Rations of rate (Robinson, Friedman and Steenstrup 1990).
    Bbn(BbnConfig),
    /// One that is in no list here.
    Custom(CustomController),
}

impl ControllerConfig {
    /// The sender of a new connection, and whether its controller is one of the list.
    pub fn sender<P: Carried>(&self, config: Arc<SenderConfig>) -> MadeSender<P> {
        match Any::new(self) {
            Ok(controller) => MadeSender::Listed(Box::new(Sender::new(config, controller))),
            Err(custom) => MadeSender::Custom(custom.sender(config)),
        }
    }

    /// True if the controller takes a mark for a loss ([`LossKind::Mark`](super::LossKind::Mark)), as RFC 3168 asks:
    /// those of TCP. The DEC bit's source has an answer of its own; others know of no marks.
    pub fn answers_marks(&self) -> bool {
        match self {
            Self::SlowStart(_) | Self::NewReno(_) | Self::Vegas(_) | Self::Cubic(_) => true,
            Self::Custom(custom) => custom.answers_marks(),
            _ => false,
        }
    }

    /// The messages that routers should send to flows of this controller; `None` where they would not be understood.
    pub fn feedback(&self) -> Option<FeedbackKind> {
        match self {
            Self::Fixed(_)
            | Self::SlowStart(_)
            | Self::NewReno(_)
            | Self::Vegas(_)
            | Self::Cubic(_)
            | Self::TriS(_) => None,
            Self::Seif(_) => Some(FeedbackKind::Seif),
            Self::DecBit(_) => Some(FeedbackKind::DecBit),
            Self::SourceQuench(_) => Some(FeedbackKind::SourceQuench),
            Self::Bbn(_) => Some(FeedbackKind::Rations),
            Self::Custom(custom) => custom.feedback(),
        }
    }
}
