//! QUIC in a capture, decrypted by a key log (RFC 9001, RFC 9369).
//!
//! Initial packets have keys that anybody can derive: the ClientHello in them has the random number by which the key log names the
//! secrets, and the ServerHello the cipher suite. Packets become events of the reader of qlog. The capture must have whole packets.

mod frames;
#[cfg_attr(target_family = "wasm", allow(dead_code, reason = "nothing is decrypted there"))]
mod key_log_secrets;
#[cfg(not(target_family = "wasm"))]
mod packet_protection;

pub use key_log_secrets::KeyLog;

use super::connection_endpoints::{ConnectionEnds, capture_point, label_connection};
use crate::format_and_limits::{Format, Limits};
use crate::qlog::{Builder, Data, Event, Head};
use crate::trace_model::{Connection, Direction, Point, View};
use frames::Bytes;
use key_log_secrets::{DecryptedPacket, Suite, Version};
#[cfg(not(target_family = "wasm"))]
use packet_protection::Protection;
use serde_json::json;
use std::borrow::Cow;
use thalweg_units::Time;

/// Keys for the packets of one end. The library of ciphers is not built for WebAssembly, where nothing is decrypted.
#[cfg(target_family = "wasm")]
enum Protection {}

#[cfg(target_family = "wasm")]
impl Protection {
    fn new(_: Version, _: Suite, _: &[u8]) -> Option<Self> {
        None
    }

    fn initial(_: Version, _: &[u8]) -> Option<[Self; 2]> {
        None
    }

    fn next(&self) -> Option<Self> {
        match *self {}
    }

    fn open(&self, _: &[u8], _: usize, _: Option<u64>) -> Option<DecryptedPacket> {
        match *self {}
    }

    fn first_byte(&self, _: &[u8], _: usize) -> Option<u8> {
        match *self {}
    }
}

/// Connection that is being decrypted.
pub(super) struct DecryptedConnection {
    ends: ConnectionEnds,
    builder: Builder,
    start: Time,
    version: Option<Version>,
    /// Length of the connection ids that each end chose for itself.
    id_lengths: [usize; 2],
    initial: Option<[Protection; 2]>,
    handshake: [Option<Protection>; 2],
    application: [Option<Protection>; 2],
    /// Key phase of the application keys (RFC 9001, section 6).
    phases: [bool; 2],
    largest: [[Option<u64>; 3]; 2],
    /// Beginnings of the ClientHello and the ServerHello.
    hellos: [Hello; 2],
    has_secrets: bool,
    /// Packets of the handshake before the first one of the application. Nobody acknowledges the last of them.
    of_handshake: [usize; 2],
    /// Decrypted packets of the application, and those that could not be decrypted.
    decrypted_packets: u64,
    failed: u64,
    is_cut: bool,
    /// Times of the first packets of the client, then of the server, then of the client again.
    first: [Option<Time>; 3],
}

/// Beginning of a message of the handshake.
struct Hello {
    bytes: [u8; HELLO_BYTES],
    known_bytes: [bool; HELLO_BYTES],
}

impl Default for Hello {
    fn default() -> Self {
        Self { bytes: [0; HELLO_BYTES], known_bytes: [false; HELLO_BYTES] }
    }
}

impl Hello {
    fn add(&mut self, offset: u64, data: &[u8]) {
        let Ok(offset) = usize::try_from(offset) else { return };
        for (at, byte) in data.iter().enumerate() {
            let Some(place) = offset.checked_add(at).filter(|place| *place < HELLO_BYTES) else { return };
            (self.bytes[place], self.known_bytes[place]) = (*byte, true);
        }
    }

    /// Returns bytes, if they and all before are known.
    fn get(&self, at: usize, count: usize) -> Option<&[u8]> {
        let is_known = self.known_bytes.get(..at + count)?.iter().all(|known| *known);
        self.bytes.get(at..at + count).filter(|_| is_known)
    }

    /// Returns the random number of a ClientHello (RFC 8446, section 4.1.2).
    fn random(&self) -> Option<[u8; 32]> {
        (self.get(0, 1)? == [1]).then(|| self.get(6, 32)?.try_into().ok()).flatten()
    }

    /// Returns the cipher suite of a ServerHello (RFC 8446, section 4.1.3).
    fn suite(&self) -> Option<Suite> {
        if self.get(0, 1)? != [2] {
            return None;
        }
        let session = usize::from(self.get(38, 1)?[0]);
        let [high, low] = self.get(39 + session, 2)?.try_into().ok()?;
        Suite::from_number(u16::from_be_bytes([high, low]))
    }
}

