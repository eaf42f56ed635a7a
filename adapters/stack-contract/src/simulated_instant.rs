//! Simulated time as [`Instant`], for stacks that take it.
//!
//! Stacks only subtract instants from each other, hence the start of the simulation may be any instant. It lies a day
//! after the first use, so that stacks can compute instants before the start on a system that booted recently. Nanoseconds
//! are exact; simulated time is rounded down to them.

use core::time::Duration as StdDuration;
use std::sync::LazyLock;
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// The start of the simulation.
static START: LazyLock<Instant> = LazyLock::new(|| Instant::now() + StdDuration::from_secs(86_400));

/// Picoseconds of a nanosecond.
const PICOS_PER_NANO: u64 = 1000;

/// Returns the instant of a simulated time.
pub fn instant(time: Time) -> Instant {
    *START + StdDuration::from_nanos(time.as_picos() / PICOS_PER_NANO)
}

/// Returns the simulated time of an instant: zero before the start, and [`Time::MAX`] beyond the end of simulated time.
pub fn time(instant: Instant) -> Time {
    Time::from_picos(saturating_picos(instant.saturating_duration_since(*START)))
}

/// Returns a simulated duration; durations beyond its range saturate.
pub fn duration(duration: StdDuration) -> Duration {
    Duration::from_picos(saturating_picos(duration))
}

fn saturating_picos(duration: StdDuration) -> u64 {
    u64::try_from(duration.as_nanos() * u128::from(PICOS_PER_NANO)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_exact_in_both_directions() {
        for picos in [0, 1000, 999_999_000, 86_400 * 1_000_000_000_000] {
            assert_eq!(time(instant(Time::from_picos(picos))).as_picos(), picos);
        }
        assert_eq!(time(instant(Time::from_picos(1999))).as_picos(), 1000);
        let before = *START - StdDuration::from_secs(3600);
        assert_eq!(time(before), Time::ZERO);
        assert_eq!(time(*START + StdDuration::from_secs(1 << 40)), Time::MAX);
    }
}
