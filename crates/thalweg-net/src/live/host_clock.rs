//! Conversion of the host's clock to [`Time`].

use rustix::event::Timespec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// Monotonic clock that starts at zero and ignores changes of the wall clock. Its range is 213 days; a socket restarts
/// it long before ([`Clock::restart`]).
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    /// Sum of the times shown before restarts, in nanoseconds.
    nanos_before: u64,
    advance: Option<Jumps>,
}

/// Handle that advances a clock in tests, as a suspended process or host would see it.
#[derive(Clone, Debug, Default)]
pub struct Jumps(Arc<AtomicU64>);

impl Jumps {
    /// Advances the clock by `span`.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(span.as_picos() / 1000, Ordering::Relaxed);
    }
}

impl Clock {
    /// Creates a clock that starts now.
    #[expect(clippy::new_without_default, reason = "a clock is not a value that is empty")]
    pub fn new() -> Self {
        Self { start: Instant::now(), nanos_before: 0, advance: None }
    }

    /// Creates a clock that starts now, and a handle that advances it.
    pub fn with_jumps() -> (Self, Jumps) {
        let jumps = Jumps::default();
        (Self { advance: Some(jumps.clone()), ..Self::new() }, jumps)
    }

    /// Returns the current time.
    #[inline]
    pub fn now(&self) -> Time {
        Time::ZERO + Duration::from_nanos(self.nanos() - self.nanos_before)
    }

    /// Restarts the clock at zero. Times read before are not comparable with later ones.
    pub fn restart(&mut self) {
        self.nanos_before = self.nanos();
    }

    /// Returns the nanoseconds since creation; the range is 584 years.
    #[inline]
    fn nanos(&self) -> u64 {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let advance = self.advance.as_ref().map_or(0, |jumps| jumps.0.load(Ordering::Relaxed));
        nanos.saturating_add(advance)
    }
}

/// Converts a span for the system calls that put a socket's thread to sleep.
pub(super) fn to_timespec(span: Duration) -> Timespec {
    let nanos = span.as_picos().div_ceil(1000);
    // Both casts are lossless: at most 213 days, and less than a second.
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_clock_does_not_overflow() {
        const DAY: Duration = Duration::from_secs(86_400);
        let (mut clock, jumps) = Clock::with_jumps();
        // Ten years with restarts; the clock never shows much more than a hundred days.
        for _ in 0..37 {
            jumps.advance(DAY * 100);
            assert!((DAY * 100..DAY * 101).contains(&clock.now().since(Time::ZERO)));
            clock.restart();
            assert!(clock.now() < Time::ZERO + DAY);
        }
        // A clock that is never restarted saturates and does not wrap.
        jumps.advance(DAY * 200);
        jumps.advance(DAY * 200);
        assert_eq!(clock.now(), Time::MAX);
    }
}
