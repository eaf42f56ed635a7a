//! The queue discipline FQ-CoDel (RFC 8290).

use crate::codel::{Backlog, CoDelConfig, Control};
use crate::flow_hash_buckets::Buckets;
use crate::flow_queues::Lanes;
use crate::flow_weights::Weights;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::VecDeque;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Time};

/// Parameters of [`FqCoDel`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDelConfig {
    /// CoDel parameters of each queue.
    pub codel: CoDelConfig,
    /// Number of hash queues, 1 to 65 536.
    pub flows: u32,
    /// Quantum per queue and round, in bytes, above zero.
    pub quantum: Bytes,
    /// Maximum number of packets dropped at once from the largest queue on overflow, at least 1.
    pub drop_batch: u32,
    /// Weights of flows by their priority.
    pub weights: Weights,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self {
            codel: CoDelConfig::default(),
            flows: 1024,
            quantum: Bytes::new(1514),
            drop_batch: 64,
            weights: Weights::default(),
        }
    }
}

/// FQ-CoDel (RFC 8290): flows are hashed to queues served by deficit round robin, new queues first.
/// [`CoDel`](crate::CoDel) controls each queue.
///
/// On overflow the largest queue drops packets from its head: half of its bytes, but at most
/// [`drop_batch`](FqCoDelConfig::drop_batch) packets (section 4.1 of the RFC).
///
/// Urgent packets leave before all others.
///
/// Differences from the RFC:
///
/// | RFC | here | reason | effect |
/// | --- | --- | --- | --- |
/// | a queue keeps its CoDel state when it is empty | as long as it is in one of the two lists | less memory | counts restart |
/// | queues have no weights | the quantum is multiplied by the [weight](Weights) of the flow with the last arrival in the queue | shares in proportion | none where all are 1 |
/// | rounds without a packet are processed one by one | skipped in one step | a quantum of a byte must not stall | none |
#[derive(Clone, Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    /// Queued packets with their arrival times.
    lanes: Lanes<Flow, Time>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    buckets: Buckets,
}

/// State of a queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// Credits of the queue, in bytes; negative after a larger packet.
    credits: i64,
    control: Option<Control>,
    bytes: u64,
    flow_weight: u32,
}

/// CoDel's view of a queue.
struct View<'a> {
    lanes: &'a mut Lanes<Flow, Time>,
    occupancy: &'a mut Occupancy,
    lane: u32,
}

impl Backlog for View<'_> {
    fn pop(&mut self) -> Option<(Entry, Time)> {
        let popped = self.lanes.pop_front(self.lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&popped.0);
        self.lanes.state(self.lane).bytes -= u64::from(popped.0.size);
        Some(popped)
    }
    fn bytes(&self) -> u64 {
        self.lanes.get(self.lane).state.bytes
    }
}

