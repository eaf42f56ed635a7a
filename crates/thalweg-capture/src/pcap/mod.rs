//! Packet captures for standard tools.
//!
//! A capture is a pcap file with nanosecond timestamps and raw IPv4 packets. Simulated packets carry no bytes; the
//! headers are synthesised from their meaning:
//!
//! - Flow i (from 0) has its source at `10.0.0.0 + i + 1` and its sink at `10.128.0.0 + i + 1`; routers are
//!   `10.255.255.254`. Data from the source goes to port 5001. Replies come from port 5002, on a separate connection.
//!   The source port, from 10000, distinguishes the connections of a flow.
//! - The window transport becomes TCP. Byte 0 of the stream has sequence number 1; numbers wrap at 2^32. Selective
//!   acknowledgements are the option of RFC 2018. An acknowledgement that reports new CE marks has the ECE flag. The
//!   window field is the receive window in units of 2^14 bytes, the largest scale allowed, rounded up and at most
//!   65535; with a TCP handshake, the SYN announces the scale.
//! - With `handshake = "tcp"` there are SYN, SYN-ACK and FIN, with the sequence numbers that these take. QUIC handshake
//!   and close packets are UDP without contents.
//! - Datagrams become UDP. Router feedback becomes ICMP Source Quench (type 4) with the header of a packet of the flow,
//!   whose sequence number is that of the dropped data (all ones for a warning without a loss), and the granted rate in
//!   kbit/s in the unused word of the ICMP header.
//! - Adaptive acknowledgement travels in UDP, with its deployed wire format ([`thalweg_proto::adaptive_ack::wire`]).
//! - Two-level flow control travels in UDP to port 5003 (replies from 5004), with its deployed wire format
//!   ([`thalweg_proto::sstp::wire`]), including its checksum where the packet is stored whole.
//! - SSCOP travels in UDP, each PDU as it is on the wire, with a user field of zeros. Its control fields are at the
//!   end, so PDUs are stored as a whole. `tshark -d udp.port==5001,sscop` reads them.
//! - A TCP header has no-operations up to the packet's size on the simulated wire, if that leaves room for options: a segment of 1448 B in a packet
//!   of 1500 B has 12 bytes of them, where a real one has a timestamp.
//! - Checksums are valid for a payload of zeros. Only headers are stored. The original length is the packet's size on
//!   the simulated wire, or that of its headers and payload if larger.

mod synthesised_headers;

use std::collections::BTreeMap;
use std::io::{self, Write};
use thalweg_proto::window;
use thalweg_sim::Pdu;
use thalweg_sim::packet_trace::{PacketId, Record, Step, Tracer};

/// Capture point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Sources of the flows: packets when sent, and packets received.
    Source,
    /// Sinks of the flows.
    Sink,
    /// Packets leaving these transmitters, by index in the simulation's table.
    Transmitters(Vec<u32>),
}

impl Point {
    /// Returns true if a packet is captured at this point.
    fn sees(&self, record: &Record<'_>) -> bool {
        let from_source = record.packet.backward == record.reply;
        match (self, record.step) {
            (Self::Source, Step::Sent) | (Self::Sink, Step::Delivered) => from_source,
            (Self::Source, Step::Delivered) | (Self::Sink, Step::Sent) => !from_source,
            (Self::Transmitters(links), Step::Transmitted) => links.contains(&record.link_direction),
            _ => false,
        }
    }
}

/// Capture writer for a running simulation. Holds one packet at a time, and a counter per connection with marks.
#[derive(Debug)]
pub struct Capture<W: Write> {
    to: W,
    point: Point,
    snapshot: u32,
    packets: u64,
    /// By connection number: its incarnation, and the number of CE-marked segments that its acknowledgements have
    /// reported.
    reported_ce: BTreeMap<u32, (u16, u16)>,
    failed: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Starts a capture at `point`. `to` should be buffered.
    pub fn new(mut to: W, point: Point) -> io::Result<Self> {
        let version = [2u16, 4].map(u16::to_le_bytes).concat();
        let words = [0, 0, SNAPSHOT_LIMIT, LINKTYPE_RAW].map(u32::to_le_bytes).concat();
        to.write_all(&NANOSECOND_MAGIC.to_le_bytes())?;
        to.write_all(&version)?;
        to.write_all(&words)?;
        Ok(Self { to, point, snapshot: 0, packets: 0, reported_ce: BTreeMap::new(), failed: None })
    }

    /// Stores payloads (zeros) up to `bytes` bytes per packet, headers included.
    #[must_use]
    pub fn snapshot(mut self, bytes: u32) -> Self {
        self.snapshot = bytes.min(SNAPSHOT_LIMIT);
        self
    }

    /// Returns the number of packets written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends the capture; returns the first error met.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.to),
        }
    }

    /// Returns true for an acknowledgement that reports new CE marks.
    fn echoes(&mut self, record: &Record<'_>) -> bool {
        let Pdu::Window(window::Pdu::Ack(ack)) = record.pdu else { return false };
        let PacketId { connection, incarnation, .. } = record.packet;
        let reported_ce =
            self.reported_ce.get(&connection).filter(|(of, _)| *of == incarnation).map_or(0, |&(_, ce)| ce);
        let is_change = ack.newly_ce(reported_ce) > 0;
        if is_change {
            self.reported_ce.insert(connection, (incarnation, ack.ce));
        }
        is_change
    }
}

/// Returns the capture record of a packet, with payload up to `snapshot` bytes.
fn capture_record(record: &Record<'_>, headers: &synthesised_headers::Headers, snapshot: u32) -> Vec<u8> {
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
    fn needs(&self, step: Step, link_direction: u32) -> bool {
        match &self.point {
            Point::Source | Point::Sink => matches!(step, Step::Sent | Step::Delivered),
            Point::Transmitters(links) => step == Step::Transmitted && links.contains(&link_direction),
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if self.failed.is_none() && self.point.sees(record) {
            let headers = synthesised_headers::packet_headers(record, self.echoes(record));
            match self.to.write_all(&capture_record(record, &headers, self.snapshot)) {
                Ok(()) => self.packets += 1,
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

/// Magic number: pcap in little-endian byte order with nanosecond timestamps.
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
/// Link type: packets start with their IP header.
const LINKTYPE_RAW: u32 = 101;
/// Maximum packet size that readers accept, in bytes.
const SNAPSHOT_LIMIT: u32 = 262_144;

#[cfg(test)]
mod tests;
