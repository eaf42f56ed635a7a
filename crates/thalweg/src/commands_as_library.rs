//! Commands as library calls: returns the output, the messages and the measurements to the calling program.

use crate::batch_execution::{Execution, Scheme};
use crate::commands::Arguments;
use crate::console_output::{Caller, Console, Error, OutputBuffer};
use crate::list_and_schema;
use crate::message_records::{Message, Vocabulary};
use crate::parser_error::{self, called_commands};
use crate::run_and_compare::{
    can_count, has_memory, load_with_schemes, results_header, seeds_from, uncontrolled_agents_warning,
};
use crate::scenario_sources::Source;
use crate::simulation_arguments::Kind;
use crate::value_parsers::parse_plot;
use clap::CommandFactory as _;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use thalweg_catalog::Registry;
use thalweg_proto::units::{Duration, Rate};
use thalweg_report::output::{Style, format_summary};
use thalweg_report::report::{AllSeries, View, draw_figure};
use thalweg_report::results::{Document, Header, MARGIN, differing_defaults_within};
use thalweg_scenario::{MAX_REPS, Scenario, Severity};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::Spec;

/// Outcome of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Exit code.
    pub code: u8,
    /// Printed results.
    pub printed_results: String,
    /// Messages in the order of their origin; if it failed, at least one is an error.
    pub messages: Vec<Message>,
}

impl CommandOutcome {
    /// Creates the outcome of a call that failed with this exit code and message.
    pub fn failed(code: u8, text: &str) -> Self {
        let messages = vec![Message::of_text(Severity::Error, text, &Vocabulary::default())];
        Self { code, printed_results: String::new(), messages }
    }

    fn from_error(error: &Error, kept: &OutputBuffer) -> Self {
        let mut messages = kept.take_messages();
        messages.extend(error.messages(&kept.vocabulary));
        Self { code: error.exit_code(), printed_results: String::new(), messages }
    }

    /// Returns the messages as text.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.messages.iter().map(Message::to_string).collect();
        lines.join("\n")
    }
}

impl OutputBuffer {
    fn new(caller: Arc<Caller>, vocabulary: Vocabulary) -> Self {
        Self { caller, vocabulary, ..Self::default() }
    }

    fn take_messages(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs the command `thalweg` with these arguments, except for commands that hold streams open (`send`, `impair`,
/// `bench` ...), which use the outputs of the process. It ends early when the caller's flag is set.
pub fn call(registry: Arc<Registry>, arguments: &[String], caller: Arc<Caller>) -> CommandOutcome {
    let words: Vec<String> = std::iter::once("thalweg".to_owned()).chain(arguments.iter().cloned()).collect();
    let arguments = match Arguments::read(words.iter().map(OsString::from)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A request for help, which ends a command with 0, is not a call of a program.
            let mut program = Arguments::command();
            program.build();
            let messages =
                vec![parser_error::parser_message(&error, &program, &words, &command_vocabulary(&words))];
            return CommandOutcome { code: 2, printed_results: String::new(), messages };
        }
    };
    let kept = Arc::new(OutputBuffer::new(caller, command_vocabulary(&words)));
    let console = Console::keeping(arguments.quiet(), registry, Arc::clone(&kept));
    let code = arguments.command.execute(&console).map_or_else(|error| console.report(&error), |()| 0);
    drop(console);
    let printed = std::mem::take(&mut *kept.results.lock().unwrap_or_else(PoisonError::into_inner));
    let printed = String::from_utf8_lossy(&printed).into_owned();
    CommandOutcome { code, printed_results: printed, messages: kept.take_messages() }
}

/// Returns the unit of plain numbers for an option of the command that these words begin with: seconds, bytes or bit/s.
/// `None` if the option's values have no unit.
pub fn option_unit(words: &[String], option: &str) -> Option<&'static str> {
    match find_option(&Arguments::command(), words, option)?.get_value_names()?.first()?.as_str() {
        "TIME" => Some("s"),
        "SIZE" => Some("B"),
        "RATE" => Some("bit/s"),
        _ => None,
    }
}

/// Returns true if an option of the command that these words begin with cannot be without a value, false if it is a flag
/// or its value is optional. `None` if there is no such option.
pub fn option_needs_value(words: &[String], option: &str) -> Option<bool> {
    let command = Arguments::command();
    let argument = find_option(&command, words, option)?;
    let is_optional = argument.get_num_args().is_some_and(|count| count.min_values() == 0);
    Some(argument.get_action().takes_values() && !is_optional)
}

/// Returns an option of the command that these words begin with, or of a command above it.
fn find_option<'a>(command: &'a clap::Command, words: &[String], option: &str) -> Option<&'a clap::Arg> {
    let commands = called_commands(command, words);
    let mut arguments = commands.into_iter().rev().flat_map(clap::Command::get_arguments);
    arguments.find(|argument| argument.get_long() == Some(option))
}

