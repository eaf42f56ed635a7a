use super::*;
use crate::pcap::{Capture, Point};
use serde_json::{Value, json};
use std::path::Path;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::window::{self, Ack, SackBlock, Segment};
use thalweg_scenario::load_text;
use thalweg_sim::packet_trace::{NoTrace, PacketId, Record, Step, Tracer as _};
use thalweg_sim::{Pdu, Series, Simulation, Status};
use thalweg_trace::{Limits, Summary, Trace};

/// Two datagram flows, and a window flow with segments of 1000 bytes.
const SCENARIO: &str = r#"
title = "Two and one"
duration = "1 ms"
seed = 7
[[link]]
between = ["left", "right"]
rate = "100 Mbit/s"
delay = "10 ms"
queue = "100 pkt"
[[flow]]
name = "shy"
count = 2
from = "left"
to = "right"
scheme = "udp"
workload = { kind = "telnet", packet = "1000 B", gap = "1 ms" }
[[flow]]
name = "bold"
from = "left"
to = "right"
scheme = { base = "newreno", segment = "1000 B" }
"#;

/// Returns the spec and result of a run of [`SCENARIO`] with these `series`.
fn run_scenario(series: Vec<Series>) -> (Spec, RunResult) {
    let loaded = load_text("sample.toml", SCENARIO, Path::new("."), &[]).unwrap();
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, NoTrace) = simulation.finish();
    (loaded.spec().clone(), RunResult { series, ..result })
}

#[test]
fn changes_are_events_in_the_units_of_the_draft() {
    let at = |millis: u64| Time::from_picos(millis * 1_000_000_000);
    let of_bold = |quantity, points| Series { quantity, subject: 2, points };
    let (spec, result) = run_scenario(vec![
        of_bold(Quantity::Window, vec![(at(0), 10.0), (at(100), 12.5)]),
        of_bold(Quantity::Rtt, vec![(at(0), 0.0), (at(100), 0.0205), (at(200), 0.0205), (at(300), 0.03)]),
    ]);
    let bytes = write_qlog(Vec::new(), "a \"b\"", &spec, &result, &QlogPackets::new(0)).unwrap();
    let qlog: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((&qlog["qlog_version"], &qlog["title"]), (&json!("0.3"), &json!("a \"b\"")));
    assert_eq!(qlog["traces"].as_array().unwrap().len(), 1, "only the flow with a window and series");
    let trace = &qlog["traces"][0];
    assert_eq!((&trace["title"], &trace["vantage_point"]["type"]), (&json!("bold"), &json!("client")));
    let event = |time, data| json!({"time": time, "name": "recovery:metrics_updated", "data": data});
    assert_eq!(
        trace["events"],
        json!([
            event(json!(0), json!({"congestion_window": 10_000})),
            event(json!(100), json!({"congestion_window": 12_500, "smoothed_rtt": 20.5})),
            event(json!(300), json!({"smoothed_rtt": 30})),
        ])
    );
}

/// Records a step of a packet of the first flow; `at` is in milliseconds.
fn step(at: u64, step: Step, backward: bool, serial: u32, pdu: &Pdu) -> Record<'_> {
    Record {
        time: Time::from_picos(at * 1_000_000_000),
        step,
        link_direction: u32::MAX,
        packet: PacketId { connection: 0, incarnation: 0, backward, serial, router: None },
        flow: 0,
        reply: false,
        ecn: Ecn::NotEct,
        size: if backward { 40 } else { 1040 },
        pdu,
    }
}

fn segment(sequence: u64) -> Pdu {
    Pdu::Window(window::Pdu::Segment(Segment::new(sequence, Length(1000))))
}

fn ack(cumulative: u64, held: u32) -> Pdu {
    let mut ack = Ack { cumulative, ..Ack::default() };
    ack.sack[0] = SackBlock { start: 1000, end: 1000 + held };
    Pdu::Window(window::Pdu::Ack(ack))
}

