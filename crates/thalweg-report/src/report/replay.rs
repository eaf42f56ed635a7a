//! The packets of a short time, so that a page can show them on their way.

use super::encode::Numbers;
use core::ops::Range;
use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_proto::units::Time;
use thalweg_sim::RunResult;
use thalweg_sim::spec::Spec;
use thalweg_sim::trace::{PacketId, Record, Step, Tracer};

/// Keeps what happens to packets on the links of a specification in a span of time: when each came to a link, began to be
/// sent, and arrived, or what became of it. Access links are not followed.
#[derive(Clone, Debug)]
pub struct Recorder {
    span: Range<Time>,
    /// Transmitters from here on are of access links.
    transmitters: u32,
    most: usize,
    /// The time from which there was no more room; `None` while there is some.
    cut: Option<Time>,
    /// Packets at links, where they came from and how; copies of a packet are one behind the other.
    open: BTreeMap<(PacketId, u32), Vec<Hop>>,
    hops: Vec<Hop>,
    numbers: BTreeMap<PacketId, u32>,
}

/// The way of a packet over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    packet: u32,
    flow: u32,
    kind: Kind,
    /// The direction of a link: twice its position, and one more backward.
    link: u32,
    came: Time,
    began: Time,
    ended: Time,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Forward,
    Backward,
    Router,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrived,
    Dropped,
    Lost,
    /// Not known: it was still there when the run or the record ended.
    Open,
}

impl Recorder {
    /// Keeps at most `most` ways over links, of those that begin within `span`.
    pub fn new(spec: &Spec, span: Range<Time>, most: usize) -> Self {
        let transmitters = u32::try_from(2 * spec.links.len()).unwrap_or(u32::MAX);
        let (open, numbers) = (BTreeMap::new(), BTreeMap::new());
        Self { span, transmitters, most, cut: None, open, hops: Vec::new(), numbers }
    }

    /// The replay of what was kept of a run, named by its scheme if several are compared.
    pub fn finish(mut self, scheme: &str, result: &RunResult) -> Replay {
        let until = self.cut.unwrap_or(self.span.end).min(result.ended);
        // What is still under way stays where it is until the end.
        let open = core::mem::take(&mut self.open).into_values().flatten();
        self.hops.extend(open.map(|hop| Hop { ended: until.max(hop.ended), fate: Fate::Open, ..hop }));
        self.hops.retain(|hop| hop.came < until && hop.ended >= self.span.start);
        self.hops.sort_by_key(|hop| (hop.came, hop.packet, hop.link));
        let name = |flow: u32| result.flows.get(flow as usize).map_or("", |flow| flow.name.as_str());
        let mut flows: Vec<u32> = self.hops.iter().map(|hop| hop.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let place = |flow: u32| flows.binary_search(&flow).unwrap_or(0) as f64;
        let column = |of: &dyn Fn(&Hop) -> f64| Numbers::of(&self.hops.iter().map(of).collect::<Vec<_>>());
        let picos = |time: Time| time.as_picos() as f64;
        Replay {
            scheme: scheme.to_owned(),
            seed: result.seed,
            from_s: self.span.start.as_secs_f64(),
            until_s: until.as_secs_f64(),
            cut: self.cut.is_some(),
            packet: column(&|hop| f64::from(hop.packet)),
            flow: column(&|hop| place(hop.flow)),
            kind: column(&|hop| f64::from(hop.kind as u8)),
            link: column(&|hop| f64::from(hop.link)),
            came: column(&|hop| picos(hop.came)),
            waited: column(&|hop| picos(hop.began) - picos(hop.came)),
            took: column(&|hop| picos(hop.ended) - picos(hop.began)),
            fate: column(&|hop| f64::from(hop.fate as u8)),
            flows: flows.into_iter().map(|flow| name(flow).to_owned()).collect(),
        }
    }

    fn came(&mut self, record: &Record<'_>) {
        if record.time >= self.span.end || self.cut.is_some() {
            return;
        }
        if self.hops.len() + self.open.len() >= self.most {
            // Room goes to what began before the span only while there is nothing else.
            self.hops.retain(|hop| hop.ended >= self.span.start);
            if self.hops.len() + self.open.len() >= self.most {
                self.cut = Some(record.time);
                return;
            }
        }
        let next = self.numbers.len() as u32;
        let packet = *self.numbers.entry(record.packet).or_insert(next);
        let kind = match (record.packet.router.is_some(), record.packet.backward) {
            (true, _) => Kind::Router,
            (false, true) => Kind::Backward,
            (false, false) => Kind::Forward,
        };
        let (link, flow, time) = (record.link, record.flow, record.time);
        let hop = Hop { packet, flow, kind, link, came: time, began: time, ended: time, fate: Fate::Open };
        self.open.entry((record.packet, link)).or_default().push(hop);
    }

    /// The packet leaves for the wire; it may not have waited.
    fn began(&mut self, record: &Record<'_>) {
        let key = (record.packet, record.link);
        if !self.open.contains_key(&key) {
            self.came(record);
        }
        for hop in self.open.get_mut(&key).into_iter().flatten() {
            hop.began = record.time;
            hop.ended = record.time;
        }
    }

    fn ended(&mut self, record: &Record<'_>, fate: Fate) {
        let key = (record.packet, record.link);
        let Some(copies) = self.open.get_mut(&key) else { return };
        let mut hop = copies.remove(0);
        if copies.is_empty() {
            self.open.remove(&key);
        }
        if fate == Fate::Dropped {
            hop.began = record.time;
        }
        hop.ended = record.time;
        hop.fate = fate;
        // A packet from before the span is of no use.
        if hop.ended >= self.span.start {
            self.hops.push(hop);
        }
    }
}

impl Tracer for Recorder {
    fn record(&mut self, record: &Record<'_>) {
        if record.link >= self.transmitters || (record.time >= self.span.end && self.open.is_empty()) {
            return;
        }
        match record.step {
            Step::Queued | Step::Duplicated => self.came(record),
            Step::Transmitted => self.began(record),
            Step::Arrived => self.ended(record, Fate::Arrived),
            Step::Dropped | Step::Filtered => self.ended(record, Fate::Dropped),
            Step::Lost => self.ended(record, Fate::Lost),
            Step::Sent | Step::Corrupted | Step::Delivered => {}
        }
    }
}

/// The packets of a short time within a run: a row for each way over a link, in the order in which they came to it.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    scheme: String,
    seed: u64,
    from_s: f64,
    until_s: f64,
    /// There was no room for all packets of the time that was asked for.
    cut: bool,
    /// Names, to which `flow` refers by position.
    flows: Vec<String>,
    packet: Numbers,
    flow: Numbers,
    /// 0 from the sender, 1 to it, 2 a message of a router.
    kind: Numbers,
    link: Numbers,
    /// Picoseconds.
    came: Numbers,
    waited: Numbers,
    took: Numbers,
    /// 0 arrived, 1 dropped, 2 lost, 3 not known.
    fate: Numbers,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::{result, spec};
    use thalweg_proto::Ecn;
    use thalweg_proto::datagram;
    use thalweg_proto::payload::Length;
    use thalweg_sim::Pdu;

