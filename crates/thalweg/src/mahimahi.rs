//! `thalweg mahimahi`: exports a link's capacity as a Mahimahi trace.

use crate::console_output::{CommandResult, Console, Error};
use crate::scenario_sources::Source;
use clap::Args;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use thalweg_report::output::mahimahi_trace::{TraceWriteError, delivery_opportunities};
use thalweg_scenario::nearest_name;
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec, Spec};

/// `thalweg mahimahi`.
#[derive(Debug, Args)]
pub struct MahimahiArguments {
    /// Scenario file, or name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Link to export; optional if there is only one
    #[arg(value_name = "LINK")]
    pub link: Option<String>,
    /// Source node of the exported direction; default: the link's first node
    #[arg(long, value_name = "NODE")]
    pub from: Option<String>,
    /// Override a scenario key: the key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print only the trace and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Prints the trace of one direction of a link.
pub fn mahimahi(arguments: &MahimahiArguments, console: &Console) -> CommandResult {
    let loaded = Source::find(&arguments.file)?.load(&arguments.sets, &console.registry)?;
    console.warn(&loaded.warnings);
    let spec = loaded.spec();
    let link = find_link(spec, arguments.link.as_deref())?;
    let direction = direction_from(spec, link, arguments.from.as_deref())?;
    let trace = delivery_opportunities(direction, spec.duration)
        .map_err(|error| Error::Usage(format!("link `{}`: {error}", link.name)))?;
    if trace.period < spec.duration && direction.capacity.is_none() {
        console.inform(&format!(
            "note: mahimahi repeats the trace after {}, its last opportunity; the scenario takes {}",
            trace.period, spec.duration
        ));
    }
    let out = io::stdout().lock();
    let lines = trace.opportunities.len();
    if out.is_terminal() && lines > MAX_ON_A_TERMINAL {
        return Err(Error::Usage(format!("a trace of {lines} lines; send it to a file with `> FILE`")));
    }
    trace.write(out).map_err(|error| match error {
        TraceWriteError::Io(error) => Error::Output(error),
        error => Error::Failed(format!("cannot write the trace: {error}")),
    })
}

fn find_link<'a>(spec: &'a Spec, name: Option<&str>) -> Result<&'a LinkSpec, Error> {
    let names = || spec.links.iter().map(|link| link.name.as_str());
    match (name, spec.links.as_slice()) {
        (None, [only]) => Ok(only),
        (None, []) => Err(Error::Usage("the scenario has no link".to_owned())),
        (None, _) => Err(Error::Usage(format!("name a link: {}", names().collect::<Vec<_>>().join(", ")))),
        (Some(name), links) => links.iter().find(|link| link.name == name).ok_or_else(|| {
            let hint = nearest_name(name, names()).map_or_else(
                || format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            Error::Usage(format!("there is no link `{name}`; {hint}"))
        }),
    }
}

/// Returns the direction that begins at the node `from`, or else at the link's first node.
fn direction_from<'a>(
    spec: &Spec,
    link: &'a LinkSpec,
    from: Option<&str>,
) -> Result<&'a DirectionSpec, Error> {
    let [a, b] = [link.a, link.b].map(|node| spec.nodes.get(node.0 as usize).map_or("", |node| &node.name));
    match from {
        None => Ok(&link.forward),
        Some(from) if from == a => Ok(&link.forward),
        Some(from) if from == b => Ok(&link.backward),
        Some(from) => Err(Error::Usage(format!("link `{}` joins `{a}` and `{b}`, not `{from}`", link.name))),
    }
}

const MAX_ON_A_TERMINAL: usize = 1000;
