//! Protocols of this project in captures, as `--pcap` writes them: adaptive acknowledgement, SSCOP and two-level flow control, each
//! over UDP. Live datagrams are encrypted: of those only sizes and times are visible.
//!
//! A unit is what the protocol acknowledges: a packet of adaptive acknowledgement, an SD of SSCOP, a segment of two-level flow
//! control.

use super::connection_endpoints::{ConnectionEnds, End, label_connection};
use super::packet_headers::Datagram;
use crate::trace_model::{Ack, Connection, Counts, Direction, Packet, Protocol, Sack};
use std::collections::BTreeMap;
use thalweg_proto::data_unit_numbers::unwrap_number;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::pdu::CapturedBytes;
use thalweg_proto::sscop::SequenceNumber;
use thalweg_proto::{adaptive_ack, sscop, sstp};
use thalweg_units::Time;

/// Decoded PDU.
enum Pdu {
    AdaptiveAck(adaptive_ack::Pdu<Slice>),
    Sscop(sscop::Pdu<Slice>),
    Sstp(sstp::Pdu<Slice>),
}

impl Pdu {
    /// Decodes the payload of a datagram. What was not captured of it is payload, which counts as zeros.
    fn decode(protocol: Protocol, datagram: &Datagram<'_>) -> Option<Self> {
        let length = (datagram.length.checked_sub(UDP_HEADER)? as usize).min(MAX_DATAGRAM);
        let captured = datagram.bytes.get(UDP_HEADER as usize..)?;
        let captured = &captured[..captured.len().min(length)];
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(captured);
        bytes.resize(length, 0);
        match protocol {
            Protocol::AdaptiveAck => {
                adaptive_ack::wire::decode(&Slice::new(bytes)).ok().map(Self::AdaptiveAck)
            }
            // The control fields are at the end.
            Protocol::Sscop if captured.len() == length => {
                sscop::Pdu::decode(&Slice::new(bytes)).ok().map(Self::Sscop)
            }
            Protocol::TwoLevel => {
                if captured.len() < length {
                    sstp::wire::write_checksum(&mut bytes);
                }
                sstp::wire::decode(&Slice::new(bytes)).ok().map(|(_, pdu)| Self::Sstp(pdu))
            }
            _ => None,
        }
    }
}

/// Connection of one of these protocols.
pub(super) struct Pdus {
    protocol: Protocol,
    ends: ConnectionEnds,
    start: Time,
    last: Time,
    halves: [EndData; 2],
    /// Datagrams that could not be decoded.
    unread: u64,
}

/// Data of one end, and the other end's reports on it.
#[derive(Default)]
struct EndData {
    direction: Direction,
    /// Position after the last new byte.
    position: u64,
    /// Units that are not acknowledged: their packets by number within the unit.
    unacked_units: BTreeMap<u64, BTreeMap<u32, LatestTransmission>>,
    /// Units below are acknowledged.
    acked: u64,
    /// Number after the last unit sent.
    next: u64,
    /// Times of POLLs, by number.
    polls: BTreeMap<u32, Time>,
}

/// Latest transmission of a packet.
#[derive(Clone, Copy)]
struct LatestTransmission {
    /// Index among the packets kept.
    index: usize,
    start: u64,
    end: u64,
    is_acked: bool,
    is_again: bool,
}

/// Part of a unit that a packet carries.
struct Part {
    unit: u64,
    number: u32,
    length: u32,
}

impl Pdus {
    /// Returns the protocol of a connection that begins with this datagram, by its ports and content.
    pub(super) fn recognise(ports: [u16; 2], datagram: &Datagram<'_>) -> Option<Protocol> {
        let is_of = |port: u16| ports.iter().any(|own| [port, port + 1].contains(own));
        let candidates: &[Protocol] = match () {
            () if is_of(SSTP_PORT) => &[Protocol::TwoLevel],
            () if is_of(CapturedBytes::PORT) => &[Protocol::AdaptiveAck, Protocol::Sscop],
            () => &[],
        };
        candidates.iter().copied().find(|protocol| Pdu::decode(*protocol, datagram).is_some())
    }

    pub(super) fn new(protocol: Protocol, from: End, to: End, time: Time) -> Self {
        Self {
            protocol,
            ends: [from, to],
            start: time,
            last: time,
            halves: [EndData::default(), EndData::default()],
            unread: 0,
        }
    }

