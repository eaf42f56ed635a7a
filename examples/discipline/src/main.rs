//! The command `thalweg` with a custom queue discipline, `newest-first`: `queue = { discipline = "newest-first" }`.

use std::collections::VecDeque;
use std::process::ExitCode;
use thalweg::Registry;
use thalweg_catalog::describe::key;
use thalweg_catalog::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_proto::units::{Duration, Time};
use thalweg_queue::{Configure, Discipline, DropReason, Dropped, Entry, Limit, Streams, Traits};

/// Configuration of [`NewestFirst`].
#[derive(Clone, Debug, Default, PartialEq)]
struct NewestFirstConfig {
    /// Maximum queueing delay; packets that have waited longer are dropped.
    max_delay: Duration,
}

/// LIFO queue that drops packets after a maximum queueing delay.
#[derive(Debug)]
struct NewestFirst {
    queue: VecDeque<(Time, Entry)>,
    bytes: u64,
    limit: Limit,
    max_delay: Duration,
}

impl NewestFirst {
    fn drop_oldest(&mut self, reason: DropReason, dropped: &mut Vec<Dropped>) {
        if let Some((_, entry)) = self.queue.pop_front() {
            self.bytes -= u64::from(entry.size);
            dropped.push(Dropped { entry, reason });
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
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<Dropped>) {
        self.queue.push_back((now, entry));
        self.bytes += u64::from(entry.size);
        while self.is_over() {
            self.drop_oldest(DropReason::Full, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Entry> {
        while self.queue.front().is_some_and(|(since, _)| now.since(*since) > self.max_delay) {
            self.drop_oldest(DropReason::Early, dropped);
        }
        let (_, entry) = self.queue.pop_back()?;
        self.bytes -= u64::from(entry.size);
        Some(entry)
    }

    fn packets(&self) -> u64 {
        self.queue.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Configure for NewestFirstConfig {
    type Queue = NewestFirst;
    const NAME: &'static str = "newest-first";

    fn make(&self, limit: Limit, _streams: Streams<'_>) -> NewestFirst {
        NewestFirst { queue: VecDeque::new(), bytes: 0, limit, max_delay: self.max_delay }
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_order: false,
            drops_early: true,
            marks: false,
            is_random: false,
            sees_all: false,
            serves_by_priority: false,
            isolates_hosts: false,
        }
    }

    fn words(&self) -> String {
        format!("newest first, with a patience of {}", self.max_delay)
    }
}

const KEYS: &[Key] = &[key(
    "patience",
    Kind::Time,
    "100 ms",
    "Packets that have waited longer are dropped when the line is free.",
)
.within(Range::POSITIVE, "")];

bind!(NewestFirstConfig { max_delay: "patience" });

static NEWEST_FIRST: DisciplineDescription = DisciplineDescription::new::<NewestFirstConfig>(
    "The packet that came last leaves first; those that have waited too long are dropped.",
    Keys::own(KEYS),
);

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add_discipline(&NEWEST_FIRST);
    thalweg::run_with(registry)
}
