//! The command as part of another program: what it prints and says is handed over, and so is what it measured.

use crate::arguments::Kind;
use crate::catalog;
use crate::commands::Arguments;
use crate::console::{Caller, Console, Error, Kept};
use crate::execute::{Execution, Scheme};
use crate::input::Source;
use crate::run::{can_count, compared, has_memory, header, seeds_from};
use crate::values::plot;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_catalog::Registry;
use thalweg_proto::units::{Duration, Rate};
use thalweg_report::output::{Style, summary};
use thalweg_report::report::{AllSeries, View, figure};
use thalweg_report::results::{Document, Header, MARGIN};
use thalweg_scenario::Scenario;
use thalweg_sim::RunResult;
use thalweg_sim::spec::Spec;

/// The end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// The exit code that the command has.
    pub code: u8,
    /// The results that it prints.
    pub printed: String,
    /// The messages that it says.
    pub said: String,
}

impl Called {
    fn of(error: &Error, kept: &Kept) -> Self {
        let before = kept.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { code: error.exit_code(), printed: String::new(), said: format!("{before}{error}") }
    }
}

/// Does what the command `thalweg` does with these arguments, but for those that hold streams open (`send`, `impair`, `bench` ...),
/// which talk to the outputs of the process. It ends early when the caller's flag is set.
pub fn call(registry: Arc<Registry>, arguments: &[String], caller: Arc<Caller>) -> Called {
    let words = std::iter::once("thalweg").chain(arguments.iter().map(String::as_str)).map(OsString::from);
    let arguments = match Arguments::read(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return Called { code, printed: String::new(), said: error.to_string() };
        }
    };
    let kept = Arc::new(Kept { caller, ..Kept::default() });
    let console = Console::keeping(arguments.quiet(), registry, Arc::clone(&kept));
    let code = arguments.command.execute(&console).map_or_else(|error| console.report(&error), |()| 0);
    drop(console);
    let printed = std::mem::take(&mut *kept.printed.lock().unwrap_or_else(PoisonError::into_inner));
    let said = std::mem::take(&mut *kept.said.lock().unwrap_or_else(PoisonError::into_inner));
    Called { code, printed: String::from_utf8_lossy(&printed).into_owned(), said }
}

/// A run or a comparison that a program asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// A scenario's file, or the name of a built-in one.
    pub scenario: PathBuf,
    /// The scenario itself, where it is no file: `scenario` is then the name that messages call it by.
    pub text: Option<String>,
    /// Changes, as `--set` takes them.
    pub sets: Vec<String>,
    /// Schemes that are compared; none for the scenario as it is.
    pub schemes: Vec<String>,
    /// The groups of flows that alone have these schemes; none where all of reliable transports have.
    pub flows: Vec<String>,
    /// The first seed; without, the scenario's.
    pub seed: Option<u64>,
    /// Runs of each scheme.
    pub replications: u32,
    /// Simulations at a time; without, one for each processor.
    pub jobs: Option<NonZeroUsize>,
}

/// The results of a [`Request`].
#[derive(Debug)]
pub struct Simulated {
    /// The document that `--json` prints.
    pub document: Document,
    /// All that was measured, seed by seed and scheme by scheme.
    pub results: Vec<RunResult>,
    /// The messages on the way.
    pub said: String,
    scenario: Scenario,
    series: AllSeries,
}

impl Simulated {
    /// The scenario with everything written out.
    pub fn expanded(&self) -> String {
        self.scenario.expanded()
    }

    /// The results as text.
    pub fn summary(&self) -> String {
        summary(&self.document, Style::PLAIN)
    }

    /// The picture that `--svg` writes, or one with these plots and of this part of the run in seconds.
    ///
    /// # Errors
    ///
    /// The name of a plot that there is none of, with those that there are.
    pub fn figure(&self, plots: Option<&[String]>, span: Option<(f64, f64)>) -> Result<String, String> {
        let named = |name: &String| plot(name).map_err(|error| format!("there is no plot `{name}`: {error}"));
        let plots = plots.map(|names| names.iter().map(named).collect()).transpose()?;
        Ok(figure(&self.document, &self.series, &View { plots, span }))
    }
}

