//! The congestion gate (Yang and Fu 2001): stops priorities from the lowest up during congestion.

use super::priority_ageing::Rank;
use super::{Ageing, GateEvent, GateInput, GateOutput, GateReason, LOWEST_PRIORITY, next_output};
use crate::transport::Signal;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// The congestion signals that the gate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// All signals: losses, marks, router feedback, and drops of the node's own queue.
    #[default]
    All,
    /// Timeouts and third duplicate acknowledgements, as in the paper.
    Losses,
    /// Timeouts alone.
    Timeouts,
}

impl Signals {
    const fn count(self, signal: Signal) -> bool {
        match self {
            Self::All => true,
            Self::Losses => matches!(signal, Signal::Timeout | Signal::Loss),
            Self::Timeouts => matches!(signal, Signal::Timeout),
        }
    }
}

/// Parameters of a [`CongestionGate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionGateConfig {
    /// Interval between checks, above zero. Checks are at multiples of it.
    pub check: Duration,
    /// Congestion signals that count.
    pub signals: Signals,
    /// Allows the gate to stop the highest priority present. The published times of the paper need it; it leaves the
    /// link unused for an occasional check interval.
    pub stops_highest: bool,
    /// Ageing of waiting flows.
    pub ageing: Ageing,
}

impl Default for CongestionGateConfig {
    fn default() -> Self {
        Self {
            check: Duration::from_millis(500),
            signals: Signals::All,
            stops_highest: false,
            ageing: Ageing::default(),
        }
    }
}

/// A gate that stops priorities from the lowest up during congestion (Yang and Fu 2001: congestion control).
///
/// At each check, if a flow that may send has met a congestion signal since the last check, the gate stops the lowest
/// priority that may send. Otherwise it resumes the highest stopped priority. All flows of a priority are stopped and
/// resumed together, for any protocol; a new flow takes the state of its priority. Congestion signals of stopped flows,
/// such as timeouts of their packets in flight, do not count: they would keep the gate closed.
///
/// The highest priority present is never stopped, unless [`stops_highest`](CongestionGateConfig::stops_highest) is set.
/// Then no signals arrive, and the next check resumes it.
///
/// With ageing, a flow stopped for long is raised by one priority, and resumes with that priority. It counts as served
/// after it was allowed to send for a whole check interval.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | congestion detected by TCP flows | signals of any flow, or as configured | works on any protocol | none for TCP and UDP alone |
/// | checks run continuously | only while a priority is stopped or after a signal | otherwise they have no effect | none |
#[derive(Clone, Debug)]
pub struct CongestionGate {
    config: CongestionGateConfig,
    flows: BTreeMap<u32, Rank>,
    /// Number of flows at each priority.
    present: [u32; LOWEST_PRIORITY as usize + 1],
    /// Lowest priority that may send.
    lowest_open: u8,
    /// A counted signal arrived since the last check.
    congested: bool,
    /// Time of the last check, done or skipped.
    last_check: Time,
    events: VecDeque<GateEvent>,
}

impl CongestionGate {
    /// Creates a gate without flows, open to all priorities.
    pub fn new(mut config: CongestionGateConfig) -> Self {
        config.check = config.check.max(Duration::from_picos(1));
        config.ageing.after = config.ageing.after.map(|after| after.max(Duration::from_picos(1)));
        Self {
            config,
            flows: BTreeMap::new(),
            present: [0; LOWEST_PRIORITY as usize + 1],
            lowest_open: LOWEST_PRIORITY,
            congested: false,
            last_check: Time::ZERO,
            events: VecDeque::new(),
        }
    }

    /// Returns true if this flow may send; an unknown flow may.
    pub fn is_open(&self, flow: u32) -> bool {
        self.flows.get(&flow).is_none_or(|rank| !rank.is_waiting())
    }

    /// Returns the lowest priority that may send; zero when none may.
    pub const fn open(&self) -> u8 {
        self.lowest_open
    }

    pub(super) fn handle(&mut self, now: Time, input: GateInput) {
        match input {
            GateInput::Join { flow, priority } => {
                if !self.flows.contains_key(&flow) {
                    let rank = Rank::new(priority);
                    self.present[rank.level() as usize] += 1;
                    self.flows.insert(flow, rank);
                    self.keep_highest_open();
                    self.apply(now);
                }
            }
            GateInput::Leave { flow } => {
                if let Some(rank) = self.flows.remove(&flow) {
                    self.present[rank.level() as usize] -= 1;
                    self.keep_highest_open();
                    self.apply(now);
                }
            }
            GateInput::Congestion { flow, signal } => {
                let runs = self.flows.get(&flow).is_some_and(|rank| !rank.is_waiting());
                self.note(now, runs && self.config.signals.count(signal));
            }
            GateInput::LocalDrop => self.note(now, self.config.signals == Signals::All),
            GateInput::Sent { .. } => {}
        }
    }

