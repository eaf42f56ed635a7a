//! The queue discipline Hierarchical Round Robin (Kalmanek, Kanakia and Keshav 1990).

use crate::flow_queues::Lanes;
use crate::flow_weights::Weights;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::units::{Bytes, Time};

/// Parameters of [`Hrr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HrrConfig {
    /// Size of a slot, above zero. A packet takes as many whole slots as it needs.
    pub slot: Bytes,
    /// Slots in a frame of each level, from 1 to [`MAX_FRAME`](Self::MAX_FRAME).
    pub frame_slots: u32,
    /// Slots of a frame that belong to the level below, less than `frame_slots`.
    pub lower_slots: u32,
    /// Number of levels, from 1 to [`Weights::CLASSES`]. A flow is on the level of its priority; flows of lower priority
    /// are on the last.
    pub levels: u32,
    /// Slots of flows in each frame of their level, by priority.
    pub weights: Weights,
}

impl HrrConfig {
    /// Maximum number of slots in a frame.
    pub const MAX_FRAME: u32 = 1_000_000;
}

impl Default for HrrConfig {
    fn default() -> Self {
        Self {
            slot: Bytes::new(1500),
            frame_slots: 10,
            lower_slots: 5,
            levels: 2,
            weights: Weights::default(),
        }
    }
}

/// Hierarchical Round Robin (Kalmanek, Kanakia and Keshav 1990): the flows of a level share the slots of its frame, and
/// some of the slots belong to the level below.
///
/// A frame of level 1 has `frame_slots` slots. Its flows are served in turn, a packet each, until each has had its slots in
/// this frame or the level has used all but `lower_slots`. The other slots are those of level 2, which fill a frame of its own
/// in the same way: with 5 of 10 slots, level 2 has half of the line, and a frame that takes twice as long. The last
/// level keeps all of its slots. A flow thus has its part of the line in every frame of its level, at the levels above
/// within a short time and at those below within a long one, and not more than that at the expense of any other flow.
///
/// Slots that are not needed go to all flows in turn, whatever they have had. When the queue becomes empty all frames
/// begin anew. On overflow the flow with the largest share of the buffer drops its last packet. Urgent packets leave
/// before all others and take no slots.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | a flow that has had its slots waits for the next frame, and the line may be idle | unneeded slots go to flows that wait, as to the best-effort traffic of the paper | a queue has no timers | no bound on jitter; minimum shares and maximum delays are the same |
/// | slots are cells of one size | a packet takes several slots, and a frame or a flow that exceeds its slots has fewer in the next frame | packets differ in size | delays vary by a packet |
/// | slots by reservation | slots by [priority](Weights) | flows here make no reservations | a level with more slots promised than it has serves its flows in turn |
#[derive(Clone, Debug)]
pub struct Hrr {
    config: HrrConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    lanes: Lanes<Member, ()>,
    levels: Vec<Level>,
    /// All flows with packets, in the order in which they get unneeded slots.
    backlogged: BTreeSet<(u64, u32)>,
    turns: u64,
}

/// State of a flow.
#[derive(Clone, Debug, Default)]
struct Member {
    level: usize,
    /// Slots left in the current frame; negative after a packet that exceeded them.
    credit: i64,
    weight: i64,
    /// Position among the flows of its level.
    turn: u64,
    /// Position among all flows with packets.
    excess_turn: u64,
}

/// State of a level.
#[derive(Clone, Debug, Default)]
struct Level {
    /// Slots left to its own flows in this frame.
    own_slots: i64,
    /// Slots left to the level below.
    below: i64,
    /// Slots of the largest packet since the queue was empty, at least 1.
    largest: i64,
    /// Flows with packets and credit, in turn.
    ready_flows: BTreeSet<(u64, u32)>,
    /// Flows with packets that have had their slots.
    served: BTreeSet<u32>,
    /// Flows without packets that have used some of their slots: the credit left, and the weight.
    absent: BTreeMap<u32, (i64, i64)>,
}

