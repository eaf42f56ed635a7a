//! Receive-window autotuning from the application's reads (Fisk and Feng 2001, "Dynamic Right-Sizing").
//!
//! A receive window smaller than the data in flight limits the sender. The application reads in one round trip about
//! the data in flight, so a window of four times that never limits the sender: slow start doubles the data in flight
//! while the update travels, and as much again waits during loss recovery.

use thalweg_proto::units::{Duration, Time};

/// Window, as a multiple of the data read per round trip.
const ROUND_TRIPS: u64 = 4;

/// Minimum measurement interval: applications read in bursts, which do not reflect the path.
const MIN_SPAN: Duration = Duration::from_millis(10);

/// Bytes read by the application per round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveAutotuning {
    /// Minimum measured round-trip time; other samples include queueing.
    shortest: Option<Duration>,
    since: Option<Time>,
    bytes: u64,
    wants: u64,
}

impl ReceiveAutotuning {
    /// Creates the state for a path, with the round-trip time of the handshake if measured.
    pub fn new(rtt: Option<Duration>) -> Self {
        Self { shortest: rtt, ..Self::default() }
    }

    /// Adds a round-trip sample.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// Resets the state for a new path.
    pub fn on_path_change(&mut self) {
        self.shortest = None;
    }

    /// Counts `bytes` read by the application at `now`.
    pub fn took(&mut self, now: Time, bytes: u64) {
        let (Some(since), Some(rtt)) = (self.since, self.shortest) else {
            (self.since, self.bytes) = (Some(now), 0);
            return;
        };
        self.bytes = self.bytes.saturating_add(bytes);
        let span = now.since(since);
        if span < rtt.max(MIN_SPAN) {
            return;
        }
        let bytes = u128::from(self.bytes) * u128::from(rtt.as_picos()) / u128::from(span.as_picos());
        self.wants = self.wants.max(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(ROUND_TRIPS));
        (self.since, self.bytes) = (Some(now), 0);
    }

    /// Returns the largest window needed so far, in bytes.
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
        let mut autotuning = ReceiveAutotuning::new(Some(MS(300)));
        let mut now = Time::ZERO;
        // 100 MB/s; 30 MB is 300 ms.
        for _ in 0..1000 {
            now += MS(1);
            autotuning.took(now, 100_000);
        }
        assert!((118_000_000..=122_000_000).contains(&autotuning.wants()), "{}", autotuning.wants());
        // Neither a pause nor slower reading enlarges it.
        now += Duration::from_secs(60);
        autotuning.took(now, 1_000_000);
        assert!(autotuning.wants() <= 122_000_000);
        // Without a round-trip time there is no estimate.
        let mut autotuning = ReceiveAutotuning::new(None);
        (0..100).for_each(|milli| autotuning.took(Time::ZERO + MS(milli), u64::MAX));
        assert_eq!(autotuning.wants(), 0);
    }

    /// Loopback may move 4 GB/s: a round trip of 200 us holds 0.8 MB, for any read pattern.
    #[test]
    fn bursts_of_an_application_that_reads_late_are_no_long_path() {
        let mut autotuning = ReceiveAutotuning::new(Some(Duration::from_micros(200)));
        let mut now = Time::ZERO;
        for _ in 0..100 {
            // The data of 3 ms is read in one burst.
            now += MS(3);
            autotuning.took(now, 6_000_000);
            autotuning.took(now + Duration::from_micros(200), 6_000_000);
        }
        assert!((2_000_000..=5_000_000).contains(&autotuning.wants()), "{}", autotuning.wants());
    }

    #[test]
    fn a_round_trip_with_a_wait_in_it_does_not_count_until_the_path_is_another() {
        let mut autotuning = ReceiveAutotuning::new(Some(MS(10)));
        let fill = |autotuning: &mut ReceiveAutotuning, from: u64| {
            (from..from + 400).for_each(|milli| autotuning.took(Time::ZERO + MS(milli), 100_000));
            autotuning.wants()
        };
        autotuning.on_rtt_sample(MS(80));
        assert!((3_900_000..=4_500_000).contains(&fill(&mut autotuning, 0)));
        autotuning.on_path_change();
        autotuning.on_rtt_sample(MS(80));
        assert!((31_000_000..=33_000_000).contains(&fill(&mut autotuning, 1000)));
    }
}
