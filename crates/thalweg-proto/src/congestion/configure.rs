//! The contract of a controller's configuration.

use super::{Controller, FeedbackKind};
use core::fmt::Debug;

/// The configuration of a controller, of this crate or another: all that there is to know of it before it is made.
pub trait ConfigureController: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The controller.
    type Controller: Controller<PacketInfo: Send> + Debug + Send + 'static;

    /// The name, in errors and of the scheme that has it.
    const NAME: &'static str;

    /// The controller of a new connection, which has seen nothing.
    fn make(&self) -> Self::Controller;

    /// True if the controller takes a mark for a loss ([`LossKind::Mark`](super::LossKind::Mark)), as RFC 3168 asks:
    /// those of TCP. The DEC bit's source has an answer of its own; others know of no marks.
    fn answers_marks(&self) -> bool {
        false
    }

    /// The messages that routers should send to flows of this controller; `None` where they would not be understood.
    fn feedback(&self) -> Option<FeedbackKind> {
        None
    }
}
