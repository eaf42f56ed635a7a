//! `thalweg infer`: infers the path of a recording, and repeats the run in the simulator.

use crate::console::{Console, Done, Error};
use crate::doctor::this_host;
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_catalog::Registry;
use thalweg_report::batch::{self, Job, Progress};
use thalweg_report::infer::{Losses, Path, Recording, scenario};
use thalweg_report::output::{Align, Table};
use thalweg_scenario::{Reader, check_host, load_with};
use thalweg_sim::trace::NoTrace;
use thalweg_sim::{Quantity, RunResult};

/// `thalweg infer`.
#[derive(Debug, Args)]
pub struct InferArguments {
    /// Recording written by --record of `send` or `bench client`
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// Output folder of the scenario; default: named after the recording
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Model of both hosts in the simulated run: a name ("linux-server"), a table as `thalweg doctor` prints it, or
    /// `here` to measure this host; default: ideal hosts
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Seed of the simulated run
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Maximum size of a recording: about two million packets.
const MAX_RECORDING: u64 = 512 << 20;

/// The outcome of a run, recorded or simulated.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    goodput: f64,
    shortest: f64,
    smoothed: f64,
    retransmitted: f64,
}

/// Infers the path, writes the scenario, simulates it, and shows both runs.
pub fn infer(arguments: &InferArguments, console: &Console) -> Done {
    let InferArguments { recording: file, out, host, seed, json, .. } = arguments;
    let host = host.as_deref().map(host_of).transpose()?;
    let bytes = Reader::new(MAX_RECORDING)
        .bytes(file)
        .map_err(|error| Error::Usage(format!("{}: {error}", file.display())))?;
    let unusable = |error: &dyn std::fmt::Display| Error::Failed(format!("{}: {error}", file.display()));
    let recording = Recording::read(&bytes).map_err(|error| unusable(&error))?;
    let path = Path::infer(&recording).map_err(|error| unusable(&error))?;
    let folder = out.clone().unwrap_or_else(|| file.with_extension(""));
    let scenario = write(&folder, &recording, &path, host.as_deref(), &console.registry)?;
    console.inform(&format!("Written: {}", scenario.display()));
    let live = recorded(&recording);
    let again = simulate(&scenario, *seed, &console.registry)?;
    if *json {
        return console.print(&format!("{}\n", document(&path, &live, &again)));
    }
    let words = console.style.folded(&describe(&path));
    console.print(&format!("{words}\n\n{}", table(&live, &again).render(console.style)))
}

/// Converts a host option into a scenario value.
fn host_of(given: &str) -> Result<String, Error> {
    let host = match given {
        "here" => return this_host(),
        table if table.trim_start().starts_with('{') && !table.contains(['\n', '\r']) => table.to_owned(),
        name => Value::from(name).to_string(),
    };
    check_host("--host", &host).map_err(Error::Scenario)?;
    Ok(host)
}

