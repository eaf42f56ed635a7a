//! `mark-above`: a FIFO with an additional rule. It contains Thalweg's FIFO, which handles the limit and urgent
//! packets.

use thalweg_catalog::option_keys::key;
use thalweg_catalog::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_proto::units::Time;
use thalweg_queue::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Fcfs, Limit, RandomStreams, Traits,
};

/// Configuration of [`MarkAbove`].
#[derive(Clone, Debug, PartialEq)]
pub struct MarkAboveConfig {
    /// Number of queued packets from which on arrivals are marked.
    pub threshold: u64,
}

/// FIFO that marks arrivals at a queue of `threshold` packets or more, and drops those that are not ECN-capable.
#[derive(Debug)]
pub struct MarkAbove {
    queue: Fcfs,
    threshold: u64,
}

impl Discipline for MarkAbove {
    fn enqueue(&mut self, now: Time, mut entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        let is_above = !entry.is_feedback && self.queue.packets() >= self.threshold;
        if is_above && !entry.mark() {
            dropped.push(DroppedPacket { entry, reason: DropReason::Early });
        } else {
            self.queue.enqueue(now, entry, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.queue.dequeue(now, dropped)
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}

impl DisciplineConfig for MarkAboveConfig {
    type Queue = MarkAbove;
    const NAME: &'static str = "mark-above";

    fn make(&self, limit: Limit, _streams: RandomStreams<'_>) -> MarkAbove {
        MarkAbove { queue: Fcfs::new(limit), threshold: self.threshold }
    }

    fn traits(&self) -> Traits {
        // A packet that finds the link free finds an empty queue, below any threshold.
        Traits { is_random: false, enqueues_when_link_idle: false, ..Traits::RANDOM_EARLY_DETECTION }
    }

    fn description(&self) -> String {
        format!("marking queue, threshold {} packets", self.threshold)
    }
}

const KEYS: &[Key] = &[key(
    "threshold",
    Kind::Packets,
    "20 pkt",
    "Number of queued packets from which on arrivals are marked, or dropped without ECN.",
)
.within(Range::at_least(1.0), "")];

bind!(MarkAboveConfig { threshold: "threshold" });

pub static MARK_ABOVE: DisciplineDescription = DisciplineDescription::new::<MarkAboveConfig>(
    "A FIFO that marks arrivals at a queue of `threshold` packets or more.",
    Keys::own(KEYS),
);
