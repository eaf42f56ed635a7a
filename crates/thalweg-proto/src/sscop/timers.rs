//! The five timers of an SSCOP connection.

use crate::state_digest::{hash_all, time_until};
use crate::units::{Duration, Time};
use core::hash::Hasher;

/// A timer (Q.2110, clause 7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// `Timer_CC`: retransmission of BGN, END, RS or ER.
    Cc,
    /// `Timer_POLL`: next POLL while data is outstanding.
    Poll,
    /// `Timer_KEEP-ALIVE`: next POLL while no data is outstanding, until the peer answers.
    KeepAlive,
    /// `Timer_IDLE`: start of the next keep-alive phase.
    Idle,
    /// `Timer_NO-RESPONSE`: timeout of a silent peer.
    NoResponse,
}

impl Timer {
    /// All timers.
    pub const ALL: [Self; 5] = [Self::Cc, Self::Poll, Self::KeepAlive, Self::Idle, Self::NoResponse];
}

/// Expiry times of the timers; `None` for a stopped timer.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers([Option<Time>; 5]);

impl Timers {
    /// Starts or restarts a timer.
    pub fn start(&mut self, timer: Timer, now: Time, span: Duration) {
        self.0[timer as usize] = Some(now + span);
    }

    pub fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = None;
    }

    pub fn is_running(&self, timer: Timer) -> bool {
        self.0[timer as usize].is_some()
    }

    /// Feeds `into` with the remaining time of each timer.
    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(into, self.0.map(|at| at.map(|at| time_until(at, now))));
    }

    /// Returns the next timer to expire, and its expiry time.
    pub fn next(&self) -> Option<(Time, Timer)> {
        let (mut first, mut earliest) = (None, Time::MAX);
        for timer in Timer::ALL {
            // Among simultaneous expiries, the first of the list wins.
            if let Some(at) = self.0[timer as usize]
                && (first.is_none() || at < earliest)
            {
                (first, earliest) = (Some(timer), at);
            }
        }
        first.map(|timer| (earliest, timer))
    }
}
