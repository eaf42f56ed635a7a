//! The versions and writers of qlog.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use thalweg_trace::{Connection, Format, Limits, Metric, Packet, Point, Trace, View, read};
use thalweg_units::{Duration, Time};

fn read_qlog(text: &str) -> Trace {
    read(&mut text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn at_millis(millis: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(millis / 1e3)
}

fn is_near(time: Time, millis: f64) -> bool {
    (time.as_secs_f64() * 1e3 - millis).abs() < 1e-3
}

/// Checks the story that each version writes: packets 0 to 2 at 0, 1 and 2 ms; 0 and 2 acknowledged at 40 ms; 1 lost then, and its
/// data sent again as packet 3, acknowledged at 81 ms. The window is 12000 B, the smoothed round trip 40 ms.
#[track_caller]
fn check_story(connection: &Connection) {
    let data = &connection.directions[0];
    assert_eq!((connection.point, data.view), (Point::Client, View::Sender));
    let found: Vec<(f64, bool, bool, bool)> = data
        .packets
        .iter()
        .map(|packet| {
            (
                packet.time.as_secs_f64() * 1e3,
                packet.is_acked(),
                packet.is_lost(),
                packet.is(Packet::RETRANSMISSION),
            )
        })
        .collect();
    let expected = [
        (0.0, true, false, false),
        (1.0, false, true, false),
        (2.0, true, false, false),
        (41.0, true, false, true),
    ];
    assert_eq!(found.len(), 4, "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.0 - expected.0).abs() < 1e-3, "{found:?}");
        assert_eq!((found.1, found.2, found.3), (expected.1, expected.2, expected.3), "{found:?}");
    }
    assert!(is_near(data.packets[2].acked_at, 40.0) && is_near(data.packets[1].lost_at, 40.0));
    let counts = data.counts;
    assert_eq!(
        (counts.lost, counts.retransmitted, counts.retransmitted_bytes, counts.delivered),
        (1, 1, 1000, 3000)
    );
    assert_eq!(data.packets[0].length, 1000);
    assert_eq!(data.metrics[&Metric::Window][0].1, 12_000.0);
    assert!((data.metrics[&Metric::SmoothedRtt][0].1 - 0.04).abs() < 1e-9);
    // Of the first acknowledgement the newest packet counts.
    assert!((data.round_trips[0].1.as_secs_f64() - 0.038).abs() < 1e-6);
}

/// The story in the current form of events, with times in milliseconds.
fn modern_events(prefix: &str) -> Vec<String> {
    let sent = |time: f64, number: u64, offset: u64| {
        format!(
            "{{\"time\":{time},\"name\":\"{prefix}packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":1040}},\"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{offset},\"length\":1000}}]}}}}"
        )
    };
    let acked = |time: f64, number: u64, ranges: &str| {
        format!(
            "{{\"time\":{time},\"name\":\"{prefix}packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":40}},\"frames\":[{{\"frame_type\":\"ack\",\"ack_delay\":0.1,\"acked_ranges\":{ranges}}}]}}}}"
        )
    };
    vec![
        "{\"time\":0,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":12000,\"smoothed_rtt\":40,\"ssthresh\":18446744073709551615}}".to_owned(),
        sent(0.0, 0, 0),
        sent(1.0, 1, 1000),
        sent(2.0, 2, 2000),
        acked(40.0, 0, "[[0],[2,2]]"),
        "{\"time\":40,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":1},\"trigger\":\"time_threshold\"}}".to_owned(),
        sent(41.0, 3, 1000),
        acked(81.0, 1, "[[2,3]]"),
    ]
}

