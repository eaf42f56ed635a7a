//! Scenario files: a network and its traffic in TOML.
//!
//! [`load`] parses a file into a [`Scenario`], the input of the simulator, and reports all mistakes at once, each with
//! its position ([`Diagnostic`]). [`file_schema`] describes the format for editors, [`keys_reference()`] for people.

mod built_in_scenarios;
mod diagnostic;
mod explain;
mod explicit_options;
mod file_schema;
mod flow_group_lookup;
pub mod import;
mod included_files;
mod key_bindings;
mod key_reference;
mod keys;
mod lint;
mod list_columns;
mod matrix_demand;
mod named_paths;
mod network;
mod parquet;
mod parsed_tree;
mod path_properties;
mod resolve;
mod scenario_writer;
mod schema_definitions;
mod scheme_override;
mod set_option;
mod source_text;
mod speedup_estimate;
mod sweep;
mod table_declarations;
mod toml_writer;
mod traffic_matrix;
mod unknown_unit;
mod unused_defaults;
mod value_types;
mod wire_load;

pub use built_in_scenarios::{BUILT_IN, BuiltIn};
pub use diagnostic::{Diagnostic, RenderedDiagnostic, Severity, nearest_name};
pub use file_schema::{file_schema, schema_with};
pub use flow_group_lookup::group_named;
pub use key_reference::keys_reference;
pub use keys::{host_table, measured_hosts};
pub use lint::{Memory, estimate_memory, is_random};
pub use named_paths::{PATHS, PathDescription, known_path};
pub use path_properties::{GroupPath, Paths, packet_sizes, unloaded_rtt};
pub use scenario_writer::expand_scenario;
pub use scheme_override::{OptionOutcome, ReplacedOption, SchemeOverride};
pub use source_text::{BuiltInFiles, MAX_READ, Position, ReadError, Reader, Source, read_text};
pub use speedup_estimate::describe_speedup;
pub use sweep::{
    DrawnPoints, List, ListedKey, MAX_REPS, PlacedText, Range, SamplingMethod, SweepFile, Values, Varied,
    read_sweep, read_sweep_text,
};
pub use toml_writer::toml_string as toml_text;
pub use wire_load::wire_bytes_per_byte;

use diagnostic::Report;
use included_files::Loader;
use resolve::Origins;
pub use resolve::SchemeInUse;
use source_text::{Sources, Span};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use table_declarations::Decode as _;
use thalweg_catalog::Registry;
use thalweg_sim::simulation_spec::Spec;

/// A parsed scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The title above results.
    pub title: String,
    /// A description of the scenario, in a few sentences; may be empty.
    pub description: String,
    /// The simulation to run.
    pub spec: Spec,
    /// The available schemes and disciplines.
    pub registry: Arc<Registry>,
}

impl Scenario {
    /// Writes the scenario as a self-contained file with all defaults expanded.
    pub fn expanded(&self) -> String {
        expand_scenario(self)
    }
}

/// A valid scenario and its warnings.
#[derive(Debug)]
pub struct LoadedScenario {
    /// The scenario.
    pub scenario: Scenario,
    /// Warnings, in file order.
    pub warnings: Vec<Diagnostic>,
    /// Options of the schemes replaced by [`SchemeOverride`], without duplicates.
    pub replaced_options: Vec<ReplacedOption>,
    /// The schemes of the flow groups, by position from 0.
    pub schemes: BTreeMap<usize, Arc<SchemeInUse>>,
    paths: Paths,
    origins: Origins,
    sources: Sources,
    units: BTreeMap<String, &'static str>,
}

impl LoadedScenario {
    /// Returns the simulation to run.
    pub fn spec(&self) -> &Spec {
        &self.scenario.spec
    }

    /// Returns the positions (from 1) of the flows under comparison. Datagram flows are background traffic and
    /// excluded, unless there are no others.
    pub fn compared_flows(&self) -> Vec<usize> {
        let groups = self.spec().groups.iter().zip(1..);
        let reliable: Vec<usize> = groups
            .clone()
            .filter(|(group, _)| group.transport.properties().is_reliable())
            .map(|(_, position)| position)
            .collect();
        if reliable.is_empty() { groups.map(|(_, position)| position).collect() } else { reliable }
    }

