//! Sender in the data transfer state: SDs, POLLs, processing of STAT and USTAT, timers and phases.
//!
//! - *active*: data is outstanding; `Timer_POLL` and `Timer_NO-RESPONSE` run.
//! - *transient*: no data is outstanding, and the last POLL is unanswered; `Timer_KEEP-ALIVE` replaces `Timer_POLL`.
//! - *idle*: the last POLL has been answered; `Timer_IDLE` alone runs.

use super::engine::Sscop;
use super::{ErrorCode, Pdu, SequenceNumber, Source, Stat, Timer, Ustat};
use crate::payload::Payload;
use crate::units::Time;
use crate::window::RttConfig;

/// Maximum number of stored POLL times.
const MAX_POLLS: usize = 64;

impl<P: Payload> Sscop<P> {
    /// Sends the next SD, or a due POLL instead. Returns the departure time of the next SD if only the rate holds it
    /// back.
    pub(super) fn send_data(&mut self, now: Time) -> Option<Time> {
        if self.state != super::State::Ready || self.lower_layer_busy {
            return None;
        }
        let closed = self.is_window_closed();
        let again = self.transmission_buffer.has_requests();
        if !again && (self.queue.is_empty() || closed && !self.timers.is_running(Timer::Idle)) {
            return None;
        }
        if !again && closed {
            // Data is waiting, and the peer may be in its idle phase: request credit.
            self.timers.stop(Timer::Idle);
            self.start_timer(now, Timer::NoResponse);
            self.send_poll_and_start(now);
            return None;
        }
        if let Some(at) = self.next_send_time(again).filter(|at| *at > now) {
            return Some(at);
        }
        if again {
            self.send_again(now);
        } else {
            self.send_new(now);
        }
        None
    }

    /// Returns true if no new SD may be sent.
    pub(super) fn is_window_closed(&self) -> bool {
        // VT(S) - VT(A) is the span of the buffer.
        self.transmission_buffer.span() >= self.window()
    }

    /// Returns the departure time of the next SD under rate control; `None` without rate control, or without an SD to
    /// send.
    fn next_send_time(&mut self, again: bool) -> Option<Time> {
        let rate = self.rate.as_mut()?;
        let next = if again { self.transmission_buffer.requested() } else { self.queue.front() };
        Some(rate.due(sd_len(next?.len()), again, self.variables.vt_s))
    }

    fn send_again(&mut self, now: Time) {
        let Some((offset, mu)) = self.transmission_buffer.take_request(self.variables.vt_ps) else { return };
        self.stats.retransmissions += 1;
        self.send_sd(now, self.variables.vt_a.plus(offset), mu);
        // The POLL asks early whether the repair arrived; otherwise the next POLL is up to `Timer_POLL` away.
        if self.config.poll_after_retransmission && !self.transmission_buffer.has_requests() {
            self.send_poll_and_start(now);
        } else {
            self.count_sd(now);
        }
    }

    fn send_new(&mut self, now: Time) {
        let Some(mu) = self.queue.pop_front() else { return };
        self.transmission_buffer.push(mu.clone(), self.variables.vt_ps);
        let s = self.variables.vt_s;
        self.variables.vt_s = s.next();
        self.send_sd(now, s, mu);
        self.count_sd(now);
    }

    fn send_sd(&mut self, now: Time, s: SequenceNumber, mu: P) {
        self.stats.sent += 1;
        if let Some(rate) = &mut self.rate {
            rate.on_sent(now, sd_len(mu.len()));
        }
        self.send(Pdu::Sd { s, mu });
    }

    /// Sends a POLL after an SD if one is due.
    fn count_sd(&mut self, now: Time) {
        // Q.2110, clause 7.4: VT(PD) counts new SDs and retransmissions.
        self.variables.vt_pd += 1;
        let enough = self.rate.as_mut().map(|rate| rate.takes_poll_behind_data());
        let enough = enough.unwrap_or(self.variables.vt_pd >= self.config.max_pd);
        if self.timers.is_running(Timer::Poll) {
            if enough {
                self.send_poll_and_start(now);
            }
            return;
        }
        if self.timers.is_running(Timer::Idle) {
            self.timers.stop(Timer::Idle);
            self.start_timer(now, Timer::NoResponse);
        } else {
            self.timers.stop(Timer::KeepAlive);
        }
        if enough {
            self.send_poll_and_start(now);
        } else {
            self.start_timer(now, Timer::Poll);
        }
    }

    fn send_poll(&mut self, now: Time) {
        let v = &mut self.variables;
        // Q.2110, clause 7.4: VT(PS) advances before the POLL, so the first POLL has number 1.
        v.vt_ps = v.vt_ps.next();
        v.vt_pd = 0;
        let (ps, s) = (v.vt_ps, v.vt_s);
        if self.polls.len() >= MAX_POLLS {
            self.polls.pop_front();
        }
        self.polls.push_back((ps, now));
        if let Some(rate) = &mut self.rate {
            rate.on_poll_sent();
        }
        self.send(Pdu::Poll { ps, s });
    }

    fn send_poll_and_start(&mut self, now: Time) {
        self.send_poll(now);
        self.start_timer(now, Timer::Poll);
    }

