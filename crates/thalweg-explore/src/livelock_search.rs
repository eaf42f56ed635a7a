//! Search of an endless stream over a lossy path, for states from which the protocol does not return to a steady state.
//!
//! A receiver with less buffer than the window discards segments; their retransmissions may meet a full buffer again,
//! without end (Gong and Parulkar 1992 found this with soft acknowledgement). All delivered data is correct meanwhile,
//! so the search over a few packets does not detect it. This search models time and has no end: packets leave at the
//! sender's rate and arrive after the path's delay. In the paper's model only data is lost; here reports may be lost
//! too. Any packet may be lost at any time, up to a number of losses. Digests contain numbers as distances, so the
//! states of an endless stream are finite. Without further losses every run ends in a cycle: one without
//! retransmissions, or the stream never recovers.

use super::fnv_hash::Fnv;
use super::visited_states::VisitedStates;
use super::{Counterexample, SearchOutcome};
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

/// Parameters of the search: an endless stream, its path and its faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndlessStream {
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

impl EndlessStream {
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

/// Packet spacing. The receiver repeats its reports once per round trip, at least 10 ms apart.
const PACKET_SPACING: Duration = Duration::from_millis(5);
/// Maximum number of loss-free steps before a run counts as not recovering.
const MAX_LOSS_FREE_STEPS: usize = 200_000;
/// Memory per state in bytes: two engines with their buffers, packets in flight, and table entries.
const STATE_BYTES: u64 = 10_000;
const VISITED_BYTES: u64 = 100;
/// Maximum number of trace lines for a cycle.
const MAX_LINES: usize = 80;

/// A payload byte without a value: data is compared by position only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpaqueByte;

/// A send queue that never empties, and a receive store that keeps nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct EndlessQueue;

impl Payload for OpaqueByte {
    type Queue = EndlessQueue;
    type Store = EndlessQueue;
    type StoredForm = ();

    fn len(&self) -> u32 {
        1
    }

    fn slice(&self, _start: u32, _end: u32) -> Self {
        Self
    }

    fn blank(_length: u32) -> Self {
        Self
    }

    fn keep(&self) {}

    fn restore(&(): &(), _length: u32) -> Self {
        Self
    }
}

impl Queue<OpaqueByte> for EndlessQueue {
    fn push(&mut self, _data: OpaqueByte) {}

    fn take(&mut self, max: u32) -> Option<OpaqueByte> {
        (max > 0).then_some(OpaqueByte)
    }

    fn len(&self) -> u64 {
        u64::MAX
    }
}

impl Store<OpaqueByte> for EndlessQueue {
    fn insert(&mut self, _offset: u64, _data: OpaqueByte) {}

    fn take(&mut self, _offset: u64, _contiguous: u64) -> Option<OpaqueByte> {
        None
    }
}

/// The next event: an arrival of data or of a report, or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextEvent {
    Data,
    Report,
    SenderTimer,
    ReceiverTimer,
}

/// Two endpoints, and the packets in flight with their arrival times.
#[derive(Clone)]
struct Pair {
    sender: Sender<OpaqueByte>,
    receiver: Receiver<OpaqueByte>,
    now: Time,
    delay: Duration,
    /// Data in flight.
    forward: VecDeque<(Time, Pdu<OpaqueByte>)>,
    /// Reports in flight.
    reverse: VecDeque<(Time, Pdu<OpaqueByte>)>,
    /// Next timer expiry of the sender and of the receiver.
    timer_expiries: [Time; 2],
    /// Remaining losses of packets and of reports.
    losses: [u8; 2],
}

impl Pair {
    fn new(endless: &EndlessStream) -> Result<Self, RateError> {
        let EndlessStream { acknowledgement, segment, window, buffer, path, losses, lost_reports } = *endless;
        let segment = segment.max(1);
        let packet = Bytes::new(1);
        let rate = Rate::from_transfer(packet, PACKET_SPACING);
        let rate = RateSpec::with_average(rate, rate, u32::from(segment), packet)?;
        let delay = PACKET_SPACING * u64::from(path.max(1));
        let soft = acknowledgement.is_soft();
        let sender = SenderConfig {
            segment_packets: segment,
            max_payload: 1,
            rate,
            resume: Resume::AtOnce,
            window,
            soft,
        };
        let receiver = ReceiverConfig {
            segment_packets: segment,
            max_payload: 1,
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
            forward: VecDeque::new(),
            reverse: VecDeque::new(),
            timer_expiries: [Time::MAX; 2],
            losses: [losses, lost_reports],
        };
        pair.drain_sender(&mut |_, _| {});
        Ok(pair)
    }

