//! The verifier detects each kind of violation: a few packets cross a link of 8 Mbit/s (a byte a microsecond) and 10 ms
//! with room for two packets, and then one record is wrong.

use crate::test_network::{chain, datagrams, direction, group, millis};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::datagram;
use thalweg_proto::payload::Length;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{CapacityTrace, ImpairmentSpec, Limit, ReorderSpec};
use thalweg_sim::packet_trace::{NoTrace, PacketId, Record, Step, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::verify::{Fault, Verifier, Violation};
use thalweg_sim::{Conservation, Pdu, RunResult, Simulation};

const ENDPOINT: u32 = u32::MAX;

/// Nodes 0, 1, 2 and a flow from 0 to 2. Links: 0 from 0 to 1, 1 back, 2 from 1 to 2, 3 back.
fn spec() -> Spec {
    let link = direction(Rate::from_mbits_per_sec(8), millis(10), Limit::Packets(2));
    let mut spec = chain(vec![(link.clone(), link.clone()), (link.clone(), link)]);
    spec.groups = vec![group("flow", 2, datagrams(), WorkloadSpec::Bulk)];
    spec
}

/// Feeds records to a verifier.
struct Feed {
    verifier: Verifier,
    conservation: Conservation,
    hops: u64,
}

impl Feed {
    fn new(spec: &Spec) -> Self {
        Self { verifier: Verifier::new(spec), conservation: Conservation::default(), hops: 0 }
    }

    /// Records a step of packet `serial`, 1000 bytes long, at `micros` microseconds.
    fn step(&mut self, micros: u64, step: Step, link: u32, serial: u32) -> &mut Self {
        self.sized(micros, step, link, serial, 1000)
    }

    fn sized(&mut self, micros: u64, step: Step, link: u32, serial: u32, size: u32) -> &mut Self {
        let counts = &mut self.conservation;
        match step {
            Step::Sent => counts.sent += 1,
            Step::Delivered => counts.delivered += 1,
            Step::Dropped => counts.dropped += 1,
            Step::Filtered => counts.dropped += 1,
            Step::Lost => counts.lost += 1,
            Step::Duplicated => counts.duplicated += 1,
            Step::Transmitted => self.hops += 1,
            Step::Queued | Step::Arrived | Step::Corrupted => {}
        }
        self.verifier.record(&Record {
            time: Time::ZERO + Duration::from_micros(micros),
            step,
            link_direction: link,
            packet: PacketId { connection: 0, incarnation: 0, backward: false, serial, router: None },
            flow: 0,
            reply: false,
            ecn: Ecn::NotEct,
            size,
            pdu: &Pdu::Datagram(datagram::Pdu(Length(size))),
        });
        self
    }

    /// Returns a crossing from node 0 to node 2 without queueing: 1 ms and 10 ms for each link.
    fn crossing(&mut self, start: u64, serial: u32) -> &mut Self {
        self.step(start, Step::Sent, ENDPOINT, serial)
            .step(start, Step::Transmitted, 0, serial)
            .step(start + 11_000, Step::Arrived, 0, serial)
            .step(start + 11_000, Step::Transmitted, 2, serial)
            .step(start + 22_000, Step::Arrived, 2, serial)
            .step(start + 22_000, Step::Delivered, ENDPOINT, serial)
    }

    /// Ends the run; the result counts the records, and the rest as in the network.
    fn end(&mut self) -> Result<(), Vec<Violation>> {
        let mut conservation = self.conservation;
        let gone = conservation.delivered + conservation.dropped + conservation.lost;
        conservation.in_network = (conservation.sent + conservation.duplicated).saturating_sub(gone);
        self.end_with(conservation)
    }

    fn end_with(&mut self, conservation: Conservation) -> Result<(), Vec<Violation>> {
        let (empty, NoTrace) =
            Simulation::new(&spec(), NoTrace).expect("the specification is valid").finish();
        let result = RunResult {
            conservation,
            hops: self.hops,
            end_time: Time::ZERO,
            // Only packets are compared: the result lists no flows and links.
            flows: Vec::new(),
            links: Vec::new(),
            ..empty
        };
        self.verifier.clone().finish(&result).map(|_| ())
    }

    /// Returns the first violation.
    #[track_caller]
    fn fault(&mut self) -> Fault {
        self.end().expect_err("the verifier notices nothing").remove(0).fault
    }
}

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

#[test]
fn a_correct_run_passes() {
    // Two crossings, a queue, a drop, a loss, and a packet still in the network.
    let mut feed = Feed::new(&spec());
    feed.crossing(0, 0).crossing(30_000, 1);
    for serial in 2..6 {
        feed.step(60_000, Step::Sent, ENDPOINT, serial);
        feed.step(60_000, if serial == 2 { Step::Transmitted } else { Step::Queued }, 0, serial);
    }
    feed.step(60_000, Step::Dropped, 0, 5);
    feed.step(61_000, Step::Transmitted, 0, 3).step(61_000, Step::Lost, 0, 3);
    feed.step(62_000, Step::Transmitted, 0, 4);
    assert_eq!(feed.end(), Ok(()));
}

#[test]
fn a_packet_that_was_never_sent_is_detected() {
    // Each step of a packet that was never sent, or is elsewhere.
    for (step, link) in [
        (Step::Queued, 0),
        (Step::Transmitted, 0),
        (Step::Arrived, 0),
        (Step::Dropped, 0),
        (Step::Lost, 0),
        (Step::Corrupted, 0),
        (Step::Duplicated, 0),
        (Step::Delivered, ENDPOINT),
    ] {
        assert_eq!(Feed::new(&spec()).step(0, step, link, 0).fault(), Fault::FromNowhere { step });
        // It has just been sent at node 0, and link 1 leads from node 1.
        if step != Step::Transmitted && step != Step::Queued {
            let fault = Feed::new(&spec()).step(0, Step::Sent, ENDPOINT, 0).step(0, step, 1, 0).fault();
            assert_eq!(fault, Fault::FromNowhere { step });
        }
    }
    let fault = Feed::new(&spec()).step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 1, 0).fault();
    assert_eq!(fault, Fault::FromNowhere { step: Step::Transmitted });
    // Delivered twice.
    let fault = Feed::new(&spec()).crossing(0, 0).step(22_000, Step::Delivered, ENDPOINT, 0).fault();
    assert_eq!(fault, Fault::FromNowhere { step: Step::Delivered });
}

