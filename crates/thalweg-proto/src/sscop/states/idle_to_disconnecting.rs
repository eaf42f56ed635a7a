//! States 1 to 4: idle, connecting, disconnecting.

use super::{reject_request, unsolicited_error_code};
use crate::payload::Payload;
use crate::sscop::engine::{Sscop, State};
use crate::sscop::{Pdu, Request, RequestError, Signal, Timer};
use crate::units::Time;

impl<P: Payload> Sscop<P> {
    // State 1: idle.

    pub(in crate::sscop) fn on_pdu_in_idle(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Bgn { sq, mr, uu } => {
                // A repeated BGN of the last connection; on this side that connection is over.
                if self.is_retransmission(sq) && !self.config.accept_any_begin {
                    self.send(Pdu::Bgrej { uu: None });
                } else {
                    self.variables.vt_ms = mr;
                    self.signal(Signal::Establish { uu });
                    self.state = State::IncomingConnection;
                }
            }
            Pdu::End { .. } => self.send(Pdu::Endak),
            Pdu::Endak => {}
            Pdu::Bgrej { .. } => self.error(unsolicited_error_code(&pdu)),
            pdu => {
                self.error(unsolicited_error_code(&pdu));
                self.send_end_by_sscop();
            }
        }
    }

    pub(in crate::sscop) fn on_request_in_idle(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Establish { uu, clear_buffers } => self.begin(now, uu, clear_buffers),
            request => return reject_request(request),
        }
        Ok(())
    }

    // State 2: outgoing connection pending.

    pub(in crate::sscop) fn on_pdu_in_outgoing_connection(&mut self, now: Time, pdu: Pdu<P>) {
        match pdu {
            Pdu::Bgak { mr, uu } => {
                self.timers.stop(Timer::Cc);
                self.variables.vt_ms = mr;
                self.signal(Signal::Established { uu });
                self.ready(now);
            }
            Pdu::Bgrej { uu } => self.released_by(crate::sscop::Source::User, uu),
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    return;
                }
                self.timers.stop(Timer::Cc);
                self.variables.vt_ms = mr;
                self.init_window();
                self.send_bgak(None);
                self.signal(Signal::Established { uu });
                self.ready(now);
            }
            _ => {}
        }
    }

    pub(in crate::sscop) fn on_request_in_outgoing_connection(
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

    // State 3: incoming connection pending.

    pub(in crate::sscop) fn on_pdu_in_incoming_connection(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Bgn { sq, mr, uu } => {
                if !self.is_retransmission(sq) {
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

    pub(in crate::sscop) fn on_request_in_incoming_connection(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::AcceptEstablish { uu, clear_buffers } => {
                self.clear_transmitter();
                self.clear_buffers = clear_buffers;
                self.init_window();
                self.send_bgak(uu);
                self.ready(now);
            }
            Request::Release { uu } => {
                self.send(Pdu::Bgrej { uu });
                self.state = State::Idle;
            }
            request => return reject_request(request),
        }
        Ok(())
    }

    // State 4: outgoing disconnection pending.

    pub(in crate::sscop) fn on_pdu_in_outgoing_disconnection(&mut self, pdu: Pdu<P>) {
        match pdu {
            Pdu::Endak | Pdu::Bgrej { .. } => self.report_release(),
            Pdu::End { .. } => {
                self.send(Pdu::Endak);
                self.report_release();
            }
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.send(Pdu::Bgak { mr: self.variables.vr_mr, uu: None });
                    self.send_end();
                } else {
                    self.report_release();
                    self.variables.vt_ms = mr;
                    self.signal(Signal::Establish { uu });
                    self.state = State::IncomingConnection;
                }
            }
            _ => {}
        }
    }

    pub(in crate::sscop) fn on_request_in_outgoing_disconnection(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Establish { uu, clear_buffers } => self.begin(now, uu, clear_buffers),
            request => return reject_request(request),
        }
        Ok(())
    }

    /// Reports that the user's own release is complete.
    fn report_release(&mut self) {
        self.timers.stop(Timer::Cc);
        self.signal(Signal::Released);
        self.state = State::Idle;
    }
}
