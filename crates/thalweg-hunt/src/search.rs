//! The search: an archive of the worst candidate for each combination of disturbances and length of queue, out of which new ones
//! are made (MAP-Elites: Mouret and Clune 2015). One that is bad in its own way is kept though others are worse, so that a hunt ends
//! with several findings, and is not led into the first one.
//!
//! It has no clock and no input or output: what comes next follows from the seed and the scores so far.

use crate::genes::{Candidate, Kinds};
use crate::space::Space;
use std::collections::BTreeMap;
use thalweg_proto::random::Stream;

/// Candidates of a generation.
pub const GENERATION: usize = 128;
/// The share of candidates that are drawn, not made of others.
const DRAWN: f64 = 0.1;
/// The share of the others that have two parents.
const CROSSED: f64 = 0.3;
/// The best of the archive, from which half of the parents come.
const BEST: usize = 12;

/// A score in millionths, so that it is written and read without loss. One more than all is a run that could not go on to its end.
pub type Score = u32;

/// The highest score.
pub const WORST: Score = 1_000_000;
/// The score of a run that a fault ended.
pub const FAULT: Score = WORST + 1;

/// A place of the archive: the kinds of disturbances, and the length of the queue (under half a product, up to two, beyond).
type Cell = (Kinds, u8);

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    space: Space,
    seed: u64,
    generation: u64,
    archive: BTreeMap<Cell, (Score, Candidate)>,
}

impl Search {
    /// A search that has seen nothing.
    pub const fn new(space: Space, seed: u64) -> Self {
        Self { space, seed, generation: 0, archive: BTreeMap::new() }
    }

    /// The candidates whose scores are to be told next.
    pub fn ask(&self) -> Vec<Candidate> {
        let ranked = self.ranked();
        let first = self.generation * GENERATION as u64;
        let candidate = |number: u64| {
            let mut stream = Stream::new(self.seed, "hunt", first + number);
            if ranked.is_empty() || stream.chance(DRAWN) {
                return self.space.draw(&mut stream);
            }
            let parent = |stream: &mut Stream| {
                let among = if stream.chance(0.5) { ranked.len().min(BEST) } else { ranked.len() };
                ranked[stream.below(among as u64) as usize].1
            };
            let one = parent(&mut stream);
            if !stream.chance(CROSSED) {
                return self.space.mutate(one, &mut stream);
            }
            let crossed = self.space.cross(one, parent(&mut stream), &mut stream);
            self.space.mutate(&crossed, &mut stream)
        };
        (0..GENERATION as u64).map(candidate).collect()
    }

    /// The score that a candidate must exceed to be kept.
    pub fn bound(&self, genes: &Candidate) -> Option<Score> {
        self.archive.get(&cell(genes)).map(|(score, _)| *score)
    }

    /// The scores of what was asked for.
    pub fn tell(&mut self, candidates: Vec<Candidate>, scores: &[Score]) {
        for (genes, &score) in candidates.into_iter().zip(scores) {
            if self.bound(&genes).is_none_or(|bound| score > bound) {
                self.archive.insert(cell(&genes), (score, genes));
            }
        }
        self.generation += 1;
    }

    /// The worst of each place, the worst of all first.
    pub fn ranked(&self) -> Vec<(Score, &Candidate)> {
        let mut ranked: Vec<(Score, &Candidate)> =
            self.archive.values().map(|(score, genes)| (*score, genes)).collect();
        // Of equals those with fewer disturbances are the better finding.
        ranked.sort_by_key(|(score, genes)| (core::cmp::Reverse(*score), genes.disturbances()));
        ranked
    }
}

fn cell(genes: &Candidate) -> Cell {
    let products = f64::from(genes.queue) / genes.product();
    (genes.kinds(), u8::from(products > 0.5) + u8::from(products > 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Goal;

    /// A valley of one point: the score falls with the distance from a certain path and a certain outage.
    fn score(genes: &Candidate) -> Score {
        use crate::genes::What;
        let near = |value: u32, of: u32| (f64::from(value) / f64::from(of)).ln().abs();
        let path = near(genes.rate, 2500) + near(genes.queue, 64);
        let outage = genes.changes.iter().map(|change| match change.what {
            What::Outage(long) => near(long, 333) + near(change.at, 4321),
            _ => 9.0,
        });
        let outage = outage.fold(9.0, f64::min);
        (1e6 * (-path - outage).exp()) as Score
    }

    fn search(seed: u64, generations: usize) -> Search {
        let mut search = Search::new(Space::new(Goal::Starvation, Kinds::all()), seed);
        for _ in 0..generations {
            let candidates = search.ask();
            let scores: Vec<Score> = candidates.iter().map(score).collect();
            search.tell(candidates, &scores);
        }
        search
    }

    /// Candidates made of the worst so far find the place, which as many draws by chance do not come near.
    #[test]
    fn it_finds_what_chance_does_not() {
        let found = search(1, 80);
        let best = found.ranked()[0];
        assert!(best.0 > 900_000, "{best:?}");
        let space = Space::new(Goal::Starvation, Kinds::all());
        let drawn = (0..80 * GENERATION as u64)
            .map(|number| score(&space.draw(&mut Stream::new(1, "chance", number))));
        let drawn = drawn.max().unwrap();
        assert!(drawn < 700_000, "{drawn}");
    }

    #[test]
    fn a_seed_names_a_search() {
        let [one, again, other] = [search(1, 3), search(1, 3), search(2, 3)];
        assert_eq!((one.ask(), one.ranked()), (again.ask(), again.ranked()));
        assert_ne!(one.ask(), other.ask());
    }

    /// The archive keeps what is bad in its own way.
    #[test]
    fn each_combination_has_a_worst_one() {
        let found = search(1, 20);
        let ranked = found.ranked();
        let kinds: std::collections::BTreeSet<Kinds> =
            ranked.iter().map(|(_, genes)| genes.kinds()).collect();
        assert!(kinds.len() > 20 && ranked.is_sorted_by(|one, other| one.0 >= other.0), "{}", kinds.len());
    }
}
