//! Packets of a short time span, for animation in a page.

use super::number_encoding::Numbers;
use core::ops::Range;
use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_proto::units::Time;
use thalweg_sim::RunResult;
use thalweg_sim::packet_trace::{PacketId, Record, Step, Tracer};
use thalweg_sim::simulation_spec::Spec;

/// Recorder of packets on the links of a specification in a time span: arrival at each link, start of transmission, and
/// delivery or loss. Access links are not recorded.
#[derive(Clone, Debug)]
pub struct Recorder {
    span: Range<Time>,
    /// Index of the first transmitter that belongs to an access link.
    transmitters: u32,
    max: usize,
    /// End of the record, if it became full.
    truncated_at: Option<Time>,
    /// Passages in progress, by packet and link; duplicates of a packet share an entry.
    open_passages: BTreeMap<(PacketId, u32), Vec<Hop>>,
    hops: Vec<Hop>,
    numbers: BTreeMap<PacketId, u32>,
}

/// Passage of a packet over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    packet: u32,
    flow: u32,
    kind: Kind,
    /// Direction of a link: twice its position, plus one for backward.
    link: u32,
    arrived: Time,
    transmission_start: Time,
    end_time: Time,
    outcome: HopOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Forward,
    Backward,
    Router,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HopOutcome {
    Arrived,
    Dropped,
    Lost,
    /// Unknown: the packet was still there when the run or the record ended.
    Open,
}

impl Recorder {
    /// Creates a recorder for at most `max` link passages that begin within `span`.
    pub fn new(spec: &Spec, span: Range<Time>, max: usize) -> Self {
        let transmitters = u32::try_from(2 * spec.links.len()).unwrap_or(u32::MAX);
        let (open, numbers) = (BTreeMap::new(), BTreeMap::new());
        Self { span, transmitters, max, truncated_at: None, open_passages: open, hops: Vec::new(), numbers }
    }

