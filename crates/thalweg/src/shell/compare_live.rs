//! `thalweg compare --live`: runs each scheme in a live network of the scenario and in the simulator, and the kernel's
//! TCP in the same live network.
//!
//! A live run is a separate process (`thalweg shell --traffic`): its namespaces are gone before the next run.

use super::live_run_results;
use super::option_differences::RowDifferences;
use crate::console_output::{CommandResult, Console, Error};
use crate::kernel_schemes::{control_of, is_kernel};
use crate::report::{ReportTarget, read_results_part};
use crate::run_and_compare::{join_scheme_pieces, load_with_schemes};
use crate::scenario_sources::Source;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::simulation_arguments::CompareArguments;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use thalweg_live::network_plan::{PlanOptions, plan_network};
use thalweg_report::output::{
    Align, REPORT, RunKey, Table, format_count, format_rate, format_seconds, join_quoted,
};
use thalweg_report::report::{AllSeries, Part, SideBySide};
use thalweg_report::results::Scenario;
use thalweg_scenario::LoadedScenario;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::{GroupSpec, Spec};
use thalweg_sim::{Quantity, RunResult, Simulation};

/// Results of a scheme, either live or simulated.
#[derive(Clone, Debug)]
struct SchemeOutcome {
    scheme: String,
    place: &'static str,
    flows: Vec<FlowOutcome>,
    /// Fidelity of a live run: true if valid, and the reason if not.
    fidelity: Option<(bool, String)>,
}

/// Results of a flow.
#[derive(Clone, Debug)]
struct FlowOutcome {
    name: String,
    /// True if it is one of the compared flows, of which totals are.
    is_compared: bool,
    goodput: f64,
    resent: f64,
    /// Mean one-way delay of its packets in seconds, and their number.
    delay: Option<(f64, f64)>,
    /// Time average of the window, in packets.
    window: Option<f64>,
}

/// Compares schemes, live and simulated.
pub fn compare_simulated_and_live(arguments: &CompareArguments, console: &Console) -> CommandResult {
    let source = &Source::find(&arguments.file)?;
    let names = join_scheme_pieces(&arguments.schemes);
    let ours: Vec<String> = names.iter().filter(|name| !is_kernel(name)).cloned().collect();
    let sets = &arguments.options.sets;
    // Report errors in the scenario or a scheme before anything runs.
    let (loaded, schemes, scheme_options) =
        load_with_schemes(source, sets, &ours, &arguments.flows, &console.registry)?;
    let likeness = RowDifferences::new(&names, &scheme_options, &console.registry)?;
    if let Some(note) = scheme_options.note {
        console.inform(&note);
    }
    plan_network(loaded.spec(), &PlanOptions::default()).map_err(|error| Error::Usage(error.to_string()))?;
    for name in &names {
        control_of(name)?;
    }
    let length = loaded.spec().duration;
    let order = if names.len() > 1 { ", one after the other" } else { "" };
    console.inform(&format!("{} of {length}{order}", format_count(names.len() as u64, "live run")));
    let out = arguments.options.out.as_deref();
    if let Some(out) = out {
        let made = std::fs::create_dir_all(out);
        made.map_err(|error| Error::Failed(format!("cannot make `{}`: {error}", out.display())))?;
    }
    let report = match (&arguments.options.report, out) {
        // The folders below `out` are those of the live runs: the page is beside them.
        (Some(None), Some(out)) => Some(ReportTarget::File(out.join(REPORT))),
        (option, _) => ReportTarget::of(option.as_ref(), REPORT, false, &source.name())?,
    };
    // A page needs the series of live runs, which are in their folders.
    let temporary = (report.is_some() && out.is_none()).then(TemporaryFolder::new).transpose()?;
    let out = out.or(temporary.as_ref().map(|folder| folder.0.as_path()));
    let stop = stop_flag_of_caller_or_signals(console)?;
    let (mut outcomes, mut parts) = (Vec::new(), Vec::new());
    let compared = compared_flows(&loaded, &arguments.flows)?;
    for name in &names {
        if let Some(scheme) = schemes.iter().find(|scheme| scheme.name.as_ref() == Some(name)) {
            let (outcome, result) = simulate_scheme(name, &scheme.spec, arguments.options.seed, &compared)?;
            outcomes.push(outcome);
            if report.is_some() {
                let scenario = Scenario { title: loaded.scenario.title.clone(), file: source.name() };
                parts.push(simulated_part(format!("{name} simulated"), &result, scenario));
            }
        }
        let parameters = LiveParameters {
            source,
            sets,
            seed: arguments.options.seed,
            flows: &arguments.flows,
            compared: &compared,
        };
        let folder = out.map(|out| scheme_folder(out, name));
        let outcome = run_live(name, parameters, folder.as_deref());
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Failed("interrupted: nothing was compared".to_owned()));
        }
        outcomes.push(outcome?);
        if let Some(folder) = folder.filter(|_| report.is_some()) {
            parts.push(read_results_part(format!("{name} live"), &folder, console)?);
        }
    }
    if let Some((report, beside)) = report.zip(SideBySide::join(parts)) {
        report.write(beside.page(Some(loaded.spec())), None, console)?;
    }
    if arguments.options.json {
        let mut document = outcomes_document(&outcomes);
        likeness.add_to(&mut document);
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        console.print(&format!("{text}\n"))?;
    } else {
        for sentence in likeness.sentences() {
            console.print(&format!("{}\n", console.style.folded(&sentence)))?;
        }
        if !arguments.flows.is_empty() {
            console.print(&format!(
                "Compared: {}; the others keep their schemes\n",
                join_quoted(&arguments.flows)
            ))?;
        }
        console.print(&outcomes_table(&outcomes, !arguments.flows.is_empty()).render(console.style))?;
    }
    for outcome in &outcomes {
        if let Some((false, why)) = &outcome.fidelity {
            console.note(&format!("{} live is NOT VALID: {why}", outcome.scheme));
        }
    }
    Ok(())
}

