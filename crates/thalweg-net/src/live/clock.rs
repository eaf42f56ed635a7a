//! The one place where the host's clock becomes a [`Time`].

use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// A clock that starts at zero, never goes back and does not follow changes of the wall clock. It has room for 213 days.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::new_without_default, reason = "a clock is not a value that is empty")]
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// What it shows.
    #[inline]
    pub fn now(&self) -> Time {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_nanos(nanos)
    }
}
