//! Controllers as plain data.

use super::{BbnSpec, DecBitSpec, FeedbackKind, Growth, SeifSpec, TriSSpec};

/// Which controller, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ControllerSpec {
    /// A window that never changes.
    Fixed {
        /// The window in segments.
        window: f64,
    },
    /// Slow Start with congestion avoidance (Jacobson 1988): Tahoe.
    SlowStart {
        /// The window at the start, in segments.
        initial_window: f64,
        /// The first slow-start threshold in segments.
        initial_threshold: f64,
        /// How the window grows in congestion avoidance.
        growth: Growth,
    },
    /// NewReno (RFC 5681, RFC 6582).
    NewReno {
        /// The window at the start, in segments.
        initial_window: f64,
        /// The first slow-start threshold in segments.
        initial_threshold: f64,
    },
    /// Vegas (Brakmo and Peterson 1995).
    Vegas {
        /// The window at the start, in segments.
        initial_window: f64,
        /// The first slow-start threshold in segments.
        initial_threshold: f64,
        /// The window grows while fewer segments than this are queued in the network.
        alpha: f64,
        /// The window shrinks while more segments than this are queued in the network.
        beta: f64,
        /// Slow start ends when more segments than this are queued.
        gamma: f64,
    },
    /// CUBIC (RFC 9438).
    Cubic {
        /// The window at the start, in segments.
        initial_window: f64,
        /// The first slow-start threshold in segments.
        initial_threshold: f64,
        /// The scale of the cubic function (0.4 in the RFC).
        c: f64,
        /// What a loss multiplies the window by (0.7 in the RFC).
        beta: f64,
        /// Give up part of the window to newcomers when it stopped growing below its last maximum.
        fast_convergence: bool,
    },
    /// SEIF (Liang 1991).
    Seif(SeifSpec),
    /// The DEC bit (Ramakrishnan and Jain 1988).
    DecBit(DecBitSpec),
    /// Tri-S (Wang and Crowcroft 1991).
    TriS(TriSSpec),
    /// Source Quench (Nagle 1984).
    SourceQuench {
        /// The window in segments.
        window: f64,
        /// A quench closes the window until so many acknowledgements have come (10 in RFC 896).
        acks: u32,
    },
    /// Rations of rate (Robinson, Friedman and Steenstrup 1990).
    Bbn(BbnSpec),
}

impl ControllerSpec {
    /// Whether it takes a mark for a loss ([`LossKind::Mark`](super::LossKind::Mark)), as RFC 3168 asks: those of TCP. The DEC
    /// bit's source has an answer of its own; others know of no marks.
    pub const fn answers_marks(&self) -> bool {
        matches!(
            self,
            Self::SlowStart { .. } | Self::NewReno { .. } | Self::Vegas { .. } | Self::Cubic { .. }
        )
    }

    /// What routers should tell flows of this controller; `None` where they would not be understood.
    pub const fn feedback(&self) -> Option<FeedbackKind> {
        match self {
            Self::Fixed { .. }
            | Self::SlowStart { .. }
            | Self::NewReno { .. }
            | Self::Vegas { .. }
            | Self::Cubic { .. }
            | Self::TriS(_) => None,
            Self::Seif(_) => Some(FeedbackKind::Seif),
            Self::DecBit(_) => Some(FeedbackKind::DecBit),
            Self::SourceQuench { .. } => Some(FeedbackKind::SourceQuench),
            Self::Bbn(_) => Some(FeedbackKind::Rations),
        }
    }
}