#[test]
fn a_link_above_its_rate_is_detected() {
    // The second packet begins a microsecond before the first has left.
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
    feed.step(999, Step::Sent, ENDPOINT, 1).step(999, Step::Transmitted, 0, 1);
    assert_eq!(feed.fault(), Fault::AboveRate { free_at: at(1_000) });
}

#[test]
fn a_wrong_arrival_time_is_detected() {
    for wrong in [10_999, 11_001] {
        let mut feed = Feed::new(&spec());
        feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0).step(
            wrong,
            Step::Arrived,
            0,
            0,
        );
        assert_eq!(feed.fault(), Fault::WrongArrival { from: at(11_000), to: at(11_000) });
    }
    // A link that holds packets back for up to 5 ms: no longer, and never earlier than permitted.
    let mut held = spec();
    held.links[0].forward.impairment = ImpairmentSpec {
        reorder: Some(ReorderSpec { probability: 0.5, delay: millis(5), correlation: 0.0 }),
        ..ImpairmentSpec::default()
    };
    for (arrival, is_right) in [(10_999, false), (11_000, true), (13_000, true), (16_001, false)] {
        let mut feed = Feed::new(&held);
        feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0).step(
            arrival,
            Step::Arrived,
            0,
            0,
        );
        assert_eq!(feed.end().is_ok(), is_right, "{arrival}");
    }
}

#[test]
fn a_missing_arrival_is_detected() {
    // The run ends, or has a later record, after 11 ms.
    for later in [11_000, 11_001] {
        let mut feed = Feed::new(&spec());
        feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
        feed.step(later, Step::Sent, ENDPOINT, 1);
        let result = feed.end().map_err(|mut violations| violations.remove(0).fault);
        let expected = if later > 11_000 { Err(Fault::Overdue { due: at(11_000) }) } else { Ok(()) };
        assert_eq!(result, expected);
    }
}

#[test]
fn a_queue_beyond_its_limit_is_detected() {
    // Room for two, by packets or by bytes; three wait, and none is dropped.
    for limit in [Limit::Packets(2), Limit::Bytes(2999)] {
        let mut spec = spec();
        spec.links[0].forward = direction(Rate::from_mbits_per_sec(8), millis(10), limit);
        let mut feed = Feed::new(&spec);
        feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
        for serial in 1..4 {
            feed.step(0, Step::Sent, ENDPOINT, serial).step(0, Step::Queued, 0, serial);
        }
        let fault = feed.fault();
        assert!(matches!(fault, Fault::Overfull { packets: 3, bytes } if bytes.get() == 3000), "{fault:?}");
    }
}

