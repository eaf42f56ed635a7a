//! Ageing: the ranks of flows that move up while they wait.

use super::{AfterService, Ageing, LOWEST};
use crate::units::Time;

/// A flow's priority, and what it has become by waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    own: u8,
    now: u8,
    /// The time since which the flow waits or at which it was last moved up; `None` while it may send.
    waits_since: Option<Time>,
    /// The time at which the flow was last let go on.
    runs_since: Time,
}

impl Rank {
    pub(super) fn new(priority: u8) -> Self {
        let own = priority.clamp(1, LOWEST);
        Self { own, now: own, waits_since: None, runs_since: Time::ZERO }
    }

    /// Its priority as it stands.
    pub(super) const fn level(&self) -> u8 {
        self.now
    }

    /// True if it stands higher than by its own priority.
    pub(super) const fn is_raised(&self) -> bool {
        self.now < self.own
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.waits_since.is_some()
    }

    pub(super) fn wait(&mut self, now: Time) {
        self.waits_since.get_or_insert(now);
    }

    pub(super) const fn go_on(&mut self, now: Time) {
        self.waits_since = None;
        self.runs_since = now;
    }

    /// True if it stands higher than by its own priority and has been served since `time`.
    pub(super) fn is_raised_since(&self, time: Time) -> bool {
        self.is_raised() && !self.is_waiting() && self.runs_since <= time
    }

    /// It has been served.
    pub(super) fn served(&mut self, ageing: &Ageing) {
        match ageing.then {
            AfterService::FallsBack => self.now = self.own,
            AfterService::Stays => self.own = self.now,
        }
    }

    /// The time at which the flow moves up next, if it waits and can.
    pub(super) fn moves_up_at(&self, ageing: &Ageing) -> Option<Time> {
        let (after, since) = (ageing.after?, self.waits_since?);
        (self.now > 1).then(|| since + after)
    }

    /// Moves up for all the time that it has waited; true if it did.
    pub(super) fn age(&mut self, now: Time, ageing: &Ageing) -> bool {
        let before = self.now;
        while let Some(at) = self.moves_up_at(ageing).filter(|&at| at <= now && at < Time::MAX) {
            self.now -= 1;
            self.waits_since = Some(at);
        }
        self.now < before
    }
}
