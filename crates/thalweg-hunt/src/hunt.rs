//! Whole hunt: the parallel search, its saved state, and the confirmation and minimisation of the worst candidates.

use crate::candidate::Candidate;
use crate::candidate_scenario::{MAX_LINES, Schemes};
use crate::candidate_score::{Evaluator, NoScore, join_diagnostics, score_in_millionths};
use crate::map_elites_search::{FAULT_SCORE, GENERATION, MAX_SCORE, Score, Search};
use crate::minimise::simpler_candidates;
use crate::search_space::Space;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_catalog::Registry;
use thalweg_proto::random::RandomStream;
use thalweg_report::parallel_batch;
use thalweg_scenario::{Diagnostic, Reader};
use thalweg_sweep::{Status, Store, StoreError};

/// Number of seeds that confirm the worst candidates, to exclude random findings.
pub const SEEDS: u64 = 5;
/// Number of worst candidates to confirm.
const CONFIRMED_CANDIDATES: usize = 16;
/// Number of seeds for a candidate that enters the archive, or for a minimised one.
const SEARCH_SEEDS: u64 = 3;
/// Minimum share of the score that a minimised candidate keeps.
const MIN_SCORE_SHARE: f64 = 0.9;
/// Maximum number of minimisation steps.
const MAX_STEPS: usize = 100;
/// Seed of the scenario.
const SEED: u64 = 1;

/// Hunt.
#[derive(Debug)]
pub struct Hunt<'a> {
    /// Space of the candidates.
    pub space: &'a Space,
    /// Schemes.
    pub schemes: Schemes<'a>,
    /// Reference scheme that must do better.
    pub against: Option<&'a str>,
    /// Available schemes.
    pub registry: &'a Arc<Registry>,
    /// Number of candidates to evaluate, rounded up to whole generations.
    pub candidates: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Number of concurrent runs. The outcome does not depend on it.
    pub threads: usize,
    /// Build of the program, part of the names of saved scores.
    pub build: &'a str,
    /// Stop flag.
    pub stop: Arc<AtomicBool>,
}

/// Outcome of a hunt.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Scheme under test.
    pub scheme: String,
    /// Name of the goal.
    pub goal: &'static str,
    /// Reference scheme that must do better, if any.
    pub against: Option<String>,
    /// Seed of the search.
    pub seed: u64,
    /// Number of evaluated candidates.
    pub candidates: u64,
    /// Minimum score over [`SEEDS`] seeds of the scenario, from 0 to 1.
    pub score: f64,
    /// True if the score reaches the goal's threshold.
    pub is_found: bool,
    /// Cause of an aborted run, which ranks above any score.
    pub fault: Option<String>,
    /// Score as text.
    pub score_text: String,
    /// Number of disturbances before and after minimisation.
    pub disturbances: [usize; 2],
    /// Scenario file.
    pub scenario: String,
    /// Worst score of the search per combination of disturbances; each is the minimum over three seeds.
    pub by_kind: Vec<(String, f64)>,
    /// Number of candidates that did not parse as a scenario.
    pub refused: u64,
    /// True if nothing was interrupted.
    pub complete: bool,
}

/// Error of a hunt.
#[derive(Debug)]
pub enum HuntError {
    /// Unknown scheme, or invalid options.
    Scheme(Vec<Diagnostic>),
    /// Scores could not be saved.
    Store(StoreError),
    /// Interrupted before any candidate was scored.
    Interrupted,
}

/// Saved scores of a generation.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Generation {
    scores: Vec<Score>,
    refused: u64,
}

impl Generation {
    /// Reads the saved scores of `candidates`; `None` if the file does not match.
    fn read(text: &[u8], candidates: usize) -> Option<Self> {
        let kept: Self = serde_json::from_slice(text).ok()?;
        (kept.scores.len() == candidates && kept.refused <= candidates as u64).then_some(kept)
    }
}

/// Reads saved scores for fuzzing, as a hunt does; returns their number.
#[doc(hidden)]
pub fn parse_saved_scores(text: &[u8], candidates: usize) -> Option<usize> {
    Generation::read(text, candidates).map(|kept| kept.scores.len())
}

