//! `thalweg import`: experiments in the formats of other simulators, run here.

use crate::console_output::{CommandResult, Console, Error};
use crate::value_parsers::integer_parser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_proto::units::{Duration, Time};
use thalweg_report::output::{Align, Table};
use thalweg_report::parallel_batch::{self, Job, Progress};
use thalweg_scenario::import::c4::{self, Choices, ImportedScenario};
use thalweg_scenario::{load_with, read_text};
use thalweg_sim::RunResult;
use thalweg_sim::packet_trace::NoTrace;

/// `thalweg import`.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// A specification of C4's test cases, in the format of picoquic's simulator
    C4(C4Arguments),
}

/// `thalweg import c4`.
#[derive(Debug, Args)]
pub struct C4Arguments {
    /// Specification file: lines of `key: value`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output file of the scenario; default: beside the specification with the extension `.toml`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an algorithm with a scheme ("c4=bbr"); may be repeated
    #[arg(long, value_name = "ALGORITHM=SCHEME", value_parser = parse_pair)]
    pub scheme: Vec<(String, String)>,
    /// Ignore a key that cannot be expressed; may be repeated
    #[arg(long, value_name = "KEY")]
    pub skip: Vec<String>,
    /// Number of seeds; the worst run counts, as the specification's bound applies to each of 100 runs there
    #[arg(long, value_name = "N", default_value = "10", value_parser = integer_parser::<u32>(1, 10_000))]
    pub reps: u32,
    /// First seed
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl Import {
    /// Returns true if only results and errors are printed.
    pub const fn is_quiet(&self) -> bool {
        let Self::C4(arguments) = self;
        arguments.quiet
    }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((algorithm, scheme)) if !algorithm.is_empty() && !scheme.is_empty() => {
            Ok((algorithm.to_owned(), scheme.to_owned()))
        }
        _ => Err("expected an algorithm there and a scheme here, such as `c4=bbr`".to_owned()),
    }
}

/// Writes the scenario, runs it, and prints its time beside the bound.
pub fn import(import: &Import, console: &Console) -> CommandResult {
    let Import::C4(arguments) = import;
    let C4Arguments { file, out, scheme, skip, reps, seed, json, .. } = arguments;
    let of_file = |error: &dyn std::fmt::Display| Error::Usage(format!("{}: {error}", file.display()));
    let text = read_text(file).map_err(|error| of_file(&error))?;
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let choices = Choices { schemes: scheme.clone(), skip: skip.clone() };
    let ImportedScenario { scenario, bound } =
        c4::import_c4(&name, &text, &choices).map_err(|error| of_file(&error))?;
    let place = out.clone().unwrap_or_else(|| file.with_extension("toml"));
    if place == *file {
        return Err(Error::Usage(format!("`{}` would overwrite the specification", place.display())));
    }
    fs::write(&place, scenario)
        .map_err(|error| Error::Failed(format!("cannot write to `{}`: {error}", place.display())))?;
    console.inform(&format!("Written: {}", place.display()));
    let times = simulate_completion_times(&place, *reps, *seed, console)?;
    if *json {
        return console.print(&format!("{}\n", times_document(&name, &times, bound)));
    }
    console.print(&times_table(&times, bound).render(console.style))
}

/// Returns the sorted completion times of the main flow in all runs; unfinished runs (`None`) come last.
fn simulate_completion_times(
    scenario: &Path,
    reps: u32,
    seed: u64,
    console: &Console,
) -> Result<Vec<Option<Duration>>, Error> {
    let loaded = load_with(scenario, &[], &console.registry).map_err(Error::Scenario)?;
    console.warn(&loaded.warnings);
    let spec = Arc::new(loaded.spec().clone());
    let jobs: Vec<Job> = (0..u64::from(reps))
        .map(|rep| Job { spec: Arc::clone(&spec), seed: seed.wrapping_add(rep), events: None, threads: 1 })
        .collect();
    let progress = Progress::new(&jobs, Arc::new(AtomicBool::new(false)));
    let mut times = Vec::with_capacity(jobs.len());
    let each = |_, result: RunResult, _, _| {
        let main = result.flows.iter().find(|flow| flow.name == c4::MAIN);
        times.push(main.and_then(|flow| flow.finished).map(|end| end.since(Time::ZERO)));
    };
    parallel_batch::run_jobs(&jobs, 1, &progress, |_| NoTrace, each, || {})
        .map_err(|failed| Error::Failed(format!("the scenario cannot be simulated: {}", failed.error)))?;
    times.sort_by_key(|time| (time.is_none(), *time));
    Ok(times)
}

/// Returns the number of runs that finished within the bound.
fn count_within_bound(times: &[Option<Duration>], bound: Duration) -> usize {
    times.iter().flatten().filter(|time| **time <= bound).count()
}

fn format_seconds(time: Option<Duration>) -> String {
    time.map_or_else(|| "not done".to_owned(), |time| format!("{:.3} s", time.as_secs_f64()))
}

fn times_table(times: &[Option<Duration>], bound: Option<Duration>) -> Table {
    let mut table = Table::new([("Completion", Align::Left), ("", Align::Right)]);
    let median = times.get(times.len() / 2).copied().flatten();
    table.row([
        "bound of the specification".to_owned(),
        bound.map_or_else(|| "none".to_owned(), |time| format_seconds(Some(time))),
    ]);
    table.row(["minimum here".to_owned(), format_seconds(times.first().copied().flatten())]);
    table.row(["median here".to_owned(), format_seconds(median)]);
    table.row(["maximum here".to_owned(), format_seconds(times.last().copied().flatten())]);
    if let Some(bound) = bound {
        table.row([
            "within the bound".to_owned(),
            format!("{} of {}", count_within_bound(times, bound), times.len()),
        ]);
    }
    table
}

fn times_document(name: &str, times: &[Option<Duration>], bound: Option<Duration>) -> Value {
    let of = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    json!({
        "specification": name,
        "bound_s": of(bound),
        "completion_s": times.iter().map(|time| of(*time)).collect::<Vec<_>>(),
        "within": bound.map(|bound| count_within_bound(times, bound)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_not_done_are_beyond_any_bound() {
        let ms = |millis| Some(Duration::from_millis(millis));
        let times = [ms(900), ms(1000), ms(1001), None];
        assert_eq!(count_within_bound(&times, Duration::from_secs(1)), 2);
        let document = times_document("a.txt", &times, ms(1000));
        assert_eq!((&document["within"], &document["completion_s"][3]), (&json!(2), &Value::Null));
    }

    #[test]
    fn an_algorithm_has_a_scheme() {
        assert_eq!(parse_pair("c4=bbr"), Ok(("c4".to_owned(), "bbr".to_owned())));
        for bad in ["c4", "=bbr", "c4="] {
            assert!(parse_pair(bad).unwrap_err().contains("such as `c4=bbr`"), "{bad}");
        }
    }
}
