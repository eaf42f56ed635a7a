//! Tests of path inference from recordings of known paths.

use super::inferred_scenario::{InferredScenario, write_inferred_scenario};
use super::{Losses, Packet, Path, Recording, RecordingError};
use thalweg_capture::qlog::{LiveLog, Metrics};
use thalweg_catalog::{Environment, Kind, PathHints, Registry, SCHEMES, Value};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_scenario::load_text;

/// Returns the recording of a sender that keeps a queue of `queue` seconds filled on a path of 12 Mbit/s and 40 ms,
/// with a packet of 1500 bytes every millisecond. `lost` decides the loss of a packet; `rate` is the path's speed-up
/// over time.
fn recorded(queue: f64, lost: impl Fn(u64) -> bool, rate: impl Fn(f64) -> f64) -> Recording {
    let mut log = LiveLog::default();
    let mut events: Vec<(f64, u64)> = Vec::new();
    let (mut now, mut number) = (0.0, 0);
    let at = |seconds: f64| Time::ZERO + Duration::from_secs_f64(seconds);
    while now < 20.0 {
        while let Some((time, sent)) = events.first().copied().filter(|(time, _)| *time <= now) {
            events.remove(0);
            if lost(sent) {
                log.lost(at(time), sent);
            } else {
                log.acknowledged(at(time), [(sent, sent)].into());
            }
        }
        log.sent(at(now), 1500, Some(number * 1460), 1460);
        // The queue fills in the first seconds.
        let waits = queue * (now / 2.0).min(1.0);
        events.push((now + 0.04 + waits, number));
        number += 1;
        now += 0.001 / rate(now);
    }
    let metrics = Metrics { window: Some(1e5), in_flight: 1e4, smoothed_rtt: None, pacing_rate: None };
    log.metrics(at(now), &metrics);
    let mut file = Vec::new();
    log.write(&mut file, "test", "cubic:initial-window=20pkt").unwrap();
    Recording::read(&file).unwrap()
}

fn within(rate: Rate, megabits: f64, share: f64) {
    assert!((rate.as_f64() / 1e6 / megabits - 1.0).abs() < share, "{rate}");
}

#[test]
fn a_steady_path_is_found() {
    let recording = recorded(0.02, |_| false, |_| 1.0);
    let path = Path::infer(&recording).unwrap();
    within(path.rate, 12.0, 0.02);
    assert!((path.round_trip.as_millis_f64() - 40.0).abs() < 0.1);
    assert_eq!((path.losses, path.was_filled, path.trace.clone()), (Losses::Independent(0.0), true, None));
    assert_eq!(path.simulated_rate, path.rate);
    // 20 ms at 12 Mbit/s are 30 kB; the bandwidth-delay product is 60 kB, and nothing was dropped.
    assert!((28_000..31_000).contains(&path.queue.get()), "{:?}", path.queue);
    assert!((55_000..65_000).contains(&path.simulated_queue.get()), "{:?}", path.simulated_queue);
    let text =
        write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default()).unwrap().text;
    assert!(!text.contains("or more"), "{text}");
    let loaded = load_text("as-recorded.toml", &text, std::path::Path::new(""), &[]);
    assert!(loaded.is_ok(), "{text}");
}

#[test]
fn random_and_burst_losses_are_distinguished() {
    let mut rng = RandomStream::new(1, "losses", 0);
    let chance: Vec<bool> = (0..30_000).map(|_| rng.chance(0.02)).collect();
    let path = Path::infer(&recorded(0.0, |number| chance[number as usize], |_| 1.0)).unwrap();
    let Losses::Independent(share) = path.losses else { panic!("{:?}", path.losses) };
    assert!((0.017..0.023).contains(&share), "{share}");
    // Nothing was queued: the rate is the sending rate, and the result marks it as a lower bound.
    assert!(!path.was_filled);
    within(path.rate, 12.0, 0.05);

    let path = Path::infer(&recorded(0.0, |number| number % 400 < 8, |_| 1.0)).unwrap();
    let Losses::Gilbert { good_to_bad, bad_to_good } = path.losses else { panic!("{:?}", path.losses) };
    assert!((bad_to_good - 0.125).abs() < 0.002, "{bad_to_good}");
    assert!((good_to_bad / (good_to_bad + bad_to_good) - 0.02).abs() < 0.002);
}

#[test]
fn queue_drops_are_not_counted_as_link_loss() {
    // Losses only when the queue of 60 ms is full.
    let path = Path::infer(&recorded(0.06, |number| number > 3000 && number % 50 == 0, |_| 1.0)).unwrap();
    assert!(path.queue_was_full && path.overflows > 300, "{path:?}");
    assert_eq!(path.losses, Losses::Independent(0.0));
    assert!((80_000..95_000).contains(&path.queue.get()), "{:?}", path.queue);
}