/// Records three segments; the second is lost, detected and retransmitted.
fn recovery(max: usize) -> QlogPackets {
    let mut packets = QlogPackets::new(max);
    let segments = [0, 1000, 2000].map(segment);
    let acks = [ack(1000, 0), ack(1000, 1000), ack(3000, 0)];
    let steps = [
        step(0, Step::Sent, false, 0, &segments[0]),
        step(1, Step::Sent, false, 1, &segments[1]),
        step(2, Step::Sent, false, 2, &segments[2]),
        step(5, Step::Delivered, false, 0, &segments[0]),
        step(5, Step::Sent, true, 0, &acks[0]),
        step(6, Step::Lost, false, 1, &segments[1]),
        step(7, Step::Delivered, false, 2, &segments[2]),
        step(7, Step::Sent, true, 1, &acks[1]),
        step(10, Step::Delivered, true, 0, &acks[0]),
        step(12, Step::Delivered, true, 1, &acks[1]),
        step(13, Step::Sent, false, 3, &segments[1]),
        step(18, Step::Delivered, false, 3, &segments[1]),
        step(18, Step::Sent, true, 2, &acks[2]),
        step(23, Step::Delivered, true, 2, &acks[2]),
    ];
    steps.iter().for_each(|record| packets.record(record));
    packets
}

fn written_events(packets: &QlogPackets) -> Value {
    let (spec, result) = run_scenario(Vec::new());
    let bytes = write_qlog(Vec::new(), "t", &spec, &result, packets).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn packets_are_sent_acknowledged_and_lost() {
    let qlog = written_events(&recovery(100));
    let trace = &qlog["traces"][0];
    assert_eq!(trace["title"], json!("shy.1"));
    let header = |number: u64| json!({"packet_type": "1RTT", "packet_number": number});
    let stream =
        |offset: u64| json!([{"frame_type": "stream", "stream_id": 0, "offset": offset, "length": 1000}]);
    let sent = |time: u64, number, offset| {
        let data = json!({"header": header(number), "raw": {"length": 1040}, "frames": stream(offset)});
        json!({"time": time, "name": "transport:packet_sent", "data": data})
    };
    let received = |time: u64, number, ranges: Value| {
        let frames = json!([{"frame_type": "ack", "acked_ranges": ranges}]);
        let data = json!({"header": header(number), "raw": {"length": 40}, "frames": frames});
        json!({"time": time, "name": "transport:packet_received", "data": data})
    };
    let lost = json!({"header": header(1), "frames": stream(1000)});
    assert_eq!(
        trace["events"],
        json!([
            sent(0, 0, 0),
            sent(1, 1, 1000),
            sent(2, 2, 2000),
            received(10, 0, json!([[0, 0]])),
            received(12, 1, json!([[2, 2]])),
            {"time": 13, "name": "recovery:packet_lost", "data": lost},
            sent(13, 3, 1000),
            // Packet 3 delivered the data: packet 1 is not acknowledged.
            received(23, 2, json!([[3, 3]])),
        ])
    );
}

#[test]
fn events_beyond_the_limit_are_dropped_and_reported() {
    let packets = recovery(4);
    assert_eq!(packets.truncated_at(), Some(Time::from_picos(5_000_000_000)));
    let qlog = written_events(&packets);
    assert_eq!(qlog["traces"][0]["events"].as_array().unwrap().len(), 3);
    assert_eq!(qlog["description"], json!("thalweg, seed 7, packets until 0.005 s"));
    assert_eq!(recovery(100).truncated_at(), None);
}

/// Two transfers of a segment each, by connections with the same number; the first segment of the first one arrives twice.
#[test]
fn each_connection_is_a_trace() {
    let mut packets = QlogPackets::new(100);
    let (data, acknowledged) = (segment(0), ack(1000, 0));
    let of = |incarnation: u16, at, of_step, backward, serial, pdu| {
        let record = step(at, of_step, backward, serial, pdu);
        Record { packet: PacketId { incarnation, ..record.packet }, ..record }
    };
    let steps = [
        of(u16::MAX, 0, Step::Sent, false, 0, &data),
        of(u16::MAX, 5, Step::Delivered, false, 0, &data),
        of(u16::MAX, 5, Step::Sent, true, 0, &acknowledged),
        of(u16::MAX, 10, Step::Delivered, true, 0, &acknowledged),
        of(0, 20, Step::Sent, false, 1, &data),
        of(u16::MAX, 21, Step::Delivered, false, 0, &data),
        of(u16::MAX, 21, Step::Delivered, true, 0, &acknowledged),
        of(0, 25, Step::Delivered, false, 1, &data),
        of(0, 25, Step::Sent, true, 1, &acknowledged),
        of(0, 30, Step::Delivered, true, 1, &acknowledged),
    ];
    steps.iter().for_each(|record| packets.record(record));
    let qlog = written_events(&packets);
    let traces = qlog["traces"].as_array().unwrap();
    let titles: Vec<&Value> = traces.iter().map(|trace| &trace["common_fields"]["group_id"]).collect();
    assert_eq!(titles, ["shy.1, transfer 1", "shy.1, transfer 2"]);
    for (trace, start) in traces.iter().zip([0, 20]) {
        let events = trace["events"].as_array().unwrap();
        let figures = events.iter().map(|event| {
            let frame = &event["data"]["frames"][0];
            (event["time"].as_u64().unwrap(), frame["offset"].clone(), frame["acked_ranges"].clone())
        });
        assert_eq!(
            figures.collect::<Vec<_>>(),
            [(start, json!(0), Value::Null), (start + 10, Value::Null, json!([[0, 0]]))],
            "no loss, and no event of a late packet"
        );
    }
}

/// Returns what a log and a capture show of a flow with `workload`, beside a flow of UDP.
fn logged_and_captured(workload: &str) -> [Trace; 2] {
    let text = format!(
        "duration = \"4 s\"\nwarmup = \"0 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 MB\"\n\
         [[flow]]\nname = \"web\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\nworkload = {workload}\n\
         [[flow]]\nname = \"voice\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\nworkload = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n"
    );
    let loaded = load_text("web.toml", &text, Path::new("."), &[]).unwrap();
    let tracer = (QlogPackets::new(2_000_000), Capture::new(Vec::new(), Point::Source).unwrap());
    let mut simulation = Simulation::new(loaded.spec(), tracer).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, (packets, capture)) = simulation.finish();
    let log = write_qlog(Vec::new(), "", loaded.spec(), &result, &packets).unwrap();
    [log, capture.finish().unwrap()].map(|file| thalweg_trace::read(&mut &*file, &Limits::default()).unwrap())
}

