//! A stream without end over a path that only loses: does all come to rest again?
//!
//! A receiver with less room than the window discards segments, which are sent again, and may then meet no room again. That
//! can go on for ever (Gong and Parulkar 1992 found it with soft acknowledgement), and what is delivered meanwhile is
//! right, so that the search through all that can happen to a few packets does not see it. This one has time and no end:
//! packets leave at the sender's rate and arrive after the path's delay. In the paper's model only data is lost; here reports
//! may be too. Every packet may be the one that is lost, up to a number of losses, at any time from the beginning on. Numbers are fed to
//! digests as distances, so the states of an endless stream are finite. A course of events without further losses ends in
//! a circle: one without retransmissions, or the stream never comes to rest.

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

/// A stream without end, and what becomes of its segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endless {
    /// The treatment of segments that there is no room for.
    pub acknowledgement: Acknowledgement,
    /// The packets of a segment, at least 1.
    pub segment: u16,
    /// The window in segments.
    pub window: u16,
    /// The segments that there is room for.
    pub buffer: u16,
    /// The packets that leave while one is on its way, at least 1: half of those in a round trip.
    pub path: u16,
    /// The most packets that may be lost.
    pub losses: u8,
    /// The most reports that may be lost.
    pub lost_reports: u8,
}

impl Endless {
    /// The window of 2.5 round trips that Gong and Parulkar advise, and room for a quarter of it, in segments of one packet.
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

/// From packet to packet. The receiver's repetitions are a round trip apart, and 10 ms at least.
const SPACING: Duration = Duration::from_millis(5);
/// A course of events without losses that takes longer than this comes to nothing.
const MOST_CALM_STEPS: usize = 200_000;
/// The memory that a state takes: two engines with their buffers and what is on its way; and its place in the tables.
const STATE_BYTES: u64 = 10_000;
const VISITED_BYTES: u64 = 100;
/// A circle is shown up to so many lines.
const MOST_LINES: usize = 80;

/// A packet's payload: a byte that is like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Blank;

/// Bytes without end.
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

/// The kind of thing that happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Data,
    Report,
    SenderTimer,
    ReceiverTimer,
}

/// Two ends, and what is on its way between them with the times at which it arrives.
#[derive(Clone)]
struct Pair {
    sender: Sender<Blank>,
    receiver: Receiver<Blank>,
    now: Time,
    delay: Duration,
    there: VecDeque<(Time, Pdu<Blank>)>,
    back: VecDeque<(Time, Pdu<Blank>)>,
    due: [Time; 2],
    /// The packets, and the reports, that may still be lost.
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

    /// Of what happens at one time, reports first.
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

    /// True if what comes next may be lost.
    fn may_lose(&self) -> bool {
        match self.next().1 {
            Next::Data => self.losses[0] > 0 && self.there.front().is_some_and(|(_, pdu)| pdu.is_data()),
            Next::Report => self.losses[1] > 0,
            Next::SenderTimer | Next::ReceiverTimer => false,
        }
    }

    /// Goes on to what comes next; tells `hear` what is put on the wire, and whether by the sender.
    fn step(&mut self, lose: bool, hear: &mut impl FnMut(bool, &Pdu<Blank>)) {
        let (at, next) = self.next();
        self.now = at;
        match next {
            Next::Report => {
                let arriving = self.back.pop_front().filter(|_| !lose);
                self.losses[1] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.sender.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_sender(hear);
            }
            Next::Data => {
                let arriving = self.there.pop_front().filter(|_| !lose);
                self.losses[0] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.receiver.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_receiver(hear);
            }
            Next::SenderTimer => self.drain_sender(hear),
            Next::ReceiverTimer => self.drain_receiver(hear),
        }
    }

    fn drain_sender(&mut self, hear: &mut impl FnMut(bool, &Pdu<Blank>)) {
        self.due[0] = drain(&mut self.sender, self.now, |pdu| {
            hear(true, &pdu);
            self.there.push_back((self.now + self.delay, pdu));
        });
    }

    fn drain_receiver(&mut self, hear: &mut impl FnMut(bool, &Pdu<Blank>)) {
        self.due[1] = drain(&mut self.receiver, self.now, |pdu| {
            hear(false, &pdu);
            self.back.push_back((self.now + self.delay, pdu));
        });
    }

    /// A hash of what decides the future but for losses.
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

/// Puts on the wire what an end has to say; gives when it wants to be polled again.
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
    /// States with what may still be lost, reached by a step that lost something or did not.
    visited: Visited<(u128, [u8; 2]), bool, Pair>,
    /// States from which all comes to rest.
    good: HashSet<u128>,
    steps: u64,
}

/// Visits every state of an endless stream. `show` is called every thousand states with how many there are, and how many of
/// them wait to be visited; it answers whether to go on. The memory used is bounded by `memory`.
///
/// # Errors
///
/// [`RateError`] of [`RateSpec::with_average`]; none for rates as they are here.
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

/// A state from which it does not come to rest; the steps until the circle, and those of a round.
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

    /// Follows a state without further losses until it goes round in a circle.
    fn settle(&mut self, mut digest: u128, mut pair: Pair) -> Result<(), (usize, usize)> {
        let (mut path, mut places, mut repetitions) = (Vec::new(), HashMap::new(), Vec::new());
        while !self.good.contains(&digest) {
            if let Some(&before) = places.get(&digest) {
                if repetitions.iter().skip(before).any(|&again| again) {
                    return Err((before, path.len() - before));
                }
                break;
            }
            if path.len() > MOST_CALM_STEPS {
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
                what: "the stream does not come to rest, although nothing more is lost".to_owned(),
                trace: trace(endless, &self.visited.way(number), before, round)?,
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

/// The trace of what was lost and asked for on the way into the circle, and of all of one round.
fn trace(endless: &Endless, way: &[bool], before: usize, round: usize) -> Result<Vec<String>, RateError> {
    let mut pair = Pair::new(endless)?;
    let mut lines = vec!["a stream without end begins".to_owned()];
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
    way.iter().for_each(|&lose| take(&mut lines, lose, false));
    lines.push("from here on nothing is lost; requests and what is sent again:".to_owned());
    (0..before).for_each(|_| take(&mut lines, false, false));
    lines.push("and then this again and again:".to_owned());
    let start = lines.len();
    (0..round).for_each(|_| take(&mut lines, false, true));
    let more = lines.len().saturating_sub(start + MOST_LINES);
    if more > 0 {
        lines.truncate(start + MOST_LINES);
        lines.push(format!("and {more} lines more, before it begins anew"));
    }
    Ok(lines)
}
