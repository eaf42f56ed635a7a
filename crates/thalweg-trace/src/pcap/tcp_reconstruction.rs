//! TCP connections, reconstructed from their segments.
//!
//! As in tcptrace (Ostermann), each direction is followed by the sequence numbers of its segments and the acknowledgements that return
//! for them. Sequence numbers are unwrapped to positions; the first byte has position 0.
//!
//! | quantity | rule |
//! | --- | --- |
//! | round-trip time | of the last segment that an acknowledgement covers, if none of those covered was sent twice (Karn's rule, RFC 6298, section 3) |
//! | retransmission | data that was seen before, or that fills a gap later than a reordered packet would |
//! | late packet | data that fills a gap within half of the shortest round trip between the ends, at least 3 ms, with no later timestamp or number |
//! | spurious retransmission | of data already acknowledged; reported by D-SACK (RFC 2883); or by an older timestamp (RFC 3522) |
//! | loss | the packet whose data is retransmitted, then |
//! | timeout | a retransmission of the first unacknowledged data after 1.5 smoothed round trips between the ends without an acknowledgement, at least 10 ms |
//! | duplicate acknowledgement | RFC 5681, section 2 |
//! | window | the field times the scale of both SYNs (RFC 7323, section 2); without the SYNs in the capture the edge is unknown |
//! | place of the capture | the times of the handshake's two halves, or the echoes of timestamps |
//!
//! A segment longer than the maximum segment size was captured before a network card cut it. It counts as several packets.

use super::connection_endpoints::{ConnectionEnds, End, capture_point, label_connection};
use super::packet_headers::Segment;
use crate::position_ranges::Ranges;
use crate::trace_model::{Ack, Connection, Direction, Limit, Packet, Point, Protocol, Sack, Timeout};
use std::collections::VecDeque;
use thalweg_units::{Duration, Time};

/// TCP connection.
pub(super) struct Tcp {
    ends: ConnectionEnds,
    start: Time,
    last: Time,
    halves: [EndData; 2],
    /// Times of SYN, SYN-ACK and the acknowledgement that follows.
    handshake: [Option<Time>; 3],
    is_closed: bool,
}

/// Unacknowledged data.
#[derive(Clone, Copy, Debug)]
struct UnackedData {
    start: u64,
    end: u64,
    /// Index of the packet that carried it last.
    packet: u32,
    /// True if it was sent more than once.
    is_again: bool,
    is_sacked: bool,
    /// Timestamp of its retransmission.
    stamp: Option<u32>,
}

/// Data that was not seen although the packet behind it was.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: u64,
    end: u64,
    /// Time of the packet behind it, its timestamp, and the identification of its IP packet.
    since: Time,
    stamp: Option<u32>,
    identification: Option<u16>,
}

/// Data of one end, and the acknowledgements for it.
#[derive(Default)]
struct EndData {
    direction: Direction,
    syn: Option<u32>,
    /// Sequence number of position 0.
    base: Option<u32>,
    /// Position after the highest byte sent.
    high: u64,
    /// Position up to which data is acknowledged.
    acked: u64,
    /// Position up to which the receiver accepts data.
    edge: Option<u64>,
    /// Window scale that this end announced.
    scale: Option<u8>,
    mss: Option<u16>,
    has_stamps: bool,
    outstanding: VecDeque<UnackedData>,
    /// Data that was not seen although later data was.
    gaps: Ranges,
    /// Gaps in the order of positions, each with the packet behind it.
    gap_starts: VecDeque<Gap>,
    sacked: Ranges,
    /// Recent retransmissions: positions, the packet, and the one that it repeats.
    repeats: VecDeque<(u64, u64, u32, Option<u32>)>,
    window: u16,
    last_sent: Time,
    last_acked: Time,
    smoothed: Option<Duration>,
    shortest: Option<Duration>,
    /// Timestamps that this end sent, each with its first time.
    stamps: VecDeque<(u32, Time)>,
    /// Shortest time from a timestamp of this end to its echo.
    echo: Option<Duration>,
    /// Shortest time from a gap to its repair: a round trip between the ends, where nothing shows one better.
    repair: Option<Duration>,
    /// Time since when the receive window is full.
    full_since: Option<Time>,
    is_unscaled: bool,
    unseen_acked: u64,
}

