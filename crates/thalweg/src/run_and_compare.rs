//! `thalweg run` and `thalweg compare`: simulate a scenario with one scheme, or with several side by side.

use crate::animated_packet_selection::Replays;
use crate::batch_execution::{Execution, Scheme};
use crate::console_output::{CommandResult, Console, Error, diagnostic_explanation};
use crate::json_lines::Lines;
use crate::kernel_schemes::reject_without_live;
use crate::packet_captures::Captures;
use crate::report::ReportTarget;
use crate::scenario_sources::Source;
use crate::sender_qlogs::Qlogs;
use crate::sequence_diagrams::Sequences;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::simulation_arguments::{CompareArguments, Options, RunArguments, Trace};
use crate::version::version;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_report::output::{
    FIGURE, Folder, IMAGE, REPORT, format_count, format_summary, join_listed, join_quoted, render_png,
};
use thalweg_report::report::{View, draw_figure, report};
use thalweg_report::results::{
    Contention, DifferingDefault, Document, Header, MARGIN, MIN_RUNS, Scenario, differing_defaults_within,
};
use thalweg_scenario::{
    Diagnostic, LoadedScenario, OptionOutcome, ReplacedOption, SchemeInUse, SchemeOverride, Severity,
    describe_speedup, group_named, is_random,
};
use thalweg_sim::external_agent::AGENT;
use thalweg_sim::partition::{default_threads, estimate_speedup};
use thalweg_sim::simulation_spec::{Middlebox, Spec};
use thalweg_sweep::differing_defaults;

/// Implements `thalweg run`.
pub fn run(arguments: &RunArguments, console: &Console) -> CommandResult {
    let options = &arguments.options;
    let source = Source::find(&arguments.file)?;
    let loaded = source.load(&options.sets, &console.registry)?;
    let scheme = Scheme::new(None, &loaded);
    let frame = Frame { unlike_defaults: differing_defaults_within(&loaded), ..Frame::default() };
    execute_runs(&source, &loaded, vec![scheme], frame, options, console)
}

/// Implements `thalweg compare`.
pub fn compare(arguments: &CompareArguments, console: &Console) -> CommandResult {
    let options = &arguments.options;
    let source = Source::find(&arguments.file)?;
    let names = join_scheme_pieces(&arguments.schemes);
    reject_without_live(&names)?;
    let flows = &arguments.flows;
    let (loaded, schemes, scheme_options) =
        load_with_schemes(&source, &options.sets, &names, flows, &console.registry)?;
    if let Some(note) = scheme_options.note {
        console.inform(&note);
    }
    let frame = Frame {
        margin: arguments.margin,
        unlike_defaults: scheme_options.unlike_defaults,
        compared: flows.clone(),
    };
    execute_runs(&source, &loaded, schemes, frame, options, console)
}

/// Returns the indices of the groups whose flows are controlled by agents.
pub fn agent_groups(spec: &Spec) -> Vec<usize> {
    let is_agent = |group: usize| {
        let mut values = AGENT.empty_values(thalweg_catalog::Environment::Simulated);
        (AGENT.write_values)(&spec.groups[group].transport.endpoint_configs, &mut values)
    };
    (0..spec.groups.len()).filter(|&group| is_agent(group)).collect()
}

/// Returns a warning if runs of these specifications have flows of agents: nothing sets their windows there.
pub fn uncontrolled_agents_warning<'a>(specs: impl IntoIterator<Item = &'a Spec>) -> Option<String> {
    let names =
        |spec: &'a Spec| agent_groups(spec).into_iter().map(move |group| spec.groups[group].name.clone());
    let names: BTreeSet<String> = specs.into_iter().flat_map(names).collect();
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "no agent sets the window of {} outside of an environment: the scheme `agent` keeps its initial window",
            join_quoted(&names)
        )
    })
}

/// Context of a comparison, for the header of its results.
#[derive(Debug)]
struct Frame {
    /// Relative differences below this margin are undecided.
    margin: f64,
    /// Options that differ between schemes, or groups of one scenario, because of different defaults.
    unlike_defaults: Vec<DifferingDefault>,
    /// Groups that use the compared schemes; empty for all.
    compared: Vec<String>,
}

impl Default for Frame {
    fn default() -> Self {
        Self { margin: MARGIN, unlike_defaults: Vec::new(), compared: Vec::new() }
    }
}