/// A run or comparison requested by a program.
#[derive(Clone, Debug)]
pub struct Request {
    /// Scenario file, or name of a built-in scenario.
    pub scenario: PathBuf,
    /// Text of the scenario, if it is not a file; `scenario` is then its name in messages.
    pub text: Option<String>,
    /// Overrides, in the form of `--set`.
    pub sets: Vec<String>,
    /// Schemes to compare; empty to run the scenario as it is.
    pub schemes: Vec<String>,
    /// Groups of flows to assign the schemes to; empty for all with a reliable transport.
    pub flows: Vec<String>,
    /// First seed; default: the scenario's.
    pub seed: Option<u64>,
    /// Number of runs per scheme.
    pub replications: u32,
    /// Number of parallel simulations; default: one per processor.
    pub jobs: Option<NonZeroUsize>,
}

/// The results of a [`Request`].
#[derive(Debug)]
pub struct SimulatedRun {
    /// The document that `--json` prints.
    pub document: Document,
    /// All measurements, ordered by seed, then scheme.
    pub results: Vec<RunResult>,
    /// Messages of the run.
    pub messages: Vec<Message>,
    scenario: Scenario,
    series: AllSeries,
}

impl SimulatedRun {
    /// Returns the scenario with all defaults written out.
    pub fn expanded(&self) -> String {
        self.scenario.expanded()
    }

    /// Returns the results as text.
    pub fn summary(&self) -> String {
        format_summary(&self.document, Style::PLAIN)
    }

    /// Returns the picture that `--svg` writes, optionally with these plots and this time range in seconds.
    ///
    /// # Errors
    ///
    /// If a plot's name is unknown; the error lists the valid names.
    pub fn figure(&self, plots: Option<&[String]>, span: Option<(f64, f64)>) -> Result<String, String> {
        let named =
            |name: &String| parse_plot(name).map_err(|error| format!("there is no plot `{name}`: {error}"));
        let plots = plots.map(|names| names.iter().map(named).collect()).transpose()?;
        Ok(draw_figure(&self.document, &self.series, &View { plots, span }))
    }
}

/// Runs a request to its end, or until the caller's flag is set.
///
/// # Errors
///
/// If the scenario is invalid or the run fails: the command's message and exit code.
pub fn simulate(
    registry: &Arc<Registry>,
    request: Request,
    caller: Arc<Caller>,
) -> Result<SimulatedRun, CommandOutcome> {
    let stop = Arc::clone(&caller.stop);
    let given_texts = [request.sets.as_slice(), &request.schemes, &request.flows].concat();
    let kept = Arc::new(OutputBuffer::new(caller, vocabulary_with(&request.scenario, &given_texts)));
    let console = Console::keeping(false, Arc::clone(registry), Arc::clone(&kept));
    let done = run_request(registry, request, stop, &console);
    let (document, series, results, scenario) =
        done.map_err(|error| CommandOutcome::from_error(&error, &kept))?;
    Ok(SimulatedRun { document, results, messages: kept.take_messages(), scenario, series })
}

/// A scenario that the calling program advances itself.
#[derive(Clone, Debug)]
pub struct PreparedRun {
    /// The simulation's specification.
    pub spec: Spec,
    /// Bottleneck rate and base round-trip time of each group that has a path.
    pub paths: Vec<Option<(Rate, Duration)>>,
    /// Warnings about the scenario, without those on the warm-up: the calling program decides what it counts.
    pub messages: Vec<Message>,
}

