//! Congestion-window validation: what becomes of a window that the application does not use (RFC 2861; RFC 7661, which took its
//! place).
//!
//! A window says what the path takes only as long as it is used. By RFC 2861 an unused one decays towards what is used. By RFC
//! 7661 it is kept for five minutes, so that an application which sends by fits and starts goes on where it was, while losses cut
//! what was used of it, not what was allowed.
//!
//! # Differences from the specifications
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | RFC 2861, section 3: a window decays to one segment | to the one that it began with | RFC 5681, section 4.1, and RFC 7661, section 4.4.3 | as Linux |
//! | RFC 7661, section 4.2: the greatest sample of the last three round trips, at least of a second | of that time and up to a quarter more | a few maxima in place of all samples, as in section 4.5.1 | a window counts as used a little longer |
//! | RFC 7661, section 4.4.1: what is sent again is taken off once, however often it is | as often as it is sent | the count that there is | smaller where repairs are lost |
//! | RFC 7661, section 4.4.1: half of what was used is left by a loss | the controller's share of it | CUBIC leaves 0.7 | as the controller answers any loss |
//! | RFC 7661, section 4.4.2: bursts are to be bounded in this phase | by the controller, where it paces | window schemes have no pacing of their own | bursts of up to a window after a silence, as without |

use super::Sender;
use crate::congestion::{Controller, Path};
use crate::digest::feed;
use crate::payload::{Payload, Queue};
use crate::units::{Duration, Time};
use crate::window::Validation;
use core::hash::Hasher;

/// A window that is not used is kept for so long (NVP, RFC 7661, section 4.4).
const NONVALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Samples count for three round trips, and for this at least (RFC 7661, section 4.2).
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// The parts of that time, and the one that is being filled.
const PARTS: usize = 5;

/// The use that the application makes of the window.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// The window at the start, in segments: none is made smaller than that.
    initial: f64,
    rule: Rule,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    Decay(Decay),
    PipeAck(PipeAck),
}

/// RFC 2861, section 3.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// The window was full then, or was made smaller (`T_prev`).
    since: Time,
    /// The most that was outstanding since, in segments (`W_used`).
    used: u32,
}

/// RFC 7661, section 4.
#[derive(Clone, Copy, Debug, Default)]
struct PipeAck {
    /// The greatest volumes that were acknowledged in a round trip, of the parts of the sampling period, in bytes.
    greatest: [u64; PARTS],
    /// The time at which the part that is first began.
    part_began: Time,
    /// There is a sample since the start or since losses were repaired.
    is_defined: bool,
    /// The round trip ends when the byte of this number is acknowledged.
    round_end: u64,
    /// The bytes that were acknowledged in it.
    delivered: u64,
    /// The window has not been used since then (the nonvalidated phase).
    unused_since: Option<Time>,
    /// A loss that cut an unused window is being repaired.
    cut: Option<Cut>,
}

/// A cut of an unused window.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The larger of what was used and what was outstanding (LossFlightSize), in segments.
    most: f64,
    /// The segments sent again before.
    retransmissions: u64,
}

impl PipeAck {
    /// The greatest sample that counts (`pipeACK`), in bytes.
    fn get(&self) -> u64 {
        self.greatest.iter().copied().max().unwrap_or(0)
    }

    /// Forgets the parts of the sampling period, of which each has this length, that are over.
    fn advance(&mut self, now: Time, part: Duration) {
        for _ in 0..PARTS {
            if now.since(self.part_began) < part {
                return;
            }
            self.greatest.rotate_right(1);
            self.greatest[0] = 0;
            self.part_began += part;
        }
        self.part_began = now;
    }

    /// An acknowledgement of so many bytes, all below `unacknowledged` cumulatively; what is sent next begins at `next`.
    fn on_ack(&mut self, bytes: u64, unacknowledged: u64, next: u64) {
        self.delivered += bytes;
        if unacknowledged > self.round_end {
            self.greatest[0] = self.greatest[0].max(self.delivered);
            self.is_defined = true;
            (self.delivered, self.round_end) = (0, next);
        }
    }

    /// Nothing is known of the use of the window.
    fn reset(&mut self) {
        *self = Self { round_end: self.round_end, part_began: self.part_began, ..Self::default() };
    }
}

impl Use {
    /// Of a window that begins with `initial` segments.
    pub fn new(validation: Validation, initial: f64) -> Self {
        let rule = match validation {
            Validation::Decay => Rule::Decay(Decay { since: Time::ZERO, used: 0 }),
            Validation::PipeAck => Rule::PipeAck(PipeAck::default()),
        };
        Self { initial, rule }
    }

    /// The path is another, and so is the window.
    pub fn renew(&mut self, now: Time) {
        match &mut self.rule {
            Rule::Decay(decay) => *decay = Decay { since: now, used: 0 },
            Rule::PipeAck(pipe) => pipe.reset(),
        }
    }

    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        match &self.rule {
            Rule::Decay(Decay { since, used }) => feed(into, (now.since(*since), used)),
            Rule::PipeAck(pipe) => {
                let PipeAck { greatest, part_began, is_defined, round_end, delivered, unused_since, cut } =
                    pipe;
                feed(into, (greatest, now.since(*part_began), is_defined, round_end, delivered));
                feed(into, unused_since.map(|at| now.since(at)));
                feed(into, cut.map(|cut| (cut.most.to_bits(), cut.retransmissions)));
            }
        }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn rule(&mut self) -> Option<&mut Rule> {
        Some(&mut self.extensions.as_deref_mut()?.window_use.as_mut()?.rule)
    }

