//! `thalweg paper`: reproduces published studies.

use crate::batch_execution::TableFiles;
use crate::batch_progress::Bar;
use crate::console_output::{ArgumentError, CommandResult, Console, Error};
use crate::report::ReportTarget;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::simulation_arguments::PaperArguments;
use crate::version::version;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thalweg_report::output::{Align, Folder, REPORT, Style, Table, format_count};
use thalweg_report::parallel_batch::{self, Progress};
use thalweg_report::results::{Document, Header, MARGIN, Run, Scenario};
use thalweg_scenario::{expand_scenario, is_random, nearest_name};
use thalweg_sim::RunResult;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_studies::paper::paper_report;
use thalweg_studies::paper::{self, Case, Choice, PAPERS, Paper, PaperError, PreparedPaper, Results};

/// Runs a paper's experiments, shows the results beside the published ones, and judges its claims.
pub fn paper(arguments: &PaperArguments, console: &Console) -> CommandResult {
    let paper = find_paper(&arguments.name)?;
    let choice = Choice {
        experiments: arguments.experiments.clone(),
        quick: arguments.quick,
        full: arguments.full,
        seed: arguments.seed,
        replications: arguments.reps.map(Into::into),
    };
    let prepared = paper::prepare_paper(paper, &choice).map_err(|error| match error {
        PaperError::NoExperiment { ref nearest, .. } => Error::Argument(ArgumentError {
            option: "experiment",
            value: None,
            why: error.to_string(),
            advice: nearest.is_none().then_some("--list shows them"),
            is_unknown_name: true,
        }),
        PaperError::Seeds | PaperError::Replications(_) => Error::Usage(error.to_string()),
        // The files are part of the program: this is an internal error.
        PaperError::Plan(_) | PaperError::Scenario { .. } => Error::Failed(error.to_string()),
    })?;
    if arguments.list {
        let mut table = Table::with_columns([("Experiment", Align::Left), ("Shows", Align::Left)]);
        let named = prepared
            .skipped_long
            .iter()
            .map(|id| (id.as_str(), "takes long; run only with --full or when named"));
        for (id, title) in prepared.listing().chain(named) {
            table.row(vec![id.to_owned(), title.to_owned()]);
        }
        return console.print(&table.render(console.style));
    }
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    for id in &prepared.skipped_long {
        console.inform(&format!("note: `{id}` takes long and is run only with --full or --experiment {id}"));
    }
    if let Some(minutes) = prepared.full_minutes.filter(|_| !arguments.quick) {
        console.inform(&format!(
            "note: runs are as long as the claims need; --full makes all in full length, with {} of processor time",
            format_count(u64::from(minutes), "minute")
        ));
    }
    let folder = arguments.out.as_deref().map(Folder::create).transpose()?;
    let place = ReportTarget::of(arguments.report.as_ref(), REPORT, folder.is_some(), paper.name)?;
    let runs = run_paper(&prepared, folder.as_ref(), arguments.jobs, console)?;
    if let Some(broken) = runs.iter().find(|run| !run.conservation.holds()) {
        return Err(Error::Failed(format!(
            "seed {}: packets are not conserved, which is a bug in the simulator; please report it",
            broken.seed
        )));
    }
    let results = prepared.results(runs);
    if let Some(place) = place {
        let page = paper_report(paper.title, version(), &results.to_json()).map_err(Error::Failed)?;
        place.write(&page, folder.as_ref(), console)?;
    }
    if let Some(folder) = folder {
        let tables = paper::format_tables(&results, Style::PLAIN);
        folder.write_paper(paper.title, version(), &results.to_json(), &tables)?;
        console.inform(&format!("Results are in {}", folder.commit()?.display()));
    }
    if arguments.json {
        console.print(&results.to_json())?;
    } else {
        console.print(&paper::format_tables(&results, console.style))?;
    }
    if !results.complete {
        return Err(Error::Failed("interrupted: the results are partial".to_owned()));
    }
    if arguments.check { check_claims(&results, console) } else { Ok(()) }
}

fn find_paper(name: &str) -> Result<&'static Paper, Error> {
    paper::find_paper(name).ok_or_else(|| {
        let names = || PAPERS.iter().map(|paper| paper.name);
        let help = match nearest_name(name, names()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        Error::UnknownName(format!("there is no paper `{name}`; {help}"))
    })
}

