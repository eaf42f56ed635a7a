//! The contract of a controller's configuration.

use super::{Controller, FeedbackKind};
use crate::Ecn;
use crate::random::Stream;
use core::fmt::Debug;

/// The way in which a controller reacts to CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CeResponse {
    /// It does not: its data is Not-ECT.
    #[default]
    None,
    /// As to a loss, at most once for each window of data ([`LossKind::Mark`](super::LossKind::Mark)), as RFC 3168 asks. Its data
    /// is ECT(0) where the [sender](crate::window::SenderConfig::ecn) is told to use ECN.
    AsToLoss,
    /// By the marks in samples of acknowledgements, in a way of its own. Its data always has this codepoint.
    Own(Ecn),
}

/// The configuration of a controller, of this crate or another: all that there is to know of it before it is made.
pub trait ConfigureController: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The controller.
    type Controller: Controller<PacketInfo: Send> + Debug + Send + 'static;

    /// The name, in errors and of the scheme that has it.
    const NAME: &'static str;

    /// The same for a controller whose name is known only while the program runs.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// The controller of a new connection, which has seen nothing.
    fn make(&self) -> Self::Controller;

    /// True if controllers draw random numbers: those of simulated flows [from a stream](Self::make_drawing) of their own.
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
