//! A state: two ends, what is on its way between them, and what may still go wrong.

use super::digest::Fnv;
use super::{Bounds, Scheme, Tag};
use core::hash::{Hash, Hasher as _};
use std::collections::VecDeque;
use thalweg_proto::Ecn;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine, Output};

/// More outputs than that at one moment are a loop.
const MOST_OUTPUTS: u32 = 10_000;

/// One of the ends; also the direction towards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end at which the messages are written.
    Sender,
    /// The end at which they are delivered.
    Receiver,
}

impl End {
    pub(super) const BOTH: [Self; 2] = [Self::Receiver, Self::Sender];

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first packet on its way to an end arrives.
    Arrive(End),
    /// The first one is lost.
    Lose(End),
    /// The first one is copied: the copy goes right behind it.
    Copy(End),
    /// The first one is held back: it arrives whenever.
    Hold(End),
    /// A packet that was held back arrives.
    Late(End, u8),
    /// The timer of an end expires when it is due.
    Expire(End),
    /// The timer of an end expires out of its turn.
    ExpireEarly(End),
    /// The sender's rate lets it go on.
    Go,
    /// The application takes a byte of what was delivered.
    Read,
}

/// The faults that may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    pub losses: u8,
    pub duplicates: u8,
    pub delays: u8,
    pub expiries: u8,
}

/// An output of an end, for traces.
#[derive(Clone, Debug)]
pub enum Said<P> {
    Pdu(End, P),
    Delivered(Tag),
    LeftOut(u32),
    Finished,
}

/// A state.
pub struct State<S: Scheme> {
    sender: S::Sender,
    receiver: S::Receiver,
    /// Of both ends, the sender first.
    clocks: [Time; 2],
    due: [Time; 2],
    /// True if what the sender waits for is its rate.
    is_paced: bool,
    /// On their way to each end, in order, and held back.
    queues: [VecDeque<S::Pdu>; 2],
    held: [Vec<S::Pdu>; 2],
    faults: Faults,
    messages: u32,
    delivered: u32,
    /// Packets left out of the unit that is being delivered ([`Scheme::tolerance`]).
    left_out: u32,
    /// The application reads in steps of its own; so much waits for it.
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
            held: self.held.clone(),
            ..*self
        }
    }
}

