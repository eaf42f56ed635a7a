//! Trait of controller configurations.

use super::{Controller, FeedbackKind};
use crate::Ecn;
use crate::random::Stream;
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
    Own(Ecn),
}

/// Configuration of a controller, of this crate or another, with its static properties.
pub trait ConfigureController: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The controller.
    type Controller: Controller<PacketInfo: Send> + Debug + Send + 'static;

    /// Name in errors, and of the scheme with this controller.
    const NAME: &'static str;

    /// Returns the name, for a controller whose name is known only at run time.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Creates the controller of a new connection, in its initial state.
    fn make(&self) -> Self::Controller;

    /// Returns true if controllers draw random numbers: in simulated flows, [from a stream](Self::make_drawing) of
    /// their own.
    fn draws(&self) -> bool {
        false
    }

    /// The controller of a new connection, which draws its random numbers from this stream.
    fn make_drawing(&self, stream: Stream) -> Self::Controller {
        let _ = stream;
        self.make()
    }

    /// The way in which the controller reacts to CE, on which depends whether its data may be marked, and with which codepoint
    /// it leaves.
    fn ce_response(&self) -> CeResponse {
        CeResponse::None
    }

    /// The messages that routers should send to flows of this controller; `None` where they would not be understood.
    fn feedback(&self) -> Option<FeedbackKind> {
        None
    }

    /// True if the controller is not what it should be where no router sends these messages. One for which they are one sense of
    /// congestion among others says false: nobody gives feedback for its sake.
    fn needs_feedback(&self) -> bool {
        self.feedback().is_some()
    }
}
