//! Reassembly of segments, and the memory that they occupy.

use super::config::{Acknowledgement, Evicted};
use super::{Bitmap, MAX_WINDOW, ReceiverConfig};
use crate::endpoint::memory_charge;
use crate::payload::Payload;
use crate::state_digest::hash_all;
use crate::transport::ReceiverCounts;
use core::hash::{Hash, Hasher};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Undelivered segment of the window.
#[derive(Clone, Debug, Hash)]
struct Track<P> {
    /// Bitmap of the stored packets.
    have: Bitmap,
    stored: u32,
    /// Number of packets in the segment; an upper bound until `is_known`.
    length: u16,
    is_known: bool,
    /// The sender had all packets of a full segment. The segment still ends early if the application retracts unsent
    /// data.
    is_full: bool,
    accepted: bool,
    /// Packets of the segment were discarded for lack of buffer, and the segment is not accepted.
    has_refused: bool,
    /// The segment was accepted, then discarded, and not accepted again.
    evicted: bool,
    /// The segment has been requested.
    requested: bool,
    /// The packets; empty if the segment occupies no buffer.
    packets: Vec<Option<P>>,
}

/// The outcome of storing a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreOutcome {
    New,
    Duplicate,
    Refused,
}

/// Result of the tolerance check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No report: the segment was accepted before.
    AlreadyAccepted,
    /// The check accepted the segment.
    Accepted,
    /// Packets are missing and must be requested.
    Incomplete,
    /// Packets are missing; the request waits until the application frees buffer space.
    Waiting,
}

/// In-order item for the application: data, or a number of missing packets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum OrderedItem<P> {
    Piece(P),
    Hole(u32),
}

/// Reassembly counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub segments: u64,
    pub incomplete: u64,
    pub holes: u64,
    pub evictions: u64,
    pub buffered: u32,
    pub buffered_peak: u32,
    pub buffered_bytes: u64,
    pub bytes_peak: u64,
    /// Packets delivered to the application.
    pub delivered: ReceiverCounts,
}

/// The receiver's window and buffer.
#[derive(Clone, Debug)]
pub(super) struct Assembly<P> {
    config: Arc<ReceiverConfig>,
    /// Segments from `expected` on.
    tracks: VecDeque<Track<P>>,
    /// Lowest unaccepted segment.
    expected: u64,
    /// Lowest segment that still occupies buffer.
    consumed: u64,
    /// R_h: highest segment that the sender may send.
    high: u64,
    /// W, or W1 while the application is slow.
    window: u16,
    /// Sizes of the segments from `consumed` to `expected`.
    unconsumed: VecDeque<u64>,
    /// Consumed bytes of the first of them.
    credit: u64,
    /// Segments that occupy a slot; kept with soft acknowledgement only.
    slots: BTreeSet<u64>,
    /// Segments that were accepted, then discarded, and not requested since.
    evicted: BTreeSet<u64>,
    /// Number of unaccepted segments that had packets discarded.
    refused_segments: u32,
    /// No packet has been lost for so long that any discard must stem from an earlier discard.
    pub is_calm: bool,
    pub ready_segments: VecDeque<OrderedItem<P>>,
    spare: Vec<Vec<Option<P>>>,
    /// Memory charged for packets and for the slots of undelivered segments, in bytes; together with the tracks at most
    /// `memory`.
    kept_bytes: u64,
    pub memory: u64,
    pub counts: Counts,
}

impl<P: Payload> Assembly<P> {
    pub fn new(config: Arc<ReceiverConfig>) -> Self {
        let window = config.window.clamp(1, MAX_WINDOW);
        Self {
            tracks: VecDeque::new(),
            expected: 0,
            consumed: 0,
            high: u64::from(window) - 1,
            window,
            unconsumed: VecDeque::new(),
            credit: 0,
            slots: BTreeSet::new(),
            evicted: BTreeSet::new(),
            refused_segments: 0,
            is_calm: false,
            ready_segments: VecDeque::new(),
            spare: Vec::new(),
            kept_bytes: 0,
            memory: u64::MAX,
            counts: Counts::default(),
            config,
        }
    }

