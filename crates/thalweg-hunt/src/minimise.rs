//! Minimisation of findings: removes unneeded disturbances and rounds values.

use crate::candidate::Candidate;
use crate::search_space::{Space, round_to_digits};

/// Returns the next simpler candidates: first each without one disturbance, then each with one rounder value. The
/// caller replaces `candidate` by the first that still scores high enough, and repeats until there is none.
pub fn simpler_candidates(candidate: &Candidate, space: &Space) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Candidate)| {
        let mut changed = candidate.clone();
        change(&mut changed);
        let changed = space.nearest_candidate(changed);
        if changed != *candidate && !all.contains(&changed) {
            all.push(changed);
        }
    };
    for number in 0..candidate.competing_flows.len() {
        with(&|candidate| {
            candidate.competing_flows.remove(number);
        });
    }
    for number in 0..candidate.pulses.len() {
        with(&|candidate| {
            candidate.pulses.remove(number);
        });
    }
    for number in 0..candidate.changes.len() {
        with(&|candidate| {
            candidate.changes.remove(number);
        });
    }
    for number in 0..candidate.bursts.len() {
        with(&|candidate| {
            candidate.bursts.remove(number);
        });
    }
    for single in single_disturbances() {
        with(&|candidate| *single(candidate) = 0);
    }
    with(&|candidate| candidate.count -= u32::from(candidate.count > 1));
    let values = candidate_values(&mut candidate.clone()).len();
    for number in 0..values {
        // Roundest value first.
        for round in [round_to_1_2_5, round_to_digits::<1>] {
            with(&|candidate| {
                if let Some(value) = candidate_values(candidate).into_iter().nth(number) {
                    *value = round(*value);
                }
            });
        }
    }
    all
}

type NumberField = fn(&mut Candidate) -> &mut u32;

/// Returns accessors of the disturbances that occur at most once.
fn single_disturbances() -> [NumberField; 4] {
    [
        |candidate| &mut candidate.jitter,
        |candidate| &mut candidate.loss,
        |candidate| &mut candidate.start,
        |candidate| &mut candidate.stagger,
    ]
}

/// Returns all values.
fn candidate_values(candidate: &mut Candidate) -> Vec<&mut u32> {
    let (path, singles, others) = candidate.values();
    path.into_iter().chain(singles).chain(others).collect()
}

/// Rounds to the nearest of 1, 2 and 5 times a power of ten.
fn round_to_1_2_5(value: u32) -> u32 {
    let mut unit = 1;
    while value / unit >= 10 {
        unit *= 10;
    }
    let tenths = u64::from(value) * 10 / u64::from(unit);
    match tenths {
        0 => 0,
        1..=14 => unit,
        15..=34 => 2 * unit,
        35..=74 => 5 * unit,
        _ => 10 * unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Kinds, Pulses};
    use crate::failure_goals::Goal;
    use thalweg_proto::random::RandomStream;

    /// For a finding that needs only pulses and a short queue, everything else is removed, and the remaining values are
    /// round.
    #[test]
    fn unneeded_disturbances_are_removed() {
        let space = Space::new(Goal::Starvation, Kinds::all());
        let is_bad = |candidate: &Candidate| {
            let strong = |pulses: &Pulses| pulses.percent >= 120 && pulses.burst_length >= 40;
            candidate.pulses.iter().any(strong) && candidate.queue <= 40
        };
        let mut stream = RandomStream::new(3, "minimise", 0);
        let mut candidate = Candidate {
            rate: 3700,
            delay: 23_000,
            queue: 37,
            jitter: 7300,
            loss: 310,
            bursts: vec![(100, 3), (777, 9)],
            ..space.draw(&mut stream)
        };
        candidate.pulses = vec![
            Pulses { start: 130, burst_length: 77, off: 1300, percent: 140 },
            Pulses { start: 0, burst_length: 20, off: 990, percent: 60 },
        ];
        let mut candidate = space.nearest_candidate(candidate);
        assert!(is_bad(&candidate) && candidate.disturbances() > 4);
        while let Some(next) = simpler_candidates(&candidate, &space).into_iter().find(is_bad) {
            candidate = next;
        }
        let expected = Candidate {
            rate: 5000,
            delay: 20_000,
            queue: 20,
            count: 1,
            pulses: vec![Pulses { start: 100, burst_length: 50, off: 1000, percent: 200 }],
            ..Candidate::default()
        };
        assert_eq!((candidate.disturbances(), candidate.pulses.len()), (1, 1), "{candidate:?}");
        assert_eq!((candidate.rate, candidate.delay, candidate.count), (expected.rate, expected.delay, 1));
        assert!(candidate.queue <= 40 && candidate.queue.is_multiple_of(10), "{candidate:?}");
    }

    #[test]
    fn numbers_become_rounder() {
        assert_eq!([0, 1, 7, 23, 34, 37, 140, 990].map(round_to_1_2_5), [0, 1, 5, 20, 20, 50, 100, 1000]);
        assert_eq!([0, 7, 23, 340, 990].map(round_to_digits::<1>), [0, 7, 20, 300, 900]);
    }
}
