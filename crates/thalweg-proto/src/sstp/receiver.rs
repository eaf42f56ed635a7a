//! SSTP receiver: gap detection, reports, acknowledgement of segments.

use super::pdu::{expand_number, serial_distance};
use super::reassembly::{Assembly, OrderedItem, StoreOutcome, Verdict};
use super::{Bitmap, Data, Pdu, Position, ReceiverConfig, Report, Request};
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::transport::{Event, Input, ReceiverCounts};
use crate::units::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Timer of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverReason {
    /// Repetition of the latest state, as the last report may have been lost.
    Repeat,
    /// Repetition of requests.
    Request,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments accepted.
    pub segments: u64,
    /// Accepted segments with tolerated holes.
    pub incomplete: u64,
    /// Packets missing from the delivered data; the application is notified of each.
    pub holes: u64,
    /// Data packets stored.
    pub stored: u64,
    /// Duplicate data packets.
    pub duplicates: u64,
    /// Data packets discarded for lack of buffer.
    pub refused: u64,
    /// Segments evicted in favour of lower ones.
    pub evictions: u64,
    /// Packets outside the window or with invalid numbers.
    pub malformed: u64,
    /// Data packets detected as lost by gaps in the shipment numbers.
    pub gaps: u64,
    /// Requests made.
    pub requests: u64,
    /// Reports sent.
    pub reports: u64,
    /// Segments buffered now.
    pub buffered: u32,
    /// Maximum of buffered segments.
    pub buffered_peak: u32,
    /// Bytes buffered now.
    pub buffered_bytes: u64,
    /// Maximum of buffered bytes.
    pub bytes_peak: u64,
}

/// Group of packets that is arriving; the sender finishes a group before it begins another.
#[derive(Clone, Debug)]
pub(super) enum Group {
    Nothing,
    /// First transmission of a segment, received up to a packet.
    New(u64, u16),
    /// Retransmission of requested packets of a segment, received up to a packet.
    Resend(u64, u16, Option<Bitmap>),
}

/// Unanswered request.
#[derive(Clone, Debug)]
pub(super) struct PendingRequest {
    pub(super) segment: u64,
    pub(super) requested: Bitmap,
    pub(super) requested_at: Time,
}

/// Queued acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Pack(u64),
    Snak(u64),
    State,
}

/// Receiver that assembles segments, accepts or requests them, and delivers them in order.
#[derive(Clone, Debug)]
pub struct Receiver<P: Payload> {
    pub(super) config: Arc<ReceiverConfig>,
    pub(super) assembly: Assembly<P>,
    /// Next shipment number if the path keeps order.
    pub(super) next_shipment: u32,
    /// Out-of-order packets, in order of shipment; the packets before them are not yet considered lost.
    pub(super) out_of_order: VecDeque<Data<P>>,
    /// Keep-alive packets received since.
    pub(super) keep_alives_since: usize,
    pub(super) group: Group,
    /// Requests in order, which is also the order of the answers.
    pub(super) pending: VecDeque<PendingRequest>,
    /// Segments to request when the application has freed buffer space.
    pub(super) held_requests: BTreeSet<u64>,
    pub(super) replies: VecDeque<Reply>,
    pub(super) next_control: u32,
    /// Time of the last report, or of the last start of outstanding data.
    pub(super) reported_at: Time,
    /// Time of the last loss detection.
    pub(super) lost_at: Time,
    /// Time of the last arrival of a requested packet.
    pub(super) answered_at: Time,
    pub(super) stats: ReceiverStats,
}

impl<P: Payload> Receiver<P> {
    /// Creates a receiver that waits for the first packet of segment 0.
    pub fn new(config: Arc<ReceiverConfig>) -> Self {
        Self {
            assembly: Assembly::new(Arc::clone(&config)),
            config,
            next_shipment: 0,
            out_of_order: VecDeque::new(),
            keep_alives_since: 0,
            group: Group::Nothing,
            pending: VecDeque::new(),
            held_requests: BTreeSet::new(),
            replies: VecDeque::new(),
            next_control: 0,
            reported_at: Time::ZERO,
            lost_at: Time::ZERO,
            answered_at: Time::ZERO,
            stats: ReceiverStats::default(),
        }
    }

    /// Returns the counters.
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