impl Hrr {
    /// Creates an empty queue with this limit.
    pub fn new(limit: Limit, config: HrrConfig) -> Self {
        let levels = vec![Level::default(); config.levels.clamp(1, Weights::CLASSES as u32) as usize];
        let mut queue = Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            levels,
            backlogged: BTreeSet::new(),
            turns: 0,
        };
        queue.begin_all_frames();
        queue
    }

    /// Begins a frame of every level, as if no flow had used a slot. Only for an empty queue.
    fn begin_all_frames(&mut self) {
        for number in 0..self.levels.len() {
            self.levels[number] = Level { largest: 1, ..Level::default() };
            self.begin_frame(number);
        }
    }

    /// Begins the next frame of a level that has slots to give: its slots and those of its flows are there again, less
    /// the excess of the frames before.
    fn begin_frame(&mut self, number: usize) {
        let is_last = number + 1 == self.levels.len();
        let frame = i64::from(self.config.frame_slots.clamp(1, HrrConfig::MAX_FRAME));
        let below = if is_last { 0 } else { i64::from(self.config.lower_slots).min(frame - 1) };
        let own = frame - below;
        let level = &mut self.levels[number];
        // A packet of many slots leaves an excess of many frames, which pass in one step.
        let until = |slots: i64, each: i64| if each > 0 { (each - slots) / each } else { i64::MAX };
        let (own_before, below_before) = (level.own_slots.min(0), level.below.min(0));
        let frames = until(own_before, own).min(until(below_before, below));
        level.own_slots = own_before + frames * own;
        level.below = below_before + frames * below;
        let refreshed = |credit: i64, weight: i64| (credit + frames.saturating_mul(weight)).min(weight);
        level.absent.retain(|_, (credit, weight)| {
            *credit = refreshed(*credit, *weight);
            *credit < *weight
        });
        for &(_, lane) in &level.ready_flows {
            // Slots that it missed as large packets exceeded the frame.
            let member = self.lanes.state(lane);
            let max = member.weight + level.largest - 1;
            member.credit = (member.credit + frames.saturating_mul(member.weight)).min(max);
        }
        for lane in core::mem::take(&mut level.served) {
            let member = self.lanes.state(lane);
            member.credit = refreshed(member.credit, member.weight);
            if member.credit > 0 {
                level.ready_flows.insert((member.turn, lane));
            } else {
                level.served.insert(lane);
            }
        }
    }

    /// Returns the level whose slot is next, after beginning the frames that have to.
    fn level_of_next_slot(&mut self) -> usize {
        let mut number = 0;
        loop {
            let level = &self.levels[number];
            if level.own_slots > 0 {
                return number;
            }
            // The last level has no slots to pass on.
            if level.below > 0 && number + 1 < self.levels.len() {
                number += 1;
            } else {
                self.begin_frame(number);
            }
        }
    }

    /// Takes a position behind all others.
    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Enters a flow whose first packet has arrived.
    fn enter(&mut self, lane: u32, entry: &Entry) {
        let last = self.levels.len() - 1;
        let level = usize::from(entry.priority).saturating_sub(1).min(last);
        let weight = i64::from(self.config.weights.weight_of(entry));
        let credit = self.levels[level].absent.remove(&entry.flow).map_or(weight, |(credit, _)| credit);
        let (turn, excess_turn) = (self.next_turn(), self.next_turn());
        *self.lanes.state(lane) = Member { level, credit, weight, turn, excess_turn };
        self.backlogged.insert((excess_turn, lane));
        if credit > 0 {
            self.levels[level].ready_flows.insert((turn, lane));
        } else {
            self.levels[level].served.insert(lane);
        }
    }

    /// Removes a flow without packets; what it has used of its slots is kept until its level's frame ends.
    fn leave(&mut self, lane: u32, flow: u32) {
        let member = self.lanes.get(lane).state.clone();
        let level = &mut self.levels[member.level];
        level.ready_flows.remove(&(member.turn, lane));
        level.served.remove(&lane);
        if member.credit < member.weight {
            level.absent.insert(flow, (member.credit, member.weight));
        }
        self.backlogged.remove(&(member.excess_turn, lane));
        self.lanes.close(lane);
    }

    /// Charges a flow of a level for slots in its turn, and puts it behind the others.
    fn charge(&mut self, lane: u32, slots: i64) {
        let turn = self.next_turn();
        let member = self.lanes.state(lane);
        let before = core::mem::replace(&mut member.turn, turn);
        member.credit -= slots;
        let (credit, number) = (member.credit, member.level);
        let level = &mut self.levels[number];
        level.ready_flows.remove(&(before, lane));
        if credit > 0 {
            level.ready_flows.insert((turn, lane));
        } else {
            level.served.insert(lane);
        }
    }

    /// Removes the last packets of the longest flows until the rest fits.
    fn drop_excess(&mut self, preferred: u32, dropped: &mut Vec<DroppedPacket>) {
        while self.occupancy.is_exceeded() {
            let Some(lane) = self.lanes.longest(preferred) else { return };
            let Some((entry, ())) =
                self.lanes.pop_back(lane, |entry| self.occupancy.size_in_limit_units(entry))
            else {
                return;
            };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            if self.lanes.get(lane).is_empty() {
                self.leave(lane, entry.flow);
            }
        }
    }
}

