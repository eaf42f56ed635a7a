//! Pair of flows over a simulated hostile path, determined by a seed.

use std::collections::BTreeMap;
use thalweg_net::flow::{Flow, FlowInput, FlowOutput, PathHints, Registry, Role, Scheme};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::resequencer::{Release, Resequencer, ResequencerConfig};
use thalweg_proto::transport::{Event, Failure};
use thalweg_proto::units::{Duration, Time};
use thalweg_queue::{Impairment, ImpairmentSpec, LossSpec, ReorderSpec};

/// Impairments of a path, the same in both directions.
#[derive(Clone, Debug)]
pub struct Conditions {
    pub seed: u64,
    pub delay: Duration,
    pub impairment: ImpairmentSpec,
    /// Interval of total loss.
    pub blackout: Option<(Time, Time)>,
    /// Time of an MTU reduction, and the new MTU in bytes.
    pub mtu_change: Option<(Time, u32)>,
}

impl Conditions {
    pub fn calm(seed: u64, delay: Duration) -> Self {
        Self { seed, delay, impairment: ImpairmentSpec::default(), blackout: None, mtu_change: None }
    }

    /// Draws loss up to 30 %, independent or in bursts, reordering, duplicates, corruption, and sometimes a blackout of
    /// ten seconds.
    pub fn random(seed: u64) -> Self {
        let mut rng = RandomStream::new(seed, "weather", 0);
        let mut often = |max: f64| if rng.chance(0.5) { rng.unit() * max } else { 0.0 };
        let (loss, burst, duplicate, corrupt) = (often(0.3), often(0.2), often(0.3), often(0.1));
        let reorder = often(0.5);
        let loss = if burst > 0.0 {
            LossSpec::GilbertElliott {
                good_to_bad: burst / 5.0,
                bad_to_good: 0.2,
                loss_good: loss / 3.0,
                loss_bad: 0.9,
            }
        } else {
            LossSpec::Uniform { probability: loss }
        };
        let delay = Duration::from_micros(100 + rng.below(200_000));
        let hold = delay.mul_f64(rng.unit() * 2.0);
        let from = Time::ZERO + rng.uniform_duration(Duration::from_secs(2));
        let blackout = rng.chance(0.2).then_some((from, from + Duration::from_secs(10)));
        Self {
            seed,
            delay,
            impairment: ImpairmentSpec {
                loss,
                duplicate,
                corrupt,
                reorder: Some(ReorderSpec { probability: reorder, delay: hold, correlation: 0.0 }),
                ..ImpairmentSpec::default()
            },
            blackout,
            mtu_change: None,
        }
    }
}

/// Outcome of a transfer.
#[derive(Debug)]
pub struct Report {
    /// Duration.
    pub time: Duration,
    /// Datagrams sent by both ends, and the number lost.
    pub sent: u64,
    pub dropped: u64,
    /// Number of retransmitted data packets.
    pub retransmissions: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

struct Path {
    conditions: Conditions,
    impairments: [Impairment; 2],
    /// Datagrams in flight, by arrival time and a tie-breaking number.
    wire: BTreeMap<(Time, u64), (End, u64, Vec<u8>)>,
    /// Numbers of the datagrams of each direction.
    numbers: [u64; 2],
    sent: u64,
    dropped: u64,
}

impl Path {
    fn new(conditions: &Conditions) -> Self {
        let impairment = |direction| {
            Impairment::new(&conditions.impairment, |purpose| {
                RandomStream::new(conditions.seed, purpose, direction)
            })
        };
        Self {
            conditions: conditions.clone(),
            impairments: [impairment(0), impairment(1)],
            wire: BTreeMap::new(),
            numbers: [0; 2],
            sent: 0,
            dropped: 0,
        }
    }