/// Runs all experiments; writes each run's files to the folder as soon as it ends.
fn run_paper(
    prepared: &PreparedPaper,
    folder: Option<&Folder>,
    threads: Option<NonZeroUsize>,
    console: &Console,
) -> Result<Vec<RunResult>, Error> {
    let jobs = prepared.jobs();
    let stop = stop_flag_of_caller_or_signals(console)?;
    let progress = Progress::new(&jobs, Arc::clone(&stop));
    let threads = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let bar = Bar::new(&progress, console);
    let mut results: Vec<RunResult> = Vec::with_capacity(jobs.len());
    let mut failed = None;
    let mut cases = prepared.cases.iter().peekable();
    let needs_all_series = |job: usize| {
        folder.is_some() && prepared.cases.iter().any(|case| case.series && case.jobs.contains(&job))
    };
    let each = |job, mut result: RunResult, _, _| {
        if !needs_all_series(job) {
            prepared.paper().drop_unread_series(&mut result);
        }
        results.push(result);
        // Cases that share the runs of an earlier one are stored with it.
        while let Some(done) = cases.next_if(|case| case.jobs.end <= results.len()) {
            if let Some(Err(error)) =
                folder.map(|folder| store_case(folder, done, &results[done.jobs.clone()]))
            {
                stop.store(true, Ordering::Relaxed);
                failed.get_or_insert(error);
            }
        }
    };
    let outcome =
        parallel_batch::run_jobs(&jobs, threads, &progress, |_| NoTrace, each, || bar.show(&progress, ""));
    bar.finish(progress.simulated_micros() as f64 / 1e6, progress.events(), console);
    if let Err(failed) = outcome {
        let name = prepared.case_of_job(failed.job).map_or("", |case| case.name.as_str());
        return Err(Error::Failed(format!("{name} cannot be simulated: {}", failed.error)));
    }
    failed.map_or(Ok(results), Err)
}

/// Writes the results of a case like `thalweg run --out`.
fn store_case(folder: &Folder, case: &Case, results: &[RunResult]) -> Result<(), Error> {
    // If all seeds gave the same result, one run represents all.
    let results = paper::collapse_identical_runs(results);
    let folder = folder.run(&case.name)?;
    if case.series {
        let mut series = TableFiles::new(&folder)?;
        results.iter().try_for_each(|result| series.add("", result))?;
        series.finish()?;
    }
    let header = Header {
        tool_version: version().to_owned(),
        scenario: Scenario { title: case.scenario.title.clone(), file: format!("{}.toml", case.name) },
        duration: case.spec.duration,
        warmup: case.spec.warmup,
        seeds: case.seeds[..results.len()].to_vec(),
        deterministic: !is_random(&case.spec),
        margin: MARGIN,
        unlike_defaults: Vec::new(),
        contention: None,
        compared: Vec::new(),
    };
    let document = Document::from_runs(header, results.iter().map(Run::from_result).collect());
    Ok(folder.write_results(&document, &expand_scenario(&case.scenario))?)
}

/// Fails if a judged claim does not hold, or if none was judged. A claim that holds in direction, not in size, is not a failure.
fn check_claims(results: &Results, console: &Console) -> CommandResult {
    let failed: Vec<&str> = results.failed().map(|claim| claim.id.as_str()).collect();
    let summary = results.summary();
    if results.claims.is_empty() {
        let help = "a claim needs every experiment that it refers to";
        return Err(Error::Failed(format!(
            "nothing was checked: these experiments alone decide no claim; {help}"
        )));
    }
    if failed.is_empty() {
        console.inform(&summary);
        return Ok(());
    }
    Err(Error::Failed(format!("{summary}: {}", failed.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_studies::paper::{Claim, Verdict};

    #[test]
    fn a_claim_that_does_not_hold_fails_the_check() {
        let claim = |id: &str, verdict| Claim::new(id, "x", verdict, "1 < 2".to_owned());
        let results = |claims| Results { paper: "x", complete: true, experiments: Vec::new(), claims };
        let console = Console::new("thalweg", true, Arc::default());
        let nothing = check_claims(&results(Vec::new()), &console);
        assert!(matches!(nothing, Err(Error::Failed(message)) if message.starts_with("nothing was checked")));
        let judged = |verdicts: &[Verdict]| {
            let ids = ["1", "2"];
            check_claims(
                &results(ids.iter().zip(verdicts).map(|(id, of)| claim(id, *of)).collect()),
                &console,
            )
        };
        assert!(judged(&[Verdict::Holds]).is_ok());
        assert!(judged(&[Verdict::Holds, Verdict::SignOnly]).is_ok());
        let failed = judged(&[Verdict::Holds, Verdict::Fails]);
        let words = "1 of 2 claims of the paper hold; 1 do not: 2";
        assert!(matches!(failed, Err(Error::Failed(message)) if message == words));
    }
}
