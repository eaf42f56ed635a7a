//! State table of Q.2110 (clause 8.2, figure 20). Each state has one function for PDUs and one for requests, in the
//! order of the Recommendation's sheets. This module holds the actions that the tables name.

mod data_transfer_ready;
mod idle_to_disconnecting;
mod protocol_error_recovery;
mod resynchronisation;

use super::engine::{Sscop, State};
use super::{ErrorCode, Pdu, Request, RequestError, Retrieve, SequenceNumber, Signal, Source, Timer};
use crate::payload::Payload;
use crate::units::Time;

impl<P: Payload> Sscop<P> {
    /// Returns true if N(SQ) is that of the peer's last BGN, RS or ER; stores a new one.
    fn is_retransmission(&mut self, sq: u8) -> bool {
        // Without N(SQ) a late repetition would end the connection that it once began.
        core::mem::replace(&mut self.variables.vr_sq, sq) == sq
    }

    /// Initialises the data variables of a connection.
    fn init_variables(&mut self) {
        let v = &mut self.variables;
        // VT(PA) is 1: the first POLL has number 1, and no STAT is valid before it.
        (v.vt_s, v.vt_ps, v.vt_a, v.vt_pa, v.vt_pd) =
            (SequenceNumber::ZERO, SequenceNumber::ZERO, SequenceNumber::ZERO, SequenceNumber::new(1), 0);
        (v.vr_r, v.vr_h) = (SequenceNumber::ZERO, SequenceNumber::ZERO);
        self.window_was_open = true;
        self.polls.clear();
        if let Some(rate) = &mut self.rate {
            rate.restart();
        }
    }

    /// Initialises the window.
    fn init_window(&mut self) {
        self.variables.vr_mr = SequenceNumber::new(self.config.window);
    }

    /// Enters the data transfer state.
    fn ready(&mut self, now: Time) {
        self.init_variables();
        self.start_timer(now, Timer::Poll);
        self.start_timer(now, Timer::NoResponse);
        self.state = State::Ready;
    }

    pub(super) fn start_timer(&mut self, now: Time, timer: Timer) {
        let timers = &self.config.timers;
        let span = match timer {
            Timer::Cc => timers.cc,
            Timer::Poll => self.rate.as_ref().map_or(timers.poll, |rate| rate.poll_timeout(timers.poll)),
            Timer::KeepAlive => timers.keep_alive,
            Timer::Idle => timers.idle,
            Timer::NoResponse => timers.no_response,
        };
        self.timers.start(timer, now, span);
    }

    /// Stops the data-transfer timers.
    pub(super) fn stop_data_timers(&mut self) {
        for timer in [Timer::Poll, Timer::KeepAlive, Timer::Idle, Timer::NoResponse] {
            self.timers.stop(timer);
        }
    }

    /// Discards messages kept for retrieval, before a new connection.
    fn clear_transmitter(&mut self) {
        if !self.clear_buffers {
            self.queue.clear();
            self.transmission_buffer.clear();
        }
    }

    /// Empties all four queues.
    fn release_buffers(&mut self) {
        self.queue.clear();
        self.transmission_buffer.clear();
        self.received.clear();
    }

    /// Discards data not kept for retrieval when the connection ends or recovers.
    pub(super) fn prepare_recovery(&mut self) {
        if self.clear_buffers {
            self.queue.clear();
            self.transmission_buffer.clear();
        }
        self.transmission_buffer.clear_requests();
    }

    /// Does the same as `prepare_recovery`, and discards out-of-order received data.
    pub(super) fn prepare_retrieval(&mut self) {
        self.prepare_recovery();
        self.received.clear();
    }

    /// Delivers received data with gaps before recovery, if the user keeps data.
    fn deliver_received_data(&mut self) {
        let received = self.received.take();
        if !self.clear_buffers {
            for (place, mu) in received {
                let s = self.variables.vr_r.plus((place - self.delivered) as u32);
                self.deliver_to_user(s, mu);
            }
        }
    }