/// Link losses coincide with long round trips by chance, on a path that was never filled.
#[test]
fn no_queue_is_inferred_for_a_path_never_filled() {
    let recording = recorded(0.0, |number| number % 90 == 0, |_| 1.0);
    let mut recording = recording;
    for (number, packet) in recording.packets.iter_mut().enumerate() {
        // Nearly every 90th packet is answered 10 ms late, as by a busy host.
        if number % 90 >= 88 {
            packet.acknowledged = packet.acknowledged.map(|at| at + 0.01);
        }
    }
    let path = Path::infer(&recording).unwrap();
    assert!(!path.was_filled && !path.queue_was_full, "{path:?}");
    // The scenario file alone marks it as a lower bound, too.
    let text =
        write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default()).unwrap().text;
    for (key, comment) in [("rate = ", "# an assumption"), ("queue = ", "# an assumption")] {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(line.contains(comment), "{line}");
    }
    let Losses::Independent(share) = path.losses else { panic!("{:?}", path.losses) };
    assert!((share - 1.0 / 90.0).abs() < 0.001 && path.overflows == 0, "{path:?}");
}

/// A host that answers late at times, when the sender sends little, shows no queue: the path has carried more without one.
#[test]
fn late_answers_are_no_busy_path() {
    let is_slow = |now: f64| (now as u64) % 8 == 7;
    let mut recording = recorded(0.0, |_| false, |now| if is_slow(now) { 0.2 } else { 1.0 });
    assert!(!Path::infer(&recording).unwrap().was_filled);
    for packet in recording.packets.iter_mut().filter(|packet| is_slow(packet.sent_at)) {
        packet.acknowledged = packet.acknowledged.map(|at| at + 0.01);
    }
    let path = Path::infer(&recording).unwrap();
    assert!(!path.was_filled && path.trace.is_none(), "{path:?}");
    within(path.rate, 12.0, 0.02);
}

#[test]
fn a_rate_that_varies_becomes_a_trace() {
    let recording = recorded(0.05, |_| false, |now| if (now as u64) % 4 < 2 { 1.0 } else { 3.0 });
    let path = Path::infer(&recording).unwrap();
    let trace = path.trace.as_ref().expect("it varies");
    trace.check().unwrap();
    within(trace.mean_rate(), 24.0, 0.1);
    let text =
        write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default()).unwrap().text;
    assert!(text.contains("trace = \"path.trace\""), "{text}");
}

/// At the beginning of a recording of ours, packets are small until the path's packet size is known, and an acknowledgement covers two. Of the
/// shortest round trip, what these take is not delay of the path; and simulated packets, all of the full size, take longer.
#[test]
fn the_first_packets_of_a_recording_are_smaller() {
    // 80 ms of delay at 480 kbit/s, with acknowledgements of two packets.
    let sizes = |number: usize| if number < 8 { 600 } else { 1500 };
    let (mut free, mut packets) = (0.0_f64, Vec::new());
    for pair in 0..200 {
        let sent = if pair == 0 { 0.0 } else { free + 0.01 };
        let both = [2 * pair, 2 * pair + 1].map(sizes);
        free = free.max(sent) + f64::from(both.iter().sum::<u32>()) * 8.0 / 480e3;
        packets.extend(both.map(|size| Packet {
            sent_at: sent,
            size,
            length: size - 52,
            acknowledged: Some(free + 0.08),
            ..Packet::default()
        }));
    }
    let scheme = "cubic:delayed-ack=true".to_owned();
    let recording = Recording { scheme, packets, seconds: free + 0.08, ..Recording::default() };
    let mut path = Path::infer(&recording).unwrap();
    assert!((path.round_trip.as_millis_f64() - 100.0).abs() < 0.01, "{path:?}");
    path.rate = Rate::from_bits_per_sec(480_000);
    path.simulated_rate = path.rate;
    let registry = Registry::default();
    let scenario =
        |of: &Recording| write_inferred_scenario(of, &path, "path.trace", None, &registry).unwrap();
    let InferredScenario { text, more_transmission: more } = scenario(&recording);
    assert!(text.contains("delay = \"40000 us\""), "{text}");
    // Two packets of 1500 bytes take 50 ms, two of 600 bytes 20 ms.
    assert!((more.as_millis_f64() - 30.0).abs() < 0.01, "{more:?}");
    let immediate = Recording { scheme: "cubic:delayed-ack=false".to_owned(), ..recording };
    let more = scenario(&immediate).more_transmission;
    assert!((more.as_millis_f64() - 5.0).abs() < 0.01, "{more:?}");
}

