//! The segments that a sender has sent and the peer has not cumulatively acknowledged.

use super::ranges::Ranges;
use super::record::{Kept, Record, Repair, SegmentState};
use crate::digest::feed;
use crate::payload::Payload;
use crate::units::Time;
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;

/// Room for so many segments is made at first, which is enough for many transfers ...
const MIN_ROOM: usize = 4;
/// ... and for so many as soon as there are more: two initial windows (RFC 6928) and a few that limited transmit adds, which most
/// come to that have more than one to send. Of many senders that grew by small steps each would leave behind memory that is too
/// short for the next step of any other.
const ROOM: usize = 24;
/// Room is given back after so many acknowledgements that did not need a quarter of it.
const ROOMY: u32 = 16;

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
pub(super) struct Scoreboard<P: Payload, I> {
    /// Each ends where the next one starts, and the last at `next`.
    records: VecDeque<Kept<P, I>>,
    next: u64,
    sacked: Ranges,
    in_flight: u32,
    in_flight_bytes: u64,
    lost: u32,
    /// The number of times that a segment was taken for lost, which wraps.
    losses: u32,
    /// Acknowledgements in a row that left three quarters of the room for records empty.
    roomy: u32,
    /// No segment that starts below this is lost.
    lost_from: u64,
    /// Segments that start below this have been judged by [`Scoreboard::mark_lost_below`].
    judged: u64,
}

impl<P: Payload + Hash, I: Copy + Default + Hash> Scoreboard<P, I> {
    /// Feeds `into` with what decides what becomes of the segments, for a sender that gives one up after `most`
    /// retransmissions. Without that only the first of them matters.
    pub fn digest<H: Hasher>(&self, now: Time, most: Option<u32>, into: &mut H) {
        let most = most.unwrap_or(0).max(1);
        for (index, kept) in self.records.iter().enumerate() {
            let Some(record) = self.record(index) else { continue };
            let Record { start, length, sent_at, info, state, repair, retransmissions } = record;
            let (payload, again) = (P::restore(&kept.payload, length), u32::from(retransmissions).min(most));
            feed(into, (start, now.since(sent_at), payload, info, state, repair, again));
        }
        // The counts follow from the records.
        feed(into, (self.records.len(), &self.sacked, self.lost_from, self.judged));
    }
}

impl<P: Payload, I> Scoreboard<P, I> {
    /// The time at which the segment that was sent longest ago left.
    pub fn oldest(&self) -> Option<Time> {
        self.records.iter().map(|record| record.sent_at).min()
    }
}

