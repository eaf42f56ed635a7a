//! Reproductions of published studies: published values, simulation results, and the claims that both support.
//!
//! A [`Paper`] has three parts: the published values (a JSON file of experiments with results), a plan (a TOML file
//! with the scenario and the varied keys of each experiment), and the meaning of each metric and claim. The rest is
//! common code: [`prepare_paper`] executes the runs, [`PreparedPaper::results`] joins their measurements with the published values
//! by key.

/// Embeds the files of a paper: its published values and the files in `scenarios/papers/NAME`, the scenarios by name.
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
mod claim;
mod evidence;
mod experiment_plan;
mod experiment_runs;
mod gong92;
mod lee97;
mod liang91;
mod paper_results;
mod paper_tables;
mod published_values;
mod results_page;
mod run_preparation;
mod yang01;

pub use claim::{Claim, Verdict, VerdictCounts};
pub use experiment_runs::{Case, CaseRuns, Runs};
pub use paper_results::{ExperimentResults, Results, Row};
pub use paper_tables::format_tables;
pub(crate) use paper_tables::{HIDDEN_KEYS, format_number, metric_words};
pub use published_values::{Cell, Experiment, PublishedValues};
pub use results_page::paper_report;
pub use run_preparation::{Choice, PaperError, PreparedPaper, collapse_identical_runs, prepare_paper};

use thalweg_sim::{Quantity, RunResult};

/// Cell with its values, one per replication.
pub type MeasuredCell = (Cell, Vec<f64>);

/// Reproducible study.
#[derive(Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// Author, year and title.
    pub title: &'static str,
    /// Kind of publication in a sentence, such as `thesis`.
    pub kind: &'static str,
    /// The files of the paper.
    pub files: Files,
    /// Quantities whose series `values` and `further` read.
    pub series: &'static [Quantity],
    /// Value of a cell: one number per replication, or a single one for deterministic runs. `None` if the experiment
    /// has no run for it.
    pub values: fn(&Cell, &Runs<'_>) -> Option<Vec<f64>>,
    /// Values of an experiment's runs beyond the published cells, reported under an id that begins with `ours/`.
    pub further: fn(&Runs<'_>) -> Vec<MeasuredCell>,
    /// Claims that the results can decide. A claim whose experiments were not run is left out.
    pub claims: fn(&Results) -> Vec<Claim>,
}

impl Paper {
    /// Drops the series of a run that the metrics do not read: a study holds its runs until the last one ends.
    pub fn drop_unread_series(&self, run: &mut RunResult) {
        run.series.retain(|series| self.series.contains(&series.quantity));
        run.series.iter_mut().for_each(|series| series.points.shrink_to_fit());
        run.series.shrink_to_fit();
    }
}

/// Built-in files of a paper.
#[derive(Debug)]
pub struct Files {
    /// The published values: JSON with `experiments`, each with an `id` and `results`; a result has `scheme`,
    /// `metric`, `value` (null where none was published) and further keys.
    pub published: &'static str,
    /// Runs of each experiment: TOML in the format described in `plan.rs`.
    pub plan: &'static str,
    /// Scenario files named by the plan and by each other, with their texts.
    pub scenarios: &'static [(&'static str, &'static str)],
}

/// All papers.
pub const PAPERS: &[Paper] =
    &[liang91::PAPER, chen99::PAPER, yang01::PAPER, lee97::PAPER, gong92::PAPER, bless25::PAPER];

/// Returns the paper with this name.
pub fn find_paper(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.name == name)
}
