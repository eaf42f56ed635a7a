//! Retransmission timer of the handshake.

use super::{Config, Reason};
use crate::engine_contract::Output;
use crate::units::{Duration, Time};

/// A timeout that doubles (RFC 6298, section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    timeout: Duration,
    /// Expiry time; [`Time::MAX`] while the timer is off.
    pub expiry: Time,
    /// Number of retransmissions.
    pub repeats: u32,
}

impl Backoff {
    pub fn new(config: &Config) -> Self {
        Self { timeout: at_least_a_tick(config.initial), expiry: Time::MAX, repeats: 0 }
    }

    /// Starts the timer for a first transmission.
    pub fn start(&mut self, now: Time) {
        (self.expiry, self.repeats) = (now + self.timeout, 0);
    }

    /// Restarts the timer, with back-off, for a retransmission.
    pub fn repeat(&mut self, now: Time, config: &Config) {
        self.timeout = at_least_a_tick((self.timeout * 2).min(config.ceiling));
        self.expiry = now + self.timeout;
        self.repeats = self.repeats.saturating_add(1);
    }

    /// Stops the timer after an answer, with `rtt` where known. A first measurement sets the timeout to the round trip
    /// plus four times its half (RFC 6298, section 2.2).
    pub fn stop(&mut self, rtt: Option<Duration>, config: &Config) {
        let timeout = rtt.map_or(config.initial, |rtt| (rtt * 3).max(config.floor).min(config.ceiling));
        *self = Self { timeout: at_least_a_tick(timeout), expiry: Time::MAX, repeats: 0 };
    }

    /// Returns the earlier of an engine's `timeout` and this timer, or idle.
    pub fn or_earlier<U, V, R>(&self, timeout: Option<(Time, R)>) -> Output<U, V, Reason<R>> {
        match timeout {
            Some((at, reason)) if at <= self.expiry => Output::Timeout { at, reason: Reason::Engine(reason) },
            _ if self.expiry < Time::MAX => Output::Timeout { at: self.expiry, reason: Reason::Handshake },
            _ => Output::Idle,
        }
    }
}

/// Raises a zero timeout to one tick: a new timer is never due at once.
fn at_least_a_tick(timeout: Duration) -> Duration {
    timeout.max(Duration::from_picos(1))
}
