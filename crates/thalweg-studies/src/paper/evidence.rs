//! The evidence that decides a claim.

use super::{Claim, Row};

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

    /// The number of steps that do not hold so far.
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

/// A mean, and half of its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) mean: f64,
    /// Zero where nothing is random.
    pub(super) half: f64,
}

impl Interval {
    /// Of a cell that has a value.
    pub(super) fn of(row: &Row) -> Option<Self> {
        Some(Self { mean: row.value?, half: row.ci95.unwrap_or(0.0) })
    }

    /// Of the difference of two independent means.
    pub(super) fn minus(self, other: Self) -> Self {
        let half = libm::sqrt(self.half * self.half + other.half * other.half);
        Self { mean: self.mean - other.mean, half }
    }

    /// The whole interval lies above `limit`.
    pub(super) fn is_surely_above(self, limit: f64) -> bool {
        self.mean - self.half > limit
    }

    /// The whole interval lies below `limit`.
    pub(super) fn is_surely_below(self, limit: f64) -> bool {
        self.mean + self.half < limit
    }
}
