//! `thalweg assess`: the evaluation that RFC 9743 requires of a congestion control, in one command.

use crate::assess_live;
use crate::batch_progress::counting_runs;
use crate::cluster_workers::{Cluster, unfinished_runs_error};
use crate::console_output::{ArgumentError, CommandResult, Console, Error};
use crate::kernel_schemes::{control_of, is_kernel, reject_without_live};
use crate::run_and_compare::{available_memory, join_scheme_pieces};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::value_parsers::{parse_positive, parse_replications};
use crate::version::program_identity;
use clap::Args;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_assess::{
    AssessError, Assessment, AssessmentPlan, BUILT_IN_PLANS, Choice, Document, Files, Margins, Verdict,
    compare_assessments, format_assessment, junit, markdown, page,
};
use thalweg_report::output::format_count;
use thalweg_scenario::nearest_name;
use thalweg_sweep::{Purpose, Store};

/// `thalweg assess`.
#[derive(Debug, Args)]
pub struct AssessArguments {
    /// Schemes under test, with options if needed ("vegas", "cubic,cubic:beta=0.5"); with --live also TCP of this host's kernel
    /// ("kernel:cubic"), for the live points alone
    #[arg(value_name = "SCHEME", value_delimiter = ',', required_unless_present_any = ["list", "unpack"])]
    pub schemes: Vec<String>,
    /// Assessment plan: the name of a built-in plan, or a file
    #[arg(long, value_name = "NAME", default_value = "rfc9743")]
    pub pack: String,
    /// Assess only these sections, by number ("5.2.1", "5.1,7")
    #[arg(long, value_name = "SECTION", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Use few points and seeds, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Number of seeds per point; default: the plan's
    #[arg(long, value_name = "R", value_parser = parse_replications)]
    pub reps: Option<NonZeroU32>,
    /// Override a key in all scenarios, such as defaults.scheme.rack=true; applies to the reference schemes too
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// File of decision margins; default: the plan's
    #[arg(long, value_name = "FILE")]
    pub margins: Option<PathBuf>,
    /// Folder of reports. Each finished run is stored there, and the same command resumes
    #[arg(long, value_name = "DIR", default_value = "assessment")]
    pub out: PathBuf,
    /// Also run this number of points in live networks on this host (3 without a number), with the scheme for all of
    /// their flows, and report the differences from simulation
    #[arg(long, value_name = "POINTS", num_args = 0..=1, require_equals = true, default_missing_value = "3", value_parser = parse_positive::<NonZeroUsize>, conflicts_with_all = ["list", "unpack"])]
    pub live: Option<NonZeroUsize>,
    /// List the sections with their experiments and claims without running them
    #[arg(long)]
    pub list: bool,
    /// Write the built-in plans, margins, sweeps and scenarios into DIR for editing, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    pub unpack: Option<PathBuf>,
    /// Number of simulations to run in parallel; default: one per processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Distribute the runs to the workers of a Dask scheduler, given its address or its file
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["list", "unpack"])]
    pub cluster: Option<String>,
    /// Print one JSON document per scheme instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Folders of assessments.
const PURPOSE: Purpose = Purpose {
    mark: "Assessments by thalweg",
    about: "\
SCHEME.html     the report on a scheme
SCHEME.md       the same for the appendix of a draft
SCHEME.json     all of it for programs
SCHEME.xml      the claims as JUnit's tests
SCHEME.live     with --live: the scenarios of the sample and what their live runs left
comparison.md   several schemes side by side
points          the results of each run, under a hash of its scenario, its seed and the build of thalweg

The same call resumes an interrupted assessment, and repeats no run in `points`; runs of the reference schemes are made once.
",
};

