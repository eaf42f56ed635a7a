//! The boundary of a partition: ownership of all items, and messages to other partitions.

use crate::components::completion_times::MAX_TRANSFERS;
use crate::components::connection_ids::ConnectionIds;
use crate::components::packet_pool::{EndpointId, Flags, LargeContent, Packet, PacketPool};
use crate::event_queue::Origin;
use crate::run_result::{FlowCounts, Transfer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thalweg_proto::units::Time;

/// Owners of all items; the same in all partitions.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Partition of each transmitter.
    pub links: Vec<u16>,
    /// Partition of each flow's source with its application, and of its sink.
    pub sources: Vec<u16>,
    pub sinks: Vec<u16>,
    /// Partition of each endpoint of connections open from the start.
    pub ends: Vec<u16>,
    /// First connection of each flow with connections open from the start.
    pub numbers: Vec<u32>,
    /// Flows of these connections.
    pub flows: Vec<u32>,
    /// Ids of all other connections.
    pub opening: ConnectionIds,
}

impl Owners {
    /// Returns the flows with endpoints in different partitions.
    pub fn split_flows(&self) -> impl Iterator<Item = usize> + '_ {
        let ends = self.sources.iter().zip(&self.sinks).enumerate();
        ends.filter(|(_, (source, sink))| source != sink).map(|(flow, _)| flow)
    }

    /// Returns true if a connection of this flow is its second one, from sink to source.
    pub fn is_reply(&self, connection: u32, flow: u32) -> bool {
        self.numbers.get(flow as usize).is_some_and(|&first| first < connection)
    }

    /// Returns the partition of an endpoint.
    pub fn of_end(&self, id: EndpointId) -> u16 {
        if let Some(&part) = self.ends.get(id as usize) {
            return part;
        }
        let side = if id.is_multiple_of(2) { &self.sources } else { &self.sinks };
        let flow = self.opening.flow(id / 2).map_or(0, |(_, flow)| flow);
        side.get(flow as usize).copied().unwrap_or(0)
    }
}

/// Packets and notices of ended transfers for another partition, in sending order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    packets: Vec<Packet>,
    large: Vec<LargeContent>,
    /// Sequence numbers of the packets that have one.
    numbers: VecDeque<u64>,
    /// Ended transfers whose sinks are in the other partition.
    pub transfers: Vec<EndedTransfer>,
}

impl Outbox {
    /// Moves a packet from the packet table into the outbox. An out-of-order or tied packet has this sequence number.
    pub fn put(&mut self, packets: &mut PacketPool, packet: u32, number: u64) {
        let packet = packets.take(packet, &mut self.large);
        if is_numbered(&packet) {
            self.numbers.push_back(number);
        }
        self.packets.push(packet);
    }

    /// Moves all packets into a packet table; calls `each` with every packet and its sequence number.
    pub fn empty(&mut self, packets: &mut PacketPool, mut each: impl FnMut(&mut PacketPool, u32, u64)) {
        for packet in self.packets.drain(..) {
            let number = if is_numbered(&packet) { self.numbers.pop_front() } else { None };
            let packet = packets.admit(packet, &mut self.large);
            each(packets, packet, number.unwrap_or(0));
        }
        self.large.clear();
    }

    /// Returns the links of its packets.
    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().map(|packet| packet.next)
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.transfers.is_empty()
    }

    /// Returns the earliest arrival of its packets.
    pub fn earliest(&self) -> Option<Time> {
        self.packets.iter().map(|packet| packet.arrives_at).min()
    }
}

/// Returns true for a packet with a sequence number among simultaneous arrivals.
fn is_numbered(packet: &Packet) -> bool {
    packet.flags.has(Flags::OUT_OF_ORDER) || packet.flags.has(Flags::TIED)
}

/// Sort key of an item in the merge of partitions: time, origin and position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeKey {
    pub time: Time,
    pub origin: Origin,
    /// Counter of this partition's sorted items.
    pub place: u64,
}

/// One of many transfers, ended at its source. The sink has the arrival time of the last byte. It receives this notice
/// before a packet of the next transfer in the same slot can reach it, as packets take longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedTransfer {
    /// Id of its connection.
    pub connection: u32,
    pub moment: MergeKey,
    /// The transfer without its end time.
    pub transfer: Transfer,
}

