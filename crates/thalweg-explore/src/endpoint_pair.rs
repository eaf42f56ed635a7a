//! The two endpoints of an exploration: sender and receiver.

/// One of the endpoints; also the direction towards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The endpoint that sends the messages.
    Sender,
    /// The endpoint that delivers them.
    Receiver,
}

impl End {
    pub(crate) const BOTH_ENDS: [Self; 2] = [Self::Receiver, Self::Sender];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}
