//! The queue discipline Random Early Detection (Floyd and Jacobson 1993).

use crate::impairment_spec::{above_zero, check_probability};
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Fcfs, Limit, LinkIdle, RandomStreams,
    SpecError, Traits,
};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Rate, Time};

/// Unit of [`Red`]'s queue lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedUnit {
    /// Packets of any size: thresholds are numbers of packets.
    #[default]
    Packets,
    /// Bytes: thresholds are in bytes, and the drop probability grows with the packet size.
    Bytes,
}

/// Parameters of [`Red`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Unit of lengths and thresholds.
    pub unit: RedUnit,
    /// Average length below which nothing is dropped. 0 or more, in `unit`.
    pub min_threshold: f64,
    /// Average length at which the probability reaches `max_probability`. Above `min_threshold`, in `unit`.
    pub max_threshold: f64,
    /// Weight of a new sample in the moving average, above 0 and at most 1.
    pub weight: f64,
    /// Drop probability just below `max_threshold`, above 0 and at most 1.
    pub max_probability: f64,
    /// Gentle mode: from `max_threshold` on the probability grows to 1 at twice `max_threshold`; otherwise it is 1 at
    /// once.
    pub gentle: bool,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Drops ECN-capable packets too where the probability is 1 (RFC 3168, section 7). Linux marks them unless
    /// `harddrop` is set.
    pub hard_drop: bool,
    /// Typical packet size, above zero. It determines the transmission time for the average in idle times, and the
    /// reference size where `unit` is bytes.
    pub mean_packet: Bytes,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            unit: RedUnit::Packets,
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            max_probability: 0.1,
            gentle: true,
            ecn: true,
            hard_drop: true,
            mean_packet: Bytes::new(1000),
        }
    }
}

/// Random Early Detection (Floyd and Jacobson 1993): packets are dropped at random, with a probability that grows with
/// the average queue length. Senders thus slow down before the queue is full.
///
/// The average is an exponentially weighted moving average of the queue length at arrivals. In idle times it decays as
/// if small packets had met an empty queue. Between the thresholds the probability grows linearly with the average. It
/// also grows with every packet accepted since the last drop, which spaces drops evenly. Beyond the maximum threshold
/// it is 1, or grows to 1 slowly in `gentle` mode (Floyd 2000, recommended by the authors since).
///
/// An arrival without room is dropped in any case. Urgent packets leave before all others, and are never dropped early.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | an idle time begins when the queue is empty | when its last packet has left the line | the packet in service is not in the queue | none where it is counted so |
/// | idle times are measured by the line's speed | not measured if the rate is unknown | no other measure exists | the average stays |
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    queue: Fcfs,
    stream: RandomStream,
    average: f64,
    /// Packets accepted since the last drop; `None` while the average is below the minimum.
    count: Option<u64>,
    link: LinkIdle,
    /// Time of the last update of the average.
    observed: Time,
}

/// Decision about an arrival from the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    Notify,
    Drop,
}

impl Red {
    /// Creates an empty queue with this limit that draws from `stream`.
    pub const fn new(limit: Limit, config: RedConfig, stream: RandomStream) -> Self {
        Self {
            config,
            queue: Fcfs::new(limit),
            stream,
            average: 0.0,
            count: None,
            link: LinkIdle::new(),
            observed: Time::ZERO,
        }
    }

    /// Returns the average length, in the unit of the thresholds.
    pub const fn average(&self) -> f64 {
        self.average
    }

    fn length(&self) -> f64 {
        match self.config.unit {
            RedUnit::Packets => self.queue.packets() as f64,
            RedUnit::Bytes => self.queue.bytes() as f64,
        }
    }

    /// Updates the average with the queue length at an arrival.
    fn observe(&mut self, now: Time) {
        // Floyd and Jacobson 1993, figure 2: without arrivals no sample would lower the average of an idle
        // queue.
        if self.queue.packets() == 0 {
            let idle = self.link.rate().bytes_in(now.since(self.link.since().max(self.observed))).get();
            let packets = idle as f64 / self.config.mean_packet.get().max(1) as f64;
            self.average *= libm::pow(1.0 - self.config.weight, packets);
        }
        self.observed = now;
        self.average += self.config.weight * (self.length() - self.average);
    }

