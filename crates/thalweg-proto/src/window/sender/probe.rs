//! Tail loss probes (RFC 8985, section 7).
//!
//! When nothing is heard for two round trips, the last segment goes again, or a new one where there is one: what the receiver
//! answers tells whether the end of a burst was lost, long before the retransmission timer would expire, and without its
//! collapse of the window.
//!
//! # Differences from the specification
//!
//! | RFC 8985 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | whether a probe repaired a loss is guessed by whether a DSACK comes before anything newer is acknowledged (section 7.4.2) | the receiver says so ([`Arrival`](crate::window::Arrival)); guessed where that was lost | it knows | fewer wrong guesses |
//! | the answer to a single segment may be delayed by 200 ms (section 7.2) | by as much as the receiver is configured to | both ends have one configuration | earlier probes |

use super::Sender;
use crate::congestion::{Controller, LossKind, LossSample};
use crate::digest::{feed, until};
use crate::payload::{Payload, Queue};
use crate::transport::Signal;
use crate::units::{Duration, Time};
use crate::window::{Ack, Arrival, Segment};
use core::hash::Hasher;

/// The time until a probe before any round trip was measured (section 7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

/// A probe, under way or to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// The time at which a probe leaves, if nothing is heard until then.
    at: Time,
    /// The one that is under way.
    flight: Option<Flight>,
}

/// A probe that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flight {
    start: u64,
    /// All sent so far ends here (TLP.end_seq).
    end: u64,
    /// It carries what was sent before (TLP.is_retrans).
    again: bool,
}

impl TailProbe {
    pub fn new() -> Self {
        Self { at: Time::MAX, flight: None }
    }

    /// The time at which a probe leaves.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Forgets the probe that is due or under way: it will not be waited for.
    pub fn forget(&mut self) {
        *self = Self::new();
    }

    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        feed(into, (until(self.at, now), self.flight));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Something left or was heard: a probe leaves so much later (section 7.2).
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time) {
        if self.extensions.is_some() {
            self.put_probe_off(now);
        }
    }

    #[inline(never)]
    fn put_probe_off(&mut self, now: Time) {
        let Some(config) = self.rack().map(|rack| rack.config).filter(|config| config.tail_probe) else {
            return;
        };
        let wanted = self.is_open()
            && !self.scoreboard.is_empty()
            && self.scoreboard.sacked() == 0
            && !self.is_refused();
        let (flight, smoothed) = (self.scoreboard.len(), self.rtt.smoothed());
        let timer = self.timer;
        let Some(rack) = self.rack() else { return };
        rack.probe.at = Time::MAX;
        if wanted && rack.probe.flight.is_none() {
            let answer = if flight == 1 { config.max_ack_delay } else { Duration::ZERO };
            let wait = if smoothed.is_zero() { UNMEASURED } else { smoothed * 2 + answer };
            rack.probe.at = (now + wait).min(timer);
        }
    }

    /// The probe that is due at `now`, if one can leave (section 7.3).
    pub(super) fn probe_tail(&mut self, now: Time) -> Option<Segment<P>> {
        let rack = self.rack()?;
        if now < rack.probe.at {
            return None;
        }
        rack.probe.at = Time::MAX;
        if self.pause.holds() {
            return None;
        }
        let new = (!self.queue.is_empty()).then(|| self.new_length()).flatten();
        let segment = match new {
            Some(length) => self.send_new(now, length)?,
            None => self.resend_last(now)?,
        };
        let flight = Flight { start: segment.sequence, end: self.next, again: segment.retransmission };
        self.timer = now + self.rtt.timeout();
        if let Some(rack) = self.rack() {
            (rack.probe.at, rack.probe.flight) = (Time::MAX, Some(flight));
        }
        Some(segment)
    }

    /// Takes from an acknowledgement what it says of the probe that is under way (section 7.4.2).
    pub(super) fn answer_probe(&mut self, now: Time, ack: &Ack) {
        let Some(rack) = self.rack() else { return };
        let Some(flight) = rack.probe.flight.filter(|flight| ack.cumulative >= flight.end) else { return };
        rack.probe.flight = None;
        let repaired = match ack.arrival {
            Arrival::Repair if ack.arrival_start() == flight.start => true,
            Arrival::Needless | Arrival::Late if ack.arrival_start() == flight.start => false,
            _ => ack.cumulative > flight.end,
        };
        if !flight.again || !repaired || !self.is_open() || !self.cuts_for_loss() {
            return;
        }
        // A loss, and repaired already: the window answers as to any other.
        self.signal = Some(Signal::Duplicates);
        self.recoveries = self.recoveries.saturating_add(1);
        let mut path = self.path(now);
        path.outstanding = path.outstanding.max(1);
        let kind = LossKind::Duplicates;
        self.controller.on_loss(&LossSample { path, kind, sent_at: now, repeated: false });
    }
}
