//! A FIFO that marks every packet above a threshold, as DCTCP expects (RFC 8257).

use crate::{Discipline, DisciplineConfig, DroppedPacket, Entry, Fcfs, Limit, RandomStreams, Traits};
use thalweg_proto::units::Time;

/// Queue length above which arrivals are marked, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
}

/// Parameters of [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepConfig {
    /// Marking threshold (`K`): arrivals at a longer queue are marked.
    pub threshold: Threshold,
}

impl Default for StepConfig {
    /// Returns the 65 packets used by Alizadeh et al. (2010), section 3.5, at 10 Gbit/s.
    fn default() -> Self {
        Self { threshold: Threshold::Packets(65) }
    }
}

/// FIFO with DCTCP's step marking: an arrival at a queue above the threshold is marked with CE. The decision uses the
/// instantaneous length, not an average (RFC 8257, section 3.1).
///
/// Not-ECT packets are dropped only without room, as with drop-tail. Urgent packets leave before all others and are not
/// marked.
#[derive(Clone, Debug)]
pub struct Step {
    config: StepConfig,
    queue: Fcfs,
}

impl Step {
    /// Creates an empty queue with this limit.
    pub const fn new(limit: Limit, config: StepConfig) -> Self {
        Self { config, queue: Fcfs::new(limit) }
    }

    fn is_above(&self) -> bool {
        match self.config.threshold {
            Threshold::Packets(threshold) => self.queue.packets() > threshold,
            Threshold::Bytes(threshold) => self.queue.bytes() > threshold,
        }
    }
}

impl Discipline for Step {
    fn enqueue(&mut self, now: Time, mut entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if !entry.is_feedback && self.is_above() {
            entry.mark();
        }
        self.queue.enqueue(now, entry, dropped);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.queue.dequeue(now, dropped)
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

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(now, limit, dropped);
    }
}

impl DisciplineConfig for StepConfig {
    type Queue = Step;
    const NAME: &'static str = "step";

    fn make(&self, limit: Limit, _streams: RandomStreams<'_>) -> Step {
        Step::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        // Packets that find the line idle find an empty queue, and are not marked.
        Traits {
            drops_early: false,
            is_random: false,
            enqueues_when_link_idle: false,
            ..Traits::RANDOM_EARLY_DETECTION
        }
    }

    fn description(&self) -> String {
        match self.threshold {
            Threshold::Packets(packets) => format!("queue that marks above {packets} packets, in all"),
            Threshold::Bytes(bytes) => format!("queue that marks above {bytes} B, in all"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests RFC 8257, section 3.1: marks by the instantaneous length, above the threshold, on ECN-capable packets
    //! only.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::Ecn;

    fn marks(config: StepConfig, ecn: Ecn, count: u32) -> Vec<bool> {
        let mut queue = Step::new(Limit::Packets(100), config);
        for packet in 0..count {
            queue.enqueue(Time::ZERO, Entry { ecn, ..ordinary_entry(packet) }, &mut Vec::new());
        }
        std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Vec::new()))
            .map(|entry| entry.ecn.is_ce())
            .collect()
    }

    /// RFC 8257, section 3.1: more than K packets, or bytes, were there when it came.
    #[test]
    fn arrivals_above_the_threshold_are_marked() {
        let expected = [false, false, false, false, true, true];
        assert_eq!(marks(StepConfig { threshold: Threshold::Packets(3) }, Ecn::Ect0, 6), expected);
        assert_eq!(marks(StepConfig { threshold: Threshold::Bytes(3_000) }, Ecn::Ect1, 6), expected);
    }

    #[test]
    fn packets_without_ecn_pass_unmarked() {
        assert_eq!(marks(StepConfig { threshold: Threshold::Packets(3) }, Ecn::NotEct, 6), [false; 6]);
    }

    /// RFC 8257, section 3.1: the length of the moment, not an average.
    #[test]
    fn marking_ends_with_the_queue() {
        let mut queue = Step::new(Limit::Packets(100), StepConfig { threshold: Threshold::Packets(0) });
        let ect = |packet| Entry { ecn: Ecn::Ect0, ..ordinary_entry(packet) };
        queue.enqueue(Time::ZERO, ect(0), &mut Vec::new());
        queue.enqueue(Time::ZERO, ect(1), &mut Vec::new());
        queue.dequeue(Time::ZERO, &mut Vec::new());
        assert!(queue.dequeue(Time::ZERO, &mut Vec::new()).is_some_and(|entry| entry.marked));
        queue.enqueue(Time::ZERO, ect(2), &mut Vec::new());
        assert!(queue.dequeue(Time::ZERO, &mut Vec::new()).is_some_and(|entry| !entry.marked));
    }
}