/// Assesses schemes, writes their reports and reports which claims hold.
pub fn assess(arguments: &AssessArguments, console: &Console) -> CommandResult {
    if let Some(folder) = &arguments.unpack {
        let count = Files::unpack(folder);
        let count = count.map_err(|error| Error::Failed(format!("`{}`: {error}", folder.display())))?;
        console.inform(&format!("{} in {}", format_count(count as u64, "file"), folder.display()));
        return Ok(());
    }
    let (files, plan) = find_plan(&arguments.pack)?;
    let margins = read_margins(arguments, &files, &plan)?;
    if arguments.list {
        return list_claims(&plan, arguments, console);
    }
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation and is several times slower than `cargo build --release` makes it");
    }
    let schemes = join_scheme_pieces(&arguments.schemes);
    if arguments.live.is_none() {
        reject_without_live(&schemes)?;
    }
    let simulated: Vec<String> =
        schemes.iter().map(|scheme| simulated_as(scheme, console)).collect::<Result<_, _>>()?;
    let store = Store::open(&arguments.out, PURPOSE).map_err(|error| Error::Usage(error.to_string()))?;
    let choice = Choice {
        selected_sections: arguments.only.clone(),
        quick: arguments.quick,
        replications: arguments.reps.map(Into::into),
        sets: arguments.sets.clone(),
    };
    let stop = stop_flag_of_caller_or_signals(console)?;
    let threads =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let program = program_identity(&console.registry)?;
    let assessment = |scheme| Assessment {
        scheme,
        plan: &plan,
        margins: &margins,
        files: &files,
        registry: &console.registry,
        choice: &choice,
        threads,
        // Workers check their own memory.
        memory: available_memory().filter(|_| arguments.cluster.is_none()),
        program: &program,
        command: &console.program,
        stop: Arc::clone(&stop),
    };
    let mut errors = Vec::new();
    for (number, scheme) in schemes.iter().enumerate() {
        if schemes[..number].contains(scheme) {
            return Err(Error::Usage(format!("the scheme `{scheme}` is given twice")));
        }
        match assessment(&simulated[number]).check() {
            Err(AssessError::Scheme(found)) if schemes.len() > 1 => {
                errors.push(Error::of_scheme_diagnostics(&found).within(scheme));
            }
            checked => drop(checked.map_err(error_of)?),
        }
    }
    Error::of_all(errors)?;
    let cluster = arguments.cluster.as_ref();
    let mut cluster = cluster.map(|address| Cluster::connect(address, console)).transpose()?;
    let mut documents = Vec::new();
    let live = |assessment: &Assessment<'_>, scheme: &str, points: NonZeroUsize| -> CommandResult {
        let sample = assessment.sample(points.get()).map_err(error_of)?;
        if sample.is_empty() {
            console.note("no point of these sections can run live; bulk flows over slow links can");
            return Ok(());
        }
        let folder = arguments.out.join(format!("{}.live", file_name_of_scheme(scheme)));
        let (text, live) = assess_live::compare_simulated_and_live(
            [assessment.scheme, scheme],
            &sample,
            &folder,
            &stop,
            console,
        )?;
        store_text(&store, &format!("{}.live.json", file_name_of_scheme(scheme)), &format!("{live:#}\n"))?;
        // With --json, standard output carries one document per scheme.
        if arguments.json {
            console.inform(text.trim_end());
        } else {
            console.print(&text)?;
        }
        Ok(())
    };
    for (scheme, simulated) in schemes.iter().zip(&simulated) {
        let assessment = assessment(simulated);
        if let Some(points) = arguments.live.filter(|_| is_kernel(scheme)) {
            live(&assessment, scheme, points)?;
            continue;
        }
        let document = match run_assessment(&assessment, &store, cluster.as_mut(), console) {
            Err(AssessError::Unfinished(error)) => return Err(unfinished_runs_error(&error, cluster.take())),
            made => made.map_err(error_of)?,
        };
        write_results(&document, &store)?;
        match arguments.json {
            true => console.print(&document.to_json())?,
            false => console.print(&format_assessment(&document, console.style))?,
        }
        let is_complete = document.complete;
        if let Some(points) = arguments.live.filter(|_| is_complete) {
            live(&assessment, scheme, points)?;
        }
        documents.push(document);
        if !is_complete {
            break;
        }
    }
    if documents.len() > 1 {
        store_text(&store, "comparison.md", &compare_assessments(&documents))?;
    }
    cluster.and_then(Cluster::end);
    store.remove_temporary_files();
    console.inform(&format!("Reports are in {}", arguments.out.display()));
    check_documents(&documents, console)
}

/// Returns the scheme that is simulated for one under test: itself, or for TCP of this host's kernel the scheme of its congestion
/// control, `cubic` if there is none.
///
/// # Errors
///
/// The kernel lacks the congestion control.
fn simulated_as(scheme: &str, console: &Console) -> Result<String, Error> {
    let Some(control) = control_of(scheme)? else { return Ok(scheme.to_owned()) };
    let own = if control == "reno" { "newreno" } else { control };
    let is_scheme = console.registry.scheme(own).is_some();
    Ok(if is_scheme { own } else { "cubic" }.to_owned())
}

