//! Pause state and ECN counters of a sender, allocated on first use.

use super::super::pause::Pause;
use super::Sender;
use super::marks::Marks;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::units::Time;
use crate::window::PauseConfig;

#[derive(Clone, Debug)]
pub(super) struct Told {
    pub pause: Pause,
    pub marks: Marks,
}

impl Told {
    /// Creates the initial state.
    pub fn new(config: PauseConfig) -> Self {
        Self { pause: Pause::new(config), marks: Marks::default() }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Returns the state, allocated if needed.
    pub(super) fn told(&mut self) -> &mut Told {
        let config = self.config.pause;
        self.told.get_or_insert_with(|| Box::new(Told::new(config)))
    }

    #[inline(always)]
    fn pause(&self) -> Option<&Pause> {
        self.told.as_deref().map(|told| &told.pause)
    }

    /// [`Pause::is_on`]
    #[inline(always)]
    pub(super) fn is_paused(&self) -> bool {
        self.pause().is_some_and(Pause::is_on)
    }

    /// [`Pause::holds`]
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        self.pause().is_some_and(Pause::holds)
    }

    /// [`Pause::timer_runs`]
    #[inline(always)]
    pub(super) fn timer_runs(&self) -> bool {
        self.pause().is_none_or(Pause::timer_runs)
    }

    /// [`Pause::hear`]
    #[inline(always)]
    pub(super) fn hear(&mut self) {
        if let Some(told) = &mut self.told {
            told.pause.hear();
        }
    }

    /// [`Pause::restart`]
    #[inline(always)]
    pub(super) fn restart(&mut self, now: Time) {
        if let Some(told) = &mut self.told {
            told.pause.restart(now);
        }
    }

    /// [`Marks::reported`]
    #[inline(always)]
    pub(super) fn reported(&self) -> u16 {
        self.told.as_deref().map_or(0, |told| told.marks.reported())
    }
}
