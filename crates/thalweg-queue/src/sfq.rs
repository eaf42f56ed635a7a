//! The queue discipline Stochastic Fairness Queueing (McKenney 1991).

use crate::flow_hash_buckets::Buckets;
use crate::flow_queues::Lanes;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SharedBufferDrop,
    SpecError, Traits,
};
use std::collections::VecDeque;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Parameters of [`Sfq`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SfqConfig {
    /// Number of hash queues, at least 1. McKenney advises several times the number of flows.
    pub buckets: u32,
    /// Perturbation interval of the hash, which limits the time that flows share a queue. `None` disables perturbation.
    pub perturbation: Option<Duration>,
    /// Drop rule on overflow.
    pub overflow: SharedBufferDrop,
}

impl Default for SfqConfig {
    fn default() -> Self {
        Self {
            buckets: 1024,
            perturbation: Some(Duration::from_secs(10)),
            overflow: SharedBufferDrop::LongestTail,
        }
    }
}

/// Stochastic Fairness Queueing (McKenney 1991): flows are hashed to a fixed number of queues, which send one packet
/// each in turn. On overflow the longest queue drops.
///
/// The hash is drawn from a random stream, and redrawn after every [`perturbation`](SfqConfig::perturbation). Queued
/// packets then move to their new queues in arrival order, so packets of a flow stay in order.
///
/// Urgent packets leave before all others.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | packets stay in their queues when the hash changes | they move | no reordering within flows | shares change at once |
/// | the timer of the perturbation | checked at arrivals and departures | a queue has no timers | none |
#[derive(Clone, Debug)]
pub struct Sfq {
    config: SfqConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    /// Queued packets with their arrival numbers.
    lanes: Lanes<(), u64>,
    /// Queues with packets, in service order.
    turns: VecDeque<u32>,
    buckets: Buckets,
    next_perturbation: Time,
    arrivals: u64,
}

impl Sfq {
    /// Creates an empty queue with this limit, and draws its hash from `stream`.
    pub fn new(limit: Limit, config: SfqConfig, stream: RandomStream) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            turns: VecDeque::new(),
            buckets: Buckets::new(config.buckets, stream),
            next_perturbation: config.perturbation.map_or(Time::MAX, |every| Time::ZERO + every),
            arrivals: 0,
        }
    }

    fn store(&mut self, entry: Entry, arrival: u64) -> u32 {
        let (lane, is_new) = self.lanes.open(self.buckets.bucket_of(entry.flow));
        if is_new {
            self.turns.push_back(lane);
        }
        self.lanes.push(lane, entry, arrival, self.occupancy.size_in_limit_units(&entry));
        lane
    }

    /// Removes an empty lane.
    fn close_if_empty(&mut self, lane: u32) {
        if self.lanes.get(lane).is_empty() {
            self.turns.retain(|&turn| turn != lane);
            self.lanes.close(lane);
        }
    }

    /// Perturbs the hash when due.
    fn perturb_if_due(&mut self, now: Time) {
        let Some(every) = self.config.perturbation.filter(|_| now >= self.next_perturbation) else { return };
        // Periods without a packet are skipped.
        let periods = now.since(self.next_perturbation).as_picos() / every.as_picos().max(1) + 1;
        self.next_perturbation += every * periods;
        self.buckets.perturb();
        let mut waiting = Vec::new();
        for lane in core::mem::take(&mut self.turns) {
            while let Some(packet) =
                self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))
            {
                waiting.push(packet);
            }
            self.lanes.close(lane);
        }
        // Two old queues may share a new one; moved one after the other, they would lose the order of
        // arrival.
        waiting.sort_unstable_by_key(|&(_, arrival)| arrival);
        for (entry, arrival) in waiting {
            self.store(entry, arrival);
        }
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.perturb_if_due(now);
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let bucket = self.buckets.bucket_of(entry.flow);
        if self.config.overflow.refuses(&self.lanes, bucket, &entry, &self.occupancy) {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            return;
        }
        self.occupancy.add(&entry);
        let mine = self.store(entry, self.arrivals);
        self.arrivals += 1;
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

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.perturb_if_due(now);
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let lane = self.turns.pop_front()?;
        let (entry, _) = self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&entry);
        if self.lanes.get(lane).is_empty() {
            self.lanes.close(lane);
        } else {
            self.turns.push_back(lane);
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

impl DisciplineConfig for SfqConfig {
    type Queue = Sfq;
    const NAME: &'static str = "sfq";

    fn check(&self) -> Result<(), SpecError> {
        let period = self.perturbation.unwrap_or(Duration::MAX);
        above_zero("buckets", f64::from(self.buckets))?;
        above_zero("perturbation", period.as_secs_f64())
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Sfq {
        Sfq::new(limit, *self, streams("sfq"))
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: false,
            is_random: true,
            enqueues_when_link_idle: true,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("SFQ queue with {} buckets", self.buckets)
    }
}

#[cfg(test)]
mod tests {
    //! Tests SFQ: service order, drops and perturbation.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};

    fn queue(limit: Limit, overflow: SharedBufferDrop, perturbation: Option<Duration>) -> Sfq {
        Sfq::new(
            limit,
            SfqConfig { buckets: 1 << 20, perturbation, overflow },
            RandomStream::new(1, "test", 0),
        )
    }

    fn entry(packet: u32, flow: u32, size: u32) -> Entry {
        Entry { size, flow, ..ordinary_entry(packet) }
    }

    #[test]
    fn queues_send_a_packet_each_in_turn() {
        // Three of flow 1, two of flow 2, one of flow 3.
        let mut queue = queue(Limit::Unlimited, SharedBufferDrop::LongestTail, None);
        for (packet, flow) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, flow, 100));
        }
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [0, 3, 5, 1, 4, 2]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        // Flow 1 holds three of four, flow 2 one: an arrival of flow 2 costs flow 1 its last or first packet. Then both
        // hold two, and the arrival's flow loses a packet.
        for (overflow, first, then) in
            [(SharedBufferDrop::LongestTail, 2, 5), (SharedBufferDrop::LongestHead, 0, 3)]
        {
            let mut queue = queue(Limit::Packets(4), overflow, None);
            for (packet, flow) in [(0, 1), (1, 1), (2, 1), (3, 2)] {
                assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, flow, 100)).is_empty());
            }
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 2, 100)), [first]);
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(5, 2, 100)), [then]);
            assert_eq!((queue.packets(), queue.bytes()), (4, 400));
        }
    }

    #[test]
    fn an_arrival_beyond_its_share_is_dropped_below_the_limit() {
        // A limit of six: a single flow may hold six packets; with a second flow, three.
        let mut alone = queue(Limit::Packets(6), SharedBufferDrop::Share, None);
        for packet in 0..6 {
            assert!(enqueue_and_list_drops(&mut alone, Time::ZERO, entry(packet, 1, 100)).is_empty());
        }
        assert_eq!(enqueue_and_list_drops(&mut alone, Time::ZERO, entry(6, 1, 100)), [6]);
        // The first packet of another flow pushes out the last packet of the longest queue.
        assert_eq!(enqueue_and_list_drops(&mut alone, Time::ZERO, entry(7, 2, 100)), [5]);
        let mut queue = queue(Limit::Packets(6), SharedBufferDrop::Share, None);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(0, 2, 100));
        for packet in 1..4 {
            assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, 1, 100)).is_empty());
        }
        assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 1, 100)), [4]);
        assert_eq!(queue.packets(), 4);
    }

    #[test]
    fn a_perturbation_moves_packets_and_keeps_flows_in_order() {
        // A hundred flows in ten queues, ten packets each: before and after, every flow's packets leave in order.
        let every = Duration::from_secs(1);
        let config = SfqConfig { buckets: 10, perturbation: Some(every), ..SfqConfig::default() };
        let mut queue = Sfq::new(Limit::Unlimited, config, RandomStream::new(1, "test", 0));
        for packet in 0..1000 {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, packet % 100, 100));
        }
        let mut order: Vec<u32> = Vec::new();
        for step in 0..10 {
            let now = Time::ZERO + Duration::from_millis(700) * step;
            for _ in 0..100 {
                order.push(queue.dequeue(now, &mut Vec::new()).unwrap().packet);
            }
        }
        assert_eq!(queue.packets(), 0);
        for flow in 0..100 {
            let of: Vec<u32> = order.iter().copied().filter(|packet| packet % 100 == flow).collect();
            assert!(of.is_sorted() && of.len() == 10);
        }
    }

    #[test]
    fn the_next_perturbation_separates_colliding_flows() {
        // Two of a thousand flows that share one of two queues do not share it in all of twenty periods.
        let config =
            SfqConfig { buckets: 2, perturbation: Some(Duration::from_secs(1)), ..SfqConfig::default() };
        let mut queue = Sfq::new(Limit::Unlimited, config, RandomStream::new(1, "test", 0));
        let together = (0..20).filter(|&second| {
            enqueue_and_list_drops(&mut queue, Time::ZERO + Duration::from_secs(second), entry(0, 1, 1));
            queue.buckets.bucket_of(1) == queue.buckets.bucket_of(2)
        });
        assert!((2..18).contains(&together.count()));
    }

    #[test]
    fn a_long_idle_time_takes_constant_work() {
        // A period of a picosecond after hours: skipped in one step.
        let mut queue = queue(Limit::Unlimited, SharedBufferDrop::LongestTail, Some(Duration::from_picos(1)));
        let late = Time::ZERO + Duration::from_secs(10_000);
        enqueue_and_list_drops(&mut queue, late, entry(0, 1, 1));
        assert_eq!(dequeue_all(&mut queue, Time::MAX), [0]);
    }
}
