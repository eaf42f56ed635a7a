//! The segments that a sender has sent and the peer has not cumulatively acknowledged.

use super::ranges::Ranges;
use crate::digest::feed;
use crate::payload::Payload;
use crate::units::Time;
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;

/// The sender's belief about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SegmentState {
    /// In the network.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Lost, and not sent again yet.
    Lost,
}

/// Room for so many segments is made at least.
const LEAST_ROOM: usize = 4;
/// Room is given back after so many acknowledgements that did not need it.
const ROOMY: u32 = 16;

/// The cause for which the sender sent a segment again, or will. What comes later about the same drop is then no news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Repair {
    /// Nothing yet.
    #[default]
    None,
    /// The sender found it out for itself: by the timer, or by acknowledgements.
    Implicit,
    /// A router's message.
    Explicit,
}

/// A segment.
#[derive(Clone, Debug)]
pub(super) struct Record<P, I> {
    pub start: u64,
    pub sent_at: Time,
    pub payload: P,
    pub info: I,
    pub state: SegmentState,
    pub repair: Repair,
    /// The number of times that the segment was sent again, saturating.
    pub retransmissions: u8,
}

impl<P: Payload, I> Record<P, I> {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.payload.len())
    }
}

/// The segments that an acknowledgement newly tells to have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckOutcome<I> {
    /// Segments newly known to have arrived.
    pub segments: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The time at which the newest of them was sent last, and what the controller kept with it.
    pub newest: Option<(Time, I)>,
    /// Some are selectively acknowledged retransmissions, which tell no round-trip time. Then `original` has when the newest
    /// of the others was sent.
    mixed: bool,
    original: Option<Time>,
    /// So many of the cumulatively acknowledged had been sent more than once: nothing can be measured (Karn's rule).
    ambiguous: u32,
    /// So many of the selectively acknowledged had.
    resent: u32,
}

/// All segments between the cumulative acknowledgement and the next new byte, in order.
///
/// Every operation costs what it changes: acknowledging, marking and finding lost segments are amortised constant time
/// for each segment, whatever the window.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard<P, I> {
    records: VecDeque<Record<P, I>>,
    sacked: Ranges,
    in_flight: u32,
    in_flight_bytes: u64,
    lost: u32,
    /// The number of times that a segment was taken for lost, which wraps.
    losses: u32,
    /// Acknowledgements in a row that left half of the room for records empty.
    roomy: u32,
    /// No segment that starts below this is lost.
    lost_from: u64,
    /// Segments that start below this have been judged by [`Scoreboard::mark_lost_below`].
    judged: u64,
}

impl<P: Payload + Hash, I: Hash> Scoreboard<P, I> {
    /// Feeds `into` with what decides what becomes of the segments, for a sender that gives one up after `most`
    /// retransmissions. Without that only the first of them matters.
    pub fn digest<H: Hasher>(&self, now: Time, most: Option<u32>, into: &mut H) {
        let most = most.unwrap_or(0).max(1);
        for record in &self.records {
            let Record { start, sent_at, payload, info, state, repair, retransmissions } = record;
            let again = u32::from(*retransmissions).min(most);
            feed(into, (start, now.since(*sent_at), payload, info, state, repair, again));
        }
        // The counts follow from the records.
        feed(into, (self.records.len(), &self.sacked, self.lost_from, self.judged));
    }
}

impl<P, I> Scoreboard<P, I> {
    /// The time at which the segment that was sent longest ago left.
    pub fn oldest(&self) -> Option<Time> {
        self.records.iter().map(|record| record.sent_at).min()
    }
}

