//! The queue discipline Fair Queueing (Demers, Keshav and Shenker 1989).

use crate::bit_round_robin::{Round, Rounds, of_bytes};
use crate::flow_queues::Lanes;
use crate::flow_weights::Weights;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::{BTreeSet, VecDeque};
use thalweg_proto::units::{Bytes, Rate, Time};

/// Parameters of [`FairQueueing`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FairQueueingConfig {
    /// Promptness δ: flows that have sent less than this in the current round are served earlier. Zero is the plain
    /// algorithm.
    pub promptness: Bytes,
    /// Sets the congestion bit on packets of a flow that holds more than this multiple of its fair share of the buffer.
    /// The fair share is the limit divided by the number of backlogged flows. `None` sets no bits.
    pub mark_above: Option<f64>,
    /// Weights of flows by their priority.
    pub weights: Weights,
}

/// Fair Queueing: packets leave in the order of bit-by-bit round-robin service of the flows (Demers, Keshav, Shenker
/// 1989).
///
/// A packet of P bytes that arrives in round R gets the finish number F = max(F of its flow's packet before, R) + P and
/// the bid B = max(F of the packet before, R - δ) + P; the packet with the lowest bid leaves next, in order of arrival
/// if bids are equal. Service is not preemptive. On overflow the flow with the largest share of the buffer drops its
/// last packet, until the arrival fits; on a tie it is the arrival's own flow.
///
/// With [`mark_above`](FairQueueingConfig::mark_above), an arrival whose flow then holds more than its share of the
/// buffer is marked, if it may be: the variant "fqbit" of Liang (1991), for sources that react to DEC's congestion bit.
///
/// Urgent packets leave before all others and take no part in the rounds.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | R(t) by the line's rate | by what the line has sent, the rate within a packet only | lines may change their rate | none on a line of constant rate |
/// | flows are served alike | a flow with [weight](Weights) w is served w bits in turn: its packets count P / w in finish numbers and bids, and R(t) grows at the rate over the sum of weights | shares in proportion | none where all are 1; shares of the buffer and promptness have no weights |
/// | finish numbers of dropped packets not discussed | taken back | a flow is charged for what it was given | a flow that sends too much gets its fair share, not less |
#[derive(Clone, Debug)]
pub struct FairQueueing {
    config: FairQueueingConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    lanes: Lanes<Conversation, Tag>,
    /// First packet of each flow, by bid and then by arrival.
    heads: BTreeSet<(Round, u64, u32)>,
    rounds: Rounds,
    arrivals: u64,
}

/// State of a flow.
#[derive(Clone, Debug, Default)]
struct Conversation {
    /// Finish number of its last packet.
    finish: Round,
    weight: u32,
}

/// State of a packet.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// Finish number of the flow before it.
    previous_finish: Round,
    bid: Round,
    arrival: u64,
}

