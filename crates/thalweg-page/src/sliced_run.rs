//! A run that the page advances in slices.

use crate::packet_steps::{PacketStep, Steps};
use crate::scenario_input::{Input, PageDiagnostic};
use serde::Serialize;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_proto::units::Time;
use thalweg_report::output::{RunKey, Style, format_summary};
use thalweg_report::report::{AllSeries, report};
use thalweg_report::results::{
    Contention, Document, FairShares, Header, MARGIN, Scenario, differing_defaults_within,
};
use thalweg_scenario::{LoadedScenario, is_random};
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::{Series, Simulation, Status};

/// A simulation that is executed in slices of time, with its recorded steps.
#[derive(Debug)]
pub struct Run {
    simulation: Simulation<Steps>,
    steps: Steps,
    loaded: LoadedScenario,
    seed: u64,
    file: String,
}

/// A finished run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The results document, as `thalweg run --json` prints it.
    pub document: Document,
    series: AllSeries,
    loaded: LoadedScenario,
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Simulated time in seconds.
    pub now: f64,
    /// Events so far.
    pub events: u64,
    /// Packets transmitted so far, each hop counted.
    pub hops: u64,
    /// "running", "finished" or "broken".
    pub status: &'static str,
    /// Error of a controller that ended the run.
    pub error: Option<String>,
}

/// A series of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesName {
    /// Quantity.
    pub quantity: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Flow, or link with its ends.
    pub subject: String,
    /// True for a flow.
    pub is_of_flow: bool,
}

impl Run {
    /// Starts a run, optionally one that records the steps of its packets.
    ///
    /// # Errors
    ///
    /// The scenario cannot run: its diagnostics.
    pub fn start(
        input: &Input,
        seed: Option<u64>,
        is_stepped: bool,
        registry: &Arc<Registry>,
    ) -> Result<Self, Vec<PageDiagnostic>> {
        let loaded = input.load(registry)?;
        let seed = seed.unwrap_or(loaded.spec().seed);
        let spec = Spec { seed, ..loaded.spec().clone() };
        let steps = Steps::new(is_stepped);
        let simulation = Simulation::new(&spec, steps.clone())
            .map_err(|error| vec![PageDiagnostic::error("page.run", error.to_string())])?;
        Ok(Self { simulation, steps, loaded, seed, file: input.file() })
    }

    /// Returns the scenario.
    pub const fn loaded(&self) -> &LoadedScenario {
        &self.loaded
    }

    /// Handles up to `events` events.
    pub fn advance(&mut self, events: u64) -> Progress {
        let status = self.simulation.advance(events);
        self.progress(status)
    }

    /// Handles all events up to `time` in seconds, but at most `events`.
    pub fn advance_until(&mut self, time: f64, events: u64) -> Progress {
        let mut status = Status::Running;
        for _ in 0..events {
            status = self.simulation.advance(1);
            if status != Status::Running || self.simulation.now().as_secs_f64() >= time {
                break;
            }
        }
        self.progress(status)
    }

    /// Handles events until a packet takes a step, but at most `events`.
    pub fn step(&mut self, events: u64) -> Progress {
        let mut status = Status::Running;
        for _ in 0..events {
            status = self.simulation.advance(1);
            if status != Status::Running || !self.steps.is_empty() {
                break;
            }
        }
        self.progress(status)
    }

    /// Takes the steps of packets since the last call, and the number of those that were discarded.
    pub fn take_steps(&self) -> (Vec<PacketStep>, u64) {
        self.steps.take()
    }

    fn progress(&self, status: Status) -> Progress {
        Progress {
            now: self.simulation.now().as_secs_f64(),
            events: self.simulation.events(),
            hops: self.simulation.hops(),
            status: match status {
                Status::Running => "running",
                Status::Finished => "finished",
                Status::Broken => "broken",
            },
            error: self.simulation.error().map(ToString::to_string),
        }
    }

    /// Returns the link directions that steps refer to: name, source node and destination node.
    pub fn links(&self) -> Vec<[String; 3]> {
        let links = self.simulation.transmitters();
        links.map(|(name, from, to)| [name, from, to].map(str::to_owned)).collect()
    }

    /// Returns the name of a flow.
    pub fn flow_name(&self, flow: u32) -> String {
        self.simulation.flow_name(flow).unwrap_or_default()
    }

    /// Returns the names of the series, in the order of [`points`](Self::points).
    pub fn series(&self) -> Vec<SeriesName> {
        let links = self.links();
        let subject = |series: &Series| match series.quantity.is_of_flow() {
            true => self.flow_name(series.subject),
            false => {
                let link = links.get(series.subject as usize);
                link.map(|[name, from, to]| format!("{name} {from}->{to}")).unwrap_or_default()
            }
        };
        let named = self.simulation.series().map(|series| SeriesName {
            quantity: series.quantity.name(),
            unit: series.quantity.unit(),
            subject: subject(series),
            is_of_flow: series.quantity.is_of_flow(),
        });
        named.collect()
    }

    /// Writes the points of all series so far: for each its number of points, then its times in seconds, then its
    /// values.
    pub fn points(&self, numbers: &mut Vec<f64>) {
        numbers.clear();
        for series in self.simulation.series() {
            numbers.push(series.points.len() as f64);
            numbers.extend(series.points.iter().map(|(time, _)| time.as_secs_f64()));
            numbers.extend(series.points.iter().map(|(_, value)| *value));
        }
    }

    /// Ends the run, early if it is not finished.
    pub fn finish(self) -> FinishedRun {
        let spec = self.loaded.spec();
        let header = Header {
            tool_version: version(),
            scenario: Scenario { title: self.loaded.scenario.title.clone(), file: self.file },
            duration: spec.duration,
            warmup: spec.warmup,
            seeds: vec![self.seed],
            deterministic: !is_random(spec),
            margin: MARGIN,
            unlike_defaults: differing_defaults_within(&self.loaded),
            contention: Contention::from_spec(spec),
            compared: Vec::new(),
        };
        let (result, _) = self.simulation.finish();
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: self.seed }, &result);
        let runs = vec![thalweg_report::results::Run::from_result(&result)];
        let starved = FairShares::from_spec(spec).starved(None, &runs);
        let document = Document { starved, ..Document::from_runs(header, runs) };
        FinishedRun { document, series, loaded: self.loaded }
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }
}

impl FinishedRun {
    /// Returns the results as text.
    pub fn summary(&self) -> String {
        format_summary(&self.document, Style::UNICODE)
    }

    /// Returns the page that `thalweg run --report` writes.
    pub fn report(&self) -> String {
        report(&self.document, &self.series, Some(self.loaded.spec()), &[])
    }
}

/// Returns the version of the program, with the commit if `THALWEG_COMMIT` was set at build time.
pub fn version() -> String {
    match option_env!("THALWEG_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    }
}