    /// Returns the next event; reports come first among simultaneous ones.
    fn next(&self) -> (Time, NextEvent) {
        let front =
            |queue: &VecDeque<(Time, Pdu<OpaqueByte>)>| queue.front().map_or(Time::MAX, |(at, _)| *at);
        let times = [
            (front(&self.reverse), NextEvent::Report),
            (front(&self.forward), NextEvent::Data),
            (self.timer_expiries[0], NextEvent::SenderTimer),
            (self.timer_expiries[1], NextEvent::ReceiverTimer),
        ];
        let first =
            |one: (Time, NextEvent), other: (Time, NextEvent)| if other.0 < one.0 { other } else { one };
        times.into_iter().reduce(first).unwrap_or((Time::MAX, NextEvent::Report))
    }

    /// Returns true if the next arrival may be lost.
    fn may_lose(&self) -> bool {
        match self.next().1 {
            NextEvent::Data => {
                self.losses[0] > 0 && self.forward.front().is_some_and(|(_, pdu)| pdu.is_data())
            }
            NextEvent::Report => self.losses[1] > 0,
            NextEvent::SenderTimer | NextEvent::ReceiverTimer => false,
        }
    }

    /// Processes the next event; reports each sent PDU to `observe`, with true for the sender's.
    fn step(&mut self, lose: bool, observe: &mut impl FnMut(bool, &Pdu<OpaqueByte>)) {
        let (at, next) = self.next();
        self.now = at;
        match next {
            NextEvent::Report => {
                let arriving = self.reverse.pop_front().filter(|_| !lose);
                self.losses[1] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.sender.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_sender(observe);
            }
            NextEvent::Data => {
                let arriving = self.forward.pop_front().filter(|_| !lose);
                self.losses[0] -= u8::from(lose);
                if let Some((_, pdu)) = arriving {
                    self.receiver.handle(at, Input::Pdu { pdu, ecn: Ecn::NotEct });
                }
                self.drain_receiver(observe);
            }
            NextEvent::SenderTimer => self.drain_sender(observe),
            NextEvent::ReceiverTimer => self.drain_receiver(observe),
        }
    }

    fn drain_sender(&mut self, observe: &mut impl FnMut(bool, &Pdu<OpaqueByte>)) {
        self.timer_expiries[0] = send_pending_pdus(&mut self.sender, self.now, |pdu| {
            observe(true, &pdu);
            self.forward.push_back((self.now + self.delay, pdu));
        });
    }

    fn drain_receiver(&mut self, observe: &mut impl FnMut(bool, &Pdu<OpaqueByte>)) {
        self.timer_expiries[1] = send_pending_pdus(&mut self.receiver, self.now, |pdu| {
            observe(false, &pdu);
            self.reverse.push_back((self.now + self.delay, pdu));
        });
    }

    /// Returns a hash of all state that determines future events, without the remaining losses.
    fn digest(&self) -> u128 {
        let mut hash = Fnv::new();
        let origin = Origin { segment: self.sender.lowest(), ..Origin::new(&self.sender, &self.receiver) };
        self.sender.digest_from(self.now, origin, &mut hash);
        self.receiver.digest_from(self.now, origin, &mut hash);
        for queue in [&self.forward, &self.reverse] {
            queue.len().hash(&mut hash);
            for (at, pdu) in queue {
                (at.since(self.now), origin.pdu(pdu.clone())).hash(&mut hash);
            }
        }
        for due in self.timer_expiries {
            (due < Time::MAX).then(|| due.since(self.now)).hash(&mut hash);
        }
        hash.write_u8(0);
        hash.value()
    }
}

/// Sends the endpoint's pending PDUs through `put`; returns the time of its next poll.
fn send_pending_pdus<E>(end: &mut E, now: Time, mut put: impl FnMut(Pdu<OpaqueByte>)) -> Time
where
    E: Engine<Pdu = Pdu<OpaqueByte>, Event = Event<OpaqueByte>>,
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

const fn is_retransmission(pdu: &Pdu<OpaqueByte>) -> bool {
    matches!(pdu, Pdu::Data(data) if data.resent)
}

struct Search {
    /// States with their remaining losses; a step is true if its packet was lost.
    visited: VisitedStates<(u128, [u8; 2]), bool, Pair>,
    /// States that recover.
    recovering: HashSet<u128>,
    steps: u64,
}

/// Visits every state of an endless stream. Calls `show` every thousand states with the number of states and the number
/// of unvisited ones; it returns whether to continue. `memory` bounds the memory used.
///
/// # Errors
///
/// [`RateError`] of [`RateSpec::with_average`]; none for the rates used here.
pub fn search_endless(
    endless: &EndlessStream,
    memory: Bytes,
    show: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<SearchOutcome, RateError> {
    let mut search = Search { visited: VisitedStates::default(), recovering: HashSet::new(), steps: 0 };
    let first = Pair::new(endless)?;
    if let Some(livelock) = search.add(first, None) {
        return search.outcome(endless, true, Some(livelock));
    }
    let mut visited = 0u64;
    while let Some((number, pair)) = search.visited.pop() {
        visited += 1;
        let goes_on =
            !visited.is_multiple_of(1000) || show(search.visited.states(), search.visited.queued_states());
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
            if let Some(livelock) = search.add(next, Some((number, lose))) {
                return search.outcome(endless, true, Some(livelock));
            }
        }
    }
    search.outcome(endless, true, None)
}