    pub fn expected(&self) -> u64 {
        self.expected
    }

    pub fn high(&self) -> u64 {
        self.high
    }

    /// Returns the highest segment that may be tracked. Tracks may use half of the memory.
    pub fn reach(&self) -> u64 {
        self.high.min(self.expected.saturating_add(self.memory / 2 / self.track_cost()))
    }

    /// Returns the cost of a track: its bitmap, and one more for a request.
    fn track_cost(&self) -> u64 {
        size_of::<Track<P>>() as u64 + u64::from(self.config.segment_packets) / 4
    }

    fn slot_cost(&self) -> u64 {
        u64::from(self.config.segment_packets.max(1)) * size_of::<Option<P>>() as u64
    }

    /// Returns the bytes held for undelivered segments, including reserved space.
    fn held(&self) -> u64 {
        self.kept_bytes + self.tracks.len() as u64 * self.track_cost()
    }

    /// Returns true if there is memory for a packet. Only the segment to be delivered next may use all of it; others
    /// leave room for that segment.
    fn has_memory(&self, segment: u64, payload: &P) -> bool {
        let slot = self.slot_cost();
        let reserve =
            u64::from(self.config.segment_packets.max(1)) * u64::from(self.config.max_payload) + slot;
        let max = if segment == self.expected { self.memory } else { self.memory.saturating_sub(reserve) };
        self.held().saturating_add(slot + memory_charge(payload)) <= max
    }

    /// Returns the first untracked segment.
    pub fn front(&self) -> u64 {
        self.expected + self.tracks.len() as u64
    }

    /// Returns true if begun segments are undelivered.
    pub fn is_incomplete(&self) -> bool {
        !self.tracks.is_empty()
    }

    fn track(&self, segment: u64) -> Option<&Track<P>> {
        self.tracks.get(usize::try_from(segment.checked_sub(self.expected)?).ok()?)
    }

    fn track_mut(&mut self, segment: u64) -> Option<&mut Track<P>> {
        self.tracks.get_mut(usize::try_from(segment.checked_sub(self.expected)?).ok()?)
    }

    /// Tracks all segments up to `segment`, which lies within the window.
    pub fn begin(&mut self, segment: u64) {
        let size = self.config.segment_packets.max(1);
        while self.front() <= segment.min(self.reach()) {
            self.tracks.push_back(Track {
                have: Bitmap::none_received(size),
                stored: 0,
                length: size,
                is_known: false,
                is_full: size == 1,
                accepted: false,
                has_refused: false,
                evicted: false,
                requested: false,
                packets: Vec::new(),
            });
        }
    }

    /// Untracks segments from `segment` on, down to the last one that has packets.
    pub fn retract(&mut self, segment: u64) {
        let is_untouched =
            |track: &Track<P>| track.stored == 0 && !(track.accepted || track.evicted || track.has_refused);
        while self.front() > segment && self.tracks.back().is_some_and(is_untouched) {
            self.tracks.pop_back();
        }
    }

    /// Sets the last packet of a segment.
    pub fn end(&mut self, segment: u64, packet: u16) {
        let Some(track) = self.track_mut(segment).filter(|track| !track.is_known && !track.accepted) else {
            return;
        };
        let length = packet.saturating_add(1).min(track.length);
        // Ignores a peer that has already sent packets beyond the last one.
        let beyond = track.packets.iter().skip(usize::from(length)).any(Option::is_some);
        if !beyond {
            track.length = length;
            track.is_known = true;
        }
    }

    /// Marks a segment as having the full number of packets.
    pub fn fill(&mut self, segment: u64) {
        if let Some(track) = self.track_mut(segment) {
            track.is_full = true;
        }
    }