/// Returns for each flow of a scenario whether it belongs to one of the named groups; to any, if none is named.
fn compared_flows(loaded: &LoadedScenario, groups: &[String]) -> Result<Vec<bool>, Error> {
    let named = loaded.groups_named(groups).map_err(|why| Error::argument("flows", why))?;
    let flows = loaded.spec().groups.iter().zip(1..);
    let of_group = |(group, position): (&GroupSpec, usize)| {
        std::iter::repeat_n(named.is_empty() || named.contains(&position), group.count as usize)
    };
    Ok(flows.flat_map(of_group).collect())
}

/// A folder that is removed on drop.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("thalweg-compare-{}", std::process::id()));
        // A folder of this name that exists is not this run's.
        std::fs::create_dir(&path)
            .map_err(|error| Error::Failed(format!("cannot make `{}`: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // An error here has no receiver.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a simulation for a page with several results.
fn simulated_part(label: String, result: &RunResult, scenario: Scenario) -> Part {
    let mut series = AllSeries::default();
    series.add(RunKey { scheme: "", seed: result.seed }, result);
    Part { label, document: live_run_results::run_document(result, scenario), series, fidelity: None }
}

fn simulate_scheme(
    name: &str,
    spec: &Spec,
    seed: Option<u64>,
    compared: &[bool],
) -> Result<(SchemeOutcome, RunResult), Error> {
    let spec = Spec { seed: seed.unwrap_or(spec.seed), ..spec.clone() };
    let mut simulation = Simulation::new(&spec, NoTrace).map_err(|error| Error::Failed(error.to_string()))?;
    simulation.advance(u64::MAX);
    if let Some(error) = simulation.error() {
        return Err(Error::Failed(error.to_string()));
    }
    let (result, _) = simulation.finish();
    let flows = result.flows.iter().zip(0..).map(|(flow, number)| FlowOutcome {
        name: flow.name.clone(),
        is_compared: compared.get(number as usize).copied().unwrap_or(true),
        goodput: flow.goodput.as_f64(),
        resent: flow.retransmissions as f64,
        delay: Some((flow.delay.mean.as_secs_f64(), flow.delay.count as f64)),
        window: mean_window(&result, number),
    });
    let flows = flows.collect();
    let outcome = SchemeOutcome { scheme: name.to_owned(), place: "simulated", flows, fidelity: None };
    Ok((outcome, result))
}

fn mean_window(result: &RunResult, flow: u32) -> Option<f64> {
    let mut series = result.series.iter();
    let series = series.find(|series| series.quantity == Quantity::Window && series.subject == flow)?;
    let count = series.points.len() as f64;
    (count > 0.0).then(|| series.points.iter().map(|(_, window)| window).sum::<f64>() / count)
}

/// Returns the folder below `out` for a scheme's live run.
fn scheme_folder(out: &Path, scheme: &str) -> PathBuf {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    out.join(scheme.chars().map(letter).collect::<String>())
}

/// Parameters of a live run's network.
#[derive(Clone, Copy)]
struct LiveParameters<'a> {
    source: &'a Source,
    sets: &'a [String],
    seed: Option<u64>,
    /// Groups that use the scheme; empty for all.
    flows: &'a [String],
    /// True for each flow that belongs to one of them, by its number.
    compared: &'a [bool],
}

/// A scenario with one scheme for all flows, simulated and live.
pub(crate) struct SimulatedAndLive {
    /// Goodput of all flows in bit/s: simulated, live.
    pub goodput: [f64; 2],
    /// Mean one-way delay in seconds, if known: simulated, live.
    pub delay: [Option<f64>; 2],
    /// Reason the live run is invalid, if it is.
    pub not_valid: Option<String>,
}

/// Runs a scenario simulated with a scheme, and live with it or with the kernel's `carrier`; writes the files of the live run to
/// `folder`.
pub(crate) fn run_simulated_and_live(
    source: &Source,
    scheme: &str,
    carrier: &str,
    folder: &Path,
    console: &Console,
) -> Result<SimulatedAndLive, Error> {
    let (_, schemes, _) = load_with_schemes(source, &[], &[scheme.to_owned()], &[], &console.registry)?;
    let Some(chosen) = schemes.first() else {
        return Err(Error::Failed(format!("{scheme} is not a scheme that can be compared")));
    };
    let (simulated, _) = simulate_scheme(scheme, &chosen.spec, None, &[])?;
    let parameters = LiveParameters { source, sets: &[], seed: None, flows: &[], compared: &[] };
    let live = run_live(carrier, parameters, Some(folder))?;
    let not_valid = live.fidelity.as_ref().filter(|(is_valid, _)| !is_valid).map(|(_, why)| why.clone());
    Ok(SimulatedAndLive {
        goodput: [simulated.goodput(), live.goodput()],
        delay: [simulated.delay(), live.delay()],
        not_valid,
    })
}

fn run_live(
    name: &str,
    parameters: LiveParameters<'_>,
    folder: Option<&Path>,
) -> Result<SchemeOutcome, Error> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| Error::Failed(format!("cannot find this program: {error}")))?;
    let mut command = Command::new(program);
    command.arg("shell").arg(parameters.source.argument()).args(["--quiet", "--all", "--traffic", name]);
    if let Some(folder) = folder {
        command.arg("--out").arg(folder);
    }
    if !parameters.flows.is_empty() {
        command.arg("--traffic-flows").arg(parameters.flows.join(","));
    }
    for set in parameters.sets {
        command.args(["--set", set]);
    }
    if let Some(seed) = parameters.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::Failed(format!("cannot start a live run: {error}")))?;
    if !output.status.success() {
        let error_text = String::from_utf8_lossy(&output.stderr);
        let error_text = error_text.trim().trim_start_matches("error: ");
        let text = format!("{name} live: {error_text}");
        return Err(if output.status.code() == Some(2) { Error::Usage(text) } else { Error::Failed(text) });
    }
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Failed(format!("{name} live: its results cannot be read: {error}")))?;
    let [traffic, fidelity, results] = ["traffic", "fidelity", "results"].map(|part| &document[part]);
    let measured = |flow: &str| {
        let flows = results["runs"][0]["flows"].as_array().into_iter().flatten();
        let found = flows.into_iter().find(|other| other["name"] == flow)?;
        Some((found["delay_mean_s"].as_f64()?, found["delay_samples"].as_f64()?))
    };
    let flows = traffic["flows"].as_array().into_iter().flatten().enumerate().map(|(number, flow)| {
        let name = flow["name"].as_str().unwrap_or_default().to_owned();
        FlowOutcome {
            is_compared: parameters.compared.get(number).copied().unwrap_or(true),
            goodput: flow["goodput_bps"].as_f64().unwrap_or(0.0),
            resent: flow["retransmissions"].as_f64().unwrap_or(0.0),
            delay: measured(&name),
            window: flow["mean_window_packets"].as_f64(),
            name,
        }
    });
    let why = fidelity["why_not"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fidelity = (fidelity["valid"] == true, why.collect::<Vec<_>>().join("; "));
    Ok(SchemeOutcome {
        scheme: name.to_owned(),
        place: "live",
        flows: flows.collect(),
        fidelity: Some(fidelity),
    })
}

