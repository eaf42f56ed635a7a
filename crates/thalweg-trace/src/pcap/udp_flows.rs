//! Datagrams whose content is not readable: their sizes and times, and the spin bit of QUIC. With its keys, QUIC is decrypted.

use super::connection_endpoints::{ConnectionEnds, End, label_connection};
use super::packet_headers::Datagram;
use super::quic::{DecryptedConnection, KeyLog};
use crate::format_and_limits::Limits;
use crate::trace_model::{Connection, Direction, Packet, Protocol};
use thalweg_units::Time;

/// Flow of datagrams between two ports.
pub(super) struct Udp {
    ends: ConnectionEnds,
    start: Time,
    last: Time,
    is_quic: bool,
    halves: [EndData; 2],
    /// Present for QUIC if there are keys.
    decrypted: Option<Box<DecryptedConnection>>,
}

#[derive(Default)]
struct EndData {
    direction: Direction,
    position: u64,
    /// Spin bit of the packet before, time of the last change, and number of changes.
    spin: Option<bool>,
    changed: Option<Time>,
    changes: usize,
    short: usize,
}

/// Returns true if these bytes begin a connection of QUIC: a long header (RFC 8999, section 5.1) with a known version.
fn begins_quic(bytes: &[u8]) -> bool {
    let Some([first, version @ ..]) = bytes.first_chunk::<5>() else { return false };
    let version = u32::from_be_bytes(*version);
    // Versions 1 and 2, drafts, and those of Google before.
    first & 0xc0 == 0xc0
        && (matches!(version, 1 | 0x6b33_43cf) || version >> 8 == 0xff_0000 || version >> 24 == 0x51)
}

impl Udp {
    /// Creates the flow that a datagram begins. With `keys`, QUIC is decrypted, within `limits`.
    pub(super) fn new(
        [from, to]: ConnectionEnds,
        time: Time,
        datagram: &Datagram<'_>,
        keys: &KeyLog,
        limits: &Limits,
    ) -> Self {
        let payload = datagram.bytes.get(8..).unwrap_or_default();
        let is_quic = begins_quic(payload);
        let decrypted = (is_quic && !keys.is_empty())
            .then(|| Box::new(DecryptedConnection::new([from, to], time, limits)));
        Self {
            ends: [from, to],
            start: time,
            last: time,
            is_quic,
            halves: [EndData::default(), EndData::default()],
            decrypted,
        }
    }

    /// Adds a datagram; returns the number of records kept.
    pub(super) fn datagram(
        &mut self,
        from: End,
        time: Time,
        datagram: &Datagram<'_>,
        is_full: bool,
        keys: &KeyLog,
    ) -> usize {
        self.last = time;
        let side = usize::from(from != self.ends[0]);
        let payload = datagram.bytes.get(8..).unwrap_or_default();
        self.is_quic |= begins_quic(payload);
        let length = datagram.length.saturating_sub(8);
        let decrypted = self
            .decrypted
            .as_mut()
            .map_or(0, |decrypted| decrypted.datagram(side, time, payload, length, datagram.is_ce, keys));
        let half = &mut self.halves[side];
        let counts = &mut half.direction.counts;
        counts.packets += 1;
        counts.bytes += u64::from(datagram.size);
        counts.payload += u64::from(length);
        counts.delivered += u64::from(length);
        counts.ce += u64::from(datagram.is_ce);
        if let Some(first) = payload.first().filter(|first| **first & 0xc0 == 0x40) {
            half.spin(time, first & 0x20 != 0);
        }
        if is_full {
            half.direction.counts.not_kept += 1;
            return decrypted;
        }
        let flags = if datagram.is_ce { Packet::CE } else { 0 };
        let position = half.position;
        half.position += u64::from(length);
        half.direction.packets.push(Packet {
            time,
            position,
            size: datagram.size,
            length,
            acked_at: Time::MAX,
            lost_at: Time::MAX,
            flags,
        });
        1 + decrypted
    }

    pub(super) fn finish(self) -> Connection {
        let Self { ends, start, last, is_quic, halves, decrypted } = self;
        let mut notes = Vec::new();
        match decrypted.map(|decrypted| decrypted.finish()) {
            Some(Ok(connection)) => return connection,
            Some(Err(problem)) => notes.push(format!("It was not decrypted: {problem}.")),
            None => {}
        }
        let protocol = if is_quic { Protocol::EncryptedQuic } else { Protocol::Udp };
        let directions = halves.map(|mut half| {
            // Where the bit is set at random against observers, or for every packet anew, it is not a measure.
            let is_spinning = is_quic && half.changes >= 3 && half.changes * 4 <= half.short;
            if !is_spinning {
                half.direction.echoed.clear();
            }
            half.direction
        });
        if is_quic {
            notes.push("QUIC is encrypted: only sizes and times are visible. A qlog of either end, or its key log (--keys), shows losses and acknowledgements.".to_owned());
            if directions.iter().all(|direction| direction.echoed.is_empty()) {
                notes.push("The ends do not use the spin bit: there are no round-trip times.".to_owned());
            }
        }
        let mut connection =
            Connection { protocol, start, end: last, directions, notes, ..Connection::default() };
        label_connection(&mut connection, ends);
        connection
    }
}

impl EndData {
    /// Notes the spin bit of a packet: it changes once a round trip (RFC 9000, section 17.4).
    fn spin(&mut self, time: Time, bit: bool) {
        self.short += 1;
        if self.spin.replace(bit).is_some_and(|before| before != bit) {
            self.changes += 1;
            if let Some(before) = self.changed.replace(time) {
                self.direction.echoed.push((time, time.since(before)));
            }
        }
    }
}