    /// Starts recovery after a protocol error (state 7).
    pub(super) fn recover(&mut self, now: Time, code: ErrorCode) {
        self.stop_data_timers();
        self.error(code);
        self.stats.recoveries += 1;
        self.variables.vt_cc = 1;
        self.variables.vt_sq = self.variables.vt_sq.wrapping_add(1);
        self.init_window();
        self.send(Pdu::Er { sq: self.variables.vt_sq, mr: self.variables.vr_mr });
        self.prepare_recovery();
        self.start_timer(now, Timer::Cc);
        self.state = State::OutgoingRecovery;
    }

    fn begin(&mut self, now: Time, uu: Option<P>, clear_buffers: bool) {
        self.clear_transmitter();
        self.clear_buffers = clear_buffers;
        self.variables.vt_cc = 1;
        self.variables.vt_sq = self.variables.vt_sq.wrapping_add(1);
        self.init_window();
        self.parameters_to_retransmit.uu = uu;
        self.send_bgn();
        self.start_timer(now, Timer::Cc);
        self.state = State::OutgoingConnection;
    }

    fn send_bgn(&mut self) {
        let uu = self.parameters_to_retransmit.uu.clone();
        self.send(Pdu::Bgn { sq: self.variables.vt_sq, mr: self.variables.vr_mr, uu });
    }

    fn send_rs(&mut self) {
        let uu = self.parameters_to_retransmit.uu.clone();
        self.send(Pdu::Rs { sq: self.variables.vt_sq, mr: self.variables.vr_mr, uu });
    }

    fn send_er(&mut self) {
        self.send(Pdu::Er { sq: self.variables.vt_sq, mr: self.variables.vr_mr });
    }

    fn send_bgak(&mut self, uu: Option<P>) {
        self.parameters_to_retransmit.bgak_uu.clone_from(&uu);
        self.send(Pdu::Bgak { mr: self.variables.vr_mr, uu });
    }

    fn send_end(&mut self) {
        let (source, uu) = (self.parameters_to_retransmit.source, self.parameters_to_retransmit.uu.clone());
        self.send(Pdu::End { source, uu });
    }

    /// Sends END originated by SSCOP, which expects no answer.
    pub(super) fn send_end_by_sscop(&mut self) {
        self.parameters_to_retransmit.source = Source::Sscop;
        self.parameters_to_retransmit.uu = None;
        self.send_end();
    }

    /// Sends END originated by the user (state 4).
    fn end(&mut self, now: Time, uu: Option<P>) {
        self.timers.stop(Timer::Cc);
        self.variables.vt_cc = 1;
        (self.parameters_to_retransmit.source, self.parameters_to_retransmit.uu) = (Source::User, uu);
        self.send_end();
        self.start_timer(now, Timer::Cc);
        self.state = State::OutgoingDisconnection;
    }

    /// Sends RS originated by the user (state 5).
    fn resync(&mut self, now: Time, uu: Option<P>) {
        self.timers.stop(Timer::Cc);
        self.variables.vt_cc = 1;
        self.variables.vt_sq = self.variables.vt_sq.wrapping_add(1);
        self.init_window();
        self.parameters_to_retransmit.uu = uu;
        self.send_rs();
        self.start_timer(now, Timer::Cc);
        self.state = State::OutgoingResync;
    }

    /// Closes the connection.
    pub(super) fn released_by(&mut self, source: Source, uu: Option<P>) {
        self.timers.stop(Timer::Cc);
        self.signal(Signal::Release { uu, source });
        self.state = State::Idle;
    }

    /// Handles a release by the peer.
    fn on_release(&mut self, source: Source, uu: Option<P>) {
        self.send(Pdu::Endak);
        self.released_by(source, uu);
    }

    /// Closes the connection after a PDU that a correct peer cannot send in this state.
    fn give_up(&mut self, code: ErrorCode) {
        self.error(code);
        self.send_end_by_sscop();
        self.released_by(Source::Sscop, None);
    }

    /// Handles ENDAK or BGREJ during a connection: the peer has no connection.
    fn on_peer_without_connection(&mut self, code: ErrorCode) {
        self.error(code);
        self.released_by(Source::Sscop, None);
    }

