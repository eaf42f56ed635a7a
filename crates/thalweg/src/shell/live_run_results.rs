//! Results of a live run: the document, folder and page of a simulated run, and the fidelity record.

use super::traffic_option::TrafficOutcome;
use super::{Network, ShellArguments};
use crate::batch_execution::TableFiles;
use crate::console_output::{Console, Error};
use crate::report::{FIDELITY, ReportTarget, TRAFFIC};
use crate::version::version;
use serde_json::Value;
use std::fmt::Write as _;
use thalweg_live::{Counts, Fidelity, Lateness, Verdict};
use thalweg_report::output::{Folder, REPORT, RunKey, format_summary};
use thalweg_report::report::{AllSeries, report};
use thalweg_report::results::{Document, Header, MARGIN, Run, Scenario};
use thalweg_sim::RunResult;

/// Outcome of a run.
pub struct ShellOutcome {
    /// Measurements of the network.
    pub result: RunResult,
    /// Counts of packets that were not forwarded from host to host.
    pub counts: Counts,
    /// Timing errors of this host.
    pub fidelity: Fidelity,
    /// The scenario's own flows, if they were carried.
    pub carried: Option<TrafficOutcome>,
}

/// Writes and prints the results; returns true if the host kept up.
pub fn show_results(
    outcome: &ShellOutcome,
    arguments: &ShellArguments,
    network: &Network,
    console: &Console,
) -> Result<bool, Error> {
    let ShellOutcome { result, counts, fidelity, carried } = outcome;
    let scenario = Scenario { title: network.loaded.scenario.title.clone(), file: network.source.name() };
    let document = run_document(result, scenario);
    let folder = arguments.out.as_deref().map(Folder::create).transpose()?;
    let place =
        ReportTarget::of(arguments.report.as_ref(), REPORT, folder.is_some(), &network.source.name())?;
    let fidelity_text = fidelity_text(fidelity, counts);
    if let Some(place) = place {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: result.seed }, result);
        let page = report(&document, &series, Some(&network.plan.spec), &[]);
        place.write(&page, folder.as_ref(), console)?;
    }
    if let Some(folder) = folder {
        let mut tables = TableFiles::new(&folder)?;
        tables.add("", result)?;
        tables.finish()?;
        folder.write_results(&document, &network.loaded.expanded())?;
        folder.write(FIDELITY, format!("{:#}\n", fidelity_json(fidelity)))?;
        if let Some(carried) = carried {
            folder.write(TRAFFIC, format!("{:#}\n", carried.document))?;
        }
        let place = folder.commit()?;
        console.inform(&format!("Results are in {}", place.display()));
    }
    if arguments.all {
        console.print(&format!("{:#}\n", outcome_json(outcome, &document)?))?;
    } else if arguments.json {
        console.print_document(&document)?;
    } else if result.flows.is_empty() {
        console.inform("No packet crossed the network.");
    } else {
        console.inform(format_summary(&document, console.style).trim_end());
    }
    if let Some(carried) = carried {
        console.inform(carried.table().render(console.style).trim_end());
    }
    let verdict = fidelity.verdict();
    match &verdict {
        Verdict::Invalid(_) if network.is_measured => console.note(&fidelity_text),
        // Otherwise it is an ordinary message.
        Verdict::Valid | Verdict::Invalid(_) => console.inform(&fidelity_text),
    }
    Ok(verdict == Verdict::Valid)
}

/// Returns the document of one run.
pub(super) fn run_document(result: &RunResult, scenario: Scenario) -> Document {
    let header = Header {
        tool_version: version().to_owned(),
        scenario,
        duration: result.end_time.since(thalweg_proto::units::Time::ZERO),
        warmup: result.warmup,
        seeds: vec![result.seed],
        deterministic: false,
        margin: MARGIN,
        unlike_defaults: Vec::new(),
        contention: None,
        compared: Vec::new(),
    };
    Document::from_runs(header, vec![Run::from_result(result)])
}

/// Returns the fidelity record as text.
fn fidelity_text(fidelity: &Fidelity, counts: &Counts) -> String {
    let mut text = match fidelity.verdict() {
        Verdict::Valid => "Fidelity: valid".to_owned(),
        Verdict::Invalid(why) => format!("Fidelity: NOT VALID: {}", why.join("; ")),
    };
    for line in fidelity.to_string().lines() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {line}");
    }
    let named = [
        ("destination unreachable", counts.unreachable),
        ("TTL exceeded", counts.expired),
        ("larger than the MTU", counts.too_big),
    ];
    let named: Vec<String> =
        named.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}")).collect();
    if !named.is_empty() {
        let _ = write!(text, "\n  packets answered by routers: {}", named.join(", "));
    }
    if counts.stopped > 0 {
        let _ = write!(text, "\n  packets dropped by NATs and firewalls: {}", counts.stopped);
    }
    if counts.router_feedback > 0 {
        let _ = write!(text, "\n  congestion messages of routers: {}", counts.router_feedback);
    }
    if counts.waited > 0 {
        let _ = write!(text, "\n  delayed acknowledgements: {}", counts.waited);
    }
    if counts.held_at_gates > 0 {
        let _ = write!(text, "\n  gates queued {} packets", counts.held_at_gates);
    }
    if counts.gate_drops > 0 {
        let _ = write!(text, ", and dropped {} for lack of space", counts.gate_drops);
    }
    text
}

/// Returns the complete outcome as JSON.
fn outcome_json(outcome: &ShellOutcome, document: &Document) -> Result<Value, Error> {
    let mut text = Vec::new();
    document.write_json(&mut text).map_err(Error::Output)?;
    let results: Value = serde_json::from_slice(&text).map_err(|error| Error::Failed(error.to_string()))?;
    let traffic = outcome.carried.as_ref().map(|carried| &carried.document);
    Ok(
        serde_json::json!({ "results": results, "fidelity": fidelity_json(&outcome.fidelity), "traffic": traffic }),
    )
}

/// Returns the fidelity record as JSON.
fn fidelity_json(fidelity: &Fidelity) -> Value {
    let times = |of: &Lateness| {
        serde_json::json!({
            "count": of.count(),
            "p50_s": of.quantile(0.5).as_secs_f64(),
            "p99_s": of.quantile(0.99).as_secs_f64(),
            "max_s": of.max().as_secs_f64(),
        })
    };
    let why = match fidelity.verdict() {
        Verdict::Valid => Vec::new(),
        Verdict::Invalid(why) => why,
    };
    serde_json::json!({
        "valid": why.is_empty(),
        "why_not": why,
        "late": times(&fidelity.lateness),
        "unseen": times(&fidelity.unseen),
        "max_burst_in_packets": fidelity.max_received_batch,
        "max_burst_out_packets": fidelity.burst,
        "lost_before_the_network": fidelity.lost_before,
        "refused_by_devices": fidelity.refused,
        "elapsed_s": fidelity.elapsed.as_secs_f64(),
        "processor_s": fidelity.busy.as_secs_f64(),
        "threads": fidelity.threads,
    })
}
