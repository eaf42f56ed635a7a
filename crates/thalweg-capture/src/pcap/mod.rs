//! Packet captures that the usual tools open.
//!
//! A capture is a file in the pcap format with nanosecond times and raw IPv4 packets. Simulated packets carry no
//! bytes, so the headers are made from what the packet means:
//!
//! - Flow number i (from 0) has its source at `10.0.0.0 + i + 1` and its sink at `10.128.0.0 + i + 1`; routers are
//!   `10.255.255.254`. Data from the source goes to port 5001. Answers come from port 5002, on a connection of
//!   their own. The source's port, from 10000, tells connections of a flow apart.
//! - The window transport becomes TCP. Byte 0 of the stream has sequence number 1; numbers wrap at 2^32.
//!   Selective acknowledgements are the option of RFC 2018, one that tells of marks which no
//!   earlier one told of has the flag ECE.
//!   The window field is the receiver's window in units of 2^14 bytes, the largest scale there is, rounded up and at most
//!   65535; where connections open with a handshake of TCP, their SYN says so.
//! - With `handshake = "tcp"` there are SYN, SYN-ACK and FIN, with the sequence numbers that these take. Packets that open and
//!   close QUIC are UDP without what they say.
//! - Datagrams become UDP, routers' messages become ICMP Source Quench (type 4) with the header of a packet of the
//!   flow, whose sequence number is that of the dropped data (all ones for a warning without a loss), and the
//!   granted rate in kbit/s in the word that ICMP leaves unused.
//! - Adaptive acknowledgement travels in UDP, with the bytes that it has when deployed
//!   ([`thalweg_proto::aack::wire`]).
//! - Two-level flow control travels in UDP to port 5003 (answers from 5004), with the bytes that it has when deployed
//!   ([`thalweg_proto::sstp::wire`]), its checksum included where the packet is stored whole.
//! - SSCOP travels in UDP, each PDU as it is on the wire, with a user field of zeros. Its control fields are at the end, so
//!   PDUs are stored as a whole. `tshark -d udp.port==5001,sscop` reads them.
//! - Checksums are right for a payload of zeros. Only headers are stored; the original length is the size that the
//!   packet had on the simulated wire, or that of its headers and payload where that is more.

mod packet;

use std::collections::BTreeMap;
use std::io::{self, Write};
use thalweg_proto::window;
use thalweg_sim::Pdu;
use thalweg_sim::trace::{PacketId, Record, Step, Tracer};

/// The place where packets are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// At the flows' sources: what they send when they send it, and what they receive.
    Source,
    /// At the flows' sinks.
    Sink,
    /// As they leave these transmitters, by their position in the simulation's table.
    Transmitters(Vec<u32>),
}

impl Point {
    /// True if a packet is captured at this point.
    fn sees(&self, record: &Record<'_>) -> bool {
        let from_source = record.packet.backward == record.reply;
        match (self, record.step) {
            (Self::Source, Step::Sent) | (Self::Sink, Step::Delivered) => from_source,
            (Self::Source, Step::Delivered) | (Self::Sink, Step::Sent) => !from_source,
            (Self::Transmitters(links), Step::Transmitted) => links.contains(&record.link),
            _ => false,
        }
    }
}

/// Writes a capture while a simulation runs. It holds one packet at a time, and a number for each connection that met marks.
#[derive(Debug)]
pub struct Capture<W: Write> {
    to: W,
    point: Point,
    snapshot: u32,
    packets: u64,
    /// Of connections, by number: the use of it, and how many segments with CE its acknowledgements have told of.
    told: BTreeMap<u32, (u16, u16)>,
    failed: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture at `point`. `to` should be buffered.
    pub fn new(mut to: W, point: Point) -> io::Result<Self> {
        let version = [2u16, 4].map(u16::to_le_bytes).concat();
        let words = [0, 0, SNAPSHOT_LIMIT, LINKTYPE_RAW].map(u32::to_le_bytes).concat();
        to.write_all(&NANOSECOND_MAGIC.to_le_bytes())?;
        to.write_all(&version)?;
        to.write_all(&words)?;
        Ok(Self { to, point, snapshot: 0, packets: 0, told: BTreeMap::new(), failed: None })
    }

    /// Stores payloads (zeros) up to so many bytes of each packet, headers included.
    #[must_use]
    pub fn snapshot(mut self, bytes: u32) -> Self {
        self.snapshot = bytes.min(SNAPSHOT_LIMIT);
        self
    }

    /// The number of packets written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends the capture, with the first error met.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.to),
        }
    }

    /// True for an acknowledgement that tells of marks which no earlier one told of.
    fn echoes(&mut self, record: &Record<'_>) -> bool {
        let Pdu::Window(window::Pdu::Ack(ack)) = record.pdu else { return false };
        let PacketId { connection, incarnation, .. } = record.packet;
        let told = self.told.get(&connection).filter(|(of, _)| *of == incarnation).map_or(0, |&(_, ce)| ce);
        let is_change = ack.newly_ce(told) > 0;
        if is_change {
            self.told.insert(connection, (incarnation, ack.ce));
        }
        is_change
    }
}

/// The bytes of a packet in a capture that stores payloads up to so many bytes of each.
fn captured(record: &Record<'_>, headers: &packet::Headers, snapshot: u32) -> Vec<u8> {
    let original = record.size.max(headers.total);
    let header_bytes = (headers.bytes().len() + headers.body.len()) as u32;
    let captured = snapshot.min(original).max(header_bytes);
    let nanos = record.time.as_picos() / 1000;
    let (second, nano) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let mut bytes = Vec::with_capacity(16 + captured as usize);
    for word in [second as u32, nano as u32, captured, original] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend_from_slice(headers.bytes());
    bytes.extend_from_slice(&headers.body);
    if let Some(at) = headers.trailer_at.filter(|at| at + 2 <= captured) {
        bytes.resize(16 + at as usize, 0);
        bytes.extend_from_slice(&headers.trailer);
    }
    bytes.resize(16 + captured as usize, 0);
    bytes
}

impl<W: Write + 'static> Tracer for Capture<W> {
    fn needs(&self, step: Step, link: u32) -> bool {
        match &self.point {
            Point::Source | Point::Sink => matches!(step, Step::Sent | Step::Delivered),
            Point::Transmitters(links) => step == Step::Transmitted && links.contains(&link),
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if self.failed.is_none() && self.point.sees(record) {
            let headers = packet::headers(record, self.echoes(record));
            match self.to.write_all(&captured(record, &headers, self.snapshot)) {
                Ok(()) => self.packets += 1,
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

/// Says: pcap, this machine's byte order, times in nanoseconds.
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
/// Packets begin with their IP header.
const LINKTYPE_RAW: u32 = 101;
/// The largest packet that readers accept.
const SNAPSHOT_LIMIT: u32 = 262_144;

#[cfg(test)]
mod tests;
