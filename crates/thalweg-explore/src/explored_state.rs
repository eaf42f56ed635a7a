//! A state: two endpoints, the packets in flight between them, and the remaining faults.

use super::endpoint_pair::End;
use super::fnv_hash::Fnv;
use super::{Bounds, Scheme, Tag};
use core::hash::{Hash, Hasher as _};
use std::collections::VecDeque;
use thalweg_proto::Ecn;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine, Output};

/// Maximum number of outputs at one moment; more are a loop.
const MAX_OUTPUTS: u32 = 10_000;

/// A step from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first packet in flight to an endpoint arrives.
    Arrive(End),
    /// The first packet is lost.
    Lose(End),
    /// The first packet is duplicated: the copy follows directly.
    Copy(End),
    /// The first packet is delayed: it may arrive at any time.
    Hold(End),
    /// A delayed packet arrives.
    Late(End, u8),
    /// The timer of an endpoint expires when it is due.
    Expire(End),
    /// The timer of an endpoint expires before it is due.
    ExpireEarly(End),
    /// The sender's pacing time comes.
    Go,
    /// The application reads one delivered byte.
    Read,
}

/// Remaining number of faults of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    pub losses: u8,
    pub duplicates: u8,
    pub delays: u8,
    pub expiries: u8,
}

/// An output of an endpoint, for traces.
#[derive(Clone, Debug)]
pub enum TraceEvent<P> {
    Pdu(End, P),
    Delivered(Tag),
    LeftOut(u32),
    Finished,
}

/// A state of the exploration.
pub struct State<S: Scheme> {
    sender: S::Sender,
    receiver: S::Receiver,
    /// Clocks of both endpoints, the sender's first.
    clocks: [Time; 2],
    timer_expiries: [Time; 2],
    /// True if the sender waits for pacing.
    is_paced: bool,
    /// Packets in flight to each endpoint, in order, and delayed ones.
    queues: [VecDeque<S::Pdu>; 2],
    delayed_pdus: [Vec<S::Pdu>; 2],
    faults: Faults,
    messages: u32,
    delivered: u32,
    /// Packets missing from the unit that is being delivered ([`Scheme::tolerance`]).
    left_out: u32,
    /// True if the application reads in steps of its own; and the number of unread bytes.
    slow_reader: bool,
    unread: u32,
    finished: bool,
}

impl<S: Scheme> Clone for State<S> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            receiver: self.receiver.clone(),
            queues: self.queues.clone(),
            delayed_pdus: self.delayed_pdus.clone(),
            ..*self
        }
    }
}

impl<S: Scheme> State<S> {
    /// Creates the first state: all messages are written, and the first packets have left.
    pub fn first(
        scheme: &S,
        bounds: &Bounds,
        observe: &mut impl FnMut(TraceEvent<S::Pdu>),
    ) -> Result<Self, String> {
        let (sender, receiver) = scheme.ends(bounds);
        let mut state = Self {
            sender,
            receiver,
            clocks: [Time::ZERO; 2],
            timer_expiries: [Time::MAX; 2],
            is_paced: false,
            queues: [VecDeque::new(), VecDeque::new()],
            delayed_pdus: [Vec::new(), Vec::new()],
            faults: Faults {
                losses: bounds.losses,
                duplicates: bounds.duplicates,
                delays: bounds.delays,
                expiries: bounds.expiries,
            },
            messages: bounds.messages,
            delivered: 0,
            left_out: 0,
            slow_reader: bounds.slow_reader,
            unread: 0,
            finished: false,
        };
        let all = Tag { start: 0, length: bounds.messages };
        state.sender.handle(Time::ZERO, Input::Write(all));
        state.sender.handle(Time::ZERO, Input::Finish);
        state.drain(scheme, End::Receiver, observe)?;
        state.drain(scheme, End::Sender, observe)?;
        for _ in 0..S::SET_UP {
            let Some(step @ Step::Arrive(_)) = state.next_fault_free_step() else { break };
            state.take(scheme, step, observe)?;
        }
        Ok(state)
    }

    /// Returns a hash of the state that determines the future; `with_faults` includes the remaining faults.
    pub fn digest(&self, scheme: &S, with_faults: bool) -> u128 {
        let mut hash = Fnv::new();
        let (sender, receiver) = (&self.sender, &self.receiver);
        scheme.digest_ends((sender, self.clocks[0]), (receiver, self.clocks[1]), &mut hash);
        for end in End::BOTH_ENDS {
            self.wait(end).hash(&mut hash);
            let (queue, held) = (&self.queues[end.index()], &self.delayed_pdus[end.index()]);
            (queue.len(), held.len()).hash(&mut hash);
            for pdu in queue.iter().chain(held) {
                scheme.digest_pdu(pdu, end, sender, receiver, &mut hash);
            }
        }
        (self.delivered, self.left_out, self.unread, self.finished).hash(&mut hash);
        if with_faults {
            self.faults.hash(&mut hash);
        }
        hash.write_u8(0);
        hash.value()
    }

