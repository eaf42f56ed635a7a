//! The time-slot gate (Yang and Fu 2001): one flow at a time may send, in turns.

use super::priority_ageing::Rank;
use super::{Ageing, GateEvent, GateInput, GateOutput, GateReason, LOWEST_PRIORITY, next_output};
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a [`SlotGate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGateConfig {
    /// Length of a slot, above zero.
    pub slot: Duration,
    /// Slots per turn for each priority, from the highest, each above zero.
    pub slots: [u32; LOWEST_PRIORITY as usize],
    /// Pass the token on when its holder has sent nothing for a slot.
    pub work_conserving: bool,
    /// Ageing of waiting flows.
    pub ageing: Ageing,
}

impl Default for SlotGateConfig {
    /// Slots of 10 ms, and 2^(9-P) of them for priority P: from 256 down to 8 (Yang and Fu 2001, section 2).
    fn default() -> Self {
        Self {
            slot: Duration::from_millis(10),
            slots: [256, 128, 64, 32, 16, 8],
            work_conserving: false,
            ageing: Ageing::default(),
        }
    }
}

/// A gate that allows one flow to send at a time (Yang and Fu 2001: time slots).
///
/// Flows queue first come, first served. The holder of the token may send for the number of slots of its priority, or
/// until it ends. Then it queues again, and the next flow gets the token. A flow keeps the token while it has nothing
/// to send, for example while it waits for acknowledgements. In a [work-conserving](SlotGateConfig::work_conserving)
/// gate it passes the token on after a slot without transmissions.
///
/// With ageing, a flow that has waited for long gets the turn of a higher priority. It counts as served at the end of
/// its turn.
///
/// A single flow sends without pauses, as there is no other flow to pass the token to.
#[derive(Clone, Debug)]
pub struct SlotGate {
    config: SlotGateConfig,
    flows: BTreeMap<u32, Rank>,
    /// Flows that wait for the token, in order.
    queue: VecDeque<u32>,
    turn: Option<Turn>,
    events: VecDeque<GateEvent>,
}

/// The turn of the flow with the token.
#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: u32,
    ends: Time,
    /// End of the slot in which the flow must send to keep the token.
    slot_ends: Time,
    has_sent: bool,
}

impl SlotGate {
    /// Creates a gate without flows.
    pub fn new(mut config: SlotGateConfig) -> Self {
        let minimum = Duration::from_picos(1);
        config.slot = config.slot.max(minimum);
        config.slots = config.slots.map(|slots| slots.max(1));
        config.ageing.after = config.ageing.after.map(|after| after.max(minimum));
        Self { config, flows: BTreeMap::new(), queue: VecDeque::new(), turn: None, events: VecDeque::new() }
    }

    /// Returns true if this flow may send; an unknown flow may.
    pub fn is_open(&self, flow: u32) -> bool {
        !self.flows.contains_key(&flow) || self.token() == Some(flow)
    }

    /// Returns the flow with the token.
    pub fn token(&self) -> Option<u32> {
        self.turn.map(|turn| turn.flow)
    }

    pub(super) const fn follows_data(&self) -> bool {
        self.config.work_conserving
    }

    pub(super) fn handle(&mut self, now: Time, input: GateInput) {
        match input {
            GateInput::Join { flow, priority } => {
                if self.flows.contains_key(&flow) {
                    return;
                }
                let mut rank = Rank::new(priority);
                if self.turn.is_some() {
                    rank.wait(now);
                    self.queue.push_back(flow);
                    self.events.push_back(GateEvent::Pause(flow));
                    self.flows.insert(flow, rank);
                } else {
                    self.flows.insert(flow, rank);
                    self.begin(now, flow);
                }
            }
            GateInput::Leave { flow } => {
                if self.flows.remove(&flow).is_none() {
                    return;
                }
                if self.token() == Some(flow) {
                    self.turn = None;
                    self.pass_on(now);
                } else {
                    self.queue.retain(|&waiting| waiting != flow);
                }
            }
            GateInput::Sent { flow } => {
                if let Some(turn) = self.turn.as_mut().filter(|turn| turn.flow == flow) {
                    turn.has_sent = true;
                }
            }
            GateInput::Congestion { .. } | GateInput::LocalDrop => {}
        }
    }

    /// Starts the flow's turn at `start`.
    fn begin(&mut self, start: Time, flow: u32) {
        let Some(rank) = self.flows.get_mut(&flow) else { return };
        rank.age(start, &self.config.ageing);
        // Yang and Fu 2001, section 1.2: the priority at the start of the turn sets its length.
        let slots = self.config.slots[usize::from(rank.level()) - 1];
        if rank.is_waiting() {
            rank.resume(start);
            self.events.push_back(GateEvent::Resume(flow));
        }
        let ends = start + self.config.slot * u64::from(slots);
        self.turn = Some(Turn { flow, ends, slot_ends: start + self.config.slot, has_sent: false });
    }

    /// Starts the turn of the next flow in the queue, if any.
    fn pass_on(&mut self, now: Time) {
        if let Some(next) = self.queue.pop_front() {
            self.begin(now, next);
        }
    }

    /// Ends the turn and queues its flow again.
    fn end(&mut self, at: Time, turn: Turn) {
        if let Some(rank) = self.flows.get_mut(&turn.flow) {
            rank.on_service(&self.config.ageing);
            if !self.queue.is_empty() {
                rank.wait(at);
                self.events.push_back(GateEvent::Pause(turn.flow));
            }
            // Yang and Fu 2001, section 1.2: round robin, first come, first served.
            self.queue.push_back(turn.flow);
        }
        self.turn = None;
        self.pass_on(at);
    }

    pub(super) fn poll(&mut self, now: Time) -> GateOutput {
        while let Some(turn) = self.turn.filter(|turn| turn.ends <= now) {
            // Turns missed by a late driver are not made up.
            let late = now.since(turn.ends) >= self.config.slot;
            self.end(if late { now } else { turn.ends }, turn);
        }
        if self.config.work_conserving
            && let Some(turn) = self.turn.filter(|turn| turn.slot_ends <= now)
        {
            if turn.has_sent || self.queue.is_empty() {
                let passed = now.since(turn.slot_ends).as_picos() / self.config.slot.as_picos();
                let slot_ends = turn.slot_ends + self.config.slot * (passed + 1);
                self.turn = Some(Turn { slot_ends, has_sent: false, ..turn });
            } else {
                self.end(now, turn);
            }
        }
        let timer = self.turn.map(|turn| {
            let is_slot = self.config.work_conserving && turn.slot_ends < turn.ends;
            if is_slot { (turn.slot_ends, GateReason::Slot) } else { (turn.ends, GateReason::Turn) }
        });
        next_output(&mut self.events, timer.filter(|&(at, _)| at < Time::MAX))
    }
}