#[test]
fn json_of_0_3_and_sequences_agree() {
    let events = modern_events("transport:");
    let document = format!(
        "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"traces\":[{{\"vantage_point\":{{\"type\":\"client\"}},\"events\":[{}]}}]}}",
        events.join(",\n")
    );
    let trace = read_qlog(&document);
    assert_eq!((trace.format, trace.is_cut), (Format::Qlog, false));
    check_story(&trace.connections[0]);
    let head = "{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"program\",\"code_version\":\"1.2\",\"trace\":{\"vantage_point\":{\"type\":\"client\"},\"common_fields\":{\"ODCID\":\"abcd\",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\"wall_clock_time\":\"2026-11-28T08:34:17.25Z\"}}}}";
    for separator in ["\u{1e}", ""] {
        let records: String =
            [head.to_owned()].iter().chain(&events).map(|text| format!("{separator}{text}\n")).collect();
        let trace = read_qlog(&records);
        assert_eq!(trace.format, Format::QlogSequence);
        check_story(&trace.connections[0]);
        assert_eq!((trace.connections[0].id.as_str(), trace.epoch), ("abcd", Some(1_795_854_857.25)));
        assert_eq!(trace.connections[0].writer.as_deref(), Some("program 1.2"));
    }
    // 0.4 has other names for the file, the namespace and the format of times.
    let head = "{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",\"trace\":{\"event_schemas\":[\"urn:ietf:params:qlog:events:quic\"],\"vantage_point\":{\"type\":\"client\"},\"common_fields\":{\"time_format\":\"relative_to_epoch\"}}}";
    let records: String = [head.to_owned()]
        .iter()
        .chain(&modern_events("quic:"))
        .map(|text| format!("\u{1e}{text}\n"))
        .collect();
    check_story(&read_qlog(&records).connections[0]);
    // Compressed.
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(document.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    check_story(&read(&mut packed.as_slice(), &Limits::default()).unwrap().connections[0]);
}

/// Drafts 00 to 02: arrays with columns, numbers as texts, capitals, times in microseconds, and fields in any order.
#[test]
fn event_arrays_of_older_drafts_are_read() {
    let story = |unit: f64, upper: bool, trigger: bool| -> String {
        let name = |text: &str| if upper { text.to_ascii_uppercase() } else { text.to_owned() };
        let more = if trigger { format!("\"{}\",", name("default")) } else { String::new() };
        let event = |time: f64, category: &str, kind: &str, data: &str| {
            format!("[\"{}\",\"{}\",\"{}\",{more}{data}]", time * unit, name(category), name(kind))
        };
        let sent = |time: f64, number: u64, offset: u64| {
            let data = format!(
                "{{\"packet_type\":\"{}\",\"header\":{{\"packet_number\":\"{number}\",\"packet_size\":1040}},\"frames\":[{{\"frame_type\":\"{}\",\"id\":\"3\",\"length\":\"1000\",\"offset\":{offset}}}]}}",
                name("1RTT"),
                name("stream")
            );
            event(time, "transport", "packet_sent", &data)
        };
        let acked = |time: f64, ranges: &str| {
            let data = format!(
                "{{\"packet_type\":\"1RTT\",\"header\":{{\"packet_number\":\"9\",\"packet_size\":40}},\"frames\":[{{\"frame_type\":\"{}\",\"acked_ranges\":{ranges},\"ack_delay\":\"0\"}}]}}",
                name("ack")
            );
            event(time, "transport", "packet_received", &data)
        };
        let metrics = format!("{{\"cwnd\":12000,\"smoothed_rtt\":{}}}", 40.0 * unit);
        [
            event(0.0, "recovery", "metric_update", &metrics),
            sent(0.0, 0, 0),
            sent(1.0, 1, 1000),
            sent(2.0, 2, 2000),
            acked(40.0, "[[\"0\",\"0\"],[2,2]]"),
            event(40.0, "recovery", "packet_lost", "{\"packet_number\":\"1\"}"),
            sent(41.0, 3, 1000),
            acked(81.0, "[[3,3]]"),
            "[]".to_owned(),
        ]
        .join(",")
    };
    let fields = "\"event_fields\":[\"relative_time\",\"category\",\"event_type\",\"trigger\",\"data\"]";
    let vantage = "\"vantage_point\":{\"type\":\"CLIENT\",\"name\":\"x\"}";
    let units = "\"configuration\":{\"time_units\":\"us\",\"time_offset\":0}";
    for (unit, upper, trigger, members) in [
        (1.0, false, true, format!("{vantage},{fields},\"events\":[{}]", story(1.0, false, true))),
        (1e3, true, true, format!("{vantage},{units},{fields},\"events\":[{}]", story(1e3, true, true))),
        // What describes the events comes after them, as unordered maps write it.
        (1e3, false, false, format!("\"events\":[{}],{units},{vantage}", story(1e3, false, false))),
    ] {
        let text = format!("{{\"qlog_version\":\"draft-01\",\"traces\":[{{{members}}}]}}");
        let trace = read_qlog(&text);
        check_story(&trace.connections[0]);
        assert!(trace.notes.is_empty(), "{unit} {upper} {trigger}: {:?}", trace.notes);
    }
}

#[test]
fn differences_of_times_are_summed() {
    let mut before = 0.0;
    let events: Vec<String> = modern_events("transport:")
        .into_iter()
        .map(|event| {
            let (first, rest) = event.split_once(",\"name\"").unwrap();
            let time: f64 = first.rsplit(':').next().unwrap().parse().unwrap();
            let text = format!("{{\"time\":{},\"name\"{rest}", time - before);
            before = time;
            text
        })
        .collect();
    let text = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}],\"common_fields\":{{\"time_format\":\"delta\"}},\"vantage_point\":{{\"type\":\"client\"}}}}]}}",
        events.join(",")
    );
    check_story(&read_qlog(&text).connections[0]);
}