/// Options of the compared schemes, as text and values.
#[derive(Debug)]
pub struct SchemeOptions {
    /// Note on the options of the file's own schemes, and which of them are kept.
    pub note: Option<String>,
    /// Options that differ between the schemes because of different defaults.
    pub unlike_defaults: Vec<DifferingDefault>,
    /// The schemes, each with its use in the groups, by position from 0.
    pub in_use: Vec<(String, BTreeMap<usize, Arc<SchemeInUse>>)>,
}

/// Returns a scenario as it is, and with each scheme for the groups in `flows`, with notes on their options. By default
/// all groups with a reliable transport use the schemes.
pub fn load_with_schemes(
    source: &Source,
    sets: &[String],
    names: &[String],
    flows: &[String],
    registry: &Arc<Registry>,
) -> Result<(LoadedScenario, Vec<Scheme>, SchemeOptions), Error> {
    let loaded = source.load(sets, registry)?;
    // If agents control some flows, only those get the schemes; other flows keep the scenario's.
    let agents: Vec<usize> = agent_groups(loaded.spec()).into_iter().map(|group| group + 1).collect();
    let flows = match (flows.is_empty(), agents.is_empty()) {
        (false, _) => loaded.groups_named(flows).map_err(|why| Error::unknown_argument("flows", why))?,
        (true, true) => loaded.compared_flows(),
        (true, false) => agents,
    };
    let (mut seen, mut errors) = (BTreeSet::new(), Vec::new());
    let (mut schemes, mut former, mut in_use) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("the scheme `{name}` is given twice")));
        }
        let scheme_override = SchemeOverride { scheme: name, flows: &flows };
        let loaded = match source.load_with_override(sets, Some(scheme_override), registry) {
            Ok(loaded) => loaded,
            Err(error) => {
                errors.extend(scheme_errors(error, name, sets.len())?);
                continue;
            }
        };
        schemes.push(Scheme::new(Some(name), &loaded));
        in_use.push((name.as_str(), loaded.schemes));
        former.push((name.clone(), loaded.replaced_options));
    }
    Error::of_all(errors)?;
    let unlike_defaults = differing_defaults(&in_use);
    let in_use = in_use.into_iter().map(|(name, of)| (name.to_owned(), of)).collect();
    Ok((loaded, schemes, SchemeOptions { note: describe_options(&former), unlike_defaults, in_use }))
}

/// Describes which options of the file's schemes are kept for the compared schemes, and which are not.
fn describe_options(schemes: &[(String, Vec<ReplacedOption>)]) -> Option<String> {
    let all: BTreeSet<(&str, &str)> =
        schemes.iter().flat_map(|(_, former)| former).map(|of| (of.base, of.text.as_str())).collect();
    let with = |option: (&str, &str), outcome| -> Vec<&str> {
        let has = |of: &ReplacedOption| (of.base, of.text.as_str()) == option && of.outcome == outcome;
        schemes.iter().filter(|(_, former)| former.iter().any(has)).map(|(name, _)| name.as_str()).collect()
    };
    // Group the options with the same treatment.
    let mut outcomes: Vec<(String, Vec<String>)> = Vec::new();
    for option in all {
        let (kept, left) = (with(option, OptionOutcome::Kept), with(option, OptionOutcome::Left));
        let outcome = match (kept.as_slice(), left.as_slice()) {
            ([], []) => "overruled by all schemes".to_owned(),
            ([], _) => format!("left out ({} alone has it)", option.0),
            (_, []) if kept.len() == schemes.len() => "kept for all schemes".to_owned(),
            (_, []) => format!("kept for {}", join_listed(&kept)),
            _ => format!("kept for {}, not for {}", join_listed(&kept), join_listed(&left)),
        };
        let text = format!("`{}`", option.1);
        match outcomes.iter_mut().find(|(other, _)| *other == outcome) {
            Some((_, texts)) => texts.push(text),
            None => outcomes.push((outcome, vec![text])),
        }
    }
    let outcomes: Vec<String> =
        outcomes.into_iter().map(|(outcome, texts)| format!("{} {outcome}", texts.join(", "))).collect();
    (!outcomes.is_empty())
        .then(|| format!("note: options of the file's own schemes: {}", outcomes.join("; ")))
}

