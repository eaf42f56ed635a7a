//! `thalweg infer`: infers the path of a recorded transfer, and repeats the transfer in the simulator, also with other schemes.

use crate::console_output::{CommandResult, Console, Error};
use crate::doctor::host_model_of_this_host;
use crate::value_parsers::integer_parser;
use crate::view::{read_key_log, read_trace};
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_catalog::option_syntax::split_name;
use thalweg_catalog::{Environment, Registry};
use thalweg_net::flow::SchemeError;
use thalweg_proto::units::Duration;
use thalweg_report::infer::inferred_scenario::{InferredScenario, write_inferred_scenario};
use thalweg_report::infer::{Change, Interval, Losses, Path, Recording, capture_limitation};
use thalweg_report::output::{Align, Table, format_count, join_listed};
use thalweg_report::parallel_batch::{self, Job, Progress};
use thalweg_scenario::{LoadedScenario, check_host, load_text_with, load_with};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{Quantity, RunResult};

/// `thalweg infer`.
#[derive(Debug, Args)]
pub struct InferArguments {
    /// Recording by --record of `send` or `bench client`, or a qlog, pcap or pcapng of any sender
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// Decrypt QUIC in a capture by this key log (`SSLKEYLOGFILE` of the client or the server)
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Connection by its number in `thalweg view`; default: the one with most data
    #[arg(long, value_name = "N", value_parser = integer_parser::<usize>(0, usize::MAX))]
    pub connection: Option<usize>,
    /// Scheme to simulate, with options; default: that of the recording, or cubic if it does not name one
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    /// Also simulate the transfer with these schemes
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Output folder of the scenario; default: named after the recording
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Model of both hosts in the simulated run: a name ("linux-server"), a table as `thalweg doctor` prints it, or
    /// `here` to measure this host; default: ideal hosts
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Seed of the simulated run
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The outcome of a run, recorded or simulated.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    goodput: f64,
    shortest: f64,
    smoothed: f64,
    retransmitted: f64,
}

