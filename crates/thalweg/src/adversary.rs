//! `thalweg explore adversary`.

use crate::console::{Console, Done, Error};
use crate::explore::{report, text};
use crate::interrupt::interruptible;
use crate::values::bytes;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use thalweg_adversary::{Bounds, Fault, search};
use thalweg_explore::Outcome;
use thalweg_proto::units::Bytes;

/// `thalweg explore adversary`.
#[derive(Debug, Args)]
pub struct AdversaryArguments {
    /// Connections that the client asks for
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub connections: u8,
    /// Datagrams at most that the attacker puts together himself, or sends on to another socket or from another address
    #[arg(long, value_name = "N", default_value = "1")]
    pub forgeries: u8,
    /// Connections at most that the attacker asks for as himself, with a key that the server trusts
    #[arg(long, value_name = "N", default_value = "0")]
    pub intrusions: u8,
    /// Times at most that time moves on to what is due next
    #[arg(long, value_name = "N", default_value = "0")]
    pub expiries: u8,
    /// Times at most that the server is started anew
    #[arg(long, value_name = "N", default_value = "0")]
    pub restarts: u8,
    /// Connections at most that the client closes
    #[arg(long, value_name = "N", default_value = "0")]
    pub closes: u8,
    /// Steps at most that have an effect
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub depth: u32,
    /// Break a rule on purpose, to see that the search finds it
    #[arg(long, value_name = "RULE")]
    pub fault: Option<BrokenRule>,
    /// Stop when the states take more memory than this
    #[arg(long, value_name = "SIZE", default_value = "1 GB", value_parser = bytes)]
    pub memory: Bytes,
    /// Print one JSON document in place of text
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// A rule as it once was.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BrokenRule {
    /// Tokens of resets come of the identity alone: another socket of it tells them
    ResetTokens,
    /// A cookie makes another handshake when the last one is complete
    CookieAgain,
    /// A cookie is good for any first message
    CookieUnbound,
}

/// Visits every state that an attacker can bring about, and tells what is wrong in any.
pub fn adversary(arguments: &AdversaryArguments, console: &Console) -> Done {
    let bounds = Bounds {
        connections: arguments.connections,
        forgeries: arguments.forgeries,
        intrusions: arguments.intrusions,
        expiries: arguments.expiries,
        restarts: arguments.restarts,
        closes: arguments.closes,
        depth: arguments.depth,
        memory: arguments.memory,
    };
    let fault = match arguments.fault {
        None => Fault::None,
        Some(BrokenRule::ResetTokens) => Fault::Tokens,
        Some(BrokenRule::CookieAgain) => Fault::CookieAgain,
        Some(BrokenRule::CookieUnbound) => Fault::CookieUnbound,
    };
    let stop = interruptible()?;
    let outcome = crate::explore::watched(console, |show| {
        search(&bounds, fault, |states, waiting| {
            show(states, waiting);
            !stop.load(Ordering::Relaxed)
        })
    });
    if arguments.json {
        console.print(&format!("{:#}\n", document(arguments, &outcome)))?;
    } else {
        console.print(&text(&format!("adversary: {}", header(arguments)), PROMISE, &outcome))?;
    }
    let deeper = (arguments.memory, "allow the attacker less");
    report("adversary", &outcome, stop.load(Ordering::Relaxed), deeper).map_err(Error::Failed)
}

fn header(arguments: &AdversaryArguments) -> String {
    let fault = arguments.fault.and_then(|rule| rule.to_possible_value());
    let fault = fault.map_or_else(String::new, |rule| format!("; with the fault {}", rule.get_name()));
    format!(
        "{} connections of the client; at most {} forgeries, {} intrusions, {} closes, {} restarts, {} expiries, {} steps{fault}",
        arguments.connections,
        arguments.forgeries,
        arguments.intrusions,
        arguments.closes,
        arguments.restarts,
        arguments.expiries,
        arguments.depth
    )
}

/// The promise that holds if nothing is wrong.
const PROMISE: &str = "All states were visited. In each, connections were ended by nobody but their peers, a cookie let in one\n\
     handshake, both ends agreed, nothing was taken twice, and three bytes went out for one at most where nothing was proved;\n\
     from each, the client gets in once the attacker stops.\n";

fn document(arguments: &AdversaryArguments, outcome: &Outcome) -> Value {
    let fault = arguments.fault.and_then(|rule| rule.to_possible_value());
    json!({
        "protocol": "adversary",
        "fault": fault.map(|rule| rule.get_name().to_owned()),
        "bounds": {
            "connections": arguments.connections,
            "forgeries": arguments.forgeries,
            "intrusions": arguments.intrusions,
            "expiries": arguments.expiries,
            "restarts": arguments.restarts,
            "closes": arguments.closes,
            "depth": arguments.depth,
            "memory_bytes": arguments.memory.get(),
        },
        "complete": outcome.complete,
        "states": outcome.states,
        "steps": outcome.steps,
        "calm_states": outcome.calm,
        "depth": outcome.depth,
        "counterexample": outcome
            .counterexample
            .as_ref()
            .map(|found| json!({ "what": found.what, "trace": found.trace })),
    })
}