/// An explicit RTO floor sets the margin too, and an option switched off has no keys.
#[test]
fn options_of_real_endpoints_are_simulated() {
    let steady = recorded(0.02, |_| false, |_| 1.0);
    let path = Path::infer(&steady).unwrap();
    let recording = Recording { scheme: "newreno:rto.floor=150ms,delayed-ack=false".to_owned(), ..steady };
    let text =
        write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default()).unwrap().text;
    for line in ["rto.floor = \"150 ms\"", "rto.margin = \"150 ms\"", "delayed-ack = false"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert!(!text.contains("delayed-ack.every"), "{text}");
    let unknown = Recording { scheme: "qubic".to_owned(), ..recording };
    assert!(write_inferred_scenario(&unknown, &path, "path.trace", None, &Registry::default()).is_err());
}

/// Guards against a second list of schemes: for every scheme, the live text, the recording of it and the scenario have
/// the same configuration, except for differences in the description. Explicit options are kept.
#[test]
fn every_scheme_is_the_same_live_recorded_and_simulated() {
    let steady = recorded(0.02, |_| false, |_| 1.0);
    let path = Path::infer(&steady).unwrap();
    let hints = PathHints { rate: Some(path.rate), rtt: Some(path.round_trip), ..PathHints::default() };
    for description in SCHEMES {
        let mut live = description.empty_values(Environment::Live);
        (description.apply_path_hints)(&mut live, &hints);
        let message: Vec<String> =
            live.explicit_values().iter().map(|(key, value)| format!("{}={value}", key.name)).collect();
        let separator = if message.is_empty() { "" } else { ":" };
        let text = format!("{}{separator}{}", description.name, message.join(",")).replace(' ', "");
        let (found, read) = Registry::default().read_scheme(&text, Environment::Live).unwrap();
        assert_eq!((found.name, &read), (description.name, &live), "{text}");

        let recording = Recording { scheme: text.clone(), ..steady.clone() };
        let scenario = write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default())
            .unwrap()
            .text;
        let loaded = load_text("as-recorded.toml", &scenario, std::path::Path::new(""), &[])
            .unwrap_or_else(|found| panic!("{text}: {}\n{scenario}", found[0].render()));
        let is_of_marks = |found: &&thalweg_scenario::Diagnostic| found.code == "scenario.marks";
        let warning = loaded
            .warnings
            .iter()
            .find(is_of_marks)
            .filter(|_| !matches!(description.name, "dctcp" | "prague"));
        assert!(
            warning.is_none(),
            "{text}: {}",
            warning.map(thalweg_scenario::Diagnostic::render).unwrap_or_default()
        );
        let written = thalweg_scenario::expand_scenario(&loaded.scenario);
        for key in description.keys.flat().filter(|key| key.is_live() && key.is_simulated()) {
            let Some(value) = live.get(key.name).filter(|_| key.name != "segment") else { continue };
            let is_off = |name: &str| live.get(name) == Some(Value::Switch(false));
            // Every window scheme lists them, and only some use them.
            let is_unused =
                matches!(key.name, "prr" | "f-rto") || (description.keys.fixed_value)(key.name).is_some();
            // No queue is known to mark.
            let is_moot = is_unused && !written.contains(&format!("\n{} = ", key.name))
                || matches!(key.name, "ecn" | "evicted")
                || key.name.split_once('.').is_some_and(|(table, _)| is_off(table));
            let expected = match key.name.split_once('.') {
                Some((_, short)) => format!("{short} = {}", value.to_toml()),
                None if matches!(key.kind, Kind::Table(_)) => continue,
                None => format!("\n{} = {}\n", key.name, value.to_toml()),
            };
            assert!(is_moot || written.contains(&expected), "{text}: {expected} is not in\n{written}");
        }
    }
}

