//! The receiver's estimate of the granted rate, from the spacing of arrivals.

use super::{Probing, RateField, SizeUnit};
use crate::sscop::SequenceNumber;
use crate::units::{Rate, Time};

/// Maximum number of stored arrivals; a new one then replaces the oldest.
const MAX_SAMPLES: usize = 4096;

/// Arrival, with the time since the previous one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SpacingSample {
    /// Size, in units.
    units: f64,
    /// Interval in seconds per unit.
    secs_per_unit: f64,
}

/// Estimator of rates from arrivals (section 3 of the paper).
///
/// An interval is a sample unless it spans a loss or a pause of the source. A pause is the time between two POLLs
/// without any SD.
#[derive(Clone, Debug)]
pub struct ReceiverRateEstimator {
    unit: SizeUnit,
    probing: Probing,
    keep_until_enough: bool,
    samples: std::collections::VecDeque<SpacingSample>,
    /// Arrival time and number of the last SD; `None` after a pause.
    last_arrival: Option<(Time, SequenceNumber)>,
    /// An SD has arrived since the last POLL.
    arrival_seen: bool,
    /// A loss was detected since the last POLL.
    gap_seen: bool,
    rate: Option<RateField>,
}

impl ReceiverRateEstimator {
    /// Creates an estimator. With `keep_until_enough`, arrivals too few for a rate are kept for the next report.
    pub fn new(unit: SizeUnit, probing: Probing, keep_until_enough: bool) -> Self {
        Self {
            unit,
            probing,
            keep_until_enough,
            samples: std::collections::VecDeque::new(),
            last_arrival: None,
            arrival_seen: false,
            gap_seen: false,
            rate: None,
        }
    }

    /// Records the arrival of an SD of `length` octets; `follows_loss` if SDs before it are missing.
    pub fn on_arrival(
        &mut self,
        now: Time,
        length: u32,
        sequence_number: SequenceNumber,
        follows_loss: bool,
    ) {
        self.arrival_seen = true;
        self.gap_seen |= follows_loss;
        let previous = self.last_arrival.replace((now, sequence_number));
        let Some((previous_time, previous_sequence)) = previous.filter(|_| !follows_loss) else { return };
        let is_pair = sequence_number.get() % 2 == 1 && sequence_number.distance_from(previous_sequence) == 1;
        if self.probing == Probing::PacketPair && !is_pair {
            return;
        }
        let units = f64::from(self.unit.size(length));
        if self.samples.len() >= MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(SpacingSample {
            units,
            secs_per_unit: now.since(previous_time).as_secs_f64() / units,
        });
    }

    /// Records a loss; returns the rate over all arrivals since the last POLL.
    pub fn rate_on_loss(&mut self) -> Option<RateField> {
        self.gap_seen = true;
        self.update_rate();
        self.rate
    }

    /// Handles a POLL; returns the rate over the arrivals since the last one.
    pub fn take_rate(&mut self) -> Option<RateField> {
        let is_updated = self.update_rate();
        if is_updated || !self.keep_until_enough {
            self.samples.clear();
            self.gap_seen = false;
        }
        if !core::mem::take(&mut self.arrival_seen) {
            self.last_arrival = None;
        }
        self.rate
    }

    /// Derives a rate if there are more than two arrivals.
    fn update_rate(&mut self) -> bool {
        // Chen and Chen 1999, section 3: fewer records may all have long intervals, and would give too low a
        // rate.
        if self.samples.len() <= 2 {
            return false;
        }
        let mut samples: Vec<SpacingSample> = self.samples.iter().copied().collect();
        // All pairs count, as in Keshav's method: each is a sample of the same quantity.
        // After a loss the mean of all intervals counts, as the short ones probe for capacity that is not
        // there.
        let fastest_fraction =
            if self.gap_seen || self.probing == Probing::PacketPair { 1.0 } else { 1.0 / 3.0 };
        samples.sort_by(|a, b| a.secs_per_unit.total_cmp(&b.secs_per_unit));
        let secs_per_unit = mean_of_fastest(&samples, fastest_fraction);
        // Simultaneous arrivals, as on a link of infinite rate, give no rate except a very high one.
        let bits_per_sec = f64::from(self.unit.bits()) / secs_per_unit.max(1e-12);
        self.rate = Some(RateField::new(Rate::from_bits_per_sec(bits_per_sec as u64)));
        true
    }
}

