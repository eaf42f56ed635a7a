//! A sender and a receiver connected by a channel, with their applications, in virtual time.

use crate::checked_controller::Steered;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::FixedWindowConfig;
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::{Event, Feedback, Input};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{
    ControllerConfig, Pdu, Receiver, ReceiverConfig, Sender, SenderConfig, WindowStats,
};
use thalweg_proto::{Engine, Output};

/// Start of the final phase: the channel is perfect, and no engine is paused.
const CALM_FROM: Time = Time::from_picos(20_000_000_000_000);
/// Deadline for the delivery of all data: the longest timeout is 4 s, and a window of one byte needs many round trips.
const DEADLINE: Time = Time::from_picos(4_000_000_000_000_000);
/// Maximum number of outputs at one moment; more indicate a loop.
const MAX_OUTPUTS: u32 = 5_000;

/// Maximum number of steps; more indicate a loop.
const MAX_STEPS: u32 = 1_000_000;

/// Impairments of the channel.
#[derive(Clone, Copy, Debug)]
pub struct Hostility {
    pub loss: f64,
    pub ack_loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    /// Probability of a mark.
    pub mark: f64,
    /// Interval of router messages with random contents.
    pub messages: Option<Duration>,
    pub delay: Duration,
    /// Maximum delay of a packet that is to be overtaken.
    pub hold: Duration,
}

/// Consumption of delivered data by the receiving application.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    Greedy,
    /// A random part of the delivered data, at an interval.
    Slow {
        pause: Duration,
    },
}

/// Complete description of a test.
#[derive(Clone, Debug)]
pub struct Plan {
    pub hostility: Hostility,
    pub sender: SenderConfig,
    pub receiver: ReceiverConfig,
    pub controller: ControllerConfig,
    /// A pacing rate and a burst.
    pub pacing: Option<(Rate, u32)>,
    pub writes: Vec<u32>,
    pub write_gap: Duration,
    pub reader: Reader,
    /// Interval of pauses and resumptions.
    pub pauses: Option<Duration>,
    pub stop_at: Option<Duration>,
    /// Maximum number of outputs taken at once. Inputs arrive in the following break; often several are handled before
    /// any poll.
    pub outputs_at_once: Option<u32>,
    pub seed: u64,
}

impl Plan {
    /// Returns a perfect channel of 10 ms and an application that reads everything.
    pub fn calm() -> Self {
        Self {
            hostility: Hostility {
                loss: 0.0,
                ack_loss: 0.0,
                duplicate: 0.0,
                reorder: 0.0,
                mark: 0.0,
                messages: None,
                delay: Duration::from_millis(10),
                hold: Duration::ZERO,
            },
            sender: SenderConfig::default(),
            receiver: ReceiverConfig::default(),
            controller: ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 }),
            pacing: None,
            writes: vec![10_000],
            write_gap: Duration::ZERO,
            reader: Reader::Greedy,
            pauses: None,
            stop_at: None,
            outputs_at_once: None,
            seed: 1,
        }
    }
}

/// A payload that a test can create and recognise.
pub trait Data: Payload {
    fn made(offset: u64, len: u32) -> Self;
    fn is_from(&self, offset: u64) -> bool;
}

fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

impl Data for Slice {
    fn made(offset: u64, len: u32) -> Self {
        Self::new((offset..offset + u64::from(len)).map(byte_at).collect::<Vec<u8>>())
    }

    fn is_from(&self, offset: u64) -> bool {
        (offset..).zip(self.as_bytes()).all(|(position, &byte)| byte == byte_at(position))
    }
}

impl Data for Length {
    fn made(_offset: u64, len: u32) -> Self {
        Self(len)
    }

    fn is_from(&self, _offset: u64) -> bool {
        true
    }
}

/// A scheduled event.
#[derive(Debug)]
enum ScheduledEvent<P> {
    ToReceiver(Pdu<P>, Ecn),
    ToSender(Pdu<P>, Ecn),
    Message,
    Write(u32),
    Finish,
    Stop,
    Read,
    Toggle,
    PollSender,
    PollReceiver,
}

/// Two endpoints and the channel between them.
pub struct Pair<'a, P: Payload> {
    plan: &'a Plan,
    now: Time,
    sender: Sender<P, Steered>,
    receiver: Receiver<P>,
    agenda: BTreeMap<(Time, u64), ScheduledEvent<P>>,
    scheduled: u64,
    timeouts: [Time; 2],
    stream: RandomStream,
    written: u64,
    delivered: u64,
    unread: u64,
    paused: bool,
    stopped: bool,
    finished: bool,
}

