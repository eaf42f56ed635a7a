//! The receiver's estimate of the granted rate, from the spacing of arrivals.

use super::{Probing, RateField, Unit};
use crate::sscop::SequenceNumber;
use crate::units::{Rate, Time};

/// Maximum number of stored arrivals; a new one then replaces the oldest.
const MAX_RECORDS: usize = 4096;

/// Arrival, with the time since the previous one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    /// Size, in units.
    size: f64,
    /// Interval in seconds per unit.
    interval: f64,
}

/// Estimator of rates from arrivals (section 3 of the paper).
///
/// An interval is a sample unless it spans a loss or a pause of the source. A pause is the time between two POLLs
/// without any SD.
#[derive(Clone, Debug)]
pub struct Estimator {
    unit: Unit,
    probing: Probing,
    keep: bool,
    records: std::collections::VecDeque<Record>,
    /// Arrival time and number of the last SD; `None` after a pause.
    last: Option<(Time, SequenceNumber)>,
    /// An SD has arrived since the last POLL.
    arrived: bool,
    /// A loss was detected since the last POLL.
    has_loss: bool,
    rate: Option<RateField>,
}

impl Estimator {
    /// Creates an estimator. With `keep`, arrivals too few for a rate are kept for the next report.
    pub fn new(unit: Unit, probing: Probing, keep: bool) -> Self {
        Self {
            unit,
            probing,
            keep,
            records: std::collections::VecDeque::new(),
            last: None,
            arrived: false,
            has_loss: false,
            rate: None,
        }
    }

    /// Records the arrival of an SD of `length` octets; `gap` if SDs before it are missing.
    pub fn on_arrival(&mut self, now: Time, length: u32, s: SequenceNumber, gap: bool) {
        self.arrived = true;
        self.has_loss |= gap;
        let before = self.last.replace((now, s));
        let Some((then, number)) = before.filter(|_| !gap) else { return };
        let is_pair = s.get() % 2 == 1 && s.after(number) == 1;
        if self.probing == Probing::PacketPair && !is_pair {
            return;
        }
        let size = f64::from(self.unit.size(length));
        if self.records.len() >= MAX_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(Record { size, interval: now.since(then).as_secs_f64() / size });
    }

    /// Records a loss; returns the rate over all arrivals since the last POLL.
    pub fn report_loss(&mut self) -> Option<RateField> {
        self.has_loss = true;
        self.derive();
        self.rate
    }

    /// Handles a POLL; returns the rate over the arrivals since the last one.
    pub fn report(&mut self) -> Option<RateField> {
        let enough = self.derive();
        if enough || !self.keep {
            self.records.clear();
            self.has_loss = false;
        }
        if !core::mem::take(&mut self.arrived) {
            self.last = None;
        }
        self.rate
    }

    /// Derives a rate if there are more than two arrivals.
    fn derive(&mut self) -> bool {
        // Chen and Chen 1999, section 3: fewer records may all have long intervals, and would give too low a
        // rate.
        if self.records.len() <= 2 {
            return false;
        }
        let mut records: Vec<Record> = self.records.iter().copied().collect();
        // All pairs count, as in Keshav's method: each is a sample of the same quantity.
        // After a loss the mean of all intervals counts, as the short ones probe for capacity that is not
        // there.
        let share = if self.has_loss || self.probing == Probing::PacketPair { 1.0 } else { 1.0 / 3.0 };
        records.sort_by(|a, b| a.interval.total_cmp(&b.interval));
        let interval = mean_of_lowest(&records, share);
        // Simultaneous arrivals, as on a link of infinite rate, give no rate except a very high one.
        let per_second = f64::from(self.unit.bits()) / interval.max(1e-12);
        self.rate = Some(RateField::new(Rate::from_bits_per_sec(per_second as u64)));
        true
    }
}

