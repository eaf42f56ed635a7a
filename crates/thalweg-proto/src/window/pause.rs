//! The state of a sender that a gate may hold.

use super::PauseConfig;
use crate::digest::{Digest, feed};
use crate::units::Time;
use core::hash::Hasher;

/// The state of the gate, and what it means for the sender's retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    config: PauseConfig,
    is_on: bool,
    /// The time at which the timer stopped or was last started anew, while it stands still.
    since: Time,
    /// The pause is over, but nothing is sent until something is heard.
    waits: bool,
}

impl Pause {
    pub(super) const fn new(config: PauseConfig) -> Self {
        Self { config, is_on: false, since: Time::ZERO, waits: false }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// True during a pause, and from its end until something is heard where the sender is to wait for that.
    pub(super) const fn holds(&self) -> bool {
        self.is_on | self.waits
    }

    /// False while the retransmission timer stands still.
    pub(super) const fn timer_runs(&self) -> bool {
        !(self.is_on && self.config.freezes_timer)
    }

    pub(super) const fn begin(&mut self, now: Time) {
        if !self.is_on {
            self.is_on = true;
            self.since = now;
        }
    }

    /// The pause is over, with or without data on the way; gives the time to which the timer is set.
    pub(super) fn end(&mut self, now: Time, timer: Time, is_outstanding: bool) -> Time {
        if !self.is_on {
            return timer;
        }
        let stood_still = !self.timer_runs() && timer < Time::MAX;
        self.is_on = false;
        self.waits = self.config.waits_for_timer && is_outstanding;
        if stood_still { timer + now.since(self.since) } else { timer }
    }

    /// The timer was started anew.
    pub(super) const fn restart(&mut self, now: Time) {
        self.since = now;
    }

    /// An acknowledgement came, or the timer expired.
    pub(super) const fn hear(&mut self) {
        self.waits = false;
    }
}

impl Digest for Pause {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self { config: _, is_on, since, waits } = self;
        // While the timer runs, when it was started anew says nothing.
        feed(into, (is_on, waits, (!self.timer_runs()).then(|| now.since(*since))));
    }
}
