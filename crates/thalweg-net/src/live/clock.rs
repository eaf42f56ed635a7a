//! The one place where the host's clock becomes a [`Time`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// A clock that starts at zero, never goes back and does not follow changes of the wall clock. It has room for 213 days.
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    ahead: Option<Jumps>,
}

/// Moves a clock ahead: what a program sees that was stopped for a while, or whose host slept.
#[derive(Clone, Debug, Default)]
pub struct Jumps(Arc<AtomicU64>);

impl Jumps {
    /// The clock is later by `span` from now on.
    pub fn ahead(&self, span: Duration) {
        self.0.fetch_add(span.as_picos() / 1000, Ordering::Relaxed);
    }
}

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::new_without_default, reason = "a clock is not a value that is empty")]
    pub fn new() -> Self {
        Self { start: Instant::now(), ahead: None }
    }

    /// A clock that starts now and that can be moved ahead, for tests of what happens then.
    pub fn that_jumps() -> (Self, Jumps) {
        let jumps = Jumps::default();
        (Self { ahead: Some(jumps.clone()), ..Self::new() }, jumps)
    }

    /// What it shows.
    #[inline]
    pub fn now(&self) -> Time {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let ahead = self.ahead.as_ref().map_or(0, |jumps| jumps.0.load(Ordering::Relaxed));
        Time::ZERO + Duration::from_nanos(nanos.saturating_add(ahead))
    }
}
