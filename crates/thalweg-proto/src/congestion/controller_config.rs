//! The trait that configurations of congestion controllers implement.

use super::{Controller, FeedbackKind};
use crate::Ecn;
use crate::random::RandomStream;
use crate::units::{Duration, Rate};
use core::fmt::Debug;

/// Response of a controller to CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CeResponse {
    /// No response: data is Not-ECT.
    #[default]
    None,
    /// Same response as to a loss, at most once per window of data ([`LossKind::Mark`](super::LossKind::Mark)), as RFC
    /// 3168 requires. Data is ECT(0) if the [sender](crate::window::SenderConfig::ecn) is configured to use ECN.
    AsToLoss,
    /// Controller-specific response to the marks in acknowledgement samples. Data always has this codepoint.
    ControllerSpecific(Ecn),
}

/// Rules of the sender that a controller implements, each with a key of window schemes. Schemes refuse the keys of other
/// rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderRules {
    /// Restart after idle times, by [`on_idle`](Controller::on_idle): the key `idle-restart`.
    pub idle_restart: bool,
    /// Reduction of an unused window, by [`on_window_unused`](Controller::on_window_unused): the key `window-validation`.
    pub window_validation: bool,
    /// Growth by [`counted`](super::AckSample::counted) segments: the key `byte-counting`.
    pub byte_counting: bool,
}

impl SenderRules {
    /// No rule.
    pub const NONE: Self = Self { idle_restart: false, window_validation: false, byte_counting: false };
    /// Rules for windows that the application does not use.
    pub const UNUSED_WINDOW: Self =
        Self { idle_restart: true, window_validation: true, byte_counting: false };
    /// All rules.
    pub const ALL: Self = Self { idle_restart: true, window_validation: true, byte_counting: true };
}

/// Configuration of a controller, of this crate or another, with its static properties.
///
/// Options of the sender, such as ECN, RACK or timestamps, are keys of all window schemes. ECN needs a
/// [response to CE](Self::ce_response), PRR a [threshold](Controller::ssthresh), and idle restarts, window validation
/// and byte counting the [rules](Self::SENDER_RULES) of the controller; the others need nothing.
pub trait ConfigureController: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The controller.
    type Controller: Controller<PacketInfo: Send> + Debug + Send + 'static;

    /// Name in errors, and of the scheme with this controller.
    const NAME: &'static str;

    /// The rules for idle times, unused windows and byte counting that the controller implements. The sender applies no
    /// others, and does not call their methods.
    const SENDER_RULES: SenderRules = SenderRules::NONE;

    /// Returns the name, for a controller whose name is known only at run time.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Creates the controller of a new connection, in its initial state.
    fn make(&self) -> Self::Controller;

    /// Returns true if controllers draw random numbers, from a [stream](Self::make_drawing) of their own in simulated
    /// flows.
    fn draws(&self) -> bool {
        false
    }

    /// Creates the controller of a new connection, which draws its random numbers from this stream.
    fn make_drawing(&self, stream: RandomStream) -> Self::Controller {
        let _ = stream;
        self.make()
    }

    /// Returns the response to CE, which determines whether data is ECN-capable, and its codepoint. With
    /// [`AsToLoss`](CeResponse::AsToLoss) the key `ecn` enables ECN: it is false in simulations and true on real paths
    /// by default. With [`ControllerSpecific`](CeResponse::ControllerSpecific) ECN is always enabled.
    fn ce_response(&self) -> CeResponse {
        CeResponse::None
    }

    /// Returns the messages that routers should send to flows of this controller; `None` if it supports none.
    fn feedback(&self) -> Option<FeedbackKind> {
        None
    }

    /// Returns the mean queueing delay that flows of this controller, and no others, aim at on a path; `None` for a
    /// controller without such a target. Assessments test whether they keep to it.
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        let _ = path;
        None
    }

    /// Returns true if the controller depends on these messages. Returns false for a controller that uses them as one
    /// congestion signal among others: routers then do not enable feedback for it.
    fn needs_feedback(&self) -> bool {
        self.feedback().is_some()
    }
}

/// A path that flows share equally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedPath {
    /// Number of flows.
    pub flows: u32,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Round-trip time without queues.
    pub min_rtt: Duration,
    /// Bytes on the wire of a full data packet.
    pub packet: u32,
}

impl SharedPath {
    /// Returns the queueing delay if each flow has this number of packets in the queue.
    pub fn delay_of_packets(&self, each: f64) -> Duration {
        let bytes = each * f64::from(self.flows) * f64::from(self.packet);
        Duration::from_secs_f64(8.0 * bytes / self.rate.as_f64())
    }
}
