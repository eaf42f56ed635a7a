//! Congestion-window validation: reduction of a window that the application does not use (RFC 2861, replaced by RFC
//! 7661).
//!
//! A window reflects the capacity of the path only while it is used. By RFC 2861 an unused window decays towards the
//! used part. By RFC 7661 it is kept for five minutes: an application with intermittent data resumes at its old rate,
//! while losses reduce the used part, not the allowance.
//!
//! # Differences from the specifications
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | RFC 2861, section 3: the window decays to one segment | to the initial window | RFC 5681, section 4.1, and RFC 7661, section 4.4.3 | as Linux |
//! | RFC 7661, section 4.2: the greatest sample of the last three round trips, at least of a second | of that time and up to a quarter more | a few maxima in place of all samples, as in section 4.5.1 | a window counts as used slightly longer |
//! | RFC 7661, section 4.4.1: each retransmitted segment is subtracted once | subtracted at each retransmission | only that counter exists | smaller where retransmissions are lost |
//! | RFC 7661, section 4.4.1: a loss leaves half of the used part | the controller's share of it | CUBIC leaves 0.7 | as the controller answers any loss |
//! | RFC 7661, section 4.4.2: bursts are to be bounded in this phase | by the controller, where it paces | window-based schemes do not pace | bursts of up to a window after a silence, as without validation |

use super::Sender;
use crate::congestion::{ConnectionState, Controller};
use crate::payload::Payload;
use crate::state_digest::hash_all;
use crate::units::{Duration, Time};
use crate::window::Validation;
use core::hash::Hasher;

/// Period for which an unused window is kept (NVP, RFC 7661, section 4.4).
const NONVALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Minimum lifetime of samples, otherwise three round trips (RFC 7661, section 4.2).
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// Number of parts of the sampling period, including the one being filled.
const PERIOD_PARTS: usize = 5;

/// The application's use of the window.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// Initial window in segments, and the minimum of any reduction.
    initial: f64,
    rule: Rule,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    Decay(Decay),
    PipeAck(PipeAck),
}

/// State of RFC 2861, section 3.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// Last time of a full or reduced window (`T_prev`).
    last_full: Time,
    /// Maximum flight since then, in segments (`W_used`).
    max_flight: u32,
}

/// State of RFC 7661, section 4.
#[derive(Clone, Copy, Debug, Default)]
struct PipeAck {
    /// Greatest volume acknowledged in a round trip, per part of the sampling period, in bytes.
    greatest: [u64; PERIOD_PARTS],
    /// Start of the first part.
    part_began: Time,
    /// True if there is a sample since the start or the last recovery.
    is_defined: bool,
    /// Byte whose acknowledgement ends the round trip.
    round_end: u64,
    /// Bytes acknowledged in the round trip.
    delivered: u64,
    /// Start of the nonvalidated phase, during which the window is not used.
    unused_since: Option<Time>,
    /// Reduction of an unused window whose recovery is in progress.
    unused_window_reduction: Option<WindowReduction>,
}

/// A reduction of an unused window.
#[derive(Clone, Copy, Debug)]
struct WindowReduction {
    /// Larger of the used and the outstanding volume (LossFlightSize), in segments.
    volume: f64,
    /// Number of retransmissions before it.
    retransmissions: u64,
}

impl PipeAck {
    /// Returns the greatest valid sample (`pipeACK`), in bytes.
    fn get(&self) -> u64 {
        self.greatest.iter().copied().max().unwrap_or(0)
    }

    /// Drops expired parts of the sampling period; each part lasts `part`.
    fn advance(&mut self, now: Time, part: Duration) {
        for _ in 0..PERIOD_PARTS {
            if now.since(self.part_began) < part {
                return;
            }
            self.greatest.rotate_right(1);
            self.greatest[0] = 0;
            self.part_began += part;
        }
        self.part_began = now;
    }

