//! `thalweg explore`.

use crate::Done;
use crate::arguments::ExploreArguments;
use crate::console::{Console, Error};
use crate::run::interruptible;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use thalweg_lab::explore::{Bounds, Outcome, SCHEMES, explore as search};
use thalweg_lab::scenario::nearest;

/// Visits every state and tells what is wrong in any.
pub fn explore(arguments: &ExploreArguments, console: &Console) -> Done {
    let bounds = Bounds {
        window: arguments.window,
        messages: arguments.messages.unwrap_or(arguments.window + 2),
        losses: arguments.losses,
        duplicates: arguments.duplicates,
        delays: arguments.delays,
        expiries: arguments.expiries,
        memory: arguments.memory,
    };
    let stop = interruptible()?;
    let target = if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    let outcome = search(&arguments.protocol, &bounds, |states, waiting| {
        bar.set_message(format!("{} states, {} of them to visit", HumanCount(states), HumanCount(waiting)));
        bar.tick();
        !stop.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    let outcome = outcome.ok_or_else(|| Error::Usage(unknown(&arguments.protocol)))?;
    if arguments.json {
        console.print(&format!("{:#}\n", document(&arguments.protocol, &bounds, &outcome)))?;
    } else {
        console.print(&text(&arguments.protocol, &bounds, &outcome))?;
    }
    match &outcome.counterexample {
        Some(found) => Err(Error::Failed(format!("{}: {}", arguments.protocol, found.what))),
        None if outcome.complete => Ok(()),
        None if stop.load(Ordering::Relaxed) => {
            Err(Error::Failed("interrupted: not all states were visited".to_owned()))
        }
        None => Err(Error::Failed(format!(
            "not all states were visited: they take more than {}; allow less to go wrong, or more --memory",
            bounds.memory
        ))),
    }
}

fn unknown(name: &str) -> String {
    let names = SCHEMES.map(|(name, _)| name);
    let hint = nearest(name, names).map_or_else(
        || format!("there are {}", names.join(", ")),
        |nearest| format!("did you mean `{nearest}`?"),
    );
    format!("there is no protocol `{name}` to explore; {hint}")
}

fn text(name: &str, bounds: &Bounds, outcome: &Outcome) -> String {
    let mut text = format!(
        "{name}: window {}, {} packets; at most {} lost, {} copied, {} held back, {} early expiries\n\n",
        bounds.window, bounds.messages, bounds.losses, bounds.duplicates, bounds.delays, bounds.expiries
    );
    let rows = [
        ("States", outcome.states),
        ("Steps between them", outcome.steps),
        ("States on the ways to the end", outcome.calm),
        ("Most steps to a state", u64::from(outcome.depth)),
    ];
    // Writing to a string cannot fail.
    for (what, count) in rows {
        let _ = writeln!(text, "{what:30}{:>12}", HumanCount(count).to_string());
    }
    text.push('\n');
    match &outcome.counterexample {
        None if outcome.complete => text.push_str(
            "All states were visited. In each, what was delivered was in order and complete, nothing twice; from\n\
             each, all is delivered once the channel behaves.\n",
        ),
        None => text.push_str("Nothing is wrong in the states visited, but these are not all.\n"),
        Some(found) => {
            let _ = writeln!(text, "Wrong: {}.\n", found.what);
            for line in &found.trace {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

fn document(name: &str, bounds: &Bounds, outcome: &Outcome) -> serde_json::Value {
    json!({
        "protocol": name,
        "bounds": {
            "window": bounds.window,
            "messages": bounds.messages,
            "losses": bounds.losses,
            "duplicates": bounds.duplicates,
            "delays": bounds.delays,
            "expiries": bounds.expiries,
            "memory_bytes": bounds.memory.get(),
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
