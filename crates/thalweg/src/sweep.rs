//! `thalweg sweep`: a scenario over ranges of values, schemes and seeds.

use crate::batch_progress::counting_runs;
use crate::cluster_workers::{Cluster, unfinished_runs_error};
use crate::console_output::{CommandResult, Console, Error};
use crate::report::ReportTarget;
use crate::run_and_compare::{available_memory, uncontrolled_agents_warning};
use crate::scenario_sources::Source;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::value_parsers::parse_positive;
use crate::version::program_identity;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use thalweg_report::output::{REPORT, format_count};
use thalweg_report::results::Goal;
use thalweg_scenario::{Diagnostic, LoadedScenario, SchemeOverride, SweepFile, group_named, read_sweep};
use thalweg_sweep::{
    Budget, Document, FailedPoint, LoadError, PointResult, Purpose, Store, Sweep, SweepError, page,
};

/// `thalweg sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// Sweep file: a scenario, and the factors to vary
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Results folder, which stores each finished run; default: named after the file
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// List the points without running them
    #[arg(long)]
    pub list: bool,
    /// Run only every Nth point, starting with the Ith, so that N processes share the points of one folder
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub shard: Option<(u32, u32)>,
    /// Number of simulations to run in parallel; default: one per processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Distribute the runs to the workers of a Dask scheduler, given its address or its file
    #[arg(long, value_name = "ADDRESS", conflicts_with = "list")]
    pub cluster: Option<String>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with heat maps and tables, into the results folder or FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Parses a shard: "2/4" is the second of four.
fn parse_shard(text: &str) -> Result<(u32, u32), String> {
    let part = |text: &str| text.trim().parse::<u32>().ok();
    let parts = text.split_once('/').and_then(|(number, all)| Some((part(number)?, part(all)?)));
    let shard = parts.filter(|(number, all)| (1..=*all).contains(number));
    shard.map(|(number, all)| (number - 1, all)).ok_or_else(|| "expected I/N, such as 1/4 to 4/4".to_owned())
}

