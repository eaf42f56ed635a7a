//! `thalweg hunt`: searches for the worst-case scenarios of a congestion control.

use crate::batch_progress::{RESUME_HINT, counting_runs};
use crate::console_output::{CommandResult, Console, Error};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::value_parsers::{integer_parser, parse_positive};
use crate::version::program_identity;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use thalweg_hunt::{
    DEFAULT_COMPETING_SCHEME, DisturbanceKind, Finding, Goal, Hunt, HuntError, Kinds, LIST_FILE, SEEDS,
    Schemes, Space, check_case, format_case_entry, read_cases, score_of,
};
use thalweg_net::atomic_file;
use thalweg_report::output::format_count;
use thalweg_scenario::read_text;
use thalweg_sweep::{Purpose, Store};

/// `thalweg hunt`.
#[derive(Debug, Args)]
pub struct HuntArguments {
    /// Scheme under test, with options if needed ("newreno", "bbr:headroom=0.1")
    #[arg(value_name = "SCHEME", required_unless_present_any = ["keep", "check"], conflicts_with_all = ["keep", "check"])]
    pub scheme: Option<String>,
    /// Goals of the search; default: each in turn
    #[arg(long, value_name = "GOAL", value_delimiter = ',', value_parser = PossibleValuesParser::new(Goal::ALL.map(Goal::name)))]
    pub goal: Vec<String>,
    /// Allowed disturbances in scenarios; default: all that are relevant to the goal
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(DisturbanceKind::ALL.map(DisturbanceKind::name)))]
    pub with: Vec<String>,
    /// Scheme of the other flows
    #[arg(long, value_name = "SCHEME", default_value = DEFAULT_COMPETING_SCHEME)]
    pub beside: String,
    /// Maximise the shortfall against this scheme in the same scenario
    #[arg(long, value_name = "SCHEME")]
    pub against: Option<String>,
    /// Number of candidates for each goal, in whole generations of 128
    #[arg(long, value_name = "N", default_value = "20000", value_parser = parse_positive::<NonZeroU64>)]
    pub candidates: NonZeroU64,
    /// Seed of the search
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = integer_parser::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// Folder of findings and scores; the same command resumes
    #[arg(long, value_name = "DIR", default_value = "hunt")]
    pub out: PathBuf,
    /// Run only this finding, and store it as a regression test in --cases
    #[arg(long, value_name = "FILE", requires = "goal")]
    pub keep: Option<PathBuf>,
    /// Folder of regression tests
    #[arg(long, value_name = "DIR", default_value = "cases", requires = "keep")]
    pub cases: PathBuf,
    /// Run the regression tests of this folder, and fail if a score has changed
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    pub check: Option<PathBuf>,
    /// Number of simulations to run in parallel; default: one per processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document per goal instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Folders of hunts.
const PURPOSE: Purpose = Purpose {
    mark: "Hunts by thalweg",
    about: "\
SCHEME-GOAL.toml    the worst scenario found for the scheme, minimised
SCHEME-GOAL.json    the finding as JSON
scores              the scores of each generation, under a hash of the schemes, the goal, the seed and the build of thalweg

The same call resumes an interrupted hunt, and repeats no simulation whose score is in `scores`.
",
};

/// Returns the search space of each goal, without irrelevant disturbances. A goal without any left is an error if it
/// was named, and is skipped otherwise.
fn search_spaces(
    arguments: &HuntArguments,
    goals: &[Goal],
    kinds: Kinds,
    console: &Console,
) -> Result<Vec<Space>, Error> {
    let mut spaces = Vec::new();
    for &goal in goals {
        let is_left = kinds.and(goal.kinds()).iter().next().is_some();
        let silent: Kinds = kinds.iter().filter(|&kind| !goal.kinds().has(kind)).collect();
        let complaint = format!("{} do not apply to {}", silent.names(), goal.name());
        if !is_left && !arguments.goal.is_empty() {
            let why = format!("{complaint}: name some of {}", goal.kinds().names());
            return Err(Error::argument("with", why));
        }
        if is_left {
            if !arguments.goal.is_empty() && !arguments.with.is_empty() && silent.iter().next().is_some() {
                console.inform(&format!("note: --with: {complaint} and are left out"));
            }
            spaces.push(Space::new(goal, kinds));
        }
    }
    Ok(spaces)
}

