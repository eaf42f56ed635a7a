//! `thalweg run` and `thalweg compare`.

use crate::arguments::{CompareArguments, Options, RunArguments, Trace};
use crate::capture::Captures;
use crate::console::{Console, Done, Error};
use crate::execute::{Execution, Scheme};
use crate::input::Source;
use crate::interrupt::interruptible_by;
use crate::lines::Lines;
use crate::qlogs::Qlogs;
use crate::replays::Replays;
use crate::report::Place;
use crate::sequences::Sequences;
use crate::values::KERNEL;
use crate::version::version;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_report::output::{FIGURE, Folder, IMAGE, REPORT, counted, listed, png, summary};
use thalweg_report::report::{View, figure, report};
use thalweg_report::results::{Contention, Document, Header, MARGIN, MIN_RUNS, Scenario, UnlikeDefault};
use thalweg_scenario::{
    Diagnostic, Fate, Loaded, ReplacedOption, SchemeOverride, is_random, threads as threads_in_words,
};
use thalweg_sim::agent::AGENT;
use thalweg_sim::cut::{default_threads, estimate_speedup};
use thalweg_sim::spec::Spec;
use thalweg_sweep::unlike;

/// `thalweg run`.
pub fn run(arguments: &RunArguments, console: &Console) -> Done {
    let options = &arguments.options;
    let source = Source::find(&arguments.file)?;
    let loaded = source.load(&options.sets, &console.registry)?;
    let scheme = Scheme::new(None, &loaded);
    execute(&source, &loaded, vec![scheme], Frame::default(), options, console)
}

/// `thalweg compare`.
pub fn compare(arguments: &CompareArguments, console: &Console) -> Done {
    let options = &arguments.options;
    let source = Source::find(&arguments.file)?;
    let names = typed(&arguments.schemes);
    if let Some(name) = names.iter().find(|name| name.starts_with(KERNEL)) {
        return Err(Error::Usage(format!(
            "--schemes: `{name}` is TCP of this host's kernel, which runs live alone: add --live"
        )));
    }
    let flows = &arguments.flows;
    let (loaded, schemes, of_schemes) = compared(&source, &options.sets, &names, flows, &console.registry)?;
    if let Some(note) = of_schemes.note {
        console.say(&note);
    }
    let frame = Frame {
        margin: arguments.margin,
        unlike_defaults: of_schemes.unlike_defaults,
        compared: flows.clone(),
    };
    execute(&source, &loaded, schemes, frame, options, console)
}

/// The groups whose flows have the scheme of agents, by position.
pub fn agents(spec: &Spec) -> Vec<usize> {
    let is_agent = |group: usize| {
        let mut values = AGENT.values(thalweg_catalog::Place::Simulated);
        (AGENT.write)(&spec.groups[group].transport.ends, &mut values)
    };
    (0..spec.groups.len()).filter(|&group| is_agent(group)).collect()
}

/// The facts about a comparison that its results begin with.
#[derive(Debug)]
struct Frame {
    /// Differences below this share of a value decide nothing.
    margin: f64,
    /// The options that schemes do not have alike because their defaults differ.
    unlike_defaults: Vec<UnlikeDefault>,
    /// The groups that alone have the schemes; none where all have.
    compared: Vec<String>,
}

impl Default for Frame {
    fn default() -> Self {
        Self { margin: MARGIN, unlike_defaults: Vec::new(), compared: Vec::new() }
    }
}

/// The options of compared schemes, in words and values.
#[derive(Debug)]
pub struct OfSchemes {
    /// The options of the file's own schemes, and whether they hold for those that are compared.
    pub note: Option<String>,
    /// The options that these schemes do not have alike because their defaults differ.
    pub unlike_defaults: Vec<UnlikeDefault>,
}

