//! Proportional rate reduction (RFC 9937, whose words these are; before it RFC 6937): while losses are repaired, what may be
//! sent follows what is delivered.
//!
//! Without it a sender that halves its window says nothing until half of what was in flight has left the network, and then
//! sends as fast as acknowledgements come. With it the reduction is spread over the round trip, the window ends where the
//! controller put it, and losses beyond what the controller took away do not make a burst.
//!
//! # Differences from the specification
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | without selective acknowledgements a duplicate counts as a segment delivered | only with them | the scoreboard knows | `prr` needs `recovery = "sack"` |
//! | `cwnd` is the controller's | beside it; the controller's window is `ssthresh` all the time | controllers do not know of repairs | none: it ends as `ssthresh` |
//! | further loss indicated by an acknowledgement | found at it, be it by its blocks or by time | RFC 8985 finds losses by time | none |

use super::{Phase, Recovery, Sender};
use crate::congestion::Controller;
use crate::digest::feed;
use crate::payload::Payload;
use crate::units::Time;
use core::hash::Hasher;

/// The reduction of an episode of recovery, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prr {
    /// RecoverFS: what was in flight when recovery began.
    recover_fs: u64,
    /// prr_delivered: what has been delivered since.
    delivered: u64,
    /// prr_out: what has been sent since.
    out: u64,
    /// cwnd: what may be in flight until the next acknowledgement.
    cwnd: u64,
    /// The time at which recovery began.
    since: Time,
    /// The scoreboard's count of losses as of the last acknowledgement.
    losses: u32,
}

/// The account that an acknowledgement in recovery gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// DeliveredData, in bytes.
    pub bytes: u64,
    /// The bytes in flight after it (`inflight`).
    pub in_flight: u64,
    /// SafeACK: it acknowledges new data cumulatively and no further loss was found.
    pub is_safe: bool,
}

impl Prr {
    /// Recovery begins at `since`, with so much data in flight.
    pub fn new(since: Time, recover_fs: u64) -> Self {
        Self { recover_fs, delivered: 0, out: 0, cwnd: 0, since, losses: 0 }
    }

    /// An acknowledgement comes; `target` is what the controller's window allows (`ssthresh`), in bytes, as is `smss`.
    pub fn on_delivered(&mut self, ack: &Delivery, target: u64, smss: u64) {
        if ack.bytes == 0 {
            return;
        }
        self.delivered += ack.bytes;
        let mut send = if ack.in_flight > target {
            let due = u128::from(self.delivered) * u128::from(target);
            let due = due.div_ceil(u128::from(self.recover_fs.max(1)));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let held = self.delivered.saturating_sub(self.out).max(ack.bytes);
            (held + if ack.is_safe { smss } else { 0 }).min(target - ack.in_flight)
        };
        if self.out == 0 && send == 0 {
            send = smss;
        }
        self.cwnd = ack.in_flight.saturating_add(send);
    }

    /// So many bytes leave.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
    }

    /// True if a segment of `length` bytes may go beside what is in flight.
    pub fn allows(&self, in_flight: u64, length: u32) -> bool {
        in_flight == 0 || in_flight + u64::from(length) <= self.cwnd
    }

    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self { recover_fs, delivered, out, cwnd, since, losses } = self;
        feed(into, (recover_fs, delivered, out, cwnd, now.since(*since), losses));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Recovery begins at `now`. Only controllers with a slow-start threshold want their window at its end, and no rate of their
    /// own.
    pub(super) fn begin_prr(&mut self, now: Time) {
        let is_on = self.config.prr && self.config.recovery == Recovery::Sack;
        if is_on && self.controller.ssthresh().is_some() {
            let in_network =
                (self.scoreboard.next() - self.unacknowledged).saturating_sub(self.scoreboard.sacked_bytes());
            if let Some(extensions) = self.extensions.as_deref_mut() {
                extensions.prr = Some(Prr::new(now, in_network));
            }
        }
    }

    /// An acknowledgement was dealt with which delivered so many bytes; `advanced` says that some of them cumulatively.
    #[inline(never)]
    pub(super) fn advance_prr(&mut self, now: Time, bytes: u64, advanced: bool) {
        let in_recovery = matches!(self.phase, Phase::Recovery { .. });
        let smss = u64::from(self.config.segment);
        let target = (self.controller.decision().window as u64).max(1) * smss;
        let (in_flight, losses) = (self.scoreboard.in_flight_bytes(), self.scoreboard.losses());
        let Some(extensions) = self.extensions.as_deref_mut() else { return };
        extensions.prr = extensions.prr.filter(|_| in_recovery);
        if let Some(prr) = &mut extensions.prr {
            // The acknowledgement that told of the loss is part of the episode.
            if prr.since == now && prr.delivered == 0 {
                prr.recover_fs += bytes;
            }
            let is_more_lost = core::mem::replace(&mut prr.losses, losses) != losses;
            let delivery = Delivery { bytes, in_flight, is_safe: advanced && !is_more_lost };
            prr.on_delivered(&delivery, target, smss);
        }
    }

    /// True if the reduction lets a segment of `length` bytes go, false if not; `None` where there is none.
    #[inline(never)]
    pub(super) fn prr_allows(&self, length: u32) -> Option<bool> {
        let prr = self.extensions.as_deref()?.prr.filter(|_| matches!(self.phase, Phase::Recovery { .. }))?;
        Some(prr.allows(self.scoreboard.in_flight_bytes(), length))
    }
}

