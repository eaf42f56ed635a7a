//! Adapter of SSCOP to the endpoint interface of all families.

use super::{
    Config, ErrorCode, Input as SscopInput, Pdu, Reason, Request, RequestError, Signal, Source, Sscop, State,
};
use crate::engine_contract::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{self, Event, Failure, Input, Limit, LimitClock, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Configuration of an [`Endpoint`].
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointConfig {
    /// The parameters of SSCOP.
    pub sscop: Arc<Config>,
    /// Maximum message in octets, 1 to k; written data is divided into such messages.
    pub segment: u32,
}

/// Counters and estimates of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndpointStats {
    /// Statistics common to all senders. The window is the peer's credit, the data in flight is VT(S) - VT(A), and
    /// POLLs yield the round-trip times.
    pub common: SenderStats,
    /// Counters of the engine.
    pub sscop: super::Stats,
}

/// Endpoint of a connection that opens when there is data to send, and closes when all data is acknowledged. It accepts
/// every request of the peer.
///
/// A recovery from a protocol error, or a resynchronisation by the peer, loses messages. An endpoint with
/// unacknowledged data then fails, as when the peer is silent or closes the connection.
#[derive(Clone, Debug)]
pub struct Endpoint<P: Payload> {
    pub(super) sscop: Sscop<P>,
    pub(super) segment: u32,
    pub(super) queue: P::Queue,
    pub(super) is_opened: bool,
    pub(super) finishing: bool,
    pub(super) finished: bool,
    pub(super) writable_event_pending: bool,
    pub(super) failed: Option<Failure>,
    pub(super) failure_reported: bool,
    pub(super) peer_is_silent: bool,
    pub(super) paused: bool,
    /// Delivered messages that the application has not consumed, and the consumed octets of the first.
    pub(super) unconsumed: VecDeque<u32>,
    pub(super) consumed: u64,
    pub(super) limits: LimitClock,
}

impl<P: Payload> Endpoint<P> {
    /// Creates an endpoint without a connection.
    pub fn new(config: &EndpointConfig) -> Self {
        let sscop = Sscop::new(Arc::clone(&config.sscop));
        Self {
            segment: config.segment.clamp(1, config.sscop.in_range().k.max(1)),
            sscop,
            queue: P::Queue::default(),
            is_opened: false,
            finishing: false,
            finished: false,
            writable_event_pending: false,
            failed: None,
            failure_reported: false,
            peer_is_silent: false,
            paused: false,
            unconsumed: VecDeque::new(),
            consumed: 0,
            limits: LimitClock::default(),
        }
    }

    /// Returns the engine.
    pub fn sscop(&self) -> &Sscop<P> {
        &self.sscop
    }

    /// Adapts to a new path to the peer: see [`Sscop::on_path_change`].
    pub fn on_path_change(&mut self) {
        self.sscop.on_path_change();
    }

