//! Windowed minimum of the round-trip time (RFC 8985, section 6.2, step 1), which adapts to a longer path after
//! minutes.

use crate::state_digest::hash_all;
use crate::units::{Duration, Time};
use core::hash::Hasher;

/// Minimum lifetime of a sample; the maximum is twice as long (five minutes, as in Linux).
const MIN_LIFETIME: Duration = Duration::from_secs(150);

/// Shortest sample of each half of the filter window.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedMinRtt {
    /// Start of the current half.
    half_start: Time,
    present: Duration,
    last: Duration,
}

impl WindowedMinRtt {
    /// Creates the state before the first sample.
    pub fn new() -> Self {
        Self { half_start: Time::ZERO, present: Duration::MAX, last: Duration::MAX }
    }

    /// Returns the windowed minimum; [`Duration::MAX`] before the first sample.
    pub fn get(&self) -> Duration {
        self.present.min(self.last)
    }

    /// Adds a sample at `now`.
    pub fn sample(&mut self, now: Time, rtt: Duration) {
        let elapsed = now.since(self.half_start);
        if elapsed >= MIN_LIFETIME {
            // After a longer silence the previous half is out of date, too.
            self.last = if elapsed < MIN_LIFETIME * 2 { self.present } else { Duration::MAX };
            (self.half_start, self.present) = (now, Duration::MAX);
        }
        self.present = self.present.min(rtt);
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(into, (now.since(self.half_start), self.present, self.last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// RFC 8985, section 6.2, step 1: the minimum of recent samples, not of all.
    #[test]
    fn a_longer_path_is_detected() {
        let mut shortest = WindowedMinRtt::new();
        assert_eq!(shortest.get(), Duration::MAX);
        shortest.sample(at(1), MS(40));
        for second in (10..300).step_by(10) {
            shortest.sample(at(second), MS(90));
            assert_eq!(shortest.get(), MS(40), "{second} s");
        }
        for second in (300..600).step_by(10) {
            shortest.sample(at(second), MS(90));
        }
        assert_eq!(shortest.get(), MS(90));
        // A shorter sample counts at once.
        shortest.sample(at(601), MS(50));
        assert_eq!(shortest.get(), MS(50));
        // A long silence expires all old samples.
        shortest.sample(at(2000), MS(70));
        assert_eq!(shortest.get(), MS(70));
    }
}
