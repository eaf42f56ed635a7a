//! Priorities of transfers: which one yields to which.

use thalweg_proto::gate::LOWEST_PRIORITY;

/// Priority of a transfer: 1 (most urgent) to 6 (least urgent, the default).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    /// Creates a priority; `None` outside of 1 to 6.
    pub fn new(number: u8) -> Option<Self> {
        (1..=LOWEST_PRIORITY).contains(&number).then_some(Self(number))
    }

    /// Returns the number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(LOWEST_PRIORITY)
    }
}
