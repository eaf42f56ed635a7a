//! The queue discipline CoDel (RFC 8289).

use crate::impairment_spec::above_zero;
use crate::timestamped_fifo::TimestampedQueue;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use thalweg_proto::units::{Bytes, Duration, Time};

/// Parameters of [`CoDel`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDelConfig {
    /// Acceptable delay of a standing queue.
    pub target: Duration,
    /// Time for which the delay must exceed the target before drops start: a typical round-trip time, above zero.
    pub interval: Duration,
    /// Queue size below which nothing is dropped: the largest packet.
    pub max_packet: Bytes,
    /// Sets CE in ECN-capable packets, and drops others.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            max_packet: Bytes::new(1514),
            ecn: true,
        }
    }
}

/// Controlled Delay (Nichols and Jacobson 2012, RFC 8289): measures the sojourn time of packets. Once all packets of an
/// interval have exceeded the target, one is dropped at dequeue. Further drops follow at intervals that shrink with the
/// square root of their number, until sojourn times are below the target again.
///
/// Urgent packets leave before all others and are never dropped early. An arrival without room is dropped.
///
/// Follows the pseudocode of RFC 8289, section 5, with one difference: with `ecn`, an ECN-capable packet gets CE
/// instead of a drop, and leaves (as in section 4.2 of RFC 8290).
#[derive(Clone, Debug)]
pub struct CoDel {
    queue: TimestampedQueue,
    control: Control,
}

impl CoDel {
    /// Creates an empty queue with this limit.
    pub const fn new(limit: Limit, config: CoDelConfig) -> Self {
        Self { queue: TimestampedQueue::new(limit), control: Control::new(config) }
    }
}

impl Discipline for CoDel {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.queue.occupancy.enqueue_urgent(entry, &mut self.queue.urgent, dropped);
        } else {
            self.queue.store(now, entry, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.queue.pop_urgent() {
            return Some(entry);
        }
        self.control.dequeue(now, &mut self.queue, dropped)
    }

    fn packets(&self) -> u64 {
        self.queue.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.occupancy.bytes()
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(limit, dropped);
    }
}

/// Queue under CoDel's control.
pub(crate) trait Backlog {
    /// Dequeues the first packet, with its arrival time.
    fn pop(&mut self) -> Option<(Entry, Time)>;
    /// Returns the number of queued bytes.
    fn bytes(&self) -> u64;
}

impl Backlog for TimestampedQueue {
    fn pop(&mut self) -> Option<(Entry, Time)> {
        Self::pop(self)
    }
    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }
}

/// CoDel state of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    config: CoDelConfig,
    /// End of the interval of sojourn times above the target; `None` while they are below it.
    first_above: Option<Time>,
    /// Time of the next drop, while dropping.
    drop_next: Time,
    /// Drops since entering the dropping state.
    count: u32,
    /// Drops in the previous dropping state.
    last_count: u32,
    is_dropping: bool,
}

impl Control {
    pub(crate) const fn new(config: CoDelConfig) -> Self {
        Self { config, first_above: None, drop_next: Time::ZERO, count: 0, last_count: 0, is_dropping: false }
    }

    /// Returns the next packet to send, after dropping packets before it (RFC 8289, section 5.5).
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        queue: &mut impl Backlog,
        dropped: &mut Vec<DroppedPacket>,
    ) -> Option<Entry> {
        let Some((mut entry, mut may_drop)) = self.pop(now, queue) else {
            self.is_dropping = false;
            return None;
        };
        if self.is_dropping {
            // RFC 8289, section 5.5: the delay is below the target, so the dropping state ends.
            if !may_drop {
                self.is_dropping = false;
            }
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.config.ecn && entry.mark() {
                    // From the schedule, not from now: late departures would otherwise lower the signal rate.
                    self.drop_next = self.law(self.drop_next);
                    return Some(entry);
                }
                dropped.push(DroppedPacket { entry, reason: DropReason::Early });
                let Some(next) = self.pop(now, queue) else {
                    self.is_dropping = false;
                    return None;
                };
                (entry, may_drop) = next;
                if may_drop {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.is_dropping = false;
                }
            }
        } else if may_drop {
            let marked = self.config.ecn && entry.mark();
            let mut next = Some(entry);
            if !marked {
                dropped.push(DroppedPacket { entry, reason: DropReason::Early });
                next = self.pop(now, queue).map(|(entry, _)| entry);
            }
            self.is_dropping = next.is_some();
            // RFC 8289, section 5.5: soon after the last dropping state, resume at about its drop rate. The
            // same overload would otherwise need the slow ramp from one drop an interval again.
            let more = self.count.saturating_sub(self.last_count);
            let is_recent = now.since(self.drop_next) < self.config.interval * 16;
            self.count = if more > 1 && is_recent { more } else { 1 };
            self.drop_next = self.law(now);
            self.last_count = self.count;
            return next;
        }
        Some(entry)
    }

    /// Takes the first packet, and returns true with it if it may be dropped (`dodequeue` of RFC 8289,
    /// section 5.6).
    fn pop(&mut self, now: Time, queue: &mut impl Backlog) -> Option<(Entry, bool)> {
        let Some((entry, since)) = queue.pop() else {
            self.first_above = None;
            return None;
        };
        // RFC 8289, section 5.6: with at most a packet left, a drop would idle the line.
        if now.since(since) < self.config.target || queue.bytes() <= self.config.max_packet.get() {
            self.first_above = None;
            return Some((entry, false));
        }
        let at = *self.first_above.get_or_insert(now + self.config.interval);
        // The packet that begins the interval does not end it.
        Some((entry, now >= at))
    }

    /// Returns the time of the next drop after one at `at`: the control law of RFC 8289, section 5.6. The
    /// rate of a TCP flow falls with the square root of its drops, so these intervals reduce it linearly.
    fn law(&self, at: Time) -> Time {
        at + self.config.interval.mul_f64(1.0 / f64::from(self.count).sqrt())
    }
}

