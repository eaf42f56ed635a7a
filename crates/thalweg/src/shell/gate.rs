//! `thalweg gate`: programs of this host in a namespace of their own, from which they reach the real network by a gate.
//!
//! It is a live network of two nodes: this host, which has the gate, and the way out.

use super::{ShellArguments, run};
use crate::console::{Console, Done, Error};
use crate::input::Source;
use crate::values::seconds;
use clap::Args;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use thalweg_proto::units::Duration;

/// The nodes of the network.
const NODES: [&str; 2] = ["here", "outside"];

/// `thalweg gate`.
#[derive(Debug, Args)]
pub struct GateArguments {
    /// Who may send when, as the `gate` of a scenario's node says it
    #[arg(long, value_name = "GATE", default_value = "{ kind = 'congestion' }")]
    pub gate: String,
    /// The priority of packets, 1 (the highest) to 6, by protocol, ports and DSCP ("tcp 22=1", "udp=2"); of several that fit the
    /// first counts. Others have that of their class of service, which mostly is 6. May be repeated
    #[arg(long = "priority", value_name = "PACKETS=N", value_parser = priority)]
    pub priorities: Vec<(String, u8)>,
    /// Send no faster than this: a little less than the slowest link of the way has its queue here, where the gate sees it
    #[arg(long, value_name = "RATE", default_value = "10 Gbit/s")]
    pub rate: String,
    /// The queue, as a scenario's link says it ("100 kB", "{ discipline = 'fq-codel', capacity = '1 MB' }")
    #[arg(long, value_name = "QUEUE", default_value = "4 MB")]
    pub queue: String,
    /// Run another command meanwhile; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub run: Vec<String>,
    /// End after this time; without, with the command
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Write a folder that holds results and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write what programs sent and got, as pcapng
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Print the results as one JSON document to standard output, after what commands print
    #[arg(long)]
    pub json: bool,
    /// Print nothing but what commands print, and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// The command with its arguments; an interactive shell without
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn priority(text: &str) -> Result<(String, u8), String> {
    let parts = text.rsplit_once('=');
    let number =
        parts.and_then(|(_, number)| number.trim().parse().ok()).filter(|number| (1..=6).contains(number));
    match (parts, number) {
        (Some((packets, _)), Some(number)) => Ok((packets.trim().to_owned(), number)),
        _ => Err("expected packets and a priority from 1 to 6, such as `tcp 22=1`".to_owned()),
    }
}

/// Runs commands behind a gate.
pub fn gate(arguments: &GateArguments, console: &Console) -> Done {
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
    run(&rest, console, false, || scenario(&arguments.priorities))
}

/// The scenario: what is not changed by arguments that are checked as scenarios are.
fn scenario(priorities: &[(String, u8)]) -> Result<Source, Error> {
    let [here, outside] = NODES;
    let mut text = format!(
        "title = \"Programs of this host behind a gate\"\nduration = \"1 s\"\n\n[[link]]\nname = \"uplink\"\n\
         between = [\"{here}\", \"{outside}\"]\nrate = \"10 Gbit/s\"\ndelay = \"0 ms\"\nqueue = \"4 MB\"\n"
    );
    for (packets, priority) in priorities {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n[[flow]]\nname = {packets:?}\nfrom = \"{here}\"\nto = \"{outside}\"\nmatch = {packets:?}\npriority = {priority}\n"
        );
    }
    Ok(Source::Text { name: "gate.toml".to_owned(), text, folder: PathBuf::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_of_packets() {
        assert_eq!(priority("tcp 8000-8010 = 2"), Ok(("tcp 8000-8010".to_owned(), 2)));
        assert!(
            priority("tcp 22").is_err() && priority("tcp 22=7").is_err() && priority("tcp 22=0").is_err()
        );
    }
}
