//! Tests two-level flow control in simulation against its analysis, the simulator against the paper's own model, and
//! the three acknowledgement strategies after a single loss.

use std::path::{Path, PathBuf};
use std::process::Command;
use thalweg_capture::pcap::{Capture, Point};
use thalweg_proto::sstp::{
    Acknowledgement, Evicted, RateSpec, ReceiverConfig, Resume, SenderConfig, Tolerance,
};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_scenario::load;
use thalweg_sim::packet_trace::{NoTrace, Tracer};
use thalweg_sim::{Quantity, RunResult, Simulation, Status};
use thalweg_studies::model::black_box_connection::{BlackBox, BlackBoxMeasurements, Losses};
use thalweg_studies::model::gong92::{self, Form};

const RATE: Rate = Rate::from_mbits_per_sec(100);
const RTD: Duration = Duration::from_millis(30);

/// Returns the paper's model with segments of 16 packets of 1024 bytes.
fn black_box_model(window: u16, buffer: u16, acknowledgement: Acknowledgement, losses: Losses) -> BlackBox {
    let rate = RateSpec::with_average(RATE, RATE, 16, Bytes::new(1024)).unwrap();
    let sender = SenderConfig {
        segment_packets: 16,
        max_payload: 1006,
        rate,
        resume: Resume::AtOnce,
        window,
        soft: acknowledgement.is_soft(),
    };
    let receiver = ReceiverConfig {
        segment_packets: 16,
        max_payload: 1006,
        window,
        buffer,
        acknowledgement,
        tolerance: Tolerance::Packets(0),
        reordering: 0,
        repeat: RTD,
        wait_for_consumption: false,
    };
    let warmup = Duration::from_millis(150);
    BlackBox { sender, receiver, round_trip: RTD, losses, seed: 1, packets: 1_000_000, warmup }
}

/// Runs the paper's model.
fn black_box(
    window: u16,
    buffer: u16,
    acknowledgement: Acknowledgement,
    losses: Losses,
) -> BlackBoxMeasurements {
    black_box_model(window, buffer, acknowledgement, losses).run()
}

