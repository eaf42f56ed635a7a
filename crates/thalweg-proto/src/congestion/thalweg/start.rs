//! Slow start: the window doubles until a queue stands, or until losses exceed the path's own.
//!
//! With a short queue, slow start loses the data sent in the round trip before it detects that. So growth falls to a
//! quarter while the queueing delay is at the target, as in HyStart++'s conservative slow start (RFC 9406, section
//! 4.2).

use super::{Phase, Round, Thalweg};
use crate::congestion::AckSample;
use crate::congestion::delivery::RateSample;
use crate::units::{Duration, Time};

/// Permitted queue in slow start, as a share of the shortest round-trip time, if that exceeds the target.
const QUEUE: f64 = 0.125;
/// Share of the growth that remains while the queue is at its target.
const CONSERVATIVE: f64 = 0.25;
/// The multiple of the initial window from which on a flow is no longer one of many: who meets a queue before meets theirs.
const GROWN: f64 = 4.0;
/// Packets and loss events in part of a round trip that suffice to end slow start.
const ENOUGH: (f64, f64) = (16.0, 4.0);
/// Share kept of the data in flight at the first of these losses.
const NEARLY: f64 = 0.9;
/// Multiple of the data in flight beyond which the window does not double.
const UNUSED: f64 = 4.0;
/// The share of the growth of what was sent by which the rate grows at least where losses are the path's.
const FOLLOWS: f64 = 0.9;
/// The share of a first round trip's packets that a path may lose while nothing is known of it.
const UNKNOWN: f64 = 0.5;
/// Packets of a round trip from which on that ends a start; below, first windows of many may be lost, and a crowd shares a queue worse where they
/// end starts.
const MAX_UNKNOWN: f64 = 8192.0;

impl Thalweg {
    /// An acknowledgement in slow start, until the window is `until` bytes large. What was lost makes room as what arrived does, since
    /// losses alone are no reason to start more slowly.
    pub(super) fn start(&mut self, sample: &AckSample, rs: &RateSample, until: f64) {
        let in_flight = self.round.in_flight.max(self.round.before.in_flight);
        let slows = self.is_grown() && self.delay.waits(self.target(self.rate()));
        let growth = if slows { CONSERVATIVE } else { 1.0 };
        if !sample.app_limited && self.window < UNUSED * in_flight {
            self.window += growth * (rs.newly_acked + rs.newly_lost) as f64;
        }
        let now = sample.path.now;
        let queueing = self.delay.newest();
        if queueing > self.target(self.rate()).max(QUEUE * self.min_rtt) {
            // What was in flight when this packet left, less its share in the queue.
            self.leave_start(now, rs.tx_in_flight as f64 * self.min_rtt / (self.min_rtt + queueing));
        } else if self.overflows() {
            let rate = rs.bytes_per_second().unwrap_or(0.0).max(self.round.before.rate);
            self.leave_start(now, (rate * self.min_rtt).max(NEARLY * self.round.lost_at));
        } else if self.window >= until {
            // It is not here that the path is full, but where it was before.
            self.hold(now, until);
        }
    }

    /// The window is several times a first one.
    pub(super) fn is_grown(&self) -> bool {
        self.window > GROWN * self.first_window()
    }

    /// More of this round trip is lost already than the path loses, or, where nothing is known of it, most: an application that pauses keeps
    /// round trips from telling more.
    pub(super) fn overflows(&self) -> bool {
        let tally = self.round.tally;
        if tally.lost < ENOUGH.0 {
            return false;
        }
        if self.round.before.rate > 0.0 && self.path_loss.is_known() {
            return tally.events >= ENOUGH.1 && self.path_loss.exceeded_by(tally, f64::INFINITY);
        }
        tally.share() > UNKNOWN && tally.sent > MAX_UNKNOWN
    }

    /// A round trip of slow start ends, in which `rate` was delivered and the round trip took `rtt` without its queue. Losses are the
    /// path's where the rate grew nevertheless as what was sent did.
    pub(super) fn end_round_of_start(&mut self, now: Time, last: &Round, rate: f64, rtt: f64) {
        if last.before.rate == 0.0 || last.app_limited {
            return;
        }
        let sent = last.tally.sent / last.before.sent.max(1.0);
        let is_unknown = !self.path_loss.is_known() && last.tally.share() < UNKNOWN;
        let grows = rate > FOLLOWS * sent * last.before.rate;
        if is_unknown || grows || !self.path_loss.exceeded_by(last.tally, f64::INFINITY) {
            self.path_loss.learn(last.tally);
        } else {
            self.leave_start(now, rate * rtt);
        }
    }

    pub(super) fn leave_start(&mut self, now: Time, window: f64) {
        self.rival.note_peak(self.window / self.segment);
        self.hold(now, window);
        self.pace.ceiling = self.window;
    }

    /// The window is no larger than this from now on, and the queue is held.
    fn hold(&mut self, now: Time, window: f64) {
        // Until the queue has gone more may be lost of what overflowed it.
        self.epoch = now + Duration::from_secs_f64(self.rtt);
        self.window = window.min(self.window).max(self.least());
        self.phase = Phase::Hold;
        self.pace.slow_down();
    }
}