#[test]
fn groups_are_connections_and_a_server_has_the_second_direction() {
    let of_group = |group: &str| -> Vec<String> {
        modern_events("transport:")
            .iter()
            .map(|event| event.replacen('{', &format!("{{\"group_id\":\"{group}\","), 1))
            .collect()
    };
    let pairs: Vec<String> =
        of_group("a").into_iter().zip(of_group("b")).map(|(one, other)| format!("{one},{other}")).collect();
    let events = pairs.join(",");
    let text = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"vantage_point\":{{\"type\":\"client\"}},\"events\":[{events}]}},{{\"vantage_point\":{{\"type\":\"server\"}},\"events\":[{}]}}]}}",
        modern_events("transport:").join(",")
    );
    let trace = read_qlog(&text);
    assert_eq!(trace.connections.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["a", "b", ""]);
    check_story(&trace.connections[1]);
    let server = &trace.connections[2];
    assert_eq!((server.point, server.directions[1].packets.len()), (Point::Server, 4));
    assert_eq!(server.directions[0].view, View::Receiver);
}

/// quinn logs neither frames nor acknowledgements, has packets' sizes in the header, round-trip times in seconds, and another group from
/// the server's first answer on.
#[test]
fn logs_without_frames_have_the_figures_of_their_sizes() {
    let event = |millis: f64, name: &str, data: &str, group: &str| {
        format!("{{\"time\":{millis},\"name\":\"{name}\",\"data\":{data},\"group_id\":\"{group}\"}}\n")
    };
    let packet = |kind: &str, number: u32, size: &str| {
        format!("{{\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":{number}{size}}}}}")
    };
    let sent = |millis: f64, kind: &str, number: u32, group: &str| {
        event(millis, "transport:packet_sent", &packet(kind, number, ",\"length\":1200"), group)
    };
    let metrics = |millis: f64, text: &str, group: &str| {
        event(millis, "recovery:metrics_updated", &format!("{{{text}}}"), group)
    };
    let mut log = "{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"unknown\"}}}\n".to_owned();
    log += &sent(0.0, "initial", 0, "a");
    log += &metrics(
        0.0,
        "\"min_rtt\":0.333,\"smoothed_rtt\":0.333,\"latest_rtt\":0.333,\"bytes_in_flight\":1200",
        "a",
    );
    log += &event(25.0, "transport:packet_received", &packet("initial", 0, ""), "a");
    log += &event(25.0, "transport:packet_received", &packet("handshake", 0, ""), "b");
    log += &metrics(
        25.0,
        "\"min_rtt\":0.025,\"smoothed_rtt\":0.025,\"latest_rtt\":0.025,\"bytes_in_flight\":0",
        "b",
    );
    for number in 0..10 {
        log += &sent(26.0 + f64::from(number), "1RTT", number, "b");
    }
    log += &event(60.0, "recovery:packet_lost", &packet("1RTT", 3, ""), "b");
    log += &metrics(61.0, "\"smoothed_rtt\":0.026,\"latest_rtt\":0.03,\"bytes_in_flight\":2400", "b");
    let trace = read_qlog(&log);
    assert_eq!(trace.connections.len(), 1);
    let connection = &trace.connections[0];
    let direction = &connection.directions[0];
    // Eleven packets were sent, one was lost, two are in flight.
    let counts = direction.counts;
    assert_eq!((counts.packets, counts.bytes, counts.lost, counts.delivered), (11, 11 * 1200, 1, 8 * 1200));
    assert!(connection.notes[0].contains("no acknowledgements"), "{:?}", connection.notes);
    let trips: Vec<f64> = direction.metrics[&Metric::SmoothedRtt].iter().map(|point| point.1 * 1e3).collect();
    assert!(
        (trips[0] - 25.0).abs() < 1e-9 && (trips[1] - 26.0).abs() < 1e-9 && trips.len() == 2,
        "{trips:?}"
    );
}

