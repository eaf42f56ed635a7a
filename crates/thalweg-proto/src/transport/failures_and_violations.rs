//! Failures of transports, and contract violations of third-party components.

use core::fmt;

/// Reason for the failure of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The same data was sent the maximum number of times without an answer.
    TooManyRetransmissions,
    /// The peer was silent for longer than allowed.
    NoAnswer,
    /// The peer closed or refused the connection.
    ClosedByPeer,
    /// The endpoints disagreed on the data sent, and data was lost.
    Desynchronised,
    /// The peer acknowledged unsent data, or reported fewer congestion marks than before.
    FalseAcknowledgement,
    /// A third-party component violated its contract.
    ContractViolation(ContractViolation),
}

/// A contract violation of a third-party component. The transport cannot continue after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContractViolation {
    /// Kind of component.
    pub component: ComponentKind,
    /// Name of the component.
    pub name: &'static str,
    /// Kind of violation.
    pub kind: ViolationKind,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let component = match self.component {
            ComponentKind::Controller => "controller",
            ComponentKind::Engine => "engine",
        };
        write!(f, "the {component} `{}` {}", self.name, self.kind.in_words())
    }
}

/// A component that may be external.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComponentKind {
    /// A congestion controller.
    Controller,
    /// An engine.
    Engine,
}

/// A violation of the contract of [`Controller`](crate::congestion::Controller), or of [`Engine`](crate::Engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// It panicked.
    Panicked,
    /// It raised an exception in another language.
    Raised,
    /// Its window is not a number.
    WindowNotANumber,
    /// Its window is below one segment.
    WindowTooSmall,
    /// Its window is beyond 2^30 segments.
    WindowTooLarge,
    /// Its pacing rate is zero.
    NoRate,
    /// Its burst is zero.
    NoBurst,
    /// It asks to be polled at a time in the past.
    TimeoutPast,
    /// It requests an endless series of actions at one instant.
    NeverIdle,
    /// It delivers more data than arrived.
    DeliveredMore,
    /// It delivers other bytes than its peer was given.
    DeliveredOther,
    /// Its PDU is empty or larger than the path MTU.
    PduSize,
}

impl ViolationKind {
    /// Returns a description of the violation, to follow the component's name.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Panicked => "panicked",
            Self::Raised => "raised an exception",
            Self::WindowNotANumber => "returned a window that is not a number",
            Self::WindowTooSmall => "returned a window below one segment",
            Self::WindowTooLarge => "returned a window above 2^30 segments",
            Self::NoRate => "returned a pacing rate of zero; `None` disables pacing",
            Self::NoBurst => "returned a burst of zero segments",
            Self::TimeoutPast => "returned a timeout in the past",
            Self::NeverIdle => "requested actions without end at one instant",
            Self::DeliveredMore => "delivered more bytes than it received",
            Self::DeliveredOther => "delivered other bytes than were written",
            Self::PduSize => "sent an empty PDU, or one above the path's maximum size",
        }
    }
}