/// Joins comma-separated pieces into schemes: a piece is a scheme, or another option of the last one.
pub fn join_scheme_pieces(pieces: &[String]) -> Vec<String> {
    let mut schemes: Vec<String> = Vec::new();
    for piece in pieces.iter().map(|piece| piece.trim()) {
        let is_option = piece.split(':').next().is_some_and(|start| start.contains('='));
        match schemes.last_mut().filter(|scheme| is_option && scheme.contains(':')) {
            Some(scheme) => *scheme = format!("{scheme},{piece}"),
            None => schemes.push(piece.to_owned()),
        }
    }
    schemes
}

/// Attributes the errors in a scheme to `--schemes`, instead of the internal overrides after the first `sets`.
///
/// # Errors
///
/// An error that is not the scheme's.
fn scheme_errors(error: Error, name: &str, sets: usize) -> Result<Vec<Error>, Error> {
    let Error::Scenario(diagnostics) = error else { return Err(error) };
    let number = |file: &str| file.strip_prefix("--set ").and_then(|number| number.parse::<usize>().ok());
    let is_of_scheme = |diagnostic: &&Diagnostic| {
        diagnostic.severity == Severity::Error
            && number(diagnostic.file()).is_some_and(|number| number > sets)
    };
    // Each flow with the scheme repeats its errors.
    let mut found: Vec<(String, bool)> = Vec::new();
    for diagnostic in diagnostics.iter().filter(is_of_scheme) {
        let of = if diagnostic.message.contains(name) { String::new() } else { format!("{name}: ") };
        let one = (format!("{of}{}", diagnostic_explanation(diagnostic)), diagnostic.is_unknown_name);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    if found.is_empty() {
        return Err(Error::Scenario(diagnostics));
    }
    let error = |(why, is_unknown_name)| match is_unknown_name {
        true => Error::unknown_argument("schemes", why),
        false => Error::argument("schemes", why),
    };
    Ok(found.into_iter().map(error).collect())
}

fn execute_runs(
    source: &Source,
    loaded: &LoadedScenario,
    schemes: Vec<Scheme>,
    frame: Frame,
    options: &Options,
    console: &Console,
) -> CommandResult {
    warn_before(loaded, options, console)?;
    let seeds = seeds_from(options.seed.unwrap_or(loaded.spec().seed), max_runs(options))?;
    let Frame { margin, unlike_defaults, compared } = frame;
    let header =
        Header { unlike_defaults, compared, ..results_header(source, loaded, &schemes, seeds, margin) };
    let folder = options.out.as_deref().map(Folder::create).transpose()?;
    let runs = schemes.len() * header.seeds.len();
    let captures = open_captures(source, loaded, options, folder.as_ref(), runs > 1)?;
    let place = ReportTarget::of(options.report.as_ref(), REPORT, folder.is_some(), &source.name())?;
    let picture = ReportTarget::of(options.svg.as_ref(), FIGURE, folder.is_some(), &source.name())?;
    let image = ReportTarget::of(options.png.as_ref(), IMAGE, folder.is_some(), &source.name())?;
    let qlogs = Qlogs::new(options, folder.as_ref(), &source.name(), &loaded.scenario.title, runs > 1);
    let sequences = match options.trace {
        Some(Trace::Sequence) => {
            Some(open_sequence_diagrams(source, loaded, options, folder.as_ref(), runs > 1)?)
        }
        None => None,
    };
    let traces = [
        captures.as_ref().map(Captures::output_path),
        qlogs.as_ref().map(Qlogs::written),
        sequences.as_ref().map(Sequences::written),
    ];
    let stop = stop_flag_of_caller_or_signals(console)?;
    let lines = options.json_lines.then(|| Arc::new(Lines::new(runs, Arc::clone(&stop))));
    if let Some(folder) = &folder {
        schemes.iter().try_for_each(|scheme| scheme.store(folder))?;
    }
    let threads = threads_per_run(&schemes[0].spec, runs, options);
    let execution = Execution {
        header,
        schemes,
        until: options.until.clone().map(|goal| (goal, MIN_RUNS.min(max_runs(options) as usize))),
        jobs: options.jobs,
        threads,
        events: None,
        captures,
        qlogs,
        sequences,
        lines: lines.clone(),
        results: None,
        verify: options.verify,
        folder: folder.as_ref(),
        keep_series: place.is_some() || picture.is_some() || image.is_some(),
        replay: place.as_ref().and_then(|_| Replays::new(options.replay, loaded.spec())),
        stop,
    };
    let (document, series, replays) = execution.run(console)?;
    // Files in the results folder are reported with it.
    let is_beside = |path: &PathBuf| folder.as_ref().is_none_or(|folder| !path.starts_with(folder.path("")));
    for path in traces.into_iter().flatten().filter(is_beside) {
        console.inform(&format!("Written: {}", path.display()));
    }
    if let Some(place) = place {
        let page = report(&document, &series, Some(loaded.spec()), &replays);
        place.write(&page, folder.as_ref(), console)?;
    }
    if picture.is_some() || image.is_some() {
        let svg = draw_figure(&document, &series, &View::default());
        if let Some(place) = picture {
            place.write(&svg, folder.as_ref(), console)?;
        }
        if let Some(place) = image {
            place.write(&render_png(&svg)?, folder.as_ref(), console)?;
        }
    }
    if let Some(folder) = folder {
        folder.write_results(&document, &loaded.expanded())?;
        let place = folder.commit()?;
        console.inform(&format!("Results are in {}", place.display()));
    }
    match lines {
        Some(lines) => {
            lines.write_results(&document);
            lines.error().map_or(Ok(()), |error| Err(Error::Output(error)))?;
        }
        None if options.json => console.print_document(&document)?,
        None => console.print(&format_summary(&document, console.style))?,
    }
    if options.verify {
        let runs = format_count(document.runs().count() as u64, "run");
        console.inform(&format!("Verified: every packet of {runs} kept the rules"));
    }
    if is_random(loaded.spec()) && is_constant(&document) {
        console.inform("note: all runs gave identical results, although the scenario has random parts");
    }
    check_results(&document)
}

/// Returns the number of threads per simulation: the configured one, or for a single run the one that is expected to be
/// faster.
fn threads_per_run(spec: &Spec, runs: usize, options: &Options) -> Option<NonZeroUsize> {
    let is_alone = runs == 1 && options.jobs.is_none();
    let automatic =
        || is_alone.then(|| NonZeroUsize::new(default_threads(spec, idle_processors()))).flatten();
    options.threads.or_else(automatic)
}

/// Returns the number of idle processors, from the load average of the last minute, if available.
fn idle_processors() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let load = || std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse::<f64>().ok();
    processors.saturating_sub(load().unwrap_or(0.0).round() as usize)
}