impl SchemeOutcome {
    /// Returns the compared flows.
    fn compared_outcomes(&self) -> impl Iterator<Item = &FlowOutcome> {
        self.flows.iter().filter(|flow| flow.is_compared)
    }

    fn goodput(&self) -> f64 {
        self.compared_outcomes().map(|flow| flow.goodput).sum()
    }

    /// Returns the goodput of the other flows.
    fn goodput_of_others(&self) -> f64 {
        self.flows.iter().filter(|flow| !flow.is_compared).map(|flow| flow.goodput).sum()
    }

    fn jain(&self) -> Option<f64> {
        let squares: f64 = self.compared_outcomes().map(|flow| flow.goodput * flow.goodput).sum();
        let count = self.compared_outcomes().count() as f64;
        (count > 1.0 && squares > 0.0).then(|| self.goodput().powi(2) / (count * squares))
    }

    fn delay(&self) -> Option<f64> {
        let (sum, count) = self
            .compared_outcomes()
            .filter_map(|flow| flow.delay)
            .fold((0.0, 0.0), |(sum, all), (mean, count)| (mean.mul_add(count, sum), all + count));
        (count > 0.0).then(|| sum / count)
    }

    fn retransmissions(&self) -> f64 {
        self.compared_outcomes().map(|flow| flow.resent).sum()
    }