    /// Adds a datagram; returns the number of records kept.
    pub(super) fn datagram(
        &mut self,
        from: End,
        time: Time,
        datagram: &Datagram<'_>,
        is_full: bool,
    ) -> usize {
        self.last = time;
        let side = usize::from(from != self.ends[0]);
        let [first, second] = &mut self.halves;
        let (own, peer) = if side == 0 { (first, second) } else { (second, first) };
        let counts = &mut own.direction.counts;
        counts.packets += 1;
        counts.bytes += u64::from(datagram.size);
        counts.ce += u64::from(datagram.is_ce);
        let Some(pdu) = Pdu::decode(self.protocol, datagram) else {
            self.unread += 1;
            return 0;
        };
        let part = match &pdu {
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Data(data)) => {
                Some(Part { unit: data.sequence, number: 0, length: data.payload.len() })
            }
            Pdu::Sscop(sscop::Pdu::Sd { s, mu }) => {
                let unit = unwrap_number(s.get().into(), SequenceNumber::MODULUS.into(), own.next);
                Some(Part { unit, number: 0, length: mu.len() })
            }
            Pdu::Sstp(sstp::Pdu::Data(data)) => Some(Part {
                unit: unwrap_number(data.segment.into(), 1 << 16, own.next),
                number: data.packet.into(),
                length: data.payload.len(),
            }),
            _ => None,
        };
        if let Some(part) = part {
            return own.data(time, &part, datagram, is_full);
        }
        let before = peer.kept_packets();
        match &pdu {
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Ack(report)) => {
                peer.acknowledge(time, report.cumulative, is_full);
                peer.request(time, report.gap_in..report.gap_out, &|_| true);
            }
            Pdu::Sscop(sscop::Pdu::Poll { ps, .. }) => own.poll(ps.get(), time),
            Pdu::Sscop(sscop::Pdu::Stat(stat)) => peer.stat(time, stat, is_full),
            Pdu::Sscop(sscop::Pdu::Ustat(ustat)) => {
                let [r, first, end] = [ustat.r, ustat.first, ustat.end].map(|number| peer.number(number));
                peer.acknowledge(time, r, is_full);
                peer.request(time, first..end, &|_| true);
            }
            Pdu::Sstp(sstp::Pdu::Pack(report)) => {
                let unit = |number: u16| unwrap_number(number.into(), 1 << 16, peer.next);
                let (accepted, cumulative) = (unit(report.accepted), unit(report.cumulative));
                peer.selective(time, accepted..accepted + 1, is_full);
                peer.acknowledge(time, cumulative, is_full);
            }
            Pdu::Sstp(sstp::Pdu::Snak(report, request)) => {
                let unit = |number: u16| unwrap_number(number.into(), 1 << 16, peer.next);
                let (cumulative, asked) = (unit(report.cumulative), unit(request.segment));
                peer.acknowledge(time, cumulative, is_full);
                peer.request(time, asked..asked + 1, &|number| !request.bitmap.is_received(number));
            }
            _ => {}
        }
        peer.kept_packets().saturating_sub(before)
    }

    pub(super) fn finish(self) -> Connection {
        let Self { protocol, ends, start, last, halves, unread } = self;
        let mut notes = Vec::new();
        if unread > 0 {
            notes.push(format!("{unread} datagrams are not valid in {}.", protocol.name()));
        }
        let mut directions = halves.map(|half| half.direction);
        for direction in &mut directions {
            direction.segment = direction.packets.iter().map(|packet| packet.length).max();
        }
        let mut connection =
            Connection { protocol, start, end: last, directions, notes, ..Connection::default() };
        label_connection(&mut connection, ends);
        connection
    }
}

impl EndData {
    fn kept_packets(&self) -> usize {
        self.direction.acks.len() + self.direction.sacks.len() + self.direction.round_trips.len()
    }

    /// Returns the unit of a sequence number of SSCOP.
    fn number(&self, number: SequenceNumber) -> u64 {
        unwrap_number(number.get().into(), SequenceNumber::MODULUS.into(), self.next)
    }

    /// Adds a packet with data; returns the number of records kept.
    fn data(&mut self, time: Time, part: &Part, datagram: &Datagram<'_>, is_full: bool) -> usize {
        let counts = &mut self.direction.counts;
        counts.payload += u64::from(part.length);
        let known = self.unacked_units.get(&part.unit).and_then(|unit| unit.get(&part.number)).copied();
        let is_again = known.is_some() || part.unit < self.acked;
        if is_again {
            counts.retransmitted += 1;
            counts.retransmitted_bytes += u64::from(part.length);
            // Its data had been acknowledged.
            counts.spurious += u64::from(known.is_none_or(|sent| sent.is_acked));
        }
        if is_full {
            counts.not_kept += 1;
            return 0;
        }
        let start = known.map_or(self.position, |sent| sent.start);
        let end = known.map_or(self.position.saturating_add(part.length.into()), |sent| sent.end);
        if !is_again {
            self.position = end;
        }
        self.next = self.next.max(part.unit.saturating_add(1));
        let is_acked = known.is_some_and(|sent| sent.is_acked);
        if part.unit >= self.acked {
            let sent =
                LatestTransmission { index: self.direction.packets.len(), start, end, is_acked, is_again };
            self.unacked_units.entry(part.unit).or_default().insert(part.number, sent);
        }
        let flags = [
            (is_again, Packet::RETRANSMISSION),
            (is_again && known.is_none_or(|sent| sent.is_acked), Packet::SPURIOUS),
            (datagram.is_ce, Packet::CE),
        ];
        self.direction.packets.push(Packet {
            time,
            position: start,
            size: datagram.size,
            length: part.length,
            acked_at: Time::MAX,
            lost_at: Time::MAX,
            flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
        });
        1
    }

