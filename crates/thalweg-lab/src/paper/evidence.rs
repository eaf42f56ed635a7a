//! What decides a claim.

use super::Claim;

/// Collects the numbers of a claim and what speaks against it.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    numbers: Vec<String>,
    failures: Vec<String>,
}

impl Evidence {
    /// Shows numbers.
    pub(super) fn say(&mut self, number: String) {
        self.numbers.push(number);
    }

    /// A step of the claim; `what` names it where it does not hold.
    pub(super) fn must(&mut self, holds: bool, what: String) {
        if !holds {
            self.failures.push(what);
        }
    }

    /// How many steps do not hold so far.
    pub(super) fn failures(&self) -> usize {
        self.failures.len()
    }

    /// The claim, which holds if all its steps do.
    pub(super) fn claim(self, id: &str, text: &str) -> Claim {
        let mut evidence = self.numbers.join("; ");
        if !self.failures.is_empty() {
            let gap = if evidence.is_empty() { "" } else { ". " };
            evidence = format!("{evidence}{gap}Against it: {}", self.failures.join("; "));
        }
        Claim { id: id.to_owned(), text: text.to_owned(), holds: self.failures.is_empty(), evidence }
    }
}