/// A scenario as it is, with each of several schemes for the groups of `flows`, and what there is to say of their options. Without
/// `flows` all of reliable transports have them.
pub fn compared(
    source: &Source,
    sets: &[String],
    names: &[String],
    flows: &[String],
    registry: &Arc<Registry>,
) -> Result<(Loaded, Vec<Scheme>, OfSchemes), Error> {
    let loaded = source.load(sets, registry)?;
    // Whoever decides for a flow stands in for a scheme: that of others is as the scenario has it.
    let agents: Vec<usize> = agents(loaded.spec()).into_iter().map(|group| group + 1).collect();
    let flows = match (flows.is_empty(), agents.is_empty()) {
        (false, _) => loaded.groups_named(flows).map_err(|why| Error::Usage(format!("--flows: {why}")))?,
        (true, true) => loaded.compared_flows(),
        (true, false) => agents,
    };
    let mut seen = BTreeSet::new();
    let (mut schemes, mut former, mut in_use) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("the scheme `{name}` is given twice")));
        }
        let instead = SchemeOverride { scheme: name, flows: &flows };
        let loaded = source
            .load_with_override(sets, Some(instead), registry)
            .map_err(|error| not_a_scheme(error, name, sets.len()))?;
        schemes.push(Scheme::new(Some(name), &loaded));
        in_use.push((name.as_str(), loaded.schemes));
        former.push((name.clone(), loaded.former));
    }
    let unlike_defaults = unlike(&in_use);
    Ok((loaded, schemes, OfSchemes { note: fates(&former), unlike_defaults }))
}

/// Says which options of the file's schemes hold for the schemes that are compared, and which do not.
fn fates(schemes: &[(String, Vec<ReplacedOption>)]) -> Option<String> {
    let all: BTreeSet<(&str, &str)> =
        schemes.iter().flat_map(|(_, former)| former).map(|of| (of.base, of.text.as_str())).collect();
    let with = |option: (&str, &str), fate| -> Vec<&str> {
        let has = |of: &ReplacedOption| (of.base, of.text.as_str()) == option && of.fate == fate;
        schemes.iter().filter(|(_, former)| former.iter().any(has)).map(|(name, _)| name.as_str()).collect()
    };
    // Options of one fate are told together.
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for option in all {
        let (kept, left) = (with(option, Fate::Kept), with(option, Fate::Left));
        let fate = match (kept.as_slice(), left.as_slice()) {
            ([], []) => "overruled by all schemes".to_owned(),
            ([], _) => format!("left out ({} alone has it)", option.0),
            (_, []) if kept.len() == schemes.len() => "kept for all schemes".to_owned(),
            (_, []) => format!("kept for {}", listed(&kept)),
            _ => format!("kept for {}, not for {}", listed(&kept), listed(&left)),
        };
        let text = format!("`{}`", option.1);
        match told.iter_mut().find(|(other, _)| *other == fate) {
            Some((_, texts)) => texts.push(text),
            None => told.push((fate, vec![text])),
        }
    }
    let told: Vec<String> =
        told.into_iter().map(|(fate, texts)| format!("{} {fate}", texts.join(", "))).collect();
    (!told.is_empty()).then(|| format!("note: options of the file's own schemes: {}", told.join("; ")))
}

