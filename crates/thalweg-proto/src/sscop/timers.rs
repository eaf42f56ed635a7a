//! The five timers.

use crate::digest::{feed, until};
use crate::units::{Duration, Time};
use core::hash::Hasher;

/// A timer (Q.2110, clause 7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Repeat a BGN, END, RS or ER: `Timer_CC`.
    Cc,
    /// Poll while data is under way: `Timer_POLL`.
    Poll,
    /// Poll while none is, until the peer has answered: `Timer_KEEP-ALIVE`.
    KeepAlive,
    /// Begin to poll again: `Timer_IDLE`.
    Idle,
    /// The peer is gone: `Timer_NO-RESPONSE`.
    NoResponse,
}

impl Timer {
    /// Every timer.
    pub const ALL: [Self; 5] = [Self::Cc, Self::Poll, Self::KeepAlive, Self::Idle, Self::NoResponse];
}

/// The times at which timers expire; `None` for one that does not run.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers([Option<Time>; 5]);

impl Timers {
    /// Starts a timer, or starts it again.
    pub fn start(&mut self, timer: Timer, now: Time, span: Duration) {
        self.0[timer as usize] = Some(now + span);
    }

    pub fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = None;
    }

    pub fn is_running(&self, timer: Timer) -> bool {
        self.0[timer as usize].is_some()
    }

    /// Feeds `into` with how long each timer still runs.
    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        feed(into, self.0.map(|at| at.map(|at| until(at, now))));
    }

    /// The timer that expires first, and when.
    pub fn next(&self) -> Option<(Time, Timer)> {
        let (mut first, mut earliest) = (None, Time::MAX);
        for timer in Timer::ALL {
            // Of several at one time the first of the list.
            if let Some(at) = self.0[timer as usize]
                && (first.is_none() || at < earliest)
            {
                (first, earliest) = (Some(timer), at);
            }
        }
        first.map(|timer| (earliest, timer))
    }
}
