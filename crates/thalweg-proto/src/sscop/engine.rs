//! Endpoint of a connection: state variables, inputs and outputs.

use super::rate::RateControl;
use super::send_and_reorder_buffers::{ReceiverBuffer, TransmissionBuffer};
use super::timers::Timers;
use super::{
    Config, Credit, ErrorCode, Input, Pdu, Request, RequestError, SequenceNumber, Signal, Source, Timer,
};
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::units::{Duration, Rate, Time};
use crate::window::{RttConfig, RttEstimator};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of PDUs and signals queued for the driver. Beyond it, PDUs of the peer are dropped as if the lower
/// layer had lost them.
const MAX_WAITING: usize = 256;

/// The ten states (Q.2110, clause 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// No connection.
    Idle = 1,
    /// BGN sent.
    OutgoingConnection = 2,
    /// BGN received; the user must respond.
    IncomingConnection = 3,
    /// END sent.
    OutgoingDisconnection = 4,
    /// RS sent.
    OutgoingResync = 5,
    /// RS received; the user must respond.
    IncomingResync = 6,
    /// ER sent.
    OutgoingRecovery = 7,
    /// The peer has recovered; the user must respond.
    RecoveryResponse = 8,
    /// ER received; the user must respond.
    IncomingRecovery = 9,
    /// The connection is open.
    Ready = 10,
}

impl State {
    /// All states.
    pub const ALL: [Self; 10] = [
        Self::Idle,
        Self::OutgoingConnection,
        Self::IncomingConnection,
        Self::OutgoingDisconnection,
        Self::OutgoingResync,
        Self::IncomingResync,
        Self::OutgoingRecovery,
        Self::RecoveryResponse,
        Self::IncomingRecovery,
        Self::Ready,
    ];
}

/// Timer of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Expiry of a protocol timer.
    Timer(Timer),
    /// Departure time of the next SD under rate control.
    Pacing,
}

/// State variables (Q.2110, clause 7.4), for diagnostics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the Recommendation")]
pub struct Variables {
    pub vt_s: SequenceNumber,
    pub vt_ps: SequenceNumber,
    pub vt_a: SequenceNumber,
    pub vt_pa: SequenceNumber,
    pub vt_ms: SequenceNumber,
    pub vt_pd: u32,
    pub vt_cc: u32,
    pub vt_sq: u8,
    pub vr_r: SequenceNumber,
    pub vr_h: SequenceNumber,
    pub vr_mr: SequenceNumber,
    pub vr_sq: u8,
}

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// SDs sent, including retransmissions.
    pub sent: u64,
    /// SDs retransmitted.
    pub retransmissions: u64,
    /// SDs delivered.
    pub delivered: u64,
    /// Octets of the delivered messages.
    pub delivered_octets: u64,
    /// Octets of padding and trailers of the delivered messages.
    pub delivered_framing: u64,
    /// Expiries of `Timer_NO-RESPONSE`, and of `Timer_CC` after the last transmission.
    pub timeouts: u64,
    /// Recoveries from protocol errors, on either side.
    pub recoveries: u64,
    /// Frames that were invalid PDUs or too long.
    pub invalid: u64,
    /// Requests that the state did not allow or that were too long.
    pub refused: u64,
    /// PDUs dropped because the driver had not yet fetched the replies to earlier ones.
    pub overrun: u64,
}

/// Parameters of the last PDUs that an endpoint may have to retransmit.
#[derive(Clone, Debug, Hash)]
pub(super) struct RetransmittedParameters<P> {
    /// SSCOP-UU of BGN, RS or END.
    pub uu: Option<P>,
    /// Source bit of END.
    pub source: Source,
    /// SSCOP-UU of BGAK.
    pub bgak_uu: Option<P>,
}

/// Endpoint of an SSCOP connection. A full-duplex connection consists of two endpoints, joined by a layer that keeps
/// the order of frames.
#[derive(Clone, Debug)]
pub struct Sscop<P: Payload> {
    pub(super) config: Arc<Config>,
    pub(super) state: State,
    pub(super) clear_buffers: bool,
    pub(super) variables: Variables,
    /// True if the window was open when last observed.
    pub(super) window_was_open: bool,
    /// Transmission queue of unnumbered messages.
    pub(super) queue: VecDeque<P>,
    pub(super) transmission_buffer: TransmissionBuffer<P>,
    /// Receive buffer. Positions do not wrap: `delivered` is the position of VR(R).
    pub(super) received: ReceiverBuffer<P>,
    pub(super) delivered: u64,
    pub(super) timers: Timers,
    pub(super) parameters_to_retransmit: RetransmittedParameters<P>,
    /// The lower layer accepts no SD, UD and MD.
    pub(super) lower_layer_busy: bool,
    /// Unanswered POLLs, with their send times.
    pub(super) polls: VecDeque<(SequenceNumber, Time)>,
    pub(super) rtt: RttEstimator,
    /// Only the rate holds back an SD.
    pub(super) paced: bool,
    pub(super) rate: Option<Box<RateControl>>,
    pub(super) stats: Stats,
    pub(super) pending_outputs: VecDeque<Output<Pdu<P>, Signal<P>, Reason>>,
    /// UDs and MDs waiting for the lower layer.
    pub(super) unnumbered: VecDeque<Pdu<P>>,
}