/// Reads a scenario: a file, a built-in one by name, or `text`, which messages call `scenario`.
///
/// # Errors
///
/// If the scenario is invalid: the command's message and exit code.
pub fn prepare(
    registry: &Arc<Registry>,
    scenario: &Path,
    text: Option<&str>,
    sets: &[String],
) -> Result<PreparedRun, CommandOutcome> {
    let loaded =
        scenario_source(scenario, text.map(str::to_owned)).and_then(|source| source.load(sets, registry));
    let kept = || OutputBuffer::new(Arc::default(), vocabulary_with(scenario, sets));
    let loaded = loaded.map_err(|error| CommandOutcome::from_error(&error, &kept()))?;
    let paths = loaded.paths().groups.iter().map(|path| path.as_ref().map(|path| (path.rate, path.rtt)));
    let warnings = loaded.warnings.iter().filter(|warning| warning.code != "scenario.warmup");
    Ok(PreparedRun {
        paths: paths.collect(),
        spec: loaded.spec().clone(),
        messages: warnings.map(Message::of_diagnostic).collect(),
    })
}

/// Checks a scenario like `thalweg validate`, and returns its explanation as text. Warnings go to the caller's
/// [`CommandOutcome::messages`].
///
/// # Errors
///
/// If the scenario is invalid: the command's message and exit code.
pub fn explain(
    registry: &Arc<Registry>,
    scenario: &Path,
    text: Option<&str>,
    sets: &[String],
) -> Result<CommandOutcome, CommandOutcome> {
    let kept = Arc::new(OutputBuffer::new(Arc::default(), vocabulary_with(scenario, sets)));
    let console = Console::keeping(false, Arc::clone(registry), Arc::clone(&kept));
    let loaded =
        scenario_source(scenario, text.map(str::to_owned)).and_then(|source| source.load(sets, registry));
    let loaded = loaded.map_err(|error| CommandOutcome::from_error(&error, &kept))?;
    console.warn(&loaded.warnings);
    Ok(CommandOutcome { code: 0, printed_results: loaded.explain(), messages: kept.take_messages() })
}

/// Returns the available schemes and the built-in scenarios: names with descriptions.
pub fn list_names(registry: &Arc<Registry>) -> [Vec<(String, String)>; 2] {
    [Kind::Schemes, Kind::Scenarios].map(|kind| list_and_schema::names_of_kind(kind, registry))
}

/// Returns the names of the options of all commands.
fn option_names() -> &'static BTreeSet<String> {
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    fn add(command: &clap::Command, options: &mut BTreeSet<String>) {
        options.extend(command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned));
        command.get_subcommands().for_each(|inner| add(inner, options));
    }
    NAMES.get_or_init(|| {
        let mut options = BTreeSet::new();
        add(&Arguments::command(), &mut options);
        options
    })
}

fn command_vocabulary(words: &[String]) -> Vocabulary {
    Vocabulary::new(option_names, words.to_vec())
}

/// Returns the vocabulary of a call with a scenario and these other words.
fn vocabulary_with(scenario: &Path, words: &[String]) -> Vocabulary {
    command_vocabulary(&[&[scenario.display().to_string()], words].concat())
}

fn scenario_source(scenario: &Path, text: Option<String>) -> Result<Source, Error> {
    let Some(text) = text else { return Source::find(scenario) };
    let name = scenario.display().to_string();
    Ok(Source::Text { name, text, folder: Path::new("").to_owned() })
}

type Outcome = (Document, AllSeries, Vec<RunResult>, Scenario);

