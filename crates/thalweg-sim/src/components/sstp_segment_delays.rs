//! Measures the segment delays of two-level flow control (SSTP).

use crate::run_result::SegmentDelay;
use std::collections::{BTreeMap, VecDeque};
use thalweg_proto::pdu::SegmentStep;
use thalweg_proto::units::{Duration, Time};

/// Segment delays of one connection, from the start of the first transmission to acceptance at the receiver (Gong and
/// Parulkar 1992, section 4.1). If soft acknowledgement discards a segment that is accepted again later, the last
/// acceptance counts. A segment is counted once all earlier ones have been accepted.
#[derive(Clone, Debug, Default)]
pub struct SegmentTimes {
    /// Start and last acceptance of each segment, from the lowest uncounted one on.
    segments: VecDeque<(Time, Time)>,
    /// Number of segments counted since the connection was opened.
    delivered: u64,
    count: u64,
    sum: Duration,
    max: Duration,
}

impl SegmentTimes {
    /// Records the first packet of the next segment.
    fn begin(&mut self, now: Time) {
        self.segments.push_back((now, Time::MAX));
    }

    /// Applies a step reported by a PDU.
    pub fn step(&mut self, now: Time, step: SegmentStep) {
        match step {
            SegmentStep::Begun => self.begin(now),
            SegmentStep::Accepted { segment, cumulative } => self.accept(now, segment, cumulative),
        }
    }

    /// Records the receiver's acceptance of a segment and of all below `cumulative`. Numbers wrap at 2^16.
    fn accept(&mut self, now: Time, segment: u16, cumulative: u16) {
        let offset = segment.wrapping_sub(self.delivered as u16);
        // An older segment is a duplicate.
        if let Some(segment) = self.segments.get_mut(usize::from(offset)).filter(|_| offset < 1 << 15) {
            segment.1 = now;
        }
        for _ in 0..cumulative.wrapping_sub(self.delivered as u16) {
            let Some((start_time, end_time)) = self.segments.pop_front() else { return };
            let delay = end_time.min(now).since(start_time);
            self.delivered += 1;
            self.count += 1;
            self.sum += delay;
            self.max = self.max.max(delay);
        }
    }

    /// Resets the counts at the end of the warm-up; segments in transit stay.
    pub fn restart(&mut self) {
        (self.count, self.sum, self.max) = (0, Duration::ZERO, Duration::ZERO);
    }

    /// Returns the number of segments delivered in order since the connection was opened.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the delays of the counted segments.
    pub fn delay(&self) -> SegmentDelay {
        SegmentDelay { count: self.count, mean: mean_duration(self.sum, self.count), max: self.max }
    }

    /// Returns the sum of the delays.
    pub(crate) fn sum(&self) -> Duration {
        self.sum
    }
}

/// Segment times of a run's connections, by the connection's id.
#[derive(Debug, Default)]
pub(crate) struct SegmentRecords(BTreeMap<u32, SegmentTimes>);

impl SegmentRecords {
    /// Applies a step reported by a PDU of a connection.
    pub fn step(&mut self, connection: u32, now: Time, step: SegmentStep) {
        self.0.entry(connection).or_default().step(now, step);
    }

    /// Returns the times of a connection, if it has segments.
    pub fn times_of(&self, connection: u32) -> Option<&SegmentTimes> {
        self.0.get(&connection)
    }

    /// Drops the times of a closed connection.
    pub fn forget(&mut self, connection: u32) {
        self.0.remove(&connection);
    }

    /// Ends the warm-up.
    pub fn restart(&mut self) {
        self.0.values_mut().for_each(SegmentTimes::restart);
    }

    /// Adds the connections of another partition.
    pub fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }
}

/// Returns the mean; zero for no values.
pub(crate) fn mean_duration(sum: Duration, count: u64) -> Duration {
    Duration::from_picos(sum.as_picos().checked_div(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    //! Tests the counts report by report.
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_segment_counts_when_all_before_it_are_accepted() {
        let mut times = SegmentTimes::default();
        for begin in [0, 10, 20] {
            times.begin(at(begin));
        }
        // Nothing yet, then 1 and 2 before 0; then 0, whose report is repeated.
        times.accept(at(25), u16::MAX, 0);
        times.accept(at(30), 1, 0);
        times.accept(at(35), 2, 0);
        assert_eq!(times.delay(), SegmentDelay::default());
        times.accept(at(60), 0, 3);
        times.accept(at(90), 2, 3);
        let millis = Duration::from_millis;
        let expected = SegmentDelay { count: 3, mean: millis(95) / 3, max: millis(60) };
        assert_eq!((times.delay(), times.delivered()), (expected, 3));
        times.restart();
        times.begin(at(100));
        times.accept(at(107), 3, 4);
        assert_eq!(times.delay(), SegmentDelay { count: 1, mean: millis(7), max: millis(7) });
        // Segment numbers wrap; a segment that never started is not counted.
        let mut times = SegmentTimes::default();
        for round in 0..70_000u64 {
            times.begin(at(round));
            times.accept(at(round + 1), round as u16, (round + 1) as u16);
        }
        assert_eq!((times.delay().count, times.delay().max), (70_000, millis(1)));
        times.accept(at(80_000), 5000, 6000);
        assert_eq!(times.delay().count, 70_000);
    }
}