impl<P: Payload, I: Copy + Default> Scoreboard<P, I> {
    pub fn new() -> Self {
        Self {
            records: VecDeque::new(),
            next: 0,
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

    /// The next byte to send for the first time.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The segment at a position in the list.
    #[inline(always)]
    fn record(&self, index: usize) -> Option<Record<I>> {
        let kept = self.records.get(index)?;
        Some(kept.record(kept.start(self.next), self.start_or_end(index + 1)))
    }

    /// The position at which the segment at an index starts, or the one before it ends.
    #[inline(always)]
    fn start_or_end(&self, index: usize) -> u64 {
        self.records.get(index).map_or(self.next, |kept| kept.start(self.next))
    }

    /// All segments.
    fn all(&self) -> impl Iterator<Item = Record<I>> {
        (0..self.records.len()).filter_map(|index| self.record(index))
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

    #[inline(always)]
    pub fn first(&self) -> Option<Record<I>> {
        self.record(0)
    }

    /// Segments that were selectively acknowledged.
    pub fn sacked(&self) -> u32 {
        self.len().saturating_sub(self.in_flight + self.lost)
    }

    /// Their bytes.
    pub fn sacked_bytes(&self) -> u64 {
        let sacked = self.all().filter(|record| record.state == SegmentState::Sacked);
        sacked.map(|record| u64::from(record.length)).sum()
    }

    /// Segments that wait to be sent again.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// The number of times that a segment was taken for lost, which wraps.
    pub fn losses(&self) -> u32 {
        self.losses
    }

    /// The segment that starts there.
    pub fn starting_at(&self, start: u64) -> Option<Record<I>> {
        self.record(self.find(start)?.0).filter(|record| record.start == start)
    }

    /// Marks the segment that starts there as lost, if it is in the network.
    pub fn mark_lost(&mut self, start: u64) {
        let Some((index, _)) = self.find(start) else { return };
        if let Some(record) = self.record(index).filter(|record| record.state == SegmentState::InFlight) {
            self.lose(index, &record);
        }
    }

    /// The last segment goes out once more at `now`, if it is in the network and not longer than a segment of today; `info` tells of
    /// one of so many bytes what is kept with it.
    pub fn resend_last(
        &mut self,
        now: Time,
        segment: u32,
        info: impl FnOnce(u32) -> I,
    ) -> Option<(Record<I>, P)> {
        let index = self.records.len().checked_sub(1)?;
        let last = self.record(index)?;
        if last.state != SegmentState::InFlight || last.length > segment {
            return None;
        }
        self.send_again(index, now, info)
    }

    /// The addresses in memory of the first record and of the next new one, unless the latter goes to the start of the
    /// ring.
    pub fn ends(&self) -> Option<[*const u8; 2]> {
        let (first, last) = (self.records.front()?, self.records.back()?);
        Some([core::ptr::from_ref(first).cast(), core::ptr::from_ref(last).wrapping_add(1).cast()])
    }

    /// A new segment left at `now`.
    #[inline(always)]
    pub fn push(&mut self, now: Time, payload: &P, info: I) {
        let bytes = u64::from(payload.len());
        self.in_flight += 1;
        self.in_flight_bytes += bytes;
        if self.records.len() == self.records.capacity() {
            self.make_room();
        }
        self.records.push_back(Kept::new(self.next, now, payload.keep(), info));
        self.next += bytes;
    }

    /// Adds a new segment that is not sent yet: it waits as a lost one does, without counting as a loss.
    pub fn push_unsent(&mut self, now: Time, payload: &P) {
        let start = self.next;
        self.push(now, payload, I::default());
        if let Some((index, _)) = self.find(start)
            && let Some(record) = self.record(index)
        {
            self.leave(index, &record, SegmentState::Lost);
            self.losses = self.losses.wrapping_sub(1);
        }
    }

    // Rare: out of the way of what is pushed.
    #[inline(never)]
    fn make_room(&mut self) {
        let held = self.records.len();
        let room = match held {
            0..MIN_ROOM => MIN_ROOM,
            MIN_ROOM..ROOM => ROOM,
            // By a quarter, not by doubling.
            _ => held + held / 4,
        };
        self.records.reserve_exact(room - held);
    }

    /// The index of the segment that contains byte `sequence`, and where it starts.
    fn find(&self, sequence: u64) -> Option<(usize, u64)> {
        let (first, second) = (self.start_or_end(0), self.start_or_end(1));
        if sequence >= self.next {
            return None;
        }
        let offset = sequence.checked_sub(first)?;
        // Segments are nearly always of one size: guess, then search if that was wrong.
        let guess = usize::try_from(offset / (second - first).max(1)).ok()?;
        let start = self.start_or_end(guess);
        if start <= sequence && sequence < self.start_or_end(guess + 1) {
            return Some((guess, start));
        }
        let after = self.records.partition_point(|kept| kept.start(self.next) <= sequence);
        let index = after.checked_sub(1)?;
        Some((index, self.start_or_end(index)))
    }

    /// The same for the last byte of the first segment or a later one; the first segment for one before it.
    fn find_from(&self, sequence: u64) -> (usize, u64) {
        let first = self.start_or_end(0);
        if sequence <= first { (0, first) } else { self.find(sequence).unwrap_or((0, first)) }
    }

    /// The segment at `index`, which is `record`, gets another state.
    fn leave(&mut self, index: usize, record: &Record<I>, to: SegmentState) {
        let bytes = u64::from(record.length);
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
        self.records[index].set_state(to);
    }

    /// The sender has found out that a segment is lost.
    fn lose(&mut self, index: usize, record: &Record<I>) {
        self.leave(index, record, SegmentState::Lost);
        self.records[index].set_repair(Repair::Implicit);
    }

    /// Forgets the segments that end at or below `cumulative`, and tells `delivered` of those that were not known to have
    /// arrived. True if it is within a segment.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        cumulative: u64,
        outcome: &mut AckOutcome<I>,
        mut delivered: impl FnMut(&Record<I>),
    ) -> bool {
        let mut start = self.start_or_end(0);
        while start < cumulative {
            let end = self.start_or_end(1);
            if end > cumulative {
                break;
            }
            let Some(kept) = self.records.pop_front() else { break };
            let record = kept.record(start, end);
            start = end;
            let bytes = u64::from(record.length);
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
        if self.records.capacity() > 4 * held.max(MIN_ROOM) {
            // One that speaks for a whole window leaves it empty, and it is full again at once.
            self.roomy += 1;
            if self.roomy >= ROOMY {
                self.roomy = 0;
                self.records.shrink_to(held + held / 2);
            }
        } else {
            self.roomy = 0;
        }
        start < cumulative
    }

    /// Marks the segments within `start..end` as arrived, and tells `delivered` of those that were not known to have.
    pub fn sack(
        &mut self,
        start: u64,
        end: u64,
        outcome: &mut AckOutcome<I>,
        mut delivered: impl FnMut(&Record<I>),
    ) {
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.insert(start, end, |from, to| {
            let Some((mut index, mut start)) = self.find(from) else { return };
            while start < to
                && let Some(kept) = self.records.get(index)
            {
                let record = kept.record(start, self.start_or_end(index + 1));
                start = record.end();
                // A block that cuts a segment says nothing of the whole of it.
                if record.start >= from && record.end() <= to && record.state != SegmentState::Sacked {
                    delivered(&record);
                    if record.retransmissions == 0 {
                        outcome.add(&record);
                    } else {
                        outcome.add_resent(&record);
                    }
                    self.leave(index, &record, SegmentState::Sacked);
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
    pub fn mark_lost_below(&mut self, edge: u64, mut lost: impl FnMut(&Record<I>)) -> Option<Time> {
        if self.is_judged(edge) {
            return None;
        }
        let (mut index, mut start) = self.find_from(self.judged);
        let mut found = None;
        while let Some(kept) = self.records.get(index) {
            let end = self.start_or_end(index + 1);
            if end > edge {
                break;
            }
            let record = kept.record(start, end);
            start = end;
            self.judged = end;
            if record.state == SegmentState::InFlight && record.retransmissions == 0 {
                found = found.or(Some(record.sent_at));
                lost(&record);
                self.lose(index, &record);
            }
            index += 1;
        }
        found
    }

    /// Marks the segment that starts the list as lost, if it is in the network; returns when it had been sent.
    pub fn mark_first_lost(&mut self) -> Option<Time> {
        let first = self.first().filter(|first| first.state == SegmentState::InFlight)?;
        self.leave(0, &first, SegmentState::Lost);
        Some(first.sent_at)
    }

    /// Acknowledgements point at the segment that starts the list: marks it as lost, unless it was sent again already or
    /// a router has named it; tells `lost` of it and returns when it had been sent.
    pub fn mark_first_missing(&mut self, lost: impl FnOnce(&Record<I>)) -> Option<Time> {
        let first = self.first().filter(|first| first.repair == Repair::None)?;
        if first.state == SegmentState::InFlight {
            self.records[0].set_repair(Repair::Implicit);
            lost(&first);
        }
        self.mark_first_lost()
    }

    /// A router says at `now` that it dropped the segment with byte `sequence`: marks it as lost and tells `lost` of it. False
    /// if that is no news: it is not outstanding, has arrived, waits to be sent again or was so after an implicit sign.
    pub fn mark_dropped(&mut self, sequence: u64, now: Time, lost: impl FnOnce(&Record<I>)) -> bool {
        let Some((index, _)) = self.find(sequence) else { return false };
        let Some(record) = self.record(index) else { return false };
        // What went again because a router said so may be dropped again, but not at the moment when it left.
        let again = record.repair == Repair::Explicit && record.sent_at < now;
        let is_new = record.state == SegmentState::InFlight && (record.repair == Repair::None || again);
        if is_new {
            lost(&record);
            self.leave(index, &record, SegmentState::Lost);
            self.records[index].set_repair(Repair::Explicit);
        }
        is_new
    }

    /// Marks all as lost; what was selectively acknowledged too where `keep_sacked` is false. Tells `lost` of each that was in
    /// flight.
    pub fn mark_all_lost(&mut self, keep_sacked: bool, mut lost: impl FnMut(&Record<I>)) {
        for index in 0..self.records.len() {
            let Some(record) = self.record(index) else { break };
            if record.state == SegmentState::InFlight {
                lost(&record);
            }
            if !(keep_sacked && record.state == SegmentState::Sacked) {
                self.lose(index, &record);
            }
        }
        if !keep_sacked {
            self.sacked.clear();
        }
        self.lost_from = 0;
    }

    /// Nothing of what waits to be sent again was lost: it is in the network, but for the segment at `unsent`.
    pub fn find_again(&mut self, unsent: Option<u64>) {
        let is_lost = |record: &Record<I>| record.state == SegmentState::Lost && Some(record.start) != unsent;
        for index in 0..self.records.len() {
            let lost = self.record(index).filter(is_lost);
            if let Some(record) = lost {
                self.leave(index, &record, SegmentState::InFlight);
                self.records[index].set_repair(Repair::None);
            }
        }
        self.judged = 0;
    }

    /// The segments that are in the network.
    pub fn in_network(&self) -> impl Iterator<Item = Record<I>> {
        self.all().filter(|record| record.state == SegmentState::InFlight)
    }

    /// The first lost segment.
    fn first_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let (mut index, _) = self.find_from(self.lost_from);
        while self.records.get(index)?.state() != SegmentState::Lost {
            index += 1;
        }
        self.lost_from = self.records[index].start(self.next);
        Some(index)
    }

    /// The length in bytes of the first lost segment.
    #[inline(always)]
    pub fn first_lost_len(&mut self) -> Option<u32> {
        let index = self.first_lost()?;
        Some(self.record(index)?.length)
    }

    /// The first lost segment goes out again at `now`, or as much of its beginning as a segment holds today; `info` tells of one of
    /// so many bytes what is kept with it.
    pub fn resend(&mut self, now: Time, segment: u32, info: impl FnOnce(u32) -> I) -> Option<(Record<I>, P)> {
        let index = self.first_lost()?;
        let length = self.record(index)?.length;
        if length > segment {
            self.split(index, length, segment);
        }
        let record = self.record(index)?;
        self.leave(index, &record, SegmentState::InFlight);
        self.send_again(index, now, info)
    }

    fn send_again(&mut self, index: usize, now: Time, info: impl FnOnce(u32) -> I) -> Option<(Record<I>, P)> {
        let length = self.record(index)?.length;
        let kept = &mut self.records[index];
        kept.resend(now);
        kept.info = info(length);
        let payload = P::restore(&kept.payload, length);
        Some((self.record(index)?, payload))
    }

    /// Makes two of a lost segment of `length` bytes, the first of them with `at` bytes.
    #[cold]
    fn split(&mut self, index: usize, length: u32, at: u32) {
        let kept = &mut self.records[index];
        let whole = P::restore(&kept.payload, length);
        let rest = kept.split(at, whole.slice(0, at).keep(), whole.slice(at, length).keep());
        self.records.insert(index + 1, rest);
        self.lost += 1;
    }
}

impl<I: Copy + Default> AckOutcome<I> {
    pub fn new() -> Self {
        Self { segments: 0, bytes: 0, newest: None, mixed: false, original: None, ambiguous: 0, resent: 0 }
    }

    fn count(&mut self, record: &Record<I>) {
        self.segments += 1;
        self.bytes += u64::from(record.length);
    }

    fn add(&mut self, record: &Record<I>) {
        self.count(record);
        self.ambiguous += u32::from(record.retransmissions > 0);
        if self.mixed {
            self.original = self.original.max(Some(record.sent_at));
        }
        self.take_newest(record);
    }

    fn take_newest(&mut self, record: &Record<I>) {
        if self.newest.is_none_or(|(sent_at, _)| sent_at <= record.sent_at) {
            self.newest = Some((record.sent_at, record.info));
        }
    }

    /// It had been sent more than once, and is selectively acknowledged: which of the transmissions arrived is not known.
    #[cold]
    fn add_resent(&mut self, record: &Record<I>) {
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