/// mvfst logs the number of the largest lost packet, its window by another name, and microseconds.
#[test]
fn spellings_of_other_writers_are_known() {
    let text = "{\"qlog_version\":\"draft-00\",\"traces\":[{\"events\":[[\"0\",\"transport\",\"packet_sent\",\"DEFAULT\",{\"frames\":[{\"frame_type\":\"stream\",\"id\":0,\"length\":1000,\"offset\":0}],\"header\":{\"packet_number\":5,\"packet_size\":1040},\"packet_type\":\"1RTT\"}],[\"9000\",\"metric_update\",\"congestion_metric_update\",\"TRACE\",{\"bytes_in_flight\":1040,\"current_cwnd\":14000}],[\"9000\",\"loss\",\"packets_lost\",\"DEFAULT\",{\"largest_lost_packet_num\":5,\"lost_bytes\":1040,\"lost_packets\":1}],[\"9500\",\"recovery\",\"loss_timer_updated\",{\"event_type\":\"expired\",\"timer_type\":\"pto\"}]],\"configuration\":{\"time_units\":\"us\"},\"vantage_point\":{\"type\":\"client\"}}]}";
    let data = &read_qlog(text).connections[0].directions[0];
    assert_eq!(data.metrics[&Metric::Window][0].1, 14_000.0);
    assert!(data.packets[0].is_lost() && is_near(data.packets[0].lost_at, 9.0));
    assert_eq!((data.timeouts.len(), data.timeouts[0].silence), (1, at_millis(9.5).since(Time::ZERO)));
}

#[test]
fn losses_that_were_none_are_spurious() {
    let mut events = modern_events("transport:");
    events[7] = events[7].replace("[[2,3]]", "[[1,3]]");
    let text = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}]}}]}}", events.join(","));
    let data = &read_qlog(&text).connections[0].directions[0];
    assert!(data.packets[1].is(Packet::SPURIOUS) && data.counts.spurious == 1);
}

