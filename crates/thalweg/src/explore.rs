//! `thalweg explore`: explores all states of a protocol over a faulty channel.

use crate::console_output::{CommandResult, Console, Error};
use crate::explore_adversary::{AdversaryArguments, explore_adversary};
use crate::search_progress_and_outcome::{check_outcome, outcome_text, run_with_progress};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::value_parsers::{integer_parser, parse_bytes};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use thalweg_explore::{
    Bounds, EndlessStream, SCHEMES, SearchOutcome, acknowledgement_mode, default_bounds,
    explore_protocol as search, has_flow_control, search_endless,
};
use thalweg_proto::units::Bytes;
use thalweg_scenario::nearest_name;

/// `thalweg explore`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ExploreArguments {
    #[command(subcommand)]
    pub other: Option<OtherExploration>,
    /// Protocol (see `thalweg list protocols`)
    #[arg(value_name = "PROTOCOL", required = true)]
    pub protocol: Option<String>,
    /// Window in packets, for sstp in segments of two packets [default: 3; with --slow-reader 2, with --endless 20]
    #[arg(long, value_name = "N", value_parser = integer_parser::<u16>(1, 64))]
    pub window: Option<u16>,
    /// Number of packets to deliver; default: two more than the window
    #[arg(long, value_name = "N", value_parser = integer_parser::<u32>(1, 1000))]
    pub messages: Option<u32>,
    /// Maximum number of lost packets, in either direction
    #[arg(long, value_name = "N", default_value = "2", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub losses: u8,
    /// Maximum number of duplicated packets [default: 1; none for sscop, which relies on a channel without duplication]
    #[arg(long, value_name = "N", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub duplicates: Option<u8>,
    /// Maximum number of delayed packets, which others overtake
    #[arg(long, value_name = "N", default_value = "0", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub delays: u8,
    /// Maximum number of early timer expiries: while packets are in flight or data waits to be read, or before an
    /// earlier timer
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub expiries: u8,
    /// Let the application read at any time, so that the receiver withholds its window; not for adaptive-ack
    #[arg(long)]
    pub slow_reader: bool,
    /// For sstp: check that an endless stream, of segments of one packet, returns to its steady state after --losses
    /// data packets were lost
    #[arg(long, conflicts_with_all = ["messages", "duplicates", "delays", "expiries", "slow_reader"])]
    pub endless: bool,
    /// With --endless: maximum number of lost reports, in addition to the data packets of --losses
    #[arg(long, value_name = "N", default_value = "0", requires = "endless", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub lost_reports: u8,
    /// Stop when the states take more memory than this
    #[arg(long, value_name = "SIZE", default_value = "1 GB", value_parser = parse_bytes)]
    pub memory: Bytes,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Other explorations.
#[derive(Debug, Subcommand)]
pub enum OtherExploration {
    /// Visit every state that an attacker can bring connections into
    Adversary(AdversaryArguments),
}

impl ExploreArguments {
    /// Returns true if only results and errors are printed.
    pub fn is_quiet(&self) -> bool {
        match &self.other {
            None => self.quiet,
            Some(OtherExploration::Adversary(arguments)) => arguments.quiet,
        }
    }

    fn name(&self) -> &str {
        self.protocol.as_deref().unwrap_or_default()
    }
}

/// Subject of an exploration.
enum Task {
    /// A few packets and all events that can affect them.
    Packets(Bounds),
    /// An endless stream.
    Stream(EndlessStream),
}

/// Visits every state and reports violations.
pub fn explore(arguments: &ExploreArguments, console: &Console) -> CommandResult {
    if let Some(OtherExploration::Adversary(arguments)) = &arguments.other {
        return explore_adversary(arguments, console);
    }
    let name = arguments.name();
    let task = selected_task(arguments)?;
    let stop = stop_flag_of_caller_or_signals(console)?;
    let outcome = run_with_progress(console, |report_progress| {
        let mut show = |states, waiting| {
            report_progress(states, waiting);
            !stop.load(Ordering::Relaxed)
        };
        match &task {
            Task::Packets(bounds) => search(name, bounds, &mut show),
            Task::Stream(endless) => search_endless(endless, arguments.memory, &mut show).ok(),
        }
    });
    let outcome = outcome.ok_or_else(|| Error::UnknownName(unknown_protocol_message(name)))?;
    if arguments.json {
        console.print(&format!("{:#}\n", outcome_document(arguments, &task, &outcome)))?;
    } else {
        console.print(&outcome_text(&format!("{name}: {}", task.header()), task.promise(), &outcome))?;
    }
    let deeper = (arguments.memory, "reduce the bounds");
    check_outcome(name, &outcome, stop.load(Ordering::Relaxed), deeper).map_err(Error::Failed)
}

