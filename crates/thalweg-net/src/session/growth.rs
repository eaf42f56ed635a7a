//! The memory that a path wants of a receiver, from what its application takes (Fisk and Feng 2001, "Dynamic Right-Sizing").
//!
//! A receive window that is smaller than what is on the way holds the sender back. What the application takes in a round trip is what
//! was on the way, so that a window of four times that never does: slow start doubles what is on the way while it is told, and
//! as much again waits while a loss is repaired.

use thalweg_proto::units::{Duration, Time};

/// The window in round trips of what is taken.
const ROUND_TRIPS: u64 = 4;

/// The bytes that an application takes, round trip by round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    since: Option<Time>,
    bytes: u64,
    wants: u64,
}

impl Growth {
    /// The application took so many bytes at `now`, of a path with this round-trip time.
    pub fn took(&mut self, now: Time, bytes: u64, rtt: Option<Duration>) {
        let (Some(since), Some(rtt)) = (self.since, rtt) else {
            (self.since, self.bytes) = (Some(now), 0);
            return;
        };
        self.bytes = self.bytes.saturating_add(bytes);
        let span = now.since(since);
        if span < rtt || span.is_zero() {
            return;
        }
        let bytes = u128::from(self.bytes) * u128::from(rtt.as_picos()) / u128::from(span.as_picos());
        self.wants = self.wants.max(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(ROUND_TRIPS));
        (self.since, self.bytes) = (Some(now), 0);
    }

    /// The most that it would have wanted so far, in bytes.
    pub fn wants(&self) -> u64 {
        self.wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_round_trips_of_what_is_taken() {
        let mut growth = Growth::default();
        let rtt = Some(Duration::from_millis(300));
        let mut now = Time::ZERO;
        // 100 MB a second, of which 300 ms hold 30 MB.
        for _ in 0..1000 {
            now += Duration::from_millis(1);
            growth.took(now, 100_000, rtt);
        }
        assert!((118_000_000..=122_000_000).contains(&growth.wants()), "{}", growth.wants());
        // A pause makes it no larger, nor does less.
        now += Duration::from_secs(60);
        growth.took(now, 1_000_000, rtt);
        assert!(growth.wants() <= 122_000_000);
        // Nothing is known of a path without a round-trip time.
        let mut growth = Growth::default();
        (0..100).for_each(|milli| growth.took(Time::ZERO + Duration::from_millis(milli), u64::MAX, None));
        assert_eq!(growth.wants(), 0);
    }
}
