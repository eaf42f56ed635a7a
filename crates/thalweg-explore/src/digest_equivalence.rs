//! Verifies that states with equal digests are equivalent: the same steps lead to states with equal digests again.
//! Digests therefore omit nothing that determines the future, and count numbers from the right origin.

use super::explored_state::State;
use super::{AdaptiveAck, Bounds, ControlledWindow, Scheme, Sscop, Sstp, Window};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use thalweg_proto::sstp::{Acknowledgement, Evicted};
use thalweg_proto::window::Recovery;

/// Returns the number of states visited, and the number merged.
#[track_caller]
fn count_merged_states<S: Scheme>(scheme: &S, bounds: &Bounds) -> (usize, usize) {
    let first = State::first(scheme, bounds, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    // Without the remaining faults, to merge as many states as possible.
    let digest = |state: &State<S>| state.digest(scheme, false);
    let mut seen = HashMap::from([(digest(&first), first.clone())]);
    let mut visited = HashSet::from([first.digest(scheme, true)]);
    let mut waiting = VecDeque::from([first]);
    let mut merged = 0;
    while let Some(state) = waiting.pop_front() {
        for step in state.steps() {
            let after = |state: &State<S>| {
                let mut state = state.clone();
                state.take(scheme, step, &mut |_| {}).map(|()| state)
            };
            let next = after(&state).unwrap_or_else(|error| panic!("{error}"));
            if visited.insert(next.digest(scheme, true)) {
                waiting.push_back(next.clone());
            }
            match seen.entry(digest(&next)) {
                Entry::Occupied(other) => {
                    merged += usize::from(other.get().clone().take_all_as(scheme, &next));
                }
                Entry::Vacant(place) => {
                    place.insert(next);
                }
            }
        }
    }
    (visited.len(), merged)
}

impl<S: Scheme> State<S> {
    /// Takes each step that both states allow, in both; panics where they differ. Returns false if there is none.
    fn take_all_as(self, scheme: &S, like: &Self) -> bool {
        let possible = like.steps();
        let steps: Vec<_> = self.steps().into_iter().filter(|step| possible.contains(step)).collect();
        for &step in &steps {
            let (mut one, mut other) = (self.clone(), like.clone());
            let results = (one.take(scheme, step, &mut |_| {}), other.take(scheme, step, &mut |_| {}));
            assert_eq!(results.0, results.1, "{step:?}");
            assert_eq!(one.digest(scheme, false), other.digest(scheme, false), "{step:?}");
        }
        !steps.is_empty()
    }
}

fn test_bounds(delays: u8) -> Bounds {
    Bounds {
        window: 2,
        messages: 4,
        losses: 1,
        duplicates: 1 - delays,
        delays,
        expiries: 1,
        ..Bounds::default()
    }
}

#[track_caller]
fn check_merging<S: Scheme>(scheme: &S, bounds: &Bounds) {
    let (states, merged) = count_merged_states(scheme, bounds);
    assert!(states > 200 && merged > states / 10, "{states} states, {merged} merged");
}

#[test]
fn window_states_are_distinguished() {
    for delays in [0, 1] {
        check_merging(&AdaptiveAck::default(), &test_bounds(delays));
        for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::GoBackN] {
            check_merging(&Window { recovery }, &test_bounds(delays));
        }
    }
}

/// Equal times under different clocks are distinct states: few states merge.
#[test]
fn controller_states_are_distinguished() {
    for name in ["sack-newreno", "sack-cubic", "sack-prague", "sack-copa", "sack-ledbat-plus-plus"] {
        let scheme = ControlledWindow::by_name(name).unwrap_or_else(|| panic!("{name}"));
        for delays in [0, 1] {
            let (states, merged) = count_merged_states(&scheme, &test_bounds(delays));
            assert!(states > 200 && merged > 0, "{name}: {states} states, {merged} merged");
        }
    }
    let (states, merged) = count_merged_states(&ControlledWindow::bbr(), &test_bounds(0));
    assert!(states > 200 && merged > 0, "{states} states, {merged} merged");
}

#[test]
fn slow_reader_states_are_distinguished() {
    let bounds = Bounds { slow_reader: true, expiries: 2, duplicates: 0, ..test_bounds(0) };
    check_merging(&Window { recovery: Recovery::Sack }, &bounds);
    check_merging(&Sscop::default(), &bounds);
    let sstp = Sstp::new(Acknowledgement::Firm).unwrap_or_else(|error| panic!("{error}"));
    check_merging(&Sstp { buffer: Some(1), ..sstp }, &bounds);
}

#[test]
fn sscop_states_are_distinguished() {
    let bounds = Bounds { window: 3, messages: 6, losses: 2, duplicates: 0, ..test_bounds(0) };
    check_merging(&Sscop::default(), &bounds);
}

#[test]
fn sstp_states_are_distinguished() {
    let soft = [Evicted::One, Evicted::All, Evicted::AtOnce].map(Acknowledgement::Soft);
    for acknowledgement in [Acknowledgement::Firm, Acknowledgement::Hard].into_iter().chain(soft) {
        for (delays, segment, reordering) in [(0, 2, 0), (1, 2, 0), (1, 1, 1)] {
            let sstp = Sstp::new(acknowledgement).unwrap_or_else(|error| panic!("{error}"));
            check_merging(&Sstp { segment, reordering, buffer: Some(1), ..sstp }, &test_bounds(delays));
        }
    }
}