/// Makes the missing runs of a sweep, and shows the results of all.
pub fn sweep(arguments: &SweepArguments, console: &Console) -> CommandResult {
    let file = read_sweep(&arguments.file).map_err(Error::Scenario)?;
    let source = scenario_of(&file, &arguments.file)?;
    let budget = sweep_budget(&file)?;
    let max_runs = match budget {
        Budget::Runs(runs) | Budget::Until(_, runs) => runs,
    };
    let (agents, equal_runs) = (Mutex::new(None), Mutex::new((0_usize, None)));
    let load =
        |sets: &[String], scheme_override: Option<SchemeOverride<'_>>| -> Result<LoadedScenario, LoadError> {
            let loaded = source.load_with_override(sets, scheme_override, &console.registry);
            let loaded = loaded.map_err(|error| match error {
                Error::Scenario(found) => LoadError::Scenario(found),
                error => LoadError::Other(error.to_string()),
            })?;
            if let Some(warning) = uncontrolled_agents_warning([loaded.spec()]) {
                *agents.lock().unwrap_or_else(PoisonError::into_inner) = Some(warning);
            }
            let mut equal_runs = equal_runs.lock().unwrap_or_else(PoisonError::into_inner);
            match loaded.check_replications(max_runs) {
                Some(found) => equal_runs.1 = Some(found.message),
                None => equal_runs.0 += 1,
            }
            Ok(loaded)
        };
    let stop = stop_flag_of_caller_or_signals(console)?;
    let program = program_identity(&console.registry)?;
    let mut sweep = Sweep::new(&file, &load, (budget.clone(), &program), stop).map_err(error_of)?;
    sweep.threads =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    sweep.shard = arguments.shard.unwrap_or((0, 1));
    let is_shard = sweep.shard.1 > 1;
    // Workers check their own memory.
    sweep.memory = available_memory().filter(|_| arguments.cluster.is_none());
    // The scenario itself may have agents, in place of which its points have other schemes.
    *agents.lock().unwrap_or_else(PoisonError::into_inner) = None;
    *equal_runs.lock().unwrap_or_else(PoisonError::into_inner) = (0, None);
    sweep.check().map_err(error_of)?;
    if sweep.plan.factors.is_empty() {
        // What is wrong with the only point is reported with its failure.
        let _ = sweep.spec(0);
    }
    if let Some(warning) = agents.lock().unwrap_or_else(PoisonError::into_inner).take() {
        console.warn_of_runs(&warning);
    }
    let (random, equal) = std::mem::take(&mut *equal_runs.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(message) = equal {
        let points = if random > 0 { "at some points " } else { "" };
        console.warn_of_runs(&format!("{points}{message}"));
    }
    if let (Budget::Until(goal, _), Some(until)) = (&budget, &file.until) {
        // A point that cannot run says so later.
        let runnable = (0..sweep.plan.points.len()).find_map(|point| sweep.spec(point).ok());
        if let Some((spec, group)) = runnable.zip(goal.group.as_ref()) {
            group_named(&spec, group)
                .map_err(|why| Error::Scenario(vec![file.error(until.place.clone(), why, None)]))?;
        }
    }
    let rerun = |point: usize, seed: u64| rerun_command(&console.program, &sweep, &source, point, seed);
    if arguments.list {
        return list_runs(&sweep, rerun, console);
    }
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    let folder = arguments.out.clone().unwrap_or_else(|| {
        PathBuf::from(arguments.file.file_stem().map_or_else(|| "sweep".into(), ToOwned::to_owned))
    });
    let place = ReportTarget::of(arguments.report.as_ref(), REPORT, true, "")?;
    if is_shard && matches!(place, Some(ReportTarget::Folder(_))) {
        let why = "the page in the folder is of all shards: leave out the shard once they are complete";
        return Err(Error::argument("report", why.to_owned()));
    }
    let store = Store::open(&folder, Purpose::SWEEP).map_err(|error| Error::Usage(error.to_string()))?;
    let lock = (!is_shard).then(|| store.lock()).transpose();
    let _lock = lock.map_err(|error| Error::Failed(error.to_string()))?;
    let cluster = arguments.cluster.as_ref();
    let cluster = cluster.map(|address| Cluster::connect(address, console)).transpose()?;
    let made = run_sweep(&sweep, &store, cluster, console)?;
    let first_runs: Vec<Option<&str>> =
        made.iter().map(|of| of.runs.first().map(|(_, name)| name.as_str())).collect();
    for factor in sweep.plan.factors_without_effect(&first_runs) {
        console.warn_of_runs(&format!(
            "`{factor}` changes nothing: the scenario is the same with all of its values, as where each link or flow has a \
             value of its own, or another factor sets it"
        ));
    }
    let document = Document::new(&sweep, &made, &store, rerun).map_err(|error| {
        let folder = folder.display();
        Error::Failed(format!("`{folder}`: cannot write the tables: {error}; stored runs are not lost"))
    })?;
    let keep = |name: &str, text: &str| {
        store.write(name, text.as_bytes()).map_err(|error| Error::Failed(error.to_string()))
    };
    match place {
        Some(ReportTarget::Folder(name)) => keep(name, &page(&document, &sweep.plan))?,
        Some(place) => place.write(page(&document, &sweep.plan), None, console)?,
        // A page of an earlier call would show other results than the folder holds.
        None if !is_shard && store.path(REPORT).exists() => {
            keep(REPORT, &page(&document, &sweep.plan))?;
        }
        None => {}
    }
    // Each of several processes knows only its own points and would write an incomplete document, as well as tables.
    if !is_shard {
        keep("results.json", &document.to_json())?;
    }
    store.remove_temporary_files();
    console.inform(&format!("Results are in {}", folder.display()));
    match arguments.json {
        true => console.print(&document.to_json())?,
        false => console.print(&document.summary(&budget, console.style))?,
    }
    check_results(&sweep, &made, &document, console)
}

/// Resolves the scenario named in the file, relative to the file's folder.
fn scenario_of(file: &SweepFile, path: &Path) -> Result<Source, Error> {
    let name = Path::new(&file.scenario.text);
    let beside = path.parent().unwrap_or(Path::new("")).join(name);
    let found = if beside.is_file() { Source::find(&beside) } else { Source::find(name) };
    found.map_err(|error| {
        let help = "a file is found from the folder of the sweep".to_owned();
        let is_unknown_name = matches!(error, Error::UnknownName(_));
        let found = file.error(file.scenario.place.clone(), error.to_string(), Some(help));
        Error::Scenario(vec![Diagnostic { is_unknown_name, ..found }])
    })
}