/// Infers the path, writes the scenario, simulates it, and shows both runs.
pub fn infer(arguments: &InferArguments, console: &Console) -> CommandResult {
    let InferArguments { recording: file, out, host, seed, json, connection, .. } = arguments;
    let host = host.as_deref().map(host_of).transpose()?;
    let registry = &console.registry;
    let refused = arguments.scheme.iter().chain(&arguments.schemes).filter_map(|scheme| {
        let error = registry.read_scheme(scheme, Environment::Live).err()?;
        Some(Error::of_scheme(&SchemeError::Text(error)).within(&format!("scheme `{scheme}`")))
    });
    Error::of_all(refused.collect())?;
    let unusable = |error: &dyn std::fmt::Display| Error::Failed(format!("{}: {error}", file.display()));
    let trace = read_trace(file, &read_key_log(arguments.keys.as_deref())?)?;
    trace.notes.iter().for_each(|note| console.inform(&format!("note: {note}")));
    let (mut recording, from, _) =
        Recording::of_trace(&trace, *connection).map_err(|error| unusable(&error))?;
    if trace.connections.len() > 1 {
        let count = format_count(trace.connections.len() as u64, "connection");
        console.inform(&format!("note: of {count}, {} (--connection N)", from.name));
    }
    from.notes.iter().map(String::as_str).chain(capture_limitation(from)).for_each(|note| {
        console.inform(&format!("note: {note}"));
    });
    let simulated = recording.simulated_scheme.take().filter(|scheme| {
        arguments.scheme.is_none() && registry.read_scheme(scheme, Environment::Simulated).is_ok()
    });
    match simulated {
        // The name alone, as the recording has it, may be one of the scenario's own.
        Some(simulated) => {
            recording.scheme = split_name(&simulated).0.to_owned();
            recording.simulated_scheme = Some(simulated);
        }
        None => recording.scheme = scheme_of(arguments.scheme.as_deref(), &recording, console),
    }
    let path = Path::infer(&recording).map_err(|error| unusable(&error))?;
    let folder = out.clone().unwrap_or_else(|| file.with_extension(""));
    let (scenario, more_transmission) =
        write_scenario(&folder, &recording, &path, host.as_deref(), registry)?;
    console.inform(&format!("Written: {}", scenario.display()));
    let live = recorded_outcome(&recording);
    let again = simulate_recording(&load_with(&scenario, &[], registry).map_err(Error::Scenario)?, *seed)?;
    let mut others = Vec::new();
    for scheme in &arguments.schemes {
        let instead = Recording { scheme: scheme.clone(), simulated_scheme: None, ..recording.clone() };
        let text = inferred_scenario(&instead, &path, host.as_deref(), registry)?.text;
        let loaded =
            load_text_with("scenario.toml", &text, &folder, &[], registry).map_err(Error::Scenario)?;
        others.push((scheme.as_str(), simulate_recording(&loaded, *seed)?));
    }
    let more = more_transmission.as_secs_f64();
    let unlike = setting_differences(&live, &again, more);
    if *json {
        let document = inference_document(&recording.scheme, &path, &live, &again, &others, &unlike);
        return console.print(&format!("{document}\n"));
    }
    let description = console.style.folded(&describe_path(&path));
    let mut text = format!("{description}\n\n{}", comparison_table(&live, &again).render(console.style));
    let options = assumed_options(&recording, registry);
    let sentences =
        [transmission_sentence(&live, &again, more), deviation_sentence(&unlike, &path, options.as_deref())];
    for sentence in sentences.into_iter().flatten() {
        text.push_str(&console.style.folded(&format!("\n{sentence}\n")));
    }
    if !others.is_empty() {
        let own = recording.scheme.as_str();
        let all = std::iter::once((own, again)).chain(others.iter().copied());
        text.push_str(&format!("\n{}", other_schemes_table(all).render(console.style)));
    }
    console.print(&text)
}

/// Returns the scheme to simulate: the one requested, that of the recording, or CUBIC.
fn scheme_of(requested: Option<&str>, recording: &Recording, console: &Console) -> String {
    // Names of the kernel.
    let known = match recording.scheme.as_str() {
        "reno" => "newreno",
        name => name,
    };
    if let Some(scheme) = requested {
        return scheme.to_owned();
    }
    if !known.is_empty() && console.registry.read_scheme(known, Environment::Live).is_ok() {
        return known.to_owned();
    }
    let why = match known {
        "" => "the trace does not name its congestion control".to_owned(),
        name => format!("there is no scheme `{name}`"),
    };
    console.inform(&format!("note: {why}; the transfer is simulated with cubic (--scheme names another)"));
    "cubic".to_owned()
}

/// Converts a host option into a scenario value.
fn host_of(host_option: &str) -> Result<String, Error> {
    let host = match host_option {
        "here" => return host_model_of_this_host(),
        table if table.trim_start().starts_with('{') && !table.contains(['\n', '\r']) => table.to_owned(),
        name => Value::from(name).to_string(),
    };
    check_host("--host", &host).map_err(Error::Scenario)?;
    Ok(host)
}

/// Writes the scenario, and returns its file and what transmission adds to the shortest round trip.
fn write_scenario(
    folder: &FilePath,
    recording: &Recording,
    path: &Path,
    host: Option<&str>,
    registry: &Registry,
) -> Result<(PathBuf, Duration), Error> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::Failed(format!("cannot write to `{}`: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    if let Some(trace) = &path.trace {
        let file = fs::File::create(folder.join(TRACE)).map_err(|error| failed(&error))?;
        trace.write(std::io::BufWriter::new(file)).map_err(|error| failed(&error))?;
    }
    let place = folder.join("scenario.toml");
    let InferredScenario { text, more_transmission } = inferred_scenario(recording, path, host, registry)?;
    fs::write(&place, text).map_err(|error| failed(&error))?;
    Ok((place, more_transmission))
}

