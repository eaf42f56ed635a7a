//! Measures the arrival rate of packets at a queue.

use thalweg_proto::units::{Duration, Time};

/// Number of slots per window.
const WINDOW_SLOTS: usize = 16;

/// Arrival rate over a sliding window: all bytes of the last window, divided by its length.
///
/// The window moves in sixteenths, so its cost is independent of the rate. It counts the current slot and the previous
/// sixteen, over the time that they cover. Before the first full window, the window counts as initially empty.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    slot: Duration,
    /// Number of the current slot, from time zero.
    current: u64,
    /// Bytes in the current slot, then in the previous ones.
    bytes: [u64; WINDOW_SLOTS + 1],
}

impl Arrivals {
    /// Creates an empty window of this length.
    pub fn new(window: Duration) -> Self {
        let slot = Duration::from_picos((window.as_picos() / WINDOW_SLOTS as u64).max(1));
        Self { slot, current: 0, bytes: [0; WINDOW_SLOTS + 1] }
    }

    fn advance_slots(&mut self, now: Time) {
        let current = now.as_picos() / self.slot.as_picos();
        let passed = usize::try_from(current.saturating_sub(self.current)).unwrap_or(usize::MAX);
        self.current = self.current.max(current);
        let passed = passed.min(WINDOW_SLOTS + 1);
        self.bytes.rotate_right(passed % (WINDOW_SLOTS + 1));
        self.bytes[..passed].fill(0);
    }

    /// Counts an arriving packet.
    pub fn add(&mut self, now: Time, size: u32) {
        self.advance_slots(now);
        self.bytes[0] += u64::from(size);
    }

    /// Returns the rate, in bytes per second.
    pub fn rate(&mut self, now: Time) -> f64 {
        self.advance_slots(now);
        let slot = self.slot.as_secs_f64();
        let within = now.as_secs_f64() - self.current as f64 * slot;
        let bytes: u64 = self.bytes.iter().sum();
        bytes as f64 / (WINDOW_SLOTS as f64 * slot + within.clamp(0.0, slot))
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the estimate is the mean rate of the last window and ignores earlier arrivals.
    use super::*;

    const fn at(millis: u64) -> Time {
        Time::from_picos(millis * 1_000_000_000)
    }

    #[test]
    fn it_is_the_mean_rate_of_the_last_window() {
        // 100 bytes every 10 ms are 10 000 bytes a second after the window of 1 s; the estimate is lower before.
        let mut arrivals = Arrivals::new(Duration::from_secs(1));
        for step in 0..50 {
            arrivals.add(at(step * 10), 100);
        }
        assert!((arrivals.rate(at(500)) - 5_000.0).abs() < 200.0);
        for step in 50..300 {
            arrivals.add(at(step * 10), 100);
        }
        assert!((arrivals.rate(at(3000)) - 10_000.0).abs() < 200.0);
    }

    #[test]
    fn arrivals_before_the_window_do_not_count() {
        // A burst counts for a window, and not much longer.
        let mut arrivals = Arrivals::new(Duration::from_secs(1));
        arrivals.add(at(2000), 1000);
        assert!((arrivals.rate(at(2900)) - 1000.0).abs() < 60.0);
        assert!(arrivals.rate(at(3100)).abs() < 1e-9);
        assert!(arrivals.rate(Time::MAX).abs() < 1e-9);
    }
}
