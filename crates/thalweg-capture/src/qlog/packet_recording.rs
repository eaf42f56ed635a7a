//! Recording of the packets that senders send and receive.

use core::ops::Range;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use thalweg_proto::data_unit_numbers::{merge_numbers, take_within};
use thalweg_proto::payload::Payload as _;
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::units::Time;
use thalweg_proto::window;
use thalweg_sim::Pdu;
use thalweg_sim::packet_trace::{PacketId, Record, Step, Tracer};

/// Kind of a packet event, from its sender's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Sent,
    Received,
    /// Lost: the sender retransmits the data.
    Lost,
}

/// Packet contents in QUIC terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Stream data.
    Stream { offset: u64, length: u32 },
    /// A message.
    Datagram { length: u32 },
    /// Newly acknowledged data packets, as inclusive ranges of their numbers.
    Ack { ranges: Box<[(u64, u64)]> },
    /// Contents without a QUIC counterpart; the code is that of the packet's own protocol.
    Other { code: u8 },
}

/// Event of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub time: Time,
    pub kind: EventKind,
    /// Packet number at this end; `None` for router feedback.
    pub number: Option<u64>,
    /// Size on the wire, in bytes.
    pub size: u32,
    pub frame: Frame,
}

/// Connection in use.
#[derive(Clone, Debug, Default)]
struct Connection {
    incarnation: u16,
    /// Its flow, and true if it is one of replies.
    sender: (u32, bool),
    /// Number among the connections of this sender, from 0.
    place: usize,
    /// Next packet numbers of sender and receiver.
    next: [u64; 2],
    /// Packet numbers by direction (backward is true) and serial number.
    numbers: BTreeMap<(bool, u32), u64>,
    /// Recently used data number.
    number_hint: u64,
    /// Unacknowledged data, by first number.
    unacked: BTreeMap<u64, UnackedData>,
}

#[derive(Clone, Debug)]
struct UnackedData {
    end: u64,
    /// Packets that carried the data, in order.
    copies: Vec<Transmission>,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    number: u64,
    size: u32,
    has_arrived: bool,
}

/// Recorder of sent and received packets, for [`write_qlog`](super::write_qlog).
///
/// Packets are numbered as in QUIC, each once, in the sending order of their connection. Acknowledgements refer to data by
/// the protocol's own numbers. If several packets carried the same data, those that arrived count as acknowledged. A packet
/// counts as lost once the sender retransmits its data.
#[derive(Clone, Debug)]
pub struct QlogPackets {
    max: usize,
    event_count: usize,
    /// End of the recording, at the limit; `None` while it continues.
    truncated_at: Option<Time>,
    /// Events of the sender of each connection, by flow, and true for that of its replies.
    senders: BTreeMap<(u32, bool), Vec<Vec<Event>>>,
    /// The latest connections, by number.
    connections: BTreeMap<u32, Connection>,
}

impl QlogPackets {
    /// Creates a recorder of at most `max` events.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            event_count: 0,
            truncated_at: None,
            senders: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Returns the time of the event that exceeded the limit; `None` if recording is complete.
    pub fn truncated_at(&self) -> Option<Time> {
        self.truncated_at
    }

    /// Returns the events of a flow's sender, or of the sender of its replies, by connection in the order of their start.
    pub(super) fn events_of(&self, flow: u32, is_reply: bool) -> &[Vec<Event>] {
        self.senders.get(&(flow, is_reply)).map_or(&[], Vec::as_slice)
    }

    /// Returns the flows with events; the flag is true for reply flows.
    pub(super) fn senders(&self) -> impl Iterator<Item = (u32, bool)> {
        self.senders.keys().copied()
    }

    fn stop(&mut self, time: Time) {
        self.truncated_at = Some(time);
        self.connections.clear();
    }

    fn record_sent(&mut self, record: &Record<'_>) {
        let Some((connection, events)) = self.connection_of(record) else { return };
        let backward = record.packet.backward;
        let next = &mut connection.next[usize::from(backward)];
        let number = *next;
        *next += 1;
        connection.numbers.insert((backward, record.packet.serial), number);
        if backward {
            return;
        }
        let before = events.len();
        let event = |kind, number, size| {
            let frame = non_ack_frame(record.pdu);
            Event { time: record.time, kind, number: Some(number), size, frame }
        };
        let size = record.size;
        if let Some(Range { start, end }) = record.pdu.data(connection.number_hint) {
            connection.number_hint = start;
            let unacked = connection.unacked.entry(start).or_insert(UnackedData { end, copies: Vec::new() });
            if let Some(before) = unacked.copies.last() {
                events.push(event(EventKind::Lost, before.number, before.size));
            }
            unacked.copies.push(Transmission { number, size, has_arrived: false });
        }
        events.push(event(EventKind::Sent, number, size));
        self.event_count += events.len() - before;
    }

