//! The border of a part of a run that several threads share: who has what, and what is handed over.

use crate::parts::numbers::Numbers;
use crate::parts::packet::{EndpointId, Flags, Large, Packet, Packets};
use crate::parts::transfer::MOST_TRANSFERS;
use crate::result::{FlowCounts, Transfer};
use crate::wheel::Origin;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thalweg_proto::units::Time;

/// The parts that have things, the same for all parts.
#[derive(Debug)]
pub(crate) struct Owners {
    /// By transmitter.
    pub links: Vec<u16>,
    /// By flow: those of its source, where its application is, and of its sink.
    pub sources: Vec<u16>,
    pub sinks: Vec<u16>,
    /// By endpoint, of connections that flows have from their start.
    pub ends: Vec<u16>,
    /// The first connection of each flow that has one from its start.
    pub numbers: Vec<u32>,
    /// The flows of these connections.
    pub flows: Vec<u32>,
    /// The numbers of all others.
    pub opening: Numbers,
}

impl Owners {
    /// The flows whose ends are in different parts.
    pub fn apart(&self) -> impl Iterator<Item = usize> + '_ {
        let ends = self.sources.iter().zip(&self.sinks).enumerate();
        ends.filter(|(_, (source, sink))| source != sink).map(|(flow, _)| flow)
    }

    /// True if a connection of this flow is its second one, from its sink to its source.
    pub fn is_reply(&self, connection: u32, flow: u32) -> bool {
        self.numbers.get(flow as usize).is_some_and(|&first| first < connection)
    }

    /// The part that has an endpoint.
    pub fn of_end(&self, id: EndpointId) -> u16 {
        if let Some(&part) = self.ends.get(id as usize) {
            return part;
        }
        let side = if id.is_multiple_of(2) { &self.sources } else { &self.sinks };
        let flow = self.opening.flow(id / 2).map_or(0, |(_, flow)| flow);
        side.get(flow as usize).copied().unwrap_or(0)
    }
}

/// Packets for another part and the ends of transfers, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    packets: Vec<Packet>,
    large: Vec<Large>,
    /// The numbers of those packets that have one.
    numbers: VecDeque<u64>,
    /// Transfers that have ended, of which the other part has the sinks.
    pub transfers: Vec<Told>,
}

impl Outbox {
    /// Puts a packet in, which is then no longer among the others. One that is off its wire's order, or tied, has this number.
    pub fn put(&mut self, packets: &mut Packets, packet: u32, number: u64) {
        let packet = packets.take(packet, &mut self.large);
        if is_numbered(&packet) {
            self.numbers.push_back(number);
        }
        self.packets.push(packet);
    }

    /// Takes all packets out and puts them among others: `each` is told of them, and of their numbers.
    pub fn empty(&mut self, packets: &mut Packets, mut each: impl FnMut(&mut Packets, u32, u64)) {
        for packet in self.packets.drain(..) {
            let number = if is_numbered(&packet) { self.numbers.pop_front() } else { None };
            let packet = packets.admit(packet, &mut self.large);
            each(packets, packet, number.unwrap_or(0));
        }
        self.large.clear();
    }

    /// The links that its packets are on.
    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().map(|packet| packet.next)
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.transfers.is_empty()
    }

    /// The earliest time at which one of its packets arrives.
    pub fn earliest(&self) -> Option<Time> {
        self.packets.iter().map(|packet| packet.arrives_at).min()
    }
}

/// True for a packet that has a number among those that arrive with it.
fn is_numbered(packet: &Packet) -> bool {
    packet.flags.has(Flags::STRAY) || packet.flags.has(Flags::TIED)
}

/// The moment of something that is put in order among those of other parts: its time, and the reason for which it happened then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub time: Time,
    pub origin: Origin,
    /// Counts what this part has put in order.
    pub place: u64,
}

/// One of many transfers that has ended, as its source knows it. When the last byte came is known where the sink is, which is told
/// of it before the next transfer in the place of this one can reach it: a packet takes longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// The number of its connection.
    pub connection: u32,
    pub moment: Moment,
    /// The transfer without its end.
    pub transfer: Transfer,
}

