//! The receiver of the window transport.

mod delayed_acks;

use super::byte_ranges::Ranges;
use super::misbehaving_receiver::{Misbehaving, REPEATED_ACKS};
use super::optional_receiver_state::OptionalState;
use super::rledbat::Background;
use super::{Ack, Arrival, Misbehaviour, Pdu, ReceiverConfig, RelativeDelay, SackBlock, Segment};
use crate::Ecn;
use crate::engine_contract::{Engine, Output};
use crate::payload::{Payload, Store};
use crate::state_digest::{Digest, hash_all, time_until};
use crate::transport::{Event, Input, ReceiverCounts};
use crate::units::Time;
use core::hash::{Hash, Hasher};
use std::sync::Arc;

/// Maximum number of out-of-order ranges. Data that would add one more is dropped, which bounds the memory when a peer
/// sends every other byte.
const MAX_RANGES: usize = 1 << 13;

/// Cause of a receiver timer expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverReason {
    /// A delayed acknowledgement is due.
    DelayedAck,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments with new data.
    pub new_segments: u64,
    /// Segments without new data.
    pub duplicates: u64,
    /// Segments beyond the window, beyond the limit of ranges, or out of order where such data is not buffered.
    pub refused: u64,
}

/// Delivers a byte stream in order, each byte once, and acknowledges it.
#[derive(Clone, Debug)]
pub struct Receiver<P: Payload> {
    config: Arc<ReceiverConfig>,
    /// First byte not yet received in order.
    expected: u64,
    /// First byte not yet delivered to the application.
    delivered: u64,
    /// First byte not yet consumed by the application.
    consumed: u64,
    /// In-order data that bypasses the reassembly buffer.
    ready: Option<P>,
    /// Byte ranges held out of order.
    held: Ranges,
    store: P::Store,
    /// Number of segments held out of order, and their bytes.
    out_of_order_totals: (u32, u64),
    /// Positions of the newest out-of-order arrivals, newest first (RFC 2018, section 4), and the number of these
    /// ranges with data not yet acknowledged.
    recent: [u64; 3],
    fresh: u8,
    /// Acknowledgements to send now. One covers everything in order; further ones would count as duplicates.
    owed: u32,
    /// In-order segments not yet acknowledged.
    delayed: u32,
    ack_deadline: Time,
    /// Segments received with CE, and whether the newest was.
    ce: u16,
    was_ce: bool,
    /// Arrival to report in the next acknowledgement, and the lower half of the segment's start.
    arrival: Arrival,
    arrival_at: u32,
    /// One-way delay of the newest segment, until it is reported.
    delay: Option<RelativeDelay>,
    /// First byte beyond the advertised window.
    advertised: u64,
    /// Rarely used state.
    special: Option<Box<OptionalState<P>>>,
    // Counters of [`ReceiverStats`], placed here to share a word with other small fields.
    new_segments: u64,
    duplicates: u32,
    refused: u32,
}