    /// Returns the counts of delivered data.
    pub fn counts(&self) -> ReceiverCounts {
        self.assembly.counts.delivered
    }

    /// Returns the lowest unaccepted segment.
    pub fn expected(&self) -> u64 {
        self.assembly.expected()
    }

    /// Returns R_h, the window upper limit: the highest segment that the sender may send.
    pub fn limit(&self) -> u64 {
        self.assembly.high()
    }

    /// Limits the memory of undelivered segments to `bytes`. All segments but the next one to be delivered leave room
    /// for that one.
    pub fn set_memory(&mut self, bytes: u64) {
        self.assembly.memory = bytes;
    }

    /// Returns the maximum number of packets held for reordering.
    fn max_reordering(&self) -> usize {
        let memory = self.assembly.memory / 4 / u64::from(self.config.max_payload.max(128));
        usize::from(self.config.reordering.min(MAX_REORDERING))
            .min(usize::try_from(memory).unwrap_or(usize::MAX))
    }

    /// Returns the control number of the next report.
    pub fn next_control(&self) -> u32 {
        self.next_control
    }

    /// Sets the application's reading rate to `share` of the agreed rate, 0 to 1. A long slow-down from F to F1 has the
    /// share `F1/F`; speeding up again follows the same rule (Gong and Parulkar 1992, section 3.4). The window becomes
    /// `W1 = (F1/F)·W0`; an offered window is not withdrawn.
    pub fn set_reading_share(&mut self, share: f64) {
        if self.assembly.set_share(share) && self.replies.is_empty() {
            self.reply(Reply::State);
        }
    }

    pub(super) fn repeat(&self) -> Duration {
        self.config.repeat.max(MIN_REPEAT_INTERVAL)
    }

    fn on_data(&mut self, now: Time, data: Data<P>) {
        let is_sane =
            data.packet < self.config.segment_packets.max(1) && data.payload.len() <= self.config.max_payload;
        if !is_sane || data.payload.is_empty() {
            self.stats.malformed += 1;
            return;
        }
        if !self.assembly.is_incomplete() {
            self.reported_at = self.reported_at.max(now);
        }
        let distance = serial_distance(data.shipment, self.next_shipment);
        if distance < 0 {
            self.on_late(now, data);
        } else if distance == 0 || self.config.reordering == 0 {
            self.on_shipment(now, data);
        } else {
            let shipment = data.shipment;
            let at = self.out_of_order.partition_point(|other| serial_distance(other.shipment, shipment) < 0);
            if self.out_of_order.get(at).is_some_and(|other| other.shipment == shipment) {
                self.stats.duplicates += 1;
                return;
            }
            self.out_of_order.insert(at, data);
        }
        self.take_waiting(now);
    }

    /// Processes held packets in order, and declares a missing packet lost once enough later packets have arrived.
    fn take_waiting(&mut self, now: Time) {
        let max = self.max_reordering();
        while let Some(first) = self.out_of_order.front() {
            if first.shipment != self.next_shipment && self.out_of_order.len() + self.keep_alives_since <= max
            {
                return;
            }
            let Some(first) = self.out_of_order.pop_front() else { return };
            if serial_distance(first.shipment, self.next_shipment) < 0 {
                self.on_late(now, first);
            } else {
                self.on_shipment(now, first);
            }
        }
    }

    /// Handles a packet that was declared lost, or a duplicate.
    fn on_late(&mut self, now: Time, data: Data<P>) {
        let Some(segment) = expand_number(data.segment, self.assembly.expected()) else {
            self.stats.malformed += 1;
            return;
        };
        if self.keep(segment, data) == Some(StoreOutcome::New) && !self.is_arriving(segment) {
            self.accept_if_complete(now, segment);
        }
    }

    fn is_arriving(&self, segment: u64) -> bool {
        match self.group {
            Group::New(arriving, _) | Group::Resend(arriving, ..) => arriving == segment,
            Group::Nothing => false,
        }
    }

    /// Accepts a complete segment; does not request anything otherwise.
    fn accept_if_complete(&mut self, now: Time, segment: u64) {
        if self.assembly.wanted(segment).is_some_and(|wanted| wanted.first_missing(0).is_none()) {
            self.check_tolerance(now, segment);
        }
    }

