//! An endless stream over a lossy path: does the protocol recover to a steady state?
//!
//! A receiver with less buffer than the window discards segments; their retransmissions may meet a full buffer again,
//! without end (Gong and Parulkar 1992 found this with soft acknowledgement). All delivered data is correct meanwhile,
//! so the search over a few packets does not detect it. This search models time and has no end: packets leave at the
//! sender's rate and arrive after the path's delay. In the paper's model only data is lost; here reports may be lost
//! too. Any packet may be lost at any time, up to a number of losses. Digests contain numbers as distances, so the
//! states of an endless stream are finite. Without further losses every run ends in a cycle: one without
//! retransmissions, or the stream never recovers.

use super::digest::Fnv;
use super::visited::Visited;
use super::{Counterexample, Outcome};
use core::hash::{Hash as _, Hasher as _};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Queue, Store};
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::sstp::{
    Acknowledgement, Origin, Pdu, RateError, RateSpec, Receiver, ReceiverConfig, Resume, Sender,
    SenderConfig, Tolerance,
};
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::{Engine, Output};

/// An endless stream and the handling of its segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endless {
    /// Handling of segments without buffer space.
    pub acknowledgement: Acknowledgement,
    /// Packets per segment, at least 1.
    pub segment: u16,
    /// Window in segments.
    pub window: u16,
    /// Receive buffer in segments.
    pub buffer: u16,
    /// One-way path delay in packets, at least 1: half of the packets per round trip.
    pub path: u16,
    /// Maximum number of lost packets.
    pub losses: u8,
    /// Maximum number of lost reports.
    pub lost_reports: u8,
}

impl Endless {
    /// Creates a stream with the window of 2.5 round trips that Gong and Parulkar advise and a buffer of a quarter of
    /// it, in segments of one packet.
    pub const fn new(acknowledgement: Acknowledgement, window: u16, losses: u8) -> Self {
        let path = if window < 5 { 1 } else { window / 5 };
        Self {
            acknowledgement,
            segment: 1,
            window,
            buffer: window.div_ceil(4),
            path,
            losses,
            lost_reports: 0,
        }
    }
}

/// Packet spacing. The receiver's repetitions are a round trip apart, and 10 ms at least.
const SPACING: Duration = Duration::from_millis(5);
/// Maximum number of loss-free steps before a run counts as not recovering.
const MAX_CALM_STEPS: usize = 200_000;
/// Memory per state in bytes: two engines with their buffers, packets in flight, and table entries.
const STATE_BYTES: u64 = 10_000;
const VISITED_BYTES: u64 = 100;
/// Maximum number of trace lines for a cycle.
const MAX_LINES: usize = 80;

/// A packet's payload: indistinguishable bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Blank;

/// An endless queue of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Spring;

impl Payload for Blank {
    type Queue = Spring;
    type Store = Spring;
    type Kept = ();

    fn len(&self) -> u32 {
        1
    }

    fn slice(&self, _start: u32, _end: u32) -> Self {
        Self
    }

    fn keep(&self) {}

    fn restore(&(): &(), _length: u32) -> Self {
        Self
    }
}

impl Queue<Blank> for Spring {
    fn push(&mut self, _data: Blank) {}

    fn take(&mut self, max: u32) -> Option<Blank> {
        (max > 0).then_some(Blank)
    }

    fn len(&self) -> u64 {
        u64::MAX
    }
}

impl Store<Blank> for Spring {
    fn insert(&mut self, _offset: u64, _data: Blank) {}

    fn take(&mut self, _offset: u64, _contiguous: u64) -> Option<Blank> {
        None
    }
}

/// The kind of the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Data,
    Report,
    SenderTimer,
    ReceiverTimer,
}

/// Two endpoints, and the packets in flight with their arrival times.
#[derive(Clone)]
struct Pair {
    sender: Sender<Blank>,
    receiver: Receiver<Blank>,
    now: Time,
    delay: Duration,
    there: VecDeque<(Time, Pdu<Blank>)>,
    back: VecDeque<(Time, Pdu<Blank>)>,
    due: [Time; 2],
    /// Remaining losses of packets and of reports.
    losses: [u8; 2],
}

impl Pair {
    fn new(endless: &Endless) -> Result<Self, RateError> {
        let Endless { acknowledgement, segment, window, buffer, path, losses, lost_reports } = *endless;
        let segment = segment.max(1);
        let packet = Bytes::new(1);
        let rate = Rate::from_transfer(packet, SPACING);
        let rate = RateSpec::with_average(rate, rate, u32::from(segment), packet)?;
        let delay = SPACING * u64::from(path.max(1));
        let soft = acknowledgement.is_soft();
        let sender = SenderConfig { segment, packet: 1, rate, resume: Resume::AtOnce, window, soft };
        let receiver = ReceiverConfig {
            segment,
            packet: 1,
            window,
            buffer,
            acknowledgement,
            tolerance: Tolerance::Packets(0),
            reordering: 0,
            repeat: delay * 2,
            wait_for_consumption: false,
        };
        let mut pair = Self {
            sender: Sender::new(Arc::new(sender)),
            receiver: Receiver::new(Arc::new(receiver)),
            now: Time::ZERO,
            delay,
            there: VecDeque::new(),
            back: VecDeque::new(),
            due: [Time::MAX; 2],
            losses: [losses, lost_reports],
        };
        pair.drain_sender(&mut |_, _| {});
        Ok(pair)
    }