    /// Returns the mean window over all flows.
    fn window(&self) -> Option<f64> {
        let windows: Vec<f64> = self.compared_outcomes().filter_map(|flow| flow.window).collect();
        (!windows.is_empty()).then(|| windows.iter().sum::<f64>() / windows.len() as f64)
    }
}

/// Returns the table; `has_others` adds a column for flows that are not compared.
fn outcomes_table(outcomes: &[SchemeOutcome], has_others: bool) -> Table {
    let [goodput, jain, delay, resent, window] =
        ["Goodput", "Jain", "Delay", "Retransmitted", "Window"].map(|head| (head, Align::Right));
    let left = |head| (head, Align::Left);
    let others = has_others.then_some(("Goodput of the others", Align::Right));
    let heads = [left("Scheme"), left("Where"), goodput].into_iter().chain(others);
    let mut table = Table::with_columns(heads.chain([jain, delay, resent, window, left("Fidelity")]));
    let none = || "-".to_owned();
    for outcome in outcomes {
        let others = has_others.then(|| format_rate(outcome.goodput_of_others()));
        let lead = [outcome.scheme.clone(), outcome.place.to_owned(), format_rate(outcome.goodput())];
        table.row(lead.into_iter().chain(others).chain([
            outcome.jain().map_or_else(none, |jain| format!("{jain:.3}")),
            outcome.delay().map_or_else(none, format_seconds),
            format!("{:.0}", outcome.retransmissions()),
            outcome.window().map_or_else(none, |window| format!("{window:.1}")),
            match &outcome.fidelity {
                None => none(),
                Some((true, _)) => "valid".to_owned(),
                Some((false, _)) => "NOT VALID".to_owned(),
            },
        ]));
    }
    table
}

fn outcomes_document(outcomes: &[SchemeOutcome]) -> Value {
    let of = |outcome: &SchemeOutcome| {
        let flows: Vec<Value> = outcome
            .flows
            .iter()
            .map(|flow| {
                json!({
                    "name": flow.name,
                    "compared": flow.is_compared,
                    "goodput_bps": flow.goodput,
                    "retransmissions": flow.resent,
                    "delay_mean_s": flow.delay.map(|(mean, _)| mean),
                    "mean_window_packets": flow.window,
                })
            })
            .collect();
        json!({
            "scheme": outcome.scheme,
            "where": outcome.place,
            "goodput_bps": outcome.goodput(),
            "goodput_of_others_bps": outcome.flows.iter().any(|flow| !flow.is_compared).then(|| outcome.goodput_of_others()),
            "jain": outcome.jain(),
            "delay_mean_s": outcome.delay(),
            "retransmissions": outcome.retransmissions(),
            "mean_window_packets": outcome.window(),
            "valid": outcome.fidelity.as_ref().map(|(is_valid, _)| is_valid),
            "why_not": outcome.fidelity.as_ref().filter(|(is_valid, _)| !is_valid).map(|(_, why)| why),
            "flows": flows,
        })
    };
    json!({ "compared": outcomes.iter().map(of).collect::<Vec<_>>() })
}