/// Transfers that ended here with their sources in one other partition.
#[derive(Debug, Default)]
pub(crate) struct RemoteTransfers {
    pub transfers: Vec<(MergeKey, Transfer)>,
    /// Number of transfers only counted.
    pub left_out: u64,
}

impl RemoteTransfers {
    /// Adds a transfer that ended after all previous ones.
    pub fn push(&mut self, moment: MergeKey, transfer: Transfer) {
        if self.transfers.len() < MAX_TRANSFERS {
            self.transfers.push((moment, transfer));
        } else {
            self.left_out += 1;
        }
    }
}

/// A flow ended at its source: the sink, in another partition, has received everything, and has the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedFlow {
    pub connection: u32,
    pub moment: MergeKey,
    /// True for a listed transfer.
    pub is_listed: bool,
}

/// The boundary of one partition.
#[derive(Debug)]
pub(crate) struct Boundary {
    pub part: u16,
    pub owners: Arc<Owners>,
    /// Outbox for each partition.
    pub outboxes: Vec<Outbox>,
    /// Arrival of the last in-order packet of each transmitter.
    pub last: Vec<Time>,
    /// Number of in-order packets sent earlier that arrive at the same time, in a recorded run.
    pub tied_before: Vec<u32>,
    /// The same for packets in propagation here with earlier simultaneous ones, by link and arrival time.
    pub tied: BTreeMap<(u32, Time), VecDeque<u32>>,
    /// Dropped and lost packets here, per connection of any partition: by number for connections open from the start,
    /// if any, and separately for others.
    flow_counts: (Vec<FlowCounts>, BTreeMap<u32, FlowCounts>),
    /// Sort keys of ended transfers, if listed.
    pub transfers: Vec<MergeKey>,
    /// Number of sort keys issued.
    pub moments: u64,
    /// Transfers with sources in other partitions, by partition.
    pub far: Vec<RemoteTransfers>,
    /// Ended flows with their source here and their sink elsewhere.
    pub ended_flows: Vec<EndedFlow>,
    /// Number of events also counted by another partition: samples, ends of the warm-up and of the run, starts of flows
    /// with their source elsewhere.
    pub doubled: u64,
}

impl Boundary {
    /// Returns the initial boundary of `part` among `parts` partitions, in a run that is recorded or not.
    pub fn new(part: u16, parts: usize, owners: Arc<Owners>, is_recorded: bool) -> Self {
        Self {
            part,
            outboxes: (0..parts).map(|_| Outbox::default()).collect(),
            last: vec![Time::ZERO; owners.links.len()],
            tied_before: vec![0; if is_recorded { owners.links.len() } else { 0 }],
            tied: BTreeMap::new(),
            owners,
            flow_counts: (Vec::new(), BTreeMap::new()),
            transfers: Vec::new(),
            moments: 0,
            far: (0..parts).map(|_| RemoteTransfers::default()).collect(),
            ended_flows: Vec::new(),
            doubled: 0,
        }
    }

    /// Returns the packet counts of a connection here.
    pub fn flow_counts(&mut self, connection: u32) -> &mut FlowCounts {
        let (fixed, others) = &mut self.flow_counts;
        let number = connection as usize;
        if number >= self.owners.ends.len() / 2 {
            return others.entry(connection).or_default();
        }
        if number >= fixed.len() {
            fixed.resize(number + 1, FlowCounts::default());
        }
        &mut fixed[number]
    }

    /// Returns the packet counts of all connections.
    pub fn into_flow_counts(self) -> impl Iterator<Item = (u32, FlowCounts)> {
        let (fixed, others) = self.flow_counts;
        (0..).zip(fixed).chain(others)
    }

    /// Records how many earlier packets, possibly of other partitions, arrive at the same time as one in propagation
    /// here.
    pub fn tie(&mut self, link: u32, arrives: Time, number: u32) {
        self.tied.entry((link, arrives)).or_default().push_back(number);
    }

    /// Returns the next sort key, for the current time.
    pub fn moment(&mut self, time: Time, origin: Origin) -> MergeKey {
        self.moments += 1;
        MergeKey { time, origin, place: self.moments }
    }

    pub fn has_source(&self, flow: u32) -> bool {
        self.owners.sources.get(flow as usize) == Some(&self.part)
    }

    pub fn has_sink(&self, flow: u32) -> bool {
        self.owners.sinks.get(flow as usize) == Some(&self.part)
    }
}
