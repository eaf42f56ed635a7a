//! Integration tests of `thalweg-studies`, in one program: it is linked once.

mod bless25;
mod chen99;
mod liang91;
mod rules_for_all_papers;
mod two_level_flow_control;
mod yang01;

use std::sync::Arc;
use thalweg_report::parallel_batch::{self, Progress};
use thalweg_sim::RunResult;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_studies::paper::PreparedPaper;

/// Returns the results of all runs of a paper, with the series that its metrics read, as the command keeps them.
fn runs_of(prepared: &PreparedPaper) -> Vec<RunResult> {
    let jobs = prepared.jobs();
    let progress = Progress::new(&jobs, Arc::default());
    let mut runs = Vec::with_capacity(jobs.len());
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let keep = |_, mut run: RunResult, _, _| {
        prepared.paper().drop_unread_series(&mut run);
        runs.push(run);
    };
    parallel_batch::run_jobs(&jobs, threads, &progress, |_| NoTrace, keep, || ()).unwrap();
    assert!(runs.iter().all(|run| run.conservation.holds()));
    runs
}
