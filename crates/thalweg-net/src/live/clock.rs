//! The one place where the host's clock becomes a [`Time`].

use rustix::event::Timespec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// A clock that starts at zero, never goes back and does not follow changes of the wall clock. It has room for 213 days: a
/// socket starts its own anew long before that ([`Clock::restart`]).
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    /// The time that the clock showed when it was started anew, in nanoseconds in all.
    before: u64,
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
        Self { start: Instant::now(), before: 0, ahead: None }
    }

    /// A clock that starts now and that can be moved ahead, for tests of what happens then.
    pub fn that_jumps() -> (Self, Jumps) {
        let jumps = Jumps::default();
        (Self { ahead: Some(jumps.clone()), ..Self::new() }, jumps)
    }

    /// The time that the clock shows.
    #[inline]
    pub fn now(&self) -> Time {
        Time::ZERO + Duration::from_nanos(self.nanos() - self.before)
    }

    /// Starts anew, at zero. Whoever keeps times of before must not compare them with later ones.
    pub fn restart(&mut self) {
        self.before = self.nanos();
    }

    /// Nanoseconds since it was made: there is room for 584 years.
    #[inline]
    fn nanos(&self) -> u64 {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let ahead = self.ahead.as_ref().map_or(0, |jumps| jumps.0.load(Ordering::Relaxed));
        nanos.saturating_add(ahead)
    }
}

/// A span as system calls take it, which the thread of a socket sleeps with.
pub(super) fn timespec(span: Duration) -> Timespec {
    let nanos = span.as_picos().div_ceil(1000);
    // Both fit: 213 days, and less than a second.
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_started_anew_lasts() {
        const DAY: Duration = Duration::from_secs(86_400);
        let (mut clock, jumps) = Clock::that_jumps();
        // Ten years, in all of which no clock has shown more than a hundred days and a bit.
        for _ in 0..37 {
            jumps.ahead(DAY * 100);
            assert!((DAY * 100..DAY * 101).contains(&clock.now().since(Time::ZERO)));
            clock.restart();
            assert!(clock.now() < Time::ZERO + DAY);
        }
        // One that is not ends, and does not go round.
        jumps.ahead(DAY * 200);
        jumps.ahead(DAY * 200);
        assert_eq!(clock.now(), Time::MAX);
    }
}
