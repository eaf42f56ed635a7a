//! The source's spacing of SDs, which probes the network without any packet more.

use super::Probing;
use crate::lateness::Lateness;
use crate::units::{Duration, Time};

/// Spaces SDs so that their mean rate is the granted one and some of them probe for more.
#[derive(Clone, Debug)]
pub struct Pacer {
    probing: Probing,
    /// The units sent after long spacings less those sent after short ones.
    counter: i64,
    /// The departure time of the last SD; `None` before the first.
    last: Option<Time>,
    /// The time at which the next SD may leave, as last asked.
    due: Time,
    lateness: Lateness,
}

impl Pacer {
    /// Before the first SD, which may leave at once.
    pub fn new(probing: Probing) -> Self {
        Self { probing, counter: 0, last: None, due: Time::ZERO, lateness: Lateness::default() }
    }

    /// The time at which an SD of `size` units may leave at `rate` units a second; `second` for the second of a pair.
    ///
    /// The interval I is size / rate. With the paper's pattern (section 3.1) it is I/2 while more was sent after long
    /// intervals than after short ones, and 3I/2 otherwise. Pairs leave back to back every 2I.
    pub fn due(&mut self, size: u32, rate: f64, second: bool) -> Time {
        let Some(last) = self.last else { return Time::ZERO };
        let factor = match self.probing {
            Probing::Spacing if self.counter > 0 => 0.5,
            Probing::Spacing => 1.5,
            Probing::PacketPair if second => 0.0,
            Probing::PacketPair => 2.0,
        };
        self.due = last + Duration::from_secs_f64(factor * f64::from(size) / rate);
        self.due
    }

    /// The engine has been polled; an SD waits for this moment, if any does.
    pub fn wait(&mut self, turn: Option<Time>) {
        self.lateness.wait(turn);
    }

    /// An SD of `size` units leaves, after [`Pacer::due`] was asked for it.
    pub fn on_sent(&mut self, now: Time, size: u32) {
        self.counter += if self.counter > 0 { -i64::from(size) } else { i64::from(size) };
        self.last = Some(self.lateness.departure(self.due, now));
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

    /// Section 3.1: with I = 1 ms the spacings are 1.5 and 0.5 ms in turn.
    #[test]
    fn equal_sizes_alternate() {
        let gaps = gaps(Probing::Spacing, &[100; 6], 1e5);
        // The first leaves at once and counts as sent after a long spacing.
        assert_eq!(gaps, [0.0, 0.5, 1.5, 0.5, 1.5, 0.5]);
    }

    /// The counter balances sizes: what goes at half the interval is as much as what goes at one and a half.
    #[test]
    fn the_mean_rate_is_the_granted_one_for_mixed_sizes() {
        let sizes: Vec<u32> = (0..10_000u32).map(|index| 40 + index * 7919 % 1460).collect();
        let gaps = gaps(Probing::Spacing, &sizes, 1e6);
        let total: f64 = sizes.iter().map(|size| f64::from(*size)).sum();
        let rate = total / (gaps.iter().sum::<f64>() / 1e3);
        assert!((rate / 1e6 - 1.0).abs() < 0.001, "{rate}");
        // The fastest spacing is that of twice the rate.
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
            // 80 us each in the mean.
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