    /// Returns the positions (from 1) of the flow groups with these names.
    ///
    /// # Errors
    ///
    /// An unknown or duplicate name: a sentence that lists the valid names.
    pub fn groups_named(&self, names: &[String]) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for name in names {
            let position = group_named(self.spec(), name)?;
            if found.contains(&position) {
                return Err(format!("the flows `{name}` are named twice"));
            }
            found.push(position);
        }
        Ok(found)
    }

    /// Returns the unit of the plain number that a change sets, by the change's number from 1; `None` for text and for numbers without
    /// a unit.
    pub fn unit_of_set(&self, number: usize) -> Option<&'static str> {
        self.units.get(&set_option::source_name(number)).copied()
    }

    /// Returns routes, round-trip times and bandwidth-delay products.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Writes the scenario as a self-contained file that parses to the same specification.
    pub fn expanded(&self) -> String {
        self.scenario.expanded()
    }

    /// Explains the scenario in text: paths, round-trip times, bandwidth-delay products, queues, memory.
    pub fn explain(&self) -> String {
        explain::explain(self)
    }

    /// Returns an error if a run needs more than `available` bytes of memory.
    pub fn check_memory(&self, available: u64) -> Option<Diagnostic> {
        let needed = estimate_memory(self.spec(), &self.paths);
        if needed.total() <= available {
            return None;
        }
        let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
        let groups = self.spec().groups.iter().zip(&self.origins.groups);
        let largest = groups.max_by_key(|(group, _)| group.count);
        let flows: u64 = self.spec().groups.iter().map(|group| u64::from(group.count)).sum();
        let (mut span, mut help) = (
            largest.map_or(self.origins.file_span, |(_, origin)| origin.count),
            format!("{flows} flows take {} of it", gigabytes(needed.flows)),
        );
        if needed.series > needed.flows.max(needed.links) {
            help = format!(
                "series take {} of it: request fewer `points` or `flows` under [measure]",
                gigabytes(needed.series)
            );
            span = self.origins.file_span;
        } else if let Some(link) = needed.largest_link.filter(|_| needed.links > needed.flows) {
            let name = &self.spec().links[link].name;
            help = format!(
                "packets on links and in their queues take {} of it, most of them at `{name}`; \
                 a smaller queue, rate, delay or `max-window` takes less",
                gigabytes(needed.links)
            );
            span = self.origins.links[link].rate[0];
        }
        let message = format!(
            "the run takes about {}, but {} are available",
            gigabytes(needed.total()),
            gigabytes(available)
        );
        Some(self.diagnostic(Severity::Error, "scenario.memory", span, message, help))
    }

    /// Returns a warning if `replications` runs are requested but all are identical.
    pub fn check_replications(&self, replications: u32) -> Option<Diagnostic> {
        (replications > 1 && !is_random(self.spec())).then(|| {
            let message =
                format!("nothing in this scenario is random: {replications} runs give the same result");
            let help =
                "random are, for instance, a `spread` of starts, a `loss` and a random-drop queue".to_owned();
            self.diagnostic(
                Severity::Warning,
                "scenario.deterministic",
                self.origins.file_span,
                message,
                help,
            )
        })
    }

    fn diagnostic(
        &self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: String,
        help: String,
    ) -> Diagnostic {
        let source = Arc::clone(self.sources.get(span.source));
        let range = span.start as usize..span.end as usize;
        Diagnostic { help: Some(help), ..Diagnostic::new(severity, code, source, range, message) }
    }
}

/// Loads the scenario file at `path`, changed by `sets` (each `KEY=VALUE`).
///
/// # Errors
/// All errors and warnings.
pub fn load(path: &Path, sets: &[String]) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_with(path, sets, &Arc::default())
}

/// Loads a scenario file with the schemes and disciplines of `registry`.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    path: &Path,
    sets: &[String],
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_with_override(path, sets, None, registry)
}

/// Loads a scenario file with a scheme override for some flows.
///
/// # Errors
/// As [`load`]; mistakes in the scheme are numbered as changes after `sets`.
pub fn load_with_override(
    path: &Path,
    sets: &[String],
    scheme_override: Option<SchemeOverride<'_>>,
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::new(Arc::clone(registry)), Loader::default());
    let table = loader.load(path, &mut report);
    finish(table, sets, scheme_override, path.parent().unwrap_or(Path::new("")), report, loader)
}

/// Parses a scenario from a text. `name` identifies it in messages; file names in it are relative to `directory`.
///
/// # Errors
/// As [`load`].
pub fn load_text(
    name: &str,
    text: &str,
    directory: &Path,
    sets: &[String],
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_text_with(name, text, directory, sets, &Arc::default())
}

/// Parses a scenario from a text with the schemes and disciplines of `registry`.
///
/// # Errors
/// As [`load`].
pub fn load_text_with(
    name: &str,
    text: &str,
    directory: &Path,
    sets: &[String],
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_text_with_override(name, text, directory, sets, None, registry)
}

/// Parses a scenario from a text with a scheme override for some flows.
///
/// # Errors
/// As [`load_with_override`].
pub fn load_text_with_override(
    name: &str,
    text: &str,
    directory: &Path,
    sets: &[String],
    scheme_override: Option<SchemeOverride<'_>>,
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::new(Arc::clone(registry)), Loader::default());
    let table = loader.load_text(name, text, directory, &mut report);
    finish(table, sets, scheme_override, directory, report, loader)
}

/// Parses a scenario from a text that may refer to `files`, with the schemes and disciplines of `registry`.
///
/// # Errors
/// As [`load`].
pub fn load_text_beside(
    name: &str,
    text: &str,
    files: BuiltInFiles,
    sets: &[String],
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::new(Arc::clone(registry)), Loader::with(files));
    let table = loader.load_text(name, text, Path::new(""), &mut report);
    finish(table, sets, None, Path::new(""), report, loader)
}

