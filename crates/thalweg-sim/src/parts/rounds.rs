//! Rounds of a group of flows: a barrier at which each block waits for those of all others.

use crate::measure::Histogram;
use crate::result::Round;
use thalweg_proto::units::{Duration, Time};

/// Rounds of a group that are kept one by one; further ones are only counted.
pub(crate) const MAX_ROUNDS: usize = 10_000;

/// The rounds of a group, and where the one at hand stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// The rounds that are still to begin after the one at hand; no end without.
    pub left: Option<u32>,
    /// The time between two rounds.
    pub think: Duration,
    /// Blocks of the round at hand that have arrived, and when the first of them began.
    pub arrived: u32,
    pub began: Option<Time>,
    /// The rounds that were counted.
    pub took: Histogram,
    pub list: Vec<Round>,
}

impl Rounds {
    /// The rounds of a group before the first has ended; without `rounds` they have no end.
    pub fn new(rounds: Option<u32>, think: Duration) -> Self {
        Self { left: rounds.map(|rounds| rounds.saturating_sub(1)), think, ..Self::default() }
    }

    /// A block that began at `began` has arrived, one of `flows`: the round, where it is the last of it.
    pub fn arrive(&mut self, began: Time, now: Time, flows: u32) -> Option<Round> {
        let first = self.began.map_or(began, |first| first.min(began));
        self.began = Some(first);
        self.arrived += 1;
        if self.arrived < flows {
            return None;
        }
        (self.arrived, self.began) = (0, None);
        Some(Round { start: first, end: now })
    }

    /// Counts a round.
    pub fn count(&mut self, round: Round) {
        self.took.record(round.end.since(round.start));
        if self.list.len() < MAX_ROUNDS {
            self.list.push(round);
        }
    }

    /// The time of the next round after one that ended now, if there is another.
    pub fn next(&mut self, now: Time) -> Option<Time> {
        match &mut self.left {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        Some(now + self.think)
    }

    /// Adds what a part of the run measured.
    pub fn add(&mut self, other: &Self) {
        self.took.merge(&other.took);
        self.list.extend_from_slice(&other.list);
    }
}
