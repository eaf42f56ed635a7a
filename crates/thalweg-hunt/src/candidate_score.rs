//! Scores of candidates: parses and simulates the candidate's scenario file, and rates the result by the goal.

use crate::candidate::Candidate;
use crate::candidate_scenario::{Schemes, candidate_scenario};
use crate::failure_goals::Goal;
use crate::map_elites_search::{FAULT_SCORE, MAX_SCORE, Score};
use crate::search_space::Space;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text_with};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::{Simulation, Status};

/// Maximum number of events per run: a hundred times the normal number. A scheme that exceeds it never finishes.
const MAX_EVENTS: u64 = 20_000_000;

/// Evaluator of candidates.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'a> {
    /// Space of the candidates.
    pub space: &'a Space,
    /// Schemes.
    pub schemes: Schemes<'a>,
    /// Reference scheme: if set, a score is the excess of the tested scheme's score over the reference's in its place.
    pub against: Option<&'a str>,
    /// Available schemes.
    pub registry: &'a Arc<Registry>,
}

/// Error of a run without a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoScore {
    /// Invalid scenario, caused by wrong arguments or an error in the search.
    Refused(String),
    /// Run aborted before its end.
    Fault(String),
}

impl Evaluator<'_> {
    /// Returns the scenario file of a candidate.
    pub fn text(&self, candidate: &Candidate, about: &str) -> String {
        candidate_scenario(candidate, self.space, self.schemes, about)
    }

    /// Returns the score with a seed.
    ///
    /// # Errors
    ///
    /// The run has no score.
    pub fn score(&self, candidate: &Candidate, seed: u64) -> Result<f64, NoScore> {
        self.score_above(candidate, seed, -1.0)
    }

    /// Returns the minimum score over `seeds` seeds. Once it is known not to exceed `score_to_beat`, skips the remaining
    /// runs and returns any score up to `score_to_beat`.
    ///
    /// # Errors
    ///
    /// A run has no score.
    pub fn min_score_above(
        &self,
        candidate: &Candidate,
        seeds: u64,
        score_to_beat: f64,
    ) -> Result<f64, NoScore> {
        let mut min = f64::INFINITY;
        for seed in 1..=seeds {
            min = min.min(self.score_above(candidate, seed, score_to_beat)?);
            if min <= score_to_beat {
                break;
            }
        }
        Ok(min)
    }

    fn score_above(&self, candidate: &Candidate, seed: u64, score_to_beat: f64) -> Result<f64, NoScore> {
        let raw_score = self.raw_score(candidate, self.schemes, seed)?;
        match self.against {
            Some(other) if raw_score > score_to_beat => {
                let other = self.raw_score(candidate, Schemes { tested: other, ..self.schemes }, seed)?;
                Ok((raw_score - other).max(0.0))
            }
            Some(_) => Ok(0.0),
            None => Ok(raw_score),
        }
    }

    fn raw_score(&self, candidate: &Candidate, schemes: Schemes<'_>, seed: u64) -> Result<f64, NoScore> {
        let text = candidate_scenario(candidate, self.space, schemes, "");
        let loaded = read_candidate("candidate", &text, Path::new(""), self.registry);
        let loaded = loaded.map_err(|found| NoScore::Refused(join_diagnostics(&found)))?;
        let mut spec = loaded.scenario.spec;
        spec.seed = seed;
        run_for_score(&mut spec, self.space.goal)
    }
}

/// Parses a scenario.
///
/// # Errors
///
/// All errors of the scenario.
pub(crate) fn read_candidate(
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_text_with(name, text, folder, &[], registry)
}

/// Joins diagnostics into one text.
pub(crate) fn join_diagnostics(found: &[Diagnostic]) -> String {
    found.iter().map(|one| one.render().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Runs a simulation and returns its score. Disables series, which it does not need.
///
/// # Errors
///
/// The run aborted, or has no data for the score.
pub(crate) fn run_for_score(spec: &mut Spec, goal: Goal) -> Result<f64, NoScore> {
    spec.measure.interval = None;
    let spec = &*spec;
    let simulate = || {
        let fault = |error: &dyn core::fmt::Display| NoScore::Fault(error.to_string());
        let mut simulation = Simulation::new(spec, NoTrace).map_err(|error| fault(&error))?;
        let status = simulation.advance(MAX_EVENTS);
        if let Some(error) = simulation.error() {
            return Err(fault(error));
        }
        if status == Status::Running {
            let at = simulation.now();
            return Err(NoScore::Fault(format!(
                "after {MAX_EVENTS} events it is at {at} of {}",
                spec.duration
            )));
        }
        let (result, _) = simulation.finish();
        goal.score(spec, &result).map_err(|why| NoScore::Refused(why.to_owned()))
    };
    catch_unwind(AssertUnwindSafe(simulate)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Err(NoScore::Fault(format!("it panicked: {text}")))
    })
}

/// Converts a score to millionths; a fault ranks above all scores, and a refusal scores zero.
pub(crate) fn score_in_millionths(score: &Result<f64, NoScore>) -> Score {
    match score {
        Ok(score) => (score * f64::from(MAX_SCORE)).round() as Score,
        Err(NoScore::Fault(_)) => FAULT_SCORE,
        Err(NoScore::Refused(_)) => 0,
    }
}
