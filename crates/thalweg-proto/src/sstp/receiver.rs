//! The receiving end.

use super::assembly::{Assembly, Ready, Stored, Verdict};
use super::pdu::{ahead, expand};
use super::{Bitmap, Data, Pdu, Position, ReceiverConfig, Report, Request};
use crate::engine::{Engine, Output};
use crate::payload::Payload;
use crate::transport::{Event, Input, ReceiverCounts};
use crate::units::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The reason for which a receiver wants to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverReason {
    /// The latest state is repeated, as the last report may have been lost.
    Repeat,
    /// Requests are repeated.
    Request,
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments accepted.
    pub segments: u64,
    /// Of those, the ones with tolerated holes.
    pub incomplete: u64,
    /// Packets that were missing from what the application got, each of which it was told of.
    pub holes: u64,
    /// Data packets that were stored.
    pub stored: u64,
    /// Data packets that had come before.
    pub duplicates: u64,
    /// Data packets discarded for want of room.
    pub refused: u64,
    /// Segments discarded to make room for lower ones.
    pub evictions: u64,
    /// Packets outside the window or with numbers that cannot be.
    pub malformed: u64,
    /// Data packets found lost by gaps in the shipment numbers.
    pub gaps: u64,
    /// Requests made.
    pub requests: u64,
    /// Reports sent.
    pub reports: u64,
    /// Segments that take room now.
    pub buffered: u32,
    /// The most that did.
    pub buffered_peak: u32,
    /// Bytes kept now.
    pub buffered_bytes: u64,
    /// The most that were.
    pub bytes_peak: u64,
}

/// The packets that are arriving, as the sender finishes what it has begun.
#[derive(Clone, Debug)]
pub(super) enum Group {
    Nothing,
    /// A segment for the first time, up to a packet.
    New(u64, u16),
    /// Packets of a segment that were asked for, up to a packet.
    Resend(u64, u16, Option<Bitmap>),
}

/// A request that has not been answered.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) segment: u64,
    pub(super) asked: Bitmap,
    pub(super) at: Time,
}

/// An acknowledgement that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Pack(u64),
    Snak(u64),
    State,
}

/// Assembles segments, accepts or requests them, and delivers them in order.
#[derive(Clone, Debug)]
pub struct Receiver<P: Payload> {
    pub(super) config: Arc<ReceiverConfig>,
    pub(super) assembly: Assembly<P>,
    /// The shipment number that comes next on a path that keeps order.
    pub(super) next_shipment: u32,
    /// Packets that came before others that are not given up yet, in order of shipment.
    pub(super) waiting: VecDeque<Data<P>>,
    /// Keep-alive packets that came since.
    pub(super) strikes: usize,
    pub(super) group: Group,
    /// In the order of the requests, which is the order of the answers.
    pub(super) pending: VecDeque<Pending>,
    /// Segments that are asked for when the application has made room.
    pub(super) held: BTreeSet<u64>,
    pub(super) replies: VecDeque<Reply>,
    pub(super) next_control: u32,
    /// The time at which the sender last heard, or something new became outstanding.
    pub(super) told_at: Time,
    /// The time at which packets were last found lost.
    pub(super) lost_at: Time,
    /// The time at which something that was asked for last came.
    pub(super) answered_at: Time,
    pub(super) stats: ReceiverStats,
}

impl<P: Payload> Receiver<P> {
    /// Waits for the first packet of segment 0.
    pub fn new(config: Arc<ReceiverConfig>) -> Self {
        Self {
            assembly: Assembly::new(Arc::clone(&config)),
            config,
            next_shipment: 0,
            waiting: VecDeque::new(),
            strikes: 0,
            group: Group::Nothing,
            pending: VecDeque::new(),
            held: BTreeSet::new(),
            replies: VecDeque::new(),
            next_control: 0,
            told_at: Time::ZERO,
            lost_at: Time::ZERO,
            answered_at: Time::ZERO,
            stats: ReceiverStats::default(),
        }
    }

