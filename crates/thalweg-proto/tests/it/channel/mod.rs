//! Two engines of any protocol connected by a channel, with their applications, in virtual time.

use std::collections::BTreeMap;
use std::fmt::Debug;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine, Output};

/// Start of the final phase: the channel is perfect, and no engine is paused.
const CALM_FROM: Time = Time::from_picos(20_000_000_000_000);
/// Deadline for the delivery of all data.
const DEADLINE: Time = Time::from_picos(4_000_000_000_000_000);
/// Maximum number of outputs at one moment; more indicate a loop.
const MAX_OUTPUTS: u32 = 5_000;

/// The behaviour of the channel and the applications.
#[derive(Clone, Debug)]
pub struct Impairments {
    pub loss: f64,
    /// Loss probability of the receiver's PDUs.
    pub report_loss: f64,
    pub duplicate: f64,
    /// Share of packets delayed by up to `hold`, to be overtaken.
    pub reorder: f64,
    pub delay: Duration,
    pub hold: Duration,
    pub writes: Vec<u32>,
    pub write_gap: Duration,
    /// Interval of pauses and resumptions.
    pub pauses: Option<Duration>,
    /// Maximum number of outputs taken at once, before a break.
    pub outputs_at_once: Option<u32>,
    pub seed: u64,
}

#[derive(Debug)]
enum ScheduledEvent<P> {
    To(usize, P),
    Write(u32),
    Finish,
    Toggle,
    Poll(usize),
}

/// Returns the byte of the stream at a position.
fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Two endpoints and the channel between them.
pub struct Channel<'a, S, R, T> {
    impairments: &'a Impairments,
    now: Time,
    sender: S,
    receiver: R,
    agenda: BTreeMap<(Time, u64), ScheduledEvent<T>>,
    scheduled: u64,
    timeouts: [Time; 2],
    stream: RandomStream,
    written: u64,
    delivered: u64,
    paused: bool,
    finished: bool,
}