impl Tcp {
    pub(super) fn new(from: End, to: End, time: Time, segment: &Segment) -> Self {
        // The client sends the SYN; without it, the end with the higher port.
        let is_server = match (segment.is(Segment::SYN), segment.is(Segment::ACK)) {
            (true, is_answer) => is_answer,
            (false, _) => from.1 < to.1,
        };
        let ends = if is_server { [to, from] } else { [from, to] };
        Self {
            ends,
            start: time,
            last: time,
            halves: [EndData::default(), EndData::default()],
            handshake: [None; 3],
            is_closed: false,
        }
    }

    /// Returns true if a segment of an end begins another connection.
    pub(super) fn is_over_for(&self, from: End, segment: &Segment) -> bool {
        if !segment.is(Segment::SYN) || segment.is(Segment::ACK) {
            return false;
        }
        let half = &self.halves[usize::from(from != self.ends[0])];
        half.syn.map_or(self.is_closed, |syn| syn != segment.sequence)
    }

    /// Adds a segment in an IP packet of `size` bytes; returns the number of records kept.
    pub(super) fn segment(
        &mut self,
        from: End,
        time: Time,
        segment: &Segment,
        size: u32,
        is_ce: bool,
        is_full: bool,
    ) -> usize {
        self.last = time;
        let side = usize::from(from != self.ends[0]);
        let is_syn = segment.is(Segment::SYN);
        match (is_syn, segment.is(Segment::ACK), side) {
            (true, false, _) => drop(self.handshake[0].get_or_insert(time)),
            (true, true, _) => drop(self.handshake[1].get_or_insert(time)),
            (false, true, 0) if self.handshake[1].is_some() => drop(self.handshake[2].get_or_insert(time)),
            _ => {}
        }
        self.is_closed |= segment.is(Segment::FIN) || segment.is(Segment::RST);
        let [one, other] = &mut self.halves;
        let (own, peer) = if side == 0 { (one, other) } else { (other, one) };
        if is_syn {
            own.begin(segment);
        }
        let counts = &mut own.direction.counts;
        counts.packets += 1;
        counts.bytes += u64::from(size);
        counts.ce += u64::from(is_ce);
        if let Some((value, echo)) = segment.stamps {
            own.has_stamps = true;
            own.stamp(time, value);
            if segment.is(Segment::ACK) && !is_syn {
                peer.echoed(time, echo, &mut own.direction);
            }
        }
        let mut kept = 0;
        if segment.length > 0 && !segment.is(Segment::RST) {
            // The options of this end's segments reduce its payload.
            let mss =
                peer.mss.map(|mss| u32::from(mss).saturating_sub(if own.has_stamps { 12 } else { 0 }).max(1));
            // The capture's way to the sender and back, which round trips from here do not include.
            let handshake = match (side, self.handshake) {
                (0, [_, Some(answer), Some(ack)]) => Some(ack.since(answer)),
                (1, [Some(syn), Some(answer), _]) => Some(answer.since(syn)),
                _ => None,
            };
            let to_sender = peer.echo.or(handshake).or(own.repair);
            kept += own.data(time, segment, size, mss, to_sender, is_ce, is_full);
        }
        if segment.is(Segment::ACK) && !segment.is(Segment::RST) {
            kept += peer.acknowledge(time, segment, own.scale, is_full);
        }
        kept
    }

