//! Scoreboard: the segments sent and not cumulatively acknowledged.

use super::byte_ranges::Ranges;
use super::segment_record::{Record, Repair, SegmentState, StoredSegment};
use crate::payload::Payload;
use crate::state_digest::hash_all;
use crate::units::Time;
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;

/// Initial capacity in segments, enough for many transfers.
const INITIAL_CAPACITY: usize = 4;
/// Capacity after the first growth: two initial windows (RFC 6928) and a few segments of limited transmit, enough for
/// most longer transfers. With many senders, growth by small steps would leave memory blocks too short for each other's
/// next step.
const GROWN_CAPACITY: usize = 24;
/// Number of acknowledgements with less than a quarter of the capacity in use, after which memory is released.
const ACKS_BEFORE_SHRINKING: u32 = 16;

/// Segments newly acknowledged by an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckOutcome<I> {
    /// Number of newly acknowledged segments.
    pub segments: u32,
    /// Number of their bytes.
    pub bytes: u64,
    /// Time of the last transmission of the newest segment, and its controller data.
    pub newest: Option<(Time, I)>,
    /// True if some are selectively acknowledged retransmissions, which give no round-trip time. `original` then holds
    /// the send time of the newest other segment.
    mixed: bool,
    original: Option<Time>,
    /// Number of cumulatively acknowledged segments sent more than once: with any, no round trip is measured (Karn's
    /// rule; RFC 6298, section 3).
    ambiguous: u32,
    /// Number of selectively acknowledged segments sent more than once.
    resent: u32,
}

/// All segments between the cumulative acknowledgement and the next new byte, in order.
///
/// Acknowledging, marking and finding lost segments take amortised constant time per segment, for any window.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard<P: Payload, I> {
    /// Each ends where the next one starts, and the last at `next`.
    records: VecDeque<StoredSegment<P, I>>,
    next: u64,
    sacked: Ranges,
    in_flight: u32,
    in_flight_bytes: u64,
    lost_segments: u32,
    /// Number of segments declared lost so far; it wraps.
    losses: u32,
    /// Consecutive acknowledgements with at most a quarter of the record capacity in use.
    oversized: u32,
    /// Lower bound of the start of lost segments.
    lost_from: u64,
    /// End of the starts judged by [`Scoreboard::mark_lost_below`].
    examined: u64,
}

impl<P: Payload + Hash, I: Copy + Default + Hash> Scoreboard<P, I> {
    /// Feeds the state that determines future behaviour into `into`, for a sender that gives up after
    /// `max_retransmissions` of a segment. Without a limit, their count matters only as zero or not.
    pub fn feed_state<H: Hasher>(&self, now: Time, max_retransmissions: Option<u32>, into: &mut H) {
        let max_retransmissions = max_retransmissions.unwrap_or(0).max(1);
        for (index, kept) in self.records.iter().enumerate() {
            let Some(record) = self.record(index) else { continue };
            let Record { start, length, sent_at, info, state, repair, retransmissions } = record;
            let (payload, again) =
                (P::restore(&kept.payload, length), u32::from(retransmissions).min(max_retransmissions));
            hash_all(into, (start, now.since(sent_at), payload, info, state, repair, again));
        }
        // The counters follow from the records.
        hash_all(into, (self.records.len(), &self.sacked, self.lost_from, self.examined));
    }
}

impl<P: Payload, I> Scoreboard<P, I> {
    /// Returns the send time of the segment sent longest ago.
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
            lost_segments: 0,
            losses: 0,
            oversized: 0,
            lost_from: 0,
            examined: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the next new byte.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the segment at an index.
    #[inline(always)]
    fn record(&self, index: usize) -> Option<Record<I>> {
        let kept = self.records.get(index)?;
        Some(kept.record(kept.start(self.next), self.start_or_end(index + 1)))
    }

    /// Returns the start of the segment at an index, which is the end of the one before it.
    #[inline(always)]
    fn start_or_end(&self, index: usize) -> u64 {
        self.records.get(index).map_or(self.next, |kept| kept.start(self.next))
    }

    /// Returns all segments.
    fn records(&self) -> impl Iterator<Item = Record<I>> {
        (0..self.records.len()).filter_map(|index| self.record(index))
    }