    /// Returns the next event; reports come first among simultaneous ones.
    fn next(&self) -> (Time, Next) {
        let front = |wire: &VecDeque<(Time, Pdu<Blank>)>| wire.front().map_or(Time::MAX, |(at, _)| *at);
        let times = [
            (front(&self.back), Next::Report),
            (front(&self.there), Next::Data),
            (self.due[0], Next::SenderTimer),
            (self.due[1], Next::ReceiverTimer),
        ];
        let first = |one: (Time, Next), other: (Time, Next)| if other.0 < one.0 { other } else { one };
        times.into_iter().reduce(first).unwrap_or((Time::MAX, Next::Report))
    }

    /// Returns true if the next arrival may be lost.
    fn may_lose(&self) -> bool {
        match self.next().1 {
            Next::Data => self.losses[0] > 0 && self.there.front().is_some_and(|(_, pdu)| pdu.is_data()),
            Next::Report => self.losses[1] > 0,
            Next::SenderTimer | Next::ReceiverTimer => false,
        }
    }

    /// Processes the next event; reports each sent PDU to `observe`, with true for the sender's.
    fn step(&mut self, lose: bool, observe: &mut impl FnMut(bool, &Pdu<Blank>)) {
        let (at, next) = self.next();
        self.now = at;
        match next {
            Next::Report => {
                let arriving = self.back.pop_front().filter(|_| !lose);
                self.losses[1] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.sender.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_sender(observe);
            }
            Next::Data => {
                let arriving = self.there.pop_front().filter(|_| !lose);
                self.losses[0] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.receiver.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_receiver(observe);
            }
            Next::SenderTimer => self.drain_sender(observe),
            Next::ReceiverTimer => self.drain_receiver(observe),
        }
    }

    fn drain_sender(&mut self, observe: &mut impl FnMut(bool, &Pdu<Blank>)) {
        self.due[0] = drain(&mut self.sender, self.now, |pdu| {
            observe(true, &pdu);
            self.there.push_back((self.now + self.delay, pdu));
        });
    }

    fn drain_receiver(&mut self, observe: &mut impl FnMut(bool, &Pdu<Blank>)) {
        self.due[1] = drain(&mut self.receiver, self.now, |pdu| {
            observe(false, &pdu);
            self.back.push_back((self.now + self.delay, pdu));
        });
    }

    /// Returns a hash of the state that determines the future, without losses.
    fn digest(&self) -> u128 {
        let mut hash = Fnv::new();
        let origin = Origin { segment: self.sender.lowest(), ..Origin::of(&self.sender, &self.receiver) };
        self.sender.digest_from(self.now, origin, &mut hash);
        self.receiver.digest_from(self.now, origin, &mut hash);
        for wire in [&self.there, &self.back] {
            wire.len().hash(&mut hash);
            for (at, pdu) in wire {
                (at.since(self.now), origin.pdu(pdu.clone())).hash(&mut hash);
            }
        }
        for due in self.due {
            (due < Time::MAX).then(|| due.since(self.now)).hash(&mut hash);
        }
        hash.write_u8(0);
        hash.value()
    }
}

/// Sends the endpoint's pending PDUs through `put`; returns the time of its next poll.
fn drain<E>(end: &mut E, now: Time, mut put: impl FnMut(Pdu<Blank>)) -> Time
where
    E: Engine<Pdu = Pdu<Blank>, Event = Event<Blank>>,
{
    loop {
        match end.poll(now) {
            Output::Transmit(pdu) => put(pdu),
            Output::Event(_) => {}
            Output::Timeout { at, .. } => return at,
            Output::Idle => return Time::MAX,
        }
    }
}

const fn is_repetition(pdu: &Pdu<Blank>) -> bool {
    matches!(pdu, Pdu::Data(data) if data.resent)
}

struct Search {
    /// States with their remaining losses; the step is true if it lost something.
    visited: Visited<(u128, [u8; 2]), bool, Pair>,
    /// States that recover.
    good: HashSet<u128>,
    steps: u64,
}

