//! The queue discipline Deficit Round Robin (Shreedhar and Varghese 1995).

use crate::flow_hash_buckets::Buckets;
use crate::flow_queues::Lanes;
use crate::flow_weights::Weights;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SharedBufferDrop,
    SpecError, Traits,
};
use std::collections::VecDeque;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Time};

/// Parameters of [`Drr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrrConfig {
    /// Quantum per queue and round, above zero. With at least the maximum packet size, every queue sends in every
    /// round.
    pub quantum: Bytes,
    /// Number of hash queues, at least 1. `None` gives every flow its own queue.
    pub buckets: Option<u32>,
    /// Drop rule on overflow.
    pub overflow: SharedBufferDrop,
    /// Weights of flows by their priority.
    pub weights: Weights,
}

impl Default for DrrConfig {
    fn default() -> Self {
        Self {
            quantum: Bytes::new(1500),
            buckets: None,
            overflow: SharedBufferDrop::LongestTail,
            weights: Weights::default(),
        }
    }
}

/// Deficit Round Robin (Shreedhar and Varghese 1995): queues take turns, and each turn adds a quantum of bytes to the
/// queue's deficit counter. If the next packet is larger than the deficit, the deficit carries over to the next turn,
/// unless the queue becomes empty.
///
/// Urgent packets leave before all others.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | quanta per queue | one, times the [weight](Weights) of the flow whose packet is first | a queue may have several flows | shares are in proportion to weights |
/// | rounds without a packet are processed one by one | skipped in one step | a quantum of a byte must not stall | none |
#[derive(Clone, Debug)]
pub struct Drr {
    config: DrrConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    lanes: Lanes<Turn, ()>,
    /// Queues with packets; the first has the turn.
    turns: VecDeque<u32>,
    buckets: Option<Buckets>,
}

/// State of a queue.
#[derive(Clone, Debug, Default)]
struct Turn {
    /// Deficit counter, in bytes.
    deficit: u64,
    /// True once the quantum of this turn was added.
    has_begun: bool,
}