    /// Counters.
    pub fn stats(&self) -> ReceiverStats {
        let counts = self.assembly.counts;
        ReceiverStats {
            segments: counts.segments,
            incomplete: counts.incomplete,
            holes: counts.holes,
            evictions: counts.evictions,
            buffered: counts.buffered,
            buffered_peak: counts.buffered_peak,
            buffered_bytes: counts.buffered_bytes,
            bytes_peak: counts.bytes_peak,
            ..self.stats
        }
    }

    /// The data that the receiver has taken so far.
    pub fn counts(&self) -> ReceiverCounts {
        self.assembly.counts.taken
    }

    /// The lowest segment that has not been accepted.
    pub fn expected(&self) -> u64 {
        self.assembly.expected()
    }

    /// R_h, the window upper limit: the highest segment that the sender may send.
    pub fn limit(&self) -> u64 {
        self.assembly.high()
    }

    /// From now on so many bytes are kept of segments that are not delivered, at most; room for the one that is delivered next is
    /// left by all others.
    pub fn set_memory(&mut self, bytes: u64) {
        self.assembly.memory = bytes;
    }

    /// Packets that may wait for others that they have overtaken.
    fn most_waiting(&self) -> usize {
        let memory = self.assembly.memory / 4 / u64::from(self.config.packet.max(128));
        usize::from(self.config.reordering.min(MAX_REORDERING))
            .min(usize::try_from(memory).unwrap_or(usize::MAX))
    }

    /// The control number of the next report.
    pub fn next_control(&self) -> u32 {
        self.next_control
    }

    /// The application takes data at `share` of the agreed rate from now on, 0 to 1: a long slow-down from F to F1 is
    /// `F1/F`, and speeding up again the same rule (Gong and Parulkar 1992, section 3.2). The window becomes
    /// `W1 = (F1/F)·W0`; what has been offered is not taken back.
    pub fn set_reading_share(&mut self, share: f64) {
        if self.assembly.set_share(share) && self.replies.is_empty() {
            self.reply(Reply::State);
        }
    }

    pub(super) fn repeat(&self) -> Duration {
        self.config.repeat.max(SHORTEST_REPEAT)
    }

    fn on_data(&mut self, now: Time, data: Data<P>) {
        let is_sane = data.packet < self.config.segment.max(1) && data.payload.len() <= self.config.packet;
        if !is_sane || data.payload.is_empty() {
            self.stats.malformed += 1;
            return;
        }
        if !self.assembly.is_incomplete() {
            self.told_at = self.told_at.max(now);
        }
        let distance = ahead(data.shipment, self.next_shipment);
        if distance < 0 {
            self.on_late(now, data);
        } else if distance == 0 || self.config.reordering == 0 {
            self.on_shipment(now, data);
        } else {
            let shipment = data.shipment;
            let at = self.waiting.partition_point(|other| ahead(other.shipment, shipment) < 0);
            if self.waiting.get(at).is_some_and(|other| other.shipment == shipment) {
                self.stats.duplicates += 1;
                return;
            }
            self.waiting.insert(at, data);
        }
        self.take_waiting(now);
    }

    /// Takes what waits in order, and gives up what so many have overtaken.
    fn take_waiting(&mut self, now: Time) {
        let most = self.most_waiting();
        while let Some(first) = self.waiting.front() {
            if first.shipment != self.next_shipment && self.waiting.len() + self.strikes <= most {
                return;
            }
            let Some(first) = self.waiting.pop_front() else { return };
            if ahead(first.shipment, self.next_shipment) < 0 {
                self.on_late(now, first);
            } else {
                self.on_shipment(now, first);
            }
        }
    }

    /// A packet that had been given up, or came twice.
    fn on_late(&mut self, now: Time, data: Data<P>) {
        let Some(segment) = expand(data.segment, self.assembly.expected()) else {
            self.stats.malformed += 1;
            return;
        };
        if self.keep(segment, data) == Some(Stored::New) && !self.is_arriving(segment) {
            self.settle_if_whole(now, segment);
        }
    }