impl Discipline for Hrr {
    fn enqueue(&mut self, _now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let (lane, is_new) = self.lanes.open(entry.flow);
        if is_new {
            self.enter(lane, &entry);
        }
        self.occupancy.add(&entry);
        self.lanes.push(lane, entry, (), self.occupancy.size_in_limit_units(&entry));
        self.drop_excess(lane, dropped);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let &(excess_turn, next_of_all) = self.backlogged.first()?;
        let number = self.level_of_next_slot();
        let ready = self.levels[number].ready_flows.first().map(|&(_, lane)| lane);
        let lane = ready.unwrap_or(next_of_all);
        let (entry, ()) = self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&entry);
        let slots = u64::from(entry.size).div_ceil(self.config.slot.get().max(1)).max(1) as i64;
        let level = &mut self.levels[number];
        level.own_slots -= slots;
        level.largest = level.largest.max(slots);
        self.levels[..number].iter_mut().for_each(|above| above.below -= slots);
        if ready.is_some() {
            self.charge(lane, slots);
        } else {
            self.backlogged.remove(&(excess_turn, lane));
            let turn = self.next_turn();
            self.lanes.state(lane).excess_turn = turn;
            self.backlogged.insert((turn, lane));
        }
        if self.lanes.get(lane).is_empty() {
            self.leave(lane, entry.flow);
        }
        if self.backlogged.is_empty() {
            self.begin_all_frames();
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
        if self.occupancy.is_exceeded()
            && let Some(&(_, lane)) = self.backlogged.first()
        {
            self.drop_excess(lane, dropped);
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for HrrConfig {
    type Queue = Hrr;
    const NAME: &'static str = "hrr";

    fn check(&self) -> Result<(), SpecError> {
        self.weights.check()?;
        above_zero("slot", self.slot.get() as f64)?;
        above_zero("frame-slots", f64::from(self.frame_slots))?;
        above_zero("levels", f64::from(self.levels))?;
        let at_most = |what, max, found| {
            if found > max { Err(SpecError::TooMany { what, max, found }) } else { Ok(()) }
        };
        at_most("frame-slots", Self::MAX_FRAME, self.frame_slots)?;
        at_most("levels", Weights::CLASSES as u32, self.levels)?;
        at_most("lower-slots", self.frame_slots - 1, self.lower_slots)
    }

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> Hrr {
        Hrr::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: true,
            depends_on_priority: self.levels > 1 || self.weights.differ(),
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        format!("HRR queue of {} levels with frames of {} slots", self.levels, self.frame_slots)
    }
}

#[cfg(test)]
#[path = "hrr_tests.rs"]
mod tests;
