//! `thalweg shell`: a scenario as a live network, for any program.
//!
//! The process that a user starts ([`outside`]) gives itself namespaces and starts itself again. That child is the first process in
//! its namespace of processes ([`inside`]): it makes the hosts, starts commands at them, and moves packets. When either of the two
//! ends, in whatever way, the system ends all others, and with the last of them namespaces and devices are gone.

mod children;
pub mod compare;
pub mod gate;
mod inside;
mod outside;
mod results;
mod threads;
mod traffic;
mod view;

use crate::console::{Console, Done, Error};
use crate::input::Source;
use crate::values::{bytes, seconds};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use thalweg_live::plan::{Plan, Wishes, plan};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_scenario::Loaded;
use traffic::Traffic;

/// `thalweg shell`.
#[derive(Debug, Args)]
pub struct ShellArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The node at which the command runs; without, that of the first flow's source
    #[arg(long, value_name = "NODE")]
    pub at: Option<String>,
    /// Run another command meanwhile, at that node ("server=python3 -m http.server"); may be repeated
    #[arg(long, value_name = "NODE=COMMAND", value_parser = run_at)]
    pub run: Vec<(String, String)>,
    /// Start the command this much later than those of --run; 300 ms without
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "run")]
    pub after: Option<Duration>,
    /// Behind this node is the real network: TCP, UDP and echoes to addresses that no node has go on there; its own address stands for
    /// this host
    #[arg(long, value_name = "NODE", conflicts_with = "traffic")]
    pub outside: Option<String>,
    /// The largest packet, of all links or of one ("1400B", "core=1300B"), headers counted; 1500 B without. May be repeated
    #[arg(long, value_name = "[LINK=]SIZE", value_parser = mtu)]
    pub mtu: Vec<(Option<String>, Bytes)>,
    /// Have what routers tell sources (SEIF and others) reach TCP too, as CE in its next packet that leaves the queue
    #[arg(long)]
    pub mark_feedback: bool,
    /// Have what routers tell sources reach TCP by acknowledgements that are held back for this long, on the source's side; of both
    /// options TCP with ECN has the other
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub hold_acks: Option<Duration>,
    /// Carry the scenario's own flows, which must be bulk, in place of a command: by a scheme ("cubic"), or by TCP of this host's kernel
    /// ("kernel:cubic")
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["command", "at", "run"])]
    pub traffic: Option<String>,
    /// End after this time; without, with the command
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Change the scenario: a key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The seed of all that is random in the network; without, the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write a folder that holds the scenario, results and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a page with plots and tables for the browser, into the results folder, FILE, or a file named like the scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Write what hosts sent and got, with an interface for each, as pcapng
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Print the results as one JSON document to standard output, after what commands print
    #[arg(long)]
    pub json: bool,
    /// Print results, certificate and carried flows as one JSON document: what `compare --live` reads
    #[arg(long, hide = true, conflicts_with = "json")]
    pub all: bool,
    /// Fail if this host fell behind, so that what was measured is not valid
    #[arg(long)]
    pub strict: bool,
    /// Print nothing but what commands print, and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// The command with its arguments; an interactive shell without
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn run_at(text: &str) -> Result<(String, String), String> {
    let (node, command) =
        text.split_once('=').ok_or("expected a node and a command, such as `server=iperf3 -s`")?;
    if node.trim().is_empty() || command.trim().is_empty() {
        return Err("expected a node and a command, such as `server=iperf3 -s`".to_owned());
    }
    Ok((node.trim().to_owned(), command.to_owned()))
}

fn mtu(text: &str) -> Result<(Option<String>, Bytes), String> {
    let (link, size) = match text.rsplit_once('=') {
        Some((link, size)) => (Some(link.trim().to_owned()), size),
        None => (None, text),
    };
    bytes(size).map(|size| (link, size)).map_err(|error| error.to_string())
}

/// The name of the variable that tells a process that it is one of this command's, and which.
const INSIDE: &str = "THALWEG_SHELL_INSIDE";
/// Its value for the process that stays in the real network; others are kinds of namespaces.
const LENDER: &str = "lender";