#[test]
fn the_efficiency_of_an_empty_run_is_zero() {
    let model = black_box_model(12, 12, Acknowledgement::Hard, Losses::Independent(0.0));
    assert_eq!(BlackBox { packets: 0, ..model }.run().efficiency, 0.0);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn simulate<T: Tracer>(file: &str, sets: &[&str], tracer: T) -> (RunResult, T) {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = load(&folder().join(file), &sets).unwrap();
    let mut simulation = Simulation::new(loaded.spec(), tracer).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish()
}

fn efficiency(file: &str, sets: &[&str]) -> f64 {
    simulate(file, sets, NoTrace).0.flows[0].throughput.as_f64() / RATE.as_f64()
}

/// Section 4.2 against simulation: efficiency within 4.5 points for p up to 1e-2, mean delay within a hundredth.
#[test]
fn simulation_and_analysis_agree() {
    let path = gong92::Path { rate: RATE, round_trip: RTD, packet: Bytes::new(1024), segment: 16 };
    for p in [1e-4, 1e-3, 1e-2] {
        for window in [12, 25, 35, 46, 58] {
            let measured = black_box(window, window, Acknowledgement::Hard, Losses::Independent(p));
            let analysis = path.analyse(p, f64::from(window), Form::Corrected).unwrap();
            let above = analysis.efficiency - measured.efficiency;
            assert!(
                (-0.015..0.045).contains(&above),
                "{p}, {window}: {} and {}",
                analysis.efficiency,
                measured.efficiency
            );
            if window == 58 {
                let ratio = measured.mean_delay.as_secs_f64() / analysis.receiver_delay;
                assert!((ratio - 1.0).abs() < 0.01, "{p}: {ratio}");
            }
        }
    }
    // Without losses the delay of a segment is its transmission time and half a round trip.
    let clean = black_box(58, 58, Acknowledgement::Hard, Losses::Independent(0.0));
    assert_eq!(clean.max_delay, Duration::from_nanos(15_000_000 + 16 * 81_920));
    assert!((clean.efficiency - 1.0).abs() < 1e-3, "{}", clean.efficiency);
}

/// The simulator with a link, a queue and a control channel matches the paper's black box.
#[test]
fn the_simulator_agrees_with_the_black_box() {
    for (word, acknowledgement, window, buffer) in [
        ("hard", Acknowledgement::Hard, 58, 12),
        ("soft", Acknowledgement::Soft(Evicted::All), 58, 12),
        ("firm", Acknowledgement::Firm, 58, 23),
        ("hard", Acknowledgement::Hard, 25, 25),
    ] {
        let measured = black_box(window, buffer, acknowledgement, Losses::Independent(1e-3));
        let sets = [
            "duration=82 s".to_owned(),
            format!("scheme.sstp.acknowledgement={word}"),
            format!("scheme.sstp.window={window} seg"),
            format!("scheme.sstp.buffer={buffer} seg"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let simulated = efficiency("papers/gong92/black-box.toml", &sets);
        assert!(
            (simulated - measured.efficiency).abs() < 0.02,
            "{word}: {simulated} and {}",
            measured.efficiency
        );
    }
}

/// Section 4.3.3, the pathology: after a single loss soft acknowledgement evicts and requests segments forever.
#[test]
fn soft_acknowledgement_never_recovers_from_one_loss() {
    for (buffer, steady) in [(6, 0.275), (12, 0.552), (23, 0.921)] {
        let soft = Acknowledgement::Soft(Evicted::All);
        let measured = black_box(58, buffer, soft, Losses::Single(20_000));
        assert!(measured.efficiency_series[0] > 0.5);
        for &part in &measured.efficiency_series[2..] {
            assert!((part - steady).abs() < 0.01, "{buffer}: {:?}", measured.efficiency_series);
        }
        assert_eq!(measured.receiver.gaps, 1, "one packet was lost");
        assert!(measured.evictions > 2_000 && measured.sender.common.retransmissions > 2_000);
        for other in [Acknowledgement::Hard, Acknowledgement::Firm] {
            let measured = black_box(58, buffer, other, Losses::Single(20_000));
            assert!(
                measured.efficiency_series[2..].iter().all(|&part| part > 0.999),
                "{other:?}: {:?}",
                measured.efficiency_series
            );
        }
    }
    // The same from the scenario file, for inspection.
    let file = "soft-acknowledgement.toml";
    assert!((efficiency(file, &[]) - 0.56).abs() < 0.02, "{}", efficiency(file, &[]));
    assert!(efficiency(file, &["scheme.sstp.acknowledgement=firm"]) > 0.999);
}

/// The scenario behaves as described in docs/gallery.md: withheld windows keep a whole window unread, W1 = F1/F·W0 a
/// fifth of it, part of it in flight. The rate is that of the application, and nothing is retransmitted.
#[test]
fn a_slow_reader_gets_a_smaller_window() {
    let (result, _) = simulate("slow-reader.toml", &[], NoTrace);
    let flow = &result.flows[0];
    assert_eq!((flow.retransmissions, flow.timeouts), (0, 0));
    let points = |quantity: Quantity, from: f64, to: f64| {
        let series = result.series.iter().find(|series| series.quantity == quantity).unwrap();
        let within = series.points.iter().filter(move |(at, _)| (from..to).contains(&at.as_secs_f64()));
        within.map(|&(_, value)| value)
    };
    let mean = |quantity, from, to| {
        points(quantity, from, to).sum::<f64>() / points(quantity, from, to).count() as f64
    };
    let segment = 16.0 * 1454.0;
    let max = |from, to| points(Quantity::Unread, from, to).fold(0.0, f64::max) / segment;
    // W0 is 2.5 w_a = 40 segments; W1 is 20 Mbit/s over 96.9 Mbit/s of payload of it, rounded up.
    assert!((35.0..=40.0).contains(&max(4.5, 8.0)), "{}", max(4.5, 8.0));
    assert!((4.0..=9.0).contains(&max(10.5, 14.0)), "{}", max(10.5, 14.0));
    for (from, to) in [(4.5, 8.0), (10.5, 13.9)] {
        assert!((mean(Quantity::Goodput, from, to) / 20e6 - 1.0).abs() < 0.01);
    }
    for (from, to) in [(1.0, 2.0), (2.2, 4.0), (8.2, 10.0), (14.2, 16.0)] {
        assert!(mean(Quantity::Goodput, from, to) > 96e6 && max(from, to) < 0.1);
        assert!(points(Quantity::Window, from, to).all(|window| window == 640.0));
    }
    // The short pause: the window falls, and recovers with the application.
    assert!(points(Quantity::Window, 2.0, 2.1).fold(640.0, f64::min) < 400.0);
    let held = flow.limits[Limit::ReceiverWindow.index()].as_secs_f64();
    assert!((5.5..8.0).contains(&held), "{held}");
}

/// Missing packets are counted individually: with 1000 segments of 16 packets, up to two of them missing, delivered
/// data and holes add up to all written data. Tolerance avoids most retransmissions.
#[test]
fn holes_are_counted_and_make_up_what_was_not_delivered() {
    let sets = [
        "duration=20 s",
        "warmup=0 s",
        "flow.stream.workload=16096 kB",
        "link.box.loss=0.01",
        "scheme.sstp.buffer=58 seg",
    ];
    let flow = |tolerance: &str| {
        let tolerance = format!("scheme.sstp.loss-tolerance={tolerance}");
        simulate("papers/gong92/black-box.toml", &[&sets[..], &[&tolerance]].concat(), NoTrace)
            .0
            .flows
            .remove(0)
    };
    let (strict, tolerant) = (flow("0"), flow("0.125"));
    let counts = *strict.two_level.as_deref().unwrap();
    assert_eq!((counts.incomplete, counts.holes, counts.refused, counts.evictions), (0, 0, 0, 0));
    assert_eq!(strict.delivered.get(), 16_096_000);
    let counts = *tolerant.two_level.as_deref().unwrap();
    assert_eq!(tolerant.delivered.get() + 1006 * counts.holes, 16_096_000);
    // Of 16 packets one or two are lost with probability 0.149 each time.
    assert!((110..=190).contains(&counts.incomplete), "{counts:?}");
    assert!((counts.incomplete..=2 * counts.incomplete).contains(&counts.holes), "{counts:?}");
    // Three or more are lost in one of two thousand segments.
    assert!(tolerant.retransmissions < 20 && strict.retransmissions > 120, "{}", tolerant.retransmissions);
    assert!(tolerant.finished.unwrap() < strict.finished.unwrap());
    // Counts from before the end of the warm-up are excluded, except peaks.
    let later = simulate(
        "papers/gong92/black-box.toml",
        &[
            "duration=20 s",
            "flow.stream.workload=16096 kB",
            "link.box.loss=0.01",
            "scheme.sstp.buffer=58 seg",
            "warmup=500 ms",
            "scheme.sstp.loss-tolerance=0.125",
        ],
        NoTrace,
    );
    let later = *later.0.flows[0].two_level.as_deref().unwrap();
    assert!(later.holes < counts.holes && later.incomplete < counts.incomplete);
    assert_eq!(
        (later.sender_segments, later.receiver_bytes),
        (counts.sender_segments, counts.receiver_bytes)
    );
}

/// Buffers respect their limits, and refused data is counted.
#[test]
fn buffer_use_and_refused_data_are_counted() {
    let counts = |acknowledgement: &str, buffer: &str| {
        let sets = [
            format!("scheme.sstp.acknowledgement={acknowledgement}"),
            format!("scheme.sstp.buffer={buffer}"),
            "duration=5 s".to_owned(),
            "link.box.loss=0.001".to_owned(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        *simulate("papers/gong92/black-box.toml", &sets, NoTrace).0.flows[0].two_level.as_deref().unwrap()
    };
    // 58 segments of 16 packets with 1006 bytes of payload.
    let bytes = |segments: u64| Bytes::new(segments * 16 * 1006);
    let (hard, soft, firm) = (counts("hard", "6 seg"), counts("soft", "6 seg"), counts("firm", "58 seg"));
    assert!(hard.refused > 0 && hard.evictions == 0, "{hard:?}");
    assert!(soft.refused > 0 && soft.evictions > 0, "{soft:?}");
    assert_eq!((firm.refused, firm.evictions), (0, 0));
    for (counts, limit) in [(hard, 6), (soft, 6), (firm, 58)] {
        assert!(
            counts.receiver_segments <= limit && counts.receiver_bytes <= bytes(u64::from(limit)),
            "{counts:?}"
        );
        assert!(counts.sender_segments <= 58 && counts.sender_bytes <= bytes(58), "{counts:?}");
        assert!(counts.sender_segments > 23, "less than a round trip: {counts:?}");
        assert_eq!(counts.incomplete + counts.holes, 0);
    }
    assert_eq!((hard.receiver_segments, soft.receiver_segments), (6, 6));
    assert!(firm.receiver_segments > 23, "a repair takes a round trip: {firm:?}");
}

/// Hard acknowledgement may also remain in disorder after a period of heavy losses; firm acknowledgement does not.
#[test]
fn firm_acknowledgement_recovers_where_hard_does_not() {
    let after = |acknowledgement, p| {
        let measured = black_box(58, 6, acknowledgement, Losses::Spell(p, 100_000));
        measured.efficiency_series[10..].iter().sum::<f64>() / 10.0
    };
    for p in [1e-2, 1e-1] {
        assert!(after(Acknowledgement::Firm, p) > 0.999, "{p}");
        assert!(after(Acknowledgement::Hard, p) < 0.7, "{p}: the seed is one for which hard gets stuck");
    }
}

/// Returns the fields that tshark finds in a capture with a dissector of the folder `contrib`.
fn dissected_fields(name: &str, capture: &[u8], options: &[&str], fields: &[&str]) -> Option<Vec<String>> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return None;
    }
    let file = std::env::temp_dir().join(format!("thalweg-{name}-{}.pcap", std::process::id()));
    std::fs::write(&file, capture).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../contrib/{name}.lua"));
    let mut tshark = Command::new("tshark");
    tshark.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(&file).args(options);
    tshark.args(["-n", "-T", "fields", "-E", "separator=|"]);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(text.lines().map(str::to_owned).collect())
}

/// The dissector decodes every packet of a lossy run, accepts all checksums, and rejects a damaged packet.
#[test]
fn wireshark_understands_two_level_flow_control() {
    let capture = Capture::new(Vec::new(), Point::Source).unwrap().snapshot(65_535);
    let sets = ["duration=400 ms", "warmup=0 s", "flow.stream.workload=1 MB", "link.box.loss=0.01"];
    let capture = simulate("papers/gong92/black-box.toml", &sets, capture).1;
    let packets = capture.packets() as usize;
    let mut bytes = capture.finish().unwrap();
    let fields = [
        "_ws.col.Protocol",
        "sstp92.type",
        "sstp92.shipment",
        "sstp92.segment",
        "sstp92.packet",
        "sstp92.limit",
        "sstp92.missing",
        "sstp92.checksum.status",
        "sstp92.malformed",
    ];
    let Some(lines) = dissected_fields("sstp", &bytes, &[], &fields) else { return };
    assert_eq!(lines.len(), packets);
    assert!(lines.iter().all(|line| line.starts_with("SSTP|") && line.ends_with("|1|")), "{lines:?}");
    assert_eq!(lines[0], "SSTP|0|0|0|0|||1|");
    assert_eq!(lines[17], "SSTP|0|17|1|1|||1|");
    for kind in ["0", "2", "3", "4"] {
        assert!(lines.iter().any(|line| line.split('|').nth(1) == Some(kind)), "no packet of type {kind}");
    }
    // A request names packets of a segment, and those are retransmitted.
    let request = lines.iter().find(|line| line.starts_with("SSTP|4|")).unwrap();
    let wanted = request.split('|').nth(6).unwrap();
    assert!(wanted.split(',').all(|packet| packet.parse::<u16>().unwrap() < 16), "{request}");
    // Damage in the first packet's data.
    bytes[24 + 16 + 28 + 100] ^= 1;
    let lines = dissected_fields("sstp", &bytes, &[], &fields).unwrap();
    assert!(lines[0].contains("|0|") && lines[0].starts_with("SSTP|0|0|0|0|||0"), "{}", lines[0]);
}

/// The same for adaptive acknowledgement.
#[test]
fn wireshark_understands_adaptive_acknowledgement() {
    let capture = Capture::new(Vec::new(), Point::Source).unwrap().snapshot(65_535);
    let capture = simulate("cluster.toml", &["duration=100 ms", "warmup=0 s"], capture).1;
    let packets = capture.packets() as usize;
    let bytes = capture.finish().unwrap();
    let fields = ["_ws.col.Protocol", "aack.type", "aack.sequence", "aack.cumulative", "aack.malformed"];
    let Some(lines) = dissected_fields("adaptive-ack", &bytes, &["-d", "udp.port==5001,aack"], &fields)
    else {
        return;
    };
    assert_eq!(lines.len(), packets);
    assert!(lines.iter().all(|line| line.starts_with("AACK|") && line.ends_with('|')), "{:?}", &lines[..9]);
    assert_eq!(lines[0], "AACK|1|1||");
    assert!(lines.iter().any(|line| line.starts_with("AACK|2||") && !line.ends_with("||")), "no report");
}