    /// Adds the report that all units before `unit` have arrived.
    fn acknowledge(&mut self, time: Time, unit: u64, is_full: bool) {
        self.direction.counts.acks += 1;
        // A report on what was not sent is invalid.
        let unit = unit.min(self.next);
        if unit <= self.acked && !self.direction.acks.is_empty() {
            return;
        }
        self.acked = self.acked.max(unit);
        let rest = self.unacked_units.split_off(&unit);
        let arrived = std::mem::replace(&mut self.unacked_units, rest);
        let newest = arrived.last_key_value().and_then(|(_, parts)| parts.last_key_value()).map(|of| *of.1);
        let Self { direction, .. } = self;
        for sent in arrived.into_values().flat_map(BTreeMap::into_values).filter(|sent| !sent.is_acked) {
            count_arrival(direction, time, sent);
        }
        if is_full {
            return;
        }
        // A report may be delayed: its newest unit was so the least.
        if let Some(sent) = newest.filter(|sent| !sent.is_again && !sent.is_acked && self.polls.is_empty())
            && let Some(packet) = self.direction.packets.get(sent.index)
        {
            self.direction.round_trips.push((time, time.since(packet.time)));
        }
        let first_open = self.unacked_units.first_key_value().and_then(|(_, parts)| parts.first_key_value());
        let position = first_open.map_or(self.position, |(_, sent)| sent.start);
        self.direction.acks.push(Ack { time, position, edge: u64::MAX });
    }

    /// Adds the report that these units have arrived.
    fn selective(&mut self, time: Time, units: core::ops::Range<u64>, is_full: bool) {
        let Self { direction, unacked_units: open, .. } = self;
        if units.start >= units.end {
            return;
        }
        for sent in open.range_mut(units).flat_map(|(_, parts)| parts.values_mut()) {
            if sent.is_acked {
                continue;
            }
            sent.is_acked = true;
            count_arrival(direction, time, *sent);
            if is_full {
                continue;
            }
            match direction.sacks.last_mut().filter(|last| last.time == time && last.end == sent.start) {
                Some(last) => last.end = sent.end,
                None => {
                    direction.sacks.push(Sack {
                        time,
                        start: sent.start,
                        end: sent.end,
                        is_duplicate: false,
                    });
                }
            }
        }
    }

    /// Adds the request of packets of these units, each by its number within the unit.
    fn request(&mut self, time: Time, units: core::ops::Range<u64>, is_missing: &dyn Fn(u32) -> bool) {
        if units.start >= units.end {
            return;
        }
        let Self { direction, unacked_units: open, .. } = self;
        for (number, sent) in open.range(units).flat_map(|(_, parts)| parts) {
            let packet = direction.packets.get_mut(sent.index);
            if let Some(packet) =
                packet.filter(|packet| !packet.is_lost() && !sent.is_acked && is_missing(*number))
            {
                packet.lost_at = time;
                direction.counts.lost += 1;
            }
        }
    }

    /// Notes the time of a POLL.
    fn poll(&mut self, number: u32, time: Time) {
        self.polls.insert(number, time);
        if self.polls.len() > MAX_POLLS {
            // The oldest by time, as numbers wrap.
            let oldest = self.polls.iter().min_by_key(|poll| *poll.1).map(|poll| *poll.0);
            oldest.and_then(|oldest| self.polls.remove(&oldest));
        }
    }

    /// Adds the receiver's state: a STAT answers the POLL of its number.
    fn stat(&mut self, time: Time, stat: &sscop::Stat, is_full: bool) {
        if let Some(polled) = self.polls.get(&stat.ps.get()).copied().filter(|_| !is_full) {
            self.direction.round_trips.push((time, time.since(polled)));
        }
        let r = self.number(stat.r);
        self.acknowledge(time, r, is_full);
        // Runs alternate between missing and received.
        let edges: Vec<u64> = stat.list.iter().map(|number| self.number(*number)).collect();
        for (at, pair) in edges.windows(2).enumerate() {
            match at % 2 {
                0 => self.request(time, pair[0]..pair[1], &|_| true),
                _ => self.selective(time, pair[0]..pair[1], is_full),
            }
        }
    }
}

/// Counts a packet that has arrived.
fn count_arrival(direction: &mut Direction, time: Time, sent: LatestTransmission) {
    let Direction { counts: Counts { delivered, .. }, packets, .. } = direction;
    *delivered += sent.end - sent.start;
    if let Some(packet) = packets.get_mut(sent.index) {
        packet.acked_at = time;
    }
}

/// Length of a UDP header, in bytes.
const UDP_HEADER: u32 = 8;
/// Maximum payload of a datagram, in bytes.
const MAX_DATAGRAM: usize = 65_535;
/// UDP port of two-level flow control in captures.
const SSTP_PORT: u16 = 5003;
/// Maximum number of POLLs without an answer.
const MAX_POLLS: usize = 1024;
