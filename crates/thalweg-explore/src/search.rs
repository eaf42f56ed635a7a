//! The search through all states.

use super::channel::{End, State, Step};
use super::trail::trail;
use super::visited::Visited;
use super::{Bounds, Scheme};
use std::collections::HashSet;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Different states visited.
    pub states: u64,
    /// Steps taken between them.
    pub steps: u64,
    /// The most steps from the first state to any.
    pub depth: u32,
    /// Different states on the ways from these to the end over a channel that behaves.
    pub calm: u64,
    /// All states were visited; otherwise memory ran out, or somebody asked to stop.
    pub complete: bool,
    /// The shortest way to something wrong, if anything is.
    pub counterexample: Option<Counterexample>,
}

/// A way from the first state to one in which something is wrong, none shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The fault in words.
    pub what: String,
    /// The steps to the fault, a line each.
    pub trace: Vec<String>,
}

/// A calm continuation that takes longer than this goes nowhere: it brings a packet across in a few steps.
const fn most_calm_steps(bounds: &Bounds) -> usize {
    1_000 + 200 * bounds.messages as usize
}

/// The memory that a state takes beside its packets: two engines with their buffers, and its places in the tables.
const STATE_BYTES: u64 = 2_500;
const VISITED_BYTES: u64 = 100;

/// Visits every state of `scheme` within `bounds`. `show` is called every thousand states with how many there are, and
/// how many of them wait to be visited; it answers whether to go on.
pub fn search<S: Scheme>(scheme: &S, bounds: &Bounds, mut show: impl FnMut(u64, u64) -> bool) -> Outcome {
    let mut search = Search { scheme, bounds, visited: Visited::default(), good: HashSet::new(), steps: 0 };
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
        if visited.is_multiple_of(1000) && !show(search.visited.states(), search.visited.waiting()) {
            return search.outcome(false, None);
        }
        if search.memory() > bounds.memory.get() {
            return search.outcome(false, None);
        }
        for step in state.steps() {
            search.steps += 1;
            let mut next = state.clone();
            if let Err(what) = next.take(scheme, step, &mut |_| {}) {
                let mut steps = search.visited.way(number);
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

/// The fault in words; the steps to the state; and whether the channel behaves from there on, for how many steps.
type Wrong = (String, Vec<Step>, Option<usize>);

struct Search<'a, S: Scheme> {
    scheme: &'a S,
    bounds: &'a Bounds,
    visited: Visited<u128, Step, State<S>>,
    /// States, whatever may still go wrong, from which all ends well if nothing does.
    good: HashSet<u128>,
    steps: u64,
}

impl<S: Scheme> Search<'_, S> {
    /// A state was reached: checks it and puts it in the line, unless it was seen before.
    fn add(&mut self, state: State<S>, origin: Option<(u32, Step)>) -> Option<Wrong> {
        let number = self.visited.add(state.digest(self.scheme, true), origin)?;
        if let Err((what, calm)) = self.continuation(&state).and_then(|()| self.repair(&state)) {
            return Some((what, self.visited.way(number), Some(calm)));
        }
        self.visited.push(number, state);
        None
    }

    /// Follows a state over a channel that behaves until all is done.
    fn continuation(&mut self, state: &State<S>) -> Result<(), (String, usize)> {
        let mut digest = state.digest(self.scheme, false);
        if self.good.contains(&digest) {
            return Ok(());
        }
        let mut state = state.clone();
        let (mut path, mut on_path) = (Vec::new(), HashSet::new());
        while !(self.good.contains(&digest) || state.is_finished() && state.on_the_way() == 0) {
            if !on_path.insert(digest) || path.len() > most_calm_steps(self.bounds) {
                return Err(("it goes round in circles although the channel behaves".to_owned(), path.len()));
            }
            path.push(digest);
            let Some(step) = state.calm() else {
                let missing = state.delivered() + 1;
                let what = if missing > self.bounds.messages {
                    "the sender waits for ever, although everything has been delivered".to_owned()
                } else {
                    format!("both ends wait for ever, although packet {missing} has not been delivered")
                };
                return Err((what, path.len() - 1));
            };
            state.take(self.scheme, step, &mut |_| {}).map_err(|what| (what, path.len()))?;
            digest = state.digest(self.scheme, false);
        }
        if !self.good.contains(&digest) {
            self.rest(state).map_err(|what| (what, path.len()))?;
            path.push(digest);
        }
        self.good.extend(path);
        Ok(())
    }

    /// Looks at the rhythm of the receiver after the end.
    fn rest(&self, mut state: State<S>) -> Result<(), String> {
        let mut periods = Vec::new();
        for _ in 0..3 {
            if state.wait(End::Receiver) == thalweg_proto::units::Duration::MAX {
                break;
            }
            state.take(self.scheme, Step::Expire(End::Receiver), &mut |_| {})?;
            while let Some(step @ (Step::Arrive(_) | Step::Late(..) | Step::Read)) = state.calm() {
                state.take(self.scheme, step, &mut |_| {})?;
            }
            periods.push(state.wait(End::Receiver));
        }
        // The first expiry may be the one that finds that all is well.
        self.scheme.check_rest(periods.get(1..).unwrap_or_default())
    }

    /// Checks that one more report repairs what the receiver asks for, once the channel behaves.
    fn repair(&self, state: &State<S>) -> Result<(), (String, usize)> {
        let Some(asked) = self.scheme.asked(state.receiver()) else { return Ok(()) };
        let mut state = state.clone();
        let (mut taken, mut reported) = (0, false);
        while let Some(step) = state.calm() {
            if matches!(step, Step::Expire(_)) && reported {
                break;
            }
            reported |= step == Step::Expire(End::Receiver);
            state.take(self.scheme, step, &mut |_| {}).map_err(|what| (what, taken))?;
            taken += 1;
        }
        match self.scheme.asked(state.receiver()) {
            Some(still) if still == asked => {
                Err((format!("packet {asked} was asked for again, and still is not sent again"), taken))
            }
            _ => Ok(()),
        }
    }

    fn memory(&self) -> u64 {
        let visited = self.visited.states() + self.good.len() as u64;
        visited * VISITED_BYTES + self.visited.waiting() * STATE_BYTES
    }

    fn outcome(&self, complete: bool, wrong: Option<Wrong>) -> Outcome {
        Outcome {
            states: self.visited.states(),
            steps: self.steps,
            depth: self.visited.depth(),
            calm: self.good.len() as u64,
            complete,
            counterexample: wrong.map(|(what, steps, calm)| Counterexample {
                trace: trail(self.scheme, self.bounds, &steps, calm),
                what,
            }),
        }
    }
}
