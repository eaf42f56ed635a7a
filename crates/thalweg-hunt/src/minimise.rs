//! Findings made small: all is taken away that they do not need, and values become as round as they can be.

use crate::genes::Candidate;
use crate::space::{Space, cut};

/// The next simpler candidates: each without one disturbance, then each with one rounder value. The first that is still bad enough
/// takes the place of `genes`, until none is.
pub fn simpler(genes: &Candidate, space: &Space) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Candidate)| {
        let mut changed = genes.clone();
        change(&mut changed);
        let changed = space.settle(changed);
        if changed != *genes && !all.contains(&changed) {
            all.push(changed);
        }
    };
    for number in 0..genes.others.len() {
        with(&|genes| {
            genes.others.remove(number);
        });
    }
    for number in 0..genes.pulses.len() {
        with(&|genes| {
            genes.pulses.remove(number);
        });
    }
    for number in 0..genes.changes.len() {
        with(&|genes| {
            genes.changes.remove(number);
        });
    }
    for number in 0..genes.bursts.len() {
        with(&|genes| {
            genes.bursts.remove(number);
        });
    }
    for single in singles() {
        with(&|genes| *single(genes) = 0);
    }
    with(&|genes| genes.count -= u32::from(genes.count > 1));
    let values = values(&mut genes.clone()).len();
    for number in 0..values {
        // The roundest first.
        for round in [rounder, cut::<1>] {
            with(&|genes| {
                if let Some(value) = self::values(genes).into_iter().nth(number) {
                    *value = round(*value);
                }
            });
        }
    }
    all
}

type Single = fn(&mut Candidate) -> &mut u32;

/// The disturbances of which there is one at most.
fn singles() -> [Single; 4] {
    [|genes| &mut genes.jitter, |genes| &mut genes.loss, |genes| &mut genes.start, |genes| &mut genes.stagger]
}

/// Everything that has a value.
fn values(genes: &mut Candidate) -> Vec<&mut u32> {
    let (path, singles, others) = genes.values();
    path.into_iter().chain(singles).chain(others).collect()
}

/// The nearest of 1, 2 and 5 times a power of ten.
fn rounder(value: u32) -> u32 {
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
    use crate::genes::{Kinds, Pulses};
    use crate::goal::Goal;
    use thalweg_proto::random::Stream;

    /// Of a finding that needs pulses and a short queue all else goes, and what is left has round values.
    #[test]
    fn what_is_not_needed_goes() {
        let space = Space::new(Goal::Starvation, Kinds::all());
        let is_bad = |genes: &Candidate| {
            let strong = |pulses: &Pulses| pulses.percent >= 120 && pulses.on >= 40;
            genes.pulses.iter().any(strong) && genes.queue <= 40
        };
        let mut stream = Stream::new(3, "minimise", 0);
        let mut genes = Candidate {
            rate: 3700,
            delay: 23_000,
            queue: 37,
            jitter: 7300,
            loss: 310,
            bursts: vec![(100, 3), (777, 9)],
            ..space.draw(&mut stream)
        };
        genes.pulses = vec![
            Pulses { start: 130, on: 77, off: 1300, percent: 140 },
            Pulses { start: 0, on: 20, off: 990, percent: 60 },
        ];
        let mut genes = space.settle(genes);
        assert!(is_bad(&genes) && genes.disturbances() > 4);
        while let Some(next) = simpler(&genes, &space).into_iter().find(is_bad) {
            genes = next;
        }
        let expected = Candidate {
            rate: 5000,
            delay: 20_000,
            queue: 20,
            count: 1,
            pulses: vec![Pulses { start: 100, on: 50, off: 1000, percent: 200 }],
            ..Candidate::default()
        };
        assert_eq!((genes.disturbances(), genes.pulses.len()), (1, 1), "{genes:?}");
        assert_eq!((genes.rate, genes.delay, genes.count), (expected.rate, expected.delay, 1));
        assert!(genes.queue <= 40 && genes.queue.is_multiple_of(10), "{genes:?}");
    }

    #[test]
    fn numbers_become_rounder() {
        assert_eq!([0, 1, 7, 23, 34, 37, 140, 990].map(rounder), [0, 1, 5, 20, 20, 50, 100, 1000]);
        assert_eq!([0, 7, 23, 340, 990].map(cut::<1>), [0, 7, 20, 300, 900]);
    }
}
