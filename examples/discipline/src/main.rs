//! The command `thalweg` with two custom queue disciplines, `newest-first` and `mark-above`:
//! `queue = { discipline = "newest-first" }`.

mod mark_above;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::process::ExitCode;
use thalweg::Registry;
use thalweg_catalog::option_keys::key;
use thalweg_catalog::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_proto::units::{Duration, Time};
use thalweg_queue::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, Traits,
};

/// Configuration of [`NewestFirst`].
#[derive(Clone, Debug, Default, PartialEq)]
struct NewestFirstConfig {
    /// Queueing delay above which packets are dropped when the link is free.
    max_delay: Duration,
}

/// LIFO queue that drops packets after a maximum queueing delay.
#[derive(Debug)]
struct NewestFirst {
    /// Feedback messages of routers, which leave first.
    urgent: VecDeque<Entry>,
    /// All other packets with their arrival times, oldest first.
    queue: VecDeque<(Time, Entry)>,
    /// Size of all packets, in bytes.
    bytes: u64,
    limit: Limit,
    max_delay: Duration,
}

impl NewestFirst {
    /// Drops the oldest packet that is not urgent.
    fn drop_oldest(&mut self, reason: DropReason, dropped: &mut Vec<DroppedPacket>) {
        if let Some((_, entry)) = self.queue.pop_front() {
            self.bytes -= u64::from(entry.size);
            dropped.push(DroppedPacket { entry, reason });
        }
    }

    fn is_over(&self) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets() > limit,
            Limit::Bytes(limit) => self.bytes > limit,
            Limit::Unlimited => false,
        }
    }
}

impl Discipline for NewestFirst {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.bytes += u64::from(entry.size);
        if entry.is_feedback {
            self.urgent.push_back(entry);
            // An urgent packet drops no other.
            if self.is_over() {
                self.urgent.pop_back();
                self.bytes -= u64::from(entry.size);
                dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            }
            return;
        }
        self.queue.push_back((now, entry));
        while self.is_over() {
            self.drop_oldest(DropReason::Full, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.urgent.pop_front() {
            self.bytes -= u64::from(entry.size);
            return Some(entry);
        }
        while self.queue.front().is_some_and(|(since, _)| now.since(*since) > self.max_delay) {
            self.drop_oldest(DropReason::Early, dropped);
        }
        let (_, entry) = self.queue.pop_back()?;
        self.bytes -= u64::from(entry.size);
        Some(entry)
    }

    fn packets(&self) -> u64 {
        (self.urgent.len() + self.queue.len()) as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl DisciplineConfig for NewestFirstConfig {
    type Queue = NewestFirst;
    const NAME: &'static str = "newest-first";

    fn make(&self, limit: Limit, _streams: RandomStreams<'_>) -> NewestFirst {
        let (urgent, queue) = (VecDeque::new(), VecDeque::new());
        NewestFirst { urgent, queue, bytes: 0, limit, max_delay: self.max_delay }
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: true,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: false,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("newest-first queue, maximum delay {}", self.max_delay)
    }
}

const KEYS: &[Key] = &[key(
    "max-delay",
    Kind::Time,
    "100 ms",
    "Packets that have waited longer are dropped when the link is free.",
)
.within(Range::POSITIVE, "")];

bind!(NewestFirstConfig { max_delay: "max-delay" });

static NEWEST_FIRST: DisciplineDescription = DisciplineDescription::new::<NewestFirstConfig>(
    "The newest packet leaves first; packets that have waited longer than `max-delay` are dropped.",
    Keys::own(KEYS),
);

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add_discipline(&NEWEST_FIRST);
    registry.add_discipline(&mark_above::MARK_ABOVE);
    thalweg::run_with(registry)
}