/// The schemes, of what stands between commas: a scheme, or another option of the last one.
pub fn typed(pieces: &[String]) -> Vec<String> {
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

/// A mistake in a scheme is one of `--schemes`, not of the changes that stand for it after `sets` others.
fn not_a_scheme(error: Error, name: &str, sets: usize) -> Error {
    match error {
        Error::Scenario(diagnostics) => {
            let number =
                |file: &str| file.strip_prefix("--set ").and_then(|number| number.parse::<usize>().ok());
            let is_own =
                |diagnostic: &&Diagnostic| number(diagnostic.file()).is_some_and(|number| number > sets);
            match diagnostics.iter().find(is_own) {
                Some(diagnostic) => {
                    let said =
                        [Some(&diagnostic.message), diagnostic.label.as_ref(), diagnostic.help.as_ref()];
                    let said: Vec<&str> = said.into_iter().flatten().map(String::as_str).collect();
                    let of =
                        if diagnostic.message.contains(name) { String::new() } else { format!("{name}: ") };
                    Error::Usage(format!("--schemes: {of}{}", said.join("; ")))
                }
                None => Error::Scenario(diagnostics),
            }
        }
        error => error,
    }
}

fn execute(
    source: &Source,
    loaded: &Loaded,
    schemes: Vec<Scheme>,
    frame: Frame,
    options: &Options,
    console: &Console,
) -> Done {
    warn_before(loaded, options, console)?;
    let seeds = seeds_from(options.seed.unwrap_or(loaded.spec().seed), most_runs(options))?;
    let Frame { margin, unlike_defaults, compared } = frame;
    let header = Header { unlike_defaults, compared, ..header(source, loaded, seeds, margin) };
    let folder = options.out.as_deref().map(Folder::create).transpose()?;
    let runs = schemes.len() * header.seeds.len();
    let captures = captures(source, loaded, options, folder.as_ref(), runs > 1)?;
    let place = Place::of(options.report.as_ref(), REPORT, folder.is_some(), &source.name())?;
    let picture = Place::of(options.svg.as_ref(), FIGURE, folder.is_some(), &source.name())?;
    let image = Place::of(options.png.as_ref(), IMAGE, folder.is_some(), &source.name())?;
    let qlogs = Qlogs::new(options, folder.as_ref(), &source.name(), &loaded.scenario.title, runs > 1);
    let sequences = match options.trace {
        Some(Trace::Sequence) => Some(sequences(source, loaded, options, folder.as_ref(), runs > 1)?),
        None => None,
    };
    let traces = [
        captures.as_ref().map(Captures::written),
        qlogs.as_ref().map(Qlogs::written),
        sequences.as_ref().map(Sequences::written),
    ];
    let stop = interruptible_by(console)?;
    let lines = options.json_lines.then(|| Arc::new(Lines::new(runs, Arc::clone(&stop))));
    if let Some(folder) = &folder {
        schemes.iter().try_for_each(|scheme| scheme.store(folder))?;
    }
    let threads = threads(&schemes[0].spec, runs, options);
    let execution = Execution {
        header,
        schemes,
        until: options.until.map(|goal| (goal, MIN_RUNS.min(most_runs(options) as usize))),
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
    // Those in the results folder are told of with it.
    let is_beside = |path: &PathBuf| folder.as_ref().is_none_or(|folder| !path.starts_with(folder.path("")));
    for path in traces.into_iter().flatten().filter(is_beside) {
        console.say(&format!("Written: {}", path.display()));
    }
    if let Some(place) = place {
        let page = report(&document, &series, Some(loaded.spec()), &replays);
        place.write(&page, folder.as_ref(), console)?;
    }
    if picture.is_some() || image.is_some() {
        let svg = figure(&document, &series, &View::default());
        if let Some(place) = picture {
            place.write(&svg, folder.as_ref(), console)?;
        }
        if let Some(place) = image {
            place.write(&png(&svg)?, folder.as_ref(), console)?;
        }
    }
    if let Some(folder) = folder {
        folder.write_results(&document, &loaded.expanded())?;
        let place = folder.commit()?;
        console.say(&format!("Results are in {}", place.display()));
    }
    match lines {
        Some(lines) => {
            lines.write_results(&document);
            lines.error().map_or(Ok(()), |error| Err(Error::Output(error)))?;
        }
        None if options.json => console.print_document(&document)?,
        None => console.print(&summary(&document, console.style))?,
    }
    if options.verify {
        let runs = counted(document.runs().count() as u64, "run");
        console.say(&format!("Verified: every packet of {runs} kept the rules"));
    }
    if is_random(loaded.spec()) && is_constant(&document) {
        console.say("note: all runs gave identical results, although the scenario has random parts");
    }
    judge(&document)
}

/// The threads that share each simulation: as many as was said, or, where there is one run alone, as many as clearly gain.
fn threads(spec: &Spec, runs: usize, options: &Options) -> Option<NonZeroUsize> {
    let is_alone = runs == 1 && options.jobs.is_none();
    let usual = || is_alone.then(|| NonZeroUsize::new(default_threads(spec, idle_processors()))).flatten();
    options.threads.or_else(usual)
}

/// The processors that have nothing else to do, by the load of the last minute, where the system tells.
fn idle_processors() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let load = || std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse::<f64>().ok();
    processors.saturating_sub(load().unwrap_or(0.0).round() as usize)
}

/// Several runs were made, and no two runs of a scheme differ.
fn is_constant(document: &Document) -> bool {
    let mut different = BTreeSet::new();
    let mut schemes = BTreeSet::new();
    for (scheme, run) in document.runs() {
        different.insert((scheme, &run.fingerprint));
        schemes.insert(scheme);
    }
    document.runs().count() > schemes.len() && different.len() == schemes.len()
}

/// Says what there is to say before anything is run.
fn warn_before(loaded: &Loaded, options: &Options, console: &Console) -> Done {
    console.warn(&loaded.warnings);
    can_count(loaded)?;
    if cfg!(debug_assertions) {
        console.say("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    let several = loaded.check_replications(most_runs(options));
    if let (Some(_), Some(why)) = (options.until, &several) {
        return Err(Error::Usage(format!("--until: {}", why.message)));
    }
    console.warn(several.as_slice());
    // Before the network is cut for threads, which takes memory itself.
    has_memory(loaded)?;
    if let Some(threads) = options.threads.map(NonZeroUsize::get).filter(|&threads| threads > 1) {
        let processors = std::thread::available_parallelism().map_or(usize::MAX, NonZeroUsize::get);
        if estimate_speedup(loaded.spec(), [threads])[0].parts == 1 {
            console.say(&format!(
                "note: --threads {threads} gains nothing here, and may take many times as long as one: {}",
                threads_in_words(loaded.spec(), [threads])
            ));
        } else if threads > processors {
            console.say(&format!("note: --threads {threads} takes longer than {processors} on this host, which has {processors} processors"));
        }
    }
    Ok(())
}

/// Fails where nothing would be counted.
pub fn can_count(loaded: &Loaded) -> Done {
    let Spec { warmup, duration, .. } = *loaded.spec();
    if warmup >= duration {
        return Err(Error::Usage(format!(
            "the warm-up ({warmup}) is not shorter than the run ({duration}), so that nothing would be counted: make `duration` longer, or the warm-up shorter (`--set \"warmup=0 s\"`)"
        )));
    }
    Ok(())
}

/// Fails where the run would take more memory than there is.
pub fn has_memory(loaded: &Loaded) -> Done {
    match available_memory().and_then(|available| loaded.check_memory(available)) {
        Some(error) => Err(Error::Scenario(vec![error])),
        None => Ok(()),
    }
}

/// The memory that the system says is available, where it says so.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The runs of each scheme, at most.
fn most_runs(options: &Options) -> u32 {
    options.until.map_or(options.reps, |_| options.max_reps).get()
}

/// So many seeds from one on.
pub fn seeds_from(first: u64, runs: u32) -> Result<Vec<u64>, Error> {
    let last = first.checked_add(u64::from(runs) - 1);
    let last =
        last.ok_or_else(|| Error::Usage(format!("seeds from {first} on: the last ones are too large")))?;
    Ok((first..=last).collect())
}

/// The header of results.
pub fn header(source: &Source, loaded: &Loaded, seeds: Vec<u64>, margin: f64) -> Header {
    Header {
        tool_version: version().to_owned(),
        scenario: Scenario { title: loaded.scenario.title.clone(), file: source.name() },
        duration: loaded.spec().duration,
        warmup: loaded.spec().warmup,
        seeds,
        margin,
        unlike_defaults: Vec::new(),
        contention: Contention::of(loaded.spec()),
        compared: Vec::new(),
    }
}

fn captures(
    source: &Source,
    loaded: &Loaded,
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

fn sequences(
    source: &Source,
    loaded: &Loaded,
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

/// Fails where the results cannot be trusted, are not whole, or are not as exact as was asked for.
fn judge(document: &Document) -> Done {
    if let Some((_, run)) = document.runs().find(|(_, run)| !run.conservation.holds) {
        return Err(Error::Failed(format!(
            "seed {}: packets appeared or vanished, which is a fault of the simulator; please report it",
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