    /// Returns the replay of a run, named by its scheme if several are compared.
    pub fn finish(mut self, scheme: &str, result: &RunResult) -> Replay {
        let until = self.truncated_at.unwrap_or(self.span.end).min(result.end_time);
        // Packets still in transit stay where they are until the end.
        let open = core::mem::take(&mut self.open_passages).into_values().flatten();
        self.hops.extend(open.map(|hop| Hop {
            end_time: until.max(hop.end_time),
            outcome: HopOutcome::Open,
            ..hop
        }));
        self.hops.retain(|hop| hop.arrived < until && hop.end_time >= self.span.start);
        self.hops.sort_by_key(|hop| (hop.arrived, hop.packet, hop.link));
        let name = |flow: u32| result.flows.get(flow as usize).map_or("", |flow| flow.name.as_str());
        let mut flows: Vec<u32> = self.hops.iter().map(|hop| hop.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let place = |flow: u32| flows.binary_search(&flow).unwrap_or(0) as f64;
        let column =
            |of: &dyn Fn(&Hop) -> f64| Numbers::from_values(&self.hops.iter().map(of).collect::<Vec<_>>());
        let picos = |time: Time| time.as_picos() as f64;
        Replay {
            scheme: scheme.to_owned(),
            seed: result.seed,
            from_s: self.span.start.as_secs_f64(),
            until_s: until.as_secs_f64(),
            cut: self.truncated_at.is_some(),
            packet: column(&|hop| f64::from(hop.packet)),
            flow: column(&|hop| place(hop.flow)),
            kind: column(&|hop| f64::from(hop.kind as u8)),
            link: column(&|hop| f64::from(hop.link)),
            arrived: column(&|hop| picos(hop.arrived)),
            waited: column(&|hop| picos(hop.transmission_start) - picos(hop.arrived)),
            duration: column(&|hop| picos(hop.end_time) - picos(hop.transmission_start)),
            outcome: column(&|hop| f64::from(hop.outcome as u8)),
            flows: flows.into_iter().map(|flow| name(flow).to_owned()).collect(),
        }
    }

    fn on_arrival(&mut self, record: &Record<'_>) {
        if record.time >= self.span.end || self.truncated_at.is_some() {
            return;
        }
        if self.hops.len() + self.open_passages.len() >= self.max {
            // When the record is full, passages that ended before the span are discarded first.
            self.hops.retain(|hop| hop.end_time >= self.span.start);
            if self.hops.len() + self.open_passages.len() >= self.max {
                self.truncated_at = Some(record.time);
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
        let (link, flow, time) = (record.link_direction, record.flow, record.time);
        let hop = Hop {
            packet,
            flow,
            kind,
            link,
            arrived: time,
            transmission_start: time,
            end_time: time,
            outcome: HopOutcome::Open,
        };
        self.open_passages.entry((record.packet, link)).or_default().push(hop);
    }

    /// Records the start of transmission; the packet may not have been queued.
    fn began(&mut self, record: &Record<'_>) {
        let key = (record.packet, record.link_direction);
        if !self.open_passages.contains_key(&key) {
            self.on_arrival(record);
        }
        for hop in self.open_passages.get_mut(&key).into_iter().flatten() {
            hop.transmission_start = record.time;
            hop.end_time = record.time;
        }
    }

    fn on_hop_end(&mut self, record: &Record<'_>, outcome: HopOutcome) {
        let key = (record.packet, record.link_direction);
        let Some(copies) = self.open_passages.get_mut(&key) else { return };
        let mut hop = copies.remove(0);
        if copies.is_empty() {
            self.open_passages.remove(&key);
        }
        if outcome == HopOutcome::Dropped {
            hop.transmission_start = record.time;
        }
        hop.end_time = record.time;
        hop.outcome = outcome;
        // Packets from before the span are not needed.
        if hop.end_time >= self.span.start {
            self.hops.push(hop);
        }
    }
}

impl Tracer for Recorder {
    fn record(&mut self, record: &Record<'_>) {
        if record.link_direction >= self.transmitters
            || (record.time >= self.span.end && self.open_passages.is_empty())
        {
            return;
        }
        match record.step {
            Step::Queued | Step::Duplicated => self.on_arrival(record),
            Step::Transmitted => self.began(record),
            Step::Arrived => self.on_hop_end(record, HopOutcome::Arrived),
            Step::Dropped | Step::Filtered => self.on_hop_end(record, HopOutcome::Dropped),
            Step::Lost => self.on_hop_end(record, HopOutcome::Lost),
            Step::Sent | Step::Corrupted | Step::Delivered => {}
        }
    }
}

/// Packets of a time span within a run: a row for each link passage, in order of arrival at the link.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    scheme: String,
    seed: u64,
    from_s: f64,
    until_s: f64,
    /// True if the record had no room for all packets of the requested time.
    cut: bool,
    /// Names of flows; `flow` is an index into them.
    flows: Vec<String>,
    packet: Numbers,
    flow: Numbers,
    /// 0 from the sender, 1 to it, 2 a router's message.
    kind: Numbers,
    link: Numbers,
    /// Times in picoseconds.
    arrived: Numbers,
    waited: Numbers,
    duration: Numbers,
    /// 0 arrived, 1 dropped, 2 lost, 3 unknown.
    outcome: Numbers,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_spec};
    use thalweg_proto::Ecn;
    use thalweg_proto::datagram;
    use thalweg_proto::payload::Length;
    use thalweg_sim::Pdu;

    fn record(millis: u64, step: Step, link: u32, serial: u32) -> Record<'static> {
        Record {
            time: at(millis),
            step,
            link_direction: link,
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

    fn replay(span: Range<u64>, max: usize, records: &[(u64, Step, u32, u32)]) -> Replay {
        let mut recorder = Recorder::new(&test_spec(), at(span.start)..at(span.end), max);
        for (millis, step, link, serial) in records {
            recorder.record(&record(*millis, *step, *link, *serial));
        }
        recorder.finish("", &run_result(1, 75))
    }

    const TEST_STEPS: &[(u64, Step, u32, u32)] = &[
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
    fn each_link_passage_of_a_packet_is_a_row() {
        let replay = replay(0..20, 100, TEST_STEPS);
        let millis = |numbers: &Numbers| numbers.values().iter().map(|picos| picos / 1e9).collect::<Vec<_>>();
        assert_eq!(millis(&replay.arrived), [1.0, 2.0, 3.0, 9.0, 10.0], "link 7 is an access link");
        assert_eq!(millis(&replay.waited), [0.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(millis(&replay.duration), [4.0, 4.0, 0.0, 0.0, 10.0]);
        assert_eq!(replay.outcome.values(), [0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(replay.link.values(), [0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!((replay.flows, replay.cut), (vec!["bold".to_owned()], false));
    }

    #[test]
    fn only_the_span_is_kept_and_packets_that_are_in_it() {
        // The first packet is in transit when the span begins; the last begins after it.
        let replay = replay(4..9, 100, TEST_STEPS);
        assert_eq!(replay.packet.values(), [0.0, 1.0]);
        assert_eq!(replay.duration.values(), [4e9, 4e9]);
    }

    #[test]
    fn a_full_record_is_cut() {
        let replay = replay(0..20, 3, TEST_STEPS);
        assert!(replay.cut);
        assert_eq!((replay.until_s, replay.arrived.values().len()), (0.009, 3));
    }
}
