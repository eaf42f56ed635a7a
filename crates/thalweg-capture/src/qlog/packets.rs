//! The packets of senders, as they send and receive them.

use core::ops::Range;
use std::collections::BTreeMap;
use thalweg_proto::numbers::{merged, take_within};
use thalweg_proto::payload::Payload as _;
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::units::Time;
use thalweg_proto::window;
use thalweg_sim::Pdu;
use thalweg_sim::trace::{Record, Step, Tracer};

/// The kind of an event of a packet, as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Sent,
    Received,
    /// The sender counts it as lost: it sends the same data again.
    Lost,
}

/// The content of a packet, in the terms of QUIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A piece of the stream.
    Stream { offset: u64, length: u32 },
    /// A message.
    Datagram { length: u32 },
    /// Data packets that are acknowledged for the first time, as ranges of their numbers, ends included.
    Ack { ranges: Box<[(u64, u64)]> },
    /// Something that QUIC has not; its code in its own protocol.
    Other { code: u8 },
}

/// An event of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub time: Time,
    pub act: Act,
    /// Counts the packets of this end; routers' messages have none.
    pub number: Option<u64>,
    /// On the wire, in bytes.
    pub size: u32,
    pub frame: Frame,
}

/// The events of the sender of a flow, or of its answers.
#[derive(Clone, Debug, Default)]
struct Sender {
    events: Vec<Event>,
    /// The next numbers of the packets of sender and receiver.
    next: [u64; 2],
}

/// A connection in use.
#[derive(Clone, Debug, Default)]
struct Connection {
    incarnation: u16,
    /// The numbers of packets by direction (backward is true) and serial.
    numbers: BTreeMap<(bool, u32), u64>,
    /// A number of data that was used lately.
    near: u64,
    /// Data that is not acknowledged, by its first number.
    open: BTreeMap<u64, Open>,
}

#[derive(Clone, Debug)]
struct Open {
    end: u64,
    /// The packets that carried it, in order.
    copies: Vec<Copy>,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    number: u64,
    size: u32,
    has_arrived: bool,
}

/// Keeps the packets that senders send and receive, for [`write_qlog`](super::write_qlog).
///
/// Packets are numbered like QUIC's, each one once, in the order in which the sender of the flow sends them. What an
/// acknowledgement acknowledges is told by its own numbers; of several packets with the same data those are meant that
/// have arrived. A packet counts as lost when the sender sends its data again.
#[derive(Clone, Debug)]
pub struct QlogPackets {
    most: usize,
    kept: usize,
    /// The time from which there was no more room; `None` while there is some.
    until: Option<Time>,
    /// By flow, and whether it is of the answers.
    senders: BTreeMap<(u32, bool), Sender>,
    connections: BTreeMap<u32, Connection>,
}

impl QlogPackets {
    /// Keeps at most so many events.
    pub fn new(most: usize) -> Self {
        Self { most, kept: 0, until: None, senders: BTreeMap::new(), connections: BTreeMap::new() }
    }

    /// Up to when there are events, if there was no room for all.
    pub fn until(&self) -> Option<Time> {
        self.until
    }

    /// The events of a flow's sender, or of the sender of its answers.
    pub(super) fn of(&self, flow: u32, answers: bool) -> &[Event] {
        self.senders.get(&(flow, answers)).map_or(&[], |sender| &sender.events)
    }

    /// Flows with events, and whether these are of the answers.
    pub(super) fn senders(&self) -> impl Iterator<Item = (u32, bool)> {
        self.senders.keys().copied()
    }

    fn stop(&mut self, time: Time) {
        self.until = Some(time);
        self.connections.clear();
    }

    fn sent(&mut self, record: &Record<'_>) {
        let connection = connection(&mut self.connections, record);
        let sender = self.senders.entry((record.flow, record.reply)).or_default();
        let backward = record.packet.backward;
        let next = &mut sender.next[usize::from(backward)];
        let number = *next;
        *next += 1;
        connection.numbers.insert((backward, record.packet.serial), number);
        if backward {
            return;
        }
        let event = |act, number, size| {
            let frame = frame(record.pdu);
            Event { time: record.time, act, number: Some(number), size, frame }
        };
        let size = record.size;
        if let Some(Range { start, end }) = record.pdu.data(connection.near) {
            connection.near = start;
            let open = connection.open.entry(start).or_insert(Open { end, copies: Vec::new() });
            if let Some(before) = open.copies.last() {
                sender.events.push(event(Act::Lost, before.number, before.size));
                self.kept += 1;
            }
            open.copies.push(Copy { number, size, has_arrived: false });
        }
        sender.events.push(event(Act::Sent, number, size));
        self.kept += 1;
    }

    /// A data packet reached the receiver.
    fn arrived(&mut self, record: &Record<'_>) {
        let connection = connection(&mut self.connections, record);
        let Some(&number) = connection.numbers.get(&(false, record.packet.serial)) else { return };
        let Some(data) = record.pdu.data(connection.near) else { return };
        let copies = connection.open.get_mut(&data.start).map(|open| open.copies.iter_mut());
        for copy in copies.into_iter().flatten().filter(|copy| copy.number == number) {
            copy.has_arrived = true;
        }
    }

    /// The sender got a packet.
    fn received(&mut self, record: &Record<'_>) {
        let connection = connection(&mut self.connections, record);
        let number = connection.numbers.get(&(true, record.packet.serial)).copied();
        let number = number.filter(|_| record.packet.router.is_none());
        let frame = match record.pdu.acknowledged(connection.near) {
            Some(ranges) => Frame::Ack { ranges: connection.close(&ranges) },
            None => frame(record.pdu),
        };
        let event = Event { time: record.time, act: Act::Received, number, size: record.size, frame };
        self.senders.entry((record.flow, record.reply)).or_default().events.push(event);
        self.kept += 1;
    }
}

impl Connection {
    /// Takes away what `ranges` acknowledge; gives the numbers of the packets that brought it.
    fn close(&mut self, ranges: &[Range<u64>]) -> Box<[(u64, u64)]> {
        let closed = take_within(&mut self.open, ranges, |open| open.end);
        let copies = closed.into_iter().flat_map(|open| open.copies);
        merged(copies.filter(|copy| copy.has_arrived).map(|copy| copy.number).collect())
    }
}

/// The connection of a record's packet, which begins anew when its number is used for another one.
fn connection<'a>(all: &'a mut BTreeMap<u32, Connection>, record: &Record<'_>) -> &'a mut Connection {
    let connection = all.entry(record.packet.connection).or_default();
    if connection.incarnation != record.packet.incarnation {
        *connection = Connection { incarnation: record.packet.incarnation, ..Connection::default() };
    }
    connection
}

/// The content of a packet that is not an acknowledgement.
fn frame(pdu: &Pdu) -> Frame {
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
        if self.until.is_some() {
            return;
        }
        // One more may be needed for a loss that shows together with what is sent.
        if self.kept + 2 > self.most {
            return self.stop(record.time);
        }
        match (record.step, record.packet.backward, record.packet.router.is_some()) {
            (Step::Sent, _, false) => self.sent(record),
            (Step::Delivered, false, _) => self.arrived(record),
            (Step::Delivered, true, _) => self.received(record),
            _ => {}
        }
    }
}
