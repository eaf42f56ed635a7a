//! Loss detection, and the phases of recovery.

use super::{ConnectionState, Phase, Recovery, SegmentState, Sender};
use crate::congestion::{Controller, LossKind, LossSample};
use crate::payload::Payload;
use crate::transport::{Failure, Signal};
use crate::units::Time;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Updates the recovery phase after an acknowledgement.
    #[inline(always)]
    pub(super) fn repair(&mut self, now: Time, advanced: bool, duplicate: bool, acked: u32) {
        // With go-back-n the receiver already has most of the retransmitted data and answers with duplicates, which
        // indicate no loss. They end when newer data is acknowledged (the rule of RFC 6582, section 3.2, step 2).
        let is_echoed = self.config.recovery == Recovery::GoBackN;
        match self.phase {
            // RFC 6675, section 5, step A; RFC 6582, section 3.2, step 3: a full acknowledgement.
            Phase::Recovery { until } | Phase::Loss { until }
                if self.peer.unacknowledged() >= until + u64::from(is_echoed) =>
            {
                self.end_repair(now);
                self.dupacks.reset();
            }
            Phase::Recovery { .. } => match self.config.recovery {
                // A retransmission may be lost too, which selective acknowledgements do not show.
                _ if advanced && self.dupacks.checks_age() && self.is_overdue(now) => {
                    if self.mark_first_lost(now).is_some() {
                        self.exemption.exempt_repair();
                    }
                }
                Recovery::Sack => {
                    let edge =
                        self.scoreboard.loss_edge(self.config.duplicate_threshold, self.config.segment);
                    let _ = self.mark_lost_below(now, edge);
                }
                _ if advanced => {
                    // RFC 6582, section 3.2, step 3: a partial acknowledgement indicates the next hole. All but one of
                    // the segments that it covers are already in the dupack credit.
                    self.dupacks.take_credit(acked.saturating_sub(1));
                    if self.mark_first_missing(now).is_some() {
                        self.exemption.exempt_repair();
                    }
                }
                // RFC 5681, section 3.2, step 4: a further duplicate is a segment that left the network.
                _ => self.dupacks.add_credit(u32::from(duplicate)),
            },
            Phase::Loss { .. } => {}
            Phase::Open if advanced => {
                self.dupacks.forget_count();
                self.dupacks.forget_limited();
                // Further holes may be in retransmission: segments buffered above the first leave the credit with it.
                self.dupacks.take_credit(acked.saturating_sub(1));
                let fast_retransmit = self.config.recovery == Recovery::FastRetransmit;
                self.dupacks.bound_credit(if fast_retransmit { self.scoreboard.len() } else { 0 });
            }
            Phase::Open => {
                // RFC 6675, section 2: a duplicate reports data by SACK; packets duplicated on the path cause others.
                let reports = acked > 0 || self.config.recovery != Recovery::Sack;
                // RFC 5681, section 2: with outstanding data only; the answer to a window probe is none.
                let counts = duplicate && reports && !self.scoreboard.is_empty() && !self.is_refused();
                self.dupacks.add(u32::from(counts));
                if matches!(self.config.recovery, Recovery::NewReno | Recovery::FastRetransmit) {
                    self.dupacks.add_credit(u32::from(counts));
                }
            }
        }
        // Duplicates report the withheld segment. A loss behind it is detected once it has arrived.
        if self.phase == Phase::Open && !self.scoreboard.is_empty() && !self.has_withheld_gap() {
            let overdue = (duplicate || advanced && self.dupacks.checks_age()) && self.is_overdue(now);
            // Nothing to check is the common case; this saves a call.
            if overdue || self.dupacks.count() > 0 || self.scoreboard.has_sacked() {
                self.detect_loss(now, overdue);
            }
        }
        if advanced {
            self.dupacks.end_check();
        }
    }

    /// Ends recovery: all data outstanding at its start is acknowledged.
    pub(super) fn end_repair(&mut self, now: Time) {
        if matches!(self.phase, Phase::Recovery { .. }) {
            let connection = self.connection(now);
            self.controller.on_recovered(&connection);
        }
        self.phase = Phase::Open;
        if self.extensions.is_some() {
            self.note_repaired(now);
        }
    }

    /// Returns true if the oldest segment is older than the fine-grained time-out, where that is checked.
    fn is_overdue(&self, now: Time) -> bool {
        let first = self.scoreboard.first().filter(|_| self.config.fine_timer && !self.is_refused());
        first.is_some_and(|first| now.since(first.sent_at) > self.rtt.fine_timeout(&self.config.rtt))
    }

    /// Detects the first loss of an episode; an overdue first segment counts as lost.
    fn detect_loss(&mut self, now: Time, overdue: bool) {
        let threshold = self.config.duplicate_threshold;
        let mut lost_sent_at = None;
        // RFC 6675, section 5, step 3: SACK blocks indicate a loss even where duplicates were lost.
        if self.config.recovery == Recovery::Sack {
            let edge = self.scoreboard.loss_edge(threshold, self.config.segment);
            lost_sent_at = self.mark_lost_below(now, edge);
        }
        // Segments sent by limited transmit are not part of FlightSize (RFC 5681, section 3.2; RFC 6675, section 5,
        // step 4.2).
        let extra = self.dupacks.sent_by_limited_transmit();
        // RFC 5681, section 3.2, step 2; RFC 6675, section 5, step 2: DupThresh duplicates.
        if lost_sent_at.is_none() && (self.dupacks.count() >= threshold || overdue) {
            lost_sent_at = self.mark_first_missing(now);
            self.dupacks.forget_count();
        }
        let Some(sent_at) = lost_sent_at else { return };
        self.dupacks.forget_limited();
        self.counters.add_recovery();
        self.application.report(Signal::Loss);
        let connection = self.connection(now);
        let connection =
            ConnectionState { outstanding: connection.outstanding.saturating_sub(extra), ..connection };
        if self.is_of_path(sent_at) && self.cuts_for_loss() {
            let (connection, kind) = (self.cut_to_use(connection), LossKind::Detected);
            self.controller.on_loss(&LossSample { connection, kind, sent_at, repeated: false });
        }
        self.exemption.exempt_repair();
        // RFC 6675, section 5, step 4.1; RFC 6582, section 3.2, step 2: `until` is the recovery point.
        self.phase = match self.config.recovery {
            Recovery::GoBackN => {
                self.mark_all_lost(now, false);
                Phase::Loss { until: self.scoreboard.next() }
            }
            Recovery::FastRetransmit => Phase::Open,
            Recovery::NewReno | Recovery::Sack => Phase::Recovery { until: self.scoreboard.next() },
        };
        self.begin_prr(now);
    }

    /// Sets the retransmission timer, unless another event is due before it; see
    /// [`Notice::Silence`](crate::endpoint::Notice::Silence).
    pub fn await_timer(&mut self, now: Time) {
        let is_next =
            self.timer.is_set() && self.due() >= self.timer.at() && self.retransmission_timer_runs();
        if is_next && !self.scoreboard.is_empty() && !self.is_refused() {
            self.limits.expire(now, self.pacer.last_sent().max(self.timer.last_received()));
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.end_wait();
        // RFC 6298, section 5.5.
        self.rtt.back_off(&self.config.rtt);
        self.timer.note_expired();
        let Some(first) = self.scoreboard.first() else {
            // Window probe: the peer's window is closed, and its window update may be lost (RFC 9293, section 3.8.6.1).
            self.exemption.request_probe();
            self.timer.stop();
            return;
        };
        let (sent_at, again, state) = (first.sent_at, first.retransmissions, first.state);
        let refused = self.is_refused();
        // A peer that answers probes is alive, however long its window stays closed (RFC 9293, section 3.8.6.1).
        let tries = if refused { self.timer.silent() } else { u32::from(again) };
        if self.config.max_retransmissions.is_some_and(|max| tries >= max && u32::from(again) >= max) {
            self.application.abort(Failure::TooManyRetransmissions);
            self.timer.stop();
            return;
        }
        // RFC 6298, section 5.6: with the time-out after the back-off.
        self.timer.set(now + self.rtt.timeout());
        if refused {
            if self.scoreboard.mark_first_lost().is_some() {
                self.exemption.exempt_repair();
            }
            return;
        }
        if self.is_paused() && state == SegmentState::Lost {
            // The wait since the last expiry makes this one carry no new information.
            return;
        }
        self.counters.add_timeout();
        self.limits.expire(now, self.pacer.last_sent().max(self.timer.last_received()));
        self.application.report(Signal::Timeout);
        // Reneging: a receiver may discard selectively acknowledged data. SACK of the first segment proves it (RFC
        // 2018, section 8; RFC 6675, section 5.1).
        let reneged = state == SegmentState::Sacked;
        self.begin_f_rto(reneged);
        let by_time = !reneged && self.expire(now);
        // RFC 5681, section 3.1: ssthresh stays at a repeated time-out of the same segment.
        let repeated = again > 0 && matches!(self.phase, Phase::Loss { .. });
        let sample =
            LossSample { connection: self.connection(now), kind: LossKind::Timeout, sent_at, repeated };
        if self.is_of_path(sent_at) {
            self.controller.on_loss(&sample);
        }
        self.note_timeout();
        if !by_time {
            self.abandon_undo();
            self.mark_all_lost(now, self.config.recovery == Recovery::Sack && !reneged);
        }
        self.phase = Phase::Loss { until: self.scoreboard.next() };
        self.dupacks.forget_count();
        self.dupacks.bound_credit(0);
        self.exemption.exempt_repair();
    }
}
