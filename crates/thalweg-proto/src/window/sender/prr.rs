//! Proportional rate reduction (RFC 9937, whose terms are used here; formerly RFC 6937): during recovery the sender
//! transmits in proportion to delivered data.
//!
//! Without it a sender that halves its window is silent until half of the flight has left the network, and then sends
//! as fast as acknowledgements arrive. PRR spreads the reduction over the round trip and ends at the controller's
//! window. Losses beyond the controller's reduction cause no burst.
//!
//! # Differences from the specification
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | without selective acknowledgements a duplicate counts as a delivered segment | works only with them | the scoreboard knows | `prr` needs `recovery = "sack"` |
//! | changes the controller's `cwnd` | keeps a separate `cwnd`; the controller's window is `ssthresh` throughout | controllers do not know of recovery | none: it ends as `ssthresh` |
//! | further losses are indicated by an acknowledgement | further losses are detected at an acknowledgement, by its SACK blocks or by time | RFC 8985 detects losses by time | none |

use super::{Phase, Recovery, Sender};
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::state_digest::hash_all;
use crate::units::Time;
use core::hash::Hasher;

/// Window reduction of a recovery episode, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prr {
    /// RecoverFS: flight at the start of recovery.
    recover_fs: u64,
    /// prr_delivered: bytes delivered since then.
    delivered: u64,
    /// prr_out: bytes sent since then.
    bytes_out: u64,
    /// cwnd: maximum flight until the next acknowledgement.
    cwnd: u64,
    /// Start of recovery.
    start_time: Time,
    /// The scoreboard's loss count at the last acknowledgement.
    losses: u32,
}

/// Effect of an acknowledgement during recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// DeliveredData, in bytes.
    pub bytes: u64,
    /// Bytes in flight after it (`inflight`).
    pub in_flight: u64,
    /// SafeACK: it advances the cumulative acknowledgement and indicates no further loss.
    pub is_safe: bool,
}

impl Prr {
    /// Starts recovery at `since`, with a flight of `recover_fs` bytes.
    pub fn new(since: Time, recover_fs: u64) -> Self {
        Self { recover_fs, delivered: 0, bytes_out: 0, cwnd: 0, start_time: since, losses: 0 }
    }

    /// Handles an acknowledgement; `target` is the controller's window (`ssthresh`) in bytes, and `smss` is in bytes
    /// too.
    pub fn on_delivered(&mut self, ack: &Delivery, target: u64, smss: u64) {
        if ack.bytes == 0 {
            return;
        }
        self.delivered += ack.bytes;
        // RFC 9937, per-ACK steps: proportional reduction above ssthresh, CEIL(prr_delivered * ssthresh /
        // RecoverFS) - prr_out.
        let mut send = if ack.in_flight > target {
            let due = u128::from(self.delivered) * u128::from(target);
            let due = due.div_ceil(u128::from(self.recover_fs.max(1)));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.bytes_out)
        } else {
            // Below ssthresh: PRR-SSRB after a SafeACK, otherwise PRR-CRB. Without a SafeACK losses may
            // continue, and growth would add to them.
            let held = self.delivered.saturating_sub(self.bytes_out).max(ack.bytes);
            (held + if ack.is_safe { smss } else { 0 }).min(target - ack.in_flight)
        };
        // The fast retransmit leaves at once. A full window would otherwise delay it.
        if self.bytes_out == 0 && send == 0 {
            send = smss;
        }
        self.cwnd = ack.in_flight.saturating_add(send);
    }

    /// Records the transmission of `bytes` bytes.
    pub fn on_sent(&mut self, bytes: u32) {
        self.bytes_out += u64::from(bytes);
    }

    /// Returns true if a segment of `length` bytes may be sent with `in_flight` bytes in flight.
    pub fn allows(&self, in_flight: u64, length: u32) -> bool {
        // With nothing in flight no acknowledgement would come to raise the limit.
        in_flight == 0 || in_flight + u64::from(length) <= self.cwnd
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self { recover_fs, delivered, bytes_out, cwnd, start_time, losses } = self;
        hash_all(into, (recover_fs, delivered, bytes_out, cwnd, now.since(*start_time), losses));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Begins recovery at `now`, only for controllers with a slow-start threshold and without a rate: only they expect
    /// their window to be reached at its end.
    pub(super) fn begin_prr(&mut self, now: Time) {
        let is_on = self.config.prr && self.config.recovery == Recovery::Sack;
        if is_on && self.controller.ssthresh().is_some() {
            // RFC 9937: RecoverFS excludes data that was selectively acknowledged before.
            let in_network = (self.scoreboard.next() - self.peer.unacknowledged())
                .saturating_sub(self.scoreboard.sacked_bytes());
            if let Some(extensions) = self.extensions.as_deref_mut() {
                extensions.prr = Some(Prr::new(now, in_network));
            }
        }
    }

    /// Handles an acknowledgement that delivered `bytes` bytes, after its processing; `advanced` is true if it was
    /// cumulative.
    #[inline(never)]
    pub(super) fn advance_prr(&mut self, now: Time, bytes: u64, advanced: bool) {
        let in_recovery = matches!(self.phase, Phase::Recovery { .. });
        let smss = u64::from(self.config.segment);
        let target = (self.controller.decision().window as u64).max(1) * smss;
        let (in_flight, losses) = (self.scoreboard.in_flight_bytes(), self.scoreboard.losses());
        let Some(extensions) = self.extensions.as_deref_mut() else { return };
        extensions.prr = extensions.prr.filter(|_| in_recovery);
        if let Some(prr) = &mut extensions.prr {
            // RecoverFS includes the data delivered by the acknowledgement that indicated the loss.
            if prr.start_time == now && prr.delivered == 0 {
                prr.recover_fs += bytes;
            }
            let is_more_lost = core::mem::replace(&mut prr.losses, losses) != losses;
            let delivery = Delivery { bytes, in_flight, is_safe: advanced && !is_more_lost };
            prr.on_delivered(&delivery, target, smss);
        }
    }

    /// Returns true if PRR allows a segment of `length` bytes; `None` without PRR.
    #[inline(never)]
    pub(super) fn prr_allows(&self, length: u32) -> Option<bool> {
        let prr = self.extensions.as_deref()?.prr.filter(|_| matches!(self.phase, Phase::Recovery { .. }))?;
        Some(prr.allows(self.scoreboard.in_flight_bytes(), length))
    }
}