    /// Returns the number of segments.
    pub fn len(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of segments believed to be in the network (`pipe` of RFC 6675, section 4).
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns the number of bytes believed to be in the network (`pipe`).
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    #[inline(always)]
    pub fn first(&self) -> Option<Record<I>> {
        self.record(0)
    }

    /// Returns the number of selectively acknowledged segments.
    pub fn sacked(&self) -> u32 {
        self.len().saturating_sub(self.in_flight + self.lost_segments)
    }

    /// Returns the number of selectively acknowledged bytes.
    pub fn sacked_bytes(&self) -> u64 {
        let sacked = self.records().filter(|record| record.state == SegmentState::Sacked);
        sacked.map(|record| u64::from(record.length)).sum()
    }

    /// Returns the number of segments that wait for retransmission.
    pub fn lost(&self) -> u32 {
        self.lost_segments
    }

    /// Returns the number of segments declared lost so far; it wraps.
    pub fn losses(&self) -> u32 {
        self.losses
    }

    /// Returns the segment that starts at byte `start`.
    pub fn starting_at(&self, start: u64) -> Option<Record<I>> {
        self.record(self.find(start)?.0).filter(|record| record.start == start)
    }

    /// Marks the segment that starts at byte `start` as lost, if it is in the network.
    pub fn mark_lost(&mut self, start: u64) {
        let Some((index, _)) = self.find(start) else { return };
        if let Some(record) = self.record(index).filter(|record| record.state == SegmentState::InFlight) {
            self.mark_record_lost(index, &record);
        }
    }

    /// Retransmits the last segment at `now`, if it is in the network and no longer than `segment`; `info` returns the
    /// controller data for a segment of a given length.
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

    /// Returns the memory addresses of the first record and of the next new one, unless the latter wraps to the start
    /// of the ring.
    pub fn ends(&self) -> Option<[*const u8; 2]> {
        let (first, last) = (self.records.front()?, self.records.back()?);
        Some([core::ptr::from_ref(first).cast(), core::ptr::from_ref(last).wrapping_add(1).cast()])
    }

    /// Records the transmission of a new segment at `now`.
    #[inline(always)]
    pub fn push(&mut self, now: Time, payload: &P, info: I) {
        let bytes = u64::from(payload.len());
        self.in_flight += 1;
        self.in_flight_bytes += bytes;
        if self.records.len() == self.records.capacity() {
            self.grow();
        }
        self.records.push_back(StoredSegment::new(self.next, now, payload.keep(), info));
        self.next += bytes;
    }

    /// Adds a new segment without sending it: it waits like a lost one, but does not count as a loss.
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

    // Rare, and therefore outlined.
    #[inline(never)]
    fn grow(&mut self) {
        let held = self.records.len();
        let capacity = match held {
            0..INITIAL_CAPACITY => INITIAL_CAPACITY,
            INITIAL_CAPACITY..GROWN_CAPACITY => GROWN_CAPACITY,
            // Grows by a quarter, not by doubling.
            _ => held + held / 4,
        };
        self.records.reserve_exact(capacity - held);
    }

    /// Returns the index and the start of the segment that contains byte `sequence`.
    fn find(&self, sequence: u64) -> Option<(usize, u64)> {
        let (first, second) = (self.start_or_end(0), self.start_or_end(1));
        if sequence >= self.next {
            return None;
        }
        let offset = sequence.checked_sub(first)?;
        // Segments are nearly always of equal size: guess, then search if the guess was wrong.
        let guess = usize::try_from(offset / (second - first).max(1)).ok()?;
        let start = self.start_or_end(guess);
        if start <= sequence && sequence < self.start_or_end(guess + 1) {
            return Some((guess, start));
        }
        let after = self.records.partition_point(|kept| kept.start(self.next) <= sequence);
        let index = after.checked_sub(1)?;
        Some((index, self.start_or_end(index)))
    }

    /// Returns the same for the last byte of the first segment or a later byte, and the first segment for an earlier
    /// one.
    fn find_from(&self, sequence: u64) -> (usize, u64) {
        let first = self.start_or_end(0);
        if sequence <= first { (0, first) } else { self.find(sequence).unwrap_or((0, first)) }
    }

    /// Changes the state of `record`, the segment at `index`.
    fn leave(&mut self, index: usize, record: &Record<I>, to: SegmentState) {
        let bytes = u64::from(record.length);
        match record.state {
            SegmentState::InFlight => {
                self.in_flight -= 1;
                self.in_flight_bytes -= bytes;
            }
            SegmentState::Lost => self.lost_segments -= 1,
            SegmentState::Sacked => {}
        }
        match to {
            SegmentState::InFlight => {
                self.in_flight += 1;
                self.in_flight_bytes += bytes;
            }
            SegmentState::Lost => {
                self.lost_segments += 1;
                self.losses = self.losses.wrapping_add(1);
                self.lost_from = self.lost_from.min(record.start);
            }
            SegmentState::Sacked => {}
        }
        self.records[index].set_state(to);
    }

    /// Declares a segment lost.
    fn mark_record_lost(&mut self, index: usize, record: &Record<I>) {
        self.leave(index, record, SegmentState::Lost);
        self.records[index].set_repair(Repair::Implicit);
    }

    /// Removes the segments that end at or below `cumulative`, and passes those not selectively acknowledged before to
    /// `delivered`. Returns true if `cumulative` is within a segment.
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
                SegmentState::Lost => self.lost_segments -= 1,
                SegmentState::Sacked => continue,
            }
            delivered(&record);
            outcome.add(&record);
        }
        self.sacked.remove_below(cumulative);
        let held = self.records.len();
        if self.records.capacity() > 4 * held.max(INITIAL_CAPACITY) {
            // An acknowledgement of a whole window empties the list, which is then refilled at once.
            self.oversized += 1;
            if self.oversized >= ACKS_BEFORE_SHRINKING {
                self.oversized = 0;
                self.records.shrink_to(held + held / 2);
            }
        } else {
            self.oversized = 0;
        }
        start < cumulative
    }

    /// Marks the segments within `start..end` as selectively acknowledged, and passes the newly marked ones to
    /// `delivered`.
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
                // A block that covers part of a segment does not acknowledge it.
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

    /// Returns the byte below which every segment not selectively acknowledged counts as lost: at least `threshold`
    /// discontiguous runs, or more than `threshold - 1` segments' worth of bytes, were selectively acknowledged above
    /// it (RFC 6675, section 4, IsLost).
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

    /// Returns true if anything above the first hole was selectively acknowledged.
    #[inline]
    pub fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Returns true if [`Scoreboard::mark_lost_below`] has examined everything below `edge`.
    pub fn is_examined(&self, edge: u64) -> bool {
        edge <= self.examined
    }

    /// Marks segments that end at or below `edge` as lost, each at most once, and passes each to `lost`. Retransmitted
    /// segments are skipped: the retransmission timer detects their loss. Returns the send time of the first lost
    /// segment.
    pub fn mark_lost_below(&mut self, edge: u64, mut lost: impl FnMut(&Record<I>)) -> Option<Time> {
        if self.is_examined(edge) {
            return None;
        }
        let (mut index, mut start) = self.find_from(self.examined);
        let mut found = None;
        while let Some(kept) = self.records.get(index) {
            let end = self.start_or_end(index + 1);
            if end > edge {
                break;
            }
            let record = kept.record(start, end);
            start = end;
            self.examined = end;
            // RFC 6675, section 4, NextSeg, rule 1: not retransmitted yet (HighRxt).
            if record.state == SegmentState::InFlight && record.retransmissions == 0 {
                found = found.or(Some(record.sent_at));
                lost(&record);
                self.mark_record_lost(index, &record);
            }
            index += 1;
        }
        found
    }

    /// Marks the first segment as lost, if it is in the network; returns its send time.
    pub fn mark_first_in_flight_lost(&mut self) -> Option<Time> {
        let first = self.first().filter(|first| first.state == SegmentState::InFlight)?;
        self.leave(0, &first, SegmentState::Lost);
        Some(first.sent_at)
    }

    /// Marks the first segment, indicated by acknowledgements, as lost, unless it was retransmitted or a router has
    /// reported it as dropped. Passes it to `lost` and returns its send time.
    pub fn mark_first_missing_lost(&mut self, lost: impl FnOnce(&Record<I>)) -> Option<Time> {
        let first = self.first().filter(|first| first.repair == Repair::None)?;
        if first.state == SegmentState::InFlight {
            self.records[0].set_repair(Repair::Implicit);
            lost(&first);
        }
        self.mark_first_in_flight_lost()
    }

    /// Marks the segment with byte `sequence`, reported as dropped by a router at `now`, as lost and passes it to
    /// `lost`. Returns false if the report is redundant: the segment is not outstanding, has arrived, waits for
    /// retransmission or was retransmitted after an implicit loss signal.
    pub fn mark_dropped(&mut self, sequence: u64, now: Time, lost: impl FnOnce(&Record<I>)) -> bool {
        let Some((index, _)) = self.find(sequence) else { return false };
        let Some(record) = self.record(index) else { return false };
        // A retransmission after a router's report may be dropped again, but not at the moment of its transmission.
        let again = record.repair == Repair::Explicit && record.sent_at < now;
        let is_new = record.state == SegmentState::InFlight && (record.repair == Repair::None || again);
        if is_new {
            lost(&record);
            self.leave(index, &record, SegmentState::Lost);
            self.records[index].set_repair(Repair::Explicit);
        }
        is_new
    }

    /// Marks all segments as lost, including selectively acknowledged ones unless `keep_sacked`. Passes each segment
    /// that was in flight to `lost`.
    pub fn mark_all_lost(&mut self, keep_sacked: bool, mut lost: impl FnMut(&Record<I>)) {
        for index in 0..self.records.len() {
            let Some(record) = self.record(index) else { break };
            if record.state == SegmentState::InFlight {
                lost(&record);
            }
            if !(keep_sacked && record.state == SegmentState::Sacked) {
                self.mark_record_lost(index, &record);
            }
        }
        // RFC 2018, section 8: a receiver that reneged may have discarded any range.
        if !keep_sacked {
            self.sacked.clear();
        }
        self.lost_from = 0;
    }

    /// Returns all lost segments to the network after a spurious loss detection, except the one at `unsent`.
    pub fn on_spurious_timeout(&mut self, unsent: Option<u64>) {
        let is_lost = |record: &Record<I>| record.state == SegmentState::Lost && Some(record.start) != unsent;
        for index in 0..self.records.len() {
            let lost = self.record(index).filter(is_lost);
            if let Some(record) = lost {
                self.leave(index, &record, SegmentState::InFlight);
                self.records[index].set_repair(Repair::None);
            }
        }
        self.examined = 0;
    }

    /// Returns the segments in the network.
    pub fn in_network(&self) -> impl Iterator<Item = Record<I>> {
        self.records().filter(|record| record.state == SegmentState::InFlight)
    }

    /// Returns the index of the first lost segment.
    fn first_lost(&mut self) -> Option<usize> {
        if self.lost_segments == 0 {
            return None;
        }
        // RFC 6675, section 4, NextSeg, rule 1: the lowest first, as it delays the delivery of all others.
        let (mut index, _) = self.find_from(self.lost_from);
        while self.records.get(index)?.state() != SegmentState::Lost {
            index += 1;
        }
        self.lost_from = self.records[index].start(self.next);
        Some(index)
    }

    /// Returns the length of the first lost segment in bytes.
    #[inline(always)]
    pub fn first_lost_len(&mut self) -> Option<u32> {
        let index = self.first_lost()?;
        Some(self.record(index)?.length)
    }

    /// Retransmits the first lost segment at `now`, or its first `segment` bytes; `info` returns the controller data
    /// for a segment of a given length.
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

    /// Splits a lost segment of `length` bytes after `at` bytes.
    #[cold]
    fn split(&mut self, index: usize, length: u32, at: u32) {
        let kept = &mut self.records[index];
        let payload = P::restore(&kept.payload, length);
        let rest = kept.split(at, payload.slice(0, at).keep(), payload.slice(at, length).keep());
        self.records.insert(index + 1, rest);
        self.lost_segments += 1;
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

    /// It was sent more than once and is selectively acknowledged: the transmission that arrived is unknown.
    #[cold]
    fn add_resent(&mut self, record: &Record<I>) {
        self.count(record);
        self.resent += 1;
        if !self.mixed {
            (self.mixed, self.original) = (true, self.newest.map(|(sent_at, _)| sent_at));
        }
        self.take_newest(record);
    }

    /// Returns the send time of the newest segment, without selectively acknowledged retransmissions.
    pub fn original(&self) -> Option<Time> {
        if self.mixed { self.original } else { self.newest.map(|(sent_at, _)| sent_at) }
    }

    /// Returns the send time of the newest segment, if it gives a round-trip time.
    pub fn measurable(&self) -> Option<Time> {
        self.original().filter(|_| self.ambiguous == 0)
    }

    /// Returns true if one of the segments was sent only once.
    pub fn has_original(&self) -> bool {
        self.segments > self.ambiguous + self.resent
    }
}