/// Returns true if there are several runs, and all runs of each scheme are identical.
fn is_constant(document: &Document) -> bool {
    let mut different = BTreeSet::new();
    let mut schemes = BTreeSet::new();
    for (scheme, run) in document.runs() {
        different.insert((scheme, &run.fingerprint));
        schemes.insert(scheme);
    }
    document.runs().count() > schemes.len() && different.len() == schemes.len()
}

/// Prints warnings before the first run, and fails if the run is impossible.
fn warn_before(loaded: &LoadedScenario, options: &Options, console: &Console) -> CommandResult {
    console.warn(&loaded.warnings);
    can_count(loaded)?;
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    if loaded.spec().links.iter().any(|link| link.middlebox != Middlebox::default()) {
        console.inform(
            "note: `nat`, `nat-rebind` and `udp-for` act in live networks alone (`thalweg shell`); a simulation has no addresses",
        );
    }
    let several = loaded.check_replications(max_runs(options));
    if let (Some(_), Some(why)) = (&options.until, &several) {
        return Err(Error::argument("until", &why.message));
    }
    console.warn(several.as_slice());
    if let Some(group) = options.until.as_ref().and_then(|goal| goal.group.as_ref()) {
        group_named(loaded.spec(), group).map_err(|why| Error::unknown_argument("until", why))?;
    }
    // Check before partitioning the network for threads, which needs memory itself.
    has_memory(loaded)?;
    if let Some(threads) = options.threads.map(NonZeroUsize::get).filter(|&threads| threads > 1) {
        let processors = std::thread::available_parallelism().map_or(usize::MAX, NonZeroUsize::get);
        if estimate_speedup(loaded.spec(), [threads])[0].partitions == 1 {
            console.inform(&format!(
                "note: --threads {threads} gains nothing here, and may take many times as long as one: {}",
                describe_speedup(loaded.spec(), [threads])
            ));
        } else if threads > processors {
            console.inform(&format!("note: --threads {threads} takes longer than {processors} on this host, which has {processors} processors"));
        }
    }
    Ok(())
}