    pub(super) fn finish(self) -> Connection {
        let Self { ends, start, last, halves, handshake, .. } = self;
        let mut notes = Vec::new();
        let [syn, answer, ack] = handshake;
        let since = |later: Option<Time>, earlier: Option<Time>| later.zip(earlier).map(|(a, b)| a.since(b));
        // To the server and back; to the client and back.
        let beyond = (since(answer, syn), since(ack, answer));
        let times = match beyond {
            (Some(server), Some(client)) => Some((server, client)),
            _ => halves[0].echo.zip(halves[1].echo),
        };
        let point = times.map_or(Point::Between, |(server, client)| capture_point(server, client));
        if times.is_none() {
            notes.push("The place of the capture is unknown: it has no handshake and no timestamps. Round-trip times are those seen from there.".to_owned());
        }
        if halves.iter().any(|half| half.is_unscaled) {
            notes.push(
                "The SYNs are not in the capture: the window scale is unknown, and windows are not shown."
                    .to_owned(),
            );
        }
        let unseen: u64 = halves.iter().map(|half| half.unseen_acked).sum();
        if unseen > 0 {
            notes.push(format!("{unseen} B were acknowledged and are not in the capture: it lost packets."));
        }
        let pieces =
            halves.iter().any(|half| half.direction.packets.iter().any(|packet| packet.is(Packet::SPLIT)));
        if pieces {
            notes.push("Segments longer than the maximum segment size were captured before the network card cut them (TSO, GSO); each counts as several packets.".to_owned());
        }
        let [one, other] = halves;
        let segments = [other.segment(), one.segment()];
        let directions = [one.finish(last, segments[0]), other.finish(last, segments[1])];
        let mut connection = Connection {
            protocol: Protocol::Tcp,
            point,
            start,
            end: last,
            directions,
            notes,
            ..Connection::default()
        };
        label_connection(&mut connection, ends);
        connection
    }
}

impl EndData {
    fn begin(&mut self, segment: &Segment) {
        if self.syn.is_none() {
            self.syn = Some(segment.sequence);
            self.base = Some(segment.sequence.wrapping_add(1));
            self.scale = Some(segment.scale.unwrap_or(0));
            self.mss = segment.mss;
        }
    }

    /// Returns the position of a sequence number; `None` if it is before position 0.
    fn position(&self, sequence: u32, base: u32) -> Option<u64> {
        let expected = base.wrapping_add(self.high as u32);
        self.high.checked_add_signed(i64::from(sequence.wrapping_sub(expected).cast_signed()))
    }