fn sweep_budget(file: &SweepFile) -> Result<Budget, Error> {
    let Some(until) = &file.until else { return Ok(Budget::Runs(file.replications.unwrap_or(1))) };
    let goal: Goal = until
        .text
        .parse()
        .map_err(|why| Error::Scenario(vec![file.error(until.place.clone(), why, None)]))?;
    Ok(Budget::Until(goal, file.max_replications.unwrap_or(100)))
}

fn error_of(error: SweepError) -> Error {
    match error {
        SweepError::Scenario(found) => Error::Scenario(found),
        SweepError::Other(why) => Error::Usage(why),
    }
}

fn run_sweep(
    sweep: &Sweep<'_>,
    store: &Store,
    cluster: Option<Cluster<'_>>,
    console: &Console,
) -> Result<Vec<PointResult>, Error> {
    let mut cluster = cluster;
    let made = counting_runs(console, "", |tick| {
        sweep.run(store, cluster.as_mut().map(|cluster| &mut cluster.engine), tick)
    });
    match made {
        Ok(made) => {
            cluster.and_then(Cluster::end);
            Ok(made)
        }
        Err(error) => Err(unfinished_runs_error(&error, cluster)),
    }
}

/// Returns the command that repeats one run of a point.
fn rerun_command(program: &str, sweep: &Sweep<'_>, source: &Source, point: usize, seed: u64) -> String {
    let quoted = |text: &str| {
        let is_plain =
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,=".contains(c));
        if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let file = quoted(&source.argument());
    let swept_flows = &sweep.file.flows;
    let mut command = match sweep.scheme(point) {
        Some(scheme) if swept_flows.is_empty() => {
            format!("{program} compare {file} --schemes {}", quoted(scheme))
        }
        _ => format!("{program} run {file}"),
    };
    command.push_str(&format!(" --seed {seed}"));
    for flows in swept_flows {
        let set = format!("flow.{}.scheme={}", flows.text, sweep.scheme(point).unwrap_or_default());
        command.push_str(&format!(" --set {}", quoted(&set)));
    }
    for set in sweep.sets(point) {
        command.push_str(&format!(" --set {}", quoted(&set)));
    }
    command
}

fn list_runs(sweep: &Sweep<'_>, rerun: impl Fn(usize, u64) -> String, console: &Console) -> CommandResult {
    let (index, all) = sweep.shard;
    let points = (0..sweep.plan.points.len()).filter(|point| *point as u32 % all == index);
    let text: String = points.map(|point| rerun(point, sweep.seed) + "\n").collect();
    console.print(&text)
}

/// Fails if points have no results or incomplete ones.
fn check_results(
    sweep: &Sweep<'_>,
    made: &[PointResult],
    document: &Document,
    console: &Console,
) -> CommandResult {
    let mut reasons: Vec<(&FailedPoint, usize)> = Vec::new();
    for failed in &document.failed {
        let is_below_limit = reasons.len() < MAX_REPORTED;
        match reasons.iter_mut().find(|(other, _)| other.why == failed.why) {
            Some((_, count)) => *count += 1,
            None if is_below_limit => reasons.push((failed, 0)),
            None => {}
        }
    }
    for (failed, others) in reasons {
        let values: Vec<String> =
            failed.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let alike = match others {
            0 => String::new(),
            others => format!("\nand {} in the same way", format_count(others as u64, "other point")),
        };
        console.report_problem(&format!(
            "point {} ({}) failed: {}\nagain: {}{alike}",
            failed.point,
            values.join(", "),
            failed.why,
            failed.command
        ));
    }
    if sweep.stop.load(Ordering::Relaxed) {
        let done = made.iter().map(|of| of.runs.len()).sum::<usize>();
        return Err(Error::Failed(format!(
            "interrupted after {}: repeat the call to continue",
            format_count(done as u64, "run")
        )));
    }
    if !document.failed.is_empty() {
        let count = document.failed.len();
        return Err(Error::Failed(format!("{} of {} points failed", count, made.len())));
    }
    if document.points.iter().any(|point| point.reached == Some(false)) {
        return Err(Error::Failed("the interval of `until` was not reached at all points".to_owned()));
    }
    Ok(())
}

/// Maximum number of reported failure reasons.
const MAX_REPORTED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!((parse_shard("1/1"), parse_shard("4/4")), (Ok((0, 1)), Ok((3, 4))));
        for text in ["0/4", "5/4", "4", "a/b", "1/0"] {
            assert!(parse_shard(text).unwrap_err().contains("I/N"), "{text}");
        }
    }
}