impl<P: Payload> Receiver<P> {
    /// Creates a receiver that expects byte 0.
    pub fn new(config: Arc<ReceiverConfig>) -> Self {
        Self {
            // LEDBAT++ may start with a small window, so the full one is not advertised before the first segment.
            advertised: if config.background.is_some() { 0 } else { config.window },
            special: OptionalState::new(&config),
            config,
            expected: 0,
            delivered: 0,
            consumed: 0,
            ready: None,
            held: Ranges::default(),
            store: P::Store::default(),
            out_of_order_totals: (0, 0),
            recent: [0; 3],
            fresh: 0,
            owed: 0,
            delayed: 0,
            ack_deadline: Time::MAX,
            ce: 0,
            was_ce: false,
            arrival: Arrival::Plain,
            arrival_at: 0,
            delay: None,
            new_segments: 0,
            duplicates: 0,
            refused: 0,
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats {
            new_segments: self.new_segments,
            duplicates: u64::from(self.duplicates),
            refused: u64::from(self.refused),
        }
    }

    /// Returns the counts of data accepted in order.
    pub fn counts(&self) -> ReceiverCounts {
        let packets = self.new_segments - u64::from(self.out_of_order_totals.0);
        let misbehaving = self.special.as_ref().and_then(|special| special.misbehaving.as_ref());
        let concealed = misbehaving.map_or(0, |misbehaving| misbehaving.concealed);
        ReceiverCounts { packets, payload: self.expected - concealed, framing: 0 }
    }

    /// Returns the first byte not received in order: the next cumulative acknowledgement.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns the window: the number of bytes accepted and advertised beyond the next expected one.
    pub fn window(&self) -> u64 {
        self.config.window
    }

    /// Sets the window, in bytes beyond the next expected one. An advertised window is never withdrawn: a smaller
    /// window takes effect as data arrives (RFC 9293, section 3.8.6).
    pub fn set_window(&mut self, window: u64) {
        Arc::make_mut(&mut self.config).window = window;
        if self.needs_window_update() {
            self.owed = self.owed.max(1);
        }
    }

    #[inline(always)]
    fn background(&mut self) -> Option<&mut Background> {
        self.special.as_deref_mut()?.background.as_mut()
    }

    #[inline(always)]
    fn misbehaving(&mut self) -> Option<&mut Misbehaving<P>> {
        self.special.as_deref_mut()?.misbehaving.as_mut()
    }

    /// Returns the first byte beyond the window.
    fn limit(&self) -> u64 {
        let base = if self.config.wait_for_consumption { self.consumed } else { self.expected };
        base.saturating_add(self.config.window)
    }

    /// Returns the first byte beyond the window to be advertised.
    #[inline(always)]
    fn edge(&self) -> u64 {
        let limit = self.limit();
        match self.special.as_deref().and_then(|special| special.background.as_ref()) {
            Some(background) => background.edge(self.expected, limit, self.advertised),
            None => limit,
        }
    }

    /// Returns true if the window has opened enough for a window update without new data: a blocked sender does not ask
    /// (RFC 9293, section 3.8.6). A window that was not closed is updated in steps of a quarter, to avoid small
    /// segments after small reads (the same document, section 3.8.6.2.2).
    fn needs_window_update(&self) -> bool {
        let opened = self.edge().saturating_sub(self.advertised.max(self.expected));
        let was_closed = self.advertised <= self.expected;
        opened > 0 && (was_closed || opened >= (self.config.window / 4).max(1))
    }

    /// Handles a segment at a misbehaving receiver.
    #[cold]
    fn misbehave(&mut self, now: Time, segment: Segment<P>, ecn: Ecn, how: Misbehaviour) {
        let (before, length) = (self.expected, u64::from(segment.payload.len()));
        match how {
            Misbehaviour::ConcealsMarks => self.accept(now, segment, Ecn::NotEct),
            how if how.conceals_loss() => self.conceal(now, &segment, ecn),
            _ => self.accept(now, segment, ecn),
        }
        if how == Misbehaviour::RepeatsAcks {
            self.owed += REPEATED_ACKS;
        }
        let expected = self.expected;
        if let Some(misbehaving) = self.misbehaving()
            && expected > before
        {
            let further = misbehaving.advanced(before, expected, length);
            self.owed = if further > 0 { self.owed.max(1) + further } else { self.owed };
        }
    }

    /// Accepts the new part of a segment as in order and ignores missing data before it.
    fn conceal(&mut self, now: Time, segment: &Segment<P>, ecn: Ecn) {
        self.ce = self.ce.wrapping_add(u16::from(ecn.is_ce()));
        self.delay = segment.sent_at.map(|sent_at| sent_at.until(now)).or(self.delay);
        let (start, end) = (segment.sequence, segment.end().min(self.limit()));
        let from = start.max(self.expected);
        let missing = from - self.expected;
        let Some(misbehaving) = self.misbehaving().filter(|_| end > from) else {
            self.duplicates = self.duplicates.saturating_add(1);
            self.owed += 1;
            return;
        };
        // Both differences are within the segment, whose length fits.
        let piece = segment.payload.slice((from - start) as u32, (end - start) as u32);
        misbehaving.pieces.push_back((from, piece));
        misbehaving.concealed += missing;
        // Missing data takes no buffer space.
        self.consumed += missing;
        self.expected = end;
        self.new_segments += 1;
        self.acknowledge_in_order(now, segment.ack_now);
    }

    #[inline(always)]
    fn on_segment(&mut self, now: Time, segment: Segment<P>, ecn: Ecn) {
        match self.config.misbehaviour {
            None => self.accept(now, segment, ecn),
            Some(how) => self.misbehave(now, segment, ecn, how),
        }
    }

    #[inline(always)]
    fn accept(&mut self, now: Time, segment: Segment<P>, ecn: Ecn) {
        self.ce = self.ce.wrapping_add(u16::from(ecn.is_ce()));
        // A change of the CE state is acknowledged at once (RFC 8257, section 3.2).
        let ack_now = segment.ack_now || self.was_ce != ecn.is_ce() && self.acks_on_request();
        self.was_ce = ecn.is_ce();
        if let Some(sent_at) = segment.sent_at {
            let delay = sent_at.until(now);
            self.delay = Some(delay);
            if let Some(background) = self.background() {
                let (end, bytes) = (segment.end(), segment.payload.len());
                background.arrive(now, end, bytes, delay, segment.retransmission);
            }
        }
        let (start, segment_end) = (segment.sequence, segment.end());
        // Data beyond the window is trimmed and the rest accepted (RFC 9293, section 3.10.7.4); otherwise a window
        // smaller than a segment would never accept it.
        let end = segment_end.min(self.limit());
        if start == self.expected && self.held.is_empty() && end == segment_end && end > start {
            // The common case: in order, nothing missing.
            if segment.retransmission {
                self.note(Arrival::Repair, start);
            }
            self.expected = end;
            self.new_segments += 1;
            self.keep_in_order(start, segment.payload);
            self.acknowledge_in_order(now, ack_now);
            return;
        }
        if segment_end <= self.expected {
            self.duplicates = self.duplicates.saturating_add(1);
            // RFC 2883, section 4: a duplicate is reported by the acknowledgement that it causes.
            self.note(if segment.retransmission { Arrival::Spurious } else { Arrival::Late }, start);
            self.owed += 1;
            return;
        }
        let out_of_order = start > self.expected;
        let refused = end <= start.max(self.expected)
            || (out_of_order && !(self.config.keep_out_of_order && self.can_track_range()));
        if refused {
            self.refused = self.refused.saturating_add(1);
            self.owed += 1;
            return;
        }
        self.hold(now, &segment, end, ack_now);
    }

    /// Records the arrival of the segment at `start` for the next acknowledgement.
    fn note(&mut self, arrival: Arrival, start: u64) {
        if self.config.report_arrivals {
            (self.arrival, self.arrival_at) = (arrival, start as u32);
        }
    }

    /// Returns true if one more range can be tracked. Data that fills the first hole always fits.
    fn can_track_range(&self) -> bool {
        self.held.len() < MAX_RANGES
    }

    /// Stores the new part of `segment` up to `end` and advances over data now in order.
    #[inline(always)]
    fn hold(&mut self, now: Time, segment: &Segment<P>, end: u64, ack_now: bool) {
        let start = segment.sequence.max(self.expected);
        let mut new = 0;
        let is_late = start < self.held.end();
        let store = &mut self.store;
        self.held.insert(start, end, |from, to| {
            new += to - from;
            let base = segment.sequence;
            // Both differences are within the segment, whose length fits.
            store.insert(from, segment.payload.slice((from - base) as u32, (to - base) as u32));
        });
        if new > 0 {
            self.new_segments += 1;
            self.out_of_order_totals =
                (self.out_of_order_totals.0.saturating_add(1), self.out_of_order_totals.1 + new);
        } else {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        if segment.retransmission {
            self.note(if new > 0 { Arrival::Repair } else { Arrival::Spurious }, segment.sequence);
        } else if is_late {
            self.note(Arrival::Late, segment.sequence);
        }
        if let Some((_, run_end)) = self.held.containing(self.expected) {
            let run = run_end - self.expected;
            self.expected = run_end;
            self.held.remove_below(run_end);
            self.catch_up(run);
            // It fills a hole: acknowledged at once (RFC 5681, section 4.2).
            self.owed = 1;
            return;
        }
        if self.config.sack {
            self.report(start);
        }
        let is_reported =
            is_late || segment.retransmission || self.out_of_order_totals.0 <= delayed_acks::IMMEDIATE_ACKS;
        if !is_reported && self.config.report_arrivals && self.acks_on_request() {
            if self.is_due(now, ack_now) {
                self.owed = self.owed.max(1);
            }
            return;
        }
        // RFC 5681, section 4.2: each out-of-order segment causes a duplicate acknowledgement.
        self.owed += 1;
    }

    /// Schedules the range at `position`, which has grown, for a SACK block.
    #[inline(always)]
    fn report(&mut self, position: u64) {
        if self.held.containing(self.recent[0]) != self.held.containing(position) {
            if usize::from(self.fresh) == self.recent.len() {
                self.report_later(self.recent[2]);
                self.fresh -= 1;
            }
            // RFC 2018, section 4: the newest block first, then those reported last.
            self.recent = [position, self.recent[0], self.recent[1]];
            self.fresh += 1;
        }
        self.fresh = self.fresh.max(1);
    }

    /// Saves the range at `position` for a later acknowledgement: several segments arrived at once, and a newer range
    /// takes its place.
    #[cold]
    fn report_later(&mut self, position: u64) {
        self.special.get_or_insert_default().unreported.add(position);
    }

    /// Returns the positions of the ranges to acknowledge: unreported ones first; the newest then stay due.
    #[inline(always)]
    fn reported_next(&mut self) -> [u64; 3] {
        let Self { special, held, .. } = self;
        let Some(unreported) = special.as_deref_mut().and_then(|special| special.unreported.take(held))
        else {
            self.fresh = 0;
            return self.recent;
        };
        self.owed = self.owed.max(1);
        unreported
    }

    /// Accounts for held bytes that are now in order. The number of segments among them is estimated by their share of
    /// the bytes, which is exact for segments of equal size.
    fn catch_up(&mut self, run: u64) {
        let (segments, bytes) = self.out_of_order_totals;
        self.out_of_order_totals = if self.held.is_empty() {
            (0, 0)
        } else {
            let share = u128::from(segments) * u128::from(run) / u128::from(bytes.max(1));
            (segments.saturating_sub(u32::try_from(share).unwrap_or(u32::MAX)), bytes.saturating_sub(run))
        };
    }

    fn keep_in_order(&mut self, start: u64, payload: P) {
        if self.delivered == start && self.ready.is_none() {
            self.ready = Some(payload);
        } else {
            self.store.insert(start, payload);
        }
    }

    fn acknowledge_in_order(&mut self, now: Time, ack_now: bool) {
        if self.is_due(now, ack_now) {
            self.owed = 1;
        }
    }

    fn acknowledgement(&mut self, now: Time) -> Ack {
        self.owed -= 1;
        if let Some(cumulative) =
            self.misbehaving().and_then(|misbehaving| misbehaving.extra_acks.pop_front())
        {
            let window = self.limit().saturating_sub(cumulative);
            return Ack { cumulative, window, ce: self.ce, ..Ack::default() };
        }
        self.delayed = 0;
        self.ack_deadline = Time::MAX;
        let edge = self.edge();
        let advertised = self.advertised;
        if let Some(background) = self.background() {
            background.advertise(now, advertised, edge);
        }
        self.advertised = edge;
        let window = self.advertised.saturating_sub(self.expected);
        let mut ack = Ack {
            cumulative: self.expected,
            window,
            sack: [SackBlock::default(); 3],
            ce: self.ce,
            arrival: core::mem::take(&mut self.arrival),
            arrival_at: 0,
            delay: self.delay.take(),
        };
        if ack.arrival != Arrival::Plain {
            ack.arrival_at = self.arrival_at.wrapping_sub(self.expected as u32).cast_signed();
        }
        if self.held.is_empty() {
            self.fresh = 0;
        } else if self.config.sack {
            let mut used = 0;
            for position in self.reported_next() {
                let Some((start, end)) = self.held.containing(position) else { continue };
                let offset = |at: u64| u32::try_from(at - self.expected).unwrap_or(u32::MAX);
                let block = SackBlock { start: offset(start), end: offset(end) };
                if !ack.sack[..used].contains(&block) {
                    ack.sack[used] = block;
                    used += 1;
                }
            }
        }
        ack
    }

    /// Returns data after a gap that a receiver conceals.
    fn next_behind_gap(&mut self) -> Option<P> {
        let (start, piece) = self.misbehaving()?.pieces.pop_front()?;
        self.delivered = start;
        Some(piece)
    }

    fn next_delivery(&mut self) -> Option<P> {
        if self.delivered == self.expected {
            return None;
        }
        let piece = self
            .ready
            .take()
            .or_else(|| self.next_behind_gap())
            .or_else(|| self.store.take(self.delivered, self.expected - self.delivered))?;
        self.delivered += u64::from(piece.len());
        Some(piece)
    }
}

impl<P: Payload<Store: Hash> + Hash> Digest for Receiver<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(into, (self.expected, self.delivered, self.consumed, &self.ready, &self.held, &self.store));
        hash_all(
            into,
            (self.recent, self.fresh, self.owed, self.delayed, time_until(self.ack_deadline, now)),
        );
        hash_all(into, self.special.as_deref().map(|special| &special.unreported));
        hash_all(into, self.was_ce);
        hash_all(into, (self.ce, self.advertised, self.arrival, self.arrival_at, self.delay));
    }
}