    fn is_arriving(&self, segment: u64) -> bool {
        match self.group {
            Group::New(under_way, _) | Group::Resend(under_way, ..) => under_way == segment,
            Group::Nothing => false,
        }
    }

    /// Accepts a segment to which nothing is missing any more, and asks for nothing otherwise.
    fn settle_if_whole(&mut self, now: Time, segment: u64) {
        if self.assembly.wanted(segment).is_some_and(|wanted| wanted.first_missing(0).is_none()) {
            self.judge(now, segment);
        }
    }

    /// Stores a packet; `None` where it lies outside the window.
    fn keep(&mut self, segment: u64, data: Data<P>) -> Option<Stored> {
        if segment > self.assembly.high() {
            self.stats.malformed += 1;
            return None;
        }
        if data.last {
            self.assembly.end(segment, data.packet);
        }
        if data.full {
            self.assembly.fill(segment);
        }
        let stored = self.assembly.store(segment, data.packet, data.payload);
        match stored {
            Stored::New => self.stats.stored += 1,
            Stored::Duplicate => self.stats.duplicates += 1,
            Stored::Refused => self.stats.refused += 1,
        }
        Some(stored)
    }

    /// The packet whose turn it is; those between it and the one before are lost.
    fn on_shipment(&mut self, now: Time, data: Data<P>) {
        let gap = ahead(data.shipment, self.next_shipment).max(0) as u32;
        self.next_shipment = data.shipment.wrapping_add(1);
        self.strikes = 0;
        self.stats.gaps += u64::from(gap);
        let found = expand(data.segment, self.assembly.expected());
        let Some(segment) = found.filter(|&segment| segment <= self.assembly.reach()) else {
            self.stats.malformed += 1;
            return;
        };
        if !self.continues(segment, &data) {
            self.begin_group(now, segment, &data, gap);
        }
        if data.resent {
            self.answered_at = now;
        }
        if gap > 0 {
            self.lost_at = now;
        }
        self.assembly.is_calm = now.since(self.lost_at).as_picos() / CALM >= self.repeat().as_picos();
        let (packet, is_last) = (data.packet, data.last);
        self.keep(segment, data);
        if self.is_arriving(segment) {
            self.end_group(now, packet, is_last);
        } else {
            // It had been taken for lost before it was sent.
            self.settle_if_whole(now, segment);
        }
        self.ask_for_evicted(now);
    }

    /// True if a packet belongs to the group that is arriving.
    fn continues(&mut self, segment: u64, data: &Data<P>) -> bool {
        match &mut self.group {
            Group::New(under_way, last) if *under_way == segment && !data.resent && data.packet > *last => {
                *last = data.packet;
                true
            }
            Group::Resend(under_way, last, _)
                if *under_way == segment && data.resent && data.packet > *last =>
            {
                *last = data.packet;
                true
            }
            _ => false,
        }
    }

    /// A group begins, so the one before is over, and of the `gap` packets lost those that are accounted for neither by
    /// its end nor by the beginning of the new one were groups of their own.
    fn begin_group(&mut self, now: Time, segment: u64, data: &Data<P>, gap: u32) {
        let gap = self.close_group(now, gap);
        let front = self.assembly.front();
        if data.resent {
            let Some(at) = self.pending.iter().position(|pending| pending.segment == segment) else {
                self.group = Group::Resend(segment, data.packet, None);
                return;
            };
            // Requests are answered in order.
            let mut gap = gap;
            for _ in 0..at {
                gap = self.give_up_first_request(now, gap);
            }
            let Some(pending) = self.pending.pop_front() else { return };
            gap = gap.saturating_sub(pending.asked.count_missing_before(u32::from(data.packet)));
            self.group = Group::Resend(segment, data.packet, Some(pending.asked));
            // What is left are whole new segments.
            let whole = u64::from(gap / u32::from(self.config.segment.max(1)));
            self.lose_segments(now, (front + whole).min(self.assembly.high() + 1));
        } else if segment + 1 >= front {
            let whole = segment.saturating_sub(front).saturating_mul(u64::from(self.config.segment));
            let known = u32::try_from(whole).unwrap_or(u32::MAX).saturating_add(u32::from(data.packet));
            self.give_up_requests(now, gap.saturating_sub(known));
            self.lose_segments(now, segment);
            self.assembly.begin(segment);
            self.group = Group::New(segment, data.packet);
        } else {
            self.group = Group::Nothing;
        }
    }