/// Visits every state of an endless stream. Calls `show` every thousand states with the number of states and the number
/// of unvisited ones; it returns whether to continue. `memory` bounds the memory used.
///
/// # Errors
///
/// [`RateError`] of [`RateSpec::with_average`]; none for the rates used here.
pub fn search_endless(
    endless: &Endless,
    memory: Bytes,
    show: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Outcome, RateError> {
    let mut search = Search { visited: Visited::default(), good: HashSet::new(), steps: 0 };
    let first = Pair::new(endless)?;
    if let Some(wrong) = search.add(first, None) {
        return search.outcome(endless, true, Some(wrong));
    }
    let mut visited = 0u64;
    while let Some((number, pair)) = search.visited.pop() {
        visited += 1;
        let goes_on =
            !visited.is_multiple_of(1000) || show(search.visited.states(), search.visited.waiting());
        if !goes_on || search.memory() > memory.get() {
            return search.outcome(endless, false, None);
        }
        for lose in [false, true] {
            if lose && !pair.may_lose() {
                continue;
            }
            search.steps += 1;
            let mut next = pair.clone();
            next.step(lose, &mut |_, _| {});
            if let Some(wrong) = search.add(next, Some((number, lose))) {
                return search.outcome(endless, true, Some(wrong));
            }
        }
    }
    search.outcome(endless, true, None)
}

/// A state that does not recover; the number of steps to the cycle, and the length of the cycle.
type Wrong = (u32, usize, usize);

impl Search {
    fn add(&mut self, pair: Pair, origin: Option<(u32, bool)>) -> Option<Wrong> {
        let digest = pair.digest();
        let number = self.visited.add((digest, pair.losses), origin)?;
        if let Err((before, round)) = self.settle(digest, pair.clone()) {
            return Some((number, before, round));
        }
        self.visited.push(number, pair);
        None
    }

    /// Follows a state without further losses until it reaches a cycle.
    fn settle(&mut self, mut digest: u128, mut pair: Pair) -> Result<(), (usize, usize)> {
        let (mut path, mut places, mut repetitions) = (Vec::new(), HashMap::new(), Vec::new());
        while !self.good.contains(&digest) {
            if let Some(&before) = places.get(&digest) {
                if repetitions.iter().skip(before).any(|&again| again) {
                    return Err((before, path.len() - before));
                }
                break;
            }
            if path.len() > MAX_CALM_STEPS {
                return Err((path.len(), 0));
            }
            places.insert(digest, path.len());
            path.push(digest);
            let mut again = false;
            pair.step(false, &mut |_, pdu| again |= is_repetition(pdu));
            repetitions.push(again);
            digest = pair.digest();
        }
        self.good.extend(path);
        Ok(())
    }

    fn memory(&self) -> u64 {
        let visited = self.visited.states() + self.good.len() as u64;
        visited * VISITED_BYTES + self.visited.waiting() * STATE_BYTES
    }

    fn outcome(&self, endless: &Endless, complete: bool, wrong: Option<Wrong>) -> Result<Outcome, RateError> {
        let counterexample = match wrong {
            Some((number, before, round)) => Some(Counterexample {
                what: "the stream does not recover, although losses have ended".to_owned(),
                trace: trace(endless, &self.visited.path(number), before, round)?,
            }),
            None => None,
        };
        Ok(Outcome {
            states: self.visited.states(),
            steps: self.steps,
            depth: self.visited.depth(),
            calm: self.good.len() as u64,
            complete,
            counterexample,
        })
    }
}

/// Returns the trace of losses and requests on the path to the cycle, and of one complete round.
fn trace(endless: &Endless, path: &[bool], before: usize, round: usize) -> Result<Vec<String>, RateError> {
    let mut pair = Pair::new(endless)?;
    let mut lines = vec!["an endless stream begins".to_owned()];
    let mut take = |lines: &mut Vec<String>, lose: bool, is_round: bool| {
        let (at, next) = pair.next();
        let at = at.since(Time::ZERO);
        let wire = if next == Next::Report { &pair.back } else { &pair.there };
        if let Some((_, pdu)) = wire.front().filter(|_| lose) {
            lines.push(format!("{at}: {} is lost", pdu.words()));
        }
        pair.step(lose, &mut |is_sender, pdu| {
            if is_round || is_repetition(pdu) || matches!(pdu, Pdu::Snak(..)) {
                let who = if is_sender { "sender" } else { "receiver" };
                lines.push(format!("{at}: {who} -> {}", pdu.words()));
            }
        });
    };
    path.iter().for_each(|&lose| take(&mut lines, lose, false));
    lines.push("from here on nothing is lost; requests and retransmissions:".to_owned());
    (0..before).for_each(|_| take(&mut lines, false, false));
    lines.push("then this repeats:".to_owned());
    let start = lines.len();
    (0..round).for_each(|_| take(&mut lines, false, true));
    let more = lines.len().saturating_sub(start + MAX_LINES);
    if more > 0 {
        lines.truncate(start + MAX_LINES);
        lines.push(format!("and {more} more lines before it repeats"));
    }
    Ok(lines)
}