impl<P: Payload, I: Copy + Default> Scoreboard<P, I> {
    pub fn new() -> Self {
        Self {
            records: VecDeque::new(),
            sacked: Ranges::default(),
            in_flight: 0,
            in_flight_bytes: 0,
            lost: 0,
            losses: 0,
            roomy: 0,
            lost_from: 0,
            judged: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of segments.
    pub fn len(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// Segments believed to be in the network.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Their bytes.
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    pub fn first(&self) -> Option<&Record<P, I>> {
        self.records.front()
    }

    /// Segments that were selectively acknowledged.
    pub fn sacked(&self) -> u32 {
        self.len().saturating_sub(self.in_flight + self.lost)
    }

    /// Their bytes.
    pub fn sacked_bytes(&self) -> u64 {
        let sacked = self.records.iter().filter(|record| record.state == SegmentState::Sacked);
        sacked.map(|record| u64::from(record.payload.len())).sum()
    }

    /// The number of times that a segment was taken for lost, which wraps.
    pub fn losses(&self) -> u32 {
        self.losses
    }

    /// The segment that starts there.
    pub fn starting_at(&self, start: u64) -> Option<&Record<P, I>> {
        self.index_of(start).map(|index| &self.records[index]).filter(|record| record.start == start)
    }

    /// Marks the segment that starts there as lost, if it is in the network.
    pub fn mark_lost(&mut self, start: u64) {
        let Some(index) = self.index_of(start) else { return };
        if self.records[index].state == SegmentState::InFlight {
            self.leave(index, SegmentState::Lost);
            self.records[index].repair = Repair::Implicit;
        }
    }

    /// The last segment goes out once more at `now`, if it is in the network and not longer than a segment of today.
    pub fn resend_last(&mut self, now: Time, segment: u32) -> Option<&mut Record<P, I>> {
        let last = self.records.back_mut()?;
        if last.state != SegmentState::InFlight || last.payload.len() > segment {
            return None;
        }
        last.sent_at = now;
        last.retransmissions = last.retransmissions.saturating_add(1);
        Some(last)
    }

    /// The addresses in memory of the first record and of the next new one, unless the latter goes to the start of the
    /// ring.
    pub fn ends(&self) -> Option<[*const u8; 2]> {
        let (first, last) = (self.records.front()?, self.records.back()?);
        Some([core::ptr::from_ref(first).cast(), core::ptr::from_ref(last).wrapping_add(1).cast()])
    }

    /// A new segment left.
    #[inline(always)]
    pub fn push(&mut self, record: Record<P, I>) {
        self.in_flight += 1;
        self.in_flight_bytes += u64::from(record.payload.len());
        let held = self.records.len();
        if held == self.records.capacity() {
            // By a quarter, not by doubling: of ten thousand senders these are most of the memory.
            self.records.reserve_exact((held / 4).max(LEAST_ROOM));
        }
        self.records.push_back(record);
    }

    /// The position of the segment that contains byte `sequence`.
    fn index_of(&self, sequence: u64) -> Option<usize> {
        let first = self.records.front()?;
        let offset = sequence.checked_sub(first.start)?;
        // Segments are nearly always of one size: guess, then search if that was wrong.
        let length = u64::from(first.payload.len().max(1));
        let guess = usize::try_from(offset / length).ok()?;
        if self.records.get(guess).is_some_and(|record| record.start <= sequence && sequence < record.end()) {
            return Some(guess);
        }
        let after = self.records.partition_point(|record| record.start <= sequence);
        let index = after.checked_sub(1)?;
        (sequence < self.records[index].end()).then_some(index)
    }

    fn leave(&mut self, index: usize, to: SegmentState) {
        let record = &mut self.records[index];
        let bytes = u64::from(record.payload.len());
        match record.state {
            SegmentState::InFlight => {
                self.in_flight -= 1;
                self.in_flight_bytes -= bytes;
            }
            SegmentState::Lost => self.lost -= 1,
            SegmentState::Sacked => {}
        }
        match to {
            SegmentState::InFlight => {
                self.in_flight += 1;
                self.in_flight_bytes += bytes;
            }
            SegmentState::Lost => {
                self.lost += 1;
                self.losses = self.losses.wrapping_add(1);
                self.lost_from = self.lost_from.min(record.start);
            }
            SegmentState::Sacked => {}
        }
        record.state = to;
    }

    /// Forgets the segments that end at or below `cumulative`, and tells `delivered` of those that were not known to have
    /// arrived.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        cumulative: u64,
        outcome: &mut AckOutcome<I>,
        mut delivered: impl FnMut(&Record<P, I>),
    ) {
        while self.records.front().is_some_and(|first| first.end() <= cumulative) {
            let Some(record) = self.records.pop_front() else { break };
            let bytes = u64::from(record.payload.len());
            match record.state {
                SegmentState::InFlight => {
                    self.in_flight -= 1;
                    self.in_flight_bytes -= bytes;
                }
                SegmentState::Lost => self.lost -= 1,
                SegmentState::Sacked => continue,
            }
            delivered(&record);
            outcome.add(&record);
        }
        self.sacked.remove_below(cumulative);
        let held = self.records.len();
        if self.records.capacity() > 2 * held.max(LEAST_ROOM) {
            // One that speaks for a whole window leaves it empty, and it is full again at once.
            self.roomy += 1;
            if self.roomy >= ROOMY {
                self.roomy = 0;
                self.records.shrink_to(held + held / 2);
            }
        } else {
            self.roomy = 0;
        }
    }

    /// Marks the segments within `start..end` as arrived, and tells `delivered` of those that were not known to have.
    pub fn sack(
        &mut self,
        start: u64,
        end: u64,
        outcome: &mut AckOutcome<I>,
        mut delivered: impl FnMut(&Record<P, I>),
    ) {
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.insert(start, end, |from, to| {
            let Some(mut index) = self.index_of(from) else { return };
            while let Some(record) = self.records.get(index).filter(|record| record.start < to) {
                // A block that cuts a segment says nothing of the whole of it.
                if record.start >= from && record.end() <= to && record.state != SegmentState::Sacked {
                    delivered(record);
                    if record.retransmissions == 0 {
                        outcome.add(record);
                    } else {
                        outcome.add_resent(record);
                    }
                    self.leave(index, SegmentState::Sacked);
                }
                index += 1;
            }
        });
        self.sacked = sacked;
    }

    /// The byte below which every segment that was not selectively acknowledged counts as lost: at least `threshold`
    /// separate runs, or more than `threshold - 1` segments' worth of bytes, were selectively acknowledged above it
    /// (RFC 6675, section 4, IsLost).
    pub fn loss_edge(&self, threshold: u32, segment: u32) -> u64 {
        let enough = u64::from(threshold.saturating_sub(1)) * u64::from(segment) + 1;
        let (mut bytes, mut runs) = (0, 0);
        for (start, end) in self.sacked.descending() {
            let length = end - start;
            runs += 1;
            if bytes + length >= enough {
                return end - (enough - bytes);
            }
            if runs == threshold {
                return start;
            }
            bytes += length;
        }
        0
    }

    /// True if anything above the first hole was selectively acknowledged.
    #[inline]
    pub fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// True if everything below `edge` has been looked at by [`Scoreboard::mark_lost_below`].
    pub fn is_judged(&self, edge: u64) -> bool {
        edge <= self.judged
    }

    /// Marks segments that end at or below `edge` as lost, each at most once. Segments sent again are not judged: the
    /// retransmission timer finds those that are lost twice. Tells `lost` of each, and returns when the first of them had been
    /// sent.
    pub fn mark_lost_below(&mut self, edge: u64, mut lost: impl FnMut(&Record<P, I>)) -> Option<Time> {
        if self.is_judged(edge) {
            return None;
        }
        let first = self.records.front()?.start;
        let mut index = self.index_of(self.judged.max(first)).unwrap_or(0);
        let mut found = None;
        while let Some(record) = self.records.get(index).filter(|record| record.end() <= edge) {
            self.judged = record.end();
            if record.state == SegmentState::InFlight && record.retransmissions == 0 {
                found = found.or(Some(record.sent_at));
                lost(record);
                self.leave(index, SegmentState::Lost);
                self.records[index].repair = Repair::Implicit;
            }
            index += 1;
        }
        found
    }

    /// Marks the segment that starts the list as lost, if it is in the network; returns when it had been sent.
    pub fn mark_first_lost(&mut self) -> Option<Time> {
        let first = self.records.front()?;
        let sent_at = first.sent_at;
        (first.state == SegmentState::InFlight).then(|| {
            self.leave(0, SegmentState::Lost);
            sent_at
        })
    }

    /// Acknowledgements point at the segment that starts the list: marks it as lost, unless it was sent again already or
    /// a router has named it; tells `lost` of it and returns when it had been sent.
    pub fn mark_first_missing(&mut self, lost: impl FnOnce(&Record<P, I>)) -> Option<Time> {
        let first = self.records.front_mut().filter(|first| first.repair == Repair::None)?;
        if first.state == SegmentState::InFlight {
            first.repair = Repair::Implicit;
            lost(first);
        }
        self.mark_first_lost()
    }

    /// A router says at `now` that it dropped the segment with byte `sequence`: marks it as lost and tells `lost` of it. False
    /// if that is no news: it is not outstanding, has arrived, waits to be sent again or was so after an implicit sign.
    pub fn mark_dropped(&mut self, sequence: u64, now: Time, lost: impl FnOnce(&Record<P, I>)) -> bool {
        let Some(index) = self.index_of(sequence) else { return false };
        let record = &mut self.records[index];
        // What went again because a router said so may be dropped again, but not at the moment when it left.
        let again = record.repair == Repair::Explicit && record.sent_at < now;
        let is_new = record.state == SegmentState::InFlight && (record.repair == Repair::None || again);
        if is_new {
            record.repair = Repair::Explicit;
            lost(record);
            self.leave(index, SegmentState::Lost);
        }
        is_new
    }

    /// Marks all as lost; what was selectively acknowledged too where `keep_sacked` is false. Tells `lost` of each that was in
    /// flight.
    pub fn mark_all_lost(&mut self, keep_sacked: bool, mut lost: impl FnMut(&Record<P, I>)) {
        for index in 0..self.records.len() {
            if self.records[index].state == SegmentState::InFlight {
                lost(&self.records[index]);
            }
            if !(keep_sacked && self.records[index].state == SegmentState::Sacked) {
                self.leave(index, SegmentState::Lost);
                self.records[index].repair = Repair::Implicit;
            }
        }
        if !keep_sacked {
            self.sacked.clear();
        }
        self.lost_from = 0;
    }

    /// Nothing of what waits to be sent again was lost: it is in the network.
    pub fn find_again(&mut self) {
        for index in 0..self.records.len() {
            if self.records[index].state == SegmentState::Lost {
                self.leave(index, SegmentState::InFlight);
                self.records[index].repair = Repair::None;
            }
        }
        self.judged = 0;
    }

    /// The segments that are in the network.
    pub fn in_network(&self) -> impl Iterator<Item = &Record<P, I>> {
        self.records.iter().filter(|record| record.state == SegmentState::InFlight)
    }

    /// The first lost segment.
    fn first_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let first = self.records.front()?.start;
        let mut index = self.index_of(self.lost_from.max(first)).unwrap_or(0);
        while self.records.get(index)?.state != SegmentState::Lost {
            index += 1;
        }
        self.lost_from = self.records[index].start;
        Some(index)
    }

    /// The length in bytes of the first lost segment.
    #[inline(always)]
    pub fn first_lost_len(&mut self) -> Option<u32> {
        let index = self.first_lost()?;
        Some(self.records[index].payload.len())
    }

    /// The first lost segment goes out again at `now`, or as much of its beginning as a segment holds today.
    pub fn resend(&mut self, now: Time, segment: u32) -> Option<&mut Record<P, I>> {
        let index = self.first_lost()?;
        if self.records[index].payload.len() > segment {
            self.split(index, segment);
        }
        self.leave(index, SegmentState::InFlight);
        let record = &mut self.records[index];
        record.sent_at = now;
        record.retransmissions = record.retransmissions.saturating_add(1);
        Some(record)
    }

    /// Makes two of a lost segment, the first of them with so many bytes.
    #[cold]
    fn split(&mut self, index: usize, at: u32) {
        let record = &mut self.records[index];
        let (head, tail) = (record.payload.slice(0, at), record.payload.slice(at, record.payload.len()));
        let rest = Record { start: record.start + u64::from(at), payload: tail, ..record.clone() };
        record.payload = head;
        self.records.insert(index + 1, rest);
        self.lost += 1;
    }
}

impl<I: Copy + Default> AckOutcome<I> {
    pub fn new() -> Self {
        Self { segments: 0, bytes: 0, newest: None, mixed: false, original: None, ambiguous: 0, resent: 0 }
    }