    /// Adds data that this end sends, in segments of at most `mss` bytes; returns the number of records kept. `to_sender` is the round trip
    /// from the capture to this end.
    #[expect(clippy::too_many_arguments, reason = "facts about one packet")]
    fn data(
        &mut self,
        time: Time,
        segment: &Segment,
        size: u32,
        mss: Option<u32>,
        to_sender: Option<Duration>,
        is_ce: bool,
        is_full: bool,
    ) -> usize {
        let sequence =
            if segment.is(Segment::SYN) { segment.sequence.wrapping_add(1) } else { segment.sequence };
        let base = *self.base.get_or_insert(sequence);
        let Some(start) = self.position(sequence, base) else { return 0 };
        let length = u64::from(segment.length);
        let end = start + length;
        // A probe of an idle connection repeats one byte (RFC 9293, section 3.8.4).
        if segment.length == 1 && end == self.high && self.acked == self.high {
            return 0;
        }
        let counts = &mut self.direction.counts;
        counts.payload += length;
        let mut flags = if is_ce { Packet::CE } else { 0 };
        let silence = time.since(self.last_sent.max(self.last_acked));
        let is_old = start < self.high;
        let mut stamp = None;
        if is_old {
            let unseen = self.gaps.take(start, end.min(self.high));
            let beyond = to_sender.unwrap_or(Duration::ZERO);
            let whole = beyond + self.shortest.unwrap_or(Duration::ZERO);
            let is_unseen = unseen == end.min(self.high) - start;
            let margin = (whole / 2).max(REORDERING);
            if is_unseen && is_overtaken(&self.gap_starts, start, time, segment, margin) {
                flags |= Packet::ARRIVED_LATE;
                counts.late += 1;
            } else {
                flags |= Packet::RETRANSMISSION;
                counts.retransmitted += 1;
                counts.retransmitted_bytes += end.min(self.high) - start;
                stamp = segment.stamps.map(|stamps| stamps.0);
                if let Some(gap) = gap_at(&self.gap_starts, start).filter(|_| is_unseen) {
                    let repair = time.since(gap.since);
                    self.repair = Some(self.repair.map_or(repair, |shortest| shortest.min(repair)));
                }
                let needless = end <= self.acked;
                if needless {
                    flags |= Packet::SPURIOUS;
                    counts.spurious += 1;
                }
                let whole = beyond + self.smoothed.unwrap_or(Duration::ZERO);
                let min = if is_unseen && to_sender.is_none() { USUAL_MIN_RTO } else { MIN_SILENCE };
                let patience = (whole * 3 / 2).max(min);
                if start <= self.acked && !needless && silence >= patience {
                    flags |= Packet::TIMEOUT;
                    self.direction.timeouts.push(Timeout { time, silence });
                }
            }
        } else if start > self.high {
            self.gaps.insert(self.high, start, |_, _| ());
            self.gap_starts.push_back(Gap {
                start: self.high,
                end: start,
                since: time,
                stamp: segment.stamps.map(|stamps| stamps.0),
                identification: segment.identification,
            });
            if self.gap_starts.len() > MAX_GAPS {
                self.gap_starts.pop_front();
            }
        }
        self.last_sent = time;
        if is_full {
            self.direction.counts.not_kept += 1;
            self.high = self.high.max(end);
            return 0;
        }
        // Without the option, segments above the usual maximum count as cut to it.
        let max = match mss {
            Some(mss) => mss,
            None if segment.length > MAX_JUMBO_PAYLOAD => USUAL_MSS,
            None => segment.length,
        };
        let header = size.saturating_sub(segment.length);
        let pieces = segment.length.div_ceil(max.max(segment.length.div_ceil(MAX_PIECES)));
        if pieces > 1 {
            flags |= Packet::SPLIT;
        }
        let step =
            u64::from(if pieces > 1 { max.max(segment.length.div_ceil(MAX_PIECES)) } else { segment.length });
        let mut at = start;
        while at < end {
            let until = (at + step).min(end);
            let length = (until - at) as u32;
            let packet = Packet {
                time,
                position: at,
                size: header + length,
                length,
                acked_at: Time::MAX,
                lost_at: Time::MAX,
                flags,
            };
            let index = self.direction.packets.len() as u32;
            self.direction.packets.push(packet);
            if flags & Packet::RETRANSMISSION != 0 {
                self.repeat(at, until.min(self.high), index, time, stamp);
            } else if flags & Packet::ARRIVED_LATE != 0 {
                self.fill(at, until, index);
            }
            let fresh = at.max(self.high);
            if fresh < until {
                self.outstanding.push_back(UnackedData {
                    start: fresh,
                    end: until,
                    packet: index,
                    is_again: false,
                    is_sacked: false,
                    stamp: None,
                });
                self.high = until;
            }
            at = until;
        }
        self.check_window(time);
        pieces as usize
    }

    /// Notes whether the receive window has room for a segment.
    fn check_window(&mut self, time: Time) {
        let segment = u64::from(self.mss.map_or(USUAL_MSS, u32::from));
        let is_limited =
            self.edge.is_some_and(|edge| edge.saturating_sub(self.high) < segment) && self.high > self.acked;
        match (is_limited, self.full_since) {
            (true, None) => self.full_since = Some(time),
            (false, Some(since)) => {
                self.full_since = None;
                if since < time {
                    self.direction.limits.push((since, time, Limit::Receiver));
                }
            }
            _ => {}
        }
    }

    /// Returns the index of the first unacknowledged data that ends after `position`.
    fn first_unacknowledged_after(&self, position: u64) -> usize {
        self.outstanding.partition_point(|data| data.end <= position)
    }