    /// No packet of the group comes any more. Gives what is left of the gap.
    fn close_group(&mut self, now: Time, gap: u32) -> u32 {
        let (segment, rest) = match core::mem::replace(&mut self.group, Group::Nothing) {
            Group::Nothing => return gap,
            Group::New(segment, last) => {
                (segment, u32::from(self.assembly.length(segment)).saturating_sub(u32::from(last) + 1))
            }
            Group::Resend(segment, last, asked) => {
                let length = u32::from(self.assembly.length(segment));
                let missing = |asked: Bitmap| {
                    asked.missing_from(u32::from(last) + 1).take_while(|&packet| packet < length).count()
                };
                (segment, asked.map_or(0, missing) as u32)
            }
        };
        self.assembly.set_requested(segment, false);
        self.judge(now, segment);
        gap.saturating_sub(rest)
    }

    /// Closes the group if `packet` is the last that was expected of it.
    fn end_group(&mut self, now: Time, packet: u16, is_last: bool) {
        let is_over = match &self.group {
            Group::Nothing => return,
            Group::New(segment, _) => is_last || packet + 1 >= self.assembly.length(*segment),
            Group::Resend(_, _, asked) => {
                is_last
                    || asked
                        .as_ref()
                        .is_some_and(|asked| asked.first_missing(u32::from(packet) + 1).is_none())
            }
        };
        if is_over {
            self.close_group(now, 0);
        }
    }

    /// Segments before `end` that were never seen have been lost as a whole.
    fn lose_segments(&mut self, now: Time, end: u64) {
        let first = self.assembly.front();
        if end <= first {
            return;
        }
        self.assembly.begin(end - 1);
        for segment in first..self.assembly.front() {
            self.judge(now, segment);
        }
    }

    /// So many lost packets were answers to the oldest requests.
    fn give_up_requests(&mut self, now: Time, mut gap: u32) {
        // Each once: they are asked for again behind the others.
        for _ in 0..self.pending.len() {
            let Some(first) = self.pending.front() else { return };
            if gap < first.asked.count_missing().max(1) {
                return;
            }
            gap = self.give_up_first_request(now, gap);
        }
    }

    /// The answer to the oldest request is lost. Gives what is left of the gap.
    fn give_up_first_request(&mut self, now: Time, gap: u32) -> u32 {
        let Some(pending) = self.pending.pop_front() else { return gap };
        self.assembly.set_requested(pending.segment, false);
        self.judge(now, pending.segment);
        gap.saturating_sub(pending.asked.count_missing())
    }

    /// The tolerance check, and what follows from it.
    fn judge(&mut self, now: Time, segment: u64) {
        match self.assembly.check(segment) {
            Verdict::Settled => {}
            Verdict::Accepted => {
                self.held.remove(&segment);
                self.reply(Reply::Pack(segment));
            }
            Verdict::Wanting => self.request(now, segment),
            Verdict::Waiting => {
                self.held.insert(segment);
            }
        }
    }

    fn request(&mut self, now: Time, segment: u64) {
        let Some(asked) = self.assembly.wanted(segment).filter(|_| !self.assembly.is_requested(segment))
        else {
            return;
        };
        self.assembly.set_requested(segment, true);
        self.pending.push_back(Pending { segment, asked, at: now });
        self.stats.requests += 1;
        self.reply(Reply::Snak(segment));
    }