    /// The window falls to so many segments, but not below the first one.
    fn shrink_to(&mut self, window: f64, path: &Path) {
        let initial = self.extensions.as_deref().and_then(|extensions| extensions.window_use.as_ref());
        let initial = initial.map_or(1.0, |window_use| window_use.initial);
        if window.max(initial) < self.controller.decision().window {
            self.controller.on_unused(window.max(initial), path);
        }
    }

    /// New data is about to leave after nothing was outstanding, and nothing was sent for more than the retransmission time-out.
    #[cold]
    #[inline(never)]
    pub(super) fn end_idleness(&mut self, now: Time) {
        let (path, idle) = (self.path(now), now.since(self.last_sent));
        let (window, timeout) = (self.controller.decision().window, self.rtt.timeout());
        let restarts = self.config.idle_restart;
        match self.rule() {
            Some(Rule::Decay(decay)) => {
                // RFC 2861, section 3: half of it for each time-out that has passed.
                *decay = Decay { since: now, used: 0 };
                let halvings = (idle.as_picos() / timeout.as_picos().max(1)).min(64);
                self.shrink_to(window / (1u128 << halvings) as f64, &path);
            }
            Some(Rule::PipeAck(_)) => self.validate(now),
            None if restarts => self.controller.on_idle(&path),
            None => {}
        }
    }

    /// A segment has left: looks whether the application uses the window (RFC 2861, section 3).
    #[inline(never)]
    pub(super) fn note_sending(&mut self, now: Time) {
        let (outstanding, window) = (self.scoreboard.len(), self.controller.decision().window);
        let (timeout, is_last) = (self.rtt.timeout(), self.queue.is_empty());
        let Some(Rule::Decay(decay)) = self.rule() else { return };
        if f64::from(outstanding) >= window.floor() {
            *decay = Decay { since: now, used: 0 };
        } else if is_last {
            decay.used = decay.used.max(outstanding);
            if now.since(decay.since) >= timeout {
                let used = f64::from(decay.used);
                *decay = Decay { since: now, used: 0 };
                let path = self.path(now);
                self.shrink_to(f64::midpoint(window, used), &path);
            }
        }
    }

    /// An acknowledgement has told of so many bytes, and the controller knows.
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, now: Time, bytes: u64) {
        let (unacknowledged, next) = (self.unacknowledged, self.scoreboard.next());
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        pipe.on_ack(bytes, unacknowledged, next);
        self.validate(now);
    }

    /// Looks whether the window is used (RFC 7661, section 4.3), and makes one smaller that was not for long (section 4.4.3).
    fn validate(&mut self, now: Time) {
        let part = (self.rtt.smoothed() * 3).max(MIN_PERIOD) / (PARTS as u64 - 1);
        let window = self.controller.decision().window;
        let half = window * f64::from(self.config.segment) / 2.0;
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        pipe.advance(now, part);
        if !pipe.is_defined || pipe.get() as f64 >= half {
            pipe.unused_since = None;
            return;
        }
        let since = *pipe.unused_since.get_or_insert(now);
        if now.since(since) > NONVALIDATED_PERIOD {
            pipe.unused_since = Some(now);
            let path = self.path(now);
            self.shrink_to(window / 2.0, &path);
        }
    }

    /// A sign of congestion, of which the controller is about to be told: in the nonvalidated phase the window is first made as small
    /// as what was used of it (RFC 7661, section 4.4.1). Gives the path as the controller is to see it.
    #[inline(never)]
    pub(super) fn cut_to_use(&mut self, path: Path) -> Path {
        let (segment, retransmissions) = (u64::from(self.config.segment), self.retransmissions);
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return path };
        if pipe.unused_since.is_none() {
            pipe.cut = None;
            return path;
        }
        let used = u32::try_from(pipe.get().div_ceil(segment)).unwrap_or(u32::MAX);
        let path = Path { outstanding: path.outstanding.max(used), ..path };
        let most = f64::from(path.outstanding);
        pipe.cut = Some(Cut { most, retransmissions });
        if most < self.controller.decision().window {
            self.controller.on_unused(most.max(1.0), &path);
        }
        path
    }

    /// The last cut was undone.
    pub(super) fn forget_cut(&mut self) {
        if let Some(Rule::PipeAck(pipe)) = self.rule() {
            pipe.cut = None;
        }
    }

    /// Losses are repaired: the window of one that was cut unused makes room for what was lost, and what is used of it is to be learnt
    /// again (RFC 7661, section 4.4.1).
    #[inline(never)]
    pub(super) fn note_repaired(&mut self, now: Time) {
        let (window, retransmissions) = (self.controller.decision().window, self.retransmissions);
        let Some(Rule::PipeAck(pipe)) = self.rule() else { return };
        let cut = pipe.cut;
        pipe.reset();
        if let Some(cut) = cut {
            let again = (retransmissions - cut.retransmissions) as f64;
            let share = (1.0 - again / cut.most.max(1.0)).max(0.0);
            let path = self.path(now);
            self.controller.on_unused((window * share).max(1.0), &path);
        }
    }
}
