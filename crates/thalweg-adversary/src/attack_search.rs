//! The search through all states that the attacker can reach.

use crate::attacker_steps::AttackStep;
use crate::client_server_attacker::{RemainingSteps, World};
use crate::code_pairing::{Pairing, RunCache};
use crate::system_under_test::System;
use crate::{Bounds, Fault, PairingBounds};
use thalweg_explore::{Counterexample, SearchOutcome, VisitedStates};
use thalweg_proto::units::Bytes;

/// Memory per state in bytes: the path to it is stored, not the state.
const STATE_BYTES: u64 = 200;

/// Maximum number of ineffective datagrams before a state is rebuilt: they may have used up rate limits that are in no
/// digest.
const MAX_IN_VAIN: u32 = 64;

/// Visits every state that an attacker can bring connections to within `bounds`, under correct rules or with a fault.
/// Calls `show` every hundred states with the number of states and the number of unvisited ones; it returns whether to
/// continue.
pub fn search(bounds: &Bounds, fault: Fault, show: &mut dyn FnMut(u64, u64) -> bool) -> SearchOutcome {
    search_system(&|log| World::new(bounds, fault, log), bounds.depth, bounds.memory, show)
}

/// Visits every state of a pairing within `bounds`, as [`search`] does for connections.
pub fn search_pairing(
    bounds: &PairingBounds,
    fault: Fault,
    show: &mut dyn FnMut(u64, u64) -> bool,
) -> SearchOutcome {
    let memo = RunCache::default();
    search_system(&|log| Pairing::new(bounds, fault, &memo, log), u32::MAX, bounds.memory, show)
}

fn search_system<W: System>(
    make: &impl Fn(bool) -> W,
    max_steps: u32,
    memory: Bytes,
    show: &mut dyn FnMut(u64, u64) -> bool,
) -> SearchOutcome {
    let mut visited: VisitedStates<(u128, W::RemainingSteps), W::Step, ()> = VisitedStates::default();
    let (mut steps, mut completing_states) = (0, 0);
    let outcome = |visited: &VisitedStates<_, _, _>, steps, completing_states, complete, counterexample| {
        SearchOutcome {
            states: visited.states(),
            steps,
            depth: visited.depth(),
            completing_states,
            complete,
            counterexample,
        }
    };
    let first = make(false);
    if let Some(number) = visited.add((first.digest(), first.remaining_steps()), None) {
        visited.push(number, ());
    }
    let mut popped = 0u64;
    while let Some((number, ())) = visited.pop() {
        popped += 1;
        let goes_on = !popped.is_multiple_of(100) || show(visited.states(), visited.queued_states());
        if !goes_on || visited.states() * STATE_BYTES > memory.get() {
            return outcome(&visited, steps, completing_states, false, None);
        }
        if visited.depth_of(number) >= max_steps {
            continue;
        }
        let path = visited.path(number);
        let mut world = state_after_steps(make, &path);
        let (base, left) = (world.digest(), world.remaining_steps());
        let mut in_vain = 0;
        for step in world.steps() {
            if in_vain >= MAX_IN_VAIN {
                world = state_after_steps(make, &path);
                in_vain = 0;
            }
            steps += 1;
            let wrong = |what, is_settling| {
                let trace = replay_trace(make, &[&path[..], &[step]].concat(), is_settling);
                Some(Counterexample { what, trace })
            };
            if let Err(what) = world.take(step) {
                return outcome(&visited, steps, completing_states, true, wrong(what, false));
            }
            let digest = world.digest();
            if digest == base {
                world.restore(left);
                in_vain += 1;
                continue;
            }
            // The state has changed: the next step needs it rebuilt.
            in_vain = MAX_IN_VAIN;
            if let Some(next) = visited.add((digest, world.remaining_steps()), Some((number, step))) {
                visited.push(next, ());
                completing_states += 1;
                if let Err(what) = world.run_without_attacker() {
                    return outcome(&visited, steps, completing_states, true, wrong(what, true));
                }
            }
        }
    }
    outcome(&visited, steps, completing_states, true, None)
}

/// Returns the system after these steps, which break no rule.
fn state_after_steps<W: System>(make: &impl Fn(bool) -> W, path: &[W::Step]) -> W {
    let mut world = make(false);
    for &step in path {
        // An error was reported when the step was first taken.
        let _ = world.take(step);
    }
    world
}

/// Repeats the steps and returns their trace.
fn replay_trace<W: System>(make: &impl Fn(bool) -> W, path: &[W::Step], is_settling: bool) -> Vec<String> {
    let mut world = make(true);
    let mut result = path.iter().try_for_each(|&step| world.take(step));
    if is_settling && result.is_ok() {
        result = world.run_without_attacker();
    }
    let mut lines: Vec<_> = world.lines().iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    if result.is_ok() {
        lines.push(
            "and this comes about only after others of the attacker's datagrams were refused".to_owned(),
        );
    }
    lines
}

impl System for World {
    type Step = AttackStep;
    type RemainingSteps = RemainingSteps;

    fn digest(&self) -> u128 {
        self.digest()
    }

    fn remaining_steps(&self) -> RemainingSteps {
        self.steps_left
    }

    fn restore(&mut self, left: RemainingSteps) {
        self.steps_left = left;
    }

    fn steps(&self) -> Vec<AttackStep> {
        self.steps()
    }

    fn take(&mut self, step: AttackStep) -> Result<(), String> {
        self.take(step)
    }

    fn run_without_attacker(&mut self) -> Result<(), String> {
        self.run_without_attacker()
    }

    fn lines(self) -> Vec<String> {
        self.log.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap};

    /// The digests that one step leads to.
    fn after_a_step(bounds: &Bounds, path: &[AttackStep]) -> BTreeSet<(u128, String)> {
        let steps = state_after_steps(&|log| World::new(bounds, Fault::None, log), path).steps();
        let lead = |step| {
            let mut world = state_after_steps(&|log| World::new(bounds, Fault::None, log), path);
            let result = world.take(step);
            (world.digest(), format!("{:?} {result:?}", world.steps_left))
        };
        steps.into_iter().map(lead).collect()
    }

    /// Nothing matters that a digest leaves out: ways to states with the same digest lead on to the same.
    #[test]
    fn states_with_the_same_digest_do_the_same() {
        let bounds = Bounds { forgeries: 1, restarts: 1, closes: 1, ..Bounds::default() };
        let mut states: HashMap<(u128, RemainingSteps), Vec<AttackStep>> = HashMap::new();
        let mut line = vec![Vec::new()];
        let mut compared = 0;
        for depth in 0..5 {
            for path in core::mem::take(&mut line) {
                let world = state_after_steps(&|log| World::new(&bounds, Fault::None, log), &path);
                for (number, step) in world.steps().into_iter().enumerate() {
                    let path = [&path[..], &[step]].concat();
                    let next = state_after_steps(&|log| World::new(&bounds, Fault::None, log), &path);
                    let key = (next.digest(), next.steps_left);
                    let Some(first) = states.get(&key) else {
                        states.insert(key, path.clone());
                        line.push(path);
                        continue;
                    };
                    // Each costs a few hundred handshakes.
                    let is_another = !first.starts_with(&path[..path.len() - 1]);
                    if depth > 1 && is_another && number % 3 == 0 && compared < 40 {
                        compared += 1;
                        assert_eq!(after_a_step(&bounds, first), after_a_step(&bounds, &path));
                    }
                }
            }
        }
        assert_eq!(compared, 40);
    }
}