    fn send(&mut self, now: Time, to: End, bytes: Vec<u8>) {
        self.sent += 1;
        let direction = usize::from(to == End::Sender);
        let number = self.numbers[direction];
        self.numbers[direction] += 1;
        let outcome = self.impairments[direction].outcome(bytes.len() as u32);
        let dark = self.conditions.blackout.is_some_and(|(from, until)| now >= from && now < until);
        let long =
            self.conditions.mtu_change.is_some_and(|(at, max)| now >= at && bytes.len() > max as usize);
        // The encryption below drops corrupted datagrams.
        if outcome.is_lost || outcome.corrupted || dark || long {
            self.dropped += 1;
            return;
        }
        let at = now + self.conditions.delay + outcome.extra_delay;
        if outcome.duplicated {
            self.wire.insert((at + Duration::from_micros(7), 2 * self.sent + 1), (to, number, bytes.clone()));
        }
        self.wire.insert((at, 2 * self.sent), (to, number, bytes));
    }
}

/// Sends `data` from one flow to another and compares every byte. Panics on any error.
pub fn transfer(scheme: &Scheme, hints: &PathHints, conditions: &Conditions, data: &[u8]) -> Report {
    Transfer::new(scheme, hints, conditions, data).run()
}

/// Running transfer.
pub struct Transfer<'a> {
    scheme: Scheme,
    path: Path,
    sender: Flow,
    receiver: Flow,
    data: &'a [u8],
    written: usize,
    read: usize,
    /// Bytes not yet read by the application, which reads some from time to time.
    unread: u64,
    rng: RandomStream,
    timers: [Time; 2],
    /// Resequencers of sender and receiver, below flows that need order.
    order: Option<[Resequencer<Vec<u8>>; 2]>,
    has_finished: bool,
    has_ended: bool,
    buffer: Vec<u8>,
    /// Reports this size to the sender one second after the path MTU shrinks.
    pub black_hole: Option<u32>,
}

impl<'a> Transfer<'a> {
    pub fn new(scheme: &Scheme, hints: &PathHints, conditions: &Conditions, data: &'a [u8]) -> Self {
        let scheme = scheme.clone().on_path(hints);
        // The other end decodes the scheme.
        let decoded =
            Scheme::decode(&scheme.encode(), &Registry::default()).expect("an encoding that can be read");
        assert_eq!(decoded, scheme);
        Self {
            sender: Flow::new(&scheme, Role::Sender, hints),
            receiver: Flow::new(&decoded, Role::Receiver, hints),
            order: scheme.needs_in_order().then(|| {
                let make = || Resequencer::new(ResequencerConfig::default(), 0);
                [make(), make()]
            }),
            scheme,
            path: Path::new(conditions),
            data,
            written: 0,
            read: 0,
            unread: 0,
            rng: RandomStream::new(conditions.seed, "application", 0),
            timers: [Time::MAX; 2],
            has_finished: false,
            has_ended: false,
            buffer: Vec::new(),
            black_hole: None,
        }
    }

    pub fn run(mut self) -> Report {
        let mut now = Time::ZERO;
        let (mut steps, mut warned) = (0u64, false);
        self.write_all_that_goes(now);
        self.drain(now, End::Receiver);
        while !(self.has_finished && self.has_ended) {
            steps += 1;
            assert!(steps < 20_000_000, "{}: no end in sight at {now}", self.state());
            let next = self.path.wire.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
            let gaps = self.order.iter().flatten().filter_map(|order| order.timeout(now)).min();
            let next = next.min(self.timers[0]).min(self.timers[1]).min(gaps.unwrap_or(Time::MAX));
            assert!(next < Time::MAX, "{}: it hangs at {now}", self.state());
            assert!(next >= now, "{}: a timer in the past", self.state());
            assert!(next < Time::ZERO + MAX_SIMULATED_TIME, "{}: not done by {next}", self.state());
            now = next;
            if let (Some(bytes), Some((at, _))) = (self.black_hole, self.path.conditions.mtu_change)
                && !warned
                && now >= at + Duration::from_secs(1)
            {
                warned = true;
                self.sender.handle(now, FlowInput::MaximumSegment(bytes));
                self.drain(now, End::Sender);
            }
            // All arrivals are processed before either end is polled, like a batch.
            let mut touched = [self.timers[0] <= now, self.timers[1] <= now];
            while let Some(entry) = self.path.wire.first_entry()
                && entry.key().0 <= now
            {
                let (to, number, bytes) = entry.remove();
                let end = usize::from(to == End::Receiver);
                match &mut self.order {
                    Some(order) => drop(order[end].insert(now, number, bytes)),
                    None => self.hand(now, end, bytes),
                }
                touched[end] = true;
            }
            for end in 0..2 {
                while let Some(release) = self.order.as_mut().and_then(|order| order[end].poll(now)) {
                    if let Release::Item(bytes) = release {
                        self.hand(now, end, bytes);
                        touched[end] = true;
                    }
                }
            }
            if touched[0] {
                self.drain(now, End::Sender);
                self.write_all_that_goes(now);
            }
            if touched[1] {
                self.drain(now, End::Receiver);
                self.consume(now);
                self.drain(now, End::Receiver);
            }
        }
        assert_eq!(self.read, self.data.len(), "{}: bytes are missing", self.state());
        let stats = self.sender.stats(now);
        assert_eq!(stats.written, self.data.len() as u64);
        assert_eq!(self.receiver.stats(now).delivered, self.data.len() as u64);
        assert_eq!((stats.malformed, self.receiver.stats(now).malformed), (0, 0), "{}", self.state());
        Report {
            time: now.since(Time::ZERO),
            sent: self.path.sent,
            dropped: self.path.dropped,
            retransmissions: stats.sender.retransmissions,
        }
    }

