//! A sender and a receiver joined by a channel, with their applications, in virtual time.

use crate::steered::Steered;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{ControllerConfig, FixedConfig};
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::random::Stream;
use thalweg_proto::transport::{Event, Feedback, Input};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{Pdu, Receiver, ReceiverConfig, Sender, SenderConfig, WindowStats};
use thalweg_proto::{Engine, Output};

/// From here on the channel is perfect and nobody pauses.
const CALM_FROM: Time = Time::from_picos(20_000_000_000_000);
/// By then everything must have arrived: the longest time-out is 4 s, and a window of one byte needs many round trips.
const DEADLINE: Time = Time::from_picos(4_000_000_000_000_000);
/// More outputs than that at one moment are a loop.
const MAX_OUTPUTS: u32 = 5_000;

/// A pair that needs more steps is in a loop.
const MAX_STEPS: u32 = 1_000_000;

/// The channel's treatment of packets.
#[derive(Clone, Copy, Debug)]
pub struct Hostility {
    pub loss: f64,
    pub ack_loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    /// The network marks a packet.
    pub mark: f64,
    /// Routers send messages this often, about anything.
    pub messages: Option<Duration>,
    pub delay: Duration,
    /// The longest time that a packet is held back, when it is to be passed by others.
    pub hold: Duration,
}

/// The way in which the receiving application takes what is delivered.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    Greedy,
    /// A random part of what it has, every so often.
    Slow {
        pause: Duration,
    },
}

/// All of a test.
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
    /// Pause and resume this often.
    pub pauses: Option<Duration>,
    pub stop_at: Option<Duration>,
    /// Transmit at most so much at once, then go on a little later with whatever has come in between; often take
    /// several inputs before polling at all.
    pub outputs_at_once: Option<u32>,
    pub seed: u64,
}

impl Plan {
    /// A perfect channel of 10 ms and a patient application.
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
            controller: ControllerConfig::Fixed(FixedConfig { window: 10.0 }),
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

/// A payload that a test can make and recognise.
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

/// Something that happens at a set time.
#[derive(Debug)]
enum Happening<P> {
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

/// The two ends and what is between them.
pub struct Pair<'a, P: Payload> {
    plan: &'a Plan,
    now: Time,
    sender: Sender<P, Steered>,
    receiver: Receiver<P>,
    agenda: BTreeMap<(Time, u64), Happening<P>>,
    scheduled: u64,
    timeouts: [Time; 2],
    stream: Stream,
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
            stream: Stream::new(plan.seed, "pair", 0),
            written: 0,
            delivered: 0,
            unread: 0,
            paused: false,
            stopped: false,
            finished: false,
        }
    }

    fn schedule(&mut self, at: Time, happening: Happening<P>) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), happening);
    }

    /// Runs to the end and checks all that is promised.
    pub fn run(mut self) -> WindowStats {
        let mut at = Time::ZERO;
        for &length in &self.plan.writes {
            self.schedule(at, Happening::Write(length));
            at += self.stream.uniform_duration(self.plan.write_gap * 2);
        }
        self.schedule(at, Happening::Finish);
        if let Some(after) = self.plan.stop_at {
            self.schedule(Time::ZERO + after, Happening::Stop);
        }
        if let Some(every) = self.plan.pauses {
            self.schedule(Time::ZERO + every, Happening::Toggle);
        }
        if self.plan.hostility.messages.is_some() {
            self.schedule(Time::ZERO, Happening::Message);
        }
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < MAX_STEPS, "too much happens: {:?} {:?}", self.sender.stats(self.now), self.now);
        }
        self.check_end();
        self.sender.stats(self.now)
    }

    /// Handles what is next; false when nothing is left.
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
        let Some((_, happening)) = self.agenda.pop_first() else { return false };
        self.handle(happening);
        true
    }

    fn handle(&mut self, happening: Happening<P>) {
        let now = self.now;
        match happening {
            Happening::ToReceiver(pdu, ecn) => {
                self.receiver.handle(now, Input::Pdu { pdu, ecn });
                if self.is_lazy() {
                    let at = self.a_little_later();
                    self.schedule(at, Happening::PollReceiver);
                } else {
                    self.drain_receiver();
                }
            }
            Happening::ToSender(pdu, ecn) => {
                self.sender.handle(now, Input::Pdu { pdu, ecn });
                if self.is_lazy() {
                    let at = self.a_little_later();
                    self.schedule(at, Happening::PollSender);
                } else {
                    self.drain_sender();
                }
            }
            Happening::Write(length) => {
                if !self.stopped {
                    let data = P::made(self.written, length);
                    self.written += u64::from(length);
                    self.tell_sender(Input::Write(data));
                }
            }
            Happening::Message => self.message(),
            Happening::Finish => self.tell_sender(Input::Finish),
            Happening::Stop => {
                self.stopped = true;
                self.tell_sender(Input::Stop);
            }
            Happening::Read => self.read(),
            Happening::Toggle => {
                self.paused = !self.paused && now < CALM_FROM;
                self.tell_sender(if self.paused { Input::Pause } else { Input::Resume });
                if now < CALM_FROM
                    && let Some(every) = self.plan.pauses
                {
                    let gap = self.stream.uniform_duration(every * 2);
                    self.schedule(now + gap, Happening::Toggle);
                }
            }
            Happening::PollSender => self.drain_sender(),
            Happening::PollReceiver => self.drain_receiver(),
        }
    }

    /// A router says what it likes.
    fn message(&mut self) {
        let stream = &mut self.stream;
        let feedback = Feedback {
            dropped: stream.chance(0.6).then(|| stream.below(self.written.max(1))),
            rate: stream.chance(0.5).then(|| Rate::from_bits_per_sec(100_000 << stream.below(10))),
            queue: u32::try_from(stream.below(4)).unwrap_or(0),
        };
        self.tell_sender(Input::Feedback(feedback));
        if self.now < CALM_FROM
            && let Some(every) = self.plan.hostility.messages
        {
            let gap = self.stream.uniform_duration(every * 2);
            self.schedule(self.now + gap, Happening::Message);
        }
    }

    fn tell_sender(&mut self, input: Input<Pdu<P>, P>) {
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
        self.schedule(self.now + pause, Happening::Read);
    }

    /// A lazy driver often takes several inputs, as they come in one batch from a socket, before it drains.
    fn is_lazy(&mut self) -> bool {
        self.plan.outputs_at_once.is_some() && self.stream.chance(0.5)
    }

    /// The number of outputs to take now: all, or a few.
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
                        return self.schedule(at, Happening::PollSender);
                    }
                }
                Output::Event(Event::Finished) => {
                    assert!(!self.finished, "finished twice");
                    self.finished = true;
                }
                Output::Event(Event::Delivered(_) | Event::Failed(_)) => panic!("not a sender's event"),
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now, "a time-out that is due already");
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
                        return self.schedule(at, Happening::PollReceiver);
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
                    assert!(at > self.now, "a time-out that is due already");
                    self.timeouts[1] = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    /// Puts a PDU into the channel.
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
                Pdu::Segment(_) => Happening::ToReceiver(pdu, ecn),
                Pdu::Ack(_) => Happening::ToSender(pdu, ecn),
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