    /// Discards samples: see [`Sscop::discard_round_trip_samples`].
    pub fn discard_round_trip_samples(&mut self) {
        self.sscop.discard_round_trip_samples();
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.sscop.take_rtt()
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> EndpointStats {
        let sscop = self.sscop.stats();
        let (smoothed_rtt, min_rtt) = self.sscop.rtt().measured();
        EndpointStats {
            common: SenderStats {
                window: Some(f64::from(self.sscop.window())),
                in_flight: self.sscop.outstanding(),
                pacing_rate: self.sscop.rate(),
                smoothed_rtt,
                min_rtt,
                sent: sscop.sent,
                retransmissions: sscop.retransmissions,
                timeouts: sscop.timeouts,
                limits: self.limits.held(now),
                ..SenderStats::default()
            },
            sscop,
        }
    }

    /// Limits the memory of out-of-order messages to `bytes`.
    pub fn set_memory(&mut self, bytes: u64) {
        self.sscop.received.memory = bytes;
    }

    /// Returns the counts of received data.
    pub fn counts(&self) -> ReceiverCounts {
        let stats = self.sscop.stats();
        ReceiverCounts {
            packets: stats.delivered,
            payload: stats.delivered_octets,
            framing: stats.delivered_framing,
        }
    }

    /// Returns the bytes written and not yet passed to the engine, which takes one message at a time.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns the limit that has held the endpoint back since the last poll; `None` before the first poll, and when
    /// all data is acknowledged.
    pub const fn held_by(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// Returns true if all written data has been acknowledged.
    fn is_done(&self) -> bool {
        let is_open = self.sscop.state() == State::Ready;
        self.queue.is_empty() && (!self.is_opened || is_open && self.sscop.is_drained())
    }

    /// Opens the connection, and keeps a message queued at the engine while there is data.
    fn feed(&mut self, now: Time) {
        if self.failed.is_some() || self.queue.is_empty() {
            return;
        }
        let request =
            |sscop: &mut Sscop<P>, request| -> Result<(), RequestError> { sscop.request(now, request) };
        if !self.is_opened && self.sscop.state() == State::Idle {
            self.is_opened =
                request(&mut self.sscop, Request::Establish { uu: None, clear_buffers: true }).is_ok();
        }
        if self.sscop.state() == State::Ready && self.sscop.queued() == 0 {
            self.is_opened = true;
            if let Some(mu) = self.queue.fill(self.segment) {
                // The segment is within k, and the state allows it.
                let _ = request(&mut self.sscop, Request::Data(mu));
            }
        }
    }

    /// Translates a signal into an event for the application; `None` if there is none.
    fn on_signal(&mut self, now: Time, signal: Signal<P>) -> Option<Event<P>> {
        let accept = match signal {
            Signal::Data { mu, .. } => {
                if self.sscop.is_granted_by_user() {
                    self.unconsumed.push_back(mu.len());
                }
                return Some(Event::Delivered(mu));
            }
            Signal::Establish { .. } => Request::AcceptEstablish { uu: None, clear_buffers: true },
            Signal::Recover => {
                self.fail(Failure::Desynchronised);
                Request::AcceptRecover
            }
            Signal::Resync { .. } => {
                self.fail(Failure::Desynchronised);
                Request::AcceptResync
            }
            Signal::Release { source, .. } => {
                let is_silent = core::mem::take(&mut self.peer_is_silent) && source == Source::Sscop;
                self.fail(if is_silent { Failure::NoAnswer } else { Failure::ClosedByPeer });
                return None;
            }
            Signal::Error(ErrorCode::NoAnswer | ErrorCode::NoResponse) => {
                self.peer_is_silent = true;
                return Some(Event::Congestion(transport::Signal::Timeout));
            }
            Signal::Error(ErrorCode::Retransmission(_)) => {
                return Some(Event::Congestion(transport::Signal::Loss));
            }
            _ => return None,
        };
        // The engine may have changed state since the signal: then there is nothing to accept.
        let _ = self.sscop.request(now, accept);
        None
    }

    /// Handles the loss of a connection in use.
    fn fail(&mut self, failure: Failure) {
        let in_use = self.is_opened && !self.finished;
        if in_use && self.failed.is_none() {
            self.failed = Some(failure);
            self.queue = P::Queue::default();
        }
    }

    /// Returns the limit that holds the endpoint back when the engine has nothing to send.
    fn limit(&self, paced: bool) -> Option<Limit> {
        let empty = self.queue.is_empty() && self.sscop.queued() == 0;
        Some(match self.sscop.state() {
            _ if self.finished || self.failed.is_some() => return None,
            _ if empty => Limit::Application,
            _ if self.paused => Limit::Paused,
            State::Ready if paced => Limit::Pacing,
            State::Ready => Limit::ReceiverWindow,
            _ if self.sscop.is_repeating() => Limit::RetransmissionTimer,
            _ => Limit::Network,
        })
    }

    fn on_consumed(&mut self, now: Time, bytes: u64) {
        self.consumed = self.consumed.saturating_add(bytes);
        let mut messages = 0;
        while let Some(length) = self.unconsumed.front().map(|length| u64::from(*length))
            && length <= self.consumed
        {
            self.consumed -= length;
            self.unconsumed.pop_front();
            messages += 1;
        }
        if self.unconsumed.is_empty() {
            self.consumed = 0;
        }
        self.sscop.handle(now, SscopInput::Credit(messages));
    }
}

impl<P: Payload> Engine for Endpoint<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = Reason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu, .. } => self.sscop.handle(now, SscopInput::Pdu(pdu)),
            Input::Write(data) if !self.finishing && self.failed.is_none() => self.queue.push(data),
            Input::Finish => self.finishing = true,
            Input::Stop => {
                self.queue = P::Queue::default();
                self.finishing = true;
            }
            Input::Consumed(bytes) => self.on_consumed(now, bytes),
            Input::Pause => {
                self.paused = true;
                self.sscop.handle(now, SscopInput::Busy(true));
            }
            Input::Resume => {
                self.paused = false;
                self.sscop.handle(now, SscopInput::Busy(false));
            }
            Input::Write(_) | Input::Feedback(_) => {}
        }
        self.feed(now);
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, Reason> {
        loop {
            if core::mem::take(&mut self.writable_event_pending) {
                return Output::Event(Event::Writable);
            }
            if let Some(failure) = self.failed.filter(|_| !self.failure_reported) {
                self.failure_reported = true;
                // Release what remains of the connection; a silent peer has closed it already.
                let _ = self.sscop.request(now, Request::Release { uu: None });
                return Output::Event(Event::Failed(failure));
            }
            if self.finishing && !self.finished && self.failed.is_none() && self.is_done() {
                self.finished = true;
                if self.is_opened {
                    let _ = self.sscop.request(now, Request::Release { uu: None });
                }
                return Output::Event(Event::Finished);
            }
            let output = self.sscop.poll(now);
            self.feed(now);
            match output {
                Output::Transmit(pdu) => {
                    let drained = self.queue.is_empty() && self.sscop.queued() == 0;
                    self.writable_event_pending = matches!(pdu, Pdu::Sd { .. }) && drained && !self.finishing;
                    return Output::Transmit(pdu);
                }
                Output::Event(signal) => {
                    let event = self.on_signal(now, signal);
                    self.feed(now);
                    if let Some(event) = event {
                        return Output::Event(event);
                    }
                }
                Output::Timeout { at, reason } => {
                    let limit = self.limit(reason == Reason::Pacing || self.sscop.is_paced());
                    self.limits.change(now, limit);
                    return Output::Timeout { at, reason };
                }
                Output::Idle => {
                    let limit = self.limit(self.sscop.is_paced());
                    self.limits.change(now, limit);
                    return Output::Idle;
                }
            }
        }
    }
}