/// Loads the built-in scenario `name` from `files`, which may refer to each other.
///
/// # Errors
/// As [`load`].
pub fn load_built_in(
    name: &str,
    files: BuiltInFiles,
    sets: &[String],
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_built_in_with_override(name, files, sets, None, &Arc::default())
}

/// Loads a built-in scenario with the schemes and disciplines of `registry` and a scheme override for some flows.
///
/// # Errors
/// As [`load_with_override`].
pub fn load_built_in_with_override(
    name: &str,
    files: BuiltInFiles,
    sets: &[String],
    scheme_override: Option<SchemeOverride<'_>>,
    registry: &Arc<Registry>,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::new(Arc::clone(registry)), Loader::with(files));
    let table = loader.load(Path::new(name), &mut report);
    finish(table, sets, scheme_override, Path::new(""), report, loader)
}

/// Checks a host from the command line, written as the value of `host`. `name` identifies it in messages.
///
/// # Errors
/// All mistakes in it.
pub fn check_host(name: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
    let mut report = Report::default();
    let source = report.add_source(Source::argument(name.to_owned(), text.to_owned()));
    let host = parsed_tree::parse_value(source, &mut report)
        .and_then(|value| keys::HostKey::decode(&value, &mut report));
    if report.errors() == 0 {
        let fault = match host {
            Some(host) => host.spec().fault().map(str::to_owned),
            None => Some(format!("expected {}", keys::HostKey::expected())),
        };
        if let Some(fault) = fault {
            report.error("scenario.host", Span::whole(source), fault);
        }
    }
    if report.errors() == 0 { Ok(()) } else { Err(report.take()) }
}

/// Converts TOML to JSON, for files that are not scenarios.
///
/// # Errors
///
/// The first syntax error, rendered with its position.
pub fn toml_as_json(name: &str, text: &str) -> Result<serde_json::Value, String> {
    let mut report = Report::default();
    let source = report.add_source(Source::new(name, text));
    let table = parsed_tree::parse(source, &mut report);
    match report.take().first() {
        Some(error) => Err(error.render()),
        None => Ok(parsed_tree::ValueKind::Table(table).into_json()),
    }
}

fn finish(
    mut table: parsed_tree::Table,
    sets: &[String],
    scheme_override: Option<SchemeOverride<'_>>,
    directory: &Path,
    mut report: Report,
    mut loader: Loader,
) -> Result<LoadedScenario, Vec<Diagnostic>> {
    set_option::apply_sets(sets, 1, &mut table, directory, &mut loader, &mut report);
    let is_default_scheme_unused = unused_defaults::warn_unused_defaults(&table, &mut report);
    // Positions of overridden flows are those of resolved groups.
    traffic_matrix::expand_matrices(&mut table, &mut loader, &mut report);
    let replaced = scheme_override.map(|scheme_override| {
        let former = scheme_override.former(&table);
        set_option::apply_sets(
            &scheme_override.sets(),
            sets.len() + 1,
            &mut table,
            directory,
            &mut loader,
            &mut report,
        );
        former
    });
    let replaced = replaced.map(|former| scheme_override::decode(former, &mut report)).unwrap_or_default();
    let whole = Span::whole(0);
    let links = table.get("link").map_or(0, |value| match &value.kind {
        parsed_tree::ValueKind::Array(items) => items.len(),
        _ => 1,
    });
    let links = links + usize::from(table.get("network").is_some());
    let value = parsed_tree::Value { kind: parsed_tree::ValueKind::Table(table), span: whole };
    let Some(document) = keys::Document::decode(&value, &mut report) else {
        return Err(report.take());
    };
    if report.has_syntax_errors() {
        return Err(report.take());
    }
    let scope = resolve::Scope {
        links,
        file_span: whole,
        directories: &loader.directories,
        built_in: loader.built_in(),
        replaced,
        is_default_scheme_unused,
    };
    let resolve::ResolvedDocument { spec, origins, paths, replaced_options: former, mut schemes } =
        resolve::resolve(&document, scope, &mut report);
    if report.errors() == 0 {
        lint::lint(&spec, &origins, &paths, &mut report);
    }
    if report.errors() > 0 {
        return Err(report.take());
    }
    for number in lint::reordered_groups(&spec, &origins, &paths) {
        if let Some(scheme) = schemes.get_mut(&number) {
            Arc::make_mut(scheme).reorders = true;
        }
    }
    let text = |at: &Option<table_declarations::Spanned<String>>| {
        at.as_ref().map(|at| at.value.clone()).unwrap_or_default()
    };
    let (title, description) = (text(&document.title), text(&document.description));
    let scenario = Scenario { title, description, spec, registry: Arc::clone(report.registry()) };
    let (warnings, units) = (report.take(), report.take_units());
    Ok(LoadedScenario {
        scenario,
        warnings,
        replaced_options: former,
        schemes,
        paths,
        origins,
        sources: report.into_sources(),
        units,
    })
}
