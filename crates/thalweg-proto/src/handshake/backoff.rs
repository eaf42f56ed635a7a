//! The timer of the packets of a handshake.

use super::{Config, Reason};
use crate::engine::Output;
use crate::units::{Duration, Time};

/// A time-out that doubles (RFC 6298, section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    timeout: Duration,
    /// The time at which it expires; [`Time::MAX`] while nothing is waited for.
    pub at: Time,
    /// The number of times that what is waited for was asked for again.
    pub repeats: u32,
}

impl Backoff {
    pub fn new(config: &Config) -> Self {
        Self { timeout: at_least_a_tick(config.initial), at: Time::MAX, repeats: 0 }
    }

    /// Something was sent for the first time.
    pub fn start(&mut self, now: Time) {
        (self.at, self.repeats) = (now + self.timeout, 0);
    }

    /// Something is sent again.
    pub fn repeat(&mut self, now: Time, config: &Config) {
        self.timeout = at_least_a_tick((self.timeout * 2).min(config.ceiling));
        self.at = now + self.timeout;
        self.repeats = self.repeats.saturating_add(1);
    }

    /// An answer has come, after `rtt` where that is known. A first measurement makes a time-out of
    /// the round trip and four times its half (RFC 6298, section 2.2).
    pub fn stop(&mut self, rtt: Option<Duration>, config: &Config) {
        let timeout = rtt.map_or(config.initial, |rtt| (rtt * 3).max(config.floor).min(config.ceiling));
        *self = Self { timeout: at_least_a_tick(timeout), at: Time::MAX, repeats: 0 };
    }

    /// The end of a poll in which nothing came out: waiting for an engine's `timeout`, or for this timer if that is sooner.
    pub fn or_sooner<U, V, R>(&self, timeout: Option<(Time, R)>) -> Output<U, V, Reason<R>> {
        match timeout {
            Some((at, reason)) if at <= self.at => Output::Timeout { at, reason: Reason::Engine(reason) },
            _ if self.at < Time::MAX => Output::Timeout { at: self.at, reason: Reason::Handshake },
            _ => Output::Idle,
        }
    }
}

/// A timer is not due when it is set, whatever the configuration.
fn at_least_a_tick(timeout: Duration) -> Duration {
    timeout.max(Duration::from_picos(1))
}