    /// Stores a packet; returns `None` if it lies outside the window.
    fn keep(&mut self, segment: u64, data: Data<P>) -> Option<StoreOutcome> {
        if segment > self.assembly.high() {
            self.stats.malformed += 1;
            return None;
        }
        if data.last {
            self.assembly.end(segment, data.packet);
        }
        if data.is_full {
            self.assembly.fill(segment);
        }
        let stored = self.assembly.store(segment, data.packet, data.payload);
        match stored {
            StoreOutcome::New => self.stats.stored += 1,
            StoreOutcome::Duplicate => self.stats.duplicates += 1,
            StoreOutcome::Refused => self.stats.refused += 1,
        }
        Some(stored)
    }

    /// Handles the next packet in order; the packets between it and the previous one are lost.
    fn on_shipment(&mut self, now: Time, data: Data<P>) {
        // Gong and Parulkar 1992, section 3.2: shipment numbers count transmissions, so a gap shows lost
        // packets, also of retransmissions.
        let gap = serial_distance(data.shipment, self.next_shipment).max(0) as u32;
        self.next_shipment = data.shipment.wrapping_add(1);
        self.keep_alives_since = 0;
        self.stats.gaps += u64::from(gap);
        let found = expand_number(data.segment, self.assembly.expected());
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
        self.assembly.is_calm =
            now.since(self.lost_at).as_picos() / LOSS_FREE_ROUND_TRIPS >= self.repeat().as_picos();
        let (packet, is_last) = (data.packet, data.last);
        self.keep(segment, data);
        if self.is_arriving(segment) {
            self.end_group(now, packet, is_last);
        } else {
            // The packet had been declared lost before it was sent.
            self.accept_if_complete(now, segment);
        }
        self.request_evicted(now);
    }

    /// Returns true if a packet belongs to the arriving group.
    fn continues(&mut self, segment: u64, data: &Data<P>) -> bool {
        match &mut self.group {
            Group::New(arriving, last) if *arriving == segment && !data.resent && data.packet > *last => {
                *last = data.packet;
                true
            }
            Group::Resend(arriving, last, _)
                if *arriving == segment && data.resent && data.packet > *last =>
            {
                *last = data.packet;
                true
            }
            _ => false,
        }
    }

    /// Begins a group, which ends the previous one. Of the `gap` lost packets, those that belong neither to the end of
    /// the previous group nor to the beginning of the new one were complete groups.
    fn begin_group(&mut self, now: Time, segment: u64, data: &Data<P>, gap: u32) {
        let gap = self.close_group(now, gap);
        let front = self.assembly.front();
        if data.resent {
            let Some(at) = self.pending.iter().position(|pending| pending.segment == segment) else {
                self.group = Group::Resend(segment, data.packet, None);
                return;
            };
            // The sender answers requests in order.
            let mut gap = gap;
            for _ in 0..at {
                gap = self.give_up_first_request(now, gap);
            }
            let Some(pending) = self.pending.pop_front() else { return };
            gap = gap.saturating_sub(pending.requested.count_missing_before(u32::from(data.packet)));
            self.group = Group::Resend(segment, data.packet, Some(pending.requested));
            // The rest of the gap is whole new segments.
            let skipped = u64::from(gap / u32::from(self.config.segment_packets.max(1)));
            self.lose_segments(now, (front + skipped).min(self.assembly.high() + 1));
        } else if segment + 1 >= front {
            let skipped =
                segment.saturating_sub(front).saturating_mul(u64::from(self.config.segment_packets));
            let known = u32::try_from(skipped).unwrap_or(u32::MAX).saturating_add(u32::from(data.packet));
            self.give_up_requests(now, gap.saturating_sub(known));
            self.lose_segments(now, segment);
            self.assembly.begin(segment);
            self.group = Group::New(segment, data.packet);
        } else {
            self.group = Group::Nothing;
        }
    }

    /// Closes the group once none of its packets are in flight. Returns the rest of the gap.
    fn close_group(&mut self, now: Time, gap: u32) -> u32 {
        let (segment, rest) = match core::mem::replace(&mut self.group, Group::Nothing) {
            Group::Nothing => return gap,
            Group::New(segment, last) => {
                (segment, u32::from(self.assembly.length(segment)).saturating_sub(u32::from(last) + 1))
            }
            Group::Resend(segment, last, requested) => {
                let length = u32::from(self.assembly.length(segment));
                let missing = |requested: Bitmap| {
                    requested.missing_from(u32::from(last) + 1).take_while(|&packet| packet < length).count()
                };
                (segment, requested.map_or(0, missing) as u32)
            }
        };
        self.assembly.set_requested(segment, false);
        self.check_tolerance(now, segment);
        gap.saturating_sub(rest)
    }