impl Drr {
    /// Creates an empty queue with this limit; a hash, if any, is drawn from `stream`.
    pub fn new(limit: Limit, config: DrrConfig, stream: impl FnOnce() -> RandomStream) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            turns: VecDeque::new(),
            buckets: config.buckets.map(|count| Buckets::new(count, stream())),
        }
    }

    fn key(&self, flow: u32) -> u32 {
        self.buckets.as_ref().map_or(flow, |buckets| buckets.bucket_of(flow))
    }

    /// Returns the size of a queue's first packet.
    fn head(&self, lane: u32) -> u64 {
        self.lanes.get(lane).front().map_or(0, |(entry, ())| u64::from(entry.size))
    }

    /// Returns the weighted quantum of a queue.
    fn quantum(&self, lane: u32) -> u64 {
        let weight =
            self.lanes.get(lane).front().map_or(1, |(entry, ())| self.config.weights.weight_of(entry));
        self.config.quantum.get().max(1).saturating_mul(u64::from(weight))
    }

    /// Advances turns until a queue may send, and returns it.
    fn next_turn(&mut self) -> Option<u32> {
        loop {
            for _ in 0..self.turns.len() {
                let &lane = self.turns.front()?;
                let (head, quantum) = (self.head(lane), self.quantum(lane));
                let turn = self.lanes.state(lane);
                if !turn.has_begun {
                    turn.has_begun = true;
                    turn.deficit = turn.deficit.saturating_add(quantum);
                }
                if head <= turn.deficit {
                    return Some(lane);
                }
                // The deficit remains, so large packets get the same share of bytes as small ones.
                turn.has_begun = false;
                self.turns.rotate_left(1);
            }
            // No queue may send in this round: skip to the next round with an eligible queue.
            let missing = |lane: u32| self.head(lane).saturating_sub(self.lanes.get(lane).state.deficit);
            let rounds = self.turns.iter().map(|&lane| missing(lane).div_ceil(self.quantum(lane))).min()?;
            for &lane in &self.turns {
                let more = rounds.saturating_sub(1).saturating_mul(self.quantum(lane));
                let deficit = &mut self.lanes.state(lane).deficit;
                *deficit = deficit.saturating_add(more);
            }
        }
    }

    /// Removes an empty queue with its deficit.
    fn close_if_empty(&mut self, lane: u32) {
        if self.lanes.get(lane).is_empty() {
            self.turns.retain(|&turn| turn != lane);
            self.lanes.close(lane);
        }
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, _now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let key = self.key(entry.flow);
        if self.config.overflow.refuses(&self.lanes, key, &entry, &self.occupancy) {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            return;
        }
        let (mine, is_new) = self.lanes.open(key);
        if is_new {
            self.turns.push_back(mine);
        }
        self.occupancy.add(&entry);
        self.lanes.push(mine, entry, (), self.occupancy.size_in_limit_units(&entry));
        while self.occupancy.is_exceeded() {
            let Some((lane, entry)) = self.config.overflow.victim(&mut self.lanes, mine, &self.occupancy)
            else {
                return;
            };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            self.close_if_empty(lane);
        }
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let lane = self.next_turn()?;
        let (entry, ()) = self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&entry);
        self.lanes.state(lane).deficit -= u64::from(entry.size);
        if self.lanes.get(lane).is_empty() {
            // An empty queue loses its deficit (Shreedhar and Varghese 1995), or an idle flow would save it
            // for a burst.
            self.turns.pop_front();
            self.lanes.close(lane);
        }
        Some(entry)
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        self.lanes.recount(|entry| self.occupancy.size_in_limit_units(entry));
        while self.occupancy.is_exceeded() {
            let Some((lane, entry)) = self.config.overflow.victim(&mut self.lanes, 0, &self.occupancy) else {
                break;
            };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            self.close_if_empty(lane);
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for DrrConfig {
    type Queue = Drr;
    const NAME: &'static str = "drr";

    fn check(&self) -> Result<(), SpecError> {
        above_zero("quantum", self.quantum.get() as f64)?;
        self.weights.check()?;
        above_zero("buckets", f64::from(self.buckets.unwrap_or(1)))
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Drr {
        Drr::new(limit, *self, || streams("drr"))
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: false,
            is_random: self.buckets.is_some(),
            enqueues_when_link_idle: true,
            depends_on_priority: self.weights.differ(),
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("DRR queue with a quantum of {}", self.quantum)
    }
}

#[cfg(test)]
mod tests {
    //! Tests DRR: the paper's deficit example, its fairness bound, and small quanta.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};

    fn queue(quantum: u64, limit: Limit, overflow: SharedBufferDrop) -> Drr {
        let config =
            DrrConfig { quantum: Bytes::new(quantum), buckets: None, overflow, weights: Weights::default() };
        Drr::new(limit, config, || RandomStream::new(1, "test", 0))
    }

    fn entry(packet: u32, flow: u32, size: u32) -> Entry {
        Entry { size, flow, ..ordinary_entry(packet) }
    }

    #[test]
    fn deficits_are_kept_from_turn_to_turn() {
        // The paper's figures 2 and 3: with a quantum of 500, the first queue sends its 200 and keeps 300, as its next
        // packet has 750; with 800 it sends that in its second turn. The second queue waits two turns to send 500 and 500.
        let mut queue = queue(500, Limit::Unlimited, SharedBufferDrop::LongestTail);
        for (packet, flow, size) in [
            (10, 1, 200),
            (11, 1, 750),
            (12, 1, 20),
            (20, 2, 500),
            (21, 2, 500),
            (30, 3, 200),
            (31, 3, 600),
            (32, 3, 100),
            (40, 4, 50),
            (41, 4, 700),
            (42, 4, 180),
        ] {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, flow, size));
        }
        // Turn 1: 200 | 500 | 200 | 50. Turn 2: 750 and 20 of 800 | 500 | 600 and 100 of 800 | 700 and 180 of 950.
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [10, 20, 30, 40, 11, 12, 21, 31, 32, 41, 42]);
    }

    #[test]
    fn an_empty_queue_keeps_no_deficit() {
        // Flow 1 sends 100 of 500 and is empty; its next packet of 600 must wait two turns as any other.
        let mut queue = queue(500, Limit::Unlimited, SharedBufferDrop::LongestTail);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 1, 100));
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1]);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(2, 1, 600));
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(3, 2, 500));
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [3, 2]);
    }

    #[test]
    fn shares_differ_by_less_than_three_packets() {
        // The paper's theorem: two backlogged queues get the same service, up to a quantum and two of the largest
        // packets.
        for quantum in [1, 100, 1500, 10_000] {
            let mut queue = queue(quantum, Limit::Unlimited, SharedBufferDrop::LongestTail);
            let (sizes, mut bytes_served) = ([1500, 500, 40], [0u64; 3]);
            for flow in [0, 1, 2, 0, 1, 2] {
                enqueue_and_list_drops(&mut queue, Time::ZERO, entry(0, flow, sizes[flow as usize]));
            }
            for _ in 0..20_000 {
                let entry = queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap();
                bytes_served[entry.flow as usize] += u64::from(entry.size);
                enqueue_and_list_drops(&mut queue, Time::ZERO, entry);
                let (max, min) = (bytes_served.iter().max().unwrap(), bytes_served.iter().min().unwrap());
                assert!(max - min <= quantum + 3000, "{quantum}: {bytes_served:?}");
            }
        }
    }

    #[test]
    fn a_packet_of_megabytes_does_not_stall_a_quantum_of_a_byte() {
        // 2^32 rounds are skipped in one step.
        let mut queue = queue(1, Limit::Unlimited, SharedBufferDrop::LongestTail);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(0, 1, u32::MAX));
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 2, u32::MAX - 1));
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1, 0]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        // In bytes: flow 1 has one large packet, flow 2 three small ones.
        for (overflow, victims) in
            [(SharedBufferDrop::LongestTail, vec![1, 0]), (SharedBufferDrop::LongestHead, vec![0])]
        {
            let mut queue = queue(1500, Limit::Bytes(2000), overflow);
            for (packet, flow, size) in [(0, 1, 1200), (1, 1, 200), (2, 2, 200), (3, 2, 200), (4, 2, 200)] {
                assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, flow, size)).is_empty());
            }
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(5, 3, 500)), victims);
        }
    }

    #[test]
    fn hashed_flows_share_a_queue() {
        // With a single bucket the order is first come, first served.
        let config = DrrConfig { buckets: Some(1), ..DrrConfig::default() };
        let mut queue = Drr::new(Limit::Unlimited, config, || RandomStream::new(1, "test", 0));
        for packet in 0..10 {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, packet % 3, 1000));
        }
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), (0..10).collect::<Vec<u32>>());
    }
}
