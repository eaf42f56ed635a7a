//! `thalweg gate`: runs programs of this host in a namespace of their own, which reaches the real network through a
//! gate.
//!
//! It is a live network of two nodes: this host, with the gate, and the exit.

use super::{ShellArguments, run_shell};
use crate::console_output::{CommandResult, Console, Error};
use crate::scenario_sources::Source;
use crate::value_parsers::parse_seconds;
use clap::Args;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use thalweg_proto::units::Duration;

/// The nodes of the network: this host with the gate, and the exit.
const NODES: [&str; 2] = ["here", "outside"];

/// `thalweg gate`.
#[derive(Debug, Args)]
pub struct GateArguments {
    /// Gate configuration, in the form of `gate` of a scenario's node
    #[arg(long, value_name = "GATE", default_value = "{ kind = 'congestion' }")]
    pub gate: String,
    /// Priority of packets, 1 (highest) to 6, by protocol, ports and DSCP ("tcp 22=1", "udp=2"); the first match
    /// applies. Other packets get the priority of their class of service, usually 6. May be repeated
    #[arg(long = "priority", value_name = "PACKETS=N", value_parser = parse_priority)]
    pub priorities: Vec<(String, u8)>,
    /// Maximum sending rate; slightly below the path's bottleneck rate, the queue forms here, where the gate controls
    /// it
    #[arg(long, value_name = "RATE", default_value = "10 Gbit/s")]
    pub rate: String,
    /// Queue, in the form of a scenario's link ("100 kB", "{ discipline = 'fq-codel', capacity = '1 MB' }")
    #[arg(long, value_name = "QUEUE", default_value = "4 MB")]
    pub queue: String,
    /// Run another command in parallel; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub run: Vec<String>,
    /// Run time; default: until the command ends
    #[arg(long = "for", value_name = "TIME", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Write a folder with results and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Capture the programs' sent and received packets, as pcapng
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Print the results as one JSON document to standard output, after the commands' output
    #[arg(long)]
    pub json: bool,
    /// Print only the commands' output and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Command with its arguments; default: an interactive shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn parse_priority(text: &str) -> Result<(String, u8), String> {
    let parts = text.rsplit_once('=');
    let number =
        parts.and_then(|(_, number)| number.trim().parse().ok()).filter(|number| (1..=6).contains(number));
    match (parts, number) {
        (Some((packets, _)), Some(number)) => Ok((packets.trim().to_owned(), number)),
        _ => Err("expected packets and a priority from 1 to 6, such as `tcp 22=1`".to_owned()),
    }
}

/// Runs commands behind a gate.
pub fn gate(arguments: &GateArguments, console: &Console) -> CommandResult {
    let [here, outside] = NODES.map(str::to_owned);
    let rest = ShellArguments {
        file: PathBuf::new(),
        at: Some(here.clone()),
        run: arguments.run.iter().map(|command| (here.clone(), command.clone())).collect(),
        after: None,
        outside: Some(outside),
        mtu: Vec::new(),
        mark_feedback: false,
        hold_acks: None,
        traffic: None,
        traffic_flows: Vec::new(),
        duration: arguments.duration,
        sets: vec![
            format!("node.{here}.gate={}", arguments.gate),
            format!("link.uplink.rate={}", arguments.rate),
            format!("link.uplink.queue={}", arguments.queue),
        ],
        seed: None,
        out: arguments.out.clone(),
        report: None,
        pcap: arguments.pcap.clone(),
        json: arguments.json,
        all: false,
        strict: false,
        quiet: arguments.quiet,
        command: arguments.command.clone(),
    };
    run_shell(&rest, console, false, || gate_scenario(&arguments.priorities))
}

/// Returns the base scenario. Arguments override it, and are checked as scenario keys.
fn gate_scenario(priorities: &[(String, u8)]) -> Result<Source, Error> {
    let [here, outside] = NODES;
    let mut text = format!(
        "title = \"Programs of this host behind a gate\"\nduration = \"1 s\"\n\n[[link]]\nname = \"uplink\"\n\
         between = [\"{here}\", \"{outside}\"]\nrate = \"10 Gbit/s\"\ndelay = \"0 ms\"\nqueue = \"4 MB\"\n"
    );
    for (packets, parse_priority) in priorities {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[flow]]\nname = {packets:?}\nfrom = \"{here}\"\nto = \"{outside}\"\nmatch = {packets:?}\npriority = {parse_priority}\n"
        );
    }
    Ok(Source::Text { name: "gate.toml".to_owned(), text, folder: PathBuf::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_of_packets() {
        assert_eq!(parse_priority("tcp 8000-8010 = 2"), Ok(("tcp 8000-8010".to_owned(), 2)));
        assert!(
            parse_priority("tcp 22").is_err()
                && parse_priority("tcp 22=7").is_err()
                && parse_priority("tcp 22=0").is_err()
        );
    }
}