    fn reply(&mut self, reply: Reply) {
        // A driver that does not drain gets no more than the last state.
        if self.replies.len() <= 2 * usize::from(self.config.window) {
            self.replies.push_back(reply);
        }
    }

    /// Soft acknowledgement: asks for what was accepted and discarded, when it is time.
    fn ask_for_evicted(&mut self, now: Time) {
        if self.config.acknowledgement.is_soft() {
            for segment in self.assembly.to_ask_again() {
                self.request(now, segment);
            }
        }
    }

    /// The sender has nothing to send, so nothing is under way but what it sent before.
    fn on_position(&mut self, now: Time, position: Position) {
        let expected = self.assembly.expected();
        let Some(begun) = expand(position.segment.wrapping_add(1), expected) else {
            self.stats.malformed += 1;
            return;
        };
        let distance = ahead(position.shipment.wrapping_add(1), self.next_shipment);
        if begun > self.assembly.high() + 1 || position.packet.wrapping_add(1) > self.config.segment.max(1) {
            self.stats.malformed += 1;
            return;
        }
        if distance >= 0 {
            if distance > 0 || !self.waiting.is_empty() {
                self.strikes += 1;
                if self.waiting.len() + self.strikes <= self.most_waiting() {
                    return;
                }
                self.take_waiting(now);
            }
            // What waited may have been sent after the position was told.
            if ahead(position.shipment.wrapping_add(1), self.next_shipment) >= 0 {
                self.on_end_of_shipments(now, position, begun);
            }
        }
        if now.since(self.told_at) >= self.repeat() && !self.replies.contains(&Reply::State) {
            self.reply(Reply::State);
        }
    }

    fn on_end_of_shipments(&mut self, now: Time, position: Position, begun: u64) {
        let gap = ahead(position.shipment.wrapping_add(1), self.next_shipment).max(0) as u32;
        self.next_shipment = position.shipment.wrapping_add(1);
        self.strikes = 0;
        self.stats.gaps += u64::from(gap);
        let front = self.assembly.front();
        if gap > 0 && !self.assembly.is_incomplete() {
            self.told_at = self.told_at.max(now);
        }
        if begun < front {
            self.forget_unsent(begun);
        }
        let front = self.assembly.front();
        if begun == front && begun > 0 {
            self.assembly.end(begun - 1, position.packet);
        }
        let mut gap = self.close_group(now, gap);
        if begun == front && begun > 0 {
            // It was taken for longer if the application took back the rest while other packets were under way.
            self.settle_if_whole(now, begun - 1);
        }
        if begun > front {
            let size = u64::from(self.config.segment.max(1));
            let whole = (begun - 1 - front).saturating_mul(size) + u64::from(position.packet) + 1;
            gap = gap.saturating_sub(u32::try_from(whole).unwrap_or(u32::MAX));
        }
        self.give_up_requests(now, gap);
        if begun > front {
            self.lose_segments(now, begun - 1);
            self.assembly.begin(begun - 1);
            self.assembly.end(begun - 1, position.packet);
            self.judge(now, begun - 1);
        }
        self.ask_for_evicted(now);
    }

    /// Segments from `begun` on have not been sent: lost repetitions had been taken for them.
    fn forget_unsent(&mut self, begun: u64) {
        self.assembly.retract(begun);
        let front = self.assembly.front();
        self.pending.retain(|pending| pending.segment < front);
        self.held.retain(|&segment| segment < front);
    }

    fn on_consumed(&mut self, now: Time, bytes: u64) {
        let moved = self.assembly.consume(bytes);
        while let Some(&segment) = self.held.first().filter(|&&segment| self.assembly.has_room(segment)) {
            self.held.remove(&segment);
            self.request(now, segment);
        }
        if moved && self.replies.is_empty() {
            self.reply(Reply::State);
        }
    }