impl DisciplineConfig for CoDelConfig {
    type Queue = CoDel;
    const NAME: &'static str = "codel";

    fn check(&self) -> Result<(), SpecError> {
        above_zero("interval", self.interval.as_secs_f64())
    }

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> CoDel {
        CoDel::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: true,
            drops_early: true,
            marks_ecn: self.ecn,
            is_random: false,
            enqueues_when_link_idle: true,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("CoDel queue, target {}", self.target)
    }
}

#[cfg(test)]
mod tests {
    //! Tests CoDel's rules on a queue with known sojourn times.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::Ecn;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn entry(packet: u32, ecn: Ecn) -> Entry {
        Entry { ecn, ..ordinary_entry(packet) }
    }

    /// Returns the times of drops and marks, in ms. The queue starts with 50 packets; one arrives and one leaves every
    /// millisecond, and each waits for 50 ms as long as nothing is dropped.
    fn drop_times_of_standing_queue(config: CoDelConfig, ecn: Ecn, until: u64) -> Vec<u64> {
        let mut queue = CoDel::new(Limit::Unlimited, config);
        let (mut dropped, mut packet, mut times) = (Vec::new(), 0, Vec::new());
        let mut offer = |queue: &mut CoDel, now| {
            queue.enqueue(now, entry(packet, ecn), &mut Vec::new());
            packet += 1;
        };
        (0..50).for_each(|_| offer(&mut queue, ms(0)));
        for now in 0..until {
            offer(&mut queue, ms(now));
            let left = queue.dequeue(ms(now), &mut dropped);
            // Dropped packets are enqueued again, so the queue stays.
            for _ in 0..dropped.len() {
                times.push(now);
                offer(&mut queue, ms(now));
            }
            times.extend(left.filter(|entry| entry.marked).map(|_| now));
            dropped.clear();
        }
        times
    }

    #[test]
    fn drops_begin_after_an_interval_and_speed_up_by_the_square_root() {
        // Waits reach 5 ms at 5 ms; the first drop is 100 ms later, and the following ones after 100, 100/sqrt(2),
        // 100/sqrt(3) ... ms: at 105, 205, 275.7, 333.4, 383.4, 428.2 ms.
        let times = drop_times_of_standing_queue(CoDelConfig::default(), Ecn::NotEct, 430);
        assert_eq!(times, [105, 205, 276, 334, 384, 429]);
    }

    #[test]
    fn ecn_capable_packets_are_marked_at_the_same_times() {
        assert_eq!(
            drop_times_of_standing_queue(CoDelConfig::default(), Ecn::Ect0, 430),
            [105, 205, 276, 334, 384, 429]
        );
        // Without ECN they are dropped.
        let without = CoDelConfig { ecn: false, ..CoDelConfig::default() };
        assert_eq!(drop_times_of_standing_queue(without, Ecn::Ect0, 210), [105, 205]);
    }

    #[test]
    fn short_waits_and_short_queues_have_no_drops() {
        // A target above the waits of 50 ms, or a packet size above the queue: nothing is dropped in 10 s.
        let patient = CoDelConfig { target: Duration::from_millis(60), ..CoDelConfig::default() };
        let large = CoDelConfig { max_packet: Bytes::new(60_000), ..CoDelConfig::default() };
        assert_eq!(drop_times_of_standing_queue(patient, Ecn::NotEct, 10_000), [0u64; 0]);
        assert_eq!(drop_times_of_standing_queue(large, Ecn::NotEct, 10_000), [0u64; 0]);
    }

    #[test]
    fn one_short_wait_ends_the_dropping() {
        // After four drops the queue empties. A new queue must be above the target for an interval again; as this is
        // soon, dropping resumes at the previous rate: count was 4, less 1 at the start.
        let mut queue = CoDel::new(Limit::Unlimited, CoDelConfig::default());
        let mut dropped = Vec::new();
        (0..1000).for_each(|packet| queue.enqueue(ms(0), entry(packet, Ecn::NotEct), &mut Vec::new()));
        for now in 0..340 {
            queue.dequeue(ms(now), &mut dropped);
        }
        assert_eq!((dropped.len(), queue.control.count), (4, 4));
        while queue.dequeue(ms(340), &mut Vec::new()).is_some() {}
        assert!(!queue.control.is_dropping);
        (0..1000).for_each(|packet| queue.enqueue(ms(340), entry(packet, Ecn::NotEct), &mut Vec::new()));
        dropped.clear();
        for now in 341..446 {
            queue.dequeue(ms(now), &mut dropped);
        }
        assert_eq!(dropped.len(), 1);
        assert_eq!(queue.control.count, 3);
    }

    #[test]
    fn a_full_queue_drops_the_arrival() {
        let mut queue = CoDel::new(Limit::Packets(1), CoDelConfig::default());
        let mut dropped = Vec::new();
        queue.enqueue(ms(0), entry(0, Ecn::NotEct), &mut dropped);
        queue.enqueue(ms(0), entry(1, Ecn::NotEct), &mut dropped);
        assert_eq!(dropped, [DroppedPacket { entry: entry(1, Ecn::NotEct), reason: DropReason::Full }]);
    }
}