fn write(
    folder: &FilePath,
    recording: &Recording,
    path: &Path,
    host: Option<&str>,
    registry: &Registry,
) -> Result<PathBuf, Error> {
    const TRACE: &str = "path.trace";
    let failed = |error: &dyn std::fmt::Display| {
        Error::Failed(format!("cannot write to `{}`: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    if let Some(trace) = &path.trace {
        let file = fs::File::create(folder.join(TRACE)).map_err(|error| failed(&error))?;
        trace.write(std::io::BufWriter::new(file)).map_err(|error| failed(&error))?;
    }
    let place = folder.join("scenario.toml");
    let text = scenario::scenario(recording, path, TRACE, host, registry)
        .map_err(|error| Error::Failed(format!("the scheme of the recording: {error}")))?;
    fs::write(&place, text).map_err(|error| failed(&error))?;
    Ok(place)
}

fn simulate(scenario: &FilePath, seed: u64, registry: &Arc<Registry>) -> Result<Outcome, Error> {
    let loaded = load_with(scenario, &[], registry).map_err(Error::Scenario)?;
    let job = Job { spec: Arc::new(loaded.spec().clone()), seed, events: None, threads: 1 };
    let jobs = [job];
    let progress = Progress::new(&jobs, Arc::new(AtomicBool::new(false)));
    let mut outcome = Outcome::default();
    let each = |_, result: RunResult, _, _| outcome = simulated(&result);
    batch::run(&jobs, 1, &progress, |_| NoTrace, each, || {})
        .map_err(|failed| Error::Failed(format!("the scenario cannot be simulated: {}", failed.error)))?;
    Ok(outcome)
}

fn recorded(recording: &Recording) -> Outcome {
    let shortest = recording.round_trips().iter().map(|trip| trip.1).fold(f64::INFINITY, f64::min);
    Outcome {
        goodput: recording.delivered() as f64 * 8.0 / recording.seconds.max(1e-9),
        shortest,
        smoothed: mean(recording.smoothed.iter().map(|(_, rtt)| *rtt)),
        retransmitted: recording.retransmitted(),
    }
}

fn simulated(result: &RunResult) -> Outcome {
    let Some(flow) = result.flows.first() else { return Outcome::default() };
    let series =
        result.series.iter().filter(|series| series.quantity == Quantity::Rtt && series.subject == 0);
    let smoothed = series.flat_map(|series| &series.points).map(|(_, rtt)| *rtt).filter(|rtt| *rtt > 0.0);
    Outcome {
        goodput: flow.goodput.as_f64(),
        shortest: flow.min_rtt.as_secs_f64(),
        smoothed: mean(smoothed),
        retransmitted: flow.retransmissions as f64 / flow.sent_packets.max(1) as f64,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// Formats a rate in bit/s with this number of decimals.
fn per_second(rate: f64, digits: usize) -> String {
    let (unit, name) = if rate < 1e9 { (1e6, "Mbit/s") } else { (1e9, "Gbit/s") };
    format!("{:.digits$} {name}", rate / unit)
}

/// Describes the path as text.
fn describe(path: &Path) -> String {
    let rate = per_second(path.rate.as_f64(), 4);
    let rate = match (path.was_filled, &path.trace) {
        (true, None) => rate,
        (true, Some(_)) => format!("{rate} in the middle, and varies (path.trace)"),
        (false, _) => format!("{rate} or more (it was never filled)"),
    };
    let losses = match path.losses {
        Losses::Independent(share) => format!("{:.3} %, each by itself", share * 100.0),
        Losses::Gilbert { good_to_bad, bad_to_good } => format!(
            "{:.3} % in runs of {:.1}",
            100.0 * good_to_bad / (good_to_bad + bad_to_good),
            1.0 / bad_to_good
        ),
    };
    let queue = match (path.was_filled, path.queue_was_full) {
        (true, true) => "full at times",
        (true, false) => "never full, so maybe longer",
        (false, _) => "or more (it was never filled)",
    };
    format!(
        "Rate        {rate}\nRound trip  {:.3} ms\nQueue       {}, {queue}\nLosses      {losses}; {} more by the full queue",
        path.round_trip.as_millis_f64(),
        path.queue,
        path.overflows
    )
}

fn rows(of: &Outcome) -> [String; 4] {
    [
        per_second(of.goodput, 2),
        format!("{:.2} ms", of.shortest * 1e3),
        format!("{:.2} ms", of.smoothed * 1e3),
        format!("{:.2} %", of.retransmitted * 100.0),
    ]
}

fn table(live: &Outcome, again: &Outcome) -> Table {
    let names = ["Goodput", "Shortest round trip", "Smoothed round trip, mean", "Retransmitted packets"];
    let [recorded, simulated, error] = ["Recorded", "Simulated", "Error"].map(|name| (name, Align::Right));
    let mut table = Table::new([("", Align::Left), recorded, simulated, error]);
    let percent = |error: f64| format!("{:+.1} %", error * 100.0);
    let [goodput, shortest, smoothed, retransmitted] = errors(live, again);
    let points = retransmitted.map(|retransmitted| format!("{:+.2} points", retransmitted * 100.0));
    let errors = [goodput.map(percent), shortest.map(percent), smoothed.map(percent), points];
    for (((name, live), again), error) in names.into_iter().zip(rows(live)).zip(rows(again)).zip(errors) {
        table.row([name.to_owned(), live, again, error.unwrap_or_default()]);
    }
    table
}

/// Returns the errors of the simulated run, relative to the recorded values; for the retransmitted share, the
/// difference in points.
fn errors(live: &Outcome, again: &Outcome) -> [Option<f64>; 4] {
    let of = |live: f64, again: f64| (live > 0.0 && live.is_finite()).then(|| again / live - 1.0);
    [
        of(live.goodput, again.goodput),
        of(live.shortest, again.shortest),
        of(live.smoothed, again.smoothed),
        Some(again.retransmitted - live.retransmitted),
    ]
}

fn document(path: &Path, live: &Outcome, again: &Outcome) -> Value {
    let of = |outcome: &Outcome| {
        json!({
            "goodput_bps": outcome.goodput,
            "min_rtt_s": outcome.shortest,
            "mean_smoothed_rtt_s": outcome.smoothed,
            "retransmitted_share": outcome.retransmitted,
        })
    };
    let losses = match path.losses {
        Losses::Independent(share) => json!({ "model": "independent", "probability": share }),
        Losses::Gilbert { good_to_bad, bad_to_good } => {
            json!({ "model": "gilbert-elliott", "good_to_bad": good_to_bad, "bad_to_good": bad_to_good })
        }
    };
    let [goodput, shortest, smoothed, retransmitted] = errors(live, again);
    json!({
        "path": {
            "rate_bps": path.rate.as_bits_per_sec(),
            "was_filled": path.was_filled,
            "varies": path.trace.is_some(),
            "round_trip_s": path.round_trip.as_secs_f64(),
            "queue_bytes": path.queue.get(),
            "queue_was_full": path.queue_was_full,
            "losses": losses,
            "overflows": path.overflows,
        },
        "recorded": of(live),
        "simulated": of(again),
        "error": {
            "goodput": goodput,
            "min_rtt": shortest,
            "mean_smoothed_rtt": smoothed,
            "retransmitted_share": retransmitted,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_unit_that_suits_them() {
        assert_eq!(per_second(10_783_120.0, 4), "10.7831 Mbit/s");
        assert_eq!(per_second(9_371_440_000.0, 2), "9.37 Gbit/s");
    }
}
