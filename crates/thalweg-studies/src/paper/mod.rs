//! Published studies, reproduced: their values, our runs, and what both say.
//!
//! A [`Paper`] brings three things: the published values (a JSON file of experiments with results), a plan (a TOML
//! file that says which scenario each experiment runs and what is varied), and the meaning of each metric and claim.
//! All else is here and the same for all: [`prepare`] makes the runs, [`Prepared::results`] joins what they measured
//! with the published values by key.

/// The files of a paper: its published values and what lies in `scenarios/papers/NAME`, the scenarios by name.
macro_rules! paper_files {
    (@ours $paper:literal, $file:expr) => {
        include_str!(concat!("../../../scenarios/", $paper, "/", $file))
    };
    ($paper:literal: $($scenario:literal),+ $(,)?) => {
        $crate::paper::Files {
            published: include_str!(concat!("../../../papers/", $paper, ".json")),
            plan: paper_files!(@ours $paper, "experiments.toml"),
            scenarios: &[$(($scenario, paper_files!(@ours $paper, $scenario))),+],
        }
    };
}

mod bless25;
mod chen99;
mod evidence;
mod gong92;
mod lee97;
mod liang91;
mod page;
mod plan;
mod prepare;
mod published;
mod results;
mod runs;
mod tables;
mod yang01;

pub use page::paper_report;
pub use prepare::{Case, Choice, PaperError, Prepared, distinct, prepare};
pub use published::{Cell, Experiment, Published};
pub use results::{Claim, ExperimentResults, Results, Row};
pub use runs::{CaseRuns, Runs};
pub use tables::tables;
pub(crate) use tables::{SILENT, metric_words, number};

/// A cell and its values, one for each replication.
pub type Measured = (Cell, Vec<f64>);

/// A study that can be reproduced.
#[derive(Debug)]
pub struct Paper {
    /// The name on the command line.
    pub name: &'static str,
    /// Author, year and title.
    pub title: &'static str,
    /// The files of the paper.
    pub files: Files,
    /// The value of a cell: one number for each replication, or a single one where nothing is random. `None` where
    /// the experiment has no run for it.
    pub values: fn(&Cell, &Runs<'_>) -> Option<Vec<f64>>,
    /// The values that the runs of an experiment have beyond the published cells. They are reported under an id that
    /// begins with `ours/`.
    pub further: fn(&Runs<'_>) -> Vec<Measured>,
    /// The claims that the results can decide. A claim whose experiments were not run is left out.
    pub claims: fn(&Results) -> Vec<Claim>,
}

/// The files of a paper, which are built in.
#[derive(Debug)]
pub struct Files {
    /// The published values: JSON with `experiments`, each with an `id` and `results`; a result has `scheme`,
    /// `metric`, `value` (null where none was published) and further keys.
    pub published: &'static str,
    /// The runs that each experiment consists of: TOML in the format that `plan.rs` describes.
    pub plan: &'static str,
    /// The scenario files that the plan and these files themselves name, with their texts.
    pub scenarios: &'static [(&'static str, &'static str)],
}

/// All papers.
pub const PAPERS: &[Paper] =
    &[liang91::PAPER, chen99::PAPER, yang01::PAPER, lee97::PAPER, gong92::PAPER, bless25::PAPER];

/// The paper of this name.
pub fn find(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.name == name)
}
