//! The urgency of transfers.

use thalweg_proto::gate::LOWEST;

/// The urgency of a transfer: 1, the most, to 6, the least, which is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    /// Nothing for a number beyond 1 to 6.
    pub fn new(number: u8) -> Option<Self> {
        (1..=LOWEST).contains(&number).then_some(Self(number))
    }

    /// Its number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(LOWEST)
    }
}
