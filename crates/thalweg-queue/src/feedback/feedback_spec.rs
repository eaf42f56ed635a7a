//! Router feedback as plain data.

use crate::SpecError;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::Duration;

/// Congestion feedback from a router's queue to sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackSpec {
    /// Policy for the time, destinations and content of messages.
    pub policy: PolicySpec,
    /// Flows that receive messages.
    pub recipients: Recipients,
    /// Message size on the wire, in bytes.
    pub message_bytes: u32,
}

/// Flows to which a router sends messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recipients {
    /// Flows whose scheme supports this kind of feedback.
    #[default]
    Capable,
    /// Every flow that sends data; flows without support ignore the messages.
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

/// Parameters of SEIF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeifSpec {
    /// Trigger for messages to all sources.
    pub policy: SeifPolicy,
    /// Buffer share above which the static policy sends, and below which the static and reacting policies are re-armed,
    /// 0 to 1.
    pub threshold_share: f64,
    /// Suppresses further messages to a source until the congestion has ended.
    pub filter: bool,
    /// Interval at which the table of sources is cleared; zero disables clearing.
    pub routing_interval: Duration,
    /// Maximum distance of notified sources from the router, in links.
    pub max_links: Option<u32>,
    /// Marks packets of notified sources; other routers do not notify sources of marked packets again.
    pub mark: bool,
    /// Limit on the messages; `None` for none.
    pub overhead: Option<OverheadSpec>,
}

/// Limit on the messages of a SEIF router (Liang 1991, section 6.1, leaves the algorithm open).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverheadSpec {
    /// Share of the line's rate that messages may take, above 0 up to 1. Each message counts once for every link of its
    /// way.
    pub share: f64,
    /// Means to stay below the share.
    pub control: OverheadControl,
    /// Message size on the wire, in bytes.
    pub message_bytes: u32,
}

/// Means of a SEIF router against too many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverheadControl {
    /// Sources grow more slowly, by how often the threshold is crossed: messages carry the number of windows per packet.
    Growth,
    /// The nearest sources get messages, as many as the share permits; the others rely on implicit feedback. Without
    /// any budget explicit feedback is disabled.
    Silence,
}

/// Trigger of SEIF messages to all sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeifPolicy {
    /// Packet drop: congestion control.
    Reacting,
    /// Queue above the threshold: congestion avoidance.
    Static,
    /// Expected arrivals above the free buffer.
    Dynamic {
        /// Share of the free buffer that may fill until sources react, above 0 up to 1.
        alpha: f64,
        /// Time from a message to its effect at the router with an empty queue.
        response_time: Duration,
        /// Measurement window of the arrival rate.
        window: Duration,
    },
}

impl Default for SeifSpec {
    fn default() -> Self {
        Self {
            policy: SeifPolicy::Static,
            threshold_share: 0.8,
            filter: true,
            routing_interval: Duration::from_secs(10),
            max_links: None,
            mark: false,
            overhead: None,
        }
    }
}

/// Parameters of source quench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuenchSpec {
    /// Minimum buffer occupancy for notifications, as a share of the limit, 0 to 1.
    pub threshold_share: f64,
    /// Notifies only the sources of dropped packets, as in RFC 792.
    pub on_drop: bool,
}

/// Parameters of the DEC bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecBitSpec {
    /// Average number of packets at the line above which packets are marked.
    pub threshold_packets: f64,
}

/// Parameters of rations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RationsSpec {
    /// Target utilisation of the line, above 0 up to 1.
    pub target: f64,
    /// Renewal interval of rations; not zero.
    pub interval: Duration,
    /// Interval at which the table of sources is cleared; zero disables clearing.
    pub routing_interval: Duration,
}

impl Default for QuenchSpec {
    fn default() -> Self {
        Self { threshold_share: 0.5, on_drop: false }
    }
}

impl Default for DecBitSpec {
    fn default() -> Self {
        Self { threshold_packets: 1.0 }
    }
}

impl Default for RationsSpec {
    fn default() -> Self {
        Self { target: 0.9, interval: Duration::from_secs(1), routing_interval: Duration::from_secs(10) }
    }
}

impl FeedbackSpec {
    /// Returns the default messages of a policy: 50 bytes, to flows that support them.
    pub const fn new(policy: PolicySpec) -> Self {
        Self { policy, recipients: Recipients::Capable, message_bytes: 50 }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns the first value out of range as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        match &self.policy {
            PolicySpec::Seif(spec) => spec.check(),
            PolicySpec::SourceQuench(spec) => check_share("feedback.threshold", spec.threshold_share),
            PolicySpec::DecBit(spec) if spec.threshold_packets >= 0.0 => Ok(()),
            PolicySpec::DecBit(spec) => {
                Err(SpecError::TooSmall { what: "feedback.threshold", value: spec.threshold_packets })
            }
            PolicySpec::Rations(spec) if spec.interval.is_zero() => {
                Err(SpecError::TooSmall { what: "feedback.interval", value: 0.0 })
            }
            PolicySpec::Rations(spec) => check_share("feedback.target", spec.target),
        }
    }
}

impl PolicySpec {
    /// Returns the timer interval of the policy; `None` if it has no timer.
    pub const fn interval(&self) -> Option<Duration> {
        match self {
            Self::Rations(spec) => Some(spec.interval),
            Self::Seif(_) | Self::SourceQuench(_) | Self::DecBit(_) => None,
        }
    }

    /// Returns the kind of feedback that a scheme must support.
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
        check_share("feedback.threshold", self.threshold_share)?;
        if let Some(overhead) = &self.overhead {
            check_share("feedback.overhead", overhead.share)?;
        }
        match self.policy {
            SeifPolicy::Dynamic { alpha, .. } => check_share("feedback.alpha", alpha),
            SeifPolicy::Reacting | SeifPolicy::Static => Ok(()),
        }
    }
}

fn check_share(what: &'static str, value: f64) -> Result<(), SpecError> {
    // NaN is in no range.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Share { what, value }) }
}
