//! Progress and outcome of state-space searches.

use crate::batch_progress::progress_draw_target;
use crate::console_output::{CommandProgress, Console, one_line};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use thalweg_explore::SearchOutcome;
use thalweg_proto::units::Bytes;

/// Runs a search and shows its progress.
pub fn run_with_progress<T>(console: &Console, search: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> T {
    let bar = ProgressBar::with_draw_target(None, progress_draw_target(console));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    let result = search(&mut |states, waiting| {
        let message = format!("{} states, {} of them to visit", HumanCount(states), HumanCount(waiting));
        console.show(Some(CommandProgress { share: None, text: message.clone() }));
        bar.set_message(one_line(&message));
        bar.tick();
    });
    console.show(None);
    bar.finish_and_clear();
    result
}

/// Prints the outcome; fails unless all states were visited without a violation.
pub fn check_outcome(
    name: &str,
    outcome: &SearchOutcome,
    is_interrupted: bool,
    (memory, advice): (Bytes, &str),
) -> Result<(), String> {
    match &outcome.counterexample {
        Some(found) => Err(format!("{name}: {}", found.what)),
        None if outcome.complete => Ok(()),
        None if is_interrupted => Err("interrupted: not all states were visited".to_owned()),
        None => Err(format!(
            "not all states were visited: they take more than {memory}; {advice}, or raise --memory"
        )),
    }
}

/// Returns the outcome of a search as text.
pub fn outcome_text(header: &str, verified_property: &str, outcome: &SearchOutcome) -> String {
    let mut text = format!("{header}\n\n");
    let rows = [
        ("States", outcome.states),
        ("Transitions", outcome.steps),
        ("States on paths to completion", outcome.completing_states),
        ("Maximum depth", u64::from(outcome.depth)),
    ];
    // Writing to a string cannot fail.
    for (what, count) in rows {
        let _ = writeln!(text, "{what:30}{:>12}", HumanCount(count).to_string());
    }
    text.push('\n');
    match &outcome.counterexample {
        None if outcome.complete => text.push_str(verified_property),
        None => text.push_str("No violation in the visited states, but not all were visited.\n"),
        Some(found) => {
            let _ = writeln!(text, "Violation: {}.\n", found.what);
            for line in &found.trace {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}
