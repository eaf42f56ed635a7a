//! Real traces of other programs on a known path: 8 Mbit/s, 20 ms each way, a queue of 40 kB (`data/README.md`).

use std::fs::{self, File};
use std::path::Path;
use thalweg_trace::{
    Format, KeyLog, Limits, Metric, Point, Protocol, Summary, Trace, View, read, read_with_keys,
};
use thalweg_units::Duration;

fn read_stored_trace(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let mut file = File::open(path).unwrap();
    let trace = read(&mut file, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!trace.is_cut && trace.notes.is_empty(), "{name}: {:?}", trace.notes);
    trace
}

/// Checks round trips: 40 ms, the transmission of a packet (1.5 ms), and at most the queue (40 ms) more.
#[track_caller]
fn check_path(summary: &Summary) {
    let rtt = summary.rtt.unwrap();
    let [min, p99] = [rtt.min, rtt.p99].map(Duration::as_millis_f64);
    assert!((40.0..47.0).contains(&min) && (70.0..100.0).contains(&p99), "{summary:?}");
    assert!((4e6..8e6).contains(&summary.goodput.unwrap().as_f64()), "{summary:?}");
}

#[test]
fn quic_go_at_both_ends() {
    let (client, server) =
        (read_stored_trace("quic-go-client.sqlog.gz"), read_stored_trace("quic-go-server.sqlog.gz"));
    assert_eq!((client.format, server.format), (Format::QlogSequence, Format::QlogSequence));
    let (client, server) = (&client.connections[0], &server.connections[0]);
    assert_eq!((client.point, server.point), (Point::Client, Point::Server));
    assert_eq!(client.id, server.id);
    assert_eq!(client.writer.as_deref(), Some("quic-go qlog v0.65.0"));
    let summary = Summary::from_connection(client, 0);
    check_path(&summary);
    // What the server received is what the client sent, less the packets lost; each lost packet was logged.
    let (sent, received) = (&client.directions[0], &server.directions[0]);
    assert_eq!((sent.view, received.view), (View::Sender, View::Receiver));
    assert_eq!(sent.counts.packets - received.counts.packets, sent.counts.lost + 1, "{:?}", sent.counts);
    assert!(sent.counts.delivered.abs_diff(received.counts.delivered) < 2000);
    assert!(sent.metrics[&Metric::Window].len() > 10 && sent.has_window);
}

#[test]
fn aioquic() {
    let trace = read_stored_trace("aioquic-client.qlog.gz");
    let connection = &trace.connections[0];
    assert_eq!((trace.format, connection.writer.as_deref()), (Format::Qlog, Some("aioquic")));
    // Its times are absolute.
    assert!(trace.epoch.is_some_and(|epoch| (1.79e9..1.80e9).contains(&epoch)));
    check_path(&Summary::from_connection(connection, 0));
    let counts = connection.directions[0].counts;
    assert!(counts.lost > 20 && counts.retransmitted >= counts.lost, "{counts:?}");
    assert!(counts.delivered >= 700_000);
}

/// A capture that is decrypted by the key log has the packets, acknowledgements and retransmissions of the client's own log, also after
/// an update of the keys.
#[test]
fn a_decrypted_capture_has_the_figures_of_the_client_s_log() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = fs::read_to_string(data.join("aioquic-keys.log")).unwrap();
    let mut keys = KeyLog::default();
    assert_eq!(keys.add(&text), 4);
    let read_capture = |keys: &KeyLog| {
        let mut file = File::open(data.join("aioquic-keys.pcap.gz")).unwrap();
        read_with_keys(&mut file, &Limits::default(), keys).unwrap().connections.remove(0)
    };
    let (captured, log) = (read_capture(&keys), read_stored_trace("aioquic-keys.qlog.gz"));
    let log = &log.connections[0];
    assert_eq!((captured.protocol, captured.point), (Protocol::Quic, Point::Client));
    assert!(!captured.notes.iter().any(|note| note.contains("could not")), "{:?}", captured.notes);
    let [own, theirs] = [&captured, log].map(|of| of.directions[0].counts);
    assert_eq!((own.packets, own.payload), (theirs.packets, theirs.payload), "{own:?} {theirs:?}");
    assert_eq!(
        (own.retransmitted, own.retransmitted_bytes),
        (theirs.retransmitted, theirs.retransmitted_bytes),
        "{own:?} {theirs:?}"
    );
    // The log lacks four of the packets that the client received; these are the counts of tshark.
    assert_eq!((own.acks, captured.directions[1].counts.packets), (18, 21));
    let [own, theirs] = [&captured, log].map(|of| Summary::from_connection(of, 0));
    // Three packets were dropped behind the capture; the path has 10 ms each way.
    assert_eq!((own.lost, theirs.lost), (Some(3), Some(3)));
    let [own, theirs] = [own, theirs].map(|of| of.rtt.unwrap().min.as_millis_f64());
    assert!((20.0..26.0).contains(&own) && (own - theirs).abs() < 2.0, "{own} {theirs}");
    // Without the secrets, or with those of others, sizes and times stay.
    for (keys, words) in [
        (KeyLog::default(), "--keys"),
        (secrets_of_another_connection(&text), "no secrets of this connection"),
    ] {
        let hidden = read_capture(&keys);
        assert_eq!(hidden.protocol, Protocol::EncryptedQuic);
        assert!(hidden.notes.iter().any(|note| note.contains(words)), "{:?}", hidden.notes);
    }
}

/// The secrets of another connection.
fn secrets_of_another_connection(text: &str) -> KeyLog {
    let mut keys = KeyLog::default();
    let random = text.split(' ').nth(1).unwrap();
    keys.add(&text.replace(random, &random.chars().rev().collect::<String>()));
    keys
}

/// The capture and the kernel's own counters agree on retransmissions, bytes and round trips.
#[test]
fn tcp_of_the_kernel_in_a_capture_and_by_its_own_counters() {
    let (capture, log) = (read_stored_trace("kernel-cubic.pcap.gz"), read_stored_trace("kernel-cubic.ss"));
    assert_eq!((capture.format, log.format), (Format::Pcap, Format::Ss));
    let (capture, log) = (capture.connections.last().unwrap(), log.connections.last().unwrap());
    assert_eq!(capture.id, log.id);
    assert_eq!((capture.protocol, capture.point), (Protocol::Tcp, Point::Client));
    assert_eq!(log.scheme.as_deref(), Some("cubic"));
    let (captured, counted) = (Summary::from_connection(capture, 0), Summary::from_connection(log, 0));
    check_path(&captured);
    assert_eq!((captured.lost, counted.lost), (Some(5), Some(5)));
    assert_eq!(
        capture.directions[0].counts.retransmitted_bytes,
        log.directions[0].counts.retransmitted_bytes
    );
    assert_eq!(capture.directions[0].segment, log.directions[0].segment);
    let smoothed = log.directions[0].metrics[&Metric::MinRtt].last().unwrap().1;
    let shortest = captured.rtt.unwrap().min.as_secs_f64();
    // The kernel's clock starts before the capture of a packet.
    assert!((smoothed - shortest).abs() < 1e-3, "{smoothed} {shortest}");
    let window = |connection: &thalweg_trace::Connection| {
        let known = connection.directions[0].acks.iter().filter(|ack| ack.edge != u64::MAX);
        known.map(|ack| ack.edge - ack.position).max().unwrap()
    };
    assert_eq!(window(capture), window(log));
}