impl Hunt<'_> {
    const fn evaluator(&self) -> Evaluator<'_> {
        Evaluator { space: self.space, schemes: self.schemes, against: self.against, registry: self.registry }
    }

    /// Checks that the schemes exist.
    ///
    /// # Errors
    ///
    /// A scheme is unknown, or its options are invalid.
    pub fn check(&self) -> Result<(), HuntError> {
        let mut candidate = self.space.draw(&mut RandomStream::new(0, "check", 0));
        candidate.competing_flows.push(crate::candidate::CompetingFlow { start: 0, extra_delay: 0 });
        for tested in core::iter::once(self.schemes.tested).chain(self.against) {
            let schemes = Schemes { tested, ..self.schemes };
            let text = crate::candidate_scenario::candidate_scenario(&candidate, self.space, schemes, "");
            crate::candidate_score::read_candidate("hunt", &text, std::path::Path::new(""), self.registry)
                .map_err(HuntError::Scheme)?;
        }
        Ok(())
    }

    /// Searches, confirms and minimises. `tick` is called several times a second.
    ///
    /// # Errors
    ///
    /// A scheme is invalid, scores could not be saved, or the search was interrupted before it had any.
    pub fn run(&self, store: &Store, mut tick: impl FnMut(Status)) -> Result<Finding, HuntError> {
        self.check()?;
        let mut search = Search::new(self.space.clone(), self.seed);
        let generations = self.candidates.div_ceil(GENERATION as u64);
        let total = (generations * GENERATION as u64) as usize;
        let mut status = Status { total, ..Status::default() };
        let mut refused = 0;
        for number in 0..generations {
            let worst = search.candidates_by_score().first().map_or(0, |(score, _)| *score);
            if self.stop.load(Ordering::Relaxed) || worst == FAULT_SCORE {
                break;
            }
            let name = self.name(number);
            let candidates = search.propose();
            let kept = Reader::default().read_bytes(&store.path(&name)).ok();
            let kept = kept.and_then(|text| Generation::read(&text, candidates.len()));
            let was_there = kept.is_some();
            let generation = match kept {
                Some(kept) => kept,
                None => {
                    let Some(made) = self.generation(&search, &candidates, |done| {
                        tick(Status { finished_runs: status.finished_runs + done, ..status });
                    }) else {
                        break;
                    };
                    let text = serde_json::to_vec(&made).unwrap_or_default();
                    store.write(&name, &text).map_err(HuntError::Store)?;
                    made
                }
            };
            status.finished_runs += candidates.len();
            status.stored_runs += if was_there { candidates.len() } else { 0 };
            refused += generation.refused;
            search.record(candidates, &generation.scores);
            tick(status);
        }
        match search.candidates_by_score().is_empty() {
            true => Err(HuntError::Interrupted),
            false => Ok(self.finding(&search, status.finished_runs as u64, refused)),
        }
    }

    /// Returns the file name of a generation: a hash of all inputs of its scores.
    fn name(&self, generation: u64) -> String {
        let of = format!(
            "{:?}\n{}\n{}\n{:?}",
            self.space, self.schemes.tested, self.schemes.competing_scheme, self.against
        );
        let name = Store::name(self.build, &of, self.seed);
        format!("scores/{name}/{generation:06}.json")
    }

    /// Returns the scores of candidates; `None` after an interruption.
    fn generation(
        &self,
        search: &Search,
        candidates: &[Candidate],
        mut tick: impl FnMut(usize),
    ) -> Option<Generation> {
        let evaluator = self.evaluator();
        let mut made = Generation::default();
        let done = core::sync::atomic::AtomicUsize::new(0);
        let work = |number: usize| {
            let candidate = &candidates[number];
            let score_to_beat =
                search.score_to_beat(candidate).map_or(-1.0, |score| f64::from(score) / f64::from(MAX_SCORE));
            let score = evaluator.min_score_above(candidate, SEARCH_SEEDS, score_to_beat);
            done.fetch_add(1, Ordering::Relaxed);
            score
        };
        let each = |_, score: Result<f64, NoScore>| {
            made.scores.push(score_in_millionths(&score));
            made.refused += u64::from(matches!(score, Err(NoScore::Refused(_))));
        };
        let show = || tick(done.load(Ordering::Relaxed));
        parallel_batch::run_parallel(candidates.len(), self.threads, &self.stop, work, each, show);
        (made.scores.len() == candidates.len()).then_some(made)
    }

    /// Returns the minimum score of each candidate over `seeds` seeds.
    fn lowest_scores(&self, candidates: &[Candidate], seeds: u64) -> Vec<Score> {
        let evaluator = self.evaluator();
        let seeds = seeds as usize;
        let work = |number: usize| {
            score_in_millionths(&evaluator.score(&candidates[number / seeds], 1 + (number % seeds) as u64))
        };
        let mut scores: Vec<Score> = Vec::new();
        // Finish confirming what the search found, even after an interruption.
        let go_on = AtomicBool::new(false);
        parallel_batch::run_parallel(
            candidates.len() * seeds,
            self.threads,
            &go_on,
            work,
            |_, score| scores.push(score),
            || (),
        );
        scores.chunks(seeds).map(|of| of.iter().copied().min().unwrap_or(0)).collect()
    }

    /// Confirms, minimises and describes the worst candidates.
    fn finding(&self, search: &Search, candidates: u64, refused: u64) -> Finding {
        let goal = self.space.goal;
        let ranked = search.candidates_by_score();
        let confirmed: Vec<Candidate> =
            ranked.iter().take(CONFIRMED_CANDIDATES).map(|(_, candidate)| (*candidate).clone()).collect();
        let scores = self.lowest_scores(&confirmed, SEEDS);
        let worst = confirmed.into_iter().zip(scores);
        let worst = worst.reduce(|one, other| if other.1 > one.1 { other } else { one });
        let (found, score) = worst.unwrap_or_default();
        // With a reference scheme, the threshold of the difference is half.
        let bar = goal.bar() / if self.against.is_some() { 2.0 } else { 1.0 };
        let bar = (bar * f64::from(MAX_SCORE)) as Score;
        let bad_enough = (f64::from(score) * MIN_SCORE_SHARE) as Score;
        let enough = match score {
            FAULT_SCORE => FAULT_SCORE,
            score if score >= bar => bad_enough.max(bar),
            _ => bad_enough,
        };
        let mut candidate = found.clone();
        for _ in 0..MAX_STEPS {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let simpler = simpler_candidates(&candidate, self.space);
            let scores = self.lowest_scores(&simpler, SEARCH_SEEDS);
            let mut both = simpler.into_iter().zip(scores);
            let Some((next, _)) = both.find(|(_, score)| *score >= enough) else { break };
            candidate = next;
        }
        // Reject a minimised candidate that scores lower under the additional seeds.
        let last = self.lowest_scores(core::slice::from_ref(&candidate), SEEDS).first().copied().unwrap_or(0);
        let (candidate, score) = if last >= enough { (candidate, last) } else { (found.clone(), score) };
        let evaluator = self.evaluator();
        let fault = match evaluator.score(&candidate, SEED) {
            Err(NoScore::Fault(why)) => Some(why),
            _ => None,
        };
        let share = f64::from(score.min(MAX_SCORE)) / f64::from(MAX_SCORE);
        let score_text = match (&fault, self.against) {
            (Some(why), _) => format!("a run fails: {why}"),
            (None, Some(other)) => {
                let tested_score =
                    Evaluator { against: None, ..evaluator }.score(&candidate, SEED).unwrap_or(share);
                let theirs = (tested_score - share).max(0.0);
                format!("{}; with {other}, {}", goal.score_text(tested_score), goal.score_text(theirs))
            }
            (None, None) => goal.score_text(share),
        };
        let about = format!("Found by `{}`: {score_text}.", self.command());
        let scenario = evaluator.text(&candidate, &about.replace('\n', " "));
        debug_assert!(scenario.lines().count() <= MAX_LINES);
        let mut by_kind: Vec<(String, f64)> = Vec::new();
        for (score, candidate) in &ranked {
            let kinds = candidate.kinds().names();
            if !by_kind.iter().any(|(other, _)| *other == kinds) {
                by_kind.push((kinds, f64::from((*score).min(MAX_SCORE)) / f64::from(MAX_SCORE)));
            }
        }
        Finding {
            scheme: self.schemes.tested.to_owned(),
            goal: goal.name(),
            against: self.against.map(str::to_owned),
            seed: self.seed,
            candidates,
            score: share,
            is_found: fault.is_some() || score >= bar,
            fault,
            score_text,
            disturbances: [found.disturbances(), candidate.disturbances()],
            scenario,
            by_kind,
            refused,
            complete: !self.stop.load(Ordering::Relaxed),
        }
    }

    /// Returns the command that reproduces the finding.
    pub fn command(&self) -> String {
        let mut text = format!("thalweg hunt {} --goal {}", self.schemes.tested, self.space.goal.name());
        if self.space.kinds != self.space.goal.kinds() {
            let names: Vec<&str> =
                self.space.kinds.iter().map(crate::candidate::DisturbanceKind::name).collect();
            text.push_str(&format!(" --with {}", names.join(",")));
        }
        if self.schemes.competing_scheme != crate::DEFAULT_COMPETING_SCHEME {
            text.push_str(&format!(" --beside {}", self.schemes.competing_scheme));
        }
        if let Some(against) = self.against {
            text.push_str(&format!(" --against {against}"));
        }
        format!("{text} --candidates {} --seed {}", self.candidates, self.seed)
    }
}

/// Message of a search without a score.
const INTERRUPTED: &str = "interrupted before the first candidates were scored: nothing was found";

impl HuntError {
    /// Returns the errors as one text, if any.
    pub fn errors_text(&self) -> String {
        match self {
            Self::Scheme(found) => join_diagnostics(found),
            Self::Store(error) => error.to_string(),
            Self::Interrupted => INTERRUPTED.to_owned(),
        }
    }
}