impl FairQueueing {
    /// Creates an empty queue with this limit.
    pub const fn new(limit: Limit, config: FairQueueingConfig) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            heads: BTreeSet::new(),
            rounds: Rounds::new(),
            arrivals: 0,
        }
    }

    /// Enqueues an arrival regardless of room, and returns its flow's lane.
    fn store(&mut self, mut entry: Entry) -> u32 {
        let (lane, _) = self.lanes.open(entry.flow);
        let weight = self.config.weights.weight_of(&entry);
        let size = of_bytes(u64::from(entry.size)) / u128::from(weight);
        let (before, now) = (self.lanes.get(lane).state.finish, self.rounds.now());
        let finish = before.max(now) + size;
        let bid = before.max(now.saturating_sub(of_bytes(self.config.promptness.get()))) + size;
        (self.lanes.state(lane).finish, self.lanes.state(lane).weight) = (finish, weight);
        self.rounds.change(lane, weight, before, finish);
        let is_first = self.lanes.get(lane).is_empty();
        let flows = self.lanes.busy() + usize::from(is_first);
        let cost = self.occupancy.size_in_limit_units(&entry);
        let used = self.lanes.get(lane).used() + cost;
        if self.is_above_share(used, flows) {
            entry.mark();
        }
        let tag = Tag { previous_finish: before, bid, arrival: self.arrivals };
        self.arrivals += 1;
        if is_first {
            self.heads.insert((bid, tag.arrival, lane));
        }
        self.occupancy.add(&entry);
        self.lanes.push(lane, entry, tag, cost);
        lane
    }

    fn is_above_share(&self, used: u64, flows: usize) -> bool {
        let limit = match self.occupancy.limit() {
            Limit::Packets(limit) | Limit::Bytes(limit) => limit,
            Limit::Unlimited => return false,
        };
        self.config.mark_above.is_some_and(|share| used as f64 > share * limit as f64 / flows as f64)
    }

    /// Removes the last packet of a flow, and undoes its accounting.
    fn drop_last(&mut self, lane: u32) -> Option<Entry> {
        let (entry, tag) = self.lanes.pop_back(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&entry);
        if self.lanes.get(lane).is_empty() {
            self.heads.remove(&(tag.bid, tag.arrival, lane));
        }
        let finish = core::mem::replace(&mut self.lanes.state(lane).finish, tag.previous_finish);
        let weight = self.lanes.get(lane).state.weight;
        self.rounds.change(lane, weight, finish, tag.previous_finish);
        self.close_if_done(lane);
        Some(entry)
    }

    /// Removes a flow that neither has packets nor would still be served bit by bit.
    fn close_if_done(&mut self, lane: u32) {
        let place = self.lanes.get(lane);
        if place.is_empty() && !self.rounds.is_active(place.state.finish) {
            self.lanes.close(lane);
        }
    }

    fn close_if_empty(lanes: &mut Lanes<Conversation, Tag>, lane: u32) {
        if lanes.get(lane).is_empty() {
            lanes.close(lane);
        }
    }
}

impl Discipline for FairQueueing {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.rounds.advance(now, |lane| Self::close_if_empty(&mut self.lanes, lane));
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let lane = self.store(entry);
        while self.occupancy.is_exceeded() {
            let Some(victim) = self.lanes.longest(lane) else { return };
            let Some(entry) = self.drop_last(victim) else { return };
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.rounds.complete(|lane| Self::close_if_empty(&mut self.lanes, lane));
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let (_, _, lane) = self.heads.pop_first()?;
        let (entry, _) = self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&entry);
        if let Some(&(_, next)) = self.lanes.get(lane).front() {
            self.heads.insert((next.bid, next.arrival, lane));
        }
        self.rounds.serve(now, entry.size);
        self.close_if_done(lane);
        Some(entry)
    }

    fn peek(&self) -> Option<&Entry> {
        let first = || self.heads.first().and_then(|&(_, _, lane)| self.lanes.get(lane).front());
        self.urgent.front().or_else(|| first().map(|(entry, _)| entry))
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rounds.set_rate(rate);
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.rounds.advance(now, |lane| Self::close_if_empty(&mut self.lanes, lane));
        self.occupancy.set_limit(limit);
        self.lanes.recount(|entry| self.occupancy.size_in_limit_units(entry));
        while self.occupancy.is_exceeded() {
            let Some(entry) = self.lanes.longest(0).and_then(|victim| self.drop_last(victim)) else { break };
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

#[cfg(test)]
#[path = "fair_queueing_tests.rs"]
mod tests;

impl DisciplineConfig for FairQueueingConfig {
    type Queue = FairQueueing;
    const NAME: &'static str = "fq";

    fn check(&self) -> Result<(), SpecError> {
        self.weights.check()?;
        self.mark_above.map_or(Ok(()), |share| above_zero("mark_above", share))
    }

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> FairQueueing {
        FairQueueing::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: self.mark_above.is_some(),
            is_random: false,
            enqueues_when_link_idle: true,
            depends_on_priority: self.weights.differ(),
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        let bits = if self.mark_above.is_some() { " that sets bits" } else { "" };
        format!("Fair Queueing queue{bits}")
    }
}
