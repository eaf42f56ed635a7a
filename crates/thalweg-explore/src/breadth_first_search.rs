//! Breadth-first search through all states of a protocol within bounds.

use super::counterexample_trace::replay_trace;
use super::endpoint_pair::End;
use super::explored_state::{State, Step};
use super::visited_states::VisitedStates;
use super::{Bounds, Scheme};
use std::collections::HashSet;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOutcome {
    /// Distinct states visited.
    pub states: u64,
    /// Steps taken between them.
    pub steps: u64,
    /// Maximum distance from the first state, in steps.
    pub depth: u32,
    /// Distinct states on the fault-free continuations.
    pub completing_states: u64,
    /// True if all states were visited; false if memory ran out or the search was stopped.
    pub complete: bool,
    /// Shortest path to a violation, if any.
    pub counterexample: Option<Counterexample>,
}

/// A shortest path from the first state to a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// Description of the violation.
    pub what: String,
    /// Steps to the violation, one per line.
    pub trace: Vec<String>,
}

/// Returns the maximum length of a fault-free continuation: it takes a few steps per packet, so more mean no progress.
const fn max_fault_free_steps(bounds: &Bounds) -> usize {
    1_000 + 200 * bounds.messages as usize
}

/// Memory per state in bytes, beside its packets: two engines with their buffers, and table entries.
const STATE_BYTES: u64 = 2_500;
const VISITED_BYTES: u64 = 100;

/// Visits every state of `scheme` within `bounds`. Calls `show` every thousand states with the number of states and the
/// number of unvisited ones; it returns whether to continue.
pub fn search<S: Scheme>(
    scheme: &S,
    bounds: &Bounds,
    mut show: impl FnMut(u64, u64) -> bool,
) -> SearchOutcome {
    let mut search =
        Search { scheme, bounds, visited: VisitedStates::default(), good: HashSet::new(), steps: 0 };
    let first = match State::first(scheme, bounds, &mut |_| {}) {
        Ok(first) => first,
        Err(what) => return search.outcome(true, Some((what, Vec::new(), None))),
    };
    if let Some(wrong) = search.add(first, None) {
        return search.outcome(true, Some(wrong));
    }
    let mut visited = 0u64;
    while let Some((number, state)) = search.visited.pop() {
        visited += 1;
        if visited.is_multiple_of(1000) && !show(search.visited.states(), search.visited.queued_states()) {
            return search.outcome(false, None);
        }
        if search.memory() > bounds.memory.get() {
            return search.outcome(false, None);
        }
        for step in state.steps() {
            search.steps += 1;
            let mut next = state.clone();
            if let Err(what) = next.take(scheme, step, &mut |_| {}) {
                let mut steps = search.visited.path(number);
                steps.push(step);
                return search.outcome(true, Some((what, steps, None)));
            }
            if let Some(wrong) = search.add(next, Some((number, step))) {
                return search.outcome(true, Some(wrong));
            }
        }
    }
    search.outcome(true, None)
}

/// Description of the violation; steps to the state; and the length of the fault-free continuation after it, if any.
type ViolationPath = (String, Vec<Step>, Option<usize>);

struct Search<'a, S: Scheme> {
    scheme: &'a S,
    bounds: &'a Bounds,
    visited: VisitedStates<u128, Step, State<S>>,
    /// States, without remaining faults, whose fault-free continuation completes.
    good: HashSet<u128>,
    steps: u64,
}

impl<S: Scheme> Search<'_, S> {
    /// Checks a state and queues it, unless it was visited before.
    fn add(&mut self, state: State<S>, origin: Option<(u32, Step)>) -> Option<ViolationPath> {
        let number = self.visited.add(state.digest(self.scheme, true), origin)?;
        if let Err((what, fault_free_steps)) = self.continuation(&state).and_then(|()| self.repair(&state)) {
            return Some((what, self.visited.path(number), Some(fault_free_steps)));
        }
        self.visited.push(number, state);
        None
    }

    /// Follows a state without further faults until completion.
    fn continuation(&mut self, state: &State<S>) -> Result<(), (String, usize)> {
        let mut digest = state.digest(self.scheme, false);
        if self.good.contains(&digest) {
            return Ok(());
        }
        let mut state = state.clone();
        let (mut path, mut on_path) = (Vec::new(), HashSet::new());
        while !(self.good.contains(&digest) || state.is_finished() && state.packets_in_flight() == 0) {
            if !on_path.insert(digest) || path.len() > max_fault_free_steps(self.bounds) {
                return Err((
                    "livelock: states repeat although the channel is fault-free".to_owned(),
                    path.len(),
                ));
            }
            path.push(digest);
            let Some(step) = state.next_fault_free_step() else {
                let missing = state.delivered() + 1;
                let what = if missing > self.bounds.messages {
                    "the sender waits forever, although everything has been delivered".to_owned()
                } else {
                    format!("both ends wait forever, although packet {missing} has not been delivered")
                };
                return Err((what, path.len() - 1));
            };
            state.take(self.scheme, step, &mut |_| {}).map_err(|what| (what, path.len()))?;
            digest = state.digest(self.scheme, false);
        }
        if !self.good.contains(&digest) {
            self.check_periodic_timer(state).map_err(|what| (what, path.len()))?;
            path.push(digest);
        }
        self.good.extend(path);
        Ok(())
    }

    /// Checks the receiver's periodic timer after completion.
    fn check_periodic_timer(&self, mut state: State<S>) -> Result<(), String> {
        let mut periods = Vec::new();
        for _ in 0..3 {
            if state.wait(End::Receiver) == thalweg_proto::units::Duration::MAX {
                break;
            }
            state.take(self.scheme, Step::Expire(End::Receiver), &mut |_| {})?;
            while let Some(step @ (Step::Arrive(_) | Step::Late(..) | Step::Read)) =
                state.next_fault_free_step()
            {
                state.take(self.scheme, step, &mut |_| {})?;
            }
            periods.push(state.wait(End::Receiver));
        }
        // The first period may precede the report that nothing is missing, and is not checked.
        self.scheme.check_rest(periods.get(1..).unwrap_or_default())
    }

    /// Checks that one more report repairs the loss that the receiver requests, once the channel has no more faults.
    fn repair(&self, state: &State<S>) -> Result<(), (String, usize)> {
        let Some(requested) = self.scheme.requested(state.receiver()) else { return Ok(()) };
        let mut state = state.clone();
        let (mut taken, mut reported) = (0, false);
        while let Some(step) = state.next_fault_free_step() {
            if matches!(step, Step::Expire(_)) && reported {
                break;
            }
            reported |= step == Step::Expire(End::Receiver);
            state.take(self.scheme, step, &mut |_| {}).map_err(|what| (what, taken))?;
            taken += 1;
        }
        match self.scheme.requested(state.receiver()) {
            Some(still) if still == requested => Err((
                format!("packet {requested} was requested again, and is still not retransmitted"),
                taken,
            )),
            _ => Ok(()),
        }
    }

    fn memory(&self) -> u64 {
        let visited = self.visited.states() + self.good.len() as u64;
        visited * VISITED_BYTES + self.visited.queued_states() * STATE_BYTES
    }

    fn outcome(&self, complete: bool, wrong: Option<ViolationPath>) -> SearchOutcome {
        SearchOutcome {
            states: self.visited.states(),
            steps: self.steps,
            depth: self.visited.depth(),
            completing_states: self.good.len() as u64,
            complete,
            counterexample: wrong.map(|(what, steps, fault_free_steps)| Counterexample {
                trace: replay_trace(self.scheme, self.bounds, &steps, fault_free_steps),
                what,
            }),
        }
    }
}