#[test]
fn files_that_are_no_recording_are_refused_with_what_was_expected() {
    let message = |bytes: &[u8]| Recording::read(bytes).unwrap_err().to_string();
    for bytes in [&b""[..], b"{", b"{}", b"<html>", &[0xff; 40]] {
        let message = message(bytes);
        assert!(message.contains("expected qlog") && message.contains("pcap"), "{message}");
    }
    assert!(message(&[0xd4, 0xc3, 0xb2, 0xa1]).contains("pcap: The file ends within its header"));
    let log = |vantage: &str, event: &str| {
        let text = format!(
            "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"vantage_point\":{{\"type\":\"{vantage}\"}},\"events\":[{event}]}}]}}"
        );
        Recording::read(text.as_bytes()).unwrap_err().to_string()
    };
    let sent = "{\"time\":0,\"name\":\"transport:packet_sent\",\"data\":{\"raw\":{\"length\":9},\"header\":{\"packet_number\":1}}}";
    assert!(log("client", sent).contains("no packet is acknowledged"));
    let received = sent.replace("packet_sent", "packet_received");
    assert!(log("client", &received).contains("at the receiver of the data"));
    assert!(log("client", "").contains("no events"));
    let metrics = "{\"time\":0,\"name\":\"recovery:metrics_updated\",\"data\":{\"cwnd\":9}}";
    assert!(log("client", metrics).contains("no packets with data"));
    // Too few packets for a path.
    let few = of_events(&[("0", SENT, &sent_number("0")), ("1", RECEIVED, &ranges("[0,0]"))]).unwrap();
    assert!(Path::infer(&few).is_err());
}

const SENT: &str = "transport:packet_sent";
const RECEIVED: &str = "transport:packet_received";

fn sent_number(number: &str) -> String {
    format!(
        "{{\"header\":{{\"packet_number\":{number}}},\"raw\":{{\"length\":1500}},\"frames\":[{{\"frame_type\":\"datagram\",\"length\":1460}}]}}"
    )
}

fn ranges(text: &str) -> String {
    format!("{{\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":[{text}]}}]}}")
}

/// Returns a recording with these events, each as (time in ms, name, data).
fn of_events(events: &[(&str, &str, &str)]) -> Result<Recording, RecordingError> {
    let events: Vec<String> = events
        .iter()
        .map(|(time, name, data)| format!("{{\"time\":{time},\"name\":\"{name}\",\"data\":{data}}}"))
        .collect();
    Recording::read(format!("{{\"traces\":[{{\"events\":[{}]}}]}}", events.join(",")).as_bytes())
}

/// Times and numbers out of range leave a recording with finite times, or none.
#[test]
fn numbers_beyond_sense_do_no_harm() {
    let first = sent_number("0");
    let acked = ranges("[0,0]");
    for time in ["1e308", "-1e308", "-1", "6.1e11", "1e20"] {
        let found =
            of_events(&[("0", SENT, &first), ("1", RECEIVED, &acked), (time, SENT, &sent_number("1"))]);
        let recording = found.unwrap();
        let is_finite = |packet: &Packet| packet.sent_at.is_finite() && packet.sent_at >= 0.0;
        assert!(recording.packets.iter().all(is_finite) && recording.seconds.is_finite(), "{time}");
    }
    for number in ["18446744073709551615", "18446744073709551616", "1e308", "-1", "4294967296"] {
        let range = ranges(&format!("[0,{number}]"));
        let _ = of_events(&[("0", SENT, &first), ("1", SENT, &sent_number(number)), ("2", RECEIVED, &range)]);
    }
    // An acknowledgement whose time is before that of its packet counts at the time of the packet.
    let early = [("0", SENT, &*first), ("9", SENT, &sent_number("1")), ("5", RECEIVED, &ranges("[1,1]"))];
    assert_eq!(of_events(&early).unwrap().packets[1].acknowledged, Some(0.009));
}

/// Each of 20,000 acknowledgements covers all packets: 400 million in all, 20,000 of them new.
#[test]
fn acknowledgements_of_the_same_again_cost_nothing() {
    let count = 20_000;
    let mut events: Vec<(String, &str, String)> =
        (0..count).map(|number| (number.to_string(), SENT, sent_number(&number.to_string()))).collect();
    for number in 0..count {
        events.push(((count + number).to_string(), RECEIVED, ranges(&format!("[0,{}]", count - 1))));
    }
    let events: Vec<_> = events.iter().map(|(time, name, data)| (&**time, *name, &**data)).collect();
    let recording = of_events(&events).unwrap();
    assert!(recording.packets.iter().all(|packet| packet.acknowledged == Some(f64::from(count) / 1e3)));
}

/// Events a day apart make a long recording of few packets: inference may fail, but memory stays proportional to the
/// packets.
#[test]
fn a_long_recording_is_no_large_one() {
    let trip = |number: u32| Packet {
        sent_at: f64::from(number) * 20_000.0,
        size: 1500,
        length: 1460,
        acknowledged: Some(f64::from(number) * 20_000.0 + 0.04),
        ..Packet::default()
    };
    let recording =
        Recording { packets: (0..30).map(trip).collect(), seconds: 600_000.0, ..Recording::default() };
    let path = Path::infer(&recording).unwrap();
    assert!((path.round_trip.as_millis_f64() - 40.0).abs() < 0.1, "{path:?}");
}