    /// Records a congestion signal and skips the checks that were not needed before it.
    fn note(&mut self, now: Time, counts: bool) {
        if counts && !self.congested {
            if self.is_unaffected() {
                let periods = now.since(self.last_check).as_picos() / self.config.check.as_picos();
                self.last_check += self.config.check * periods;
            }
            self.congested = true;
        }
    }

    /// Returns true while no check could change anything.
    fn is_unaffected(&self) -> bool {
        !self.congested && self.lowest_open == LOWEST_PRIORITY && !self.flows.values().any(Rank::is_raised)
    }

    /// Returns the highest-ranked priority present among those from `from` on.
    fn highest_from(&self, from: u8) -> Option<u8> {
        (from..=LOWEST_PRIORITY).find(|&level| self.present[level as usize] > 0)
    }

    fn keep_highest_open(&mut self) {
        if !self.config.stops_highest
            && let Some(highest) = self.highest_from(1)
        {
            self.lowest_open = self.lowest_open.max(highest);
        }
    }

    fn check(&mut self, now: Time) {
        // Flows served for a whole check interval fall back.
        let before = Time::ZERO + now.since(Time::ZERO).saturating_sub(self.config.check);
        for rank in self.flows.values_mut().filter(|rank| rank.is_raised_since(before)) {
            self.present[rank.level() as usize] -= 1;
            rank.on_service(&self.config.ageing);
            self.present[rank.level() as usize] += 1;
        }
        // Yang and Fu 2001, section 1.1: congestion stops the lowest priority that sends, its absence resumes
        // the highest that waits.
        if core::mem::take(&mut self.congested) {
            let lowest = (1..=self.lowest_open).rev().find(|&level| self.present[level as usize] > 0);
            if let Some(lowest) = lowest {
                self.lowest_open = lowest - 1;
            }
        } else {
            self.lowest_open = self.highest_from(self.lowest_open + 1).unwrap_or(LOWEST_PRIORITY);
            if self.highest_from(self.lowest_open + 1).is_none() {
                self.lowest_open = LOWEST_PRIORITY;
            }
        }
        self.keep_highest_open();
        self.apply(now);
    }

    /// Raises the flows that have waited long enough.
    fn age(&mut self, now: Time) {
        let mut moved = false;
        for rank in self.flows.values_mut().filter(|rank| rank.is_waiting()) {
            let before = rank.level();
            if rank.age(now, &self.config.ageing) {
                self.present[before as usize] -= 1;
                self.present[rank.level() as usize] += 1;
                moved = true;
            }
        }
        if moved {
            self.apply(now);
        }
    }

    /// Pauses and resumes the flows whose state has changed.
    fn apply(&mut self, now: Time) {
        for (&flow, rank) in &mut self.flows {
            let is_open = rank.level() <= self.lowest_open;
            if is_open && rank.is_waiting() {
                rank.resume(now);
                self.events.push_back(GateEvent::Resume(flow));
            } else if !is_open && !rank.is_waiting() {
                rank.wait(now);
                self.events.push_back(GateEvent::Pause(flow));
            }
        }
    }

    pub(super) fn poll(&mut self, now: Time) -> GateOutput {
        loop {
            let timer = self.timer();
            match timer {
                Some((at, GateReason::Age)) if at <= now => self.age(now),
                Some((at, _)) if at <= now => {
                    // Several missed checks count as one.
                    let periods = now.since(self.last_check).as_picos() / self.config.check.as_picos();
                    self.last_check += self.config.check * periods;
                    self.check(now);
                }
                _ => return next_output(&mut self.events, timer),
            }
        }
    }

    fn timer(&self) -> Option<(Time, GateReason)> {
        let check = (!self.flows.is_empty() && !self.is_unaffected())
            .then(|| (self.last_check + self.config.check, GateReason::Check));
        let age = self.config.ageing.after.and_then(|_| {
            let times = self.flows.values().filter_map(|rank| rank.moves_up_at(&self.config.ageing));
            times.min().map(|at| (at, GateReason::Age))
        });
        let earliest = [check, age].into_iter().flatten().min_by_key(|&(at, _)| at);
        earliest.filter(|&(at, _)| at < Time::MAX)
    }
}
