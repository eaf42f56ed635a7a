//! Pause state of a sender behind a gate.

use super::PauseConfig;
use crate::state_digest::{Digest, hash_all};
use crate::units::Time;
use core::hash::Hasher;

/// Pause state and its effect on the retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    config: PauseConfig,
    is_on: bool,
    /// Stop time of the timer, or its last restart, while it is stopped.
    stopped_at: Time,
    /// The pause is over, but the sender waits for the next acknowledgement or timer expiry.
    waits: bool,
}

impl Pause {
    pub(super) const fn new(config: PauseConfig) -> Self {
        Self { config, is_on: false, stopped_at: Time::ZERO, waits: false }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns true during a pause, and after it while the sender waits for an answer.
    pub(super) const fn holds_data_back(&self) -> bool {
        self.is_on | self.waits
    }

    /// Returns false while the retransmission timer is stopped.
    pub(super) const fn retransmission_timer_runs(&self) -> bool {
        !(self.is_on && self.config.freezes_timer)
    }

    /// Returns true while arriving acknowledgements are dropped.
    pub(super) const fn drops_acks(&self) -> bool {
        self.is_on && self.config.drops_acks
    }

    pub(super) const fn begin(&mut self, now: Time) {
        if !self.is_on {
            self.is_on = true;
            self.stopped_at = now;
        }
    }

    /// Ends the pause, with or without outstanding data; returns the new expiry time of the timer.
    pub(super) fn end(&mut self, now: Time, timer: Time, is_outstanding: bool) -> Time {
        if !self.is_on {
            return timer;
        }
        let timer_was_stopped = !self.retransmission_timer_runs() && timer < Time::MAX;
        self.is_on = false;
        self.waits = self.config.waits_for_timer && is_outstanding;
        if timer_was_stopped { timer + now.since(self.stopped_at) } else { timer }
    }

    /// Records a restart of the timer.
    pub(super) const fn note_timer_restart(&mut self, now: Time) {
        self.stopped_at = now;
    }

    /// Handles an acknowledgement or a timer expiry: ends the wait after a pause.
    pub(super) const fn end_wait(&mut self) {
        self.waits = false;
    }
}

impl Digest for Pause {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self { config: _, is_on, stopped_at, waits } = self;
        // The restart time matters only while the timer is stopped.
        hash_all(into, (is_on, waits, (!self.retransmission_timer_runs()).then(|| now.since(*stopped_at))));
    }
}