    /// Notes that a packet repeats data.
    fn repeat(&mut self, start: u64, end: u64, index: u32, time: Time, stamp: Option<u32>) {
        let mut original = None;
        let first = self.first_unacknowledged_after(start);
        for data in self.outstanding.range_mut(first..).take(MAX_OVERLAPS) {
            if data.start >= end {
                break;
            }
            let before = &mut self.direction.packets[data.packet as usize];
            if !before.is_acked() && !before.is_lost() {
                before.lost_at = time;
                self.direction.counts.lost += 1;
            }
            original.get_or_insert(data.packet);
            if !data.is_again {
                (data.is_again, data.stamp) = (true, stamp);
            }
            data.packet = index;
        }
        self.repeats.push_back((start, end, index, original));
        if self.repeats.len() > MAX_REPEATS {
            self.repeats.pop_front();
        }
    }

    /// Adds data that was missing among the unacknowledged.
    fn fill(&mut self, start: u64, end: u64, index: u32) {
        let at = self.outstanding.partition_point(|data| data.start < start);
        if at.min(self.outstanding.len() - at) <= MAX_MOVED && end > self.acked {
            let data =
                UnackedData { start, end, packet: index, is_again: false, is_sacked: false, stamp: None };
            self.outstanding.insert(at, data);
        }
    }

    /// Processes an acknowledgement for the data of this end; `scale` is that of the other end's windows.
    fn acknowledge(&mut self, time: Time, segment: &Segment, scale: Option<u8>, is_full: bool) -> usize {
        let is_syn = segment.is(Segment::SYN);
        let base = *self.base.get_or_insert(segment.ack);
        let Some(position) = self.position(segment.ack, base) else { return 0 };
        let counts = &mut self.direction.counts;
        counts.acks += 1;
        counts.zero_windows += u64::from(segment.window == 0 && !segment.is(Segment::FIN));
        // A FIN takes a number (RFC 9293, section 3.4), and data may be missing in the capture.
        if position > self.high {
            let unseen = position - self.high;
            if unseen > 1 {
                self.unseen_acked += unseen;
                self.high = position;
            }
        }
        let position = position.min(self.high);
        // Windows of SYNs are not scaled, and a scale is valid if both ends announced one (RFC 7323, section 2.2).
        let window = match (scale, self.scale) {
            (Some(scale), Some(_)) if !is_syn => Some(u64::from(segment.window) << scale),
            (None, _) => None,
            _ => Some(u64::from(segment.window)),
        };
        self.is_unscaled |= window.is_none();
        let edge = window.map(|window| position + window);
        let is_new = position > self.acked;
        let same_window = self.window == segment.window;
        if is_new {
            let before = self.acked;
            self.acked = position;
            self.direction.counts.delivered += position - before;
            self.take_acked(time, position, segment.stamps.map(|stamps| stamps.1));
            self.sacked.remove_below(position);
            self.gaps.remove_below(position);
            while self.gap_starts.front().is_some_and(|gap| gap.end <= position) {
                self.gap_starts.pop_front();
            }
        } else if position == self.acked
            && segment.length == 0
            && same_window
            && !self.outstanding.is_empty()
            && !is_syn
            && !segment.is(Segment::FIN)
        {
            self.direction.counts.duplicate_acks += 1;
        }
        self.window = segment.window;
        let is_moved = edge > self.edge;
        self.edge = self.edge.max(edge);
        self.direction.has_window |= edge.is_some();
        let mut kept = self.selective(time, segment, base, is_full);
        if is_new || segment.sack_count > 0 || position == self.acked {
            self.last_acked = time;
        }
        if (is_new || is_moved) && !is_full {
            self.direction.acks.push(Ack { time, position: self.acked, edge: self.edge.unwrap_or(u64::MAX) });
            kept += 1;
        }
        self.check_window(time);
        kept
    }