impl<P: Payload> Engine for Receiver<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ReceiverReason;

    // Drivers call this in several places; without the hint it would not be inlined.
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Segment(segment), ecn } => self.on_segment(now, segment, ecn),
            Input::Consumed(bytes) => {
                self.consumed = self.consumed.saturating_add(bytes).min(self.delivered);
                if self.needs_window_update() {
                    self.owed = self.owed.max(1);
                }
            }
            // A receiver sends only acknowledgements, which no gate pauses.
            Input::Pdu { pdu: Pdu::Ack(_), .. }
            | Input::Write(_)
            | Input::Finish
            | Input::Stop
            | Input::Feedback(_)
            | Input::Pause
            | Input::Resume => {}
        }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if now >= self.ack_deadline {
            self.ack_deadline = Time::MAX;
            self.owed += 1;
        }
        if self.owed > 0 {
            return Output::Transmit(Pdu::Ack(self.acknowledgement(now)));
        }
        if let Some(piece) = self.next_delivery() {
            return Output::Event(Event::Delivered(piece));
        }
        if self.ack_deadline == Time::MAX {
            Output::Idle
        } else {
            Output::Timeout { at: self.ack_deadline, reason: ReceiverReason::DelayedAck }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Acceptance and acknowledgement of single segments.
    use super::*;
    use crate::payload::{Length, Slice};
    use std::collections::BTreeSet;

    fn receiver<P: Payload>(config: ReceiverConfig) -> Receiver<P> {
        Receiver::new(Arc::new(config))
    }

    fn take<P: Payload>(receiver: &mut Receiver<P>, sequence: u64, payload: P) {
        let pdu = Pdu::Segment(Segment::new(sequence, payload));
        receiver.handle(Time::ZERO, Input::Pdu { pdu, ecn: Ecn::NotEct });
    }

    /// Returns the SACK blocks of the acknowledgements that are due.
    fn blocks(receiver: &mut Receiver<Length>) -> Vec<Vec<(u64, u64)>> {
        let mut all = Vec::new();
        while let Output::Transmit(Pdu::Ack(ack)) = receiver.poll(Time::ZERO) {
            all.push(ack.blocks().map(|block| (block.start, block.end)).collect());
        }
        all
    }

    /// Returns the cumulative numbers and windows of the acknowledgements that are due, and the delivered data.
    fn drain<P: Payload>(receiver: &mut Receiver<P>) -> (Vec<(u64, u64)>, Vec<P>) {
        let (mut acks, mut pieces) = (Vec::new(), Vec::new());
        loop {
            match receiver.poll(Time::ZERO) {
                Output::Transmit(Pdu::Ack(ack)) => acks.push((ack.cumulative, ack.window)),
                Output::Event(Event::Delivered(piece)) => pieces.push(piece),
                _ => return (acks, pieces),
            }
        }
    }

    #[test]
    fn a_segment_is_trimmed_to_the_window() {
        // RFC 9293, section 3.10.7.4: a segment is trimmed to the window. 1000 bytes meet a window of 300.
        let config = ReceiverConfig { window: 300, wait_for_consumption: true, ..ReceiverConfig::default() };
        let mut receiver = receiver::<Slice>(config);
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        take(&mut receiver, 0, Slice::new(bytes.clone()));
        let (acks, pieces) = drain(&mut receiver);
        assert_eq!(acks, [(300, 0)]);
        assert_eq!(pieces[0].as_bytes(), &bytes[..300]);
        // The window is closed: a repeated segment adds nothing before the application reads.
        take(&mut receiver, 0, Slice::new(bytes.clone()));
        assert_eq!(drain(&mut receiver), (vec![(300, 0)], vec![]));
        assert_eq!(receiver.stats().refused, 1);
        receiver.handle(Time::ZERO, Input::Consumed(300));
        assert_eq!(drain(&mut receiver), (vec![(300, 300)], vec![]));
        take(&mut receiver, 0, Slice::new(bytes.clone()));
        let (acks, pieces) = drain(&mut receiver);
        assert_eq!(acks, [(600, 0)]);
        assert_eq!(pieces[0].as_bytes(), &bytes[300..600]);
    }

    #[test]
    fn a_window_update_is_sent_after_a_quarter_of_the_window() {
        let config = ReceiverConfig { window: 4000, wait_for_consumption: true, ..ReceiverConfig::default() };
        let mut receiver = receiver::<Length>(config);
        take(&mut receiver, 0, Length(1000));
        take(&mut receiver, 1000, Length(1000));
        assert_eq!(drain(&mut receiver).0, [(2000, 2000)]);
        // 999 bytes do not justify a window update, the next byte does; then counting restarts.
        receiver.handle(Time::ZERO, Input::Consumed(999));
        assert_eq!(drain(&mut receiver).0, []);
        receiver.handle(Time::ZERO, Input::Consumed(1));
        assert_eq!(drain(&mut receiver).0, [(2000, 3000)]);
        receiver.handle(Time::ZERO, Input::Consumed(900));
        assert_eq!(drain(&mut receiver).0, []);
        // A closed window is advertised at once.
        take(&mut receiver, 2000, Length(4000));
        assert_eq!(drain(&mut receiver).0, [(5900, 0)]);
        receiver.handle(Time::ZERO, Input::Consumed(1));
        assert_eq!(drain(&mut receiver).0, [(5900, 1)]);
    }

    #[test]
    fn an_enlarged_window_is_advertised_at_once() {
        let config = ReceiverConfig { window: 1000, wait_for_consumption: true, ..ReceiverConfig::default() };
        let mut receiver = receiver::<Length>(config);
        take(&mut receiver, 0, Length(1000));
        assert_eq!(drain(&mut receiver).0, [(1000, 0)]);
        receiver.set_window(5000);
        assert_eq!((receiver.window(), drain(&mut receiver).0), (5000, vec![(1000, 4000)]));
        take(&mut receiver, 1000, Length(3000));
        assert_eq!(drain(&mut receiver).0, [(4000, 1000)]);
    }

    #[test]
    fn one_acknowledgement_covers_all_in_order_segments() {
        // Four segments arrive before the driver polls: three more acknowledgements would indicate a loss.
        let mut receiver = receiver::<Length>(ReceiverConfig::default());
        for sequence in [0, 1000, 2000, 3000] {
            take(&mut receiver, sequence, Length(1000));
        }
        assert_eq!(drain(&mut receiver).0.iter().map(|ack| ack.0).collect::<Vec<_>>(), [4000]);
        // RFC 5681, section 4.2: each out-of-order segment is acknowledged ...
        for sequence in [5000, 6000, 7000] {
            take(&mut receiver, sequence, Length(1000));
        }
        assert_eq!(drain(&mut receiver).0.iter().map(|ack| ack.0).collect::<Vec<_>>(), [4000; 3]);
        // ... but once the hole is filled no further acknowledgement is due.
        take(&mut receiver, 8000, Length(1000));
        take(&mut receiver, 4000, Length(1000));
        assert_eq!(drain(&mut receiver).0.iter().map(|ack| ack.0).collect::<Vec<_>>(), [9000]);
    }

    /// After a batch each range is reported, the newest last, in few acknowledgements.
    #[test]
    fn all_ranges_of_a_batch_are_reported() {
        let mut receiver = receiver::<Length>(ReceiverConfig::default());
        // Seven ranges of one segment each; the first grows after its report.
        take(&mut receiver, 1, Length(1));
        assert_eq!(blocks(&mut receiver), [[(1, 2)]]);
        take(&mut receiver, 2, Length(1));
        for run in 2..8 {
            take(&mut receiver, 2 * run, Length(1));
        }
        let reported = blocks(&mut receiver);
        // The earlier range and its neighbours are repeated; the newest come last.
        assert_eq!(reported[reported.len() - 1], [(14, 15), (12, 13), (10, 11)]);
        let all: BTreeSet<_> = reported.into_iter().flatten().collect();
        assert_eq!(all.len(), 7, "{all:?}");
        assert!(all.contains(&(1, 3)), "{all:?}");
        // A batch that fills the first hole causes one acknowledgement, and all its ranges are reported.
        for run in 10..15 {
            take(&mut receiver, 2 * run, Length(1));
        }
        take(&mut receiver, 0, Length(1));
        let reported = blocks(&mut receiver);
        assert_eq!(reported.last().unwrap()[..], [(28, 29), (26, 27), (24, 25)]);
        let all: BTreeSet<_> = reported.iter().flatten().collect();
        assert!([(20, 21), (22, 23)].iter().all(|run| all.contains(run)), "{reported:?}");
        assert!(reported.len() <= 3, "{reported:?}");
        // Without selective acknowledgements nothing is stored.
        let mut plain = self::receiver::<Length>(ReceiverConfig { sack: false, ..ReceiverConfig::default() });
        (1..20).for_each(|run| take(&mut plain, 2 * run, Length(1)));
        assert!(plain.special.is_none());
        // Single arrivals leave nothing unreported.
        for run in 20..30 {
            take(&mut receiver, 2 * run, Length(1));
            let reported = blocks(&mut receiver);
            assert_eq!((reported.len(), reported[0][0]), (1, (2 * run, 2 * run + 1)));
        }
    }

    #[test]
    fn the_first_hole_can_always_be_filled() {
        // Every other byte, up to the maximum number of holes: memory is bounded, and the stream still advances.
        let mut receiver = receiver::<Length>(ReceiverConfig::default());
        for hole in 0..MAX_RANGES as u64 + 10 {
            take(&mut receiver, 2 * hole + 1, Length(1));
        }
        assert_eq!((receiver.held.len(), receiver.stats().refused), (MAX_RANGES, 10));
        assert_eq!(MAX_RANGES, 8192, "as docs/security.md promises");
        take(&mut receiver, 0, Length(1));
        assert_eq!(receiver.expected(), 2);
    }
}
