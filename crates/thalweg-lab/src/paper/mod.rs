//! Published studies, reproduced: their values, our runs, and what both say.
//!
//! A [`Paper`] brings three things: the published values (a JSON file of experiments with results), a plan (a TOML
//! file that says which scenario each experiment runs and what is varied), and the meaning of each metric and claim.
//! All else is here and the same for all: [`prepare`] makes the runs, [`Prepared::results`] joins what they measured
//! with the published values by key.

/// The scenario files of a paper, which lie in `scenarios/papers/NAME`.
macro_rules! scenario_files {
    ($paper:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../../../../scenarios/papers/", $paper, "/", $file)))),+]
    };
}

mod chen99;
mod evidence;
mod gong92;
mod lee97;
mod liang91;
mod plan;
mod prepare;
mod published;
mod results;
mod runs;
mod tables;
mod yang01;

pub use prepare::{Case, Choice, PaperError, Prepared, distinct, prepare};
pub use published::{Cell, Experiment, Published};
pub use results::{Claim, ExperimentResults, Results, Row};
pub use runs::{CaseRuns, Runs};
pub use tables::tables;
pub(crate) use tables::{SILENT, metric_words, number};

/// A study that can be reproduced.
pub trait Paper: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Author, year and title.
    fn title(&self) -> &'static str;

    /// The published values: JSON with `experiments`, each with an `id` and `results`; a result has `scheme`,
    /// `metric`, `value` (null where none was published) and further keys.
    fn published(&self) -> &'static str;

    /// Which runs each experiment consists of: TOML in the format that `plan.rs` describes.
    fn plan(&self) -> &'static str;

    /// The scenario files that the plan and these files themselves name, with their texts.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)];

    /// The value of a cell: one number for each replication, or a single one where nothing is random. `None` where
    /// the experiment has no run for it.
    fn values(&self, cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>>;

    /// What the runs of an experiment show beyond the published cells. It is reported under an id that begins with
    /// `ours/`.
    fn further(&self, runs: &Runs<'_>) -> Vec<(Cell, Vec<f64>)> {
        let _ = runs;
        Vec::new()
    }

    /// The claims that the results can decide. A claim whose experiments were not run is left out.
    fn claims(&self, results: &Results) -> Vec<Claim>;
}

/// All papers.
pub const PAPERS: &[&dyn Paper] =
    &[&liang91::Liang91, &chen99::Chen99, &yang01::Yang01, &lee97::Lee97, &gong92::Gong92];

/// The paper of this name.
pub fn find(name: &str) -> Option<&'static dyn Paper> {
    PAPERS.iter().copied().find(|paper| paper.name() == name)
}