    /// Removes acknowledged data, and measures the round-trip time.
    fn take_acked(&mut self, time: Time, position: u64, echo: Option<u32>) {
        let (mut sample, mut is_ambiguous) = (None, false);
        while let Some(data) = self.outstanding.front().copied().filter(|data| data.end <= position) {
            self.outstanding.pop_front();
            let packet = &mut self.direction.packets[data.packet as usize];
            if !packet.is_acked() {
                packet.acked_at = time;
            }
            is_ambiguous |= data.is_again || data.is_sacked;
            sample = (!data.is_again && !data.is_sacked).then(|| time.since(packet.time));
            // An older timestamp than that of the retransmission answers the original (RFC 3522, section 3.2).
            let is_older = data
                .stamp
                .zip(echo)
                .is_some_and(|(stamp, echo)| echo != 0 && echo.wrapping_sub(stamp).cast_signed() < 0);
            if is_older && !data.is_sacked {
                self.spurious(data.start, data.end);
            }
        }
        if let Some(trip) = sample.filter(|_| !is_ambiguous) {
            self.on_round_trip(time, trip);
        }
    }

    fn on_round_trip(&mut self, time: Time, trip: Duration) {
        self.direction.round_trips.push((time, trip));
        self.shortest = Some(self.shortest.map_or(trip, |shortest| shortest.min(trip)));
        // RFC 6298, section 2.
        self.smoothed = Some(self.smoothed.map_or(trip, |rtt| (rtt * 7 + trip) / 8));
    }

    /// Marks a retransmission as unnecessary.
    fn spurious(&mut self, start: u64, end: u64) {
        let found = self
            .repeats
            .iter()
            .rev()
            .take(MAX_SEARCHED)
            .find(|(from, until, ..)| *from < end && *until > start);
        let Some(&(_, _, index, original)) = found else { return };
        let packet = &mut self.direction.packets[index as usize];
        if !packet.is(Packet::SPURIOUS) {
            packet.flags |= Packet::SPURIOUS;
            self.direction.counts.spurious += 1;
            if let Some(original) = original {
                self.direction.packets[original as usize].flags |= Packet::SPURIOUS;
            }
        }
    }

    /// Processes the SACK option; returns the number of records kept.
    fn selective(&mut self, time: Time, segment: &Segment, base: u32, is_full: bool) -> usize {
        let mut kept = 0;
        let blocks = &segment.sacks[..segment.sack_count];
        let ranges: Vec<Option<(u64, u64)>> = blocks
            .iter()
            .map(|&(start, end)| {
                let range = self.position(start, base).zip(self.position(end, base));
                range.filter(|(start, end)| start < end && *end <= self.high)
            })
            .collect();
        for (number, range) in ranges.iter().enumerate() {
            let Some((start, end)) = *range else { continue };
            let second = ranges.get(1).copied().flatten();
            let is_within = second.is_some_and(|(from, until)| from <= start && end <= until);
            // The first block may report a duplicate (RFC 2883, section 4).
            if end <= self.acked || number == 0 && is_within {
                if number == 0 {
                    self.direction.counts.duplicate_reports += 1;
                    self.spurious(start, end);
                    if !is_full {
                        self.direction.sacks.push(Sack { time, start, end, is_duplicate: true });
                        kept += 1;
                    }
                }
                continue;
            }
            let mut parts = Vec::new();
            self.sacked.insert(start.max(self.acked), end, |from, until| parts.push((from, until)));
            for (from, until) in parts {
                self.mark_sacked(time, from, until);
                if !is_full {
                    self.direction.sacks.push(Sack { time, start: from, end: until, is_duplicate: false });
                    kept += 1;
                }
            }
        }
        kept
    }

    fn mark_sacked(&mut self, time: Time, from: u64, until: u64) {
        let first = self.first_unacknowledged_after(from);
        let mut sample = None;
        for data in self.outstanding.range_mut(first..) {
            if data.end > until {
                break;
            }
            if data.start < from || data.is_sacked {
                continue;
            }
            data.is_sacked = true;
            let packet = &mut self.direction.packets[data.packet as usize];
            if !packet.is_acked() {
                packet.acked_at = time;
                sample = (!data.is_again).then(|| time.since(packet.time));
            }
        }
        if let Some(trip) = sample {
            self.on_round_trip(time, trip);
        }
    }

