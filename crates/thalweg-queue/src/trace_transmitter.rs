//! Transmitter whose delivery opportunities follow a capacity trace.

use crate::{CapacityError, CapacityTrace};
use std::sync::Arc;
use thalweg_proto::units::Time;

/// Replays a [`CapacityTrace`] for one transmitter, and returns the departure time of each packet.
///
/// The rules are mahimahi's (`mm-link`):
/// - A packet uses opportunities after its ready time; an opportunity at exactly that time has passed.
/// - The rest of an opportunity after a packet goes to the next packet, if one is queued; otherwise it is lost.
/// - A packet larger than the rest continues in the following opportunities, and departs with the last of them.
///
/// All arithmetic is exact on integers and takes constant time (a binary search after an idle period), over any number
/// of repetitions and for any packet size. Times beyond [`Time::MAX`] saturate to [`Time::MAX`], which means never.
#[derive(Clone, Debug)]
pub struct CapacityClock {
    trace: Arc<CapacityTrace>,
    /// Next unused opportunity: its repetition and its position in the trace.
    next: (u64, u64),
    /// Bytes left of the opportunity at `last_departure`.
    bytes_left: u64,
    /// Departure time of the last packet.
    last_departure: Time,
}

impl CapacityClock {
    /// Creates an idle transmitter; the trace begins at [`Time::ZERO`].
    ///
    /// # Errors
    /// Returns the errors of [`CapacityTrace::check`].
    pub fn new(trace: Arc<CapacityTrace>) -> Result<Self, CapacityError> {
        trace.check()?;
        let mut clock = Self { trace, next: (0, 0), bytes_left: 0, last_departure: Time::ZERO };
        clock.next = clock.first_after(Time::ZERO);
        Ok(clock)
    }

    /// Returns the trace.
    pub const fn trace(&self) -> &Arc<CapacityTrace> {
        &self.trace
    }

    /// Returns the time of the first opportunity later than `after`, used or not.
    pub fn next_opportunity(&self, after: Time) -> Time {
        self.time_of(self.first_after(after))
    }

    /// Books the capacity for the next packet, and returns its departure time; it is of `size` bytes and ready at `now`.
    ///
    /// Returned times never decrease. A packet that was ready before or at the previous departure was queued, and
    /// follows at once. Callers may therefore ask when the transmitter is free, or for a whole queue in advance. A
    /// packet of zero bytes departs with the next byte that could.
    pub fn book_departure(&mut self, now: Time, size: u32) -> Time {
        if now > self.last_departure {
            self.bytes_left = 0;
            if self.time_of(self.next) <= now {
                self.next = self.first_after(now);
            }
        }
        let size = u64::from(size);
        if size <= self.bytes_left && self.bytes_left > 0 {
            self.bytes_left -= size;
            return self.last_departure;
        }
        let missing = size - self.bytes_left;
        let each = u64::from(self.trace.bytes_per_opportunity);
        let count = missing.div_ceil(each).max(1);
        self.bytes_left = count * each - missing;
        self.last_departure = self.time_of(self.advanced(count - 1));
        self.next = self.advanced(count);
        self.last_departure
    }

    /// Returns the first opportunity later than `after`.
    fn first_after(&self, after: Time) -> (u64, u64) {
        let period = self.trace.period.as_picos();
        let (repetition, within) = (after.as_picos() / period, Time::from_picos(after.as_picos() % period));
        let position = self.trace.opportunities.partition_point(|&at| at <= within) as u64;
        self.wrap_position(repetition, position)
    }

    /// Returns the opportunity `count` after the next.
    fn advanced(&self, count: u64) -> (u64, u64) {
        self.wrap_position(self.next.0, self.next.1 + count)
    }

    /// Carries positions beyond the end of the trace over to later repetitions.
    fn wrap_position(&self, repetition: u64, position: u64) -> (u64, u64) {
        let length = self.trace.opportunities.len() as u64;
        if position < length {
            (repetition, position)
        } else {
            (repetition.saturating_add(position / length), position % length)
        }
    }