    fn decide(&mut self, size: u32) -> Verdict {
        let RedConfig { min_threshold: min, max_threshold: max, max_probability, gentle, .. } = self.config;
        if self.average < min {
            self.count = None;
            return Verdict::Keep;
        }
        let base = if self.average < max {
            max_probability * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            // Floyd 2000: a step from the maximum probability to 1 makes the queue oscillate around the
            // maximum threshold.
            max_probability + (1.0 - max_probability) * (self.average - max) / max
        } else {
            self.count = Some(0);
            return Verdict::Drop;
        };
        let base = match self.config.unit {
            RedUnit::Packets => base,
            RedUnit::Bytes => base * f64::from(size) / self.config.mean_packet.get().max(1) as f64,
        };
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        // Floyd and Jacobson 1993, section 7: gaps between drops are uniform up to 1 / base. Independent
        // drops would come in clusters, and many flows would reduce at the same time.
        let left = 1.0 - count as f64 * base;
        if left <= base || self.stream.chance(base / left) {
            self.count = Some(0);
            return Verdict::Notify;
        }
        Verdict::Keep
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, mut entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            return self.queue.enqueue(now, entry, dropped);
        }
        self.observe(now);
        let stays = match self.decide(entry.size) {
            Verdict::Keep => true,
            Verdict::Notify => self.config.ecn && entry.mark(),
            Verdict::Drop => !self.config.hard_drop && self.config.ecn && entry.mark(),
        };
        if stays {
            self.queue.enqueue(now, entry, dropped);
        } else {
            dropped.push(DroppedPacket { entry, reason: DropReason::Early });
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let entry = self.queue.dequeue(now, dropped)?;
        self.link.on_dequeue(now, &entry);
        Some(entry)
    }

    fn peek(&self) -> Option<&Entry> {
        self.queue.peek()
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.link.set_rate(rate);
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(now, limit, dropped);
    }
}

impl DisciplineConfig for RedConfig {
    type Queue = Red;
    const NAME: &'static str = "red";

    fn check(&self) -> Result<(), SpecError> {
        if !(self.min_threshold >= 0.0 && self.max_threshold > self.min_threshold)
            || self.max_threshold.is_infinite()
        {
            return Err(SpecError::Thresholds { min: self.min_threshold, max: self.max_threshold });
        }
        above_zero("weight", self.weight)?;
        check_probability("weight", self.weight)?;
        above_zero("max_probability", self.max_probability)?;
        check_probability("max_probability", self.max_probability)?;
        above_zero("mean_packet", self.mean_packet.get() as f64)
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Red {
        Red::new(limit, *self, streams("red"))
    }

    fn traits(&self) -> Traits {
        Traits { marks_ecn: self.ecn, ..Traits::RANDOM_EARLY_DETECTION }
    }

    fn description(&self) -> String {
        let unit = if self.unit == RedUnit::Packets { "packets" } else { "bytes" };
        format!("RED queue, thresholds {} and {} {unit}", self.min_threshold, self.max_threshold)
    }
}

#[cfg(test)]
mod tests {
    //! Tests RED: the average, the spacing of drops, behaviour beyond the thresholds, and marks.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::Ecn;
    use thalweg_proto::units::Duration;

    /// At 8 Mbit/s a packet of 1000 bytes takes a millisecond.
    fn queue(config: RedConfig) -> Red {
        let mut queue = Red::new(Limit::Packets(100), config, RandomStream::new(1, "test", 0));
        queue.set_rate(Rate::from_mbits_per_sec(8));
        queue
    }