    fn count<P: Payload>(&mut self, record: &Record<P, I>) {
        self.segments += 1;
        self.bytes += u64::from(record.payload.len());
    }

    fn add<P: Payload>(&mut self, record: &Record<P, I>) {
        self.count(record);
        self.ambiguous += u32::from(record.retransmissions > 0);
        if self.mixed {
            self.original = self.original.max(Some(record.sent_at));
        }
        self.take_newest(record);
    }

    fn take_newest<P>(&mut self, record: &Record<P, I>) {
        if self.newest.is_none_or(|(sent_at, _)| sent_at <= record.sent_at) {
            self.newest = Some((record.sent_at, record.info));
        }
    }

    /// It had been sent more than once, and is selectively acknowledged: which of the transmissions arrived is not known.
    #[cold]
    fn add_resent<P: Payload>(&mut self, record: &Record<P, I>) {
        self.count(record);
        self.resent += 1;
        if !self.mixed {
            (self.mixed, self.original) = (true, self.newest.map(|(sent_at, _)| sent_at));
        }
        self.take_newest(record);
    }

    /// The time at which the newest segment was sent, but for selectively acknowledged retransmissions.
    pub fn original(&self) -> Option<Time> {
        if self.mixed { self.original } else { self.newest.map(|(sent_at, _)| sent_at) }
    }

    /// The time at which the newest segment was sent, if that tells a round-trip time.
    pub fn measurable(&self) -> Option<Time> {
        self.original().filter(|_| self.ambiguous == 0)
    }

    /// True if one of the segments was sent only once.
    pub fn has_original(&self) -> bool {
        self.segments > self.ambiguous + self.resent
    }
}
