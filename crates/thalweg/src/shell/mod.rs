//! `thalweg shell`: a scenario as a live network, for any program.
//!
//! The process that a user starts ([`namespace_launcher`]) creates namespaces and re-executes itself. That child is the first
//! process of its PID namespace ([`namespace_process`]): it creates the hosts, starts commands on them, and forwards packets. When
//! either process ends, for any reason, the kernel kills all others; the namespaces and devices disappear with the last
//! one.

mod child_processes;
pub mod compare_live;
mod forwarding_threads;
pub mod gate_command;
mod live_run_results;
mod live_view;
mod namespace_launcher;
mod namespace_process;
mod option_differences;
pub(crate) mod traffic_option;

use crate::console_output::{CommandResult, Console, Error};
use crate::scenario_sources::Source;
use crate::value_parsers::{integer_parser, parse_bytes, parse_seconds};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use thalweg_live::network_plan::{Plan, PlanOptions, plan_network};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_scenario::LoadedScenario;
use traffic_option::TrafficOption;

/// `thalweg shell`.
#[derive(Debug, Args)]
pub struct ShellArguments {
    /// Scenario file, or name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Node that runs the command; default: the first flow's source
    #[arg(long, value_name = "NODE")]
    pub at: Option<String>,
    /// Run another command in parallel, at that node ("server=python3 -m http.server"); may be repeated
    #[arg(long, value_name = "NODE=COMMAND", value_parser = run_at)]
    pub run: Vec<(String, String)>,
    /// Delay of the command after those of --run; default: 300 ms
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, requires = "run")]
    pub after: Option<Duration>,
    /// Connect this node to the real network: TCP, UDP and echoes to addresses that no node has are forwarded there;
    /// the node's own address stands for this host
    #[arg(long, value_name = "NODE", conflicts_with = "traffic")]
    pub outside: Option<String>,
    /// Maximum packet size, of all links or of one ("1400B", "core=1300B"), including headers; default: 1500 B. May be
    /// repeated
    #[arg(long, value_name = "[LINK=]SIZE", value_parser = parse_mtu)]
    pub mtu: Vec<(Option<String>, Bytes)>,
    /// Also signal router feedback (SEIF and others) to TCP, as CE on its next packet that leaves the queue
    #[arg(long)]
    pub mark_feedback: bool,
    /// Signal router feedback to TCP by delaying acknowledgements for this long, on the source's side; with both
    /// options, TCP with ECN gets CE instead
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub hold_acks: Option<Duration>,
    /// Carry the scenario's own flows, which must be bulk, instead of a command: by a scheme ("cubic"), or by TCP of
    /// this host's kernel ("kernel:cubic")
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["command", "at", "run"])]
    pub traffic: Option<String>,
    /// Carry only these groups of flows by the scheme of --traffic; the others keep theirs
    #[arg(long, value_name = "GROUP,..", value_delimiter = ',', requires = "traffic")]
    pub traffic_flows: Vec<String>,
    /// Run time; default: until the command ends
    #[arg(long = "for", value_name = "TIME", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Override a scenario key: the key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Random seed of the network; default: the scenario's
    #[arg(long, value_name = "N", value_parser = integer_parser::<u64>(0, u64::MAX))]
    pub seed: Option<u64>,
    /// Write a folder with the scenario, results and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write an HTML page with plots and tables, into the results folder, FILE, or a file named after the scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Capture the hosts' sent and received packets as pcapng, with one interface per host
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Print the results as one JSON document to standard output, after the commands' output
    #[arg(long)]
    pub json: bool,
    /// Print results, fidelity record and carried flows as one JSON document, the input of `compare --live`
    #[arg(long, hide = true, conflicts_with = "json")]
    pub all: bool,
    /// Fail if this host fell behind, which invalidates the measurements
    #[arg(long)]
    pub strict: bool,
    /// Print only the commands' output and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Command with its arguments; default: an interactive shell
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

fn parse_mtu(text: &str) -> Result<(Option<String>, Bytes), String> {
    let (link, size) = match text.rsplit_once('=') {
        Some((link, size)) => (Some(link.trim().to_owned()), size),
        None => (None, text),
    };
    parse_bytes(size).map(|size| (link, size)).map_err(|error| error.to_string())
}