/// Hunts, stores a finding as a test, or runs such tests.
pub fn hunt(arguments: &HuntArguments, console: &Console) -> CommandResult {
    if let Some(folder) = &arguments.check {
        return check_regression_cases(folder, console);
    }
    let goals: Vec<Goal> = match arguments.goal.as_slice() {
        [] => Goal::ALL.to_vec(),
        names => names.iter().filter_map(|name| Goal::by_name(name)).collect(),
    };
    if let Some(file) = &arguments.keep {
        return store_regression_case(file, &arguments.cases, &goals, console);
    }
    let scheme = arguments.scheme.as_deref().unwrap_or_default();
    let kinds: Kinds = match arguments.with.as_slice() {
        [] => Kinds::all(),
        names => DisturbanceKind::ALL
            .into_iter()
            .filter(|kind| names.iter().any(|name| name == kind.name()))
            .collect(),
    };
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    let stop = stop_flag_of_caller_or_signals(console)?;
    let threads =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let program = program_identity(&console.registry)?;
    let spaces = search_spaces(arguments, &goals, kinds, console)?;
    let of = |space| Hunt {
        space,
        schemes: Schemes { tested: scheme, competing_scheme: &arguments.beside },
        against: arguments.against.as_deref(),
        registry: &console.registry,
        candidates: arguments.candidates.get(),
        seed: arguments.seed,
        threads,
        build: &program.build,
        stop: std::sync::Arc::clone(&stop),
    };
    for space in &spaces {
        of(space).check().map_err(error_of)?;
    }
    let store = Store::open(&arguments.out, PURPOSE).map_err(|error| Error::Usage(error.to_string()))?;
    for space in &spaces {
        let hunt = of(space);
        let title = format!("{scheme}, {}: ", space.goal.name());
        let finding = counting_runs(console, &title, |tick| hunt.run(&store, tick)).map_err(error_of)?;
        let file = write_finding(&finding, &store)?;
        match arguments.json {
            true => console.print(&format!("{}\n", finding_json(&finding)?))?,
            false => console.print(&console.style.folded(&finding_summary(&finding, &file)))?,
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Failed(format!(
                "interrupted after {}: repeat the call to continue",
                format_count(finding.candidates, "candidate")
            )));
        }
    }
    store.remove_temporary_files();
    Ok(())
}

fn error_of(error: HuntError) -> Error {
    match error {
        HuntError::Scheme(found) => Error::of_scheme_diagnostics(&found),
        HuntError::Interrupted => Error::Failed(error.errors_text()),
        HuntError::Store(error) => Error::Failed(format!("{error}; {RESUME_HINT}")),
    }
}

fn finding_json(finding: &Finding) -> Result<String, Error> {
    serde_json::to_string_pretty(finding).map_err(|error| Error::Failed(error.to_string()))
}

/// Writes the files of a finding; returns the path of the scenario.
fn write_finding(finding: &Finding, store: &Store) -> Result<String, Error> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = format!("{}-{}", finding.scheme, finding.goal).chars().map(plain).collect();
    let keep = |name: &str, text: &str| {
        store.write(name, text.as_bytes()).map_err(|error| Error::Failed(error.to_string()))
    };
    keep(&format!("{name}.json"), &finding_json(finding)?)?;
    keep(&format!("{name}.toml"), &finding.scenario)?;
    Ok(store.path(&format!("{name}.toml")).display().to_string())
}

/// Maximum number of reported combinations of disturbances.
const MAX_REPORTED: usize = 5;