    fn entry(size: u32, ecn: Ecn) -> Entry {
        Entry { size, ecn, ..ordinary_entry(0) }
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn offer(queue: &mut Red, now: Time, entry: Entry) -> Option<DropReason> {
        let mut dropped = Vec::new();
        queue.enqueue(now, entry, &mut dropped);
        dropped.first().map(|drop| drop.reason)
    }

    /// Returns the outcomes and marks of `count` arrivals at a queue with constant length `length`, equal to its
    /// average.
    fn steady(
        config: RedConfig,
        length: u64,
        count: usize,
        arrival: Entry,
    ) -> Vec<(Option<DropReason>, bool)> {
        let config = RedConfig { weight: 1.0, ..config };
        let mut queue = queue(config);
        let mut outcomes = Vec::new();
        while outcomes.len() < count {
            while queue.packets() < length {
                queue.queue.store(entry(1000, Ecn::NotEct));
            }
            let outcome = offer(&mut queue, ms(0), arrival);
            let marked =
                outcome.is_none() && queue.queue.take(length as usize).is_some_and(|entry| entry.marked);
            outcomes.push((outcome, marked));
        }
        outcomes
    }

    fn drops(outcomes: &[(Option<DropReason>, bool)]) -> usize {
        outcomes.iter().filter(|(outcome, _)| outcome.is_some()).count()
    }

    #[test]
    fn the_average_follows_with_its_weight() {
        // Lengths 0, 1, 2, 3 with a weight of a quarter: 0, 1/4, 11/16, 81/64.
        let mut queue = queue(RedConfig { weight: 0.25, ..RedConfig::default() });
        for expected in [0.0, 0.25, 0.6875, 1.265_625] {
            assert_eq!(offer(&mut queue, ms(0), entry(1000, Ecn::NotEct)), None);
            assert!((queue.average() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn the_average_decays_in_idle_times_as_with_small_packets() {
        // The last packet is on the line from 10 to 11 ms. At 14 ms three packets could have been sent, and the arrival
        // itself finds an empty queue: three quarters to the fourth.
        let mut queue = queue(RedConfig { weight: 0.25, ..RedConfig::default() });
        for _ in 0..4 {
            offer(&mut queue, ms(0), entry(1000, Ecn::NotEct));
        }
        while queue.dequeue(ms(10), &mut Vec::new()).is_some() {}
        let before = queue.average();
        offer(&mut queue, ms(14), entry(1000, Ecn::NotEct));
        assert!((queue.average() - before * 0.75f64.powi(4)).abs() < 1e-12);
        // While the line is busy, an empty queue is not idle.
        queue.dequeue(ms(14), &mut Vec::new());
        let before = queue.average();
        offer(&mut queue, ms(15), entry(1000, Ecn::NotEct));
        assert!((queue.average() - before * 0.75).abs() < 1e-12);
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        // Halfway between the thresholds the base is 0.05. By section 7 of the paper gaps are uniform; by its figure 2, which
        // counts the packet itself, from 1 to 19. Their mean is 10, and none is longer.
        let outcomes = steady(RedConfig::default(), 10, 100_000, entry(1000, Ecn::NotEct));
        let mut gaps = [0u32; 22];
        let mut gap = 0;
        for (outcome, _) in outcomes {
            gap += 1;
            if outcome.is_some() {
                assert_eq!(outcome, Some(DropReason::Early));
                gaps[gap] += 1;
                gap = 0;
            }
        }
        assert_eq!(gaps[20] + gaps[0], 0);
        // About 10 000 gaps, 526 of each: within 5 standard deviations.
        assert!(gaps[1..=19].iter().all(|&count| count.abs_diff(526) < 115), "{gaps:?}");
    }

    #[test]
    fn nothing_is_dropped_below_the_minimum_and_all_above_the_maximum() {
        // Not gentle: at 4 none, at 15 all. Gentle: at 17 the base is 0.1 + 0.9 x 2/15 = 0.22: gaps of 1, 2, 3 have
        // 0.282 each and 4 the rest, 2.31 on average; at 30 all.
        let blunt = RedConfig { gentle: false, ..RedConfig::default() };
        let plain = entry(1000, Ecn::NotEct);
        assert_eq!(drops(&steady(blunt, 4, 1000, plain)), 0);
        assert_eq!(drops(&steady(blunt, 15, 1000, plain)), 1000);
        let gentle = drops(&steady(RedConfig::default(), 17, 10_000, plain));
        assert!(gentle.abs_diff(4333) < 150, "{gentle}");
        assert_eq!(drops(&steady(RedConfig::default(), 30, 1000, plain)), 1000);
    }

    #[test]
    fn ecn_capable_packets_are_marked() {
        // As many marks as drops without ECN; beyond the thresholds packets are dropped all the same.
        let config = RedConfig { gentle: false, ..RedConfig::default() };
        let outcomes = steady(config, 10, 10_000, entry(1000, Ecn::Ect0));
        let marks = outcomes.iter().filter(|(_, marked)| *marked).count();
        assert_eq!(drops(&outcomes), 0);
        assert!(marks.abs_diff(1000) < 60, "{marks}");
        assert_eq!(drops(&steady(config, 15, 100, entry(1000, Ecn::Ect0))), 100);
        // Linux without `harddrop` marks them, and drops Not-ECT packets.
        let soft = RedConfig { hard_drop: false, ..config };
        let outcomes = steady(soft, 15, 100, entry(1000, Ecn::Ect0));
        assert!(outcomes.iter().all(|outcome| *outcome == (None, true)));
        assert_eq!(drops(&steady(soft, 15, 100, entry(1000, Ecn::NotEct))), 100);
        assert_eq!(drops(&steady(RedConfig { ecn: false, ..soft }, 15, 100, entry(1000, Ecn::Ect0))), 100);
        let without = RedConfig { ecn: false, ..config };
        assert!(drops(&steady(without, 10, 10_000, entry(1000, Ecn::Ect0))).abs_diff(1000) < 60);
    }

    #[test]
    fn in_bytes_large_packets_are_dropped_more_often() {
        // Thresholds of 5000 and 15 000 bytes; packets of 100 bytes have a tenth of the probability: gaps of 1 to 200.
        let config = RedConfig {
            unit: RedUnit::Bytes,
            min_threshold: 5000.0,
            max_threshold: 15_000.0,
            ..RedConfig::default()
        };
        let (large, small) = (
            steady(config, 10, 50_000, entry(1000, Ecn::NotEct)),
            steady(config, 10, 50_000, entry(100, Ecn::NotEct)),
        );
        assert!(drops(&large).abs_diff(5000) < 200, "{}", drops(&large));
        assert!(drops(&small).abs_diff(500) < 60, "{}", drops(&small));
    }

    #[test]
    fn urgent_packets_are_not_dropped_early() {
        let mut queue = queue(RedConfig { weight: 1.0, ..RedConfig::default() });
        (0..50).for_each(|_| queue.queue.store(entry(1000, Ecn::NotEct)));
        assert_eq!(offer(&mut queue, ms(0), Entry { is_feedback: true, ..entry(10, Ecn::NotEct) }), None);
        assert_eq!(queue.peek().map(|entry| entry.is_feedback), Some(true));
    }
}