/// Returns the mean interval of the shortest `fastest_fraction` of `samples`, which are sorted by interval. It is weighted by size;
/// the last record counts in part.
fn mean_of_fastest(samples: &[SpacingSample], fastest_fraction: f64) -> f64 {
    let units_averaged = fastest_fraction * samples.iter().map(|sample| sample.units).sum::<f64>();
    let (mut total_secs, mut remaining_units) = (0.0, units_averaged);
    for sample in samples {
        let units = sample.units.min(remaining_units);
        total_secs += units * sample.secs_per_unit;
        remaining_units -= units;
        if remaining_units <= 0.0 {
            break;
        }
    }
    total_secs / units_averaged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    /// By hand: sizes 2, 1, 3 with intervals 4, 1, 2 s. A third of 6 is 2: all of the second, and one unit of the
    /// third: (1 x 1 + 1 x 2) / 2 = 1.5 s. Over all (2 x 4 + 1 x 1 + 3 x 2) / 6 = 2.5 s.
    #[test]
    fn the_lowest_third_and_the_mean() {
        let mut samples = [(2.0, 4.0), (1.0, 1.0), (3.0, 2.0)]
            .map(|(units, secs_per_unit)| SpacingSample { units, secs_per_unit });
        samples.sort_by(|a, b| a.secs_per_unit.total_cmp(&b.secs_per_unit));
        assert_eq!(mean_of_fastest(&samples, 1.0 / 3.0), 1.5);
        assert_eq!(mean_of_fastest(&samples, 1.0), 2.5);
    }

    fn arrivals(estimator: &mut ReceiverRateEstimator, spacings: &[(u64, u32, bool)]) {
        let mut now = Time::ZERO;
        for (number, &(spacing_us, length, follows_loss)) in (0..).zip(spacings) {
            now += Duration::from_micros(spacing_us);
            estimator.on_arrival(now, length, SequenceNumber::new(number), follows_loss);
        }
    }

    fn mbits(field: Option<RateField>) -> Option<f64> {
        field.map(|field| (field.rate().as_f64() / 1e5).round() / 10.0)
    }

    #[test]
    fn no_rate_from_fewer_than_three_and_the_last_one_stays() {
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Bytes, Probing::Spacing, false);
        arrivals(&mut estimator, &[(0, 1000, false), (80, 1000, false), (80, 1000, false)]);
        assert_eq!(estimator.take_rate(), None);
        arrivals(
            &mut estimator,
            &[(0, 1000, false), (80, 1000, false), (80, 1000, false), (80, 1000, false)],
        );
        // The first interval starts before the POLL; it is zero here, since the test restarts time.
        assert_eq!(mbits(estimator.take_rate()).map(|rate| rate > 100.0), Some(true));
        let last = estimator.rate;
        assert_eq!(estimator.take_rate(), last);
    }

    #[test]
    fn a_loss_makes_it_the_mean_and_is_no_sample() {
        let gaps =
            [(0, 1000, false), (80, 1000, false), (160, 1000, false), (5000, 1000, true), (120, 1000, false)];
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Bytes, Probing::Spacing, true);
        arrivals(&mut estimator, &gaps[..4]);
        // Two samples are too few.
        assert_eq!(estimator.rate_on_loss(), None);
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Bytes, Probing::Spacing, true);
        arrivals(&mut estimator, &gaps);
        // 80, 160 and 120 us for 1000 octets: a mean of 120 us each, 66.7 Mbit/s.
        assert_eq!(mbits(estimator.rate_on_loss()).map(f64::round), Some(67.0));
        assert_eq!(mbits(estimator.take_rate()).map(f64::round), Some(67.0));
    }

    #[test]
    fn cells_make_sizes_comparable() {
        // 40 octets fill one cell, 136 fill three: 10 and 30 us are the same rate.
        let gaps = [(0, 40, false), (10, 40, false), (30, 136, false), (10, 40, false), (30, 136, false)];
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Cells, Probing::Spacing, false);
        arrivals(&mut estimator, &gaps);
        assert_eq!(mbits(estimator.take_rate()).map(|rate| (rate * 10.0).round()), Some(424.0));
    }

    #[test]
    fn a_pause_yields_no_sample() {
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Bytes, Probing::Spacing, true);
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut next = 0;
        let mut arrive = |estimator: &mut ReceiverRateEstimator, micros| {
            estimator.on_arrival(at(micros), 1000, SequenceNumber::new(next), false);
            next += 1;
        };
        for micros in [0, 100, 200, 300] {
            arrive(&mut estimator, micros);
        }
        assert_eq!(mbits(estimator.take_rate()), Some(80.0));
        // Nothing between two POLLs, then arrivals as before.
        let _ = estimator.take_rate();
        for micros in [900_000, 900_100, 900_200, 900_300] {
            arrive(&mut estimator, micros);
        }
        assert_eq!(mbits(estimator.rate_on_loss()), Some(80.0));
    }

    #[test]
    fn pairs_count_within_pairs_only() {
        let mut estimator = ReceiverRateEstimator::new(SizeUnit::Bytes, Probing::PacketPair, true);
        let gaps = [
            (0, 1000, false),
            (100, 1000, false),
            (900, 1000, false),
            (100, 1000, false),
            (900, 1000, false),
            (100, 1000, false),
        ];
        arrivals(&mut estimator, &gaps);
        assert_eq!(mbits(estimator.take_rate()), Some(80.0));
    }
}