fn run_request(
    registry: &Arc<Registry>,
    request: Request,
    stop: Arc<AtomicBool>,
    console: &Console,
) -> Result<Outcome, Error> {
    let source = scenario_source(&request.scenario, request.text)?;
    let (loaded, schemes, unlike_defaults) = if request.schemes.is_empty() {
        let loaded = source.load(&request.sets, registry)?;
        let scheme = Scheme::new(None, &loaded);
        let unlike_defaults = differing_defaults_within(&loaded);
        (loaded, vec![scheme], unlike_defaults)
    } else {
        let (loaded, schemes, scheme_options) =
            load_with_schemes(&source, &request.sets, &request.schemes, &request.flows, registry)?;
        scheme_options.note.into_iter().for_each(|note| console.inform(&note));
        (loaded, schemes, scheme_options.unlike_defaults)
    };
    console.warn(&loaded.warnings);
    uncontrolled_agents_warning(schemes.iter().map(|scheme| &*scheme.spec))
        .iter()
        .for_each(|text| console.warn_of_runs(text));
    if request.replications > MAX_REPS {
        return Err(Error::Usage(format!("at most {MAX_REPS} replications are possible")));
    }
    can_count(&loaded)?;
    console.warn(loaded.check_replications(request.replications).as_slice());
    has_memory(&loaded)?;
    let seeds = seeds_from(request.seed.unwrap_or(loaded.spec().seed), request.replications.max(1))?;
    let mut execution = Execution {
        header: Header {
            unlike_defaults,
            compared: request.flows,
            ..results_header(&source, &loaded, &schemes, seeds, MARGIN)
        },
        schemes,
        until: None,
        jobs: request.jobs,
        threads: None,
        events: None,
        captures: None,
        qlogs: None,
        sequences: None,
        lines: None,
        results: Some(Mutex::default()),
        verify: false,
        folder: None,
        keep_series: true,
        replay: None,
        stop,
    };
    let (document, series, _) = execution.run(console)?;
    let results = execution.results.take().map(Mutex::into_inner);
    let results = results.map(|results| results.unwrap_or_else(PoisonError::into_inner));
    let measure = &loaded.spec().measure;
    let flows = results.iter().flatten().map(|result| result.flows.len()).max().unwrap_or(0);
    if measure.interval.is_some() && flows > measure.flows as usize {
        let recorded = measure.flows;
        console.inform(&format!(
            "note: series are of {recorded} of {flows} flows; `measure.flows` is their number"
        ));
    }
    if !document.complete {
        return Err(Error::Failed("interrupted".to_owned()));
    }
    Ok((document, series, results.unwrap_or_default(), loaded.scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn request(schemes: &[&str]) -> Request {
        Request {
            scenario: "two-flows".into(),
            text: None,
            sets: vec!["duration=2 s".to_owned(), "warmup=500 ms".to_owned()],
            schemes: schemes.iter().map(|scheme| (*scheme).to_owned()).collect(),
            flows: Vec::new(),
            seed: Some(3),
            replications: 2,
            jobs: None,
        }
    }

    #[test]
    fn a_program_gets_the_document_of_the_command() {
        let words =
            "compare two-flows --schemes cubic,vegas --seed 3 --reps 2 --json --quiet --set duration=2s";
        let words: Vec<String> =
            words.split(' ').chain(["--set", "warmup=500ms"]).map(str::to_owned).collect();
        let called = call(Arc::default(), &words, Arc::default());
        assert_eq!((called.code, called.messages.as_slice()), (0, &[][..]));
        let simulated = simulate(&Arc::default(), request(&["cubic", "vegas"]), Arc::default()).unwrap();
        let mut text = Vec::new();
        simulated.document.write_json(&mut text).unwrap();
        assert_eq!(called.printed_results, String::from_utf8(text).unwrap());
        assert_eq!(simulated.results.len(), 4);
        assert!(simulated.results.iter().all(|result| !result.series.is_empty()));
        assert!(simulated.figure(None, None).unwrap().starts_with("<svg"));
    }

    #[test]
    fn a_program_gets_the_simulation_of_a_scenario() {
        let sets = ["link.left-right.rate=20 Mbit/s".to_owned()];
        let prepared = prepare(&Arc::default(), Path::new("two-flows"), None, &sets).unwrap();
        assert_eq!(prepared.spec.groups.len(), prepared.paths.len());
        let rates: Vec<_> = prepared.paths.iter().flatten().map(|path| path.0).collect();
        assert_eq!(rates, vec![Rate::from_mbits_per_sec(20); rates.len()]);
        let called = prepare(&Arc::default(), Path::new("mine"), Some("duraton = 1"), &[]).unwrap_err();
        assert!(called.code == 2 && called.text().contains("duraton"), "{called:?}");
    }

    #[test]
    fn callers_get_explanations_and_catalog_lists() {
        let explained = explain(&Arc::default(), Path::new("two-flows"), None, &[]).unwrap();
        assert!(
            explained.printed_results.contains("left-right") && explained.messages.is_empty(),
            "{explained:?}"
        );
        let text = "duration = 5\nlink = [{ between = [\"a\", \"b\"], rate = 1e7, delay = 0.1 }]\n";
        let refused = explain(&Arc::default(), Path::new("mine"), Some(text), &[]).unwrap_err();
        assert!(
            refused.text().contains("`1e7` has no unit") && refused.text().contains("\"1e7 bit/s\""),
            "{refused:?}"
        );
        let mut registry = Registry::default();
        registry.accept_unitless_numbers();
        let flow =
            "flow = [{ from = \"a\", to = \"b\", workload = { kind = \"transfer\", size = 30000 } }]\n";
        let made =
            prepare(&Arc::new(registry), Path::new("mine"), Some(&format!("{text}{flow}")), &[]).unwrap();
        let path = made.paths[0].unwrap();
        assert_eq!((path.0, made.spec.duration), (Rate::from_mbits_per_sec(10), Duration::from_secs(5)));
        let [schemes, scenarios] = list_names(&Arc::default());
        assert!(
            schemes.iter().any(|(name, about)| name == "cubic" && about.contains("RFC 9438")),
            "{schemes:?}"
        );
        assert!(scenarios.iter().any(|(name, _)| name == "dumbbell"), "{scenarios:?}");
    }

    #[test]
    fn options_of_times_rates_and_sizes_have_a_unit() {
        let unit = |words: &str, option: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            option_unit(&words, option)
        };
        assert_eq!(unit("bench", "time"), Some("s"));
        assert_eq!(unit("bench client host:4747", "time"), Some("s"));
        assert_eq!(unit("model mathis", "rtt"), Some("s"));
        assert_eq!(unit("model mathis", "segment"), Some("B"));
        assert_eq!(unit("send", "rate"), Some("bit/s"));
        assert_eq!(
            (unit("hunt", "candidates"), unit("hunt", "time"), unit("nothing", "time")),
            (None, None, None)
        );
    }

    #[test]
    fn options_that_need_values_are_no_flags() {
        let needs_value = |words: &str, option: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            option_needs_value(&words, option)
        };
        for (words, option) in [("model mathis", "p"), ("explore", "losses"), ("hunt", "candidates")] {
            assert_eq!(needs_value(words, option), Some(true), "{words} --{option}");
        }
        for (words, option) in [("explore", "slow-reader"), ("assess", "quick"), ("sweep", "report")] {
            assert_eq!(needs_value(words, option), Some(false), "{words} --{option}");
        }
        assert_eq!((needs_value("explore", "loses"), needs_value("nothing", "losses")), (None, None));
    }

    #[test]
    fn errors_carry_the_text_of_the_command() {
        let wrong = Request { sets: vec!["duraton=2 s".to_owned()], ..request(&[]) };
        let called = simulate(&Arc::default(), wrong, Arc::default()).unwrap_err();
        assert!(called.code == 2 && called.text().contains("duraton"), "{called:?}");
        let called = call(Arc::default(), &["runn".to_owned()], Arc::default());
        assert!(called.code == 2 && called.text().contains("runn"), "{called:?}");
        let stopped = Caller::default();
        stopped.stop.store(true, Ordering::Relaxed);
        let called = simulate(&Arc::default(), request(&[]), Arc::new(stopped)).unwrap_err();
        assert_eq!((called.code, called.text().contains("interrupted")), (1, true));
    }

    #[test]
    fn a_program_sees_how_far_a_command_is() {
        let caller = Arc::new(Caller::default());
        let long = Request { sets: vec!["duration=100000 s".to_owned()], ..request(&["cubic"]) };
        let run = {
            let caller = Arc::clone(&caller);
            std::thread::spawn(move || simulate(&Arc::default(), long, caller))
        };
        let begun = std::time::Instant::now();
        let seen = loop {
            assert!(begun.elapsed().as_secs() < 60, "nothing is seen");
            if let Some(seen) = caller.progress().filter(|seen| seen.share > Some(0.0)) {
                break seen;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        caller.stop.store(true, Ordering::Relaxed);
        assert_eq!(run.join().unwrap().unwrap_err().code, 1);
        assert!(seen.share < Some(1.0) && seen.text.contains("of 200000.0 s"), "{seen:?}");
        assert_eq!(caller.progress(), None);
    }
}
