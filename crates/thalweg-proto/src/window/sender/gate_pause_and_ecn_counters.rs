//! Pause state and ECN counters of a sender, allocated on first use.

use super::super::gate_pause::Pause;
use super::Sender;
use super::ecn::Marks;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::units::Time;
use crate::window::PauseConfig;

#[derive(Clone, Debug)]
pub(super) struct PauseAndMarks {
    pub pause: Pause,
    pub marks: Marks,
}

impl PauseAndMarks {
    /// Creates the initial state.
    pub fn new(config: PauseConfig) -> Self {
        Self { pause: Pause::new(config), marks: Marks::default() }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Returns the state, allocated if needed.
    pub(super) fn pause_and_marks(&mut self) -> &mut PauseAndMarks {
        let config = self.config.pause;
        self.pause_and_marks.get_or_insert_with(|| Box::new(PauseAndMarks::new(config)))
    }

    #[inline(always)]
    fn pause(&self) -> Option<&Pause> {
        self.pause_and_marks.as_deref().map(|pause_and_marks| &pause_and_marks.pause)
    }

    /// Returns true during a pause; see [`Pause::is_on`].
    #[inline(always)]
    pub(super) fn is_paused(&self) -> bool {
        self.pause().is_some_and(Pause::is_on)
    }

    /// Returns true while the pause holds data back; see [`Pause::holds`].
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        self.pause().is_some_and(Pause::holds)
    }

    /// Returns true while arriving acknowledgements are dropped; see [`Pause::drops_acks`].
    #[inline(always)]
    pub(super) fn drops_acks(&self) -> bool {
        self.pause().is_some_and(Pause::drops_acks)
    }

    /// Returns false while the retransmission timer is stopped; see [`Pause::timer_runs`].
    #[inline(always)]
    pub(super) fn timer_runs(&self) -> bool {
        self.pause().is_none_or(Pause::timer_runs)
    }

    /// Ends the wait after a pause; see [`Pause::end_wait`].
    #[inline(always)]
    pub(super) fn end_wait(&mut self) {
        if let Some(pause_and_marks) = &mut self.pause_and_marks {
            pause_and_marks.pause.end_wait();
        }
    }

    /// Records a restart of the timer; see [`Pause::restart`].
    #[inline(always)]
    pub(super) fn restart(&mut self, now: Time) {
        if let Some(pause_and_marks) = &mut self.pause_and_marks {
            pause_and_marks.pause.restart(now);
        }
    }

    /// Returns the reported CE count; see [`Marks::reported`].
    #[inline(always)]
    pub(super) fn reported(&self) -> u16 {
        self.pause_and_marks.as_deref().map_or(0, |pause_and_marks| pause_and_marks.marks.reported())
    }
}
