//! The memory that a path wants of a receiver, from what its application takes (Fisk and Feng 2001, "Dynamic Right-Sizing").
//!
//! A receive window that is smaller than what is on the way holds the sender back. What the application takes in a round trip is what
//! was on the way, so that a window of four times that never does: slow start doubles what is on the way while it is told, and
//! as much again waits while a loss is repaired.

use thalweg_proto::units::{Duration, Time};

/// The window in round trips of what is taken.
const ROUND_TRIPS: u64 = 4;

/// The shortest time over which bytes are counted: applications read by bursts, which say nothing of the path.
const LEAST_SPAN: Duration = Duration::from_millis(10);

/// The bytes that an application takes, round trip by round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// The shortest round trip of the path that was measured: the others have waits in them, here or there.
    shortest: Option<Duration>,
    since: Option<Time>,
    bytes: u64,
    wants: u64,
}

impl Growth {
    /// For a path of which the handshake measured this round trip, or none.
    pub fn new(rtt: Option<Duration>) -> Self {
        Self { shortest: rtt, ..Self::default() }
    }

    /// A round trip of the path was measured.
    pub fn measured(&mut self, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// The path is another, of which nothing was measured yet.
    pub fn renew(&mut self) {
        self.shortest = None;
    }

    /// The application took so many bytes at `now`.
    pub fn took(&mut self, now: Time, bytes: u64) {
        let (Some(since), Some(rtt)) = (self.since, self.shortest) else {
            (self.since, self.bytes) = (Some(now), 0);
            return;
        };
        self.bytes = self.bytes.saturating_add(bytes);
        let span = now.since(since);
        if span < rtt.max(LEAST_SPAN) {
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

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn four_round_trips_of_what_is_taken() {
        let mut growth = Growth::new(Some(MS(300)));
        let mut now = Time::ZERO;
        // 100 MB a second, of which 300 ms hold 30 MB.
        for _ in 0..1000 {
            now += MS(1);
            growth.took(now, 100_000);
        }
        assert!((118_000_000..=122_000_000).contains(&growth.wants()), "{}", growth.wants());
        // A pause makes it no larger, nor does less.
        now += Duration::from_secs(60);
        growth.took(now, 1_000_000);
        assert!(growth.wants() <= 122_000_000);
        // Nothing is known of a path without a round-trip time.
        let mut growth = Growth::new(None);
        (0..100).for_each(|milli| growth.took(Time::ZERO + MS(milli), u64::MAX));
        assert_eq!(growth.wants(), 0);
    }

    /// Within one host 4 GB a second may move, of which a round trip of 200 us holds 0.8 MB, however they are read.
    #[test]
    fn bursts_of_an_application_that_reads_late_are_no_long_path() {
        let mut growth = Growth::new(Some(Duration::from_micros(200)));
        let mut now = Time::ZERO;
        for _ in 0..100 {
            // What has come in 3 ms is read in a moment.
            now += MS(3);
            growth.took(now, 6_000_000);
            growth.took(now + Duration::from_micros(200), 6_000_000);
        }
        assert!((2_000_000..=5_000_000).contains(&growth.wants()), "{}", growth.wants());
    }

    #[test]
    fn a_round_trip_with_a_wait_in_it_does_not_count_until_the_path_is_another() {
        let mut growth = Growth::new(Some(MS(10)));
        let fill = |growth: &mut Growth, from: u64| {
            (from..from + 400).for_each(|milli| growth.took(Time::ZERO + MS(milli), 100_000));
            growth.wants()
        };
        growth.measured(MS(80));
        assert!((3_900_000..=4_500_000).contains(&fill(&mut growth, 0)));
        growth.renew();
        growth.measured(MS(80));
        assert!((31_000_000..=33_000_000).contains(&fill(&mut growth, 1000)));
    }
}