/// Returns the plan of this name or file, and the source of its files.
fn find_plan(name: &str) -> Result<(Files, AssessmentPlan), Error> {
    let path = Path::new(name);
    let (files, file) = if BUILT_IN_PLANS.contains(&name) {
        (Files::BuiltIn, format!("{name}.toml"))
    } else if path.is_file() {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        (Files::Folder(folder), path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    } else {
        let near = nearest_name(name, BUILT_IN_PLANS.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("built in: {}", BUILT_IN_PLANS.join(", ")),
        };
        return Err(Error::Argument(ArgumentError {
            option: "pack",
            value: None,
            why: format!("there is no plan and no file `{name}`; {help}"),
            advice: near.is_none().then_some("--unpack writes their files, to be changed"),
            is_unknown_name: true,
        }));
    };
    let text = files.text(&file).map_err(Error::Usage)?;
    AssessmentPlan::read(&file, &text).map(|plan| (files, plan)).map_err(Error::Usage)
}

fn read_margins(arguments: &AssessArguments, files: &Files, plan: &AssessmentPlan) -> Result<Margins, Error> {
    let (name, text) = match &arguments.margins {
        Some(path) => {
            let text = thalweg_scenario::read_text(path);
            let text =
                text.map_err(|error| Error::Usage(format!("cannot read `{}`: {error}", path.display())))?;
            (path.display().to_string(), text)
        }
        None => (plan.margins.clone(), files.text(&plan.margins).map_err(Error::Usage)?),
    };
    Margins::read(&name, &text).map_err(Error::Usage)
}

fn list_claims(plan: &AssessmentPlan, arguments: &AssessArguments, console: &Console) -> CommandResult {
    let mut text = String::new();
    for section in plan.sections_matching(&arguments.only).map_err(Error::UnknownName)? {
        text.push_str(&format!("{:<6} {}\n", section.number, section.title));
        if let Some(reason) = &section.not_evaluated {
            text.push_str(&format!("  not evaluated because {reason}\n"));
        }
        for experiment in &section.experiments {
            text.push_str(&format!("  {} ({})\n", experiment.title, experiment.sweep));
            for claim in &experiment.claims {
                text.push_str(&format!("    {}\n", claim.text));
            }
        }
    }
    console.print(&console.style.folded(&text))
}

fn run_assessment(
    assessment: &Assessment<'_>,
    store: &Store,
    cluster: Option<&mut Cluster<'_>>,
    console: &Console,
) -> Result<Document, AssessError> {
    let of = format!("{}: ", assessment.scheme);
    let engine = cluster.map(|cluster| &mut cluster.engine);
    counting_runs(console, &of, |tick| assessment.run(store, engine, tick))
}

fn error_of(error: AssessError) -> Error {
    match error {
        AssessError::Scheme(found) => Error::of_scheme_diagnostics(&found),
        AssessError::Scenario(found) => Error::Scenario(found),
        AssessError::Invalid(why) => Error::Usage(why),
        AssessError::Unfinished(error) => unfinished_runs_error(&error, None),
    }
}

/// Converts a scheme into a file name.
fn file_name_of_scheme(scheme: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    scheme.chars().map(letter).collect()
}

fn write_results(document: &Document, store: &Store) -> Result<(), Error> {
    let name = file_name_of_scheme(&document.scheme);
    store_text(store, &format!("{name}.html"), &page(document))?;
    store_text(store, &format!("{name}.md"), &markdown(document))?;
    store_text(store, &format!("{name}.json"), &document.to_json())?;
    store_text(store, &format!("{name}.xml"), &junit(document))
}

fn store_text(store: &Store, name: &str, text: &str) -> Result<(), Error> {
    store.write(name, text.as_bytes()).map_err(|error| Error::Failed(error.to_string()))
}

/// Fails if a claim does not hold or a point has no result.
fn check_documents(documents: &[Document], console: &Console) -> CommandResult {
    if let Some(partial) = documents.iter().find(|document| !document.complete) {
        return Err(Error::Failed(format!(
            "interrupted after {} with {}: repeat the call to continue",
            format_count(partial.runs as u64, "run"),
            partial.scheme
        )));
    }
    for failed in documents.iter().flat_map(|document| &document.failed).take(MAX_REPORTED) {
        let values: Vec<String> =
            failed.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        console.report_problem(&format!(
            "{} with {} ({}) has no result: {}\nagain: {}",
            failed.sweep,
            failed.scheme,
            values.join(", "),
            failed.why,
            failed.command
        ));
    }
    let mut faults = Vec::new();
    for document in documents {
        let (not_holding, unresolved) = (document.count(Verdict::DoesNotHold), document.failed.len());
        if not_holding > 0 {
            let all = format_count(document.claims().count() as u64, "claim");
            faults.push(format!("{}: {not_holding} of {all} do not hold", document.scheme));
        }
        if unresolved > 0 {
            faults.push(format!(
                "{}: {} without a result",
                document.scheme,
                format_count(unresolved as u64, "point")
            ));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Failed(faults.join("; "))) }
}

/// Maximum number of reported failures.
const MAX_REPORTED: usize = 5;