/// Environment variable that marks a process of this command, and its role.
const INSIDE_VARIABLE: &str = "THALWEG_SHELL_INSIDE";
/// Value for the process that stays in the real network; other values are kinds of namespaces.
const SOCKET_SERVER: &str = "socket-server";

/// Runs commands in a live network.
pub fn shell(arguments: &ShellArguments, console: &Console) -> CommandResult {
    run_shell(arguments, console, true, || Source::find(&arguments.file))
}

/// Runs commands in the live network of a scenario, for measurement or interactive use.
fn run_shell(
    arguments: &ShellArguments,
    console: &Console,
    is_measured: bool,
    source: impl FnOnce() -> Result<Source, Error>,
) -> CommandResult {
    let role = std::env::var_os(INSIDE_VARIABLE);
    if role.as_ref().is_some_and(|role| role == SOCKET_SERVER) {
        return namespace_launcher::serve_socket_requests();
    }
    let network = Network { is_measured, ..Network::new(source()?, arguments, console)? };
    match role {
        // Any other process would change the host's mounts.
        Some(_) if std::process::id() != 1 => {
            Err(Error::Usage(format!("the variable {INSIDE_VARIABLE} is not for users: unset it")))
        }
        Some(_) => namespace_process::run_in_namespaces(arguments, &network, console),
        None => namespace_launcher::relaunch_in_namespaces(arguments, &network, console),
    }
}

/// A scenario, and the network built from it.
struct Network {
    source: Source,
    loaded: LoadedScenario,
    plan: Plan,
    /// Node that runs the command.
    command_node: usize,
    /// The scenario's own flows, if they are carried.
    traffic: Option<TrafficOption>,
    /// Always report a host that falls behind.
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
        let plan_options = PlanOptions {
            hosts: named.cloned().collect(),
            outside: arguments.outside.clone(),
            mtus: arguments.mtu.iter().map(|(link, mtu)| (link.clone(), size(mtu))).collect(),
            signals_feedback_by_ce: arguments.mark_feedback,
            ack_delay: arguments.hold_acks,
            // Let the last packets arrive.
            duration: length.map(|length| length + Duration::from_secs(2)).or(arguments.duration),
        };
        let mut plan = plan_network(&spec, &plan_options).map_err(|error| Error::Usage(error.to_string()))?;
        let at = match &arguments.at {
            Some(name) => plan.node(name),
            None => first_source(&plan, &spec),
        };
        let at = at.or_else(|| plan.hosts().next().map(|(number, _)| number)).unwrap_or(0);
        let traffic = match (&arguments.traffic, length) {
            (Some(text), Some(length)) => {
                let carried = (text.as_str(), arguments.traffic_flows.as_slice());
                Some(TrafficOption::new(carried, &mut plan, &loaded, &spec, length, &console.registry)?)
            }
            _ => None,
        };
        Ok(Self { source, loaded, plan, command_node: at, traffic, is_measured: true })
    }
}

/// Returns the host of the first flow's source.
fn first_source(plan: &Plan, spec: &thalweg_sim::simulation_spec::Spec) -> Option<usize> {
    let group = spec.groups.first()?;
    if group.access.is_none() {
        return Some(group.from.0 as usize);
    }
    // A dedicated access link adds this host after the nodes of the scenario.
    plan.hosts().map(|(number, _)| number).find(|&number| number >= spec.nodes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_nodes_and_sizes_perhaps_links() {
        assert_eq!(run_at("web=httpd -p=80"), Ok(("web".to_owned(), "httpd -p=80".to_owned())));
        assert!(run_at("httpd").is_err() && run_at("=httpd").is_err() && run_at("web= ").is_err());
        assert_eq!(parse_mtu("1400B"), Ok((None, Bytes::new(1400))));
        assert_eq!(parse_mtu("core=1300 B"), Ok((Some("core".to_owned()), Bytes::new(1300))));
        assert!(parse_mtu("1400").is_err());
    }
}
