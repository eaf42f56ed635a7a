//! SSCOP in the words that endpoints of every family share.

use super::{
    Config, ErrorCode, Input as SscopInput, Pdu, Reason, Refusal, Request, Signal, Source, Sscop, State,
};
use crate::engine::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{self, Event, Failure, Input, Limit, LimitClock, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The settings of an [`Endpoint`].
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointConfig {
    /// The parameters of SSCOP.
    pub sscop: Arc<Config>,
    /// The longest message in octets into which written data is cut, 1 to k.
    pub segment: u32,
}

/// The counters and estimates of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndpointStats {
    /// The statistics that all senders have. The window is the peer's credit, in flight is VT(S) - VT(A), round-trip
    /// times are those of POLLs.
    pub common: SenderStats,
    /// The counters of the engine.
    pub sscop: super::Stats,
}

/// One end of a connection that opens itself when there is something to send, and closes itself when all has arrived. What
/// a peer asks for is accepted.
///
/// A recovery from an error of the protocol, or a resynchronisation by the peer, loses messages. An endpoint that was
/// sending fails then, as when the peer is silent or closes the connection.
#[derive(Clone, Debug)]
pub struct Endpoint<P: Payload> {
    pub(super) sscop: Sscop<P>,
    pub(super) segment: u32,
    pub(super) queue: P::Queue,
    pub(super) opened: bool,
    pub(super) finishing: bool,
    pub(super) finished: bool,
    pub(super) writable: bool,
    pub(super) failed: Option<Failure>,
    pub(super) failure_told: bool,
    pub(super) silent: bool,
    pub(super) paused: bool,
    /// Delivered messages that the application has not consumed, and how much of the first it has.
    pub(super) unconsumed: VecDeque<u32>,
    pub(super) consumed: u64,
    pub(super) limits: LimitClock,
}

impl<P: Payload> Endpoint<P> {
    /// An end without a connection.
    pub fn new(config: &EndpointConfig) -> Self {
        let sscop = Sscop::new(Arc::clone(&config.sscop));
        Self {
            segment: config.segment.clamp(1, config.sscop.in_range().k.max(1)),
            sscop,
            queue: P::Queue::default(),
            opened: false,
            finishing: false,
            finished: false,
            writable: false,
            failed: None,
            failure_told: false,
            silent: false,
            paused: false,
            unconsumed: VecDeque::new(),
            consumed: 0,
            limits: LimitClock::default(),
        }
    }

    /// The engine.
    pub fn sscop(&self) -> &Sscop<P> {
        &self.sscop
    }

    /// The peer is reached over another path from now on: see [`Sscop::renew`].
    pub fn renew(&mut self) {
        self.sscop.renew();
    }

    /// See [`Sscop::discard_round_trip_samples`].
    pub fn discard_round_trip_samples(&mut self) {
        self.sscop.discard_round_trip_samples();
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.sscop.take_rtt()
    }

    /// Counters and beliefs at `now`.
    pub fn stats(&self, now: Time) -> EndpointStats {
        let sscop = self.sscop.stats();
        let (smoothed_rtt, min_rtt) = self.sscop.rtt().measured();
        EndpointStats {
            common: SenderStats {
                window: Some(f64::from(self.sscop.window())),
                ssthresh: None,
                in_flight: self.sscop.outstanding(),
                pacing_rate: self.sscop.rate(),
                smoothed_rtt,
                min_rtt,
                sent: sscop.sent,
                retransmissions: sscop.retransmissions,
                timeouts: sscop.timeouts,
                limits: self.limits.held(now),
            },
            sscop,
        }
    }

    /// From now on so many bytes of messages wait for others that are missing, at most.
    pub fn set_memory(&mut self, bytes: u64) {
        self.sscop.received.memory = bytes;
    }

    /// The data that the receiver has taken so far.
    pub fn counts(&self) -> ReceiverCounts {
        let stats = self.sscop.stats();
        ReceiverCounts {
            packets: stats.delivered,
            payload: stats.delivered_octets,
            framing: stats.delivered_framing,
        }
    }

    /// Bytes written and not yet handed to the engine, which takes a message at a time.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// The limit that has held the endpoint back since the last poll; `None` before the first, and when all is done.
    pub const fn held_by(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// True when everything that was written has been acknowledged.
    fn is_done(&self) -> bool {
        let is_open = self.sscop.state() == State::Ready;
        self.queue.is_empty() && (!self.opened || is_open && self.sscop.is_at_rest())
    }

    /// Opens the connection, and keeps a message ready for the engine as long as there is any.
    fn feed(&mut self, now: Time) {
        if self.failed.is_some() || self.queue.is_empty() {
            return;
        }
        let request = |sscop: &mut Sscop<P>, request| -> Result<(), Refusal> { sscop.request(now, request) };
        if !self.opened && self.sscop.state() == State::Idle {
            self.opened =
                request(&mut self.sscop, Request::Establish { uu: None, clear_buffers: true }).is_ok();
        }
        if self.sscop.state() == State::Ready && self.sscop.queued() == 0 {
            self.opened = true;
            if let Some(mu) = self.queue.fill(self.segment) {
                // The segment is within k, and the state is right.
                let _ = request(&mut self.sscop, Request::Data(mu));
            }
        }
    }

    /// The event that a signal makes for the application; `None` if it makes none.
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
                let silent = core::mem::take(&mut self.silent) && source == Source::Sscop;
                self.fail(if silent { Failure::NoAnswer } else { Failure::Released });
                return None;
            }
            Signal::Error(ErrorCode::NoAnswer | ErrorCode::NoResponse) => {
                self.silent = true;
                return Some(Event::Congestion(transport::Signal::Timeout));
            }
            Signal::Error(ErrorCode::Retransmission(_)) => {
                return Some(Event::Congestion(transport::Signal::Duplicates));
            }
            _ => return None,
        };
        // The engine may have moved on since it said so: then there is nothing to accept.
        let _ = self.sscop.request(now, accept);
        None
    }

    /// The connection was lost while it was in use.
    fn fail(&mut self, failure: Failure) {
        let in_use = self.opened && !self.finished;
        if in_use && self.failed.is_none() {
            self.failed = Some(failure);
            self.queue = P::Queue::default();
        }
    }

    /// The limit that holds the endpoint back when the engine has nothing to send.
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
            if core::mem::take(&mut self.writable) {
                return Output::Event(Event::Writable);
            }
            if let Some(failure) = self.failed.filter(|_| !self.failure_told) {
                self.failure_told = true;
                // What is left of the connection closes; a peer that is silent closed it already.
                let _ = self.sscop.request(now, Request::Release { uu: None });
                return Output::Event(Event::Failed(failure));
            }
            if self.finishing && !self.finished && self.failed.is_none() && self.is_done() {
                self.finished = true;
                if self.opened {
                    let _ = self.sscop.request(now, Request::Release { uu: None });
                }
                return Output::Event(Event::Finished);
            }
            let output = self.sscop.poll(now);
            self.feed(now);
            match output {
                Output::Transmit(pdu) => {
                    let drained = self.queue.is_empty() && self.sscop.queued() == 0;
                    self.writable = matches!(pdu, Pdu::Sd { .. }) && drained && !self.finishing;
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