    /// Records that a data packet reached the receiver.
    fn record_arrival(&mut self, record: &Record<'_>) {
        let Some((connection, _)) = self.connection_of(record) else { return };
        let Some(&number) = connection.numbers.get(&(false, record.packet.serial)) else { return };
        let Some(data) = record.pdu.data(connection.number_hint) else { return };
        let copies = connection.unacked.get_mut(&data.start).map(|unacked| unacked.copies.iter_mut());
        for copy in copies.into_iter().flatten().filter(|copy| copy.number == number) {
            copy.has_arrived = true;
        }
    }

    /// Records a packet that the sender received.
    fn record_received(&mut self, record: &Record<'_>) {
        let Some((connection, events)) = self.connection_of(record) else { return };
        let number = connection.numbers.get(&(true, record.packet.serial)).copied();
        let number = number.filter(|_| record.packet.router.is_none());
        let frame = match record.pdu.acknowledged(connection.number_hint) {
            Some(ranges) => Frame::Ack { ranges: connection.acknowledge(&ranges) },
            None => non_ack_frame(record.pdu),
        };
        events.push(Event { time: record.time, kind: EventKind::Received, number, size: record.size, frame });
        self.event_count += 1;
    }

    /// Returns the connection of a record's packet, and the events of its sender. Begins a connection if the number is new, or
    /// reused. `None` for a late packet of a connection that has ended and whose number is reused.
    fn connection_of(&mut self, record: &Record<'_>) -> Option<(&mut Connection, &mut Vec<Event>)> {
        let PacketId { connection, incarnation, .. } = record.packet;
        let sender = (record.flow, record.reply);
        let mut begin = || {
            let of_sender = self.senders.entry(sender).or_default();
            of_sender.push(Vec::new());
            Connection { incarnation, sender, place: of_sender.len() - 1, ..Connection::default() }
        };
        let connection = match self.connections.entry(connection) {
            Entry::Vacant(vacant) => vacant.insert(begin()),
            Entry::Occupied(of) => {
                let connection = of.into_mut();
                // Incarnations wrap around.
                match incarnation.wrapping_sub(connection.incarnation) as i16 {
                    0 => {}
                    1.. => *connection = begin(),
                    ..0 => return None,
                }
                connection
            }
        };
        let events = self.senders.get_mut(&connection.sender)?.get_mut(connection.place)?;
        Some((connection, events))
    }
}

impl Connection {
    /// Removes data acknowledged by `ranges`; returns the numbers of the packets that delivered it.
    fn acknowledge(&mut self, ranges: &[Range<u64>]) -> Box<[(u64, u64)]> {
        let closed = take_within(&mut self.unacked, ranges, |unacked| unacked.end);
        let copies = closed.into_iter().flat_map(|unacked| unacked.copies);
        merge_numbers(copies.filter(|copy| copy.has_arrived).map(|copy| copy.number).collect())
    }
}

/// Returns the contents of a packet other than an acknowledgement.
fn non_ack_frame(pdu: &Pdu) -> Frame {
    match pdu {
        Pdu::Window(window::Pdu::Segment(segment)) => {
            Frame::Stream { offset: segment.sequence, length: segment.payload.len() }
        }
        pdu => match pdu.payload_len() {
            Some(length) => Frame::Datagram { length },
            None => Frame::Other { code: pdu.code() },
        },
    }
}

impl Tracer for QlogPackets {
    fn record(&mut self, record: &Record<'_>) {
        if self.truncated_at.is_some() {
            return;
        }
        // A loss inferred from this packet needs one more entry.
        if self.event_count + 2 > self.max {
            return self.stop(record.time);
        }
        match (record.step, record.packet.backward, record.packet.router.is_some()) {
            (Step::Sent, _, false) => self.record_sent(record),
            (Step::Delivered, false, _) => self.record_arrival(record),
            (Step::Delivered, true, _) => self.record_received(record),
            _ => {}
        }
    }
}
