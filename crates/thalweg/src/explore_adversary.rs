//! `thalweg explore adversary`: searches for attacks on the endpoints.

use crate::console_output::{CommandResult, Console, Error};
use crate::search_progress_and_outcome::{check_outcome, outcome_text, run_with_progress};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::value_parsers::{integer_parser, parse_bytes};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use thalweg_adversary::{Bounds, Fault, PairingBounds, search, search_pairing};
use thalweg_explore::SearchOutcome;
use thalweg_proto::units::Bytes;
use thalweg_report::output::format_count;

/// `thalweg explore adversary`.
#[derive(Debug, Args)]
pub struct AdversaryArguments {
    /// Explore a pairing by code instead of connections; only with --intrusions, --fault and --memory
    #[arg(long, conflicts_with_all = ["connections", "forgeries", "expiries", "restarts", "closes", "unvalidated", "depth"])]
    pub pairing: bool,
    /// Number of connections that the client opens
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u8>(1, 8))]
    pub connections: u8,
    /// Maximum number of datagrams that the attacker forges, or forwards to another socket or from another address
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub forgeries: u8,
    /// Maximum number of connections that the attacker opens with a key of its own that the server trusts [default: 0;
    /// with --pairing 5]
    #[arg(long, value_name = "N", value_parser = integer_parser::<u8>(0, 80))]
    pub intrusions: Option<u8>,
    /// Maximum number of timer expiries
    #[arg(long, value_name = "N", default_value = "0", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub expiries: u8,
    /// Maximum number of server restarts
    #[arg(long, value_name = "N", default_value = "0", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub restarts: u8,
    /// Maximum number of connections that the client closes
    #[arg(long, value_name = "N", default_value = "0", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub closes: u8,
    /// Maximum number of concurrent handshakes that the server begins without a cookie
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u8>(0, u8::MAX))]
    pub unvalidated: u8,
    /// Maximum number of steps that have an effect
    #[arg(long, value_name = "N", default_value = "12", value_parser = integer_parser::<u32>(1, 1000))]
    pub depth: u32,
    /// Break a rule on purpose, to check that the search finds it
    #[arg(long, value_name = "RULE")]
    pub fault: Option<BrokenRule>,
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

/// A protocol rule in an earlier, broken form.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BrokenRule {
    /// Reset tokens derive from the identity alone: another socket of the same identity reveals them
    ResetTokens,
    /// A cookie starts another handshake after the last one is complete
    CookieAgain,
    /// A cookie is valid for any first message
    CookieUnbound,
    /// A hello without a cookie starts another handshake after the last one is complete
    HelloAgain,
    /// Pairing: the proof does not cover the keys and the connection
    PairingUnbound,
    /// Pairing: a peer that leaves before its proof is not counted as a guess
    GuessUncounted,
}

impl AdversaryArguments {
    fn bounds(&self) -> Bounds {
        Bounds {
            connections: self.connections,
            forgeries: self.forgeries,
            intrusions: self.intrusions.unwrap_or(0),
            expiries: self.expiries,
            restarts: self.restarts,
            closes: self.closes,
            unvalidated: self.unvalidated,
            depth: self.depth,
            memory: self.memory,
        }
    }

    fn pairing_bounds(&self) -> PairingBounds {
        let attempts = self.intrusions.unwrap_or(PairingBounds::default().attempts);
        PairingBounds { attempts, memory: self.memory }
    }

    fn fault(&self) -> Result<Fault, Error> {
        let (fault, is_of_pairings) = match self.fault {
            None => return Ok(Fault::None),
            Some(BrokenRule::ResetTokens) => (Fault::Tokens, false),
            Some(BrokenRule::CookieAgain) => (Fault::CookieAgain, false),
            Some(BrokenRule::CookieUnbound) => (Fault::CookieUnbound, false),
            Some(BrokenRule::HelloAgain) => (Fault::HelloAgain, false),
            Some(BrokenRule::PairingUnbound) => (Fault::PairingUnbound, true),
            Some(BrokenRule::GuessUncounted) => (Fault::GuessUncounted, true),
        };
        match (is_of_pairings, self.pairing) {
            (true, false) => Err(Error::argument("fault", "this rule is one of pairings; add --pairing")),
            (false, true) => {
                Err(Error::argument("fault", "this rule is none of pairings; leave out --pairing"))
            }
            _ => Ok(fault),
        }
    }
}