/// Name of the file with the capacity over time.
const TRACE: &str = "path.trace";

fn inferred_scenario(
    recording: &Recording,
    path: &Path,
    host: Option<&str>,
    registry: &Registry,
) -> Result<InferredScenario, Error> {
    write_inferred_scenario(recording, path, TRACE, host, registry)
        .map_err(|error| Error::Failed(format!("the scheme of the recording: {error}")))
}

fn simulate_recording(loaded: &LoadedScenario, seed: u64) -> Result<Outcome, Error> {
    let job = Job { spec: Arc::new(loaded.spec().clone()), seed, events: None, threads: 1 };
    let jobs = [job];
    let progress = Progress::new(&jobs, Arc::new(AtomicBool::new(false)));
    let mut outcome = Outcome::default();
    let each = |_, result: RunResult, _, _| outcome = simulated_outcome(&result);
    parallel_batch::run_jobs(&jobs, 1, &progress, |_| NoTrace, each, || {})
        .map_err(|failed| Error::Failed(format!("the scenario cannot be simulated: {}", failed.error)))?;
    Ok(outcome)
}

fn recorded_outcome(recording: &Recording) -> Outcome {
    let shortest = recording.round_trips().iter().map(|trip| trip.1).fold(f64::INFINITY, f64::min);
    Outcome {
        goodput: recording.delivered() as f64 * 8.0 / recording.seconds.max(1e-9),
        shortest,
        smoothed: recording.mean_smoothed(),
        retransmitted: recording.retransmitted(),
    }
}

