//! Feedback as plain data.

use crate::SpecError;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::Duration;

/// The way in which a router tells sources of the congestion of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackSpec {
    /// The policy that decides when a message is sent, to which sources, and what it says.
    pub policy: PolicySpec,
    /// The flows that are told.
    pub audience: Audience,
    /// The size of a message on the wire in bytes.
    pub message: u32,
}

/// The flows that a router sends messages to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Those whose scheme listens to feedback of this kind.
    #[default]
    Listening,
    /// Every flow that sends data. Those that do not listen ignore what they are told.
    All,
}

/// A feedback policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PolicySpec {
    /// SEIF (Liang 1991).
    Seif(SeifSpec),
    /// Source quench (RFC 792, RFC 896).
    SourceQuench(QuenchSpec),
    /// The DEC bit (Ramakrishnan and Jain 1988).
    DecBit(DecBitSpec),
    /// Rations (Robinson, Friedman and Steenstrup 1990).
    Rations(RationsSpec),
}

/// SEIF's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeifSpec {
    /// The occasion on which all sources are told.
    pub policy: SeifPolicy,
    /// The share of the buffer above which a static policy sends, and below which static and reacting policies are
    /// ready again, 0 to 1.
    pub threshold: f64,
    /// Once sources were told, they are not told again before the queue was all right again.
    pub filter: bool,
    /// The time after which the table of sources is emptied, again and again; never if zero.
    pub routing_interval: Duration,
    /// Only sources within so many links of the router are told.
    pub reach: Option<u32>,
    /// Packets of sources that have been told are marked, and sources of marked packets are not told again by another
    /// router.
    pub mark: bool,
}

/// The occasion on which SEIF tells all sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeifPolicy {
    /// A packet is dropped: congestion control.
    Reacting,
    /// The queue is above the threshold: congestion avoidance.
    Static,
    /// More is about to come than there is room for.
    Dynamic {
        /// The part of the free buffer that may fill until sources react, above 0 up to 1.
        alpha: f64,
        /// The time from a message to its effect at the router when no packets wait.
        response: Duration,
        /// The rate of arrivals is measured over the last time of this length.
        window: Duration,
    },
}

impl Default for SeifSpec {
    fn default() -> Self {
        Self {
            policy: SeifPolicy::Static,
            threshold: 0.8,
            filter: true,
            routing_interval: Duration::from_secs(10),
            reach: None,
            mark: false,
        }
    }
}

/// Source quench's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuenchSpec {
    /// The share of the buffer from which on sources are told, 0 to 1.
    pub threshold: f64,
    /// Only the sources of dropped packets are told, as RFC 792 has it.
    pub on_drop: bool,
}

/// The DEC bit's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecBitSpec {
    /// Packets are marked while the average number of packets at the line is above this.
    pub threshold: f64,
}

/// The parameters of rations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RationsSpec {
    /// The share of the line's rate that is to be used, above 0 up to 1.
    pub target: f64,
    /// The time after which rations are renewed, again and again; not zero.
    pub interval: Duration,
    /// The time after which the table of sources is emptied, again and again; never if zero.
    pub routing_interval: Duration,
}

impl Default for QuenchSpec {
    fn default() -> Self {
        Self { threshold: 0.5, on_drop: false }
    }
}

impl Default for DecBitSpec {
    fn default() -> Self {
        Self { threshold: 1.0 }
    }
}

impl Default for RationsSpec {
    fn default() -> Self {
        Self { target: 0.9, interval: Duration::from_secs(1), routing_interval: Duration::from_secs(10) }
    }
}

impl FeedbackSpec {
    /// The default messages of a policy: of 50 bytes, to those who listen.
    pub const fn new(policy: PolicySpec) -> Self {
        Self { policy, audience: Audience::Listening, message: 50 }
    }

    /// Checks that a policy can be made of the specification.
    ///
    /// # Errors
    /// [`SpecError`] names the first value that is out of range.
    pub fn check(&self) -> Result<(), SpecError> {
        match &self.policy {
            PolicySpec::Seif(spec) => spec.check(),
            PolicySpec::SourceQuench(spec) => share("feedback.threshold", spec.threshold),
            PolicySpec::DecBit(spec) if spec.threshold >= 0.0 => Ok(()),
            PolicySpec::DecBit(spec) => {
                Err(SpecError::TooSmall { what: "feedback.threshold", value: spec.threshold })
            }
            PolicySpec::Rations(spec) if spec.interval.is_zero() => {
                Err(SpecError::TooSmall { what: "feedback.interval", value: 0.0 })
            }
            PolicySpec::Rations(spec) => share("feedback.target", spec.target),
        }
    }
}

impl PolicySpec {
    /// The time after which the policy acts of its own accord, again and again; `None` if it never does.
    pub const fn interval(&self) -> Option<Duration> {
        match self {
            Self::Rations(spec) => Some(spec.interval),
            Self::Seif(_) | Self::SourceQuench(_) | Self::DecBit(_) => None,
        }
    }

    /// The kind of feedback that a scheme must listen to, to hear the policy.
    pub const fn kind(&self) -> FeedbackKind {
        match self {
            Self::Seif(_) => FeedbackKind::Seif,
            Self::SourceQuench(_) => FeedbackKind::SourceQuench,
            Self::DecBit(_) => FeedbackKind::DecBit,
            Self::Rations(_) => FeedbackKind::Rations,
        }
    }
}

impl SeifSpec {
    fn check(&self) -> Result<(), SpecError> {
        share("feedback.threshold", self.threshold)?;
        match self.policy {
            SeifPolicy::Dynamic { alpha, .. } => share("feedback.alpha", alpha),
            SeifPolicy::Reacting | SeifPolicy::Static => Ok(()),
        }
    }
}

fn share(what: &'static str, value: f64) -> Result<(), SpecError> {
    // Written so that NaN fails.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Share { what, value }) }
}
