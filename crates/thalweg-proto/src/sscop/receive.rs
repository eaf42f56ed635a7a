//! The receiver in the data transfer state: SDs in and out of order, the answers to POLLs, credit.

use super::engine::Sscop;
use super::{Credit, ErrorCode, Number, Pdu, Signal, Stat, Ustat};
use crate::payload::Payload;
use crate::units::Time;

/// Octets of an SD behind its message and the padding.
const SD_TRAILER: u64 = 4;

impl<P: Payload> Sscop<P> {
    pub(super) fn on_sd(&mut self, now: Time, s: Number, mu: P) {
        let base = self.v.vr_r;
        let offset = s.after(base);
        let (highest, limit) = (self.v.vr_h.after(base), self.v.vr_mr.after(base));
        if self.config.ignore_old_data && offset >= Number::HALF {
            return;
        }
        let gap = offset > highest;
        if let Some(rate) = &mut self.rate {
            rate.on_arrival(now, mu.len().next_multiple_of(4) + 4, s, gap);
        }
        if offset >= limit {
            if highest < limit {
                self.send_ustat(self.v.vr_h, self.v.vr_mr);
                self.v.vr_h = self.v.vr_mr;
            }
        } else if offset == 0 {
            self.deliver_from(s, mu, highest == 0);
        } else if self.received.contains(self.delivered + u64::from(offset)) {
            self.recover(now, ErrorCode::SendNumber);
        } else if !self.received.has_room_for(&mu) {
            // As if it had been lost: there is always room for the next one.
        } else if offset >= highest {
            self.received.insert(self.delivered + u64::from(offset), mu);
            if gap {
                self.send_ustat(self.v.vr_h, s);
            }
            self.v.vr_h = s.next();
        } else {
            self.received.insert(self.delivered + u64::from(offset), mu);
        }
    }

    /// Delivers the SD that was expected, and what waited for it.
    fn deliver_from(&mut self, s: Number, mu: P, is_highest: bool) {
        self.deliver(s, mu);
        if is_highest {
            self.v.vr_h = self.v.vr_r;
        }
        while let Some(mu) = self.received.remove(self.delivered) {
            self.deliver(self.v.vr_r, mu);
        }
    }

    /// Gives the user a message, and counts it.
    pub(super) fn hand_over(&mut self, s: Number, mu: P) {
        let octets = u64::from(mu.len());
        self.stats.delivered += 1;
        self.stats.delivered_octets += octets;
        self.stats.delivered_framing += octets.next_multiple_of(4) - octets + SD_TRAILER;
        self.signal(Signal::Data { mu, s });
    }

    fn deliver(&mut self, s: Number, mu: P) {
        self.hand_over(s, mu);
        self.delivered += 1;
        self.v.vr_r = s.next();
        if self.config.credit == Credit::Delivery {
            self.widen(1);
        }
    }

    /// The user has taken messages.
    pub(super) fn grant(&mut self, messages: u32) {
        if self.config.credit == Credit::User {
            self.widen(messages);
        }
    }

    /// Lets VR(MR) grow, but not further from VR(R) than numbers can be told apart.
    fn widen(&mut self, messages: u32) {
        let granted = self.v.vr_mr.after(self.v.vr_r);
        // Right after a delivery from a closed window VR(MR) is VR(R): granted is 0.
        let most = (Number::HALF - 1).saturating_sub(granted);
        self.v.vr_mr = self.v.vr_mr.plus(messages.min(most));
    }

    fn send_ustat(&mut self, first: Number, end: Number) {
        let rate = self.rate.as_mut().and_then(|rate| rate.report_loss());
        self.send(Pdu::Ustat(Ustat { mr: self.v.vr_mr, r: self.v.vr_r, first, end, rate }));
    }

    pub(super) fn on_poll(&mut self, now: Time, ps: Number, s: Number) {
        let base = self.v.vr_r;
        let (highest, limit) = (self.v.vr_h.after(base), self.v.vr_mr.after(base));
        if s.after(base) < highest {
            return self.recover(now, ErrorCode::SendNumber);
        }
        self.v.vr_h = base.plus(s.after(base).min(limit));
        let rate = self.rate.as_mut().and_then(|rate| rate.report());
        let stat = |list| Pdu::Stat(Stat { ps, mr: self.v.vr_mr, r: self.v.vr_r, list, rate });
        let mut parts = Vec::new();
        let mut list = Vec::new();
        self.each_run(|start, is_missing| {
            list.push(start);
            // MaxSTAT is odd, so that a full list ends with the start of a missing run, and the next begins with it.
            if is_missing && list.len() >= self.config.max_stat as usize {
                parts.push(core::mem::replace(&mut list, vec![start]));
            }
        });
        parts.push(list);
        let parts: Vec<_> = parts.into_iter().map(stat).collect();
        for part in parts {
            self.send(part);
        }
    }

    /// Tells where each run of missing and of received SDs below VR(H) begins, and last VR(H), as the end of the last
    /// run. Without any missing SD there is nothing to tell.
    fn each_run(&self, mut tell: impl FnMut(Number, bool)) {
        let number = |place: u64| self.v.vr_r.plus((place - self.delivered) as u32);
        let end = self.delivered + u64::from(self.v.vr_h.after(self.v.vr_r));
        // VR(R) itself is missing, unless it is VR(H).
        let mut at = self.delivered;
        for place in self.received.places() {
            if place > at {
                tell(number(at), true);
                tell(number(place), false);
            }
            at = place + 1;
        }
        if at < end {
            tell(number(at), true);
        }
        if self.delivered < end {
            tell(number(end), false);
        }
    }
}