impl<'a, S, R, T> Channel<'a, S, R, T>
where
    S: Engine<Pdu = T, Input = Input<T, Slice>, Event = Event<Slice>> + Debug,
    R: Engine<Pdu = T, Input = Input<T, Slice>, Event = Event<Slice>> + Debug,
    T: Clone + Debug,
{
    pub fn new(impairments: &'a Impairments, sender: S, receiver: R) -> Self {
        Self {
            impairments,
            now: Time::ZERO,
            sender,
            receiver,
            agenda: BTreeMap::new(),
            scheduled: 0,
            timeouts: [Time::MAX; 2],
            stream: RandomStream::new(impairments.seed, "channel", 0),
            written: 0,
            delivered: 0,
            paused: false,
            finished: false,
        }
    }

    fn schedule(&mut self, at: Time, event: ScheduledEvent<T>) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), event);
    }

    /// Runs until the sender knows that all data has arrived, checks that it was delivered in order and once, and
    /// returns the endpoints.
    pub fn run(mut self) -> (S, R, Time) {
        let mut at = Time::ZERO;
        for &length in &self.impairments.writes {
            self.schedule(at, ScheduledEvent::Write(length));
            at += self.stream.uniform_duration(self.impairments.write_gap * 2);
        }
        self.schedule(at, ScheduledEvent::Finish);
        if let Some(every) = self.impairments.pauses {
            self.schedule(Time::ZERO + every, ScheduledEvent::Toggle);
        }
        while !self.finished {
            self.step();
        }
        // A lazy driver may have taken the report and left the data for later.
        while self.agenda.values().any(|event| matches!(event, ScheduledEvent::Poll(1))) {
            self.step();
        }
        assert_eq!(self.delivered, self.written, "bytes delivered and written");
        (self.sender, self.receiver, self.now)
    }

    fn step(&mut self) {
        let first = self.agenda.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
        let timer = self.timeouts[0].min(self.timeouts[1]);
        assert!(first.min(timer) < Time::MAX, "stuck: {:?} {:?}", self.sender, self.receiver);
        assert!(first.min(timer) < DEADLINE, "not finished in time: {:?} {:?}", self.sender, self.receiver);
        if timer < first {
            self.now = timer;
            return self.drain(usize::from(self.timeouts[0] != timer));
        }
        let Some(((at, _), event)) = self.agenda.pop_first() else { return };
        self.now = at;
        match event {
            ScheduledEvent::To(end, pdu) => self.feed(end, Input::Pdu { pdu, ecn: Ecn::NotEct }),
            ScheduledEvent::Write(length) => {
                let end = self.written + u64::from(length);
                let bytes: Vec<u8> = (self.written..end).map(byte_at).collect();
                self.written = end;
                self.feed(0, Input::Write(Slice::new(bytes)));
            }
            ScheduledEvent::Finish => self.feed(0, Input::Finish),
            ScheduledEvent::Toggle => {
                self.paused = !self.paused && self.now < CALM_FROM;
                self.feed(0, if self.paused { Input::Pause } else { Input::Resume });
                if let Some(every) = self.impairments.pauses.filter(|_| self.now < CALM_FROM) {
                    let gap = self.stream.uniform_duration(every * 2);
                    self.schedule(self.now + gap, ScheduledEvent::Toggle);
                }
            }
            ScheduledEvent::Poll(end) => self.drain(end),
        }
    }

    fn feed(&mut self, end: usize, input: Input<T, Slice>) {
        if end == 0 {
            self.sender.handle(self.now, input);
        } else {
            self.receiver.handle(self.now, input);
        }
        // A lazy driver often handles several inputs before it polls.
        if self.impairments.outputs_at_once.is_some() && self.stream.chance(0.5) {
            self.drain_later(end);
        } else {
            self.drain(end);
        }
    }

    fn drain_later(&mut self, end: usize) {
        let at = self.now + self.stream.uniform_duration(Duration::from_millis(5));
        self.schedule(at, ScheduledEvent::Poll(end));
    }

    fn drain(&mut self, end: usize) {
        self.timeouts[end] = Time::MAX;
        let mut outputs = 0;
        loop {
            outputs += 1;
            assert!(outputs < MAX_OUTPUTS, "a loop: {:?} {:?}", self.sender, self.receiver);
            let next = if end == 0 { self.poll_end(0) } else { self.poll_end(1) };
            match next {
                Output::Transmit(pdu) => {
                    assert!(end == 1 || !self.paused, "a paused sender sent {pdu:?}");
                    self.carry(1 - end, &pdu);
                    if self.impairments.outputs_at_once.is_some_and(|max| outputs >= max) {
                        return self.drain_later(end);
                    }
                }
                Output::Event(Event::Finished) => {
                    assert!(end == 0 && !self.finished, "finished twice");
                    self.finished = true;
                }
                Output::Event(Event::Delivered(data)) => {
                    assert!(end == 1 && !data.is_empty());
                    for &byte in data.as_bytes() {
                        assert_eq!(byte, byte_at(self.delivered), "byte {}", self.delivered);
                        self.delivered += 1;
                    }
                }
                Output::Event(Event::Failed(why)) => panic!("gave up: {why:?}"),
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now, "a timeout that is due already");
                    self.timeouts[end] = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    /// Returns the next output of an endpoint, without the cause of a timeout.
    fn poll_end(&mut self, end: usize) -> Output<T, Event<Slice>, ()> {
        fn plain<T, E, R>(output: Output<T, E, R>) -> Output<T, E, ()> {
            match output {
                Output::Transmit(pdu) => Output::Transmit(pdu),
                Output::Event(event) => Output::Event(event),
                Output::Timeout { at, .. } => Output::Timeout { at, reason: () },
                Output::Idle => Output::Idle,
            }
        }
        if end == 0 { plain(self.sender.poll(self.now)) } else { plain(self.receiver.poll(self.now)) }
    }

    /// Sends a PDU to `end` through the channel.
    fn carry(&mut self, end: usize, pdu: &T) {
        let calm = self.now >= CALM_FROM;
        let Impairments { loss, report_loss, duplicate, reorder, delay, hold, .. } = *self.impairments;
        let loss = if end == 1 { loss } else { report_loss };
        let copies = 1 + u32::from(!calm && self.stream.chance(duplicate));
        for _ in 0..copies {
            if !calm && self.stream.chance(loss) {
                continue;
            }
            let held = !calm && self.stream.chance(reorder);
            let held = if held { self.stream.uniform_duration(hold) } else { Duration::ZERO };
            self.schedule(self.now + delay + held, ScheduledEvent::To(end, pdu.clone()));
        }
    }
}