    /// Handles a new BGN during a connection: the peer starts a new one.
    fn on_new_bgn(&mut self, mr: SequenceNumber, uu: Option<P>) {
        self.timers.stop(Timer::Cc);
        self.variables.vt_ms = mr;
        self.signal(Signal::Release { uu: None, source: Source::User });
        self.signal(Signal::Establish { uu });
        self.state = State::IncomingConnection;
    }

    /// Handles a new RS.
    fn on_peer_resync(&mut self, mr: SequenceNumber, uu: Option<P>) {
        self.timers.stop(Timer::Cc);
        self.variables.vt_ms = mr;
        self.signal(Signal::Resync { uu });
        self.state = State::IncomingResync;
    }

    /// Handles expiry of `Timer_CC`: retransmits, or gives up after `MaxCC` transmissions.
    pub(super) fn on_cc(&mut self, now: Time) {
        // Q.2110, clause 7.7: MaxCC counts transmissions, including the first.
        if self.variables.vt_cc < self.config.max_cc {
            self.variables.vt_cc += 1;
            match self.state {
                State::OutgoingConnection => self.send_bgn(),
                State::OutgoingDisconnection => self.send_end(),
                State::OutgoingResync => self.send_rs(),
                _ => self.send_er(),
            }
            self.start_timer(now, Timer::Cc);
            return;
        }
        self.stats.timeouts += 1;
        self.error(ErrorCode::NoAnswer);
        if self.state == State::OutgoingDisconnection {
            self.signal(Signal::Released);
            self.state = State::Idle;
            return;
        }
        if self.state == State::OutgoingRecovery {
            self.received.clear();
        }
        self.send_end_by_sscop();
        self.released_by(Source::Sscop, None);
    }

    /// Handles AA-RETRIEVE.request, in states 1, 3, 4, 6, 8, 9.
    pub(super) fn retrieve(&mut self, which: Retrieve) -> Result<(), RequestError> {
        match self.state {
            State::Idle
            | State::IncomingConnection
            | State::OutgoingDisconnection
            | State::IncomingResync
            | State::RecoveryResponse
            | State::IncomingRecovery => {}
            _ => return Err(RequestError::State),
        }
        let from = match which {
            Retrieve::Unknown => self.transmission_buffer.span(),
            Retrieve::After(last) => {
                last.next().distance_from(self.variables.vt_a).min(self.transmission_buffer.span())
            }
            Retrieve::Total => 0,
        };
        for offset in from..self.transmission_buffer.span() {
            if let Some(mu) = self.transmission_buffer.retrieve(offset) {
                self.signal(Signal::Retrieved(mu));
            }
        }
        for mu in core::mem::take(&mut self.queue) {
            self.signal(Signal::Retrieved(mu));
        }
        self.signal(Signal::RetrieveComplete);
        Ok(())
    }
}

/// Refuses a request that the state does not allow.
fn reject_request<P>(_request: Request<P>) -> Result<(), RequestError> {
    Err(RequestError::State)
}

/// Returns the error code of an unsolicited PDU.
fn unsolicited_error_code<P: Payload>(pdu: &Pdu<P>) -> ErrorCode {
    match pdu {
        Pdu::Bgn { .. } => ErrorCode::Bgn,
        Pdu::Bgak { .. } => ErrorCode::Bgak,
        Pdu::Bgrej { .. } => ErrorCode::Bgrej,
        Pdu::Endak => ErrorCode::Endak,
        Pdu::Poll { .. } => ErrorCode::Poll,
        Pdu::Stat(_) => ErrorCode::Stat,
        Pdu::Ustat(_) => ErrorCode::Ustat,
        Pdu::Rs { .. } => ErrorCode::Rs,
        Pdu::Rsak { .. } => ErrorCode::Rsak,
        Pdu::Er { .. } => ErrorCode::Er,
        Pdu::Erak { .. } => ErrorCode::Erak,
        // END is valid in every state; UD and MD are handled earlier.
        Pdu::Sd { .. } | Pdu::End { .. } | Pdu::Ud { .. } | Pdu::Md { .. } => ErrorCode::Sd,
    }
}