/// Packet within a datagram.
struct Part<'a> {
    /// Packet-number space.
    space: usize,
    /// Bytes of the packet, and where its number begins.
    bytes: &'a [u8],
    at: usize,
}

impl DecryptedConnection {
    pub(super) fn new(ends: ConnectionEnds, start: Time, limits: &Limits) -> Self {
        Self {
            ends,
            builder: Builder::new(limits),
            start,
            version: None,
            id_lengths: [0; 2],
            initial: None,
            handshake: [None, None],
            application: [None, None],
            phases: [false; 2],
            largest: [[None; 3]; 2],
            hellos: [Hello::default(), Hello::default()],
            has_secrets: false,
            of_handshake: [0; 2],
            decrypted_packets: 0,
            failed: 0,
            is_cut: false,
            first: [None; 3],
        }
    }

    /// Adds a datagram of the client (0) or the server (1); returns the number of records kept.
    pub(super) fn datagram(
        &mut self,
        side: usize,
        time: Time,
        payload: &[u8],
        length: u32,
        is_ce: bool,
        keys: &KeyLog,
    ) -> usize {
        let turn = if side == 1 { 1 } else { 2 * usize::from(self.first[1].is_some()) };
        self.first[turn].get_or_insert(time);
        if payload.len() < length as usize {
            self.is_cut = true;
            return 0;
        }
        let before = self.builder.kept();
        let mut rest = payload;
        let mut is_first = true;
        while !rest.is_empty() {
            let Some((part, after)) = self.part(side, rest) else { break };
            rest = after;
            let Some(part) = part else { continue };
            // The size of the datagram counts once.
            let size = if is_first { length - rest.len() as u32 } else { part.bytes.len() as u32 };
            is_first = false;
            self.packet(side, time, &part, size, is_ce);
            if !self.has_secrets {
                self.secrets(keys);
            }
        }
        self.builder.kept() - before
    }

