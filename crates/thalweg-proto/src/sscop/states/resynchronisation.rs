//! States 5 and 6: resynchronisation.

use super::{reject_request, unsolicited_error_code};
use crate::payload::Payload;
use crate::sscop::engine::Sscop;
use crate::sscop::{ErrorCode, Pdu, Request, RequestError, Signal, Timer};
use crate::units::Time;

impl<P: Payload> Sscop<P> {
    // State 5: outgoing resynchronisation pending.

    pub(in crate::sscop) fn on_pdu_in_outgoing_resync(&mut self, now: Time, pdu: Pdu<P>) {
        match pdu {
            Pdu::Rsak { mr } => {
                self.timers.stop(Timer::Cc);
                self.variables.vt_ms = mr;
                self.signal(Signal::Resynced);
                self.ready(now);
            }
            Pdu::Rs { sq, mr, .. } => {
                if self.is_retransmission(sq) {
                    return;
                }
                self.timers.stop(Timer::Cc);
                self.variables.vt_ms = mr;
                self.init_window();
                self.send(Pdu::Rsak { mr: self.variables.vr_mr });
                self.signal(Signal::Resynced);
                self.ready(now);
            }
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.send(Pdu::Bgak { mr: self.variables.vr_mr, uu: None });
                    self.send_rs();
                } else {
                    self.on_new_bgn(mr, uu);
                }
            }
            Pdu::End { source, uu } => self.on_release(source, uu),
            Pdu::Endak | Pdu::Bgrej { .. } => self.on_peer_without_connection(unsolicited_error_code(&pdu)),
            _ => {}
        }
    }

    pub(in crate::sscop) fn on_request_in_outgoing_resync(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Release { uu } => self.end(now, uu),
            request => return reject_request(request),
        }
        Ok(())
    }

    // State 6: incoming resynchronisation pending.

    pub(in crate::sscop) fn on_pdu_in_incoming_resync(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Rs { sq, .. } => {
                if !self.is_retransmission(sq) {
                    self.error(ErrorCode::Rs);
                }
            }
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.error(ErrorCode::Bgn);
                } else {
                    self.on_new_bgn(mr, uu);
                }
            }
            Pdu::End { source, uu } => self.on_release(source, uu),
            Pdu::Endak | Pdu::Bgrej { .. } => self.on_peer_without_connection(unsolicited_error_code(&pdu)),
            Pdu::Sd { .. } | Pdu::Poll { .. } | Pdu::Stat(_) | Pdu::Ustat(_) => {
                self.give_up(unsolicited_error_code(&pdu));
            }
            pdu => self.error(unsolicited_error_code(&pdu)),
        }
    }

    pub(in crate::sscop) fn on_request_in_incoming_resync(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::AcceptResync => {
                self.init_window();
                self.send(Pdu::Rsak { mr: self.variables.vr_mr });
                self.clear_transmitter();
                self.ready(now);
            }
            Request::Release { uu } => self.end(now, uu),
            request => return reject_request(request),
        }
        Ok(())
    }
}