    fn record(millis: u64, step: Step, link: u32, serial: u32) -> Record<'static> {
        Record {
            time: at(millis),
            step,
            link,
            packet: PacketId { connection: 0, incarnation: 0, backward: false, serial, router: None },
            flow: 2,
            reply: false,
            ecn: Ecn::NotEct,
            size: 1000,
            pdu: &Pdu::Datagram(datagram::Pdu(Length(1000))),
        }
    }

    fn at(millis: u64) -> Time {
        Time::from_picos(millis * 1_000_000_000)
    }

    fn replay(span: Range<u64>, most: usize, records: &[(u64, Step, u32, u32)]) -> Replay {
        let mut recorder = Recorder::new(&spec(), at(span.start)..at(span.end), most);
        for (millis, step, link, serial) in records {
            recorder.record(&record(*millis, *step, *link, *serial));
        }
        recorder.finish("", &result(1, 75))
    }

    const STEPS: &[(u64, Step, u32, u32)] = &[
        (1, Step::Transmitted, 0, 0),
        (2, Step::Queued, 0, 1),
        (3, Step::Queued, 0, 2),
        (3, Step::Dropped, 0, 2),
        (4, Step::Transmitted, 0, 1),
        (5, Step::Arrived, 0, 0),
        (5, Step::Transmitted, 7, 0),
        (8, Step::Arrived, 0, 1),
        (9, Step::Transmitted, 1, 3),
        (9, Step::Lost, 1, 3),
        (10, Step::Transmitted, 0, 4),
    ];

    #[test]
    fn the_way_of_each_packet_over_a_link_is_a_row() {
        let replay = replay(0..20, 100, STEPS);
        let millis = |numbers: &Numbers| numbers.values().iter().map(|picos| picos / 1e9).collect::<Vec<_>>();
        assert_eq!(millis(&replay.came), [1.0, 2.0, 3.0, 9.0, 10.0], "link 7 is an access link");
        assert_eq!(millis(&replay.waited), [0.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(millis(&replay.took), [4.0, 4.0, 0.0, 0.0, 10.0]);
        assert_eq!(replay.fate.values(), [0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(replay.link.values(), [0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!((replay.flows, replay.cut), (vec!["bold".to_owned()], false));
    }

    #[test]
    fn only_the_span_is_kept_and_packets_that_are_in_it() {
        // The first packet is on its way when the span begins; the last begins after it.
        let replay = replay(4..9, 100, STEPS);
        assert_eq!(replay.packet.values(), [0.0, 1.0]);
        assert_eq!(replay.took.values(), [4e9, 4e9]);
    }

    #[test]
    fn what_there_is_no_room_for_is_cut_off() {
        let replay = replay(0..20, 3, STEPS);
        assert!(replay.cut);
        assert_eq!((replay.until_s, replay.came.values().len()), (0.009, 3));
    }
}