    /// Records an acknowledgement of `bytes` bytes; all below `unacknowledged` is cumulatively acknowledged, and new
    /// data begins at `next`.
    fn on_ack(&mut self, bytes: u64, unacknowledged: u64, next: u64) {
        self.delivered += bytes;
        // RFC 7661, section 4.2: one sample per round trip.
        if unacknowledged > self.round_end {
            self.greatest[0] = self.greatest[0].max(self.delivered);
            self.is_defined = true;
            (self.delivered, self.round_end) = (0, next);
        }
    }

    /// Resets the record of the window's use.
    fn reset(&mut self) {
        *self = Self { round_end: self.round_end, part_began: self.part_began, ..Self::default() };
    }
}

impl Use {
    /// Creates the state for an initial window of `initial` segments.
    pub fn new(validation: Validation, initial: f64) -> Self {
        let rule = match validation {
            Validation::Decay => Rule::Decay(Decay { last_full: Time::ZERO, max_flight: 0 }),
            Validation::PipeAck => Rule::PipeAck(PipeAck::default()),
        };
        Self { initial, rule }
    }

    /// Resets the state after a path change.
    pub fn on_path_change(&mut self, now: Time) {
        match &mut self.rule {
            Rule::Decay(decay) => *decay = Decay { last_full: now, max_flight: 0 },
            Rule::PipeAck(pipe) => pipe.reset(),
        }
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        match &self.rule {
            Rule::Decay(Decay { last_full: since, max_flight: used }) => {
                hash_all(into, (now.since(*since), used));
            }
            Rule::PipeAck(pipe) => {
                let PipeAck {
                    greatest,
                    part_began,
                    is_defined,
                    round_end,
                    delivered,
                    unused_since,
                    unused_window_reduction: reduction,
                } = pipe;
                hash_all(into, (greatest, now.since(*part_began), is_defined, round_end, delivered));
                hash_all(into, unused_since.map(|at| now.since(at)));
                hash_all(into, reduction.map(|cut| (cut.volume.to_bits(), cut.retransmissions)));
            }
        }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn rule(&mut self) -> Option<&mut Rule> {
        Some(&mut self.extensions.as_deref_mut()?.window_use.as_mut()?.rule)
    }

    /// Reduces the window to `window` segments, but not below the initial one.
    fn shrink_to(&mut self, window: f64, connection: &ConnectionState) {
        let initial = self.extensions.as_deref().and_then(|extensions| extensions.window_use.as_ref());
        let initial = initial.map_or(1.0, |window_use| window_use.initial);
        if window.max(initial) < self.controller.decision().window {
            self.controller.on_window_unused(window.max(initial), connection);
        }
    }

    /// Handles the transmission of new data after an idle period longer than the retransmission timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn end_idleness(&mut self, now: Time) {
        let (connection, idle) = (self.connection(now), now.since(self.pacer.last_sent()));
        let (window, timeout) = (self.controller.decision().window, self.rtt.timeout());
        let restarts = self.config.idle_restart;
        match self.rule() {
            Some(Rule::Decay(decay)) => {
                // RFC 2861, section 3: half of the window per elapsed timeout.
                *decay = Decay { last_full: now, max_flight: 0 };
                let halvings = (idle.as_picos() / timeout.as_picos().max(1)).min(64);
                self.shrink_to(window / (1u128 << halvings) as f64, &connection);
            }
            Some(Rule::PipeAck(_)) => self.validate(now),
            None if restarts => self.controller.on_idle(&connection),
            None => {}
        }
    }

