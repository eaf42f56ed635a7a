//! Unreliable datagrams: written data is sent, optionally at a limited rate; received data is delivered as it arrives.

mod family_adapter;

use crate::engine_contract::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{Event, Input, Limit, LimitClock, ReceiverCounts, SenderStats};
use crate::units::{Bytes, Rate, Time};
use crate::wakeup_lateness::Lateness;

/// Settings of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// Maximum payload in bytes, at least 1.
    pub segment: u32,
    /// Header bytes on the wire, which count against the rate.
    pub header: u32,
    /// Maximum rate; `None` sends written data at once.
    pub rate: Option<Rate>,
}

/// The reason for a source's timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceReason {
    /// Pacing: departure time of the next datagram.
    Pacing,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pdu<P>(pub P);

/// Sends datagrams.
#[derive(Clone, Debug)]
pub struct Source<P: Payload> {
    config: SourceConfig,
    queue: P::Queue,
    next_send: Time,
    lateness: Lateness,
    writable: bool,
    finishing: bool,
    finished: bool,
    paused: bool,
    sent: u64,
    limits: LimitClock,
}

impl<P: Payload> Source<P> {
    /// Creates a source with nothing to send.
    pub fn new(config: SourceConfig) -> Self {
        Self {
            config,
            queue: P::Queue::default(),
            next_send: Time::ZERO,
            lateness: Lateness::default(),
            writable: false,
            finishing: false,
            finished: false,
            paused: false,
            sent: 0,
            limits: LimitClock::default(),
        }
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> SenderStats {
        SenderStats { sent: self.sent, limits: self.limits.held(now), ..SenderStats::default() }
    }

    /// Returns the number of bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns the limit that has held the source back since the last poll; `None` before the first, and when all is
    /// done.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }
}

impl<P: Payload> Engine for Source<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SourceReason;

    fn handle(&mut self, _now: Time, input: Self::Input) {
        match input {
            Input::Write(data) if !self.finishing => self.queue.push(data),
            Input::Finish => self.finishing = true,
            Input::Stop => {
                self.queue = P::Queue::default();
                self.finishing = true;
            }
            Input::Pause => self.paused = true,
            Input::Resume => self.paused = false,
            Input::Write(_) | Input::Pdu { .. } | Input::Consumed(_) | Input::Feedback(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, SourceReason> {
        if core::mem::take(&mut self.writable) {
            return Output::Event(Event::Writable);
        }
        if self.queue.is_empty() {
            self.lateness.wait(None);
            if self.finishing && !self.finished {
                self.finished = true;
                return Output::Event(Event::Finished);
            }
            // No limit holds back a source that has sent everything.
            self.limits.change(now, (!self.finished).then_some(Limit::Application));
            return Output::Idle;
        }
        if self.paused {
            self.lateness.wait(None);
            self.limits.change(now, Some(Limit::Paused));
            return Output::Idle;
        }
        if self.config.rate.is_some() && self.next_send > now {
            self.lateness.wait(Some(self.next_send));
            self.limits.change(now, Some(Limit::Pacing));
            return Output::Timeout { at: self.next_send, reason: SourceReason::Pacing };
        }
        let Some(payload) = self.queue.take(self.config.segment) else { return Output::Idle };
        if let Some(rate) = self.config.rate {
            let wire = Bytes::new(u64::from(payload.len()) + u64::from(self.config.header));
            let departure = self.lateness.departure(self.next_send, now);
            self.next_send = self.next_send.max(departure) + rate.transmission_time(wire);
        }
        self.sent += 1;
        self.writable = self.queue.is_empty() && !self.finishing;
        Output::Transmit(Pdu(payload))
    }
}

/// Delivers datagrams as they arrive.
#[derive(Clone, Debug, Default)]
pub struct Sink<P> {
    arrived: std::collections::VecDeque<P>,
    counts: ReceiverCounts,
}

impl<P> Sink<P> {
    /// Creates a sink.
    pub fn new() -> Self {
        Self { arrived: std::collections::VecDeque::new(), counts: ReceiverCounts::default() }
    }

    /// Returns the counts of received datagrams.
    pub fn counts(&self) -> ReceiverCounts {
        self.counts
    }
}

impl<P: Payload> Engine for Sink<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SourceReason;

    fn handle(&mut self, _now: Time, input: Self::Input) {
        if let Input::Pdu { pdu: Pdu(data), .. } = input {
            self.counts.packets += 1;
            self.counts.payload += u64::from(data.len());
            self.arrived.push_back(data);
        }
    }

    fn poll(&mut self, _now: Time) -> Output<Pdu<P>, Event<P>, SourceReason> {
        self.arrived.pop_front().map_or(Output::Idle, |data| Output::Event(Event::Delivered(data)))
    }
}