    fn hand(&mut self, now: Time, end: usize, bytes: Vec<u8>) {
        let input = FlowInput::Datagram { bytes: Slice::new(bytes), ecn: Ecn::NotEct };
        [&mut self.sender, &mut self.receiver][end].handle(now, input);
    }

    fn state(&self) -> String {
        format!(
            "{}, {:?}: {} of {} bytes read, {} written, finished {}, ended {}",
            self.scheme,
            self.path.conditions,
            self.read,
            self.data.len(),
            self.written,
            self.has_finished,
            self.has_ended,
        )
    }

    /// Sending frees room for more; some schemes never wait and free it at once.
    fn write_all_that_goes(&mut self, now: Time) {
        loop {
            let before = self.written;
            self.write(now);
            self.drain(now, End::Sender);
            if self.written == before {
                break;
            }
        }
    }

    /// The application writes pieces of any size while there is room.
    fn write(&mut self, now: Time) {
        while self.written < self.data.len() && self.sender.writable_bytes() > 0 {
            let length = (1 + self.rng.below(20_000) as usize).min(self.data.len() - self.written);
            let piece = Slice::new(&self.data[self.written..self.written + length]);
            self.written += length;
            self.sender.handle(now, FlowInput::Write(piece));
        }
        if self.written == self.data.len() {
            self.sender.handle(now, FlowInput::Finish);
        }
    }

    /// The application reads some or all of the delivered data.
    fn consume(&mut self, now: Time) {
        let taken = if self.rng.chance(0.5) || self.has_ended {
            self.unread
        } else {
            self.rng.below(self.unread + 1)
        };
        self.unread -= taken;
        if taken > 0 {
            self.receiver.handle(now, FlowInput::Consumed(taken));
        }
        if self.unread > 0 {
            // It reads the rest soon.
            self.timers[1] = self.timers[1].min(now + Duration::from_millis(1));
        }
    }

    fn drain(&mut self, now: Time, end: End) {
        let index = usize::from(end == End::Receiver);
        for step in 0.. {
            assert!(step < 1_000_000, "{}: an end that never has enough", self.state());
            self.buffer.clear();
            let flow = if end == End::Sender { &mut self.sender } else { &mut self.receiver };
            match flow.poll(now, &mut self.buffer) {
                FlowOutput::Transmit { .. } => {
                    assert!(!self.buffer.is_empty());
                    let to = if end == End::Sender { End::Receiver } else { End::Sender };
                    self.path.send(now, to, self.buffer.clone());
                }
                FlowOutput::Event(event) => self.on_event(end, event),
                FlowOutput::Ended { stopped } => {
                    assert!(end == End::Receiver && !self.has_ended && !stopped, "{}", self.state());
                    self.has_ended = true;
                }
                FlowOutput::Timeout { at } => {
                    assert!(at > now, "{}: a timer that is due after a poll", self.state());
                    self.timers[index] = at;
                    break;
                }
                FlowOutput::Idle => {
                    self.timers[index] = Time::MAX;
                    break;
                }
            }
        }
        if end == End::Receiver && self.unread > 0 {
            self.timers[1] = self.timers[1].min(now + Duration::from_millis(1));
        }
    }

    fn on_event(&mut self, end: End, event: Event<Slice>) {
        match (end, event) {
            (End::Receiver, Event::Delivered(piece)) => {
                assert!(!self.has_ended, "{}: data after the end", self.state());
                let until = self.read + piece.len() as usize;
                assert!(
                    self.data.get(self.read..until) == Some(piece.as_bytes()),
                    "{}: wrong bytes at {}",
                    self.state(),
                    self.read
                );
                self.read = until;
                self.unread += u64::from(piece.len());
            }
            (End::Sender, Event::Finished) => {
                assert!(
                    !self.has_finished && self.read == self.data.len(),
                    "{}: finished too early",
                    self.state()
                );
                self.has_finished = true;
            }
            (_, Event::Writable | Event::Congestion(_)) => {}
            (_, Event::Failed(failure)) => self.failed(failure),
            (end, event) => panic!("{}: {event:?} at {end:?}", self.state()),
        }
    }

    fn failed(&self, failure: Failure) -> ! {
        panic!("{}: failed: {failure:?}", self.state())
    }
}

/// Returns bytes that identify their position.
pub fn data(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Maximum simulated duration of a transfer.
const MAX_SIMULATED_TIME: Duration = Duration::from_secs(4 * 3600);