    /// Closes the group if `packet` is the last expected packet.
    fn end_group(&mut self, now: Time, packet: u16, is_last: bool) {
        let is_over = match &self.group {
            Group::Nothing => return,
            Group::New(segment, _) => is_last || packet + 1 >= self.assembly.length(*segment),
            Group::Resend(_, _, requested) => {
                is_last
                    || requested
                        .as_ref()
                        .is_some_and(|requested| requested.first_missing(u32::from(packet) + 1).is_none())
            }
        };
        if is_over {
            self.close_group(now, 0);
        }
    }

    /// Treats segments before `end` that were never seen as entirely lost.
    fn lose_segments(&mut self, now: Time, end: u64) {
        let first = self.assembly.front();
        if end <= first {
            return;
        }
        self.assembly.begin(end - 1);
        for segment in first..self.assembly.front() {
            self.check_tolerance(now, segment);
        }
    }

    /// Attributes `gap` lost packets to the answers of the oldest requests.
    fn give_up_requests(&mut self, now: Time, mut gap: u32) {
        // Each request at most once: a lost one is queued again behind the others.
        for _ in 0..self.pending.len() {
            let Some(first) = self.pending.front() else { return };
            if gap < first.requested.count_missing().max(1) {
                return;
            }
            gap = self.give_up_first_request(now, gap);
        }
    }

    /// Treats the answer to the oldest request as lost. Returns the rest of the gap.
    fn give_up_first_request(&mut self, now: Time, gap: u32) -> u32 {
        let Some(pending) = self.pending.pop_front() else { return gap };
        self.assembly.set_requested(pending.segment, false);
        self.check_tolerance(now, pending.segment);
        gap.saturating_sub(pending.requested.count_missing())
    }

    /// Performs the tolerance check and acts on its result.
    fn check_tolerance(&mut self, now: Time, segment: u64) {
        // Gong and Parulkar 1992, section 3.4: the tolerance checker accepts the segment, or requests
        // retransmission.
        match self.assembly.check(segment) {
            Verdict::AlreadyAccepted => {}
            Verdict::Accepted => {
                self.held_requests.remove(&segment);
                self.reply(Reply::Pack(segment));
            }
            Verdict::Incomplete => self.request(now, segment),
            Verdict::Waiting => {
                self.held_requests.insert(segment);
            }
        }
    }

    fn request(&mut self, now: Time, segment: u64) {
        let Some(requested) = self.assembly.wanted(segment).filter(|_| !self.assembly.is_requested(segment))
        else {
            return;
        };
        self.assembly.set_requested(segment, true);
        self.pending.push_back(PendingRequest { segment, requested, requested_at: now });
        self.stats.requests += 1;
        self.reply(Reply::Snak(segment));
    }

    fn reply(&mut self, reply: Reply) {
        // For a driver that does not drain replies, only the latest state is kept.
        if self.replies.len() <= 2 * usize::from(self.config.window) {
            self.replies.push_back(reply);
        }
    }

    /// Requests evicted segments when due, with soft acknowledgement.
    fn request_evicted(&mut self, now: Time) {
        if self.config.acknowledgement.is_soft() {
            for segment in self.assembly.evicted_to_request() {
                self.request(now, segment);
            }
        }
    }

    /// Handles the position of an idle sender: only packets sent before it can be in flight.
    fn on_position(&mut self, now: Time, position: Position) {
        let expected = self.assembly.expected();
        let Some(begun) = expand_number(position.segment.wrapping_add(1), expected) else {
            self.stats.malformed += 1;
            return;
        };
        let distance = serial_distance(position.shipment.wrapping_add(1), self.next_shipment);
        if begun > self.assembly.high() + 1
            || position.packet.wrapping_add(1) > self.config.segment_packets.max(1)
        {
            self.stats.malformed += 1;
            return;
        }
        if distance >= 0 {
            if distance > 0 || !self.out_of_order.is_empty() {
                self.keep_alives_since += 1;
                if self.out_of_order.len() + self.keep_alives_since <= self.max_reordering() {
                    return;
                }
                self.take_waiting(now);
            }
            // The held packets may have been sent after the position.
            if serial_distance(position.shipment.wrapping_add(1), self.next_shipment) >= 0 {
                self.on_end_of_shipments(now, position, begun);
            }
        }
        if now.since(self.reported_at) >= self.repeat() && !self.replies.contains(&Reply::State) {
            self.reply(Reply::State);
        }
    }