fn selected_task(arguments: &ExploreArguments) -> Result<Task, Error> {
    let name = arguments.name();
    if !SCHEMES.iter().any(|(known, _)| *known == name) {
        return Err(Error::UnknownName(unknown_protocol_message(name)));
    }
    if arguments.endless {
        let Some(acknowledgement) = acknowledgement_mode(name) else {
            return Err(Error::argument(
                "endless",
                format!("it is for sstp and its variants, not for {name}"),
            ));
        };
        let window = arguments.window.unwrap_or(20);
        let defaults = EndlessStream::new(acknowledgement, window, arguments.losses);
        return Ok(Task::Stream(EndlessStream { lost_reports: arguments.lost_reports, ..defaults }));
    }
    if arguments.slow_reader && !has_flow_control(name) {
        return Err(Error::argument("slow-reader", format!("the receiver of {name} has no flow control")));
    }
    // A slow reader multiplies the number of states.
    let window = arguments.window.unwrap_or(if arguments.slow_reader { 2 } else { 3 });
    let defaults = default_bounds(name, window.into());
    Ok(Task::Packets(Bounds {
        messages: arguments.messages.unwrap_or(defaults.messages),
        losses: arguments.losses,
        duplicates: arguments.duplicates.unwrap_or(defaults.duplicates),
        delays: arguments.delays,
        expiries: arguments.expiries,
        slow_reader: arguments.slow_reader,
        memory: arguments.memory,
        ..defaults
    }))
}

fn unknown_protocol_message(name: &str) -> String {
    let names = SCHEMES.map(|(name, _)| name);
    let hint = nearest_name(name, names).map_or_else(
        || format!("there are {}", names.join(", ")),
        |nearest| format!("did you mean `{nearest}`?"),
    );
    format!("there is no protocol `{name}` to explore; {hint}")
}

impl Task {
    /// Describes the possible events, in a line or two.
    fn header(&self) -> String {
        match self {
            Self::Packets(bounds) => format!(
                "window {}, {} packets; at most {} lost, {} duplicated, {} delayed, early expiries: {}{}",
                bounds.window,
                bounds.messages,
                bounds.losses,
                bounds.duplicates,
                bounds.delays,
                bounds.expiries,
                if bounds.slow_reader { "; read at any time" } else { "" }
            ),
            Self::Stream(endless) => {
                let reports = match endless.lost_reports {
                    0 => String::new(),
                    reports => format!(", and {reports} reports"),
                };
                format!(
                    "an endless stream, window {} packets, buffer {}, round trip {}; at most {} lost{reports}",
                    endless.window,
                    endless.buffer,
                    2 * endless.path,
                    endless.losses
                )
            }
        }
    }

    /// Returns the guarantee that holds if no violation is found.
    const fn promise(&self) -> &'static str {
        match self {
            Self::Packets(_) => {
                "All states were visited. In each, delivery was in order, complete and without duplicates; from each,\n\
                 everything is delivered once the channel is fault-free.\n"
            }
            Self::Stream(_) => {
                "All states were visited. From each, the stream recovers once losses end: packets are delivered as they\n\
                 arrive, and none is retransmitted.\n"
            }
        }
    }

    fn document(&self) -> Value {
        match self {
            Self::Packets(bounds) => json!({
                "window": bounds.window,
                "messages": bounds.messages,
                "losses": bounds.losses,
                "duplicates": bounds.duplicates,
                "delays": bounds.delays,
                "expiries": bounds.expiries,
                "slow_reader": bounds.slow_reader,
            }),
            Self::Stream(endless) => json!({
                "window": endless.window,
                "buffer": endless.buffer,
                "round_trip_packets": 2 * endless.path,
                "losses": endless.losses,
                "lost_reports": endless.lost_reports,
            }),
        }
    }
}

fn outcome_document(arguments: &ExploreArguments, task: &Task, outcome: &SearchOutcome) -> Value {
    let mut bounds = task.document();
    bounds["memory_bytes"] = arguments.memory.get().into();
    json!({
        "protocol": arguments.name(),
        "endless": arguments.endless,
        "bounds": bounds,
        "complete": outcome.complete,
        "states": outcome.states,
        "steps": outcome.steps,
        "completing_states": outcome.completing_states,
        "depth": outcome.depth,
        "counterexample": outcome
            .counterexample
            .as_ref()
            .map(|found| json!({ "what": found.what, "trace": found.trace })),
    })
}