#[test]
fn flow_control_is_a_window_and_a_limit() {
    let head = "{\"time\":0,\"name\":\"transport:parameters_set\",\"data\":{\"owner\":\"remote\",\"initial_max_data\":2500}}";
    let blocked = "{\"time\":3,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_number\":100,\"packet_type\":\"1RTT\"},\"frames\":[{\"frame_type\":\"data_blocked\",\"limit\":2500}]}}";
    let more = "{\"time\":50,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_number\":7,\"packet_type\":\"1RTT\"},\"frames\":[{\"frame_type\":\"max_data\",\"maximum\":9000}]}}";
    let mut story = modern_events("transport:");
    story[6] = story[6].replace("\"packet_number\":3", "\"packet_number\":103");
    story[7] = story[7].replace("[[2,3]]", "[[100,103]]");
    let events = [
        &[head.to_owned()],
        &story[1..4],
        &[blocked.to_owned()],
        &story[4..6],
        &[more.to_owned()],
        &story[6..],
    ]
    .concat();
    let text = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}]}}]}}", events.join(","));
    let data = &read_qlog(&text).connections[0].directions[0];
    assert!(data.has_window);
    // 500 B less than was sent; after MAX_DATA 6000 B more than the 3000 B of fresh data.
    assert_eq!(data.acks.iter().map(|ack| ack.edge).collect::<Vec<_>>(), [3000, 4000 + 6000]);
    assert_eq!(data.limits.len(), 1);
    assert!(is_near(data.limits[0].0, 3.0) && is_near(data.limits[0].1, 50.0));
}

#[test]
fn a_cut_or_damaged_log_gives_what_comes_before() {
    let events = modern_events("transport:");
    let text = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"vantage_point\":{{\"type\":\"client\"}},\"events\":[{}]}}]}}",
        events.join(",")
    );
    // Every prefix is read or refused.
    for end in 0..text.len() {
        let found = read(&mut &text.as_bytes()[..end], &Limits::default());
        if end > text.find(&events[4]).unwrap() {
            let trace = found.unwrap();
            assert!(trace.is_cut && trace.notes[0].contains("ends at byte"), "{end}: {:?}", trace.notes);
            assert!(trace.connections[0].directions[0].packets.len() >= 3);
        }
    }
    // An event that is not JSON is skipped, with its place.
    let damaged = text.replace("\"offset\":2000,", "\"offset\":x,");
    let trace = read_qlog(&damaged);
    assert!(
        trace.notes[0].contains("1 events were skipped") && trace.notes[0].contains("at byte"),
        "{:?}",
        trace.notes
    );
    assert_eq!(trace.connections[0].directions[0].packets.len(), 3);
    // A text of a sequence that ends early is skipped, as RFC 7464 has it.
    let mut records: Vec<String> = events.iter().map(|event| format!("\u{1e}{event}\n")).collect();
    records[2].truncate(60);
    let head = "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"client\"}}}\n";
    let trace = read_qlog(&format!("{head}{}", records.concat()));
    assert_eq!(trace.connections[0].directions[0].packets.len(), 3);
    assert!(trace.notes[0].contains("1 events were skipped"), "{:?}", trace.notes);
}

#[test]
fn deep_nesting_and_what_is_no_log_are_refused() {
    let refused = |text: &str| read(&mut text.as_bytes(), &Limits::default()).unwrap_err().to_string();
    let deep = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}", "[".repeat(100_000));
    assert!(refused(&deep).contains("nested more than 100 levels deep"), "{}", refused(&deep));
    let deep = format!("{{\"qlog_version\":\"0.3\",\"summary\":{}", "{\"a\":".repeat(100_000));
    assert!(refused(&deep).contains("nested"), "{}", refused(&deep));
    assert!(refused("{\"qlog_version\":\"0.3\",\"traces\":[]}").contains("no events"));
    assert!(refused("{\"qlog_version\":\"0.3\",\"traces\":7}").contains("an array is expected"));
    assert!(refused("{\"qlog_version\":\"0.3\"").contains("ends at byte"));
}

#[test]
fn limits_bound_what_is_kept() {
    let events = modern_events("transport:").join(",");
    let text = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{events}]}},{{\"events\":[{events}]}}]}}"
    );
    let limits = Limits { packets: 3, connections: 1, ..Limits::default() };
    let trace = read(&mut text.as_bytes(), &limits).unwrap();
    let data = &trace.connections[0].directions[0];
    assert_eq!((trace.connections.len(), data.packets.len(), data.counts.not_kept), (1, 1, 3));
    assert!(trace.notes[0].contains("8 events of further connections"), "{:?}", trace.notes);
}