/// Runs what is asked for, until its end or until the caller's flag is set.
///
/// # Errors
///
/// The scenario is wrong, or the run failed: the message of the command, with its exit code.
pub fn simulate(
    registry: &Arc<Registry>,
    request: Request,
    caller: Arc<Caller>,
) -> Result<Simulated, Called> {
    let stop = Arc::clone(&caller.stop);
    let kept = Arc::new(Kept { caller, ..Kept::default() });
    let console = Console::keeping(false, Arc::clone(registry), Arc::clone(&kept));
    let done = run(registry, request, stop, &console);
    let (document, series, results, scenario) = done.map_err(|error| Called::of(&error, &kept))?;
    let said = std::mem::take(&mut *kept.said.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Simulated { document, results, said, scenario, series })
}

/// A scenario that a program advances itself.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The simulation.
    pub spec: Spec,
    /// The bottleneck's rate and the round-trip time of an empty path, of each group that has one.
    pub paths: Vec<Option<(Rate, Duration)>>,
}

/// Reads a scenario: a file, the name of a built-in one, or else `text`, which messages call by the name `scenario`.
///
/// # Errors
///
/// The scenario is wrong: the message of the command, with its exit code.
pub fn prepare(
    registry: &Arc<Registry>,
    scenario: &Path,
    text: Option<&str>,
    sets: &[String],
) -> Result<Prepared, Called> {
    let loaded = source(scenario, text.map(str::to_owned)).and_then(|source| source.load(sets, registry));
    let loaded = loaded.map_err(|error| Called::of(&error, &Kept::default()))?;
    let paths = loaded.paths().groups.iter().map(|path| path.as_ref().map(|path| (path.rate, path.rtt)));
    Ok(Prepared { paths: paths.collect(), spec: loaded.spec().clone() })
}

/// Checks a scenario as `thalweg validate` does: its explanation in words. Warnings go to the caller's [`Called::said`].
///
/// # Errors
///
/// The scenario is wrong: the message of the command, with its exit code.
pub fn explain(
    registry: &Arc<Registry>,
    scenario: &Path,
    text: Option<&str>,
    sets: &[String],
) -> Result<Called, Called> {
    let kept = Arc::new(Kept::default());
    let console = Console::keeping(false, Arc::clone(registry), Arc::clone(&kept));
    let loaded = source(scenario, text.map(str::to_owned)).and_then(|source| source.load(sets, registry));
    let loaded = loaded.map_err(|error| Called::of(&error, &kept))?;
    console.warn(&loaded.warnings);
    let said = std::mem::take(&mut *kept.said.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Called { code: 0, printed: loaded.explain(), said })
}

/// The schemes that scenarios can use, and the scenarios that are built in: names, each with what it is.
pub fn listed(registry: &Arc<Registry>) -> [Vec<(String, String)>; 2] {
    [Kind::Schemes, Kind::Scenarios].map(|kind| catalog::listed(kind, registry))
}

fn source(scenario: &Path, text: Option<String>) -> Result<Source, Error> {
    let Some(text) = text else { return Source::find(scenario) };
    let name = scenario.display().to_string();
    Ok(Source::Text { name, text, folder: Path::new("").to_owned() })
}

type Outcome = (Document, AllSeries, Vec<RunResult>, Scenario);