#[test]
fn overtaking_in_a_queue_is_detected() {
    // Packets 1 and 2 wait; 2 leaves first. Then a packet that does not wait overtakes a waiting one.
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
    feed.step(0, Step::Sent, ENDPOINT, 1).step(0, Step::Queued, 0, 1);
    let mut second = Feed { verifier: feed.verifier.clone(), ..feed };
    feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
    feed.step(0, Step::Sent, ENDPOINT, 1).step(0, Step::Queued, 0, 1);
    feed.step(0, Step::Sent, ENDPOINT, 2).step(0, Step::Queued, 0, 2).step(1_000, Step::Transmitted, 0, 2);
    second.step(1_000, Step::Sent, ENDPOINT, 2).step(1_000, Step::Transmitted, 0, 2);
    for mut feed in [feed, second] {
        assert!(matches!(feed.fault(), Fault::PassedInQueue { before } if before.serial == 1));
    }
}

#[test]
fn overtaking_in_propagation_is_detected() {
    // Packets of zero bytes leave at the same time; the first still arrives first.
    let mut feed = Feed::new(&spec());
    for serial in 0..2 {
        feed.sized(0, Step::Sent, ENDPOINT, serial, 0).sized(0, Step::Transmitted, 0, serial, 0);
    }
    feed.sized(10_000, Step::Arrived, 0, 1, 0);
    assert!(matches!(feed.fault(), Fault::PassedOnWire { before } if before.serial == 0));
}

#[test]
fn an_outage_is_kept() {
    // From 5 ms on the rate is zero: exactly at 5 ms both are valid, later nothing may leave.
    for (start, is_right) in [(4_999, true), (5_000, true), (5_001, false)] {
        let mut spec = spec();
        let rate = Some(Rate::ZERO);
        spec.links[0].forward.schedule =
            vec![Change { at: at(5_000), rate, delay: None, impairment: None, jitter: None, queue: None }];
        let mut feed = Feed::new(&spec);
        feed.step(start, Step::Sent, ENDPOINT, 0).step(start, Step::Transmitted, 0, 0);
        assert_eq!(feed.end().is_ok(), is_right, "{start}");
        assert!(is_right || feed.fault() == Fault::Outage);
    }
}

#[test]
fn a_change_of_rate_and_delay_is_followed() {
    // From 5 ms on at half the rate and twice the delay: 2 ms and 20 ms.
    let mut spec = spec();
    let change = Change {
        at: at(5_000),
        rate: Some(Rate::from_mbits_per_sec(4)),
        delay: Some(millis(20)),
        impairment: None,
        jitter: None,
        queue: None,
    };
    spec.links[0].forward.schedule = vec![change];
    for (start, arrival, is_right) in [
        (4_999, 15_999, true),
        (5_001, 16_001, false),
        (5_001, 27_001, true),
        (5_000, 16_000, true),
        (5_000, 27_000, true),
    ] {
        let mut feed = Feed::new(&spec);
        feed.step(start, Step::Sent, ENDPOINT, 0).step(start, Step::Transmitted, 0, 0);
        feed.step(arrival, Step::Arrived, 0, 0);
        assert_eq!(feed.end().is_ok(), is_right, "{start} {arrival}");
    }
}