impl<P: Payload> Sscop<P> {
    /// Returns true if a BGN, END, RS or ER has been retransmitted and is still unanswered; `Timer_CC` determines the
    /// next retransmission.
    pub fn is_repeating(&self) -> bool {
        self.variables.vt_cc > 1
    }

    /// Creates an endpoint without a connection.
    pub fn new(config: Arc<Config>) -> Self {
        let in_range = config.in_range();
        let config = if in_range == *config { config } else { Arc::new(in_range) };
        Self {
            state: State::Idle,
            clear_buffers: true,
            variables: Variables { vr_mr: SequenceNumber::new(config.window), ..Variables::default() },
            window_was_open: true,
            queue: VecDeque::new(),
            transmission_buffer: TransmissionBuffer::new(),
            received: ReceiverBuffer::new(),
            delivered: 0,
            timers: Timers::default(),
            parameters_to_retransmit: RetransmittedParameters {
                uu: None,
                source: Source::User,
                bgak_uu: None,
            },
            lower_layer_busy: false,
            polls: VecDeque::new(),
            rtt: RttEstimator::new(&RttConfig::default()),
            paced: false,
            rate: config.rate.map(|rate| Box::new(RateControl::new(rate))),
            stats: Stats::default(),
            pending_outputs: VecDeque::new(),
            unnumbered: VecDeque::new(),
            config,
        }
    }

    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the state variables.
    pub fn variables(&self) -> Variables {
        self.variables
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns true if `timer` is running.
    pub fn is_running(&self, timer: Timer) -> bool {
        self.timers.is_running(timer)
    }

    /// Returns the number of messages waiting for their first transmission.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of SDs sent and not cumulatively acknowledged: VT(S) - VT(A).
    pub fn outstanding(&self) -> u32 {
        self.transmission_buffer.span()
    }

    /// Returns true if nothing is queued or outstanding.
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.transmission_buffer.span() == 0
    }

    /// Resets the estimates of rate and round-trip time after a change of path (RFC 9000, section 9.4). Unanswered
    /// POLLs yield no sample.
    pub fn on_path_change(&mut self) {
        self.discard_round_trip_samples();
        self.rtt = RttEstimator::new(&RttConfig::default());
        if let Some(rate) = &mut self.rate {
            rate.restart();
        }
    }

    /// Discards the unanswered POLLs; they yield no round-trip sample. For use when the peer's PDUs are delayed for
    /// reasons unrelated to the path.
    pub fn discard_round_trip_samples(&mut self) {
        self.polls.clear();
    }

    /// Returns true if, at the last poll, only the rate held back an SD.
    pub fn is_paced(&self) -> bool {
        self.paced
    }

    /// Returns true if the window advances only on the user's request.
    pub fn is_granted_by_user(&self) -> bool {
        self.config.credit == Credit::User
    }