    /// Returns the number of packets in a segment, as far as known.
    pub fn length(&self, segment: u64) -> u16 {
        self.track(segment).map_or(0, |track| track.length)
    }

    /// Returns the bitmap of a segment's stored packets if some are missing; `None` otherwise.
    pub fn wanted(&self, segment: u64) -> Option<Bitmap> {
        let track = self.track(segment).filter(|track| !track.accepted)?;
        let mut bitmap = track.have.clone();
        for packet in u32::from(track.length)..bitmap.len() {
            bitmap.mark_received(packet);
        }
        Some(bitmap)
    }

    pub fn is_requested(&self, segment: u64) -> bool {
        self.track(segment).is_some_and(|track| track.requested)
    }

    /// Marks a segment as requested, or as no longer requested after its answer arrived or was lost.
    pub fn set_requested(&mut self, segment: u64, requested: bool) {
        let Some(track) = self.track_mut(segment) else { return };
        track.requested = requested;
        if track.evicted && !requested {
            self.evicted.insert(segment);
        } else {
            self.evicted.remove(&segment);
        }
    }

    /// Returns the buffer in segments, at least 1.
    fn buffer(&self) -> u64 {
        u64::from(self.config.buffer.max(1))
    }

    /// Returns true if a segment could be stored now without eviction.
    pub fn has_free_slot(&self, segment: u64) -> bool {
        match self.config.acknowledgement {
            // Gong and Parulkar 1992, section 4.3.1: a buffer of B accepts n to n + B - 1.
            Acknowledgement::Hard | Acknowledgement::Firm => segment < self.consumed + self.buffer(),
            Acknowledgement::Soft(_) => ((self.slots.len() + self.unconsumed.len()) as u64) < self.buffer(),
        }
    }

    /// Stores a packet of a begun segment.
    pub fn store(&mut self, segment: u64, packet: u16, payload: P) -> StoreOutcome {
        let is_soft = self.config.acknowledgement.is_soft();
        let Some(track) = self.track(segment) else { return StoreOutcome::Duplicate };
        if track.accepted || track.have.is_received(u32::from(packet)) || packet >= track.length {
            return StoreOutcome::Duplicate;
        }
        let has_slot = !track.packets.is_empty();
        if !self.has_memory(segment, &payload) {
            // Treated as a loss.
            return StoreOutcome::Refused;
        }
        if !has_slot {
            // Gong and Parulkar 1992, section 4.3.1, steps 2 and 3: a free slot, or that of the highest
            // segment, if higher.
            let has_free_slot = self.has_free_slot(segment) || is_soft && self.evict_above(segment);
            if !has_free_slot {
                self.refuse(segment);
                return StoreOutcome::Refused;
            }
            self.take_slot(segment);
        }
        let bytes = u64::from(payload.len());
        self.kept_bytes += memory_charge(&payload);
        if let Some(track) = self.track_mut(segment) {
            track.have.mark_received(u32::from(packet));
            track.stored += 1;
            track.packets[usize::from(packet)] = Some(payload);
        }
        self.counts.buffered_bytes += bytes;
        self.counts.bytes_peak = self.counts.bytes_peak.max(self.counts.buffered_bytes);
        StoreOutcome::New
    }

    fn take_slot(&mut self, segment: u64) {
        let size = usize::from(self.config.segment_packets.max(1));
        let mut packets = self.spare.pop().unwrap_or_default();
        packets.resize(size, None);
        self.kept_bytes += self.slot_cost();
        if let Some(track) = self.track_mut(segment) {
            track.packets = packets;
        }
        if self.config.acknowledgement.is_soft() {
            self.slots.insert(segment);
        }
        self.counts.buffered += 1;
        self.counts.buffered_peak = self.counts.buffered_peak.max(self.counts.buffered);
    }