#[test]
fn a_capacity_trace_is_followed() {
    // 1500 bytes at 3 ms and 7 ms of every 10. A packet that begins at 1 ms leaves at 3 ms, a second one at 7 ms: 500
    // bytes of the first opportunity remain. It cannot leave between them, nor can both at 3 ms.
    let opportunities = vec![at(3_000), at(7_000)];
    let trace = Arc::new(CapacityTrace { opportunities, period: millis(10), bytes_per_opportunity: 1500 });
    let mut spec = spec();
    spec.links[0].forward.capacity = Some(trace);
    for (arrivals, is_right) in [
        ([13_000, 17_000], true),
        ([13_000, 13_000], false),
        ([14_000, 17_000], false),
        ([17_000, 23_000], true),
    ] {
        let mut feed = Feed::new(&spec);
        feed.step(1_000, Step::Sent, ENDPOINT, 0).step(1_000, Step::Transmitted, 0, 0);
        let left = arrivals[0] - 10_000;
        feed.step(left, Step::Sent, ENDPOINT, 1).step(left, Step::Transmitted, 0, 1);
        feed.step(arrivals[0], Step::Arrived, 0, 0).step(arrivals[0], Step::Transmitted, 2, 0);
        feed.step(arrivals[1], Step::Arrived, 0, 1);
        let result = feed.end().map_err(|mut violations| violations.remove(0).fault);
        assert_eq!(result.is_ok(), is_right, "{arrivals:?} {result:?}");
        assert!(is_right || matches!(result, Err(Fault::AboveCapacity { .. })));
    }
}

#[test]
fn a_copy_needs_a_record() {
    // With the record both arrive; without it, the second comes from nowhere.
    for is_recorded in [true, false] {
        let mut feed = Feed::new(&spec());
        feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0);
        if is_recorded {
            feed.step(0, Step::Duplicated, 0, 0);
        }
        feed.step(11_000, Step::Arrived, 0, 0).step(11_000, Step::Transmitted, 2, 0);
        feed.step(11_000, Step::Arrived, 0, 0);
        assert_eq!(feed.end().is_ok(), is_recorded);
    }
}

#[test]
fn a_delay_within_a_node_is_detected() {
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(1, Step::Transmitted, 0, 0);
    assert_eq!(feed.fault(), Fault::Lingered { since: at(0) });
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0).step(11_000, Step::Arrived, 0, 0);
    feed.step(12_000, Step::Transmitted, 2, 0);
    assert_eq!(feed.fault(), Fault::Lingered { since: at(11_000) });
}

#[test]
fn a_wrong_destination_is_detected() {
    // Delivered at node 1, half-way.
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).step(0, Step::Transmitted, 0, 0).step(11_000, Step::Arrived, 0, 0);
    feed.step(11_000, Step::Delivered, ENDPOINT, 0);
    assert_eq!(feed.fault(), Fault::WrongDestination);
}

#[test]
fn wrong_numbers_sizes_and_times_are_detected() {
    assert_eq!(
        Feed::new(&spec()).crossing(0, 0).crossing(30_000, 0).fault(),
        Fault::Misnumbered { expected: 1 }
    );
    let mut feed = Feed::new(&spec());
    feed.step(0, Step::Sent, ENDPOINT, 0).sized(0, Step::Transmitted, 0, 0, 999);
    assert_eq!(feed.fault(), Fault::Changed);
    let mut feed = Feed::new(&spec());
    feed.crossing(10, 0).step(0, Step::Sent, ENDPOINT, 1);
    assert_eq!(feed.fault(), Fault::TimeWentBack { from: at(22_010) });
    assert_eq!(Feed::new(&spec()).step(0, Step::Queued, 99, 0).fault(), Fault::Unknown { what: "link" });
}

#[test]
fn a_result_with_wrong_counts_is_detected() {
    let mut feed = Feed::new(&spec());
    feed.crossing(0, 0);
    let right = Conservation { sent: 1, delivered: 1, ..Conservation::default() };
    assert_eq!(feed.end_with(right), Ok(()));
    for wrong in [
        Conservation { sent: 2, ..right },
        Conservation { delivered: 0, ..right },
        Conservation { duplicated: 1, ..right },
        Conservation { dropped: 1, ..right },
        Conservation { lost: 1, ..right },
        Conservation { in_network: 1, ..right },
    ] {
        let violations = feed.end_with(wrong).expect_err("the verifier notices nothing");
        assert!(matches!(violations[0].fault, Fault::Miscounted { .. }), "{wrong:?}");
    }
}

#[test]
fn violations_are_bounded_and_name_rule_and_location() {
    let mut feed = Feed::new(&spec());
    for serial in 0..1000 {
        feed.step(0, Step::Arrived, 2, serial);
    }
    let violations = feed.end().expect_err("the verifier notices nothing");
    assert_eq!(violations.len(), 101);
    assert_eq!(
        violations[0].to_string(),
        "at 0 s, link `l1` from n1 to n2, packet 0.0>0: it is said to arrive, but it is not there"
    );
    assert_eq!(violations[100].fault, Fault::More { count: 900 });
}
