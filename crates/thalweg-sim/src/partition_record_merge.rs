//! Records of a partitioned run: each partition buffers its own, and they are merged in the order of a single thread.
//!
//! Each event has a position in the run that depends on the model alone ([`EventOrder`]), and the records of one event
//! come from one partition, in order. Hence each partition's list is sorted, and the lists are merged up to the time
//! that all partitions have reached.

use crate::buffered_trace_record::{BufferedRecord, RecordContent};
use crate::components::connection_ids::ConnectionIds;
use crate::components::packet_pool::copy_pdu;
use crate::event_queue::EventOrder;
use crate::packet_trace::{PacketId, Record, Step, Tracer};
use crate::packet_tracing::{DirectTracing, Tracing};
use crate::simulation_spec::Ties;
use core::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::units::Time;

/// The steps to record, one bit each.
#[derive(Debug, Default)]
struct WantedSteps {
    by_link: Vec<u16>,
    at_ends: u16,
}

impl WantedSteps {
    /// Returns the steps that a tracer needs, with `links` transmitters.
    fn for_tracer(tracer: &dyn Tracer, links: usize) -> Self {
        let at = |link: u32| {
            let needed = Step::ALL.into_iter().filter(|step| tracer.needs(*step, link));
            needed.fold(0, |all, step| all | 1 << step as u16)
        };
        Self { by_link: (0..links as u32).map(at).collect(), at_ends: at(u32::MAX) }
    }
}

/// The buffered records of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionRecordBuffer {
    buffered: Vec<BufferedRecord>,
    wanted_steps: Arc<WantedSteps>,
}

impl PartitionRecordBuffer {
    /// Returns a buffer for the records that a tracer needs, with `links` transmitters.
    pub fn for_tracer(tracer: &DirectTracing, links: usize) -> Self {
        Self {
            buffered: Vec::new(),
            wanted_steps: Arc::new(WantedSteps::for_tracer(tracer.0.as_ref(), links)),
        }
    }
}

impl Tracing for PartitionRecordBuffer {
    const ENABLED: bool = true;
    const BUFFERS: bool = true;

    #[inline]
    fn wants(&self, step: Step, link: u32) -> bool {
        let steps =
            self.wanted_steps.by_link.get(link as usize).copied().unwrap_or(self.wanted_steps.at_ends);
        steps & 1 << step as u16 != 0
    }

    fn record(&mut self, order: EventOrder, record: &Record<'_>) {
        let Record { step, link_direction: link, packet, ecn, size, pdu, .. } = *record;
        let pdu = copy_pdu(pdu);
        self.buffered
            .push(BufferedRecord { order, what: RecordContent::Step { step, ecn, link, packet, size, pdu } });
    }

    fn gate(&mut self, order: EventOrder, connection: u32, paused: bool) {
        self.buffered.push(BufferedRecord { order, what: RecordContent::Gate { connection, paused } });
    }

    fn on_warmup_end(&mut self, order: EventOrder) {
        self.buffered.push(BufferedRecord { order, what: RecordContent::Warm });
    }

    fn open(&mut self, order: EventOrder, connection: u32, flow: u32, reply: bool) {
        self.buffered.push(BufferedRecord { order, what: RecordContent::Opened { connection, flow, reply } });
    }

    fn buffered(&mut self) -> Option<&mut Vec<BufferedRecord>> {
        Some(&mut self.buffered)
    }
}

/// Delivered records of one partition that the tracer has not received yet.
#[derive(Debug, Default)]
struct Stream {
    lists: VecDeque<Vec<BufferedRecord>>,
    /// Position of the first record in the first list.
    first_record: usize,
}

impl Stream {
    fn first_record(&self) -> Option<&BufferedRecord> {
        self.lists.front()?.get(self.first_record)
    }

    /// Advances to the next record; returns a list that is used up.
    fn advance(&mut self) -> Option<Vec<BufferedRecord>> {
        self.first_record += 1;
        if self.lists.front().is_some_and(|list| self.first_record < list.len()) {
            return None;
        }
        self.first_record = 0;
        self.lists.pop_front()
    }
}

/// Merger of the records of all partitions, in the order of a single thread.
#[derive(Debug)]
pub(crate) struct Merge {
    tracer: DirectTracing,
    ties: Ties,
    streams: Vec<Stream>,
    connections: OpenedConnections,
}