#[cfg(test)]
mod tests {
    //! Proves the figures of RFC 6937, section 3.1, in segments of one byte.
    use super::*;

    /// Acknowledges one segment after the other, each selectively, and sends all that may go; gives what was sent at each.
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

    /// RFC 6937, section 3.1: 20 in flight, one lost, a window of 10: a segment for every other acknowledgement while more than
    /// the window is in flight, and the window at the end.
    #[test]
    fn one_loss_is_answered_by_a_segment_for_two_acknowledgements() {
        let mut prr = Prr::new(Time::ZERO, 20);
        let sent = run(&mut prr, 10, 19, 19);
        assert_eq!(sent[..16], [1, 0].repeat(8));
        assert_eq!(prr.out, 10);
    }

    /// RFC 6937, section 3.1: 20 in flight, 15 lost, a window of 10: what is in flight is below the window, so that one goes for
    /// each that is delivered (the conservative bound), not a burst of what the losses left.
    #[test]
    fn a_burst_of_losses_makes_no_burst_of_repairs() {
        let mut prr = Prr::new(Time::ZERO, 20);
        assert_eq!(run(&mut prr, 10, 5, 5), [1, 1, 1, 1, 1]);
    }

    /// RFC 6937, section 3 (and RFC 9937): an acknowledgement that advances and tells of no further loss lets one
    /// more segment go, up to the window.
    #[test]
    fn safe_acknowledgements_catch_up_with_the_window() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 4, is_safe: true }, 10, 1);
        assert_eq!(prr.cwnd, 6);
        prr.on_delivered(&Delivery { bytes: 3, in_flight: 9, is_safe: true }, 10, 1);
        assert_eq!(prr.cwnd, 10);
    }

    /// RFC 6937, section 3 (limit = MAX(prr_delivered - prr_out, DeliveredData) + ...): an acknowledgement lets go what it delivers,
    /// also where more was sent than delivered before.
    #[test]
    fn deliveries_let_as_much_go() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 5, in_flight: 2, is_safe: false }, 10, 1);
        prr.on_sent(8);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 4, is_safe: false }, 10, 1);
        assert_eq!(prr.cwnd, 5);
    }

    /// RFC 9937: nothing was sent yet, and the window has no room: one segment goes.
    #[test]
    fn a_full_window_does_not_hold_the_first_repair_back() {
        let mut prr = Prr::new(Time::ZERO, 20);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 10, is_safe: false }, 10, 1);
        assert_eq!(prr.cwnd, 11);
    }

    /// RFC 9937: entering recovery always lets one segment go.
    #[test]
    fn the_first_repair_always_goes() {
        let mut prr = Prr::new(Time::ZERO, 1000);
        prr.on_delivered(&Delivery { bytes: 1, in_flight: 900, is_safe: false }, 1, 100);
        assert_eq!(prr.cwnd, 901, "a byte is due by then");
        let mut prr = Prr::new(Time::ZERO, 1000);
        prr.on_delivered(&Delivery { bytes: 0, in_flight: 900, is_safe: false }, 1, 100);
        assert_eq!(prr.cwnd, 0, "nothing was delivered, and nothing is computed anew");
    }
}