    fn free_slot(&mut self, segment: u64, mut packets: Vec<Option<P>>) {
        self.kept_bytes -= self.slot_cost() + packets.iter().flatten().map(memory_charge).sum::<u64>();
        self.slots.remove(&segment);
        self.counts.buffered -= 1;
        packets.clear();
        self.spare.push(packets);
    }

    fn refuse(&mut self, segment: u64) {
        if let Some(track) = self.track_mut(segment)
            && !track.has_refused
        {
            track.has_refused = true;
            self.refused_segments += 1;
        }
    }

    /// Discards the highest stored segment if it is above `segment`.
    fn evict_above(&mut self, segment: u64) -> bool {
        let Some(&highest) = self.slots.last().filter(|&&highest| highest > segment) else { return false };
        let size = self.config.segment_packets.max(1);
        let Some(track) = self.track_mut(highest) else { return false };
        let packets = core::mem::take(&mut track.packets);
        track.have = Bitmap::none_received(size);
        track.stored = 0;
        track.evicted |= core::mem::take(&mut track.accepted);
        if track.evicted && !track.requested {
            self.evicted.insert(highest);
        }
        let bytes: u64 = packets.iter().flatten().map(|packet| u64::from(packet.len())).sum();
        self.counts.buffered_bytes -= bytes;
        self.counts.evictions += 1;
        self.free_slot(highest, packets);
        true
    }

    /// Returns the segments that were accepted, discarded and not requested since, if they are due for a request.
    pub fn evicted_to_request(&self) -> Vec<u64> {
        let Acknowledgement::Soft(rule) = self.config.acknowledgement else { return Vec::new() };
        match rule {
            Evicted::AtOnce => self.evicted.iter().copied().collect(),
            Evicted::One | Evicted::All if !self.evicted.contains(&self.expected) => Vec::new(),
            Evicted::One => vec![self.expected],
            Evicted::All => self.evicted.iter().copied().collect(),
        }
    }

    /// Performs the tolerance check once no more packets of a segment are in flight.
    pub fn check(&mut self, segment: u64) -> Verdict {
        let tolerance = self.config.tolerance;
        let (is_firm, is_slow) =
            (self.config.acknowledgement == Acknowledgement::Firm, self.consumed < self.expected);
        let Some(track) = self.track_mut(segment).filter(|track| !track.accepted) else {
            return Verdict::AlreadyAccepted;
        };
        let missing = u32::from(track.length).saturating_sub(track.stored);
        // The number of losses is known only if the segment length is known.
        let is_known = track.is_known || track.is_full;
        let is_tolerated = missing == 0 || is_known && missing <= tolerance.of(track.length);
        if !is_tolerated {
            return if is_firm && is_slow && track.has_refused {
                Verdict::Waiting
            } else {
                Verdict::Incomplete
            };
        }
        track.accepted = true;
        track.evicted = false;
        let was_refused = core::mem::take(&mut track.has_refused);
        self.evicted.remove(&segment);
        self.refused_segments -= u32::from(was_refused);
        self.counts.segments += 1;
        self.counts.incomplete += u64::from(missing > 0);
        while self.tracks.front().is_some_and(|track| track.accepted) {
            self.deliver();
        }
        self.advance();
        Verdict::Accepted
    }