    fn time_of(&self, (repetition, position): (u64, u64)) -> Time {
        Time::ZERO
            + self.trace.period * repetition
            + self.trace.opportunities[position as usize].since(Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    //! Tests mahimahi's rules for the bytes of an opportunity, and arithmetic over repetitions.
    use super::*;
    use thalweg_proto::units::Duration;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn clock(millis: &[u64], period: u64) -> CapacityClock {
        let trace = CapacityTrace {
            opportunities: millis.iter().map(|&at| ms(at)).collect(),
            period: Duration::from_millis(period),
            bytes_per_opportunity: 1500,
        };
        CapacityClock::new(Arc::new(trace)).unwrap()
    }

    #[test]
    fn only_packets_ready_before_an_opportunity_use_it() {
        // Ready at 0 and 4 ms: the opportunities at 0 and 4 ms have passed.
        assert_eq!(clock(&[0, 4, 9], 9).book_departure(ms(0), 1500), ms(4));
        assert_eq!(clock(&[0, 4, 9], 9).book_departure(ms(4), 1500), ms(9));
        assert_eq!(clock(&[0, 4, 9], 9).book_departure(ms(3), 1500), ms(4));
    }

    #[test]
    fn small_packets_that_wait_share_an_opportunity() {
        // Three of 500 bytes fill the first one exactly; the fourth needs the second.
        let mut clock = clock(&[5, 8], 8);
        let departures: Vec<Time> = (0..4).map(|_| clock.book_departure(ms(1), 500)).collect();
        assert_eq!(departures, [ms(5), ms(5), ms(5), ms(8)]);
    }

    #[test]
    fn unused_capacity_is_lost_when_nothing_waits() {
        // 1000 bytes are left at 5 ms; the packet ready at 6 ms cannot use them, and needs two more opportunities.
        let mut clock = clock(&[5, 8, 10, 20], 20);
        assert_eq!(clock.book_departure(ms(1), 500), ms(5));
        assert_eq!(clock.book_departure(ms(6), 1600), ms(10));
        assert_eq!(clock.book_departure(ms(10), 1400), ms(10));
        assert_eq!(clock.book_departure(ms(10), 1), ms(20));
    }

    #[test]
    fn a_large_packet_takes_several_opportunities() {
        // 4000 bytes take three opportunities; the next packet uses the 500 bytes left of the last one.
        let mut clock = clock(&[1, 2, 7], 7);
        assert_eq!(clock.book_departure(ms(0), 4000), ms(7));
        assert_eq!(clock.book_departure(ms(0), 500), ms(7));
        assert_eq!(clock.book_departure(ms(0), 1), ms(8));
    }

    #[test]
    fn opportunities_at_the_same_time_are_all_used() {
        // Three lines of 4 ms allow 4500 bytes at that moment.
        let mut clock = clock(&[4, 4, 4, 6], 6);
        let departures: Vec<Time> = (0..4).map(|_| clock.book_departure(ms(0), 1500)).collect();
        assert_eq!(departures, [ms(4), ms(4), ms(4), ms(6)]);
    }

    #[test]
    fn the_trace_repeats_with_its_period() {
        // Repetitions begin at 10, 20 ...: opportunities are at 3, 10, 13, 20 and so on, without end.
        let clock = clock(&[3, 10], 10);
        assert_eq!(clock.next_opportunity(ms(0)), ms(3));
        assert_eq!(clock.next_opportunity(ms(3)), ms(10));
        assert_eq!(clock.next_opportunity(ms(10)), ms(13));
        assert_eq!(clock.next_opportunity(ms(1_000_000_000)), ms(1_000_000_003));
    }

    #[test]
    fn an_opportunity_at_zero_joins_the_one_at_the_end() {
        // At 10 ms there are two: the last of one repetition and the first of the next.
        let mut clock = clock(&[0, 10], 10);
        let departures: Vec<Time> = (0..3).map(|_| clock.book_departure(ms(9), 1500)).collect();
        assert_eq!(departures, [ms(10), ms(10), ms(20)]);
    }

    #[test]
    fn a_period_may_end_after_its_last_opportunity() {
        // Opportunities at 1, 11, 21: a packet of two opportunities spans two periods.
        let mut clock = clock(&[1], 10);
        assert_eq!(clock.book_departure(ms(2), 3000), ms(21));
    }

    #[test]
    fn large_packets_take_constant_time_and_times_saturate() {
        // 4 GB at a byte per day: times beyond 213 days saturate, and nothing overflows.
        let day = Duration::from_secs(86_400);
        let trace =
            CapacityTrace { opportunities: vec![Time::ZERO + day], period: day, bytes_per_opportunity: 1 };
        let mut clock = CapacityClock::new(Arc::new(trace)).unwrap();
        assert_eq!(clock.book_departure(ms(0), 2), Time::ZERO + day * 2);
        for _ in 0..100 {
            assert_eq!(clock.book_departure(ms(0), u32::MAX), Time::MAX);
        }
        assert_eq!(clock.book_departure(Time::MAX, u32::MAX), Time::MAX);
        assert_eq!(clock.next_opportunity(Time::MAX), Time::MAX);
    }

    #[test]
    fn a_packet_without_bytes_leaves_with_the_next_byte() {
        // It waits for an opportunity without using it, and follows at once if bytes are left.
        let mut clock = clock(&[5], 5);
        assert_eq!(clock.book_departure(ms(1), 0), ms(5));
        assert_eq!(clock.book_departure(ms(1), 1500), ms(5));
        assert_eq!(clock.book_departure(ms(1), 0), ms(10));
    }

    #[test]
    fn a_bad_trace_is_refused() {
        // An empty trace is invalid.
        let trace = CapacityTrace {
            opportunities: vec![],
            period: Duration::from_millis(1),
            bytes_per_opportunity: 1500,
        };
        assert_eq!(CapacityClock::new(Arc::new(trace)).unwrap_err(), CapacityError::Empty);
    }
}