/// Runs commands in a live network.
pub fn shell(arguments: &ShellArguments, console: &Console) -> Done {
    run(arguments, console, true, || Source::find(&arguments.file))
}

/// Runs commands in the live network of a scenario, to measure or to use it.
fn run(
    arguments: &ShellArguments,
    console: &Console,
    is_measured: bool,
    source: impl FnOnce() -> Result<Source, Error>,
) -> Done {
    let role = std::env::var_os(INSIDE);
    if role.as_ref().is_some_and(|role| role == LENDER) {
        return outside::lend();
    }
    let network = Network { is_measured, ..Network::new(source()?, arguments, console)? };
    match role {
        // Mounts of any other process would be those of the host.
        Some(_) if std::process::id() != 1 => {
            Err(Error::Usage(format!("the variable {INSIDE} is not for users: unset it")))
        }
        Some(_) => inside::inside(arguments, &network, console),
        None => outside::outside(arguments, &network, console),
    }
}

/// The scenario with the network that is made of it.
struct Network {
    source: Source,
    loaded: Loaded,
    plan: Plan,
    /// The node at which the command runs.
    at: usize,
    /// The scenario's own flows, where they are carried.
    traffic: Option<Traffic>,
    /// A host that falls behind is to be told of in any case.
    is_measured: bool,
}

impl Network {
    fn new(source: Source, arguments: &ShellArguments, console: &Console) -> Result<Self, Error> {
        let loaded = source.load(&arguments.sets, &console.registry)?;
        let mut spec = loaded.spec().clone();
        spec.seed = arguments.seed.unwrap_or(spec.seed);
        let length = arguments.traffic.as_ref().map(|_| arguments.duration.unwrap_or(spec.duration));
        let named = arguments.at.iter().chain(arguments.run.iter().map(|(node, _)| node));
        let size = |size: &Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
        let wishes = Wishes {
            hosts: named.cloned().collect(),
            outside: arguments.outside.clone(),
            mtus: arguments.mtu.iter().map(|(link, mtu)| (link.clone(), size(mtu))).collect(),
            marks_feedback: arguments.mark_feedback,
            holds_acks: arguments.hold_acks,
            // The last packets still arrive.
            duration: length.map(|length| length + Duration::from_secs(2)).or(arguments.duration),
        };
        let mut plan = plan(&spec, &wishes).map_err(|error| Error::Usage(error.to_string()))?;
        let at = match &arguments.at {
            Some(name) => plan.node(name),
            None => first_source(&plan, &spec),
        };
        let at = at.or_else(|| plan.hosts().next().map(|(number, _)| number)).unwrap_or(0);
        let traffic = match (&arguments.traffic, length) {
            (Some(text), Some(length)) => {
                Some(Traffic::new(text, &mut plan, &spec, length, &console.registry)?)
            }
            _ => None,
        };
        Ok(Self { source, loaded, plan, at, traffic, is_measured: true })
    }
}

/// The host that the first flow comes from.
fn first_source(plan: &Plan, spec: &thalweg_sim::spec::Spec) -> Option<usize> {
    let group = spec.groups.first()?;
    if group.access.is_none() {
        return Some(group.from.0 as usize);
    }
    // With links of its own it has been made behind the nodes of the scenario.
    plan.hosts().map(|(number, _)| number).find(|&number| number >= spec.nodes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_nodes_and_sizes_perhaps_links() {
        assert_eq!(run_at("web=httpd -p=80"), Ok(("web".to_owned(), "httpd -p=80".to_owned())));
        assert!(run_at("httpd").is_err() && run_at("=httpd").is_err() && run_at("web= ").is_err());
        assert_eq!(mtu("1400B"), Ok((None, Bytes::new(1400))));
        assert_eq!(mtu("core=1300 B"), Ok((Some("core".to_owned()), Bytes::new(1300))));
        assert!(mtu("1400").is_err());
    }
}
