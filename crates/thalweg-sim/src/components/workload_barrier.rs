//! Rounds of a group of flows: a barrier at which each block waits for all others.

use crate::measure::Histogram;
use crate::run_result::Round;
use thalweg_proto::units::{Duration, Time};

/// Maximum number of listed rounds of a group; more are only counted.
pub(crate) const MAX_ROUNDS: usize = 10_000;

/// The rounds of a group, and the state of the current one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// Number of rounds after the current one; `None` for unlimited.
    pub rounds_left: Option<u32>,
    /// Think time between two rounds.
    pub think: Duration,
    /// Number of arrived blocks of the current round, and start of the first of them.
    pub arrived: u32,
    pub round_start: Option<Time>,
    /// Duration of the counted rounds.
    pub took: Histogram,
    pub list: Vec<Round>,
}

impl Rounds {
    /// Returns the initial state; `None` rounds are unlimited.
    pub fn new(rounds: Option<u32>, think: Duration) -> Self {
        Self { rounds_left: rounds.map(|rounds| rounds.saturating_sub(1)), think, ..Self::default() }
    }

    /// Records the arrival of a block that started at `began`, one of `flows`. Returns the round if the block completes
    /// it.
    pub fn arrive(&mut self, began: Time, now: Time, flows: u32) -> Option<Round> {
        let first = self.round_start.map_or(began, |first| first.min(began));
        self.round_start = Some(first);
        self.arrived += 1;
        if self.arrived < flows {
            return None;
        }
        (self.arrived, self.round_start) = (0, None);
        Some(Round { start: first, end: now })
    }

    /// Counts a round.
    pub fn count(&mut self, round: Round) {
        self.took.record(round.end.since(round.start));
        if self.list.len() < MAX_ROUNDS {
            self.list.push(round);
        }
    }

    /// Returns the start of the next round after one that ended now, if there is another.
    pub fn next(&mut self, now: Time) -> Option<Time> {
        match &mut self.rounds_left {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        Some(now + self.think)
    }

    /// Adds another partition's measurements.
    pub fn add(&mut self, other: &Self) {
        self.took.merge(&other.took);
        self.list.extend_from_slice(&other.list);
    }
}