    pub(super) fn on_data_timer(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::NoResponse => {
                self.stats.timeouts += 1;
                self.stop_data_timers();
                self.error(ErrorCode::NoResponse);
                self.send_end_by_sscop();
                self.released_by(Source::Sscop, None);
                self.prepare_retrieval();
                return;
            }
            // Transient phase begins: from here on the peer has to answer.
            Timer::Idle => self.start_timer(now, Timer::NoResponse),
            Timer::Poll => {
                if let Some(rate) = &mut self.rate {
                    rate.on_poll_timeout();
                }
            }
            Timer::KeepAlive | Timer::Cc => {}
        }
        self.send_poll(now);
        let next = if self.is_drained() { Timer::KeepAlive } else { Timer::Poll };
        self.start_timer(now, next);
    }

    pub(super) fn on_stat(&mut self, now: Time, stat: &Stat) {
        let v = &self.variables;
        // VT(PA) is one ahead of VT(PS) before the first POLL, when no STAT is valid.
        let polls = v.vt_ps.distance_from(v.vt_pa);
        if polls >= SequenceNumber::HALF_MODULUS || stat.ps.distance_from(v.vt_pa) > polls {
            return self.recover(now, ErrorCode::PollNumber);
        }
        // Code S: N(R) is not within VT(A) to VT(S).
        if stat.r.distance_from(v.vt_a) > self.transmission_buffer.span() {
            return self.recover(now, ErrorCode::StatNumbers);
        }
        self.acknowledge(stat.r, stat.mr);
        self.variables.vt_pa = stat.ps;
        match self.read_list(stat) {
            None => return self.recover(now, ErrorCode::StatNumbers),
            Some(0) => {}
            Some(count) => self.error(ErrorCode::Retransmission(count)),
        }
        // Codes W and X: reported when the credit state changes, not at each STAT.
        let closed = self.variables.vt_s.distance_from(self.variables.vt_a)
            >= self.variables.vt_ms.distance_from(self.variables.vt_a);
        if closed == self.window_was_open {
            self.window_was_open = !closed;
            self.error(if closed { ErrorCode::NoCredit } else { ErrorCode::Credit });
        }
        // Active phase: the peer is alive. In the transient phase its answer begins the idle phase.
        if self.timers.is_running(Timer::Poll) {
            self.start_timer(now, Timer::NoResponse);
        } else if !self.timers.is_running(Timer::Idle) {
            self.timers.stop(Timer::KeepAlive);
            self.timers.stop(Timer::NoResponse);
            self.start_timer(now, Timer::Idle);
        }
        self.on_answer(now, stat);
    }

    /// Takes the round-trip sample of the answered POLL, once, and sets the rate.
    fn on_answer(&mut self, now: Time, stat: &Stat) {
        while self.polls.front().is_some_and(|(ps, _)| stat.ps.is_later_than(*ps)) {
            self.polls.pop_front();
        }
        let Some((_, sent_at)) = self.polls.pop_front_if(|(ps, _)| *ps == stat.ps) else { return };
        let rtt = now.since(sent_at);
        self.rtt.sample(&RttConfig::default(), rtt);
        let is_last = stat.ps == self.variables.vt_ps;
        let acknowledged = self.transmission_buffer.acknowledged();
        let Some(rate) = &mut self.rate else { return };
        rate.on_stat(now, rtt, acknowledged, stat.rate);
        let active = self.timers.is_running(Timer::Poll);
        if is_last && active && rate.wants_poll() {
            self.send_poll_and_start(now);
        }
    }

    pub(super) fn on_ustat(&mut self, now: Time, ustat: &Ustat) {
        // Code T: a USTAT names a missing SD, so N(R) is below VT(S).
        if ustat.r.distance_from(self.variables.vt_a) >= self.transmission_buffer.span() {
            return self.recover(now, ErrorCode::UstatNumbers);
        }
        self.acknowledge(ustat.r, ustat.mr);
        let (a, b) =
            (ustat.first.distance_from(self.variables.vt_a), ustat.end.distance_from(self.variables.vt_a));
        let is_there = |offset| self.transmission_buffer.poll_of(offset).is_some();
        // Code T: also where an SD of the list was acknowledged before.
        if a >= b || b >= self.transmission_buffer.span() || !(a..b).all(is_there) {
            return self.recover(now, ErrorCode::UstatNumbers);
        }
        // A USTAT reports a gap once, before any repair, so the POLL number of an SD does not matter.
        for offset in a..b {
            self.transmission_buffer.request(offset);
        }
        self.error(ErrorCode::Retransmission(b - a));
        if let Some(rate) = &mut self.rate {
            rate.on_ustat(ustat.rate);
        }
    }

    /// Processes N(R) and N(MR).
    fn acknowledge(&mut self, r: SequenceNumber, mr: SequenceNumber) {
        self.transmission_buffer.acknowledge(r.distance_from(self.variables.vt_a));
        self.variables.vt_a = r;
        self.variables.vt_ms = mr;
    }

    /// Queues the SDs that a STAT lists as missing for retransmission, and frees those listed as received. Returns the
    /// number of queued SDs; `None` if the list is invalid.
    fn read_list(&mut self, stat: &Stat) -> Option<u32> {
        if stat.list.len() < 2 {
            return Some(0);
        }
        let offset = |number: &SequenceNumber| number.distance_from(self.variables.vt_a);
        let mut elements = stat.list.iter().map(offset);
        let end = self.transmission_buffer.span();
        let mut a = elements.next().filter(|a| *a < end)?;
        let mut count = 0;
        let mut missing = true;
        for b in elements {
            if b <= a || b > end {
                return None;
            }
            if missing {
                for offset in a..b {
                    // The STAT covers only SDs sent before the POLL; SDs retransmitted since are in flight.
                    let sent_before = stat.ps.is_later_than(self.transmission_buffer.poll_of(offset)?);
                    count += u32::from(sent_before && self.transmission_buffer.request(offset));
                }
            } else if self.clear_buffers {
                self.transmission_buffer.release(a, b);
            }
            (a, missing) = (b, !missing);
        }
        Some(count)
    }
}

/// Returns the length of an SD with a message of `message` octets.
fn sd_len(message: u32) -> u32 {
    message.next_multiple_of(4) + 4
}
