//! Tail loss probes (RFC 8985, section 7).
//!
//! If nothing is received for two round trips, the sender transmits a new segment, or retransmits the last one. The
//! acknowledgement shows whether the end of a burst was lost, long before the retransmission timer would expire and
//! without the collapse of the window.
//!
//! # Differences from the specification
//!
//! | RFC 8985 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | guesses whether a probe repaired a loss by a DSACK that precedes any newer acknowledgement (section 7.4.2) | uses the receiver's report ([`Arrival`](crate::window::Arrival)), and guesses where that was lost | it knows | fewer wrong guesses |
//! | waits 1 s before the first round-trip measurement (section 7.2) | sends no probe then, as section 7.3 forbids it | the initial retransmission timeout is 1 s as well | none |
//! | new transmissions, and acknowledgements with new information, postpone a probe (section 7.2) | every acknowledgement postpones it | a window update shows that the peer is alive, too | later probes where windows are updated |
//! | the acknowledgement of a single segment may be delayed by 200 ms (section 7.2) | by the receiver's configured delay | both endpoints have one configuration | earlier probes |

use super::Sender;
use crate::congestion::{Controller, LossKind, LossSample};
use crate::payload::Payload;
use crate::state_digest::{hash_all, time_until};
use crate::transport::Signal;
use crate::units::{Duration, Time};
use crate::window::{Ack, Arrival, Segment};
use core::hash::Hasher;

/// A tail loss probe, scheduled or in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// Departure time of a probe, if nothing is received until then.
    departure: Time,
    /// A packet was sent or received since `departure` was computed.
    is_postponed: bool,
    /// Probe in flight.
    flight: Option<Flight>,
    /// True if a round trip was measured since the last probe.
    has_rtt_sample: bool,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flight {
    start: u64,
    /// End of all data sent (TLP.end_seq).
    end: u64,
    /// True for a retransmission (TLP.is_retrans).
    is_retransmission: bool,
}

impl TailProbe {
    pub fn new() -> Self {
        Self { departure: Time::MAX, is_postponed: false, flight: None, has_rtt_sample: false }
    }

    /// Records a round-trip measurement.
    pub fn note_measured(&mut self) {
        self.has_rtt_sample = true;
    }

    /// Postpones the probe after a packet was sent or received (section 7.2). The new time is computed
    /// [once](Sender::schedule_probe) for all events of one moment.
    pub fn postpone(&mut self) {
        (self.departure, self.is_postponed) = (Time::MAX, true);
    }

    /// Returns the departure time of the probe.
    pub fn at(&self) -> Time {
        self.departure
    }

    /// Cancels the probe, scheduled or in flight.
    pub fn forget(&mut self) {
        (self.departure, self.is_postponed, self.flight) = (Time::MAX, false, None);
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(
            into,
            (time_until(self.departure, now), self.is_postponed, self.flight, self.has_rtt_sample),
        );
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Computes the departure time of a postponed probe, when the sender has nothing more to do.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time) {
        if self.extensions.is_some() {
            self.schedule_probe_put_off(now);
        }
    }

    #[inline(never)]
    fn schedule_probe_put_off(&mut self, now: Time) {
        // Section 7.2: not in recovery, and with nothing selectively acknowledged. RACK detects those losses.
        let is_wanted = self.is_open()
            && !self.scoreboard.is_empty()
            && self.scoreboard.sacked() == 0
            && !self.is_beyond_peer_window();
        let (flight, smoothed, timer) = (self.scoreboard.len(), self.rtt.smoothed(), self.timer.at());
        let Some(rack) = self.rack().filter(|rack| rack.probe.is_postponed) else { return };
        rack.probe.is_postponed = false;
        // Section 7.3: one at a time, and none before another round-trip measurement; otherwise timers could be
        // postponed without end. A probe after zero time would be answered before it left.
        let may_leave = rack.probe.flight.is_none() && rack.probe.has_rtt_sample && !smoothed.is_zero();
        if rack.config.tail_probe && is_wanted && may_leave {
            // Section 7.2: PTO = 2 * SRTT, plus the delay of a single segment's ACK, but not after the RTO.
            let answer = if flight == 1 { rack.config.max_ack_delay } else { Duration::ZERO };
            rack.probe.departure = (now + smoothed * 2 + answer).min(timer);
        }
    }

    /// Returns the probe due at `now`, if one may be sent (section 7.3).
    pub(super) fn probe_tail(&mut self, now: Time) -> Option<Segment<P>> {
        let rack = self.rack()?;
        if now < rack.probe.departure {
            return None;
        }
        rack.probe.departure = Time::MAX;
        if self.holds_data_back() {
            return None;
        }
        let new = (!self.application.is_drained()).then(|| self.new_length()).flatten();
        // Section 7.3: new data if possible; it brings the same answer and needs no retransmission.
        let segment = match new {
            Some(length) => self.send_new(now, length)?,
            None => self.resend_last(now)?,
        };
        let flight = Flight {
            start: segment.sequence,
            end: self.scoreboard.next(),
            is_retransmission: segment.retransmission,
        };
        // Section 7.3: the retransmission timer restarts. It could otherwise expire before the answer.
        self.timer.set(now + self.rtt.timeout());
        if let Some(rack) = self.rack() {
            rack.probe = TailProbe { flight: Some(flight), ..TailProbe::new() };
        }
        Some(segment)
    }

    /// Evaluates an acknowledgement, which may have `advanced`, for the probe in flight (section 7.4.2).
    pub(super) fn answer_probe(&mut self, now: Time, ack: &Ack, advanced: bool) {
        let Some(rack) = self.rack() else { return };
        let Some(flight) = rack.probe.flight.filter(|flight| ack.cumulative >= flight.end) else { return };
        let (is_of_probe, has_sack) = (ack.arrival_start() == flight.start, !ack.sack[0].is_empty());
        let repaired = match ack.arrival {
            Arrival::Repair if is_of_probe => true,
            Arrival::Spurious | Arrival::Late if is_of_probe => false,
            // Later data is acknowledged, and no duplicate of the probe was reported before.
            _ if ack.cumulative > flight.end => true,
            // Both copies arrived. The first answer is ambiguous; the second, or a later acknowledgement, decides.
            _ if flight.is_retransmission && (advanced || has_sack) => return,
            _ => false,
        };
        rack.probe.flight = None;
        if !flight.is_retransmission || !repaired || !self.is_open() || !self.reduces_window_on_loss() {
            return;
        }
        // Section 7.4.2: the probe repaired a loss, and the window is reduced as for any other.
        self.application.report(Signal::Loss);
        self.counters.add_recovery();
        let mut connection = self.connection(now);
        connection.outstanding = connection.outstanding.max(1);
        let kind = LossKind::Detected;
        self.controller.on_loss(&LossSample { connection, kind, sent_at: now, repeated: false });
    }
}
