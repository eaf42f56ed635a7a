//! The configurations of controllers, and which of them a sender is to have.

use super::{
    BbnConfig, CubicConfig, DecBitConfig, FeedbackKind, FixedConfig, NewRenoConfig, SeifConfig,
    SlowStartConfig, SourceQuenchConfig, TriSConfig, VegasConfig,
};

/// A controller that [`Any`](super::Any) has, with its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl ControllerConfig {
    /// Whether it takes a mark for a loss ([`LossKind::Mark`](super::LossKind::Mark)), as RFC 3168 asks: those of TCP. The DEC
    /// bit's source has an answer of its own; others know of no marks.
    pub const fn answers_marks(&self) -> bool {
        matches!(self, Self::SlowStart(_) | Self::NewReno(_) | Self::Vegas(_) | Self::Cubic(_))
    }

    /// What routers should tell flows of this controller; `None` where they would not be understood.
    pub const fn feedback(&self) -> Option<FeedbackKind> {
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
        }
    }
}
