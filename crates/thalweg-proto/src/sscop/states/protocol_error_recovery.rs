//! States 7 to 9: recovery from a protocol error.

use super::{reject_request, unsolicited_error_code};
use crate::payload::Payload;
use crate::sscop::engine::{Sscop, State};
use crate::sscop::{ErrorCode, Pdu, Request, RequestError, Signal, Timer};
use crate::units::Time;

impl<P: Payload> Sscop<P> {
    // State 7: outgoing recovery pending.

    pub(in crate::sscop) fn on_pdu_in_outgoing_recovery(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Erak { mr } => self.peer_recovered(mr),
            Pdu::Er { sq, mr } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Er);
                } else {
                    self.init_window();
                    self.send(Pdu::Erak { mr: self.variables.vr_mr });
                    self.peer_recovered(mr);
                }
            }
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Bgn);
                } else {
                    self.on_new_bgn(mr, uu);
                    self.received.clear();
                }
            }
            Pdu::Rs { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Rs);
                } else {
                    self.on_peer_resync(mr, uu);
                    self.received.clear();
                }
            }
            Pdu::End { source, uu } => {
                self.on_release(source, uu);
                self.received.clear();
            }
            Pdu::Endak | Pdu::Bgrej { .. } => {
                self.on_peer_without_connection(unsolicited_error_code(&pdu));
                self.received.clear();
            }
            Pdu::Bgak { .. } | Pdu::Rsak { .. } => self.error(unsolicited_error_code(&pdu)),
            _ => {}
        }
    }

    fn peer_recovered(&mut self, mr: crate::sscop::SequenceNumber) {
        self.timers.stop(Timer::Cc);
        self.variables.vt_ms = mr;
        self.deliver_received_data();
        self.signal(Signal::Recover);
        self.state = State::RecoveryResponse;
    }

    pub(in crate::sscop) fn on_request_in_outgoing_recovery(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Data(mu) => {
                if !self.clear_buffers {
                    self.queue.push_back(mu);
                }
            }
            Request::Release { uu } => {
                self.end(now, uu);
                self.received.clear();
            }
            Request::Resync { uu } => {
                self.resync(now, uu);
                self.clear_transmitter();
                self.received.clear();
            }
            request => return reject_request(request),
        }
        Ok(())
    }

    // State 8: recovery response pending. The peer may already be in the data transfer state, so SD and POLL are valid;
    // in state 9 they are not.

    pub(in crate::sscop) fn on_pdu_in_recovery_response(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Er { sq, .. } => {
                if self.is_retransmission(sq) {
                    self.send(Pdu::Erak { mr: self.variables.vr_mr });
                } else {
                    self.error(ErrorCode::Er);
                }
            }
            Pdu::Sd { .. } | Pdu::Poll { .. } | Pdu::Erak { .. } => {}
            pdu => self.pdu_while_user_decides(pdu),
        }
    }

    pub(in crate::sscop) fn on_request_in_recovery_response(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::AcceptRecover => {
                self.forget_sent();
                self.ready(now);
            }
            request => return self.release_or_resync(now, request),
        }
        Ok(())
    }

    // State 9: incoming recovery pending.

    pub(in crate::sscop) fn on_pdu_in_incoming_recovery(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Er { sq, .. } => {
                if !self.is_retransmission(sq) {
                    self.error(ErrorCode::Er);
                }
            }
            Pdu::Sd { .. } | Pdu::Poll { .. } => self.give_up(unsolicited_error_code(&pdu)),
            Pdu::Erak { .. } => self.error(ErrorCode::Erak),
            pdu => self.pdu_while_user_decides(pdu),
        }
    }

    pub(in crate::sscop) fn on_request_in_incoming_recovery(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::AcceptRecover => {
                self.forget_sent();
                self.init_window();
                self.send(Pdu::Erak { mr: self.variables.vr_mr });
                self.ready(now);
            }
            request => return self.release_or_resync(now, request),
        }
        Ok(())
    }

    // Common to states 8 and 9.

    fn pdu_while_user_decides(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Bgn);
                } else {
                    self.on_new_bgn(mr, uu);
                }
            }
            Pdu::Rs { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Rs);
                } else {
                    self.on_peer_resync(mr, uu);
                }
            }
            Pdu::End { source, uu } => self.on_release(source, uu),
            Pdu::Endak | Pdu::Bgrej { .. } => self.on_peer_without_connection(unsolicited_error_code(&pdu)),
            Pdu::Stat(_) | Pdu::Ustat(_) => self.give_up(unsolicited_error_code(&pdu)),
            pdu => self.error(unsolicited_error_code(&pdu)),
        }
    }

    fn release_or_resync(&mut self, now: Time, request: Request<P>) -> Result<(), RequestError> {
        match request {
            Request::Release { uu } => self.end(now, uu),
            Request::Resync { uu } => {
                self.clear_transmitter();
                self.resync(now, uu);
            }
            request => return reject_request(request),
        }
        Ok(())
    }

    /// Discards messages sent before the recovery and not retrieved, and sends the messages not yet sent.
    fn forget_sent(&mut self) {
        if !self.clear_buffers {
            self.transmission_buffer.clear();
        }
    }
}