impl<'a, P: Data> Pair<'a, P> {
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            now: Time::ZERO,
            sender: Sender::new(Arc::new(plan.sender), Steered::new(&plan.controller, plan.pacing)),
            receiver: Receiver::new(Arc::new(plan.receiver)),
            agenda: BTreeMap::new(),
            scheduled: 0,
            timeouts: [Time::MAX; 2],
            stream: RandomStream::new(plan.seed, "pair", 0),
            written: 0,
            delivered: 0,
            unread: 0,
            paused: false,
            stopped: false,
            finished: false,
        }
    }

    fn schedule(&mut self, at: Time, event: ScheduledEvent<P>) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), event);
    }

    /// Runs to the end and checks all guarantees.
    pub fn run(mut self) -> WindowStats {
        let mut at = Time::ZERO;
        for &length in &self.plan.writes {
            self.schedule(at, ScheduledEvent::Write(length));
            at += self.stream.uniform_duration(self.plan.write_gap * 2);
        }
        self.schedule(at, ScheduledEvent::Finish);
        if let Some(after) = self.plan.stop_at {
            self.schedule(Time::ZERO + after, ScheduledEvent::Stop);
        }
        if let Some(every) = self.plan.pauses {
            self.schedule(Time::ZERO + every, ScheduledEvent::Toggle);
        }
        if self.plan.hostility.messages.is_some() {
            self.schedule(Time::ZERO, ScheduledEvent::Message);
        }
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < MAX_STEPS, "too much happens: {:?} {:?}", self.sender.stats(self.now), self.now);
        }
        self.check_end();
        self.sender.stats(self.now)
    }

    /// Handles the next event; returns false if none is left.
    fn step(&mut self) -> bool {
        let first = self.agenda.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
        let timer = self.timeouts[0].min(self.timeouts[1]);
        let at = first.min(timer);
        if at == Time::MAX {
            return false;
        }
        assert!(at <= DEADLINE, "not finished in time: {:?} {:?}", self.sender, self.receiver);
        self.now = at;
        if timer < first {
            if self.timeouts[0] == timer {
                self.drain_sender();
            } else {
                self.drain_receiver();
            }
            return true;
        }
        let Some((_, event)) = self.agenda.pop_first() else { return false };
        self.handle(event);
        true
    }

    fn handle(&mut self, event: ScheduledEvent<P>) {
        let now = self.now;
        match event {
            ScheduledEvent::ToReceiver(pdu, ecn) => {
                self.receiver.handle(now, Input::Pdu { pdu, ecn });
                if self.is_lazy() {
                    let at = self.a_little_later();
                    self.schedule(at, ScheduledEvent::PollReceiver);
                } else {
                    self.drain_receiver();
                }
            }
            ScheduledEvent::ToSender(pdu, ecn) => {
                self.sender.handle(now, Input::Pdu { pdu, ecn });
                if self.is_lazy() {
                    let at = self.a_little_later();
                    self.schedule(at, ScheduledEvent::PollSender);
                } else {
                    self.drain_sender();
                }
            }
            ScheduledEvent::Write(length) => {
                if !self.stopped {
                    let data = P::made(self.written, length);
                    self.written += u64::from(length);
                    self.feed_sender(Input::Write(data));
                }
            }
            ScheduledEvent::Message => self.message(),
            ScheduledEvent::Finish => self.feed_sender(Input::Finish),
            ScheduledEvent::Stop => {
                self.stopped = true;
                self.feed_sender(Input::Stop);
            }
            ScheduledEvent::Read => self.read(),
            ScheduledEvent::Toggle => {
                self.paused = !self.paused && now < CALM_FROM;
                self.feed_sender(if self.paused { Input::Pause } else { Input::Resume });
                if now < CALM_FROM
                    && let Some(every) = self.plan.pauses
                {
                    let gap = self.stream.uniform_duration(every * 2);
                    self.schedule(now + gap, ScheduledEvent::Toggle);
                }
            }
            ScheduledEvent::PollSender => self.drain_sender(),
            ScheduledEvent::PollReceiver => self.drain_receiver(),
        }
    }

    /// Delivers a random router message.
    fn message(&mut self) {
        let stream = &mut self.stream;
        let feedback = Feedback {
            dropped: stream.chance(0.6).then(|| stream.below(self.written.max(1))),
            rate: stream.chance(0.5).then(|| Rate::from_bits_per_sec(100_000 << stream.below(10))),
            growth: None,
            queue: u32::try_from(stream.below(4)).unwrap_or(0),
        };
        self.feed_sender(Input::Feedback(feedback));
        if self.now < CALM_FROM
            && let Some(every) = self.plan.hostility.messages
        {
            let gap = self.stream.uniform_duration(every * 2);
            self.schedule(self.now + gap, ScheduledEvent::Message);
        }
    }

    fn feed_sender(&mut self, input: Input<Pdu<P>, P>) {
        self.sender.handle(self.now, input);
        self.drain_sender();
    }

    fn read(&mut self) {
        let amount = match self.plan.reader {
            Reader::Greedy => self.unread,
            Reader::Slow { .. } => 1 + self.stream.below(self.unread.max(1)),
        };
        self.unread -= amount.min(self.unread);
        self.receiver.handle(self.now, Input::Consumed(amount));
        self.drain_receiver();
        if self.unread > 0 {
            self.schedule_read();
        }
    }

    fn schedule_read(&mut self) {
        let pause = match self.plan.reader {
            Reader::Greedy => Duration::ZERO,
            Reader::Slow { pause } => self.stream.uniform_duration(pause * 2),
        };
        self.schedule(self.now + pause, ScheduledEvent::Read);
    }

    /// Returns true if a lazy driver handles further inputs before it polls, as with batches from a socket.
    fn is_lazy(&mut self) -> bool {
        self.plan.outputs_at_once.is_some() && self.stream.chance(0.5)
    }

    /// Returns the number of outputs to take now: all, or a few.
    fn budget(&self) -> u32 {
        self.plan.outputs_at_once.unwrap_or(MAX_OUTPUTS)
    }

    fn a_little_later(&mut self) -> Time {
        self.now + self.stream.uniform_duration(Duration::from_millis(5))
    }

    fn drain_sender(&mut self) {
        self.timeouts[0] = Time::MAX;
        let budget = self.budget();
        let mut transmitted = 0;
        loop {
            match self.sender.poll(self.now) {
                Output::Transmit(pdu) => {
                    assert!(!self.paused, "a paused sender sent {pdu:?}");
                    self.carry(&pdu);
                    transmitted += 1;
                    assert!(transmitted < MAX_OUTPUTS, "the sender spins");
                    if transmitted >= budget {
                        let at = self.a_little_later();
                        return self.schedule(at, ScheduledEvent::PollSender);
                    }
                }
                Output::Event(Event::Finished) => {
                    assert!(!self.finished, "finished twice");
                    self.finished = true;
                }
                Output::Event(Event::Delivered(_) | Event::Failed(_)) => panic!("not a sender's event"),
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now, "a timeout that is due already");
                    self.timeouts[0] = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    fn drain_receiver(&mut self) {
        self.timeouts[1] = Time::MAX;
        let budget = self.budget();
        let mut transmitted = 0;
        loop {
            match self.receiver.poll(self.now) {
                Output::Transmit(pdu) => {
                    self.carry(&pdu);
                    transmitted += 1;
                    assert!(transmitted < MAX_OUTPUTS, "the receiver spins");
                    if transmitted >= budget {
                        let at = self.a_little_later();
                        return self.schedule(at, ScheduledEvent::PollReceiver);
                    }
                }
                Output::Event(Event::Delivered(data)) => {
                    assert!(!data.is_empty(), "an empty delivery");
                    assert!(data.is_from(self.delivered), "other bytes than those written");
                    self.delivered += u64::from(data.len());
                    if self.unread == 0 {
                        self.schedule_read();
                    }
                    self.unread += u64::from(data.len());
                }
                Output::Event(event) => panic!("not a receiver's event: {event:?}"),
                Output::Timeout { at, .. } => {
                    assert!(at > self.now, "a timeout that is due already");
                    self.timeouts[1] = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    /// Sends a PDU through the channel.
    fn carry(&mut self, pdu: &Pdu<P>) {
        let Hostility { loss, ack_loss, duplicate, reorder, mark, delay, hold, .. } = self.plan.hostility;
        let calm = self.now >= CALM_FROM;
        let loss = if matches!(pdu, Pdu::Segment(_)) { loss } else { ack_loss };
        let copies = 1 + u32::from(!calm && self.stream.chance(duplicate));
        for _ in 0..copies {
            if !calm && self.stream.chance(loss) {
                continue;
            }
            let held = if !calm && self.stream.chance(reorder) {
                self.stream.uniform_duration(hold)
            } else {
                Duration::ZERO
            };
            let at = self.now + delay + held;
            let pdu = pdu.clone();
            let ecn = if self.stream.chance(mark) { Ecn::Ce } else { Ecn::NotEct };
            let arrival = match pdu {
                Pdu::Segment(_) => ScheduledEvent::ToReceiver(pdu, ecn),
                Pdu::Ack(_) => ScheduledEvent::ToSender(pdu, ecn),
            };
            self.schedule(at, arrival);
        }
    }

    fn check_end(&self) {
        assert!(self.finished, "stuck: {:?} {:?}", self.sender, self.receiver);
        if self.stopped {
            assert!(self.delivered <= self.written);
        } else {
            assert_eq!(self.delivered, self.written, "bytes delivered and written");
        }
        assert_eq!(self.delivered, self.receiver.expected());
        assert_eq!(self.sender.stats(self.now).common.in_flight, 0);
    }
}
