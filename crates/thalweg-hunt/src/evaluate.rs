//! The score of a candidate: its scenario file is read and simulated, and what came out is held to the goal.

use crate::genes::Candidate;
use crate::goal::Goal;
use crate::scenario::{Schemes, scenario};
use crate::search::{FAULT, Score, WORST};
use crate::space::Space;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{Diagnostic, Loaded, load_text_with};
use thalweg_sim::spec::Spec;
use thalweg_sim::trace::NoTrace;
use thalweg_sim::{Simulation, Status};

/// Events of a run: a hundred times what a candidate takes. A scheme that makes more never comes to an end.
const MAX_EVENTS: u64 = 20_000_000;

/// The way from a candidate to its score.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'a> {
    /// The space that candidates are of.
    pub space: &'a Space,
    /// The schemes.
    pub schemes: Schemes<'a>,
    /// A scheme that does not do as badly: scores are then how much worse the tested one is in its place.
    pub against: Option<&'a str>,
    /// The schemes that there are.
    pub registry: &'a Arc<Registry>,
}

/// A run without a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoScore {
    /// The scenario cannot be read, which is a mistake in what was asked or in the search.
    Refused(String),
    /// The run did not come to its end.
    Fault(String),
}

impl Evaluator<'_> {
    /// The scenario file of a candidate.
    pub fn text(&self, genes: &Candidate, about: &str) -> String {
        scenario(genes, self.space, self.schemes, about)
    }

    /// The score under a seed.
    ///
    /// # Errors
    ///
    /// It has none.
    pub fn score(&self, genes: &Candidate, seed: u64) -> Result<f64, NoScore> {
        self.score_above(genes, seed, -1.0)
    }

    /// The least score under so many seeds. What is known not to exceed `bound` has any score up to that: the further runs are left
    /// out.
    ///
    /// # Errors
    ///
    /// It has none.
    pub fn least_above(&self, genes: &Candidate, seeds: u64, bound: f64) -> Result<f64, NoScore> {
        let mut least = f64::INFINITY;
        for seed in 1..=seeds {
            least = least.min(self.score_above(genes, seed, bound)?);
            if least <= bound {
                break;
            }
        }
        Ok(least)
    }

    fn score_above(&self, genes: &Candidate, seed: u64, bound: f64) -> Result<f64, NoScore> {
        let own = self.of(genes, self.schemes, seed)?;
        match self.against {
            Some(other) if own > bound => {
                let other = self.of(genes, Schemes { tested: other, ..self.schemes }, seed)?;
                Ok((own - other).max(0.0))
            }
            Some(_) => Ok(0.0),
            None => Ok(own),
        }
    }

    fn of(&self, genes: &Candidate, schemes: Schemes<'_>, seed: u64) -> Result<f64, NoScore> {
        let text = scenario(genes, self.space, schemes, "");
        let loaded = read("candidate", &text, Path::new(""), self.registry);
        let loaded = loaded.map_err(|found| NoScore::Refused(words(&found)))?;
        let mut spec = loaded.scenario.spec;
        spec.seed = seed;
        run(&mut spec, self.space.goal)
    }
}

/// Reads a scenario.
///
/// # Errors
///
/// All that is wrong with it.
pub(crate) fn read(
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Loaded, Vec<Diagnostic>> {
    load_text_with(name, text, folder, &[], registry)
}

/// Diagnostics in one text.
pub(crate) fn words(found: &[Diagnostic]) -> String {
    found.iter().map(|one| one.render().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Runs a simulation and gives its score. Series are not needed for it.
///
/// # Errors
///
/// It did not come to its end, or has nothing to give a score to.
pub(crate) fn run(spec: &mut Spec, goal: Goal) -> Result<f64, NoScore> {
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
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
        Err(NoScore::Fault(format!("it panicked: {text}")))
    })
}

/// A score in millionths; of a fault more than all, of a refusal none.
pub(crate) fn millionths(score: &Result<f64, NoScore>) -> Score {
    match score {
        Ok(score) => (score * f64::from(WORST)).round() as Score,
        Err(NoScore::Fault(_)) => FAULT,
        Err(NoScore::Refused(_)) => 0,
    }
}