    /// Takes a packet off a datagram; `None` at its end. Packets without a number are skipped.
    fn part<'a>(&mut self, side: usize, datagram: &'a [u8]) -> Option<(Option<Part<'a>>, &'a [u8])> {
        let mut bytes = Bytes(datagram);
        let first = bytes.byte()?;
        if first & 0x40 == 0 {
            return None;
        }
        if first & 0x80 == 0 {
            let at = 1 + self.id_lengths[1 - side];
            return Some((Some(Part { space: 2, bytes: datagram, at }), &[]));
        }
        let version = Version::from_number(u32::from_be_bytes(bytes.take(4)?.try_into().ok()?))?;
        let length = bytes.byte()?;
        let destination = bytes.take(length.into())?;
        let length = bytes.byte()?;
        let source = bytes.take(length.into())?;
        self.id_lengths[side] = source.len();
        // Version 2 has other numbers for the types (RFC 9369, section 3.2).
        let kind = match version {
            Version::One => first >> 4 & 3,
            Version::Two => (first >> 4 & 3).wrapping_sub(1) & 3,
        };
        match kind {
            0 => {
                if side == 0 && (self.initial.is_none() || self.version != Some(version)) {
                    self.initial = Protection::initial(version, destination);
                    self.version = Some(version);
                }
                let token = bytes.integer()?;
                bytes.take(token)?;
            }
            // The client sends its next Initial packets to the id of a Retry, with keys from it.
            3 => {
                self.initial = Protection::initial(version, source);
                return None;
            }
            _ => {}
        }
        let length = bytes.integer()?;
        let at = datagram.len() - bytes.0.len();
        bytes.take(length)?;
        let (packet, rest) = (&datagram[..datagram.len() - bytes.0.len()], bytes.0);
        // There are no secrets of 0-RTT packets.
        let part = (kind != 1).then_some(Part { space: usize::from(kind == 2), bytes: packet, at });
        Some((part, rest))
    }

    /// Derives the keys when both messages of the handshake are known.
    fn secrets(&mut self, keys: &KeyLog) {
        let Some(version) = self.version else { return };
        let [client, server] = &self.hellos;
        let (Some(random), Some(suite)) = (client.random(), server.suite()) else { return };
        let Some(secrets) = keys.get(&random) else { return };
        let derive = |secrets: &[Option<Vec<u8>>; 2]| {
            [0, 1].map(|side| Protection::new(version, suite, secrets[side].as_deref()?))
        };
        self.handshake = derive(&secrets.handshake);
        self.application = derive(&secrets.application);
        self.has_secrets = true;
    }

    fn packet(&mut self, side: usize, time: Time, part: &Part<'_>, size: u32, is_ce: bool) {
        let Some(DecryptedPacket { number, payload, .. }) = self.open(side, part) else {
            self.failed += u64::from(part.space == 2);
            return;
        };
        let largest = &mut self.largest[side][part.space];
        *largest = (*largest).max(Some(number));
        let hello = &mut self.hellos[side];
        let is_initial = part.space == 0;
        let frames = frames::read_frames(&payload, |(offset, data)| {
            if is_initial {
                hello.add(offset, data);
            }
        });
        let Some(frames) = frames else {
            self.failed += 1;
            return;
        };
        self.decrypted_packets += u64::from(part.space == 2);
        if part.space < 2 && self.largest[side][2].is_none() && frames.elicits {
            self.of_handshake[side] += 1;
        }
        let data = Data {
            packet_type: Cow::Borrowed(["initial", "handshake", "1RTT"][part.space]),
            number: Some(number),
            size: Some(f64::from(size)),
            has_frames: true,
            frames,
            is_ce,
            ..Data::default()
        };
        let name = Cow::Borrowed(["packet_sent", "packet_received"][side]);
        let since = time.since(self.start).as_secs_f64();
        // Its time is valid, which is the only condition.
        let _ = self.builder.event(&Event { time: since * 1e3, name, data, ..Event::default() });
    }

    fn open(&mut self, side: usize, part: &Part<'_>) -> Option<DecryptedPacket> {
        let largest = self.largest[side][part.space];
        let keys = match part.space {
            0 => self.initial.as_ref().map(|keys| &keys[side]),
            1 => self.handshake[side].as_ref(),
            _ => self.application[side].as_ref(),
        }?;
        if part.space < 2 {
            return keys.open(part.bytes, part.at, largest);
        }
        let phase = keys.first_byte(part.bytes, part.at)? & 4 != 0;
        if phase == self.phases[side] {
            return keys.open(part.bytes, part.at, largest);
        }
        let next = keys.next()?;
        let opened = next.open(part.bytes, part.at, largest)?;
        self.application[side] = Some(next);
        self.phases[side] = phase;
        Some(opened)
    }

    /// Returns the connection, or why it could not be decrypted.
    pub(super) fn finish(self) -> Result<Connection, String> {
        if self.decrypted_packets == 0 {
            return Err(match () {
                () if self.is_cut => "its packets are cut: capture them whole (tcpdump -s 0)",
                () if self.hellos[0].random().is_none() => "the capture has no ClientHello",
                () if !self.has_secrets => "the key log has no secrets of this connection",
                () => "its packets do not fit the secrets",
            }
            .to_owned());
        }
        let [client, server, answer] = self.first;
        let times = client.zip(server).zip(answer);
        let point = times.map_or(Point::Between, |((client, server), answer)| {
            capture_point(server.since(client), answer.since(server))
        });
        // Between the ends at first: round trips of both directions are kept.
        let head = Head::at(json!({ "type": "network", "flow": "client" }));
        let mut builder = self.builder;
        builder.describe(&head);
        let trace = builder.finish(Format::Pcap);
        let mut connection = trace.connections.into_iter().next().ok_or("it has no packets")?;
        connection.shift(self.start.since(Time::ZERO));
        connection.point = point;
        label_connection(&mut connection, self.ends);
        for (direction, of_handshake) in connection.directions.iter_mut().zip(self.of_handshake) {
            match direction.view {
                View::Receiver => direction.round_trips.clear(),
                View::Sender | View::Between => find_losses(direction, of_handshake),
            }
        }
        if connection.point == Point::Between {
            connection
                .notes
                .push("Round-trip times are those seen from the place of the capture.".to_owned());
        }
        connection.notes.push(
            "Decrypted by the key log. Losses are those that acknowledgements show; windows and timers are in the logs of the ends alone.".to_owned(),
        );
        if self.failed > 0 {
            connection.notes.push(format!("{} packets could not be decrypted.", self.failed));
        }
        Ok(connection)
    }
}

/// Takes packets from index `first` on for lost that are not acknowledged when one sent three later is (RFC 9002, section 6.1.1).
fn find_losses(direction: &mut Direction, first: usize) {
    let packets = &mut direction.packets;
    let mut earliest = Time::MAX;
    for index in (first..packets.len()).rev() {
        if let Some(later) = packets.get(index + LOSS_THRESHOLD) {
            earliest = earliest.min(later.acked_at);
        }
        let packet = &mut packets[index];
        if !packet.is_acked() && !packet.is_lost() && earliest != Time::MAX {
            packet.lost_at = earliest.max(packet.time);
            direction.counts.lost += 1;
        }
    }
}

/// Packets after which one without an acknowledgement is lost.
const LOSS_THRESHOLD: usize = 3;
/// Bytes of the handshake's first messages that are needed: to the cipher suite after the longest session id.
const HELLO_BYTES: usize = 80;