fn finding_summary(finding: &Finding, file: &str) -> String {
    let Finding { scheme, goal, score, .. } = finding;
    let verdict = if finding.is_found { "found" } else { "no finding; the worst" };
    let mut text = format!(
        "{scheme}, {goal}: {verdict}: {} (score {score:.3}, the least of {SEEDS} seeds; {})\n",
        finding.score_text,
        format_count(finding.candidates, "candidate")
    );
    for (kinds, score) in finding.by_kind.iter().take(MAX_REPORTED) {
        text.push_str(&format!("  {score:.3}  with {kinds}\n"));
    }
    let [before, after] = finding.disturbances;
    text.push_str(&format!(
        "  {} of {before} left in {file}, {} long\n  see it:  thalweg run {file} --report\n  keep it: thalweg hunt --keep {file} --goal {goal}\n",
        format_count(after as u64, "disturbance"),
        format_count(finding.scenario.lines().count() as u64, "line"),
    ));
    if finding.refused > 0 {
        text.push_str(&format!("  {} could not be read\n", format_count(finding.refused, "candidate")));
    }
    text
}

/// Stores a finding as a regression test.
fn store_regression_case(file: &Path, folder: &Path, goals: &[Goal], console: &Console) -> CommandResult {
    let [goal] = goals else {
        return Err(Error::argument("keep", "it takes one --goal, by which the finding is judged"));
    };
    let shown = file.display().to_string();
    let text = read_text(file).map_err(|error| Error::Usage(format!("cannot read `{shown}`: {error}")))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = file.parent().unwrap_or(Path::new(""));
    let score = score_of(&shown, &text, beside, *goal, &console.registry).map_err(Error::Failed)?;
    let list = folder.join(LIST_FILE);
    let had = if list.exists() { read_cases(folder).map_err(Error::Usage)? } else { Vec::new() };
    if had.iter().any(|case| case.file == name && case.goal == goal.name()) {
        return Err(Error::Usage(format!("`{}` has `{name}` already", list.display())));
    }
    let failed = |error: std::io::Error| Error::Failed(format!("`{}`: {error}", folder.display()));
    let before = match read_text(&list) {
        Err(error) if !error.is_missing() => {
            return Err(Error::Usage(format!("cannot read `{}`: {error}", list.display())));
        }
        before => before.unwrap_or_default(),
    };
    let gap = if before.is_empty() || before.ends_with("\n\n") { "" } else { "\n" };
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(folder.join(&name), text).map_err(failed)?;
    let text = format!("{before}{gap}{}", format_case_entry(&name, *goal, score));
    atomic_file::replace_file(&list, 0o644, text.as_bytes()).map_err(failed)?;
    console.print(&format!(
        "{name}: {} (score {score:.3}); `thalweg hunt --check {}` fails once that changes\n",
        goal.score_text(score),
        folder.display()
    ))
}

/// Runs regression tests.
fn check_regression_cases(folder: &Path, console: &Console) -> CommandResult {
    let cases = read_cases(folder).map_err(Error::Usage)?;
    let mut failed = 0;
    for case in &cases {
        let checked = check_case(case, folder, &console.registry);
        let holds = checked.holds();
        failed += usize::from(!holds);
        let limits = match (case.at_least, case.at_most) {
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (min, max) => format!("{} to {}", min.unwrap_or(0.0), max.unwrap_or(1.0)),
        };
        let mark = if holds { "+" } else { "-" };
        let line = match &checked.score {
            Ok(score) => {
                let score_text =
                    Goal::by_name(&case.goal).map_or_else(String::new, |goal| goal.score_text(*score));
                format!("{mark} {}: {score_text} (score {score:.3}, {limits})\n", case.file)
            }
            Err(why) => format!("{mark} {}: {why}\n", case.file),
        };
        console.print(&console.style.folded(&line))?;
    }
    if failed > 0 {
        let all = format_count(cases.len() as u64, "case");
        return Err(Error::Failed(format!("{failed} of {all}: the score is out of bounds")));
    }
    Ok(())
}