/// Returns the mean interval of the lowest `share` of `records`, which are sorted by interval. It is weighted by size;
/// the last record counts in part.
fn mean_of_lowest(records: &[Record], share: f64) -> f64 {
    let threshold = share * records.iter().map(|record| record.size).sum::<f64>();
    let (mut time, mut left) = (0.0, threshold);
    for record in records {
        let size = record.size.min(left);
        time += size * record.interval;
        left -= size;
        if left <= 0.0 {
            break;
        }
    }
    time / threshold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    /// By hand: sizes 2, 1, 3 with intervals 4, 1, 2 s. A third of 6 is 2: all of the second, and one unit of the
    /// third: (1 x 1 + 1 x 2) / 2 = 1.5 s. Over all (2 x 4 + 1 x 1 + 3 x 2) / 6 = 2.5 s.
    #[test]
    fn the_lowest_third_and_the_mean() {
        let mut records =
            [(2.0, 4.0), (1.0, 1.0), (3.0, 2.0)].map(|(size, interval)| Record { size, interval });
        records.sort_by(|a, b| a.interval.total_cmp(&b.interval));
        assert_eq!(mean_of_lowest(&records, 1.0 / 3.0), 1.5);
        assert_eq!(mean_of_lowest(&records, 1.0), 2.5);
    }

    fn arrivals(estimator: &mut Estimator, gaps: &[(u64, u32, bool)]) {
        let mut now = Time::ZERO;
        for (number, &(gap, length, lost)) in (0..).zip(gaps) {
            now += Duration::from_micros(gap);
            estimator.on_arrival(now, length, SequenceNumber::new(number), lost);
        }
    }

    fn mbits(field: Option<RateField>) -> Option<f64> {
        field.map(|field| (field.rate().as_f64() / 1e5).round() / 10.0)
    }

    #[test]
    fn no_rate_from_fewer_than_three_and_the_last_one_stays() {
        let mut estimator = Estimator::new(Unit::Bytes, Probing::Spacing, false);
        arrivals(&mut estimator, &[(0, 1000, false), (80, 1000, false), (80, 1000, false)]);
        assert_eq!(estimator.report(), None);
        arrivals(
            &mut estimator,
            &[(0, 1000, false), (80, 1000, false), (80, 1000, false), (80, 1000, false)],
        );
        // The first interval starts before the POLL; it is zero here, since the test restarts time.
        assert_eq!(mbits(estimator.report()).map(|rate| rate > 100.0), Some(true));
        let last = estimator.rate;
        assert_eq!(estimator.report(), last);
    }

    #[test]
    fn a_loss_makes_it_the_mean_and_is_no_sample() {
        let gaps =
            [(0, 1000, false), (80, 1000, false), (160, 1000, false), (5000, 1000, true), (120, 1000, false)];
        let mut estimator = Estimator::new(Unit::Bytes, Probing::Spacing, true);
        arrivals(&mut estimator, &gaps[..4]);
        // Two samples are too few.
        assert_eq!(estimator.report_loss(), None);
        let mut estimator = Estimator::new(Unit::Bytes, Probing::Spacing, true);
        arrivals(&mut estimator, &gaps);
        // 80, 160 and 120 us for 1000 octets: a mean of 120 us each, 66.7 Mbit/s.
        assert_eq!(mbits(estimator.report_loss()).map(f64::round), Some(67.0));
        assert_eq!(mbits(estimator.report()).map(f64::round), Some(67.0));
    }

    #[test]
    fn cells_make_sizes_comparable() {
        // 40 octets fill one cell, 136 fill three: 10 and 30 us are the same rate.
        let gaps = [(0, 40, false), (10, 40, false), (30, 136, false), (10, 40, false), (30, 136, false)];
        let mut estimator = Estimator::new(Unit::Cells, Probing::Spacing, false);
        arrivals(&mut estimator, &gaps);
        assert_eq!(mbits(estimator.report()).map(|rate| (rate * 10.0).round()), Some(424.0));
    }

    #[test]
    fn a_pause_yields_no_sample() {
        let mut estimator = Estimator::new(Unit::Bytes, Probing::Spacing, true);
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut next = 0;
        let mut arrive = |estimator: &mut Estimator, micros| {
            estimator.on_arrival(at(micros), 1000, SequenceNumber::new(next), false);
            next += 1;
        };
        for micros in [0, 100, 200, 300] {
            arrive(&mut estimator, micros);
        }
        assert_eq!(mbits(estimator.report()), Some(80.0));
        // Nothing between two POLLs, then arrivals as before.
        let _ = estimator.report();
        for micros in [900_000, 900_100, 900_200, 900_300] {
            arrive(&mut estimator, micros);
        }
        assert_eq!(mbits(estimator.report_loss()), Some(80.0));
    }

    #[test]
    fn pairs_count_within_pairs_only() {
        let mut estimator = Estimator::new(Unit::Bytes, Probing::PacketPair, true);
        let gaps = [
            (0, 1000, false),
            (100, 1000, false),
            (900, 1000, false),
            (100, 1000, false),
            (900, 1000, false),
            (100, 1000, false),
        ];
        arrivals(&mut estimator, &gaps);
        assert_eq!(mbits(estimator.report()), Some(80.0));
    }
}
