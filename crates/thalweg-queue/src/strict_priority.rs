//! A queue that serves packets in the order of their priority.

use crate::queue_occupancy::Occupancy;
use crate::{Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, Traits};
use std::collections::VecDeque;
use thalweg_proto::units::Time;

/// Parameters of [`Priority`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityConfig {
    /// Push-out: an arrival without room displaces the last packets of lower priorities; otherwise it is dropped.
    pub push_out: bool,
}

impl Default for PriorityConfig {
    fn default() -> Self {
        Self { push_out: true }
    }
}

/// Strict priority: a packet leaves only if no packet of a higher [priority](Entry::priority) is queued (head-of-line
/// priority without preemption, Cobham 1954). Packets of one priority leave in arrival order.
///
/// All priorities share the buffer. Urgent packets leave before all others; an urgent arrival without room is dropped.
#[derive(Clone, Debug)]
pub struct Priority {
    config: PriorityConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    /// One FIFO per priority, the highest first.
    levels: [VecDeque<Entry>; LEVELS],
}

/// Number of priorities, from 1; larger numbers count as the lowest.
const LEVELS: usize = 6;

const fn priority_level(entry: &Entry) -> usize {
    let level = (entry.priority as usize).saturating_sub(1);
    if level < LEVELS { level } else { LEVELS - 1 }
}

impl Priority {
    /// Creates an empty queue with this limit.
    pub fn new(limit: Limit, config: PriorityConfig) -> Self {
        Self { config, occupancy: Occupancy::new(limit), urgent: VecDeque::new(), levels: Default::default() }
    }

    /// Returns the level of the lowest priority with packets.
    fn lowest_level(&self) -> Option<usize> {
        self.levels.iter().rposition(|level| !level.is_empty())
    }
}

impl Discipline for Priority {
    fn enqueue(&mut self, _now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        if !self.config.push_out && !self.occupancy.fits(entry.size) {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            return;
        }
        // The arrival is the last of its own priority: without lower priorities it is the victim.
        self.occupancy.add(&entry);
        self.levels[priority_level(&entry)].push_back(entry);
        while self.occupancy.is_exceeded() {
            let Some(victim) = self.lowest_level().and_then(|lowest| self.levels[lowest].pop_back()) else {
                return;
            };
            self.occupancy.remove(&victim);
            dropped.push(DroppedPacket { entry: victim, reason: DropReason::Full });
        }
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let entry = self.levels.iter_mut().find_map(VecDeque::pop_front)?;
        self.occupancy.remove(&entry);
        Some(entry)
    }

    fn peek(&self) -> Option<&Entry> {
        self.urgent.front().or_else(|| self.levels.iter().find_map(VecDeque::front))
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        while self.occupancy.is_exceeded() {
            let Some(victim) = self.lowest_level().and_then(|lowest| self.levels[lowest].pop_back()) else {
                break;
            };
            self.occupancy.remove(&victim);
            dropped.push(DroppedPacket { entry: victim, reason: DropReason::Full });
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for PriorityConfig {
    type Queue = Priority;
    const NAME: &'static str = "priority";

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> Priority {
        Priority::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: false,
            depends_on_priority: true,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        "priority queue".to_owned()
    }
}

#[cfg(test)]
mod tests {
    //! Tests strict priority: the order, push-out, and Cobham's waiting times.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};
    use thalweg_proto::random::RandomStream;
    use thalweg_proto::units::Duration;

    fn entry(packet: u32, priority: u8) -> Entry {
        Entry { priority, ..ordinary_entry(packet) }
    }

    fn queue(limit: Limit, push_out: bool) -> Priority {
        Priority::new(limit, PriorityConfig { push_out })
    }

    #[test]
    fn higher_priorities_leave_first() {
        // In order within each priority; 0 and 200 are out of range and count as the nearest.
        let mut queue = queue(Limit::Unlimited, true);
        for (packet, priority) in [(0, 3), (1, 1), (2, 6), (3, 3), (4, 0), (5, 200)] {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, priority));
        }
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1, 4, 0, 3, 2, 5]);
    }

    #[test]
    fn only_lower_priorities_are_pushed_out() {
        // A full queue of priorities 2, 3, 3: an arrival of 2 pushes out the last 3; an arrival of 4 is dropped.
        for (push_out, victims) in [(true, [2, 4]), (false, [3, 4])] {
            let mut queue = queue(Limit::Packets(3), push_out);
            for (packet, priority) in [(0, 2), (1, 3), (2, 3)] {
                assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, priority)).is_empty());
            }
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(3, 2)), victims[..1]);
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 4)), victims[1..]);
        }
    }

    #[test]
    fn mean_waits_match_cobhams_formula() {
        // Poisson arrivals of two priorities, load 0.4 each, packets of 1 ms. The mean residual service at an arrival
        // is r = 0.8 / 2 ms; the high priority waits r / 0.6 = 0.667 ms, the low one r / (0.6 x 0.2) = 3.333 ms.
        let mut stream = RandomStream::new(3, "test", 0);
        let mut queue = queue(Limit::Unlimited, true);
        let service = Duration::from_millis(1);
        let mut arrives = [Time::ZERO; 2].map(|start| start + stream.exponential_duration(service * 5 / 2));
        let (mut arrivals, mut free) = (Vec::new(), Time::ZERO);
        let (mut waits, mut counts) = ([0.0; 2], [0.0; 2]);
        while arrivals.len() < 400_000 {
            let next = usize::from(arrives[1] < arrives[0]);
            if queue.packets() > 0 && free <= arrives[next] {
                let entry = queue.dequeue(free, &mut Vec::new()).unwrap();
                let class = usize::from(entry.priority) - 1;
                waits[class] += free.since(arrivals[entry.packet as usize]).as_millis_f64();
                counts[class] += 1.0;
                free += service;
                continue;
            }
            let at = arrives[next];
            free = free.max(at);
            queue.enqueue(at, entry(arrivals.len() as u32, next as u8 + 1), &mut Vec::new());
            arrivals.push(at);
            arrives[next] = at + stream.exponential_duration(service * 5 / 2);
        }
        let means = [waits[0] / counts[0], waits[1] / counts[1]];
        assert!(
            (means[0] / 0.6667 - 1.0).abs() < 0.03 && (means[1] / 3.3333 - 1.0).abs() < 0.06,
            "{means:?}"
        );
    }
}