/// Cycle with retransmissions, in which a stream without further losses ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cycle {
    /// Steps from the first state to the cycle.
    lead_in: usize,
    /// Steps per cycle; 0 if none was found within [`MAX_LOSS_FREE_STEPS`].
    period: usize,
}

/// State that does not recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Livelock {
    /// Number of the state.
    state: u32,
    /// Cycle reached from it.
    cycle: Cycle,
}

impl Search {
    fn add(&mut self, pair: Pair, origin: Option<(u32, bool)>) -> Option<Livelock> {
        let digest = pair.digest();
        let number = self.visited.add((digest, pair.losses), origin)?;
        if let Err(cycle) = self.follow(digest, pair.clone()) {
            return Some(Livelock { state: number, cycle });
        }
        self.visited.push(number, pair);
        None
    }

    /// Follows a state without further losses until it reaches a cycle or a state known to recover. A cycle with
    /// retransmissions is an error.
    fn follow(&mut self, mut digest: u128, mut pair: Pair) -> Result<(), Cycle> {
        let (mut path, mut positions, mut retransmissions) = (Vec::new(), HashMap::new(), Vec::new());
        while !self.recovering.contains(&digest) {
            if let Some(&lead_in) = positions.get(&digest) {
                if retransmissions.iter().skip(lead_in).any(|&retransmits| retransmits) {
                    return Err(Cycle { lead_in, period: path.len() - lead_in });
                }
                break;
            }
            if path.len() > MAX_LOSS_FREE_STEPS {
                return Err(Cycle { lead_in: path.len(), period: 0 });
            }
            positions.insert(digest, path.len());
            path.push(digest);
            let mut retransmits = false;
            pair.step(false, &mut |_, pdu| retransmits |= is_retransmission(pdu));
            retransmissions.push(retransmits);
            digest = pair.digest();
        }
        self.recovering.extend(path);
        Ok(())
    }

    fn memory(&self) -> u64 {
        let visited = self.visited.states() + self.recovering.len() as u64;
        visited * VISITED_BYTES + self.visited.queued_states() * STATE_BYTES
    }

    fn outcome(
        &self,
        endless: &EndlessStream,
        complete: bool,
        livelock: Option<Livelock>,
    ) -> Result<SearchOutcome, RateError> {
        let counterexample = match livelock {
            Some(Livelock { state, cycle }) => Some(Counterexample {
                what: "the stream does not recover, although losses have ended".to_owned(),
                trace: livelock_trace(endless, &self.visited.path(state), cycle)?,
            }),
            None => None,
        };
        Ok(SearchOutcome {
            states: self.visited.states(),
            steps: self.steps,
            depth: self.visited.depth(),
            completing_states: self.recovering.len() as u64,
            complete,
            counterexample,
        })
    }
}

/// Returns the trace: losses and requests on the path to the cycle, then one complete cycle.
fn livelock_trace(endless: &EndlessStream, path: &[bool], cycle: Cycle) -> Result<Vec<String>, RateError> {
    let mut pair = Pair::new(endless)?;
    let mut lines = vec!["an endless stream begins".to_owned()];
    let mut take = |lines: &mut Vec<String>, lose: bool, is_in_cycle: bool| {
        let (at, next) = pair.next();
        let at = at.since(Time::ZERO);
        let queue = if next == NextEvent::Report { &pair.reverse } else { &pair.forward };
        if let Some((_, pdu)) = queue.front().filter(|_| lose) {
            lines.push(format!("{at}: {} is lost", pdu.description()));
        }
        pair.step(lose, &mut |is_sender, pdu| {
            if is_in_cycle || is_retransmission(pdu) || matches!(pdu, Pdu::Snak(..)) {
                let who = if is_sender { "sender" } else { "receiver" };
                lines.push(format!("{at}: {who} -> {}", pdu.description()));
            }
        });
    };
    path.iter().for_each(|&lose| take(&mut lines, lose, false));
    lines.push("from here on nothing is lost; requests and retransmissions:".to_owned());
    (0..cycle.lead_in).for_each(|_| take(&mut lines, false, false));
    lines.push("then this repeats:".to_owned());
    let start = lines.len();
    (0..cycle.period).for_each(|_| take(&mut lines, false, true));
    let more = lines.len().saturating_sub(start + MAX_LINES);
    if more > 0 {
        lines.truncate(start + MAX_LINES);
        lines.push(format!("and {more} more lines before it repeats"));
    }
    Ok(lines)
}
