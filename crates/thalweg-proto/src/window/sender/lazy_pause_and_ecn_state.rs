//! State of gate pauses and of ECN, allocated on first use, as most senders need neither.

use super::super::gate_pause::Pause;
use super::Sender;
use super::ecn::Marks;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::units::Time;
use crate::window::PauseConfig;

#[derive(Clone, Debug)]
pub(super) struct PauseAndEcnState {
    pub pause: Pause,
    pub marks: Marks,
}

impl PauseAndEcnState {
    /// Creates the initial state.
    pub fn new(config: PauseConfig) -> Self {
        Self { pause: Pause::new(config), marks: Marks::default() }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Returns the state, allocated if needed.
    pub(super) fn pause_and_ecn(&mut self) -> &mut PauseAndEcnState {
        let config = self.config.pause;
        self.pause_and_ecn.get_or_insert_with(|| Box::new(PauseAndEcnState::new(config)))
    }

    #[inline(always)]
    fn pause(&self) -> Option<&Pause> {
        self.pause_and_ecn.as_deref().map(|pause_and_ecn| &pause_and_ecn.pause)
    }

    /// Returns true during a pause; see [`Pause::is_on`].
    #[inline(always)]
    pub(super) fn is_paused(&self) -> bool {
        self.pause().is_some_and(Pause::is_on)
    }

    /// Returns true while the pause holds data back; see [`Pause::holds_data_back`].
    #[inline(always)]
    pub(super) fn holds_data_back(&self) -> bool {
        self.pause().is_some_and(Pause::holds_data_back)
    }

    /// Returns true while arriving acknowledgements are dropped; see [`Pause::drops_acks`].
    #[inline(always)]
    pub(super) fn drops_acks(&self) -> bool {
        self.pause().is_some_and(Pause::drops_acks)
    }

    /// Returns false while the retransmission timer is stopped; see [`Pause::retransmission_timer_runs`].
    #[inline(always)]
    pub(super) fn retransmission_timer_runs(&self) -> bool {
        self.pause().is_none_or(Pause::retransmission_timer_runs)
    }

    /// Ends the wait after a pause; see [`Pause::end_wait`].
    #[inline(always)]
    pub(super) fn end_wait(&mut self) {
        if let Some(pause_and_ecn) = &mut self.pause_and_ecn {
            pause_and_ecn.pause.end_wait();
        }
    }

    /// Records a restart of the timer; see [`Pause::note_timer_restart`].
    #[inline(always)]
    pub(super) fn note_timer_restart(&mut self, now: Time) {
        if let Some(pause_and_ecn) = &mut self.pause_and_ecn {
            pause_and_ecn.pause.note_timer_restart(now);
        }
    }

    /// Returns the reported CE count; see [`Marks::reported_ce_count`].
    #[inline(always)]
    pub(super) fn reported_ce_count(&self) -> u16 {
        self.pause_and_ecn.as_deref().map_or(0, |pause_and_ecn| pause_and_ecn.marks.reported_ce_count())
    }
}
