//! One end of a connection: its variables, what it is told and what it answers.

use super::buffer::{ReceiverBuffer, TransmissionBuffer};
use super::rate::RateControl;
use super::timers::Timers;
use super::{Config, Credit, ErrorCode, Input, Number, Pdu, Refusal, Request, Signal, Source, Timer};
use crate::engine::{Engine, Output};
use crate::payload::Payload;
use crate::units::{Duration, Rate, Time};
use crate::window::{RttConfig, RttEstimator};
use std::collections::VecDeque;
use std::sync::Arc;

/// PDUs and signals that wait for the driver at most before further PDUs of the peer are dropped, as if the layer below
/// had lost them.
const MAX_WAITING: usize = 256;

/// The ten states (Q.2110, clause 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// No connection.
    Idle = 1,
    /// BGN was sent.
    OutgoingConnection = 2,
    /// BGN came; the user has to answer.
    IncomingConnection = 3,
    /// END was sent.
    OutgoingDisconnection = 4,
    /// RS was sent.
    OutgoingResync = 5,
    /// RS came; the user has to answer.
    IncomingResync = 6,
    /// ER was sent.
    OutgoingRecovery = 7,
    /// The peer has recovered; the user has to answer.
    RecoveryResponse = 8,
    /// ER came; the user has to answer.
    IncomingRecovery = 9,
    /// The connection is open.
    Ready = 10,
}

impl State {
    /// Every state.
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

/// The reason for which an end wants to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A timer expires.
    Timer(Timer),
    /// The rate lets the next SD go.
    Pacing,
}

/// The state variables (Q.2110, clause 7.4), for people and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the Recommendation")]
pub struct Variables {
    pub vt_s: Number,
    pub vt_ps: Number,
    pub vt_a: Number,
    pub vt_pa: Number,
    pub vt_ms: Number,
    pub vt_pd: u32,
    pub vt_cc: u32,
    pub vt_sq: u8,
    pub vr_r: Number,
    pub vr_h: Number,
    pub vr_mr: Number,
    pub vr_sq: u8,
}

/// The counters of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// SDs sent, the repeated ones included.
    pub sent: u64,
    /// SDs sent again.
    pub retransmissions: u64,
    /// SDs that arrived and were delivered.
    pub delivered: u64,
    /// Octets of the messages in them.
    pub delivered_octets: u64,
    /// Octets of padding and trailers around those messages.
    pub delivered_framing: u64,
    /// Expiries of `Timer_NO-RESPONSE`, and of `Timer_CC` after the last try.
    pub timeouts: u64,
    /// Recoveries from errors of the protocol, on either side.
    pub recoveries: u64,
    /// Frames that were no PDU, or too long.
    pub invalid: u64,
    /// Requests that the state did not allow or that were too long.
    pub refused: u64,
    /// PDUs dropped because the driver had not yet fetched the answers to earlier ones.
    pub overrun: u64,
}

/// The parameters of the PDUs that an end last sent and may have to repeat.
#[derive(Clone, Debug, Hash)]
pub(super) struct Repeats<P> {
    /// SSCOP-UU of BGN, RS or END.
    pub uu: Option<P>,
    /// The source of END.
    pub source: Source,
    /// SSCOP-UU of BGAK.
    pub bgak_uu: Option<P>,
}

/// One end of an SSCOP connection. Full duplex: two of these, joined by a layer that keeps the order of frames, are a
/// connection.
#[derive(Clone, Debug)]
pub struct Sscop<P: Payload> {
    pub(super) config: Arc<Config>,
    pub(super) state: State,
    pub(super) clear_buffers: bool,
    pub(super) v: Variables,
    /// The window was open when it was last looked at.
    pub(super) credit: bool,
    /// The transmission queue: messages without a number yet.
    pub(super) queue: VecDeque<P>,
    pub(super) sent: TransmissionBuffer<P>,
    /// The receiver buffer. Places do not wrap: `delivered` is the place of VR(R).
    pub(super) received: ReceiverBuffer<P>,
    pub(super) delivered: u64,
    pub(super) timers: Timers,
    pub(super) repeats: Repeats<P>,
    /// The layer below takes no SD, UD and MD.
    pub(super) busy: bool,
    /// The POLLs that have not been answered, with the times at which they were sent.
    pub(super) polls: VecDeque<(Number, Time)>,
    pub(super) rtt: RttEstimator,
    /// An SD could go but for the rate.
    pub(super) paced: bool,
    pub(super) rate: Option<Box<RateControl>>,
    pub(super) stats: Stats,
    pub(super) waiting: VecDeque<Output<Pdu<P>, Signal<P>, Reason>>,
    /// UDs and MDs that wait for the layer below.
    pub(super) unnumbered: VecDeque<Pdu<P>>,
}