impl<S: Scheme> State<S> {
    /// Everything is written, and what may leave at once has left.
    pub fn first(scheme: &S, bounds: &Bounds, hear: &mut impl FnMut(Said<S::Pdu>)) -> Result<Self, String> {
        let (sender, receiver) = scheme.ends(bounds);
        let mut state = Self {
            sender,
            receiver,
            clocks: [Time::ZERO; 2],
            due: [Time::MAX; 2],
            is_paced: false,
            queues: [VecDeque::new(), VecDeque::new()],
            held: [Vec::new(), Vec::new()],
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
        state.drain(scheme, End::Receiver, hear)?;
        state.drain(scheme, End::Sender, hear)?;
        for _ in 0..S::SET_UP {
            let Some(step @ Step::Arrive(_)) = state.calm() else { break };
            state.take(scheme, step, hear)?;
        }
        Ok(state)
    }

    /// A hash of all that decides what may happen from here on; `with_faults` also of what may still go wrong.
    pub fn digest(&self, scheme: &S, with_faults: bool) -> u128 {
        let mut hash = Fnv::new();
        let (sender, receiver) = (&self.sender, &self.receiver);
        scheme.digest_ends((sender, self.clocks[0]), (receiver, self.clocks[1]), &mut hash);
        for end in End::BOTH {
            self.wait(end).hash(&mut hash);
            let (queue, held) = (&self.queues[end.index()], &self.held[end.index()]);
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

    /// The number of packets on their way.
    pub fn on_the_way(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum::<usize>() + self.held.iter().map(Vec::len).sum::<usize>()
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

    /// The time that an end waits for its timer; [`Duration::MAX`] without one.
    pub fn wait(&self, end: End) -> Duration {
        let due = self.due[end.index()];
        if due == Time::MAX { Duration::MAX } else { due.since(self.clocks[end.index()]) }
    }

    /// True if an end's timer is the one to expire when nothing is on its way.
    fn is_next(&self, end: End) -> bool {
        let wait = self.wait(end);
        wait < Duration::MAX && End::BOTH.iter().all(|&other| wait <= self.wait(other))
    }

    /// The next step if nothing goes wrong any more: what was held back arrives, then what is on its way, then the
    /// application reads, then the timer that is due first expires. `None` when there is nothing to wait for.
    pub fn calm(&self) -> Option<Step> {
        let late = End::BOTH.into_iter().find(|end| !self.held[end.index()].is_empty());
        let first = End::BOTH.into_iter().find(|end| !self.queues[end.index()].is_empty());
        late.map(|end| Step::Late(end, 0))
            .or_else(|| first.map(Step::Arrive))
            .or_else(|| (self.unread > 0).then_some(Step::Read))
            .or_else(|| self.is_paced.then_some(Step::Go))
            .or_else(|| End::BOTH.into_iter().find(|&end| self.is_next(end)).map(Step::Expire))
    }

    /// Everything that may happen.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(12);
        if self.unread > 0 {
            steps.push(Step::Read);
        }
        // What waits to be read is on its way to the application.
        let quiet = self.on_the_way() == 0 && self.unread == 0;
        for end in End::BOTH {
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
            steps.extend((0..self.held[end.index()].len() as u8).map(|index| Step::Late(end, index)));
            if self.is_paced && end == End::Sender {
                // Packets take any time compared with the rate.
                steps.push(Step::Go);
            } else if quiet && self.is_next(end) {
                // What comes after the end is only more of the same.
                if !self.finished {
                    steps.push(Step::Expire(end));
                }
            } else if self.faults.expiries > 0 && self.due[end.index()] < Time::MAX {
                steps.push(Step::ExpireEarly(end));
            }
        }
        steps
    }

    /// Does a step, which must be possible; tells `hear` what the ends put out.
    pub fn take(
        &mut self,
        scheme: &S,
        step: Step,
        hear: &mut impl FnMut(Said<S::Pdu>),
    ) -> Result<(), String> {
        match step {
            Step::Arrive(end) => {
                if let Some(pdu) = self.queues[end.index()].pop_front() {
                    return self.receive(scheme, end, pdu, hear);
                }
            }
            Step::Late(end, index) => {
                if usize::from(index) < self.held[end.index()].len() {
                    let pdu = self.held[end.index()].remove(index.into());
                    return self.receive(scheme, end, pdu, hear);
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
                self.held[end.index()].extend(pdu);
            }
            Step::Expire(end) => {
                let wait = self.wait(end);
                for clock in &mut self.clocks {
                    *clock += wait;
                }
                return self.drain(scheme, end, hear);
            }
            Step::ExpireEarly(end) => {
                self.faults.expiries -= 1;
                self.clocks[end.index()] += self.wait(end);
                return self.drain(scheme, end, hear);
            }
            Step::Go => {
                self.clocks[End::Sender.index()] += self.wait(End::Sender);
                return self.drain(scheme, End::Sender, hear);
            }
            Step::Read => {
                self.unread -= 1;
                let now = self.clocks[End::Receiver.index()];
                self.receiver.handle(now, Input::Consumed(1));
                return self.drain(scheme, End::Receiver, hear);
            }
        }
        Ok(())
    }

    /// The packet that a step is about.
    pub fn subject(&self, step: Step) -> Option<&S::Pdu> {
        match step {
            Step::Arrive(end) | Step::Lose(end) | Step::Copy(end) | Step::Hold(end) => {
                self.queues[end.index()].front()
            }
            Step::Late(end, index) => self.held[end.index()].get(usize::from(index)),
            Step::Expire(_) | Step::ExpireEarly(_) | Step::Go | Step::Read => None,
        }
    }

    fn receive(
        &mut self,
        scheme: &S,
        end: End,
        pdu: S::Pdu,
        hear: &mut impl FnMut(Said<S::Pdu>),
    ) -> Result<(), String> {
        let now = self.clocks[end.index()];
        let input = Input::Pdu { pdu, ecn: Ecn::NotEct };
        match end {
            End::Sender => self.sender.handle(now, input),
            End::Receiver => self.receiver.handle(now, input),
        }
        self.drain(scheme, end, hear)
    }

    /// Takes out of an end all that it has to say.
    fn drain(&mut self, scheme: &S, end: End, hear: &mut impl FnMut(Said<S::Pdu>)) -> Result<(), String> {
        let now = self.clocks[end.index()];
        self.is_paced &= end == End::Receiver;
        for _ in 0..MOST_OUTPUTS {
            let output = match end {
                End::Sender => {
                    plain(self.sender.poll(now), |reason| self.is_paced = scheme.is_pacing(&reason))
                }
                End::Receiver => plain(self.receiver.poll(now), |_| ()),
            };
            match output {
                Output::Transmit(pdu) => {
                    let to = if end == End::Sender { End::Receiver } else { End::Sender };
                    hear(Said::Pdu(end, pdu.clone()));
                    self.queues[to.index()].push_back(pdu);
                }
                Output::Event(event) => self.check_event(scheme, &event, hear)?,
                Output::Timeout { at, .. } if at <= now => {
                    return Err(format!("the {} announces a time-out that is due already", end.name()));
                }
                Output::Timeout { at, .. } => {
                    self.due[end.index()] = at;
                    return Ok(());
                }
                Output::Idle => {
                    self.due[end.index()] = Time::MAX;
                    return Ok(());
                }
            }
        }
        Err(format!("the {} puts out without end", end.name()))
    }

    fn check_event(
        &mut self,
        scheme: &S,
        event: &Event<Tag>,
        hear: &mut impl FnMut(Said<S::Pdu>),
    ) -> Result<(), String> {
        match event {
            Event::Hole { packets } => {
                hear(Said::LeftOut(*packets));
                for _ in 0..*packets {
                    self.pass(scheme, 1);
                    self.left_out += 1;
                    if self.left_out > scheme.tolerance().1 {
                        return Err(format!("packet {} was left out", self.delivered));
                    }
                }
            }
            Event::Delivered(tag) => {
                hear(Said::Delivered(*tag));
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
                hear(Said::Finished);
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

    /// So many packets have been delivered or left out.
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

/// An output whose reason for a time-out `look` has seen.
fn plain<P, E, R>(output: Output<P, E, R>, look: impl FnOnce(R)) -> Output<P, E, ()> {
    match output {
        Output::Transmit(pdu) => Output::Transmit(pdu),
        Output::Event(event) => Output::Event(event),
        Output::Timeout { at, reason } => Output::Timeout { at, reason: look(reason) },
        Output::Idle => Output::Idle,
    }
}
