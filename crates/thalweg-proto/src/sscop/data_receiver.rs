//! Receiver in the data transfer state: SDs in and out of order, answers to POLLs, and credit.

use super::engine::Sscop;
use super::{Credit, ErrorCode, Pdu, SequenceNumber, Signal, Stat, Ustat};
use crate::payload::Payload;
use crate::units::Time;

/// Octets of an SD after its message and padding.
const SD_TRAILER: u64 = 4;

impl<P: Payload> Sscop<P> {
    pub(super) fn on_sd(&mut self, now: Time, s: SequenceNumber, mu: P) {
        let base = self.variables.vr_r;
        let offset = s.distance_from(base);
        let (highest, limit) =
            (self.variables.vr_h.distance_from(base), self.variables.vr_mr.distance_from(base));
        if self.config.ignore_old_data && offset >= SequenceNumber::HALF_MODULUS {
            return;
        }
        let gap = offset > highest;
        if let Some(rate) = &mut self.rate {
            rate.on_arrival(now, mu.len().next_multiple_of(4) + 4, s, gap);
        }
        if offset >= limit {
            // Q.2110, figure 20, state 10: all numbers up to the window are missing, and are reported once.
            if highest < limit {
                self.send_ustat(self.variables.vr_h, self.variables.vr_mr);
                self.variables.vr_h = self.variables.vr_mr;
            }
        } else if offset == 0 {
            self.deliver_from(s, mu, highest == 0);
        } else if self.received.contains(self.delivered + u64::from(offset)) {
            self.recover(now, ErrorCode::SendNumber);
        } else if !self.received.has_memory_for(&mu) {
            // Treated as a loss. The next SD in order always fits.
        } else if offset >= highest {
            self.received.insert(self.delivered + u64::from(offset), mu);
            if gap {
                self.send_ustat(self.variables.vr_h, s);
            }
            self.variables.vr_h = s.next();
        } else {
            self.received.insert(self.delivered + u64::from(offset), mu);
        }
    }

    /// Delivers the expected SD and the buffered SDs that follow it.
    fn deliver_from(&mut self, s: SequenceNumber, mu: P, is_highest: bool) {
        self.deliver(s, mu);
        if is_highest {
            self.variables.vr_h = self.variables.vr_r;
        }
        while let Some(mu) = self.received.remove(self.delivered) {
            self.deliver(self.variables.vr_r, mu);
        }
    }

    /// Delivers a message to the user, and counts it.
    pub(super) fn deliver_to_user(&mut self, s: SequenceNumber, mu: P) {
        let octets = u64::from(mu.len());
        self.stats.delivered += 1;
        self.stats.delivered_octets += octets;
        self.stats.delivered_framing += octets.next_multiple_of(4) - octets + SD_TRAILER;
        self.signal(Signal::Data { mu, s });
    }

    fn deliver(&mut self, s: SequenceNumber, mu: P) {
        self.deliver_to_user(s, mu);
        self.delivered += 1;
        self.variables.vr_r = s.next();
        if self.config.credit == Credit::Delivery {
            self.widen(1);
        }
    }

    /// Advances the window after the user has taken `messages`.
    pub(super) fn grant(&mut self, messages: u32) {
        if self.config.credit == Credit::User {
            self.widen(messages);
        }
    }

    /// Advances VR(MR), within half of the number space from VR(R).
    fn widen(&mut self, messages: u32) {
        let granted = self.variables.vr_mr.distance_from(self.variables.vr_r);
        // Immediately after a delivery from a closed window, VR(MR) is VR(R): granted is 0.
        let maximum = (SequenceNumber::HALF_MODULUS - 1).saturating_sub(granted);
        self.variables.vr_mr = self.variables.vr_mr.plus(messages.min(maximum));
    }

    fn send_ustat(&mut self, first: SequenceNumber, end: SequenceNumber) {
        let rate = self.rate.as_mut().and_then(|rate| rate.rate_on_loss());
        self.send(Pdu::Ustat(Ustat { mr: self.variables.vr_mr, r: self.variables.vr_r, first, end, rate }));
    }

    pub(super) fn on_poll(&mut self, now: Time, ps: SequenceNumber, s: SequenceNumber) {
        let base = self.variables.vr_r;
        let (highest, limit) =
            (self.variables.vr_h.distance_from(base), self.variables.vr_mr.distance_from(base));
        // Code Q: the peer cannot have sent fewer SDs than were seen.
        if s.distance_from(base) < highest {
            return self.recover(now, ErrorCode::SendNumber);
        }
        self.variables.vr_h = base.plus(s.distance_from(base).min(limit));
        let rate = self.rate.as_mut().and_then(|rate| rate.take_rate());
        let stat =
            |list| Pdu::Stat(Stat { ps, mr: self.variables.vr_mr, r: self.variables.vr_r, list, rate });
        let mut parts = Vec::new();
        let mut list = Vec::new();
        self.each_run(|start, is_missing| {
            list.push(start);
            // MaxSTAT is odd, so a full list ends with the start of a missing run, and the next list begins with it.
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

    /// Reports the start of each run of missing and of received SDs below VR(H), and finally VR(H) as the end of the
    /// last run. Reports nothing if no SD is missing.
    fn each_run(&self, mut on_boundary: impl FnMut(SequenceNumber, bool)) {
        let number = |place: u64| self.variables.vr_r.plus((place - self.delivered) as u32);
        let end = self.delivered + u64::from(self.variables.vr_h.distance_from(self.variables.vr_r));
        // VR(R) is missing, unless it equals VR(H).
        let mut at = self.delivered;
        for place in self.received.places() {
            if place > at {
                on_boundary(number(at), true);
                on_boundary(number(place), false);
            }
            at = place + 1;
        }
        if at < end {
            on_boundary(number(at), true);
        }
        if self.delivered < end {
            on_boundary(number(end), false);
        }
    }
}