impl<P: Payload> Sscop<P> {
    /// True while the peer has not answered what asks it to open, close or renew the connection, which has been sent more
    /// than once: `Timer_CC` decides when it goes again.
    pub fn is_repeating(&self) -> bool {
        self.v.vt_cc > 1
    }

    /// An end without a connection.
    pub fn new(config: Arc<Config>) -> Self {
        let in_range = config.in_range();
        let config = if in_range == *config { config } else { Arc::new(in_range) };
        Self {
            state: State::Idle,
            clear_buffers: true,
            v: Variables { vr_mr: Number::new(config.window), ..Variables::default() },
            credit: true,
            queue: VecDeque::new(),
            sent: TransmissionBuffer::new(),
            received: ReceiverBuffer::new(),
            delivered: 0,
            timers: Timers::default(),
            repeats: Repeats { uu: None, source: Source::User, bgak_uu: None },
            busy: false,
            polls: VecDeque::new(),
            rtt: RttEstimator::new(&RttConfig::default()),
            paced: false,
            rate: config.rate.map(|rate| Box::new(RateControl::new(rate))),
            stats: Stats::default(),
            waiting: VecDeque::new(),
            unnumbered: VecDeque::new(),
            config,
        }
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// The state variables.
    pub fn variables(&self) -> Variables {
        self.v
    }

    /// The counters so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The timer of that name runs.
    pub fn is_running(&self, timer: Timer) -> bool {
        self.timers.is_running(timer)
    }

    /// Messages that wait for their first transmission.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// SDs sent and not acknowledged in sequence: VT(S) - VT(A).
    pub fn outstanding(&self) -> u32 {
        self.sent.span()
    }

    /// Nothing waits and nothing is under way.
    pub fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.sent.span() == 0
    }

    /// The peer is reached over another path from now on (RFC 9000, section 9.4): rates and round-trip times are found anew,
    /// and POLLs that are not answered yet measure nothing.
    pub fn renew(&mut self) {
        self.discard_round_trip_samples();
        self.rtt = RttEstimator::new(&RttConfig::default());
        if let Some(rate) = &mut self.rate {
            rate.restart();
        }
    }

    /// Forgets the POLLs that are not answered yet, so that they measure no round trip: what the peer sends is late for
    /// a reason that is not the path's.
    pub fn discard_round_trip_samples(&mut self) {
        self.polls.clear();
    }

    /// True if, when last polled, an SD could have gone but for the rate.
    pub fn is_paced(&self) -> bool {
        self.paced
    }

    /// The window widens only when the user says so.
    pub fn is_granted_by_user(&self) -> bool {
        self.config.credit == Credit::User
    }

