//! Ageing: raises the priority of waiting flows.

use super::{AfterService, Ageing, LOWEST_PRIORITY};
use crate::units::Time;

/// A flow's own priority and its priority after ageing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    base: u8,
    now: u8,
    /// Start of the wait, or time of the last raise; `None` while the flow may send.
    waits_since: Option<Time>,
    /// Time of the flow's last resumption.
    runs_since: Time,
}

impl Rank {
    pub(super) fn new(priority: u8) -> Self {
        let base = priority.clamp(1, LOWEST_PRIORITY);
        Self { base, now: base, waits_since: None, runs_since: Time::ZERO }
    }

    /// Returns the current priority.
    pub(super) const fn level(&self) -> u8 {
        self.now
    }

    /// Returns true if the current priority is above the flow's own.
    pub(super) const fn is_raised(&self) -> bool {
        self.now < self.base
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.waits_since.is_some()
    }

    pub(super) fn wait(&mut self, now: Time) {
        self.waits_since.get_or_insert(now);
    }

    pub(super) const fn resume(&mut self, now: Time) {
        self.waits_since = None;
        self.runs_since = now;
    }

    /// Returns true if the current priority is above the flow's own and the flow has been served since `time`.
    pub(super) fn is_raised_since(&self, time: Time) -> bool {
        self.is_raised() && !self.is_waiting() && self.runs_since <= time
    }

    /// Records that the flow has been served.
    pub(super) fn on_service(&mut self, ageing: &Ageing) {
        match ageing.then {
            AfterService::FallsBack => self.now = self.base,
            AfterService::Stays => self.base = self.now,
        }
    }

    /// Returns the time of the next raise, if the flow waits and can be raised.
    pub(super) fn moves_up_at(&self, ageing: &Ageing) -> Option<Time> {
        let (after, since) = (ageing.after?, self.waits_since?);
        // Yang and Fu 2001, section 3.5: too short a time raises all flows to the highest priority.
        (self.now > 1).then(|| since + after)
    }

    /// Applies all raises due by `now`; returns true if there were any.
    pub(super) fn age(&mut self, now: Time, ageing: &Ageing) -> bool {
        let before = self.now;
        while let Some(at) = self.moves_up_at(ageing).filter(|&at| at <= now && at < Time::MAX) {
            self.now -= 1;
            self.waits_since = Some(at);
        }
        self.now < before
    }
}
