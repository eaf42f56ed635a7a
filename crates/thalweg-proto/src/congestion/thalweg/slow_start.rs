//! Slow start: the window doubles until a queue stands, or until losses keep the rate from growing.
//!
//! With a short queue, slow start loses the data sent in the round trip before it detects that. So growth falls to a
//! quarter while the queueing delay is at the target, as in HyStart++'s conservative slow start (RFC 9406, section
//! 4.2).

use super::loss_evidence::LossCounts;
use super::{Round, Thalweg, steady_state};
use crate::congestion::AckSample;
use crate::congestion::delivery_rate::RateSample;
use crate::units::{Duration, Time};

/// Permitted queue in slow start, as a share of the shortest round-trip time, if that exceeds the target.
const PERMITTED_QUEUE: f64 = 0.125;
/// Share of the growth that remains while the queue is at its target.
const CONSERVATIVE_GROWTH: f64 = 0.25;
/// Multiple of the initial window above which a flow does not count as one of many. A flow that meets a queue at a
/// smaller window shares it with other starting flows.
const GROWN_WINDOW: f64 = 4.0;
/// Packets and loss events in part of a round trip that suffice to end slow start.
const MIN_LOSS_EVIDENCE: (f64, f64) = (16.0, 4.0);
/// Share kept of the data in flight at the first of these losses.
const FIRST_LOSS_SHARE: f64 = 0.9;
/// Multiple of the data in flight beyond which the window does not double.
const MAX_WINDOW_PER_IN_FLIGHT: f64 = 4.0;
/// Minimum growth of the delivery rate, as a share of the growth of the sending rate, for losses to be attributed to
/// the path.
const MIN_RATE_GROWTH: f64 = 0.9;
/// Maximum share of packets lost in the first round trips while the path's loss rate is unknown, and minimum number of
/// packets for an estimate of it.
const MAX_INITIAL_LOSS: f64 = 0.5;
const MIN_LOSS_RATE_PACKETS: f64 = 60.0;
/// Loss events in a round trip that may be chance.
const CHANCE_EVENTS: f64 = 2.0;
/// Maximum window that a flow may regain beside competing traffic, as a multiple of the window at the end: the window doubled in
/// the last round trip, and the path does not carry more.
const MAX_REGAINED: f64 = 2.0;
/// Minimum window at the end, in segments.
const MIN_END: f64 = 2.0;

impl Thalweg {
    /// Handles an acknowledgement in slow start. A lost packet permits growth like an acknowledged one, since losses
    /// alone do not justify slower growth.
    pub(super) fn start(&mut self, sample: &AckSample, rs: &RateSample) {
        let in_flight = self.round.in_flight.max(self.round.previous.in_flight);
        let slows = self.is_grown() && self.delay.waits(self.target(self.rate()));
        let growth = if slows { CONSERVATIVE_GROWTH } else { 1.0 };
        if !sample.app_limited && self.window < MAX_WINDOW_PER_IN_FLIGHT * in_flight {
            self.window += growth * (rs.newly_acked + rs.newly_lost) as f64;
        }
        let now = sample.connection.now;
        let queueing = self.delay.newest();
        if queueing > self.target(self.rate()).max(PERMITTED_QUEUE * self.min_rtt) {
            // The data in flight at the departure of this packet, minus its share of the queue.
            self.leave_start(now, rs.tx_in_flight as f64 * self.min_rtt / (self.min_rtt + queueing));
        } else if self.overflows() {
            let rate = rs.bytes_per_second().unwrap_or(0.0).max(self.round.previous.rate);
            self.leave_start(now, (rate * self.min_rtt).max(FIRST_LOSS_SHARE * self.round.lost_at));
        }
    }

    /// Returns true if the window is several times the initial one.
    fn is_grown(&self) -> bool {
        self.window > GROWN_WINDOW * self.first_window()
    }

    /// Returns true if the losses of this round trip already exceed those of earlier ones.
    fn overflows(&self) -> bool {
        let tally = self.round.tally;
        tally.lost >= MIN_LOSS_EVIDENCE.0
            && tally.events >= MIN_LOSS_EVIDENCE.1
            && self.round.previous.rate > 0.0
            && self.started.sent >= MIN_LOSS_RATE_PACKETS
            && self.exceeds_start(tally)
    }

    /// Returns true if these losses exceed those of the round trips in which the rate grew.
    fn exceeds_start(&self, tally: LossCounts) -> bool {
        tally.exceeds(self.started.rate() * tally.sent, CHANCE_EVENTS)
            || self.evidence.exceeds_max_share(tally) && tally.events > CHANCE_EVENTS
    }

    /// Ends a round trip of slow start, with the delivery rate `rate`, the queueing delay and the round-trip time `rtt`.
    /// Losses are attributed to the path if no queue is long and the delivery rate nevertheless grew with the sending
    /// rate.
    pub(super) fn end_round_of_start(&mut self, now: Time, last: &Round, rate: f64, queueing: f64, rtt: f64) {
        let path = (rtt - queueing).max(0.0);
        if last.tally.lost > 0.0 && queueing > steady_state::LONG_QUEUE_TARGETS * self.target(self.rate()) {
            self.leave_start(now, rate * path);
            return;
        }
        if last.previous.rate == 0.0 || last.app_limited {
            return;
        }
        let sent = last.tally.sent / last.previous.sent.max(1.0);
        // The losses leave the rate as high as the sending rate makes it.
        let grows = rate > MIN_RATE_GROWTH * sent * last.previous.rate;
        // A larger share of losses is not attributed to a path.
        let is_plausible = last.tally.share() < MAX_INITIAL_LOSS;
        // Without an estimate of the path's losses, any plausible share of them may be the path's.
        let is_comparable = self.started.sent >= MIN_LOSS_RATE_PACKETS || !is_plausible;
        let exceeds = is_comparable && self.exceeds_start(last.tally);
        if grows || is_plausible && !exceeds {
            self.started.add(last.tally);
        } else if exceeds {
            self.leave_start(now, rate * path);
        } else {
            // One burst of losses may be chance, and may be a queue of few packets that overflows.
            self.window = self.window.min(2.0 * last.delivered).max(MIN_END * self.segment);
        }
    }

    /// Ends slow start with a window of at most `window` bytes.
    pub(super) fn leave_start(&mut self, now: Time, window: f64) {
        // Until the queue has drained, the packets that overflowed it may still be reported lost.
        self.epoch = now + Duration::from_secs_f64(self.rtt);
        let before = self.window;
        self.window = window.min(before).max(MIN_END * self.segment);
        self.drain.set_peak(before.min(MAX_REGAINED * self.window));
        self.is_starting = false;
        self.pace.slow_down();
        self.pace.ceiling = self.window;
    }
}