    /// Returns the number of packets in flight.
    pub fn packets_in_flight(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum::<usize>()
            + self.delayed_pdus.iter().map(Vec::len).sum::<usize>()
    }

    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    pub const fn delivered(&self) -> u32 {
        self.delivered
    }

    pub const fn receiver(&self) -> &S::Receiver {
        &self.receiver
    }

    /// Returns the time until an endpoint's timer expires; [`Duration::MAX`] without one.
    pub fn wait(&self, end: End) -> Duration {
        let due = self.timer_expiries[end.index()];
        if due == Time::MAX { Duration::MAX } else { due.since(self.clocks[end.index()]) }
    }

    /// Returns true if an endpoint's timer is the next to expire when nothing is in flight.
    fn is_next(&self, end: End) -> bool {
        let wait = self.wait(end);
        wait < Duration::MAX && End::BOTH_ENDS.iter().all(|&other| wait <= self.wait(other))
    }

    /// Returns the next step without further faults: delayed packets arrive, then packets in flight; then the
    /// application reads; then the earliest timer expires. `None` when nothing is pending.
    pub fn next_fault_free_step(&self) -> Option<Step> {
        let late = End::BOTH_ENDS.into_iter().find(|end| !self.delayed_pdus[end.index()].is_empty());
        let first = End::BOTH_ENDS.into_iter().find(|end| !self.queues[end.index()].is_empty());
        late.map(|end| Step::Late(end, 0))
            .or_else(|| first.map(Step::Arrive))
            .or_else(|| (self.unread > 0).then_some(Step::Read))
            .or_else(|| self.is_paced.then_some(Step::Go))
            .or_else(|| End::BOTH_ENDS.into_iter().find(|&end| self.is_next(end)).map(Step::Expire))
    }

