//! State 10: data transfer ready. [`send`](crate::sscop::data_sender) and [`receive`](crate::sscop::data_receiver) process SD, POLL,
//! STAT and USTAT.

use super::{reject_request, unsolicited_error_code};
use crate::payload::Payload;
use crate::sscop::engine::{Sscop, State};
use crate::sscop::{Pdu, Request, RequestError, Signal, Timer};
use crate::units::Time;

impl<P: Payload> Sscop<P> {
    pub(in crate::sscop) fn on_pdu_in_data_transfer_ready(&mut self, now: Time, pdu: Pdu<P>) {
        match pdu {
            Pdu::Sd { s, mu } => self.on_sd(now, s, mu),
            Pdu::Poll { ps, s } => self.on_poll(now, ps, s),
            Pdu::Stat(stat) => self.on_stat(now, &stat),
            Pdu::Ustat(ustat) => self.on_ustat(now, &ustat),
            Pdu::Bgn { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.restart_no_response_timer(now);
                    let uu = self.parameters_to_retransmit.bgak_uu.clone();
                    self.send_bgak(uu);
                } else {
                    self.stop_data_timers();
                    self.on_new_bgn(mr, uu);
                    self.prepare_retrieval();
                }
            }
            Pdu::Rs { sq, mr, uu } => {
                if self.is_retransmission(sq) {
                    self.restart_no_response_timer(now);
                    self.send(Pdu::Rsak { mr: self.variables.vr_mr });
                } else {
                    self.stop_data_timers();
                    self.on_peer_resync(mr, uu);
                    self.prepare_retrieval();
                }
            }
            Pdu::Er { sq, mr } => {
                if self.is_retransmission(sq) {
                    self.restart_no_response_timer(now);
                    self.send(Pdu::Erak { mr: self.variables.vr_mr });
                } else {
                    self.stop_data_timers();
                    self.stats.recoveries += 1;
                    self.variables.vt_ms = mr;
                    self.prepare_recovery();
                    self.deliver_received_data();
                    self.signal(Signal::Recover);
                    self.state = State::IncomingRecovery;
                }
            }
            Pdu::End { source, uu } => {
                self.stop_data_timers();
                self.on_release(source, uu);
                self.prepare_retrieval();
            }
            Pdu::Endak | Pdu::Bgrej { .. } => {
                self.stop_data_timers();
                self.on_peer_without_connection(unsolicited_error_code(&pdu));
                self.prepare_retrieval();
            }
            _ => {}
        }
    }

    /// Handles a repeated PDU that was already answered, as a sign of life. In the idle phase no timer waits for the
    /// peer. Starting `Timer_NO-RESPONSE` there, as implementations do, would end a healthy connection before
    /// `Timer_IDLE` sends the next POLL.
    fn restart_no_response_timer(&mut self, now: Time) {
        if !self.timers.is_running(Timer::Idle) {
            self.start_timer(now, Timer::NoResponse);
        }
    }

    pub(in crate::sscop) fn on_request_in_data_transfer_ready(
        &mut self,
        now: Time,
        request: Request<P>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Data(mu) => self.queue.push_back(mu),
            Request::Release { uu } => {
                self.stop_data_timers();
                self.end(now, uu);
                self.prepare_retrieval();
            }
            Request::Resync { uu } => {
                self.stop_data_timers();
                self.resync(now, uu);
                self.release_buffers();
            }
            request => return reject_request(request),
        }
        Ok(())
    }
}