/// Fails if nothing would be measured.
pub fn can_count(loaded: &LoadedScenario) -> CommandResult {
    let Spec { warmup, duration, .. } = *loaded.spec();
    if warmup >= duration {
        return Err(Error::Usage(format!(
            "the warm-up ({warmup}) is not shorter than the run ({duration}), and nothing would be counted: make `duration` longer, or the warm-up shorter (--set \"warmup=0 s\")"
        )));
    }
    Ok(())
}

/// Fails if the run would need more memory than is available.
pub fn has_memory(loaded: &LoadedScenario) -> CommandResult {
    match available_memory().and_then(|available| loaded.check_memory(available)) {
        Some(error) => Err(Error::Scenario(vec![error])),
        None => Ok(()),
    }
}

/// Returns the available memory in bytes, if the kernel reports it.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Returns the maximum number of runs per scheme.
fn max_runs(options: &Options) -> u32 {
    options.until.as_ref().map_or(options.reps, |_| options.max_reps).get()
}

/// Returns this number of consecutive seeds.
pub fn seeds_from(first: u64, runs: u32) -> Result<Vec<u64>, Error> {
    let last = first.checked_add(u64::from(runs) - 1);
    let last =
        last.ok_or_else(|| Error::Usage(format!("seeds from {first} on: the last ones are too large")))?;
    Ok((first..=last).collect())
}

/// Returns the header of results of these schemes.
pub fn results_header(
    source: &Source,
    loaded: &LoadedScenario,
    schemes: &[Scheme],
    seeds: Vec<u64>,
    margin: f64,
) -> Header {
    let variants: Vec<&Spec> = schemes.iter().map(|scheme| &*scheme.spec).collect();
    Header {
        tool_version: version().to_owned(),
        scenario: Scenario { title: loaded.scenario.title.clone(), file: source.name() },
        duration: loaded.spec().duration,
        warmup: loaded.spec().warmup,
        seeds,
        deterministic: !variants.iter().any(|spec| is_random(spec)),
        margin,
        unlike_defaults: Vec::new(),
        contention: Contention::from_variants(loaded.spec(), &variants),
        compared: Vec::new(),
    }
}

fn open_captures(
    source: &Source,
    loaded: &LoadedScenario,
    options: &Options,
    folder: Option<&Folder>,
    several: bool,
) -> Result<Option<Captures>, Error> {
    let Some(path) = &options.pcap else { return Ok(None) };
    let path = match (path, folder) {
        (Some(path), _) => path.clone(),
        (None, Some(folder)) => folder.path("trace.pcap"),
        (None, None) => PathBuf::from(source.name()).with_extension("pcap"),
    };
    Captures::new(&options.pcap_at, loaded.spec(), path, several).map(Some)
}

fn open_sequence_diagrams(
    source: &Source,
    loaded: &LoadedScenario,
    options: &Options,
    folder: Option<&Folder>,
    several: bool,
) -> Result<Sequences, Error> {
    let path = match folder {
        Some(folder) => folder.path("sequence"),
        None => {
            let name = PathBuf::from(source.name());
            name.with_file_name(format!(
                "{}-sequence",
                name.file_stem().unwrap_or_default().to_string_lossy()
            ))
        }
    };
    Sequences::new(options, loaded.spec(), &loaded.scenario.title, &path, several)
}

/// Fails if the results are unreliable, incomplete, or less precise than requested.
fn check_results(document: &Document) -> CommandResult {
    if let Some((_, run)) = document.runs().find(|(_, run)| !run.conservation.holds) {
        return Err(Error::Failed(format!(
            "seed {}: packets are not conserved, which is a bug in the simulator; please report it",
            run.seed
        )));
    }
    if !document.complete {
        return Err(Error::Failed("interrupted: the results are partial".to_owned()));
    }
    match &document.until {
        Some(until) if !until.is_reached() => Err(Error::Failed(format!(
            "the interval of {} that --until asks for was not reached",
            until.word()
        ))),
        _ => Ok(()),
    }
}