    /// Delivers the lowest segment to the application.
    fn deliver(&mut self) {
        let Some(mut track) = self.tracks.pop_front() else { return };
        let mut packets = core::mem::take(&mut track.packets);
        self.kept_bytes -= packets.iter().flatten().map(memory_charge).sum::<u64>();
        let mut bytes = 0;
        let mut hole = 0;
        for packet in packets.iter_mut().take(usize::from(track.length)) {
            match packet.take() {
                Some(piece) => {
                    if hole > 0 {
                        self.ready_segments.push_back(OrderedItem::Hole(core::mem::take(&mut hole)));
                    }
                    bytes += u64::from(piece.len());
                    self.counts.delivered.packets += 1;
                    self.ready_segments.push_back(OrderedItem::Piece(piece));
                }
                None => hole += 1,
            }
        }
        self.counts.delivered.payload += bytes;
        if packets.is_empty() {
            // No packet arrived, which the tolerance permits.
            hole = u32::from(track.length);
        } else {
            self.slots.remove(&self.expected);
            self.kept_bytes -= self.slot_cost();
            packets.clear();
            self.spare.push(packets);
            self.counts.buffered -= 1;
        }
        if hole > 0 {
            self.ready_segments.push_back(OrderedItem::Hole(hole));
        }
        self.counts.holes += u64::from(u32::from(track.length).saturating_sub(track.stored));
        self.expected += 1;
        if self.config.wait_for_consumption && bytes > 0 {
            self.counts.buffered += 1;
            self.unconsumed.push_back(bytes);
        } else if self.config.wait_for_consumption && !self.unconsumed.is_empty() {
            // It occupies no buffer, but earlier segments must be consumed first.
            self.unconsumed.push_back(0);
        } else {
            self.counts.buffered_bytes -= bytes;
            self.consumed += 1;
        }
    }

    /// Records that the application consumed `bytes`; returns true if the window moved.
    pub fn consume(&mut self, bytes: u64) -> bool {
        self.credit = self.credit.saturating_add(bytes);
        while let Some(&size) = self.unconsumed.front().filter(|&&size| size <= self.credit) {
            self.credit -= size;
            self.unconsumed.pop_front();
            self.consumed += 1;
            self.counts.buffered -= u32::from(size > 0);
            self.counts.buffered_bytes -= size;
        }
        if self.unconsumed.is_empty() {
            // The application reported more than was delivered.
            self.credit = 0;
        }
        self.advance()
    }

    /// Applies `R_h = max(R_h, R_l + W - 1)` unless the window is withheld; returns true if it moved.
    fn advance(&mut self) -> bool {
        let before = self.high;
        let is_firm = self.config.acknowledgement == Acknowledgement::Firm;
        let is_withheld = is_firm && self.is_calm && self.refused_segments > 0;
        if !is_withheld {
            // Gong and Parulkar 1992, section 3.4, step 2: R_h = max(R_h, R_l + W - 1).
            self.high = self.high.max(self.consumed + u64::from(self.window) - 1);
        }
        self.high > before
    }

    /// Applies `W1 = (F1/F)·W0`, at least 1, where `share` is the application's share of the agreed rate. Returns true
    /// if the window moved.
    pub fn set_share(&mut self, share: f64) -> bool {
        let agreed = self.config.window.clamp(1, MAX_WINDOW);
        // The cast saturates; NaN becomes 0.
        self.window = (libm::ceil(f64::from(agreed) * share) as u16).clamp(1, agreed);
        self.advance()
    }
}

impl<P: Payload + Hash> Assembly<P> {
    /// Feeds `into` with all state except counters and empty vectors; segments are counted from `first`.
    pub fn feed_state<H: Hasher>(&self, first: u64, into: &mut H) {
        let Self {
            config,
            tracks,
            expected,
            consumed,
            high,
            window,
            unconsumed,
            credit,
            slots,
            evicted,
            refused_segments: refused,
            is_calm,
            ready_segments: ready,
            spare: _,
            kept_bytes: _,
            memory: _,
            counts: _,
        } = self;
        let from_first = |segment: &u64| segment.wrapping_sub(first);
        hash_all(into, (tracks, from_first(expected), from_first(consumed), from_first(high), window));
        hash_all(into, (unconsumed, credit, refused, ready));
        for segments in [slots, evicted] {
            hash_all(into, segments.len());
            segments.iter().for_each(|segment| hash_all(into, from_first(segment)));
        }
        hash_all(into, *is_calm && config.acknowledgement == Acknowledgement::Firm);
    }
}
