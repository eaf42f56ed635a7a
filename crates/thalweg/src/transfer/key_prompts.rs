//! Questions to the user about keys, and errors in key files.

use crate::console_output::{Console, print_prompt};
use std::io::{self, IsTerminal as _};
use thalweg_net::keyring::KnownPeers;

/// Maximum number of invalid lines to report.
const MAX_SHOWN: usize = 5;

/// Reports the invalid lines of a file of known peers.
pub fn report_invalid_lines(peers: &mut KnownPeers, console: &Console) {
    let faults = peers.take_faults();
    faults.iter().take(MAX_SHOWN).for_each(|fault| console.report_problem(fault));
    let more = faults.len().saturating_sub(MAX_SHOWN);
    if more > 0 {
        console.report_problem(&format!("{}: {more} more lines are wrong", peers.path().display()));
    }
}

/// Returns true if there is a terminal to prompt at.
pub fn can_prompt() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns true if a command may prompt: not if another program called it.
pub fn may_prompt(console: &Console) -> bool {
    console.stop().is_none() && can_prompt()
}

/// Prompts with a question that only "yes" confirms.
pub fn confirm_with_yes(question: &str) -> bool {
    print_prompt(&format!("{question} [yes/no] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "yes")
}
