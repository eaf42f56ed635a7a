//! Evolutionary search for scenarios in which a scheme does badly (MAP-Elites: Mouret and Clune 2015).
//!
//! An archive holds the candidate with the highest score for each combination of disturbances and queue length, and
//! provides the parents of new candidates. Different kinds of failures do not compete, and a hunt ends with several
//! findings. It uses no clock and no I/O: the seed and the scores so far determine the next candidates.

use crate::candidate::{Candidate, Kinds};
use crate::search_space::Space;
use std::collections::BTreeMap;
use thalweg_proto::random::RandomStream;

/// Number of candidates in a generation.
pub const GENERATION: usize = 128;
/// Probability that a candidate is sampled at random and has no parents.
const RANDOM_SHARE: f64 = 0.1;
/// Probability that a candidate with parents has two.
const CROSSOVER_SHARE: f64 = 0.3;
/// Number of candidates with the highest scores; half of the parents are drawn from them.
const TOP_PARENTS: usize = 12;

/// Score in millionths: the higher, the worse the scheme does. An integer, stored and loaded without rounding.
pub type Score = u32;

/// Maximum score of a completed run.
pub const MAX_SCORE: Score = 1_000_000;
/// Score of a run aborted by a fault, above all others.
pub const FAULT_SCORE: Score = MAX_SCORE + 1;

/// Cell of the archive: the kinds of disturbances, and the class of queue length (under half a bandwidth-delay product,
/// up to two, more).
type Cell = (Kinds, u8);

/// Search state.
#[derive(Clone, Debug)]
pub struct Search {
    space: Space,
    seed: u64,
    generation: u64,
    archive: BTreeMap<Cell, (Score, Candidate)>,
}

impl Search {
    /// Creates a search with an empty archive.
    pub const fn new(space: Space, seed: u64) -> Self {
        Self { space, seed, generation: 0, archive: BTreeMap::new() }
    }

    /// Returns the next candidates to evaluate.
    pub fn propose(&self) -> Vec<Candidate> {
        let ranked = self.candidates_by_score();
        let first = self.generation * GENERATION as u64;
        let candidate = |number: u64| {
            let mut stream = RandomStream::new(self.seed, "hunt", first + number);
            if ranked.is_empty() || stream.chance(RANDOM_SHARE) {
                return self.space.draw(&mut stream);
            }
            let parent = |stream: &mut RandomStream| {
                let among = if stream.chance(0.5) { ranked.len().min(TOP_PARENTS) } else { ranked.len() };
                ranked[stream.below(among as u64) as usize].1
            };
            let one = parent(&mut stream);
            if !stream.chance(CROSSOVER_SHARE) {
                return self.space.mutate(one, &mut stream);
            }
            let crossed = self.space.cross(one, parent(&mut stream), &mut stream);
            self.space.mutate(&crossed, &mut stream)
        };
        (0..GENERATION as u64).map(candidate).collect()
    }

    /// Returns the score that a candidate must exceed to enter the archive.
    pub fn score_to_beat(&self, candidate: &Candidate) -> Option<Score> {
        self.archive.get(&cell_of_candidate(candidate)).map(|(score, _)| *score)
    }

    /// Records the scores of the candidates from `propose`.
    pub fn record(&mut self, candidates: Vec<Candidate>, scores: &[Score]) {
        for (candidate, &score) in candidates.into_iter().zip(scores) {
            if self.score_to_beat(&candidate).is_none_or(|best| score > best) {
                self.archive.insert(cell_of_candidate(&candidate), (score, candidate));
            }
        }
        self.generation += 1;
    }

    /// Returns the candidates of the archive, highest score first.
    pub fn candidates_by_score(&self) -> Vec<(Score, &Candidate)> {
        let mut ranked: Vec<(Score, &Candidate)> =
            self.archive.values().map(|(score, candidate)| (*score, candidate)).collect();
        // At equal scores, fewer disturbances make the better finding.
        ranked.sort_by_key(|(score, candidate)| (core::cmp::Reverse(*score), candidate.disturbances()));
        ranked
    }
}

fn cell_of_candidate(candidate: &Candidate) -> Cell {
    let queue_in_bdp = f64::from(candidate.queue) / candidate.product();
    (candidate.kinds(), u8::from(queue_in_bdp > 0.5) + u8::from(queue_in_bdp > 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure_goals::Goal;

    /// Returns a score with a single optimum: it falls with the distance from a certain path and outage.
    fn score(candidate: &Candidate) -> Score {
        use crate::candidate::Disturbance;
        let near = |value: u32, of: u32| (f64::from(value) / f64::from(of)).ln().abs();
        let path = near(candidate.rate, 2500) + near(candidate.queue, 64);
        let outage = candidate.changes.iter().map(|change| match change.what {
            Disturbance::Outage(long) => near(long, 333) + near(change.at, 4321),
            _ => 9.0,
        });
        let outage = outage.fold(9.0, f64::min);
        (1e6 * (-path - outage).exp()) as Score
    }

    fn search(seed: u64, generations: usize) -> Search {
        let mut search = Search::new(Space::new(Goal::Starvation, Kinds::all()), seed);
        for _ in 0..generations {
            let candidates = search.propose();
            let scores: Vec<Score> = candidates.iter().map(score).collect();
            search.record(candidates, &scores);
        }
        search
    }

    /// Candidates bred from the worst so far find the optimum; an equal number of random samples comes nowhere near it.
    #[test]
    fn it_finds_what_chance_does_not() {
        let found = search(1, 80);
        let best = found.candidates_by_score()[0];
        assert!(best.0 > 900_000, "{best:?}");
        let space = Space::new(Goal::Starvation, Kinds::all());
        let drawn = (0..80 * GENERATION as u64)
            .map(|number| score(&space.draw(&mut RandomStream::new(1, "chance", number))));
        let drawn = drawn.max().unwrap();
        assert!(drawn < 700_000, "{drawn}");
    }

    #[test]
    fn a_seed_names_a_search() {
        let [one, again, other] = [search(1, 3), search(1, 3), search(2, 3)];
        assert_eq!(
            (one.propose(), one.candidates_by_score()),
            (again.propose(), again.candidates_by_score())
        );
        assert_ne!(one.propose(), other.propose());
    }

    /// The archive keeps candidates with distinct failures.
    #[test]
    fn each_combination_has_a_worst_one() {
        let found = search(1, 20);
        let ranked = found.candidates_by_score();
        let kinds: std::collections::BTreeSet<Kinds> =
            ranked.iter().map(|(_, candidate)| candidate.kinds()).collect();
        assert!(kinds.len() > 20 && ranked.is_sorted_by(|one, other| one.0 >= other.0), "{}", kinds.len());
    }
}