    /// The times at which the latest state, and at which requests are to be repeated.
    fn deadlines(&self) -> (Time, Time) {
        let state = if self.assembly.is_incomplete() { self.told_at + self.repeat() } else { Time::MAX };
        let patience = self.repeat() + self.repeat();
        let request =
            self.pending.front().map_or(Time::MAX, |first| first.at.max(self.answered_at) + patience);
        (state, request)
    }

    fn repeat_requests(&mut self, now: Time) {
        let assembly = &mut self.assembly;
        self.pending.retain(|pending| {
            let is_wanted = assembly.wanted(pending.segment).is_some();
            if !is_wanted {
                // Accepted meanwhile. If it is discarded later, it is to be asked for anew.
                assembly.set_requested(pending.segment, false);
            }
            is_wanted
        });
        self.answered_at = now;
        for at in 0..self.pending.len() {
            self.pending[at].at = now;
            let segment = self.pending[at].segment;
            self.stats.requests += 1;
            self.reply(Reply::Snak(segment));
        }
    }

    /// The PDU of a reply, unless there is nothing to say any more.
    fn pdu(&mut self, now: Time, reply: Reply) -> Option<Pdu<P>> {
        let expected = self.assembly.expected();
        let (accepted, request) = match reply {
            Reply::Pack(segment) => (segment, None),
            Reply::State => (expected.wrapping_sub(1), None),
            Reply::Snak(segment) => {
                let bitmap = self.assembly.wanted(segment)?;
                (expected.wrapping_sub(1), Some(Request { segment: segment as u16, bitmap }))
            }
        };
        let report = Report {
            control: self.next_control,
            accepted: accepted as u16,
            cumulative: expected as u16,
            limit: self.assembly.high() as u16,
        };
        self.next_control = self.next_control.wrapping_add(1);
        self.told_at = now;
        self.stats.reports += 1;
        Some(match request {
            None => Pdu::Pack(report),
            Some(request) => Pdu::Snak(report, request),
        })
    }
}

impl<P: Payload> Engine for Receiver<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ReceiverReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Data(data), .. } => self.on_data(now, data),
            Input::Pdu { pdu: Pdu::KeepAlive(position) | Pdu::EndOfStream(position), .. } => {
                self.on_position(now, position);
            }
            Input::Consumed(bytes) => self.on_consumed(now, bytes),
            // A receiver has nothing to send but reports, which a gate lets pass.
            Input::Pdu { .. }
            | Input::Write(_)
            | Input::Finish
            | Input::Stop
            | Input::Feedback(_)
            | Input::Pause
            | Input::Resume => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        match self.assembly.ready.pop_front() {
            Some(Ready::Piece(piece)) => return Output::Event(Event::Delivered(piece)),
            Some(Ready::Hole(packets)) => return Output::Event(Event::Hole { packets }),
            None => {}
        }
        let (_, request) = self.deadlines();
        if now >= request {
            self.repeat_requests(now);
        }
        while let Some(reply) = self.replies.pop_front() {
            if let Some(pdu) = self.pdu(now, reply) {
                return Output::Transmit(pdu);
            }
        }
        // Every report tells the latest state; there may have been nothing to ask for again.
        let (state, _) = self.deadlines();
        if now >= state
            && let Some(pdu) = self.pdu(now, Reply::State)
        {
            return Output::Transmit(pdu);
        }
        match self.deadlines() {
            (Time::MAX, Time::MAX) => Output::Idle,
            (state, request) if request < state => {
                Output::Timeout { at: request, reason: ReceiverReason::Request }
            }
            (state, _) => Output::Timeout { at: state, reason: ReceiverReason::Repeat },
        }
    }
}

/// State is not repeated more often than this.
const SHORTEST_REPEAT: Duration = Duration::from_millis(10);
/// Firm acknowledgement withholds the window when no packet has been lost for so many round trips: two would be taken
/// by a repair that goes well.
pub(super) const CALM: u64 = 3;
/// The most packets that are held back for reordering.
const MAX_REORDERING: u16 = 1024;