fn simulated_outcome(result: &RunResult) -> Outcome {
    let Some(flow) = result.flows.first() else { return Outcome::default() };
    let series =
        result.series.iter().filter(|series| series.quantity == Quantity::Rtt && series.subject == 0);
    let smoothed = series.flat_map(|series| &series.points).map(|(_, rtt)| *rtt).filter(|rtt| *rtt > 0.0);
    Outcome {
        goodput: flow.goodput.as_f64(),
        shortest: flow.min_rtt.as_secs_f64(),
        smoothed: mean_of(smoothed),
        retransmitted: flow.retransmissions as f64 / flow.sent_packets.max(1) as f64,
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// Formats a rate in bit/s with this number of decimals.
fn format_rate_to_digits(rate: f64, digits: usize) -> String {
    let (unit, name) = if rate < 1e9 { (1e6, "Mbit/s") } else { (1e9, "Gbit/s") };
    format!("{:.digits$} {name}", rate / unit)
}

/// Formats an interval, scaled by `unit`, with this number of decimals.
fn format_interval((low, high): Interval, unit: f64, digits: usize) -> String {
    match high.is_finite() {
        true => format!(" ({:.digits$} to {:.digits$})", low / unit, high / unit),
        false => String::new(),
    }
}

/// Describes the path as text.
fn describe_path(path: &Path) -> String {
    let intervals = &path.intervals;
    let rate = path.rate.as_f64();
    let unit = if rate < 1e9 { 1e6 } else { 1e9 };
    let rate = format!("{}{}", format_rate_to_digits(rate, 4), format_interval(intervals.rate, unit, 3));
    let rate = match (path.was_filled, &path.trace) {
        (true, None) => rate,
        (true, Some(_)) => format!("{rate} in the middle, and varies (path.trace)"),
        (false, _) => format!(
            "{rate} or more (it was never filled); simulated with {}, an assumption",
            format_rate_to_digits(path.simulated_rate.as_f64(), 4)
        ),
    };
    let losses = match path.losses {
        Losses::Independent(share) => {
            format!("{:.3} %{}, each by itself", share * 100.0, format_interval(intervals.loss, 0.01, 3))
        }
        Losses::Gilbert { good_to_bad, bad_to_good } => format!(
            "{:.3} % in runs of {:.1}",
            100.0 * good_to_bad / (good_to_bad + bad_to_good),
            1.0 / bad_to_good
        ),
    };
    let losses = match path.losses_need_queue && path.policer.is_none() {
        true => format!("{losses}, with a queueing delay only: by the queue's active management or the link"),
        false => losses,
    };
    let simulated = path.simulated_queue;
    let queue = match (path.policer, path.queue_was_full) {
        (Some(_), _) => {
            format!("unknown, as the policer drops before it is full; simulated with {simulated}")
        }
        (None, true) => format!("{}{}, full at times", path.queue, format_interval(intervals.queue, 1e3, 1)),
        (None, false) => {
            format!("{} or more (it was never full); simulated with {simulated}, an assumption", path.queue)
        }
    };
    let change = path.change.map_or(String::new(), |Change { at, round_trips: [before, after] }| {
        format!(
            "\nChange      at about {at:.1} s the shortest round trip went from {:.3} to {:.3} ms: the path's delay \
             changed, or a queue stayed; the inferred path does not have the change",
            before * 1e3,
            after * 1e3
        )
    });
    let longest = path.outages.iter().max_by(|a, b| (a.until - a.from).total_cmp(&(b.until - b.from)));
    let outage = longest.map_or(String::new(), |longest| {
        let others = match path.outages.len() {
            1 => String::new(),
            count => format!(", the longest of {count} times"),
        };
        format!(
            "\nOutage      from {:.1} to {:.1} s{others} nothing was acknowledged although packets had been sent: the path was interrupted, or lost \
             them all; the inferred path does not have this",
            longest.from, longest.until
        )
    });
    let policer = path.policer.map_or(String::new(), |(rate, burst)| {
        format!(
            "\nPolicer     {}, bucket of {burst}: it explains the losses",
            format_rate_to_digits(rate.as_f64(), 4)
        )
    });
    format!(
        "Rate        {rate}\nRound trip  {:.3} ms{}\nQueue       {queue}\nLosses      {losses}; {} more by the full queue{policer}{change}{outage}",
        path.round_trip.as_millis_f64(),
        format_interval(intervals.round_trip, 1e-3, 3),
        path.overflows
    )
}

fn outcome_cells(of: &Outcome) -> [String; 4] {
    [
        format_rate_to_digits(of.goodput, 2),
        format!("{:.2} ms", of.shortest * 1e3),
        format!("{:.2} ms", of.smoothed * 1e3),
        format!("{:.2} %", of.retransmitted * 100.0),
    ]
}

fn comparison_table(live: &Outcome, again: &Outcome) -> Table {
    let names = ["Goodput", "Shortest round trip", "Smoothed round trip, mean", "Retransmitted packets"];
    let [recorded, simulated, error] = ["Recorded", "Simulated", "Error"].map(|name| (name, Align::Right));
    let mut table = Table::new([("", Align::Left), recorded, simulated, error]);
    let percent = |error: f64| format!("{:+.1} %", error * 100.0);
    let [goodput, shortest, smoothed, retransmitted] = relative_errors(live, again);
    let points = retransmitted.map(|retransmitted| format!("{:+.2} points", retransmitted * 100.0));
    let errors = [goodput.map(percent), shortest.map(percent), smoothed.map(percent), points];
    for (((name, live), again), error) in
        names.into_iter().zip(outcome_cells(live)).zip(outcome_cells(again)).zip(errors)
    {
        table.row([name.to_owned(), live, again, error.unwrap_or_default()]);
    }
    table
}

/// Returns the excess of the simulated shortest round trip that is transmission, `more` at most, in seconds.
fn excess_by_transmission(live: &Outcome, again: &Outcome, more: f64) -> f64 {
    (again.shortest - live.shortest).clamp(0.0, more.max(0.0))
}

/// Returns the sentence on an excess of the simulated shortest round trip by transmission, if it is not a small one.
fn transmission_sentence(live: &Outcome, again: &Outcome, more: f64) -> Option<String> {
    let excess = excess_by_transmission(live, again, more);
    (excess > MAX_ERROR_OF_SHORTEST * live.shortest).then(|| {
        format!(
            "Of the simulated shortest round trip, {:.2} ms are transmission of more data: the recorded one is of smaller packets, or of one with \
             an acknowledgement of its own.",
            excess * 1e3
        )
    })
}

/// Returns the names and the sizes of the differences that make the simulated run another one than the recorded. Its shortest round trip may be
/// longer by the transmission of `more` data, in seconds.
fn setting_differences(live: &Outcome, again: &Outcome, more: f64) -> Vec<(&'static str, String)> {
    let [goodput, _, smoothed, retransmitted] = relative_errors(live, again);
    let compared = live.shortest + excess_by_transmission(live, again, more);
    let shortest = relative_errors(&Outcome { shortest: compared, ..*live }, again)[1];
    let share = |name: &'static str, what: &str, error: Option<f64>, max: f64| {
        let error = error.filter(|error| error.abs() > max)?;
        let direction = if error < 0.0 { "less" } else { "more" };
        Some((name, format!("{:.0} % {direction} {what}", error.abs() * 100.0)))
    };
    let repairs = retransmitted.filter(|points| points.abs() > MAX_ERROR_OF_RETRANSMISSIONS).map(|_| {
        let percent = |of: &Outcome| format!("{:.2} %", of.retransmitted * 100.0);
        (
            "retransmitted_share",
            format!("{} of its packets retransmitted, not {}", percent(again), percent(live)),
        )
    });
    let all = [
        share("goodput", "goodput", goodput, MAX_ERROR),
        share("min_rtt", "of a shortest round trip", shortest, MAX_ERROR_OF_SHORTEST),
        share("mean_smoothed_rtt", "of a mean smoothed round trip", smoothed, MAX_ERROR),
        repairs,
    ];
    all.into_iter().flatten().collect()
}

/// Returns the sentence on a simulated run that is unlike the recorded one; `None` if it is like it.
///
/// `options` are those of the sender that the recording does not have.
fn deviation_sentence(
    found: &[(&'static str, String)],
    path: &Path,
    options: Option<&str>,
) -> Option<String> {
    let sizes: Vec<&str> = found.iter().map(|(_, size)| size.as_str()).collect();
    let rate = match path.was_filled {
        true => "",
        false => " Its rate is an assumption: other values of `rate` in the scenario may fit.",
    };
    let queue = match (path.policer, path.queue_was_full) {
        (Some(_), _) => " Its queue is unknown: other values of `capacity` in the scenario may fit.",
        (None, false) => " Its queue is an assumption: other values of `queue` in the scenario may fit.",
        (None, true) => "",
    };
    let options = options.map_or(String::new(), |options| {
        format!(
            " The recording does not have the options of its sender, and those of the simulated one may differ: {options} \
             (--scheme sets them)."
        )
    });
    (!sizes.is_empty()).then(|| {
        format!(
            "UNLIKE THE RECORDING: the simulated run has {}. The inferred path does not explain the recording; runs with \
             other schemes share its errors.{rate}{queue}{options}",
            join_listed(&sizes)
        )
    })
}

/// Returns the options that change how a sender answers losses and acknowledgements, with the values of the simulated sender, if the
/// recording has none.
fn assumed_options(recording: &Recording, registry: &Registry) -> Option<String> {
    if recording.simulated_scheme.is_some() || recording.scheme.contains(':') {
        return None;
    }
    let (description, live) = registry.read_scheme(&recording.scheme, Environment::Live).ok()?;
    let values = description.to_simulated_values(&live);
    let option = |name: &&str| values.get(name).map(|value| format!("{name}={value}"));
    let options: Vec<String> =
        ["slow-start-exit", "prr", "f-rto", "rack", "delayed-ack"].iter().filter_map(option).collect();
    (!options.is_empty()).then(|| options.join(", "))
}

/// Largest relative error of goodput and of the mean smoothed round trip in a run like the recorded one.
const MAX_ERROR: f64 = 0.25;
/// The same for the shortest round trip, which is a property of the path.
const MAX_ERROR_OF_SHORTEST: f64 = 0.1;
/// The same for the share of retransmissions, as a difference.
const MAX_ERROR_OF_RETRANSMISSIONS: f64 = 0.02;

/// Returns the table of the transfer with each scheme.
fn other_schemes_table<'a>(outcomes: impl Iterator<Item = (&'a str, Outcome)>) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new([
        ("Simulated with", Align::Left),
        right("Goodput"),
        right("RTT min"),
        right("RTT mean"),
        right("Retransmitted"),
    ]);
    for (scheme, outcome) in outcomes {
        let [goodput, shortest, smoothed, retransmitted] = outcome_cells(&outcome);
        table.row([scheme.to_owned(), goodput, shortest, smoothed, retransmitted]);
    }
    table
}

