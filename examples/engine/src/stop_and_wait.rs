//! A stop-and-wait sender and receiver, as engines.

use crate::Config;
use crate::pdu::Pdu;
use std::collections::VecDeque;
use thalweg_proto::endpoint::{End, EndCounters};
use thalweg_proto::payload::{Payload, Queue as _};
use thalweg_proto::transport::{Event, Input, Limit, LimitClock, ReceiverCounts, SenderStats};
use thalweg_proto::units::Time;
use thalweg_proto::{Engine, Output};

/// Sender of stop-and-wait.
#[derive(Debug)]
pub struct Sender<P: Payload> {
    config: Config,
    queue: P::Queue,
    /// Packet in flight, and the time of its retransmission.
    outstanding: Option<(P, Time)>,
    next: u64,
    is_writable: bool,
    is_finishing: bool,
    is_finished: bool,
    is_paused: bool,
    stats: SenderStats,
    limits: LimitClock,
}

impl<P: Payload> Sender<P> {
    /// Creates a sender without data.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            queue: P::Queue::default(),
            outstanding: None,
            next: 0,
            is_writable: false,
            is_finishing: false,
            is_finished: false,
            is_paused: false,
            stats: SenderStats { window: Some(1.0), ..SenderStats::default() },
            limits: LimitClock::default(),
        }
    }

    fn wait(&mut self, now: Time, limit: Option<Limit>) {
        self.limits.change(now, limit);
    }
}

impl<P: Payload> Engine for Sender<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, _now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Ack(number), .. } if number == self.next && self.outstanding.is_some() => {
                self.outstanding = None;
                self.next += 1;
            }
            Input::Write(data) if !self.is_finishing => self.queue.push(data),
            Input::Finish => self.is_finishing = true,
            Input::Stop => (self.queue, self.is_finishing) = (P::Queue::default(), true),
            Input::Pause => self.is_paused = true,
            Input::Resume => self.is_paused = false,
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, ()> {
        if core::mem::take(&mut self.is_writable) {
            return Output::Event(Event::Writable);
        }
        let packet = match &self.outstanding {
            Some((_, again)) if now < *again => {
                let at = *again;
                self.wait(now, Some(Limit::CongestionWindow));
                return Output::Timeout { at, reason: () };
            }
            Some((packet, _)) => {
                self.stats.retransmissions += 1;
                self.stats.timeouts += 1;
                Some(packet.clone())
            }
            None if self.is_paused => {
                self.wait(now, Some(Limit::Paused));
                return Output::Idle;
            }
            None => {
                let packet = self.queue.take(self.config.segment);
                self.is_writable = packet.is_some() && self.queue.is_empty() && !self.is_finishing;
                packet
            }
        };
        if let Some(packet) = packet {
            self.stats.sent += 1;
            self.outstanding = Some((packet.clone(), now + self.config.timeout));
            return Output::Transmit(Pdu::Data(self.next, packet));
        }
        if self.is_finishing && !self.is_finished {
            self.is_finished = true;
            return Output::Event(Event::Finished);
        }
        self.wait(now, (!self.is_finished).then_some(Limit::Application));
        Output::Idle
    }
}

impl<P: Payload> End for Sender<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        let in_flight = self.outstanding.is_some().into();
        Some(SenderStats { in_flight, limits: self.limits.held(now), ..self.stats })
    }

    fn backlog(&self) -> u64 {
        self.queue.len()
    }

    fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }
}

/// Receiver of stop-and-wait.
#[derive(Debug)]
pub struct Receiver<P> {
    next: u64,
    arrived: VecDeque<P>,
    answer: Option<u64>,
    counts: ReceiverCounts,
    duplicates: u64,
}

impl<P> Default for Receiver<P> {
    fn default() -> Self {
        let arrived = VecDeque::new();
        Self { next: 0, arrived, answer: None, counts: ReceiverCounts::default(), duplicates: 0 }
    }
}

impl<P: Payload> Engine for Receiver<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, _now: Time, input: Self::Input) {
        let Input::Pdu { pdu: Pdu::Data(number, data), .. } = input else { return };
        if number > self.next {
            return; // No sender of this protocol sends it.
        }
        // Duplicates are acknowledged too.
        self.answer = Some(number);
        if number < self.next {
            self.duplicates += 1;
            return;
        }
        self.next += 1;
        self.counts.packets += 1;
        self.counts.payload += u64::from(data.len());
        self.arrived.push_back(data);
    }

    fn poll(&mut self, _now: Time) -> Output<Pdu<P>, Event<P>, ()> {
        if let Some(data) = self.arrived.pop_front() {
            return Output::Event(Event::Delivered(data));
        }
        self.answer.take().map_or(Output::Idle, |number| Output::Transmit(Pdu::Ack(number)))
    }
}

impl<P: Payload> End for Receiver<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts
    }

    fn counters(&self, _now: Time) -> EndCounters {
        EndCounters { duplicates: self.duplicates, ..EndCounters::default() }
    }
}
