//! Evidence that decides a claim.

use super::{Claim, Row, Verdict};

/// Collects the numbers of a claim and its failed steps.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    numbers: Vec<String>,
    failures: Vec<String>,
    sizes: Vec<String>,
}

impl Evidence {
    /// Adds a number to the evidence.
    pub(super) fn add(&mut self, number: String) {
        self.numbers.push(number);
    }

    /// Adds a step of the claim; `what` describes it if it fails.
    pub(super) fn require(&mut self, holds: bool, what: String) {
        if !holds {
            self.failures.push(what);
        }
    }

    /// Adds a step about a size that the paper states; `what` describes it if it fails. A claim with failed steps of
    /// this kind alone holds in direction, not in size.
    pub(super) fn size(&mut self, holds: bool, what: String) {
        if !holds {
            self.sizes.push(what);
        }
    }

    /// Returns the number of failed steps so far.
    pub(super) fn failures(&self) -> usize {
        self.failures.len()
    }

    /// Returns the claim, which holds if all its steps do.
    pub(super) fn claim(self, id: &str, text: &str) -> Claim {
        let mut evidence = self.numbers.join("; ");
        for (head, steps) in [("Against it", &self.failures), ("Against its size", &self.sizes)] {
            if !steps.is_empty() {
                let gap = if evidence.is_empty() { "" } else { ". " };
                evidence = format!("{evidence}{gap}{head}: {}", steps.join("; "));
            }
        }
        let verdict = match (self.failures.is_empty(), self.sizes.is_empty()) {
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::SignOnly,
            (false, _) => Verdict::Fails,
        };
        Claim::new(id, text, verdict, evidence)
    }
}

/// A mean, and the half width of its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) mean: f64,
    /// Half width; zero without randomness.
    pub(super) half: f64,
}

impl Interval {
    /// Returns the interval of a row that has a value.
    pub(super) fn from_row(row: &Row) -> Option<Self> {
        Some(Self { mean: row.value?, half: row.ci95.unwrap_or(0.0) })
    }

    /// Returns the interval of the difference of two independent means.
    pub(super) fn minus(self, other: Self) -> Self {
        let half = libm::sqrt(self.half * self.half + other.half * other.half);
        Self { mean: self.mean - other.mean, half }
    }

    /// Returns true if the whole interval is above `limit`.
    pub(super) fn is_surely_above(self, limit: f64) -> bool {
        self.mean - self.half > limit
    }

    /// Returns true if the whole interval is below `limit`.
    pub(super) fn is_surely_below(self, limit: f64) -> bool {
        self.mean + self.half < limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_size_leaves_the_sign() {
        let verdict = |sign: bool, size: bool| {
            let mut evidence = Evidence::default();
            evidence.add("3 > 2".to_owned());
            evidence.require(sign, "less".to_owned());
            evidence.size(size, "a third".to_owned());
            let claim = evidence.claim("1", "x");
            (claim.verdict, claim.evidence)
        };
        assert_eq!(verdict(true, true), (Verdict::Holds, "3 > 2".to_owned()));
        assert_eq!(verdict(true, false), (Verdict::SignOnly, "3 > 2. Against its size: a third".to_owned()));
        assert_eq!(verdict(false, true), (Verdict::Fails, "3 > 2. Against it: less".to_owned()));
        let both = "3 > 2. Against it: less. Against its size: a third";
        assert_eq!(verdict(false, false), (Verdict::Fails, both.to_owned()));
    }
}