    /// Notes a timestamp that this end sends.
    fn stamp(&mut self, time: Time, value: u32) {
        let is_later = |last: &(u32, Time)| value.wrapping_sub(last.0).cast_signed() > 0;
        if self.stamps.back().is_none_or(is_later) {
            self.stamps.push_back((value, time));
            if self.stamps.len() > MAX_STAMPS {
                self.stamps.pop_front();
            }
        }
    }

    /// Notes the first echo of a timestamp of this end, by the sender of `direction`.
    fn echoed(&mut self, time: Time, echo: u32, direction: &mut Direction) {
        while let Some(&(value, sent)) = self.stamps.front() {
            let order = echo.wrapping_sub(value).cast_signed();
            if order < 0 {
                return;
            }
            self.stamps.pop_front();
            if order == 0 {
                let trip = time.since(sent);
                self.echo = Some(self.echo.map_or(trip, |shortest| shortest.min(trip)));
                direction.echoed.push((time, trip));
                return;
            }
        }
    }

    fn finish(mut self, end: Time, segment: Option<u32>) -> Direction {
        if let Some(since) = self.full_since.filter(|since| *since < end) {
            self.direction.limits.push((since, end, Limit::Receiver));
        }
        self.direction.segment = segment;
        self.direction
    }

    /// Returns the payload that the other end's segments may have.
    fn segment(&self) -> Option<u32> {
        let options = if self.has_stamps { 12 } else { 0 };
        self.mss.map(|mss| u32::from(mss).saturating_sub(options))
    }
}

/// Returns true if data at `start`, in one of the `gaps`, was overtaken rather than sent again: it comes within `margin` of the gap, and
/// was not sent after the packet behind it.
fn is_overtaken(gaps: &VecDeque<Gap>, start: u64, time: Time, segment: &Segment, margin: Duration) -> bool {
    gap_at(gaps, start).is_some_and(|gap| {
        let stamp = segment.stamps.map(|stamps| stamps.0);
        let is_later =
            stamp.zip(gap.stamp).is_some_and(|(own, behind)| own.wrapping_sub(behind).cast_signed() > 0);
        // Many senders number their packets, others at random: only near numbers show an order.
        let numbers = segment.identification.zip(gap.identification);
        let is_next = numbers.is_some_and(|(own, behind)| (1..MAX_AHEAD).contains(&own.wrapping_sub(behind)));
        time.since(gap.since) <= margin && !is_later && !is_next
    })
}

/// Returns the gap that has `position`.
fn gap_at(gaps: &VecDeque<Gap>, position: u64) -> Option<Gap> {
    let gap = gaps.get(gaps.partition_point(|gap| gap.end <= position));
    gap.copied().filter(|gap| gap.start <= position)
}

/// Maximum difference of the identifications of IP packets that shows their order.
const MAX_AHEAD: u16 = 1000;
/// Minimum time within which data that fills a gap counts as reordered.
const REORDERING: Duration = Duration::from_millis(3);
/// Maximum number of gaps whose times are kept.
const MAX_GAPS: usize = 65_536;
/// Minimum silence before the repair of data lost upstream, while the round trip from here to the sender is unknown.
const USUAL_MIN_RTO: Duration = Duration::from_millis(200);
/// Minimum silence before a timeout.
const MIN_SILENCE: Duration = Duration::from_millis(10);
/// Payload of a segment on Ethernet with timestamps, in bytes.
const USUAL_MSS: u32 = 1448;
/// Largest payload that a link may carry whole, in bytes: that of jumbo frames.
const MAX_JUMBO_PAYLOAD: u32 = 8960;
/// Maximum number of packets that a captured segment counts as.
const MAX_PIECES: u32 = 64;
/// Maximum number of earlier packets that a retransmission is compared with.
const MAX_OVERLAPS: usize = 256;
/// Number of retransmissions kept for later reports, and of those searched for each report.
const MAX_REPEATS: usize = 4096;
const MAX_SEARCHED: usize = 64;
/// Maximum number of entries moved to insert late data.
const MAX_MOVED: usize = 4096;
/// Maximum number of timestamps that wait for their echo.
const MAX_STAMPS: usize = 65_536;