/// Returns the errors of the simulated run, relative to the recorded values; for the retransmitted share, the
/// difference in points.
fn relative_errors(live: &Outcome, again: &Outcome) -> [Option<f64>; 4] {
    let of = |live: f64, again: f64| (live > 0.0 && live.is_finite()).then(|| again / live - 1.0);
    [
        of(live.goodput, again.goodput),
        of(live.shortest, again.shortest),
        of(live.smoothed, again.smoothed),
        Some(again.retransmitted - live.retransmitted),
    ]
}

fn inference_document(
    scheme: &str,
    path: &Path,
    live: &Outcome,
    again: &Outcome,
    others: &[(&str, Outcome)],
    unlike: &[(&'static str, String)],
) -> Value {
    // Without an upper end there is no number.
    let interval = |(low, high): Interval| json!([low, high.is_finite().then_some(high)]);
    let intervals = &path.intervals;
    let others: Vec<Value> = others
        .iter()
        .map(|(scheme, outcome)| {
            json!({
                "scheme": scheme,
                "goodput_bps": outcome.goodput,
                "min_rtt_s": outcome.shortest,
                "mean_smoothed_rtt_s": outcome.smoothed,
                "retransmitted_share": outcome.retransmitted,
            })
        })
        .collect();
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
    let [goodput, shortest, smoothed, retransmitted] = relative_errors(live, again);
    json!({
        "path": {
            "rate_bps": path.rate.as_bits_per_sec(),
            "was_filled": path.was_filled,
            "simulated_rate_bps": path.simulated_rate.as_bits_per_sec(),
            "varies": path.trace.is_some(),
            "round_trip_s": path.round_trip.as_secs_f64(),
            "queue_bytes": path.queue.get(),
            "simulated_queue_bytes": path.simulated_queue.get(),
            "queue_was_full": path.queue_was_full,
            "change": path.change.map(|change| {
                json!({ "at_s": change.at, "before_s": change.round_trips[0], "after_s": change.round_trips[1] })
            }),
            "outages": path.outages.iter().map(|outage| json!({ "from_s": outage.from, "until_s": outage.until })).collect::<Vec<_>>(),
            "losses": losses,
            "losses_need_queue": path.losses_need_queue,
            "overflows": path.overflows,
            "policer": path.policer.map(|(rate, burst)| {
                json!({ "rate_bps": rate.as_bits_per_sec(), "burst_bytes": burst.get() })
            }),
            "intervals": {
                "rate_bps": interval(intervals.rate),
                "round_trip_s": interval(intervals.round_trip),
                "queue_bytes": interval(intervals.queue),
                "loss": interval(intervals.loss),
            },
        },
        "scheme": scheme,
        "others": others,
        "unlike": unlike.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
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

    /// A policer drops, and how long the queue behind it is, the recording does not show.
    #[test]
    fn a_simulated_run_unlike_the_recorded_one_is_said_to_be_so() {
        let packets = (0..1000_u32).map(|number| {
            let sent = f64::from(number) * 1e-3;
            thalweg_report::infer::Packet {
                sent_at: sent,
                size: 1500,
                length: 1448,
                acknowledged: Some(sent + 0.04),
                ..Default::default()
            }
        });
        let recording = Recording { packets: packets.collect(), seconds: 1.04, ..Recording::default() };
        let mut path = Path::infer(&recording).unwrap();
        let live = recorded_outcome(&recording);
        let again = Outcome { retransmitted: 0.142, goodput: live.goodput * 1.1, ..live };
        let text = deviation_sentence(&setting_differences(&live, &again, 0.0), &path, None).unwrap();
        let expected =
            "UNLIKE THE RECORDING: the simulated run has 14.20 % of its packets retransmitted, not 0.00 %.";
        assert!(text.starts_with(expected) && text.contains("is an assumption"), "{text}");
        assert_eq!(
            inference_document("cubic", &path, &live, &again, &[], &setting_differences(&live, &again, 0.0))
                ["unlike"],
            json!(["retransmitted_share"])
        );
        let assumed = "or more (it was never filled); simulated with 18.0000 Mbit/s, an assumption";
        assert!(describe_path(&path).contains(assumed), "{}", describe_path(&path));
        assert!(text.contains(" Its rate is an assumption: other values of `rate`"), "{text}");
        let slower = Outcome { goodput: live.goodput * 0.7, smoothed: live.smoothed * 1.3, ..live };
        let text = deviation_sentence(&setting_differences(&live, &slower, 0.0), &path, None).unwrap();
        assert!(text.contains("30 % less goodput and 30 % more of a mean smoothed round trip."), "{text}");
        assert_eq!(deviation_sentence(&setting_differences(&live, &live, 0.0), &path, None), None);
        // Packets of a recording may be smaller at its beginning.
        let longer = Outcome { shortest: live.shortest + 0.012, ..live };
        assert_eq!(setting_differences(&live, &longer, 0.0)[0].0, "min_rtt");
        assert!(
            setting_differences(&live, &longer, 0.012).is_empty()
                && setting_differences(&live, &longer, 0.001).len() == 1
        );
        assert!(transmission_sentence(&live, &longer, 0.012).unwrap().contains("12.00 ms are transmission"));
        assert_eq!(transmission_sentence(&live, &live, 0.012), None);
        let recorded = Recording { scheme: "cubic".to_owned(), ..recording.clone() };
        let options = assumed_options(&recorded, &Registry::default()).unwrap();
        assert!(options.contains("prr=") && options.contains("delayed-ack="), "{options}");
        let text =
            deviation_sentence(&setting_differences(&live, &slower, 0.0), &path, Some(&options)).unwrap();
        assert!(text.contains(&format!("may differ: {options}")), "{text}");
        let known = Recording { simulated_scheme: Some("cubic".to_owned()), ..recorded };
        assert_eq!(assumed_options(&known, &Registry::default()), None);
        path.was_filled = true;
        let text = deviation_sentence(&setting_differences(&live, &again, 0.0), &path, None).unwrap();
        assert!(!text.contains("Its rate is"), "{text}");
        path.policer = Some((path.rate, thalweg_proto::units::Bytes::new(15_000)));
        assert!(describe_path(&path).contains("unknown, as the policer drops"), "{}", describe_path(&path));
        assert!(
            deviation_sentence(&setting_differences(&live, &again, 0.0), &path, None)
                .unwrap()
                .contains("other values of `capacity`")
        );
    }

    #[test]
    fn rates_have_the_unit_that_suits_them() {
        assert_eq!(format_rate_to_digits(10_783_120.0, 4), "10.7831 Mbit/s");
        assert_eq!(format_rate_to_digits(9_371_440_000.0, 2), "9.37 Gbit/s");
    }
}