#[cfg(test)]
mod tests {
    //! Checks the examples of RFC 6937, section 3.1, in segments of one byte.
    use super::*;

    /// Acknowledges one segment after another selectively, sends all that PRR allows, and returns the number sent at
    /// each.
    fn run(prr: &mut Prr, target: u64, mut in_flight: u64, acks: u64) -> Vec<u64> {
        let mut sent = Vec::new();
        for _ in 0..acks {
            in_flight -= 1;
            prr.on_delivered(&Delivery { bytes: 1, in_flight, is_safe: false }, target, 1);
            let before = in_flight;
            while prr.allows(in_flight, 1) && in_flight < prr.cwnd {
                prr.on_sent(1);
                in_flight += 1;
            }
            sent.push(in_flight - before);
        }
        sent
    }

    /// RFC 6937, section 3.1: 20 in flight, one lost, a window of 10: one segment per two acknowledgements while the
    /// flight exceeds the window, and the full window at the end.
    #[test]
    fn after_one_loss_two_acknowledgements_release_a_segment() {
        let mut prr = Prr::new(Time::ZERO, 20);
        let sent = run(&mut prr, 10, 19, 19);
        assert_eq!(sent[..16], [1, 0].repeat(8));
        assert_eq!(prr.bytes_out, 10);
    }

    /// RFC 6937, section 3.1: 20 in flight, 15 lost, a window of 10: the flight is below the window, so each delivered
    /// segment releases one (the conservative bound), without a burst.
    #[test]
    fn a_burst_of_losses_causes_no_burst_of_retransmissions() {
        let mut prr = Prr::new(Time::ZERO, 20);
        assert_eq!(run(&mut prr, 10, 5, 5), [1, 1, 1, 1, 1]);
    }

    /// RFC 6937, section 3 (and RFC 9937): an acknowledgement that advances and indicates no further loss releases one
    /// more segment, up to the window.
    #[test]
    fn safe_acknowledgements_catch_up_with_the_window() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 4, is_safe: true }, 10, 1);
        assert_eq!(prr.cwnd, 6);
        prr.on_delivered(&Delivery { bytes: 3, in_flight: 9, is_safe: true }, 10, 1);
        assert_eq!(prr.cwnd, 10);
    }

    /// RFC 6937, section 3 (limit = MAX(prr_delivered - prr_out, DeliveredData) + ...): an acknowledgement releases as
    /// much as it delivers, even if more was sent than delivered before.
    #[test]
    fn transmissions_match_deliveries() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 5, in_flight: 2, is_safe: false }, 10, 1);
        prr.on_sent(8);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 4, is_safe: false }, 10, 1);
        assert_eq!(prr.cwnd, 5);
    }

    /// RFC 9937: one segment is sent if none was sent yet and the window is full.
    #[test]
    fn a_full_window_does_not_delay_the_first_retransmission() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 10, is_safe: false }, 10, 1);
        assert_eq!(prr.cwnd, 11);
    }

    /// RFC 9937: entry to recovery always releases one segment.
    #[test]
    fn the_first_retransmission_is_always_sent() {
        let mut prr = Prr::new(Time::ZERO, 1000);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 900, is_safe: false }, 1, 100);
        assert_eq!(prr.cwnd, 901, "a byte is due by then");
        let mut prr = Prr::new(Time::ZERO, 1000);
        prr.on_delivered(&Delivery { bytes: 0, in_flight: 900, is_safe: false }, 1, 100);
        assert_eq!(prr.cwnd, 0, "nothing was delivered, and nothing is computed anew");
    }
}
