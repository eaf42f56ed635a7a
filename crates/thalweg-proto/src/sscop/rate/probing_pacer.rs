//! Spacing of SDs at the source, which probes the network without extra packets.

use super::Probing;
use crate::units::{Duration, Time};
use crate::wakeup_lateness::Lateness;

/// Pacer whose mean rate is the granted one, while some SDs probe for more.
#[derive(Clone, Debug)]
pub struct Pacer {
    probing: Probing,
    /// Units sent after long spacings minus those sent after short ones.
    counter: i64,
    /// Departure time of the last SD; `None` before the first.
    last: Option<Time>,
    /// Earliest departure of the next SD, as last computed.
    earliest_departure: Time,
    lateness: Lateness,
}

impl Pacer {
    /// Creates a pacer; the first SD may leave at once.
    pub fn new(probing: Probing) -> Self {
        Self {
            probing,
            counter: 0,
            last: None,
            earliest_departure: Time::ZERO,
            lateness: Lateness::default(),
        }
    }

    /// Returns the earliest departure of an SD of `size` units at `rate` units per second; `second` for the second of a
    /// pair.
    ///
    /// The interval I is size / rate. With the paper's pattern (section 3), the spacing is I/2 while more units were
    /// sent after long intervals than after short ones, and 3I/2 otherwise. Pairs leave back to back every 2I.
    pub fn due(&mut self, size: u32, rate: f64, second: bool) -> Time {
        let Some(last) = self.last else { return Time::ZERO };
        let factor = match self.probing {
            Probing::Spacing if self.counter > 0 => 0.5,
            Probing::Spacing => 1.5,
            Probing::PacketPair if second => 0.0,
            Probing::PacketPair => 2.0,
        };
        self.earliest_departure = last + Duration::from_secs_f64(factor * f64::from(size) / rate);
        self.earliest_departure
    }

    /// Records the departure time of a waiting SD, if any, after a poll of the engine.
    pub fn wait(&mut self, turn: Option<Time>) {
        self.lateness.wait(turn);
    }

    /// Records the departure of an SD of `size` units, after a call of [`Pacer::due`] for it.
    pub fn on_sent(&mut self, now: Time, size: u32) {
        self.counter += if self.counter > 0 { -i64::from(size) } else { i64::from(size) };
        self.last = Some(self.lateness.departure(self.earliest_departure, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(probing: Probing, sizes: &[u32], rate: f64) -> Vec<f64> {
        let mut pacer = Pacer::new(probing);
        let mut now = Time::ZERO;
        let mut gaps = Vec::new();
        for (index, &size) in sizes.iter().enumerate() {
            let due = pacer.due(size, rate, index % 2 == 1).max(now);
            gaps.push(due.since(now).as_millis_f64());
            now = due;
            pacer.on_sent(now, size);
        }
        gaps
    }

    /// Section 3: with I = 1 ms, the spacings alternate between 1.5 and 0.5 ms.
    #[test]
    fn equal_sizes_alternate() {
        let gaps = gaps(Probing::Spacing, &[100; 6], 1e5);
        // The first SD leaves at once and counts as sent after a long spacing.
        assert_eq!(gaps, [0.0, 0.5, 1.5, 0.5, 1.5, 0.5]);
    }

    /// The counter balances sizes: as many units leave after a half interval as after one and a half.
    #[test]
    fn the_mean_rate_is_the_granted_one_for_mixed_sizes() {
        let sizes: Vec<u32> = (0..10_000u32).map(|index| 40 + index * 7919 % 1460).collect();
        let gaps = gaps(Probing::Spacing, &sizes, 1e6);
        let total: f64 = sizes.iter().map(|size| f64::from(*size)).sum();
        let rate = total / (gaps.iter().sum::<f64>() / 1e3);
        assert!((rate / 1e6 - 1.0).abs() < 0.001, "{rate}");
        // The minimum spacing is that of twice the rate.
        let fastest = gaps.iter().skip(1).zip(&sizes[1..]).map(|(gap, size)| gap / f64::from(*size));
        assert!(fastest.fold(f64::MAX, f64::min) > 0.5e-3 - 1e-9);
    }

    #[test]
    fn pairs_go_back_to_back() {
        assert_eq!(gaps(Probing::PacketPair, &[100; 6], 1e5), [0.0, 0.0, 2.0, 0.0, 2.0, 0.0]);
    }

    #[test]
    fn a_late_driver_does_not_slow_the_source_down() {
        let mut pacer = Pacer::new(Probing::Spacing);
        let late = Duration::from_micros(150);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Duration::from_millis(100) {
            // A mean of 80 us each.
            let due = pacer.due(1000, 12.5e6, false);
            if due > now {
                pacer.wait(Some(due));
                now = due + late;
            } else {
                pacer.on_sent(now, 1000);
                sent += 1;
            }
        }
        assert!((1246..=1252).contains(&sent), "{sent}");
    }
}