/// The transfers that ended here and whose sources are in one other part.
#[derive(Debug, Default)]
pub(crate) struct Far {
    pub kept: Vec<(Moment, Transfer)>,
    /// The number of transfers that were only counted.
    pub left_out: u64,
}

impl Far {
    /// Adds one, which is later than those before.
    pub fn push(&mut self, moment: Moment, transfer: Transfer) {
        if self.kept.len() < MOST_TRANSFERS {
            self.kept.push((moment, transfer));
        } else {
            self.left_out += 1;
        }
    }
}

/// The end of a flow, as its source knows it: the sink, which is another part's, has everything, and knows since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub connection: u32,
    pub moment: Moment,
    /// It is a transfer that is listed.
    pub is_listed: bool,
}

/// The border of one part.
#[derive(Debug)]
pub(crate) struct Border {
    pub part: u16,
    pub owners: Arc<Owners>,
    /// By part.
    pub outboxes: Vec<Outbox>,
    /// The time at which the last packet in order arrives from each transmitter.
    pub last: Vec<Time>,
    /// The packets in order that arrive with it and were sent before it, where a run is recorded.
    pub before: Vec<u32>,
    /// The same for packets on wires here with any before them, by link and time of arrival.
    pub tied: BTreeMap<(u32, Time), VecDeque<u32>>,
    /// The packets of connections, of any part, that were dropped or lost here: of those from the start by number, as far as
    /// there are some, and of others.
    fates: (Vec<FlowCounts>, BTreeMap<u32, FlowCounts>),
    /// The moments of transfers that have ended, as far as these are listed.
    pub transfers: Vec<Moment>,
    /// So many moments were taken here.
    pub moments: u64,
    /// Transfers of which others have the sources, by part.
    pub far: Vec<Far>,
    /// The flows whose sources are here and have ended, and whose sinks are not.
    pub ended: Vec<Ended>,
    /// Events here that another part counts: samples, the ends of the warm-up and of the run, starts of flows with their source elsewhere.
    pub doubled: u64,
}

impl Border {
    /// That of `part`, of so many, when nothing has happened, in a run that is recorded or not.
    pub fn new(part: u16, parts: usize, owners: Arc<Owners>, is_recorded: bool) -> Self {
        Self {
            part,
            outboxes: (0..parts).map(|_| Outbox::default()).collect(),
            last: vec![Time::ZERO; owners.links.len()],
            before: vec![0; if is_recorded { owners.links.len() } else { 0 }],
            tied: BTreeMap::new(),
            owners,
            fates: (Vec::new(), BTreeMap::new()),
            transfers: Vec::new(),
            moments: 0,
            far: (0..parts).map(|_| Far::default()).collect(),
            ended: Vec::new(),
            doubled: 0,
        }
    }

    /// The fates here of a connection's packets.
    pub fn fates(&mut self, connection: u32) -> &mut FlowCounts {
        let (fixed, others) = &mut self.fates;
        let number = connection as usize;
        if number >= self.owners.ends.len() / 2 {
            return others.entry(connection).or_default();
        }
        if number >= fixed.len() {
            fixed.resize(number + 1, FlowCounts::default());
        }
        &mut fixed[number]
    }

    /// The same of all connections.
    pub fn into_fates(self) -> impl Iterator<Item = (u32, FlowCounts)> {
        let (fixed, others) = self.fates;
        (0..).zip(fixed).chain(others)
    }

    /// A packet is on a wire behind so many others that arrive with it, of which other parts may have some.
    pub fn tie(&mut self, link: u32, arrives: Time, number: u32) {
        self.tied.entry((link, arrives)).or_default().push_back(number);
    }

    /// The next moment, which is now.
    pub fn moment(&mut self, time: Time, origin: Origin) -> Moment {
        self.moments += 1;
        Moment { time, origin, place: self.moments }
    }

    pub fn has_source(&self, flow: u32) -> bool {
        self.owners.sources.get(flow as usize) == Some(&self.part)
    }

    pub fn has_sink(&self, flow: u32) -> bool {
        self.owners.sinks.get(flow as usize) == Some(&self.part)
    }
}