    /// Checks after a transmission whether the application uses the window (RFC 2861, section 3).
    #[inline(never)]
    pub(super) fn note_sending(&mut self, now: Time) {
        let (outstanding, window) = (self.scoreboard.len(), self.controller.decision().window);
        let (timeout, is_last) = (self.rtt.timeout(), self.application.is_drained());
        let Some(Rule::Decay(decay)) = self.rule() else { return };
        // RFC 2861, section 3: a full window is validated, and the measurement of its use restarts.
        if f64::from(outstanding) >= window.floor() {
            *decay = Decay { last_full: now, max_flight: 0 };
        } else if is_last {
            decay.max_flight = decay.max_flight.max(outstanding);
            if now.since(decay.last_full) >= timeout {
                let used = f64::from(decay.max_flight);
                *decay = Decay { last_full: now, max_flight: 0 };
                let connection = self.connection(now);
                // RFC 2861, section 3: half-way to W_used, once per retransmission timeout.
                self.shrink_to(f64::midpoint(window, used), &connection);
            }
        }
    }

    /// Records an acknowledgement of `bytes` bytes, after the controller.
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, now: Time, bytes: u64) {
        let (unacknowledged, next) = (self.peer.unacknowledged(), self.scoreboard.next());
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        pipe.on_ack(bytes, unacknowledged, next);
        self.validate(now);
    }

    /// Checks whether the window is used (RFC 7661, section 4.3), and reduces one unused for the whole period (section
    /// 4.4.3).
    fn validate(&mut self, now: Time) {
        // The full parts cover the sampling period (section 4.2) while the last one fills.
        let part = (self.rtt.smoothed() * 3).max(MIN_PERIOD) / (PERIOD_PARTS as u64 - 1);
        let window = self.controller.decision().window;
        let half = window * f64::from(self.config.segment) / 2.0;
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        pipe.advance(now, part);
        // Section 4.3: validated while pipeACK is undefined or at least half of the window.
        if !pipe.is_defined || pipe.get() as f64 >= half {
            pipe.unused_since = None;
            return;
        }
        let since = *pipe.unused_since.get_or_insert(now);
        if now.since(since) > NONVALIDATED_PERIOD {
            // Section 4.4.3: half of the window. Another period must pass before the next reduction.
            pipe.unused_since = Some(now);
            let connection = self.connection(now);
            self.shrink_to(window / 2.0, &connection);
        }
    }

    /// Handles a sign of congestion before the controller: in the nonvalidated phase the window is first reduced to its
    /// used part (RFC 7661, section 4.4.1). Returns the connection's state for the controller.
    #[inline(never)]
    pub(super) fn limit_to_used_window(&mut self, connection: ConnectionState) -> ConnectionState {
        let (segment, retransmissions) = (u64::from(self.config.segment), self.counters.retransmissions());
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return connection };
        if pipe.unused_since.is_none() {
            pipe.unused_window_reduction = None;
            return connection;
        }
        // Section 4.4.1: the larger of pipeACK and LossFlightSize; the path never tested the rest.
        let used = u32::try_from(pipe.get().div_ceil(segment)).unwrap_or(u32::MAX);
        let connection = ConnectionState { outstanding: connection.outstanding.max(used), ..connection };
        let volume = f64::from(connection.outstanding);
        pipe.unused_window_reduction = Some(WindowReduction { volume, retransmissions });
        if volume < self.controller.decision().window {
            self.controller.on_window_unused(volume.max(1.0), &connection);
        }
        connection
    }

    /// Forgets the last reduction, which was undone.
    pub(super) fn forget_cut(&mut self) {
        if let Some(Rule::PipeAck(pipe)) = self.rule() {
            pipe.unused_window_reduction = None;
        }
    }

    /// Handles the end of recovery: an unused window that was reduced shrinks by the retransmitted volume, and its use
    /// is measured anew (RFC 7661, section 4.4.1).
    #[inline(never)]
    pub(super) fn on_recovery_end(&mut self, now: Time) {
        let (window, retransmissions) = (self.controller.decision().window, self.counters.retransmissions());
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        let reduction = pipe.unused_window_reduction;
        pipe.reset();
        if let Some(reduction) = reduction {
            let again = (retransmissions - reduction.retransmissions) as f64;
            let share = (1.0 - again / reduction.volume.max(1.0)).max(0.0);
            let connection = self.connection(now);
            self.controller.on_window_unused((window * share).max(1.0), &connection);
        }
    }
}