/// The opened connections, at their positions in a single-threaded run.
#[derive(Debug)]
struct OpenedConnections {
    ids: ConnectionIds,
    /// Flow of each connection by position, and true if its data comes from the sink.
    flows: Vec<(u32, bool)>,
}

impl OpenedConnections {
    /// Opens the connection of this number.
    fn open(&mut self, number: u32, flow: u32, reply: bool) {
        if let (None, Some((opening_flow_index, _))) = (self.ids.index_of(number), self.ids.flow(number)) {
            let place = self.ids.fixed().max(self.flows.len() as u32);
            self.ids.add(opening_flow_index, place);
        }
        let place = self.position(number) as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, UNOPENED);
        }
        self.flows[place] = (flow, reply);
    }

    /// Returns the position of the connection of this number.
    fn position(&self, number: u32) -> u32 {
        self.ids.index_of(number).unwrap_or(number)
    }

    fn flow(&self, place: u32) -> (u32, bool) {
        self.flows.get(place as usize).copied().unwrap_or(UNOPENED)
    }
}

impl Merge {
    /// Returns an empty merger for `parts` partitions of a run with this tie-break and these connection ids.
    pub fn new(tracer: DirectTracing, ties: Ties, ids: ConnectionIds, parts: usize) -> Self {
        let connections = OpenedConnections { ids, flows: Vec::new() };
        Self { tracer, ties, streams: (0..parts).map(|_| Stream::default()).collect(), connections }
    }

    /// Adds a list of records of a partition, later than all its previous ones.
    pub fn add(&mut self, part: usize, list: Vec<BufferedRecord>) {
        if !list.is_empty() {
            self.streams[part].lists.push_back(list);
        }
    }

    /// Passes the records before a time to the tracer; all of them must have been delivered. Used-up lists go to
    /// `done`.
    pub fn deliver_before(&mut self, end: Time, mut done: impl FnMut(Vec<BufferedRecord>)) {
        while let Some((part, next)) = self.first_two(end) {
            while let Some(record) = self.streams[part].first_record() {
                let is_after = |next: &EventOrder| record.order.compare(next, self.ties) == Ordering::Greater;
                if record.order.time >= end || next.as_ref().is_some_and(is_after) {
                    break;
                }
                deliver_record(&mut self.tracer, &mut self.connections, record);
                self.streams[part].advance().into_iter().for_each(&mut done);
            }
        }
    }

    /// Returns the partition with the first record before a time, and the position of the first record of any other
    /// partition.
    fn first_two(&self, end: Time) -> Option<(usize, Option<EventOrder>)> {
        let mut first: Option<(usize, EventOrder)> = None;
        let mut second: Option<EventOrder> = None;
        let heads = self.streams.iter().enumerate();
        for (part, head) in heads.filter_map(|(part, stream)| Some((part, stream.first_record()?.order))) {
            let is_before = |other: &EventOrder| head.compare(other, self.ties) == Ordering::Less;
            if first.as_ref().is_none_or(|(_, first)| is_before(first)) {
                second = first.map(|(_, order)| order);
                first = Some((part, head));
            } else if second.as_ref().is_none_or(is_before) {
                second = Some(head);
            }
        }
        first.filter(|(_, order)| order.time < end).map(|(part, _)| (part, second))
    }

    /// Returns the tracer at the end.
    pub fn finish(self) -> DirectTracing {
        self.tracer
    }
}

/// Passes one record to a tracer.
fn deliver_record(tracer: &mut DirectTracing, connections: &mut OpenedConnections, record: &BufferedRecord) {
    let BufferedRecord { order, what } = record;
    match what {
        RecordContent::Step { step, ecn, link, packet, size, pdu } => {
            let connection = connections.position(packet.connection);
            let (flow, reply) = connections.flow(connection);
            tracer.record(
                *order,
                &Record {
                    time: order.time,
                    step: *step,
                    link_direction: *link,
                    packet: PacketId { connection, ..*packet },
                    flow,
                    reply,
                    ecn: *ecn,
                    size: *size,
                    pdu,
                },
            );
        }
        RecordContent::Opened { connection, flow, reply } => connections.open(*connection, *flow, *reply),
        RecordContent::Gate { connection, paused } => {
            tracer.gate(*order, connections.position(*connection), *paused);
        }
        RecordContent::Warm => tracer.on_warmup_end(*order),
    }
}

/// An unopened connection.
const UNOPENED: (u32, bool) = (u32::MAX, false);