    /// Returns the round-trip time estimator, fed by POLLs.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.rtt.take_latest()
    }

    /// Returns the current rate, if rate control is on.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.as_ref().map(|rate| rate.rate())
    }

    /// Returns the window in SDs: the smaller of the peer's credit and the buffer.
    pub fn window(&self) -> u32 {
        self.variables.vt_ms.distance_from(self.variables.vt_a).min(self.config.buffer)
    }

    /// Handles a request or response.
    ///
    /// # Errors
    ///
    /// [`RequestError`] if the state does not allow it, or if it exceeds the negotiated length. The state is then unchanged.
    pub fn request(&mut self, now: Time, request: Request<P>) -> Result<(), RequestError> {
        let taken = self.check(&request).and_then(|()| self.take_request(now, request));
        self.stats.refused += u64::from(taken.is_err());
        taken
    }

    fn check(&self, request: &Request<P>) -> Result<(), RequestError> {
        let (length, max) = match request {
            Request::Data(mu) | Request::UnitData(mu) | Request::ManagementData(mu) => {
                (mu.len(), self.config.k)
            }
            Request::Establish { uu, .. }
            | Request::AcceptEstablish { uu, .. }
            | Request::Release { uu }
            | Request::Resync { uu } => (uu.as_ref().map_or(0, Payload::len), self.config.j),
            _ => (0, 0),
        };
        if length > max { Err(RequestError::Length) } else { Ok(()) }
    }

    fn take_request(&mut self, now: Time, request: Request<P>) -> Result<(), RequestError> {
        match request {
            // Common to all states.
            Request::UnitData(mu) => self.unnumbered.push_back(Pdu::Ud { mu }),
            Request::ManagementData(mu) => self.unnumbered.push_back(Pdu::Md { mu }),
            Request::Retrieve(which) => return self.retrieve(which),
            request => return self.request_in_state(now, request),
        }
        Ok(())
    }

    fn request_in_state(&mut self, now: Time, request: Request<P>) -> Result<(), RequestError> {
        match self.state {
            State::Idle => self.on_request_in_idle(now, request),
            State::OutgoingConnection => self.on_request_in_outgoing_connection(now, request),
            State::IncomingConnection => self.on_request_in_incoming_connection(now, request),
            State::OutgoingDisconnection => self.on_request_in_outgoing_disconnection(now, request),
            State::OutgoingResync => self.on_request_in_outgoing_resync(now, request),
            State::IncomingResync => self.on_request_in_incoming_resync(now, request),
            State::OutgoingRecovery => self.on_request_in_outgoing_recovery(now, request),
            State::RecoveryResponse => self.on_request_in_recovery_response(now, request),
            State::IncomingRecovery => self.on_request_in_incoming_recovery(now, request),
            State::Ready => self.on_request_in_data_transfer_ready(now, request),
        }
    }

    fn receive(&mut self, now: Time, pdu: Pdu<P>) {
        if self.pending_outputs.len() >= MAX_WAITING {
            self.stats.overrun += 1;
            return;
        }
        if !pdu.is_within(self.config.k, self.config.j) {
            return self.invalid();
        }
        match pdu {
            // Common to all states.
            Pdu::Ud { mu } => return self.signal(Signal::UnitData(mu)),
            Pdu::Md { mu } => return self.signal(Signal::ManagementData(mu)),
            _ => {}
        }
        match self.state {
            State::Idle => self.on_pdu_in_idle(pdu),
            State::OutgoingConnection => self.on_pdu_in_outgoing_connection(now, pdu),
            State::IncomingConnection => self.on_pdu_in_incoming_connection(pdu),
            State::OutgoingDisconnection => self.on_pdu_in_outgoing_disconnection(pdu),
            State::OutgoingResync => self.on_pdu_in_outgoing_resync(now, pdu),
            State::IncomingResync => self.on_pdu_in_incoming_resync(pdu),
            State::OutgoingRecovery => self.on_pdu_in_outgoing_recovery(pdu),
            State::RecoveryResponse => self.on_pdu_in_recovery_response(pdu),
            State::IncomingRecovery => self.on_pdu_in_incoming_recovery(pdu),
            State::Ready => self.on_pdu_in_data_transfer_ready(now, pdu),
        }
    }

    /// An invalid frame changes nothing (Q.2110, clause 7.1).
    fn invalid(&mut self) {
        self.stats.invalid += 1;
        if self.pending_outputs.len() < MAX_WAITING {
            self.error(ErrorCode::Length);
        }
    }

    fn on_expiry(&mut self, now: Time, timer: Timer) {
        self.timers.stop(timer);
        match timer {
            Timer::Cc => self.on_cc(now),
            _ => self.on_data_timer(now, timer),
        }
    }

    /// Queues a PDU.
    pub(super) fn send(&mut self, pdu: Pdu<P>) {
        self.pending_outputs.push_back(Output::Transmit(pdu));
    }

    /// Queues a signal to the user or layer management.
    pub(super) fn signal(&mut self, signal: Signal<P>) {
        self.pending_outputs.push_back(Output::Event(signal));
    }

    /// Reports an error to layer management.
    pub(super) fn error(&mut self, code: ErrorCode) {
        self.signal(Signal::Error(code));
    }
}

impl<P: Payload> Engine for Sscop<P> {
    type Pdu = Pdu<P>;
    type Input = Input<P>;
    type Event = Signal<P>;
    type Reason = Reason;

    fn handle(&mut self, now: Time, input: Input<P>) {
        match input {
            Input::Pdu(pdu) => self.receive(now, pdu),
            Input::Invalid => self.invalid(),
            Input::Request(request) => {
                // A refusal is counted where it occurs.
                let _ = self.request(now, request);
            }
            Input::Credit(messages) => self.grant(messages),
            Input::Busy(busy) => self.lower_layer_busy = busy,
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Signal<P>, Reason> {
        loop {
            if let Some(output) = self.pending_outputs.pop_front() {
                return output;
            }
            if !self.lower_layer_busy
                && let Some(pdu) = self.unnumbered.pop_front()
            {
                return Output::Transmit(pdu);
            }
            let timer = self.timers.next();
            if let Some((at, timer)) = timer
                && at <= now
            {
                self.on_expiry(now, timer);
                continue;
            }
            let paced = self.send_data(now);
            self.paced = paced.is_some();
            if let Some(rate) = &mut self.rate {
                rate.wait(paced);
            }
            if !self.pending_outputs.is_empty() {
                continue;
            }
            // Sending may have started or stopped timers.
            let timer = self.timers.next().map(|(at, timer)| (at, Reason::Timer(timer)));
            let pacing = paced.map(|at| (at, Reason::Pacing));
            let first = timer.into_iter().chain(pacing).min_by_key(|(at, _)| *at);
            return match first {
                Some((at, reason)) if at < Time::MAX => Output::Timeout { at, reason },
                _ => Output::Idle,
            };
        }
    }
}
