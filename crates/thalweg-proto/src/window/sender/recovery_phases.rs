//! Loss detection, and the phases of recovery.

use super::{ConnectionState, Phase, Recovery, SegmentState, Sender};
use crate::congestion::{Controller, LossKind, LossSample};
use crate::payload::Payload;
use crate::transport::{Failure, Signal};
use crate::units::Time;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Updates the recovery phase after an acknowledgement.
    #[inline(always)]
    pub(super) fn update_recovery_phase(
        &mut self,
        now: Time,
        cumulative_advanced: bool,
        is_duplicate: bool,
        acked_segments: u32,
    ) {
        // With go-back-n the receiver already has most of the retransmitted data and answers with duplicates, which
        // indicate no loss. They end when newer data is acknowledged (the rule of RFC 6582, section 3.2, step 2).
        let must_pass_recovery_point = self.config.recovery == Recovery::GoBackN;
        match self.phase {
            // RFC 6675, section 5, step A; RFC 6582, section 3.2, step 3: a full acknowledgement.
            Phase::Recovery { recovery_point } | Phase::Loss { recovery_point }
                if self.peer.unacknowledged() >= recovery_point + u64::from(must_pass_recovery_point) =>
            {
                self.leave_recovery(now);
                self.dupacks.reset();
            }
            Phase::Recovery { .. } => match self.config.recovery {
                // A retransmission may be lost too, which selective acknowledgements do not show.
                _ if cumulative_advanced
                    && self.dupacks.is_fine_grained_check_active()
                    && self.is_overdue(now) =>
                {
                    if self.mark_first_in_flight_lost(now).is_some() {
                        self.exemption.exempt_retransmission();
                    }
                }
                Recovery::Sack => {
                    let lost_below =
                        self.scoreboard.loss_edge(self.config.duplicate_threshold, self.config.segment);
                    let _ = self.mark_lost_below(now, lost_below);
                }
                _ if cumulative_advanced => {
                    // RFC 6582, section 3.2, step 3: a partial acknowledgement indicates the next hole. All but one of
                    // the segments that it covers are already in the dupack credit.
                    self.dupacks.take_credit(acked_segments.saturating_sub(1));
                    if self.mark_first_missing_lost(now).is_some() {
                        self.exemption.exempt_retransmission();
                    }
                }
                // RFC 5681, section 3.2, step 4: a further duplicate is a segment that left the network.
                _ => self.dupacks.add_credit(u32::from(is_duplicate)),
            },
            Phase::Loss { .. } => {}
            Phase::Open if cumulative_advanced => {
                self.dupacks.reset_count();
                self.dupacks.reset_limited_transmit();
                // Further holes may be in retransmission: segments buffered above the first leave the credit with it.
                self.dupacks.take_credit(acked_segments.saturating_sub(1));
                let fast_retransmit = self.config.recovery == Recovery::FastRetransmit;
                self.dupacks.bound_credit(if fast_retransmit { self.scoreboard.len() } else { 0 });
            }
            Phase::Open => {
                // RFC 6675, section 2: a duplicate reports data by SACK; packets duplicated on the path cause others.
                let reports_new_data = acked_segments > 0 || self.config.recovery != Recovery::Sack;
                // RFC 5681, section 2: with outstanding data only; the answer to a window probe is none.
                let counts_as_duplicate = is_duplicate
                    && reports_new_data
                    && !self.scoreboard.is_empty()
                    && !self.is_beyond_peer_window();
                self.dupacks.add(u32::from(counts_as_duplicate));
                if matches!(self.config.recovery, Recovery::NewReno | Recovery::FastRetransmit) {
                    self.dupacks.add_credit(u32::from(counts_as_duplicate));
                }
            }
        }
        // Duplicates report the withheld segment. A loss behind it is detected once it has arrived.
        if self.phase == Phase::Open && !self.scoreboard.is_empty() && !self.has_withheld_gap() {
            let overdue = (is_duplicate
                || cumulative_advanced && self.dupacks.is_fine_grained_check_active())
                && self.is_overdue(now);
            // Nothing to check is the common case; this saves a call.
            if overdue || self.dupacks.count() > 0 || self.scoreboard.has_sacked() {
                self.detect_loss(now, overdue);
            }
        }
        if cumulative_advanced {
            self.dupacks.end_fine_grained_check();
        }
    }

    /// Ends recovery: all data outstanding at its start is acknowledged.
    pub(super) fn leave_recovery(&mut self, now: Time) {
        if matches!(self.phase, Phase::Recovery { .. }) {
            let connection = self.connection(now);
            self.controller.on_recovered(&connection);
        }
        self.phase = Phase::Open;
        if self.extensions.is_some() {
            self.on_recovery_end(now);
        }
    }

    /// Returns true if the oldest segment is older than the fine-grained timeout, where that is checked.
    fn is_overdue(&self, now: Time) -> bool {
        let first = self
            .scoreboard
            .first()
            .filter(|_| self.config.fine_grained_timer && !self.is_beyond_peer_window());
        first.is_some_and(|first| now.since(first.sent_at) > self.rtt.fine_grained_timeout(&self.config.rtt))
    }

    /// Detects the first loss of an episode; an overdue first segment counts as lost.
    fn detect_loss(&mut self, now: Time, overdue: bool) {
        let threshold = self.config.duplicate_threshold;
        let mut lost_sent_at = None;
        // RFC 6675, section 5, step 3: SACK blocks indicate a loss even where duplicates were lost.
        if self.config.recovery == Recovery::Sack {
            let lost_below = self.scoreboard.loss_edge(threshold, self.config.segment);
            lost_sent_at = self.mark_lost_below(now, lost_below);
        }
        // Segments sent by limited transmit are not part of FlightSize (RFC 5681, section 3.2; RFC 6675, section 5,
        // step 4.2).
        let limited_transmit_segments = self.dupacks.sent_by_limited_transmit();
        // RFC 5681, section 3.2, step 2; RFC 6675, section 5, step 2: DupThresh duplicates.
        if lost_sent_at.is_none() && (self.dupacks.count() >= threshold || overdue) {
            lost_sent_at = self.mark_first_missing_lost(now);
            self.dupacks.reset_count();
        }
        let Some(sent_at) = lost_sent_at else { return };
        self.dupacks.reset_limited_transmit();
        self.counters.add_recovery();
        self.application.report(Signal::Loss);
        let connection = self.connection(now);
        let connection = ConnectionState {
            outstanding: connection.outstanding.saturating_sub(limited_transmit_segments),
            ..connection
        };
        if self.was_sent_on_current_path(sent_at) && self.reduces_window_on_loss() {
            let (connection, kind) = (self.limit_to_used_window(connection), LossKind::Detected);
            self.controller.on_loss(&LossSample { connection, kind, sent_at, repeated: false });
        }
        self.exemption.exempt_retransmission();
        // RFC 6675, section 5, step 4.1; RFC 6582, section 3.2, step 2: the recovery point.
        self.phase = match self.config.recovery {
            Recovery::GoBackN => {
                self.mark_all_lost(now, false);
                Phase::Loss { recovery_point: self.scoreboard.next() }
            }
            Recovery::FastRetransmit => Phase::Open,
            Recovery::NewReno | Recovery::Sack => Phase::Recovery { recovery_point: self.scoreboard.next() },
        };
        self.begin_prr(now);
    }

    /// Counts the time since the last packet as waiting for the retransmission timer, unless another event is due before it;
    /// see [`Notice::Silence`](crate::endpoint::Notice::Silence).
    pub fn await_timer(&mut self, now: Time) {
        let is_next =
            self.timer.is_set() && self.due() >= self.timer.at() && self.retransmission_timer_runs();
        if is_next && !self.scoreboard.is_empty() && !self.is_beyond_peer_window() {
            self.limits.expire(now, self.pacer.last_sent().max(self.timer.last_received()));
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.end_wait();
        // RFC 6298, section 5.5.
        self.rtt.back_off(&self.config.rtt);
        self.timer.record_expiry();
        let Some(first) = self.scoreboard.first() else {
            // Window probe: the peer's window is closed, and its window update may be lost (RFC 9293, section 3.8.6.1).
            self.exemption.request_probe();
            self.timer.stop();
            return;
        };
        let (sent_at, retransmissions, state) = (first.sent_at, first.retransmissions, first.state);
        let is_window_probe = self.is_beyond_peer_window();
        // A peer that answers probes is alive, however long its window stays closed (RFC 9293, section 3.8.6.1).
        let attempts =
            if is_window_probe { self.timer.unanswered_expiries() } else { u32::from(retransmissions) };
        if self
            .config
            .max_retransmissions
            .is_some_and(|max| attempts >= max && u32::from(retransmissions) >= max)
        {
            self.application.abort(Failure::TooManyRetransmissions);
            self.timer.stop();
            return;
        }
        // RFC 6298, section 5.6: with the timeout after the back-off.
        self.timer.set(now + self.rtt.timeout());
        if is_window_probe {
            if self.scoreboard.mark_first_in_flight_lost().is_some() {
                self.exemption.exempt_retransmission();
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
        let marked_by_age = !reneged && self.mark_lost_on_timeout(now);
        // RFC 5681, section 3.1: ssthresh stays at a repeated timeout of the same segment.
        let repeated = retransmissions > 0 && matches!(self.phase, Phase::Loss { .. });
        let sample =
            LossSample { connection: self.connection(now), kind: LossKind::Timeout, sent_at, repeated };
        if self.was_sent_on_current_path(sent_at) {
            self.controller.on_loss(&sample);
        }
        self.record_timeout();
        if !marked_by_age {
            self.disable_undo();
            self.mark_all_lost(now, self.config.recovery == Recovery::Sack && !reneged);
        }
        self.phase = Phase::Loss { recovery_point: self.scoreboard.next() };
        self.dupacks.reset_count();
        self.dupacks.bound_credit(0);
        self.exemption.exempt_retransmission();
    }
}