    fn on_end_of_shipments(&mut self, now: Time, position: Position, begun: u64) {
        let gap = serial_distance(position.shipment.wrapping_add(1), self.next_shipment).max(0) as u32;
        self.next_shipment = position.shipment.wrapping_add(1);
        self.keep_alives_since = 0;
        self.stats.gaps += u64::from(gap);
        let front = self.assembly.front();
        if gap > 0 && !self.assembly.is_incomplete() {
            self.reported_at = self.reported_at.max(now);
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
            // The segment was considered longer if the application retracted the rest while other packets were in
            // flight.
            self.accept_if_complete(now, begun - 1);
        }
        if begun > front {
            let size = u64::from(self.config.segment_packets.max(1));
            let skipped = (begun - 1 - front).saturating_mul(size) + u64::from(position.packet) + 1;
            gap = gap.saturating_sub(u32::try_from(skipped).unwrap_or(u32::MAX));
        }
        self.give_up_requests(now, gap);
        if begun > front {
            self.lose_segments(now, begun - 1);
            self.assembly.begin(begun - 1);
            self.assembly.end(begun - 1, position.packet);
            self.check_tolerance(now, begun - 1);
        }
        self.request_evicted(now);
    }

    /// Forgets segments from `begun` on, which have not been sent: lost retransmissions were mistaken for them.
    fn forget_unsent(&mut self, begun: u64) {
        self.assembly.retract(begun);
        let front = self.assembly.front();
        self.pending.retain(|pending| pending.segment < front);
        self.held_requests.retain(|&segment| segment < front);
    }

    fn on_consumed(&mut self, now: Time, bytes: u64) {
        let moved = self.assembly.consume(bytes);
        while let Some(&segment) =
            self.held_requests.first().filter(|&&segment| self.assembly.has_free_slot(segment))
        {
            self.held_requests.remove(&segment);
            self.request(now, segment);
        }
        if moved && self.replies.is_empty() {
            self.reply(Reply::State);
        }
    }

    /// Returns the repetition times of the latest state and of requests.
    fn deadlines(&self) -> (Time, Time) {
        let state = if self.assembly.is_incomplete() { self.reported_at + self.repeat() } else { Time::MAX };
        let request_timeout = self.repeat() + self.repeat();
        let request = self
            .pending
            .front()
            .map_or(Time::MAX, |first| first.requested_at.max(self.answered_at) + request_timeout);
        (state, request)
    }

    fn repeat_requests(&mut self, now: Time) {
        let assembly = &mut self.assembly;
        self.pending.retain(|pending| {
            let is_wanted = assembly.wanted(pending.segment).is_some();
            if !is_wanted {
                // The segment has been accepted since. If it is discarded later, it must be requested again.
                assembly.set_requested(pending.segment, false);
            }
            is_wanted
        });
        self.answered_at = now;
        for at in 0..self.pending.len() {
            self.pending[at].requested_at = now;
            let segment = self.pending[at].segment;
            self.stats.requests += 1;
            self.reply(Reply::Snak(segment));
        }
    }

    /// Returns the PDU of a reply, unless the reply is obsolete.
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
        self.reported_at = now;
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
            // A receiver sends only reports, which a gate does not hold back.
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
        match self.assembly.ready_segments.pop_front() {
            Some(OrderedItem::Piece(piece)) => return Output::Event(Event::Delivered(piece)),
            Some(OrderedItem::Hole(packets)) => return Output::Event(Event::Hole { packets }),
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
        // Every report carries the latest state; perhaps no request was due.
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

/// Minimum interval between repetitions of the state.
const MIN_REPEAT_INTERVAL: Duration = Duration::from_millis(10);
/// Round trips without loss after which firm acknowledgement withholds the window. A successful repair takes two.
pub(super) const LOSS_FREE_ROUND_TRIPS: u64 = 3;
/// Maximum number of packets held for reordering.
const MAX_REORDERING: u16 = 1024;