fn run(
    registry: &Arc<Registry>,
    request: Request,
    stop: Arc<AtomicBool>,
    console: &Console,
) -> Result<Outcome, Error> {
    let source = source(&request.scenario, request.text)?;
    let (loaded, schemes, unlike_defaults) = if request.schemes.is_empty() {
        let loaded = source.load(&request.sets, registry)?;
        let scheme = Scheme::new(None, &loaded);
        (loaded, vec![scheme], Vec::new())
    } else {
        let (loaded, schemes, of_schemes) =
            compared(&source, &request.sets, &request.schemes, &request.flows, registry)?;
        of_schemes.note.into_iter().for_each(|note| console.say(&note));
        (loaded, schemes, of_schemes.unlike_defaults)
    };
    console.warn(&loaded.warnings);
    can_count(&loaded)?;
    console.warn(loaded.check_replications(request.replications).as_slice());
    has_memory(&loaded)?;
    let seeds = seeds_from(request.seed.unwrap_or(loaded.spec().seed), request.replications.max(1))?;
    let mut execution = Execution {
        header: Header {
            unlike_defaults,
            compared: request.flows,
            ..header(&source, &loaded, seeds, MARGIN)
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
    if !document.complete {
        return Err(Error::Failed("interrupted".to_owned()));
    }
    Ok((document, series, results.unwrap_or_default(), loaded.scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn asked(schemes: &[&str]) -> Request {
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
        assert_eq!((called.code, called.said.as_str()), (0, ""));
        let simulated = simulate(&Arc::default(), asked(&["cubic", "vegas"]), Arc::default()).unwrap();
        let mut text = Vec::new();
        simulated.document.write_json(&mut text).unwrap();
        assert_eq!(called.printed, String::from_utf8(text).unwrap());
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
        assert!(called.code == 2 && called.said.contains("duraton"), "{called:?}");
    }

    #[test]
    fn a_program_gets_what_is_said_of_a_scenario_and_what_there_is() {
        let explained = explain(&Arc::default(), Path::new("two-flows"), None, &[]).unwrap();
        assert!(explained.printed.contains("left-right") && explained.said.is_empty(), "{explained:?}");
        let text = "duration = 5\nlink = [{ between = [\"a\", \"b\"], rate = 1e7, delay = 0.1 }]\n";
        let refused = explain(&Arc::default(), Path::new("mine"), Some(text), &[]).unwrap_err();
        assert!(
            refused.said.contains("`1e7` has no unit") && refused.said.contains("\"1e7 bit/s\""),
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
        let [schemes, scenarios] = listed(&Arc::default());
        assert!(
            schemes.iter().any(|(name, about)| name == "cubic" && about.contains("RFC 9438")),
            "{schemes:?}"
        );
        assert!(scenarios.iter().any(|(name, _)| name == "dumbbell"), "{scenarios:?}");
    }

    #[test]
    fn mistakes_come_with_the_text_of_the_command() {
        let wrong = Request { sets: vec!["duraton=2 s".to_owned()], ..asked(&[]) };
        let called = simulate(&Arc::default(), wrong, Arc::default()).unwrap_err();
        assert!(called.code == 2 && called.said.contains("duraton"), "{called:?}");
        let called = call(Arc::default(), &["runn".to_owned()], Arc::default());
        assert!(called.code == 2 && called.said.contains("runn"), "{called:?}");
        let stopped = Caller::default();
        stopped.stop.store(true, Ordering::Relaxed);
        let called = simulate(&Arc::default(), asked(&[]), Arc::new(stopped)).unwrap_err();
        assert_eq!((called.code, called.said.contains("interrupted")), (1, true));
    }

    #[test]
    fn a_program_sees_how_far_a_command_is() {
        let caller = Arc::new(Caller::default());
        let long = Request { sets: vec!["duration=100000 s".to_owned()], ..asked(&["cubic"]) };
        let run = {
            let caller = Arc::clone(&caller);
            std::thread::spawn(move || simulate(&Arc::default(), long, caller))
        };
        let begun = std::time::Instant::now();
        let seen = loop {
            assert!(begun.elapsed().as_secs() < 60, "nothing is seen");
            if let Some(seen) = caller.seen().filter(|seen| seen.share > Some(0.0)) {
                break seen;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        caller.stop.store(true, Ordering::Relaxed);
        assert_eq!(run.join().unwrap().unwrap_err().code, 1);
        assert!(seen.share < Some(1.0) && seen.words.contains("of 200000.0 s"), "{seen:?}");
        assert_eq!(caller.seen(), None);
    }
}