/// Connections of a log and a capture have equal figures; the log of a sender of UDP has no delivered bytes.
#[test]
fn a_log_shows_the_same_transfers_as_a_capture() {
    for workload in [
        "{ kind = \"list\", transfers = \"1 0s 100kB; 1 1s 100kB; 1 1.01s 100kB; 1 2s 300kB\" }",
        "{ kind = \"poisson\", load = \"30 %\", size = \"50 kB\" }",
    ] {
        let traces = logged_and_captured(workload);
        let [logged, captured] = traces.each_ref().map(|trace| {
            let summaries = trace.connections.iter().map(|of| Summary::from_connection(of, 0));
            let figures = summaries.filter_map(|of| {
                let micros = of.rtt?.min.as_secs_f64() * 1e6;
                Some((of.packets, of.delivered, of.retransmitted_share, (micros / 10.0).round()))
            });
            figures.collect::<Vec<_>>()
        });
        assert!(logged.len() >= 4 && logged.iter().all(|of| of.2 == Some(0.0)), "{workload}: {logged:?}");
        assert_eq!(logged, captured, "{workload}");
        let voice = traces[0].connections.last().unwrap();
        let of_voice = Summary::from_connection(voice, 0);
        assert_eq!((voice.name.as_str(), of_voice.delivered, of_voice.goodput), ("voice", None, None));
        assert!(of_voice.packets.is_some_and(|packets| packets > 50), "{of_voice:?}");
    }
}