impl FqCoDel {
    /// Creates an empty queue with this limit, and draws its hash from `stream`.
    pub fn new(limit: Limit, config: FqCoDelConfig, stream: RandomStream) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            buckets: Buckets::new(config.flows, stream),
        }
    }

    /// Returns the weighted quantum of a queue.
    fn quantum(&self, lane: u32) -> i64 {
        let weight = u64::from(self.lanes.get(lane).state.flow_weight.max(1));
        // Half of the maximum leaves space for the queue's present credits.
        i64::try_from(self.config.quantum.get().max(1).saturating_mul(weight))
            .unwrap_or(i64::MAX)
            .min(i64::MAX / 2)
    }

    /// Drops packets from the head of the largest queue.
    fn drop_from_longest(&mut self, mine: u32, dropped: &mut Vec<DroppedPacket>) {
        let Some(lane) = self.lanes.longest(mine) else { return };
        let mut view = View { lanes: &mut self.lanes, occupancy: &mut self.occupancy, lane };
        let half = view.bytes() / 2;
        for _ in 0..self.config.drop_batch.max(1) {
            let Some((entry, _)) = view.pop() else { return };
            // RFC 8290, section 4.1: from the head, which reports the loss earlier by the queue's delay.
            // Drops in batches make the search for the largest queue rare.
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            if view.bytes() <= half {
                return;
            }
        }
    }

    /// Dequeues from a queue. An empty queue moves to the old queues or is removed.
    fn serve(
        &mut self,
        now: Time,
        lane: u32,
        is_new: bool,
        dropped: &mut Vec<DroppedPacket>,
    ) -> Option<Entry> {
        let mut control =
            self.lanes.state(lane).control.take().unwrap_or_else(|| Control::new(self.config.codel));
        let mut view = View { lanes: &mut self.lanes, occupancy: &mut self.occupancy, lane };
        let entry = control.dequeue(now, &mut view, dropped);
        let flow = self.lanes.state(lane);
        flow.control = Some(control);
        if let Some(entry) = entry {
            flow.credits -= i64::from(entry.size);
        } else if is_new {
            // RFC 8290, section 4.2: removed at once, it would return as a new queue, ahead of all old ones.
            self.new.pop_front();
            self.old.push_back(lane);
        } else {
            self.old.pop_front();
            self.lanes.close(lane);
        }
        entry
    }
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let (lane, is_new) = self.lanes.open(self.buckets.bucket_of(entry.flow));
        self.lanes.state(lane).flow_weight = self.config.weights.weight_of(&entry);
        if is_new {
            // RFC 8290, section 4.1: an inactive queue joins the end of the new queues with one quantum.
            self.lanes.state(lane).credits = self.quantum(lane);
            self.new.push_back(lane);
        }
        self.lanes.state(lane).bytes += u64::from(entry.size);
        self.occupancy.add(&entry);
        self.lanes.push(lane, entry, now, self.occupancy.size_in_limit_units(&entry));
        while self.occupancy.is_exceeded() {
            self.drop_from_longest(lane, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        // Number of consecutive queues skipped without a packet in this call.
        let mut passed = 0;
        loop {
            let is_new = !self.new.is_empty();
            let lane = *self.new.front().or_else(|| self.old.front())?;
            // RFC 8290, section 4.2: new queues first; one without credits gets a quantum and joins the end
            // of the old ones.
            if self.lanes.get(lane).state.credits <= 0 {
                self.lanes.state(lane).credits += self.quantum(lane);
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.pop_front();
                self.old.push_back(lane);
                passed += 1;
                if !is_new && passed >= self.old.len() {
                    // No queue has credits: skip to the next round with credits.
                    let needed = |lane: &u32| (1 - self.lanes.get(*lane).state.credits).max(0) as u64;
                    let rounds = self
                        .old
                        .iter()
                        .map(|lane| needed(lane).div_ceil(self.quantum(*lane) as u64))
                        .min()?;
                    for lane in self.old.iter().copied() {
                        let more = (rounds as i64).saturating_mul(self.quantum(lane));
                        let credits = &mut self.lanes.state(lane).credits;
                        *credits = credits.saturating_add(more);
                    }
                    passed = 0;
                }
                continue;
            }
            passed = 0;
            if let Some(entry) = self.serve(now, lane, is_new, dropped) {
                return Some(entry);
            }
        }
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
        while self.occupancy.is_exceeded() && self.lanes.busy() > 0 {
            self.drop_from_longest(0, dropped);
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

/// Maximum number of FQ-CoDel queues, the same as in Linux. All may have state.
const MAX_FLOWS: u32 = 65_536;

impl DisciplineConfig for FqCoDelConfig {
    type Queue = FqCoDel;
    const NAME: &'static str = "fq-codel";

    fn check(&self) -> Result<(), SpecError> {
        DisciplineConfig::check(&self.codel)?;
        above_zero("flows", f64::from(self.flows))?;
        if self.flows > MAX_FLOWS {
            return Err(SpecError::TooMany { what: "flows", max: MAX_FLOWS, found: self.flows });
        }
        above_zero("quantum", self.quantum.get() as f64)?;
        self.weights.check()?;
        above_zero("drop_batch", f64::from(self.drop_batch))
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> FqCoDel {
        FqCoDel::new(limit, *self, streams("fq-codel"))
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: true,
            marks_ecn: self.codel.ecn,
            is_random: true,
            enqueues_when_link_idle: true,
            depends_on_priority: self.weights.differ(),
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("FQ-CoDel queue, target {}", self.codel.target)
    }
}

#[cfg(test)]
mod tests {
    //! Tests FQ-CoDel: new queues first, credits, drops on overflow, and CoDel in each queue.
    use super::*;
    use crate::test_helpers::{enqueue_and_list_drops, ordinary_entry};
    use thalweg_proto::units::Duration;

    fn queue(limit: Limit, quantum: u64) -> FqCoDel {
        let config =
            FqCoDelConfig { quantum: Bytes::new(quantum), flows: 1 << 20, ..FqCoDelConfig::default() };
        FqCoDel::new(limit, config, RandomStream::new(1, "test", 0))
    }

    fn entry(packet: u32, flow: u32, size: u32) -> Entry {
        Entry { size, flow, ..ordinary_entry(packet) }
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn next(queue: &mut FqCoDel, now: Time) -> Option<u32> {
        queue.dequeue(now, &mut Vec::new()).map(|entry| entry.packet)
    }

    #[test]
    fn a_new_flow_goes_before_old_ones_once() {
        // Flows 1 and 2 have had their first turns, and flow 1 has begun its second: 1500 more credits, less a packet,
        // and then none left. Flow 3 is new: its first two packets go next. Then it follows flow 2, before the next
        // turn of flow 1.
        let mut queue = queue(Limit::Unlimited, 1500);
        for packet in 0..4 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1, 1000));
            enqueue_and_list_drops(&mut queue, ms(0), entry(10 + packet, 2, 1000));
        }
        let first: Vec<_> = (0..5).map(|_| next(&mut queue, ms(0)).unwrap()).collect();
        assert_eq!(first, [0, 1, 10, 11, 2]);
        for packet in 20..23 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 3, 1000));
        }
        let rest: Vec<_> = std::iter::from_fn(|| next(&mut queue, ms(0))).collect();
        assert_eq!(rest, [20, 21, 12, 22, 3, 13]);
        assert_eq!(queue.packets(), 0);
    }

    #[test]
    fn an_emptied_flow_is_not_new_at_once() {
        // Flow 2 sends a packet whenever its last one has left, without delaying the turn of flow 1.
        let mut queue = queue(Limit::Unlimited, 1000);
        (0..10).for_each(|packet| {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1, 1000));
        });
        let mut order = Vec::new();
        for packet in 10..16 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 2, 1000));
            order.extend(next(&mut queue, ms(0)));
        }
        let of_the_first = order.iter().filter(|&&packet| packet < 10).count();
        assert_eq!(of_the_first, 3, "{order:?}");
    }

    #[test]
    fn shares_are_equal_in_bytes() {
        // Packets of 1500, 500 and 40 bytes, all waiting: equal within a quantum and a packet. Waits are short.
        for quantum in [1, 300, 1514] {
            let mut queue = queue(Limit::Unlimited, quantum);
            let (sizes, mut bytes_served) = ([1500, 500, 40], [0u64; 3]);
            for flow in [0, 1, 2, 0, 1, 2] {
                enqueue_and_list_drops(&mut queue, ms(0), entry(0, flow, sizes[flow as usize]));
            }
            for _ in 0..20_000 {
                let entry = queue.dequeue(ms(0), &mut Vec::new()).unwrap();
                bytes_served[entry.flow as usize] += u64::from(entry.size);
                enqueue_and_list_drops(&mut queue, ms(0), entry);
            }
            let (max, min) = (bytes_served.iter().max().unwrap(), bytes_served.iter().min().unwrap());
            assert!(max - min <= quantum + 3000, "{quantum}: {bytes_served:?}");
        }
    }

    #[test]
    fn a_full_buffer_halves_the_largest_queue_from_its_head() {
        // Flow 1 holds 8000 bytes in eight packets of ten: the eleventh packet costs it its first four.
        let mut queue = queue(Limit::Packets(10), 1514);
        for packet in 0..8 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1, 1000));
        }
        enqueue_and_list_drops(&mut queue, ms(0), entry(8, 2, 1000));
        enqueue_and_list_drops(&mut queue, ms(0), entry(9, 2, 1000));
        assert_eq!(enqueue_and_list_drops(&mut queue, ms(0), entry(10, 2, 1000)), [0, 1, 2, 3]);
        assert_eq!((queue.packets(), queue.bytes()), (7, 7000));
    }

    #[test]
    fn each_queue_has_separate_codel_state() {
        // Flow 1 keeps a standing queue, flow 2 sends occasional packets: only flow 1 has drops.
        let mut queue = queue(Limit::Unlimited, 1514);
        let mut dropped = Vec::new();
        (0..100).for_each(|packet| {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1, 1000));
        });
        for now in 0..1000 {
            enqueue_and_list_drops(&mut queue, ms(now), entry(0, 1, 1000));
            if now % 10 == 0 {
                enqueue_and_list_drops(&mut queue, ms(now), entry(0, 2, 100));
                let left = queue.dequeue(ms(now), &mut dropped).unwrap();
                assert!(left.flow == 2 || now == 0);
            }
            queue.dequeue(ms(now), &mut dropped);
        }
        assert!(dropped.len() > 5 && dropped.iter().all(|drop| drop.entry.flow == 1));
        assert!(dropped.iter().all(|drop| drop.reason == DropReason::Early));
    }

    #[test]
    fn there_are_never_more_queues_than_buckets() {
        // A hundred thousand flows, one after the other.
        let config = FqCoDelConfig::default();
        let mut queue = FqCoDel::new(Limit::Unlimited, config, RandomStream::new(1, "test", 0));
        for flow in 0..100_000 {
            enqueue_and_list_drops(&mut queue, ms(u64::from(flow)), entry(0, flow, 100));
            next(&mut queue, ms(u64::from(flow)));
        }
        assert!(queue.lanes.places() <= 1024, "{}", queue.lanes.places());
    }
}