/// Visits every state that an attacker can reach, and reports violations.
pub fn explore_adversary(arguments: &AdversaryArguments, console: &Console) -> CommandResult {
    let fault = arguments.fault()?;
    let stop = stop_flag_of_caller_or_signals(console)?;
    let outcome = run_with_progress(console, |report_progress| {
        let mut show = |states, waiting| {
            report_progress(states, waiting);
            !stop.load(Ordering::Relaxed)
        };
        if arguments.pairing {
            search_pairing(&arguments.pairing_bounds(), fault, &mut show)
        } else {
            search(&arguments.bounds(), fault, &mut show)
        }
    });
    if arguments.json {
        console.print(&format!("{:#}\n", outcome_document(arguments, &outcome)))?;
    } else {
        let promise = if arguments.pairing { PAIRING_PROMISE } else { GUARANTEE };
        console.print(&outcome_text(
            &format!("adversary: {}", bounds_header(arguments)),
            promise,
            &outcome,
        ))?;
    }
    let deeper = (arguments.memory, "reduce the attacker's bounds");
    check_outcome("adversary", &outcome, stop.load(Ordering::Relaxed), deeper).map_err(Error::Failed)
}

fn bounds_header(arguments: &AdversaryArguments) -> String {
    let fault = arguments.fault.and_then(|rule| rule.to_possible_value());
    let fault = fault.map_or_else(String::new, |rule| format!("; with the fault {}", rule.get_name()));
    if arguments.pairing {
        let attempts = arguments.pairing_bounds().attempts;
        let attempts = format_count(u64::from(attempts), "connection");
        return format!("a pairing; at most {attempts} of the attacker{fault}");
    }
    let or_more =
        |count: u8, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    format!(
        "{} of the client; at most {}, {}, {}, {}, {}, {}, {} without a cookie at a time{fault}",
        format_count(u64::from(arguments.connections), "connection"),
        or_more(arguments.forgeries, "forgery", "forgeries"),
        format_count(u64::from(arguments.intrusions.unwrap_or(0)), "intrusion"),
        format_count(u64::from(arguments.closes), "close"),
        format_count(u64::from(arguments.restarts), "restart"),
        or_more(arguments.expiries, "expiry", "expiries"),
        format_count(u64::from(arguments.depth), "step"),
        format_count(u64::from(arguments.unvalidated), "handshake"),
    )
}

/// Guarantee that holds if no violation is found.
const GUARANTEE: &str = "All states were visited. In each, only peers ended connections, a cookie admitted one handshake, both ends\n\
     agreed, no datagram was accepted twice, and an unvalidated address was sent at most three bytes per byte\n\
     received; from each, the client connects once the attacker stops.\n";

const PAIRING_PROMISE: &str = "All states were visited. In each, neither end accepted the attacker as its peer, and the code answered at\n\
     most three guesses; from each, an honest sender that can still arrive is paired once the attacker stops.\n";

fn outcome_document(arguments: &AdversaryArguments, outcome: &SearchOutcome) -> Value {
    let fault = arguments.fault.and_then(|rule| rule.to_possible_value());
    let memory = arguments.memory.get();
    let bounds = if arguments.pairing {
        json!({ "attempts": arguments.pairing_bounds().attempts, "memory_bytes": memory })
    } else {
        let Bounds {
            connections, forgeries, intrusions, expiries, restarts, closes, unvalidated, depth, ..
        } = arguments.bounds();
        json!({
            "connections": connections,
            "forgeries": forgeries,
            "intrusions": intrusions,
            "expiries": expiries,
            "restarts": restarts,
            "closes": closes,
            "unvalidated": unvalidated,
            "depth": depth,
            "memory_bytes": memory,
        })
    };
    json!({
        "protocol": "adversary",
        "pairing": arguments.pairing,
        "fault": fault.map(|rule| rule.get_name().to_owned()),
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
