//! Records of a run in parts: each part keeps its own, and they are put in the order in which one thread makes them.
//!
//! What happens in a run has a place in it that is the model's alone ([`Place`]), and the records of one event come from one part, in
//! their order. So each part's list is sorted, and the lists are merged, as far as all parts have come.

use crate::kept::{Kept, What};
use crate::parts::numbers::Numbers;
use crate::parts::packet::copy;
use crate::spec::Ties;
use crate::trace::{PacketId, Record, Step, Tracer};
use crate::tracing::{Traced, Tracing};
use crate::wheel::Place;
use core::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::units::Time;

/// The steps of which records are wanted, by one bit each.
#[derive(Debug, Default)]
struct Wanted {
    by_link: Vec<u16>,
    at_ends: u16,
}

impl Wanted {
    /// Those that a tracer needs, of so many transmitters.
    fn by(tracer: &dyn Tracer, links: usize) -> Self {
        let at = |link: u32| {
            let needed = Step::ALL.into_iter().filter(|step| tracer.needs(*step, link));
            needed.fold(0, |all, step| all | 1 << step as u16)
        };
        Self { by_link: (0..links as u32).map(at).collect(), at_ends: at(u32::MAX) }
    }
}

/// The records that a part of a run keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    kept: Vec<Kept>,
    wanted: Arc<Wanted>,
}

impl Recording {
    /// Those that a tracer needs, of so many transmitters.
    pub fn by(tracer: &Traced, links: usize) -> Self {
        Self { kept: Vec::new(), wanted: Arc::new(Wanted::by(tracer.0.as_ref(), links)) }
    }
}

impl Tracing for Recording {
    const ENABLED: bool = true;
    const KEEPS: bool = true;

    #[inline]
    fn wants(&self, step: Step, link: u32) -> bool {
        let steps = self.wanted.by_link.get(link as usize).copied().unwrap_or(self.wanted.at_ends);
        steps & 1 << step as u16 != 0
    }

    fn record(&mut self, place: Place, record: &Record<'_>) {
        let Record { step, link, packet, ecn, size, pdu, .. } = *record;
        let pdu = copy(pdu);
        self.kept.push(Kept { place, what: What::Step { step, ecn, link, packet, size, pdu } });
    }

    fn gate(&mut self, place: Place, connection: u32, paused: bool) {
        self.kept.push(Kept { place, what: What::Gate { connection, paused } });
    }

    fn warm(&mut self, place: Place) {
        self.kept.push(Kept { place, what: What::Warm });
    }

    fn open(&mut self, place: Place, connection: u32, flow: u32, reply: bool) {
        self.kept.push(Kept { place, what: What::Opened { connection, flow, reply } });
    }

    fn kept(&mut self) -> Option<&mut Vec<Kept>> {
        Some(&mut self.kept)
    }
}

/// The records of one part that have been handed over and not been told yet.
#[derive(Debug, Default)]
struct Stream {
    lists: VecDeque<Vec<Kept>>,
    /// The place of the first of them in the first list.
    at: usize,
}

impl Stream {
    fn first(&self) -> Option<&Kept> {
        self.lists.front()?.get(self.at)
    }

    /// Goes on to the next; gives a list that has been told back.
    fn pass(&mut self) -> Option<Vec<Kept>> {
        self.at += 1;
        if self.lists.front().is_some_and(|list| self.at < list.len()) {
            return None;
        }
        self.at = 0;
        self.lists.pop_front()
    }
}

/// The records of all parts, which are told to a tracer in the order of one thread.
#[derive(Debug)]
pub(crate) struct Merge {
    tracer: Traced,
    ties: Ties,
    streams: Vec<Stream>,
    connections: Connections,
}

/// The connections that have been opened, at the places that one thread gives them.
#[derive(Debug)]
struct Connections {
    numbers: Numbers,
    /// The flow of each by its place, and whether its data comes from the sink.
    flows: Vec<(u32, bool)>,
}