    /// Returns all possible steps.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(12);
        if self.unread > 0 {
            steps.push(Step::Read);
        }
        // Unread data counts as in flight to the application.
        let is_quiescent = self.packets_in_flight() == 0 && self.unread == 0;
        for end in End::BOTH_ENDS {
            if !self.queues[end.index()].is_empty() {
                steps.push(Step::Arrive(end));
                let faults = self.faults;
                for (left, step) in [
                    (faults.losses, Step::Lose(end)),
                    (faults.duplicates, Step::Copy(end)),
                    (faults.delays, Step::Hold(end)),
                ] {
                    if left > 0 {
                        steps.push(step);
                    }
                }
            }
            steps.extend((0..self.delayed_pdus[end.index()].len() as u8).map(|index| Step::Late(end, index)));
            if self.is_paced && end == End::Sender {
                // The delay of packets is unrelated to the pacing rate.
                steps.push(Step::Go);
            } else if is_quiescent && self.is_next(end) {
                // After the end, further faults reach nothing new.
                if !self.finished {
                    steps.push(Step::Expire(end));
                }
            } else if self.faults.expiries > 0 && self.timer_expiries[end.index()] < Time::MAX {
                steps.push(Step::ExpireEarly(end));
            }
        }
        steps
    }

    /// Takes a step, which must be possible; reports the endpoints' outputs to `observe`.
    pub fn take(
        &mut self,
        scheme: &S,
        step: Step,
        observe: &mut impl FnMut(TraceEvent<S::Pdu>),
    ) -> Result<(), String> {
        match step {
            Step::Arrive(end) => {
                if let Some(pdu) = self.queues[end.index()].pop_front() {
                    return self.receive(scheme, end, pdu, observe);
                }
            }
            Step::Late(end, index) => {
                if usize::from(index) < self.delayed_pdus[end.index()].len() {
                    let pdu = self.delayed_pdus[end.index()].remove(index.into());
                    return self.receive(scheme, end, pdu, observe);
                }
            }
            Step::Lose(end) => {
                self.faults.losses -= 1;
                self.queues[end.index()].pop_front();
            }
            Step::Copy(end) => {
                self.faults.duplicates -= 1;
                let copy = self.queues[end.index()].front().cloned();
                copy.into_iter().for_each(|copy| self.queues[end.index()].push_front(copy));
            }
            Step::Hold(end) => {
                self.faults.delays -= 1;
                let pdu = self.queues[end.index()].pop_front();
                self.delayed_pdus[end.index()].extend(pdu);
            }
            Step::Expire(end) => {
                let wait = self.wait(end);
                for clock in &mut self.clocks {
                    *clock += wait;
                }
                return self.drain(scheme, end, observe);
            }
            Step::ExpireEarly(end) => {
                self.faults.expiries -= 1;
                self.clocks[end.index()] += self.wait(end);
                return self.drain(scheme, end, observe);
            }
            Step::Go => {
                self.clocks[End::Sender.index()] += self.wait(End::Sender);
                return self.drain(scheme, End::Sender, observe);
            }
            Step::Read => {
                self.unread -= 1;
                let now = self.clocks[End::Receiver.index()];
                self.receiver.handle(now, Input::Consumed(1));
                return self.drain(scheme, End::Receiver, observe);
            }
        }
        Ok(())
    }

    /// Returns the packet that a step is about.
    pub fn subject(&self, step: Step) -> Option<&S::Pdu> {
        match step {
            Step::Arrive(end) | Step::Lose(end) | Step::Copy(end) | Step::Hold(end) => {
                self.queues[end.index()].front()
            }
            Step::Late(end, index) => self.delayed_pdus[end.index()].get(usize::from(index)),
            Step::Expire(_) | Step::ExpireEarly(_) | Step::Go | Step::Read => None,
        }
    }

    fn receive(
        &mut self,
        scheme: &S,
        end: End,
        pdu: S::Pdu,
        observe: &mut impl FnMut(TraceEvent<S::Pdu>),
    ) -> Result<(), String> {
        let now = self.clocks[end.index()];
        let input = Input::Pdu { pdu, ecn: Ecn::NotEct };
        match end {
            End::Sender => self.sender.handle(now, input),
            End::Receiver => self.receiver.handle(now, input),
        }
        self.drain(scheme, end, observe)
    }

    /// Drains an endpoint.
    fn drain(
        &mut self,
        scheme: &S,
        end: End,
        observe: &mut impl FnMut(TraceEvent<S::Pdu>),
    ) -> Result<(), String> {
        let now = self.clocks[end.index()];
        self.is_paced &= end == End::Receiver;
        for _ in 0..MAX_OUTPUTS {
            let output = match end {
                End::Sender => strip_timeout_reason(self.sender.poll(now), |reason| {
                    self.is_paced = scheme.is_pacing(&reason);
                }),
                End::Receiver => strip_timeout_reason(self.receiver.poll(now), |_| ()),
            };
            match output {
                Output::Transmit(pdu) => {
                    let to = if end == End::Sender { End::Receiver } else { End::Sender };
                    observe(TraceEvent::Pdu(end, pdu.clone()));
                    self.queues[to.index()].push_back(pdu);
                }
                Output::Event(event) => self.check_event(scheme, &event, observe)?,
                Output::Timeout { at, .. } if at <= now => {
                    return Err(format!("the {} sets a timer in the past", end.name()));
                }
                Output::Timeout { at, .. } => {
                    self.timer_expiries[end.index()] = at;
                    return Ok(());
                }
                Output::Idle => {
                    self.timer_expiries[end.index()] = Time::MAX;
                    return Ok(());
                }
            }
        }
        Err(format!("the {} sends without end", end.name()))
    }

    fn check_event(
        &mut self,
        scheme: &S,
        event: &Event<Tag>,
        observe: &mut impl FnMut(TraceEvent<S::Pdu>),
    ) -> Result<(), String> {
        match event {
            Event::Hole { packets } => {
                observe(TraceEvent::LeftOut(*packets));
                for _ in 0..*packets {
                    self.pass(scheme, 1);
                    self.left_out += 1;
                    if self.left_out > scheme.tolerance().1 {
                        return Err(format!("packet {} was skipped", self.delivered));
                    }
                }
            }
            Event::Delivered(tag) => {
                observe(TraceEvent::Delivered(*tag));
                let expected = self.delivered;
                self.pass(scheme, tag.length);
                self.unread += if self.slow_reader { tag.length } else { 0 };
                if tag.start < expected {
                    return Err(format!("packet {} was delivered twice", tag.start + 1));
                }
                if tag.start > expected {
                    return Err(format!(
                        "packet {} was delivered before packet {}",
                        tag.start + 1,
                        expected + 1
                    ));
                }
            }
            Event::Finished => {
                observe(TraceEvent::Finished);
                if core::mem::replace(&mut self.finished, true) {
                    return Err("the sender finished twice".to_owned());
                }
                if self.delivered < self.messages {
                    let missing = self.delivered + 1;
                    return Err(format!(
                        "the sender finished although packet {missing} has not been delivered"
                    ));
                }
            }
            Event::Failed(why) => return Err(format!("an end gave up: {why:?}")),
            Event::Writable | Event::Congestion(_) => {}
        }
        Ok(())
    }

    /// Counts packets delivered or skipped.
    fn pass(&mut self, scheme: &S, packets: u32) {
        let unit = scheme.tolerance().0;
        for _ in 0..packets {
            if self.delivered.is_multiple_of(unit) {
                self.left_out = 0;
            }
            self.delivered += 1;
        }
    }
}

/// Strips the reason from a timeout, after passing it to `on_reason`.
fn strip_timeout_reason<P, E, R>(output: Output<P, E, R>, on_reason: impl FnOnce(R)) -> Output<P, E, ()> {
    match output {
        Output::Transmit(pdu) => Output::Transmit(pdu),
        Output::Event(event) => Output::Event(event),
        Output::Timeout { at, reason } => Output::Timeout { at, reason: on_reason(reason) },
        Output::Idle => Output::Idle,
    }
}