    /// Round-trip times of POLLs.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.rtt.take_latest()
    }

    /// The present rate, where there is rate control.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.as_ref().map(|rate| rate.rate())
    }

    /// SDs that may be sent before the window closes: the peer's, or the bound on what is kept.
    pub fn window(&self) -> u32 {
        self.v.vt_ms.after(self.v.vt_a).min(self.config.buffer)
    }

    /// Takes a request or response.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if the state does not allow it, or if it carries more octets than agreed. Nothing has changed then.
    pub fn request(&mut self, now: Time, request: Request<P>) -> Result<(), Refusal> {
        let taken = self.check(&request).and_then(|()| self.take_request(now, request));
        self.stats.refused += u64::from(taken.is_err());
        taken
    }

    fn check(&self, request: &Request<P>) -> Result<(), Refusal> {
        let (length, most) = match request {
            Request::Data(mu) | Request::UnitData(mu) | Request::ManagementData(mu) => {
                (mu.len(), self.config.k)
            }
            Request::Establish { uu, .. }
            | Request::AcceptEstablish { uu, .. }
            | Request::Release { uu }
            | Request::Resync { uu } => (uu.as_ref().map_or(0, Payload::len), self.config.j),
            _ => (0, 0),
        };
        if length > most { Err(Refusal::Length) } else { Ok(()) }
    }

    fn take_request(&mut self, now: Time, request: Request<P>) -> Result<(), Refusal> {
        match request {
            // The same in every state.
            Request::UnitData(mu) => self.unnumbered.push_back(Pdu::Ud { mu }),
            Request::ManagementData(mu) => self.unnumbered.push_back(Pdu::Md { mu }),
            Request::Retrieve(which) => return self.retrieve(which),
            request => return self.request_in_state(now, request),
        }
        Ok(())
    }

    fn request_in_state(&mut self, now: Time, request: Request<P>) -> Result<(), Refusal> {
        match self.state {
            State::Idle => self.idle_request(now, request),
            State::OutgoingConnection => self.outgoing_connection_request(now, request),
            State::IncomingConnection => self.incoming_connection_request(now, request),
            State::OutgoingDisconnection => self.outgoing_disconnection_request(now, request),
            State::OutgoingResync => self.outgoing_resync_request(now, request),
            State::IncomingResync => self.incoming_resync_request(now, request),
            State::OutgoingRecovery => self.outgoing_recovery_request(now, request),
            State::RecoveryResponse => self.recovery_response_request(now, request),
            State::IncomingRecovery => self.incoming_recovery_request(now, request),
            State::Ready => self.ready_request(now, request),
        }
    }

    fn receive(&mut self, now: Time, pdu: Pdu<P>) {
        if self.waiting.len() >= MAX_WAITING {
            self.stats.overrun += 1;
            return;
        }
        if !pdu.is_within(self.config.k, self.config.j) {
            return self.invalid();
        }
        match pdu {
            // The same in every state.
            Pdu::Ud { mu } => return self.signal(Signal::UnitData(mu)),
            Pdu::Md { mu } => return self.signal(Signal::ManagementData(mu)),
            _ => {}
        }
        match self.state {
            State::Idle => self.idle_pdu(pdu),
            State::OutgoingConnection => self.outgoing_connection_pdu(now, pdu),
            State::IncomingConnection => self.incoming_connection_pdu(pdu),
            State::OutgoingDisconnection => self.outgoing_disconnection_pdu(pdu),
            State::OutgoingResync => self.outgoing_resync_pdu(now, pdu),
            State::IncomingResync => self.incoming_resync_pdu(pdu),
            State::OutgoingRecovery => self.outgoing_recovery_pdu(pdu),
            State::RecoveryResponse => self.recovery_response_pdu(pdu),
            State::IncomingRecovery => self.incoming_recovery_pdu(pdu),
            State::Ready => self.ready_pdu(now, pdu),
        }
    }

    /// A frame that is no PDU changes nothing (Q.2110, clause 7.1).
    fn invalid(&mut self) {
        self.stats.invalid += 1;
        if self.waiting.len() < MAX_WAITING {
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

    /// Sends a PDU.
    pub(super) fn send(&mut self, pdu: Pdu<P>) {
        self.waiting.push_back(Output::Transmit(pdu));
    }

    /// Tells the user or layer management.
    pub(super) fn signal(&mut self, signal: Signal<P>) {
        self.waiting.push_back(Output::Event(signal));
    }

    /// Tells layer management.
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
                // Counted where it is refused.
                let _ = self.request(now, request);
            }
            Input::Credit(messages) => self.grant(messages),
            Input::Busy(busy) => self.busy = busy,
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Signal<P>, Reason> {
        loop {
            if let Some(output) = self.waiting.pop_front() {
                return output;
            }
            if !self.busy
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
            if !self.waiting.is_empty() {
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