impl Connections {
    /// The connection of this number opens.
    fn open(&mut self, number: u32, flow: u32, reply: bool) {
        if let (None, Some((opener, _))) = (self.numbers.place(number), self.numbers.flow(number)) {
            let place = self.numbers.fixed().max(self.flows.len() as u32);
            self.numbers.add(opener, place);
        }
        let place = self.place(number) as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, UNOPENED);
        }
        self.flows[place] = (flow, reply);
    }

    /// The place of the connection of this number.
    fn place(&self, number: u32) -> u32 {
        self.numbers.place(number).unwrap_or(number)
    }

    fn flow(&self, place: u32) -> (u32, bool) {
        self.flows.get(place as usize).copied().unwrap_or(UNOPENED)
    }
}

impl Merge {
    /// No records yet, of so many parts of a run with such ties and numbers of connections.
    pub fn new(tracer: Traced, ties: Ties, numbers: Numbers, parts: usize) -> Self {
        let connections = Connections { numbers, flows: Vec::new() };
        Self { tracer, ties, streams: (0..parts).map(|_| Stream::default()).collect(), connections }
    }

    /// Takes a list of records of a part, which come after those that it has handed over before.
    pub fn add(&mut self, part: usize, list: Vec<Kept>) {
        if !list.is_empty() {
            self.streams[part].lists.push_back(list);
        }
    }

    /// Tells the records before a time, all of which have been handed over; lists that have been told go to `done`.
    pub fn tell_before(&mut self, end: Time, mut done: impl FnMut(Vec<Kept>)) {
        while let Some((part, next)) = self.first_two(end) {
            while let Some(kept) = self.streams[part].first() {
                let is_after = |next: &Place| kept.place.order(next, self.ties) == Ordering::Greater;
                if kept.place.time >= end || next.as_ref().is_some_and(is_after) {
                    break;
                }
                tell(&mut self.tracer, &mut self.connections, kept);
                self.streams[part].pass().into_iter().for_each(&mut done);
            }
        }
    }

    /// The part with the first record before a time, and the place of the first record of any other part.
    fn first_two(&self, end: Time) -> Option<(usize, Option<Place>)> {
        let mut first: Option<(usize, Place)> = None;
        let mut second: Option<Place> = None;
        let heads = self.streams.iter().enumerate();
        for (part, head) in heads.filter_map(|(part, stream)| Some((part, stream.first()?.place))) {
            let is_before = |other: &Place| head.order(other, self.ties) == Ordering::Less;
            if first.as_ref().is_none_or(|(_, first)| is_before(first)) {
                second = first.map(|(_, place)| place);
                first = Some((part, head));
            } else if second.as_ref().is_none_or(is_before) {
                second = Some(head);
            }
        }
        first.filter(|(_, place)| place.time < end).map(|(part, _)| (part, second))
    }

    /// The tracer, when all is told.
    pub fn finish(self) -> Traced {
        self.tracer
    }
}

/// Tells a tracer one record.
fn tell(tracer: &mut Traced, connections: &mut Connections, kept: &Kept) {
    let Kept { place, what } = kept;
    match what {
        What::Step { step, ecn, link, packet, size, pdu } => {
            let connection = connections.place(packet.connection);
            let (flow, reply) = connections.flow(connection);
            tracer.record(
                *place,
                &Record {
                    time: place.time,
                    step: *step,
                    link: *link,
                    packet: PacketId { connection, ..*packet },
                    flow,
                    reply,
                    ecn: *ecn,
                    size: *size,
                    pdu,
                },
            );
        }
        What::Opened { connection, flow, reply } => connections.open(*connection, *flow, *reply),
        What::Gate { connection, paused } => {
            tracer.gate(*place, connections.place(*connection), *paused);
        }
        What::Warm => tracer.warm(*place),
    }
}

/// A connection that has not been opened.
const UNOPENED: (u32, bool) = (u32::MAX, false);
