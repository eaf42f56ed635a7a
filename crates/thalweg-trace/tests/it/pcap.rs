//! Captures written here byte by byte, after the formats' specifications.

use thalweg_trace::{Direction, Limit, Limits, Packet, Point, Protocol, Trace, View, read};
use thalweg_units::Duration;

/// Type of the block that begins a section (draft-ietf-opsawg-pcapng, section 4.1).
const SECTION: u32 = 0x0a0d_0d0a;

/// Segment of a test: time in milliseconds, true from the server, sequence and acknowledgement number, flags, payload, window, options.
struct TestSegment<'a>(f64, bool, u32, u32, u8, u32, u16, &'a [u8]);

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 17;

/// Returns an IPv4 packet with a TCP segment; payloads are not stored.
fn ipv4(segment: &TestSegment<'_>) -> (Vec<u8>, u32) {
    let tcp = tcp(segment);
    let total = 20 + tcp.len() as u32 + segment.5;
    let mut bytes = vec![0x45, 0];
    bytes.extend((total as u16).to_be_bytes());
    bytes.extend([0, 7, 0x40, 0, 64, 6, 0, 0]);
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let ends = if segment.1 { [server, client] } else { [client, server] };
    bytes.extend(ends.concat());
    bytes.extend(tcp);
    (bytes, total)
}

fn ipv6(segment: &TestSegment<'_>) -> (Vec<u8>, u32) {
    let tcp = tcp(segment);
    let payload = tcp.len() as u32 + segment.5 + 8;
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload as u16).to_be_bytes());
    // An extension header of eight bytes before TCP.
    bytes.extend([0, 64]);
    let (mut client, mut server) = ([0; 16], [0; 16]);
    (client[15], server[15]) = (1, 2);
    let ends = if segment.1 { [server, client] } else { [client, server] };
    bytes.extend(ends.concat());
    bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(tcp);
    (bytes, payload + 40)
}

fn tcp(&TestSegment(_, is_server, sequence, ack, flags, _, window, options): &TestSegment<'_>) -> Vec<u8> {
    let ports: [u16; 2] = if is_server { [80, 40_000] } else { [40_000, 80] };
    let mut bytes: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 1);
    bytes.push((((20 + options.len()) / 4) << 4) as u8);
    bytes.push(flags);
    bytes.extend(window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes
}

/// Writes a pcap file with this link type.
fn pcap(is_big: bool, is_nano: bool, link: u32, packets: &[(f64, Vec<u8>, u32)]) -> Vec<u8> {
    let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
    let half = |half: u16| if is_big { half.to_be_bytes() } else { half.to_le_bytes() };
    let magic = if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file =
        [word(magic).as_slice(), &half(2), &half(4), &word(0), &word(0), &word(65_535), &word(link)].concat();
    for (millis, bytes, length) in packets {
        let micros = (millis * 1e3).round() as u32;
        let fraction = micros % 1_000_000 * if is_nano { 1000 } else { 1 };
        let words = [1_700_000_000 + micros / 1_000_000, fraction, bytes.len() as u32, *length];
        file.extend(words.iter().flat_map(|of| word(*of)));
        file.extend(bytes);
    }
    file
}

fn read_capture(mut file: &[u8]) -> Trace {
    read(&mut file, &Limits::default()).unwrap()
}

/// Reads segments as a capture of raw IPv4.
fn trace_of_segments(segments: &[TestSegment<'_>]) -> Trace {
    let packets: Vec<_> = segments
        .iter()
        .map(|segment| {
            let (bytes, length) = ipv4(segment);
            (segment.0, bytes, length)
        })
        .collect();
    read_capture(&pcap(false, true, 101, &packets))
}

/// Options of a SYN: MSS of 1012, which is 1000 with timestamps; window scale of 7.
const OPENING: &[u8] = &[2, 4, 0x03, 0xf4, 3, 3, 7];

/// A handshake from the client over 40 ms, captured at the client.
fn handshake() -> Vec<TestSegment<'static>> {
    vec![
        TestSegment(0.0, false, 999, 0, SYN, 0, 1000, OPENING),
        TestSegment(40.0, true, 4999, 1000, SYN | ACK, 0, 1000, OPENING),
        TestSegment(40.1, false, 1000, 5000, ACK, 0, 1000, &[]),
    ]
}

fn data(number: u32, millis: f64) -> TestSegment<'static> {
    TestSegment(millis, false, 1000 + number * 1000, 5000, ACK, 1000, 1000, &[])
}

fn ack(number: u32, millis: f64) -> TestSegment<'static> {
    TestSegment(millis, true, 5000, 1000 + number * 1000, ACK, 0, 1000, &[])
}

fn client(segments: &[TestSegment<'_>]) -> Direction {
    trace_of_segments(segments).connections.remove(0).directions[0].clone()
}

fn ms(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

#[test]
fn a_transfer_has_the_same_figures_in_each_format_and_on_each_link() {
    let mut segments = handshake();
    segments.extend([data(0, 41.0), data(1, 42.0), ack(2, 82.0), data(2, 83.0), ack(3, 123.0)]);
    let check = |file: &[u8], size: u32| {
        let trace = read_capture(file);
        let connection = &trace.connections[0];
        assert_eq!((connection.protocol, connection.point), (Protocol::Tcp, Point::Client));
        assert!(connection.name.contains(":40000 > "), "{}", connection.name);
        let direction = &connection.directions[0];
        assert_eq!((direction.view, connection.directions[1].view), (View::Sender, View::Receiver));
        let positions: Vec<_> =
            direction.packets.iter().map(|packet| (packet.position, packet.length, packet.size)).collect();
        assert_eq!(positions, [(0, 1000, size), (1000, 1000, size), (2000, 1000, size)]);
        assert_eq!(direction.counts.delivered, 3000);
        let trips: Vec<_> =
            direction.round_trips.iter().map(|sample| sample.1.as_millis_f64().round()).collect();
        assert_eq!(trips, [40.0, 40.0]);
        // 1000 units of 128 B beyond the acknowledgement.
        assert_eq!(direction.acks.last().unwrap().edge, 3000 + 128_000);
        assert_eq!(trace.epoch, Some(1.7e9));
    };
    let frames = |before: &[u8], is_v6: bool| -> Vec<_> {
        let frame = |segment: &TestSegment<'_>| {
            let (bytes, length) = if is_v6 { ipv6(segment) } else { ipv4(segment) };
            (segment.0, [before, &bytes].concat(), length + before.len() as u32)
        };
        segments.iter().map(frame).collect()
    };
    for (is_big, is_nano) in [(false, false), (false, true), (true, false), (true, true)] {
        check(&pcap(is_big, is_nano, 101, &frames(&[], false)), 1040);
    }
    let ethernet = |kind: &[u8]| [&[0; 12], kind].concat();
    check(&pcap(false, false, 1, &frames(&ethernet(&[8, 0]), false)), 1040);
    check(&pcap(false, false, 1, &frames(&ethernet(&[0x81, 0, 0, 5, 8, 0]), false)), 1040);
    check(
        &pcap(false, false, 1, &frames(&ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21]), false)),
        1040,
    );
    check(&pcap(false, false, 1, &frames(&ethernet(&[0x86, 0xdd]), true)), 1068);
    check(&pcap(false, false, 113, &frames(&[[0; 14].as_slice(), &[8, 0]].concat(), false)), 1040);
    check(&pcap(false, false, 276, &frames(&[[0x86, 0xdd].as_slice(), &[0; 18]].concat(), true)), 1068);
    check(&pcap(false, false, 0, &frames(&[2, 0, 0, 0], false)), 1040);
    for is_big in [false, true] {
        check(&pcapng(is_big, 6, &frames(&[], false)), 1040);
        check(&pcapng(is_big, 9, &frames(&[], false)), 1040);
        check(&pcapng(is_big, 0x80 | 30, &frames(&[], true)), 1068);
    }
}

/// Writes a pcapng file of raw IP whose clock has this resolution, with a block of an unknown type in front.
fn pcapng(is_big: bool, resolution: u8, packets: &[(f64, Vec<u8>, u32)]) -> Vec<u8> {
    pcapng_at(is_big, resolution, 1, &packets.iter().map(|packet| (0, packet)).collect::<Vec<_>>())
}

/// Time in milliseconds, bytes, and length of a packet.
type Captured = (f64, Vec<u8>, u32);

/// Writes a pcapng file of several interfaces; each packet has its own.
fn pcapng_at(is_big: bool, resolution: u8, interfaces: usize, packets: &[(u32, &Captured)]) -> Vec<u8> {
    let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
    let half = |half: u16| if is_big { half.to_be_bytes() } else { half.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = word(body.len() as u32 + 12);
        [&word(kind), &length, body.as_slice(), &length].concat()
    };
    let mut file = block(SECTION, &[word(0x1a2b_3c4d).as_slice(), &half(1), &half(0), &[0xff; 8]].concat());
    file.extend(block(0x0bad, &[1, 2, 3]));
    let options = [half(9).as_slice(), &half(1), &[resolution, 0, 0, 0], &half(0), &half(0)].concat();
    for _ in 0..interfaces {
        file.extend(block(1, &[half(101).as_slice(), &half(0), &word(0), &options].concat()));
    }
    let ticks = match resolution {
        power @ 128.. => 2f64.powi(i32::from(power & 0x7f)),
        power => 10f64.powi(power.into()),
    };
    for (interface, (millis, bytes, length)) in packets {
        let time = (1.7e9 * ticks) as u64 + (millis / 1e3 * ticks).round() as u64;
        let head = [
            word(*interface),
            word((time >> 32) as u32),
            word(time as u32),
            word(bytes.len() as u32),
            word(*length),
        ];
        file.extend(block(6, &[head.concat().as_slice(), bytes].concat()));
    }
    file
}

/// A transfer of ten packets, as the client's interface sees it.
fn transfer() -> Vec<TestSegment<'static>> {
    let mut segments = handshake();
    segments.extend((0..10).map(|number| data(number, 41.0 + f64::from(number))));
    segments.extend((1..=10).map(|number| ack(number, 81.0 + f64::from(number))));
    segments
}

#[test]
fn both_ends_in_one_capture_are_two_connections() {
    // The server's interface sees the client's packets 20 ms later, and its own 20 ms earlier.
    let mut packets = Vec::new();
    for segment in &transfer() {
        let (bytes, length) = ipv4(segment);
        let shift = if segment.1 { -20.0 } else { 20.0 };
        packets.push((0, (segment.0, bytes.clone(), length)));
        packets.push((1, (segment.0 + shift, bytes, length)));
    }
    packets.sort_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    let placed: Vec<_> = packets.iter().map(|(interface, packet)| (*interface, packet)).collect();
    let trace = read_capture(&pcapng_at(false, 9, 2, &placed));
    let points: Vec<Point> = trace.connections.iter().map(|connection| connection.point).collect();
    assert_eq!(points, [Point::Client, Point::Server]);
    for connection in &trace.connections {
        let counts = connection.directions[0].counts;
        assert_eq!((counts.packets, counts.retransmitted, counts.delivered), (12, 0, 10_000), "{counts:?}");
    }
    assert_eq!(trace.connections[0].directions[0].round_trips.len(), 10);
    assert!(trace.notes.iter().any(|note| note.contains("2 interfaces")), "{:?}", trace.notes);
    // A capture that begins within the transfer, where an acknowledgement is the first packet of the server's interface.
    let placed: Vec<_> = placed.into_iter().filter(|(_, packet)| packet.0 > 55.0).collect();
    let trace = read_capture(&pcapng_at(false, 9, 2, &placed));
    let again: Vec<u64> = trace
        .connections
        .iter()
        .map(|of| of.directions.iter().map(|of| of.counts.retransmitted).sum())
        .collect();
    assert_eq!(again, [0, 0]);
}

#[test]
fn an_interface_for_each_direction_is_one_connection() {
    let packets: Vec<_> = transfer()
        .iter()
        .map(|segment| {
            let (bytes, length) = ipv4(segment);
            (u32::from(segment.1), (segment.0, bytes, length))
        })
        .collect();
    let placed: Vec<_> = packets.iter().map(|(interface, packet)| (*interface, packet)).collect();
    let trace = read_capture(&pcapng_at(false, 9, 2, &placed));
    assert_eq!((trace.connections.len(), trace.notes.len()), (1, 0), "{:?}", trace.notes);
    let direction = &trace.connections[0].directions[0];
    assert_eq!((direction.counts.delivered, direction.round_trips.len()), (10_000, 10));
}

#[test]
fn a_fast_retransmission_is_a_loss_and_no_timeout() {
    let mut segments = handshake();
    segments.extend((0..6).map(|number| data(number, 41.0 + f64::from(number))));
    // The first is lost: five duplicate acknowledgements with a growing selective one.
    segments.push(ack(0, 82.0));
    let blocks: Vec<Vec<u8>> = (1..6u32)
        .map(|end| {
            let range = [2000u32, 2000 + end * 1000].map(u32::to_be_bytes).concat();
            [&[1, 1, 5, 10], range.as_slice()].concat()
        })
        .collect();
    segments.extend(blocks.iter().zip(0u8..).map(|(options, number)| {
        TestSegment(82.0 + f64::from(number), true, 5000, 1000, ACK, 0, 1000, options)
    }));
    segments.push(data(0, 85.0));
    segments.push(ack(6, 125.0));
    let direction = client(&segments);
    let counts = direction.counts;
    assert_eq!(
        (counts.retransmitted, counts.retransmitted_bytes, counts.lost, counts.spurious),
        (1, 1000, 1, 0)
    );
    assert!(direction.timeouts.is_empty());
    assert!(counts.duplicate_acks >= 5, "{counts:?}");
    assert!(direction.packets[0].is_lost() && !direction.packets[0].is_acked());
    assert!(direction.packets[6].is(Packet::RETRANSMISSION) && direction.packets[6].is_acked());
    // Each range is new once, and its packets are acknowledged when it is.
    let sacked: Vec<_> = direction.sacks.iter().map(|sack| (sack.start, sack.end)).collect();
    assert_eq!(sacked, (1..6).map(|number| (number * 1000, number * 1000 + 1000)).collect::<Vec<_>>());
    assert_eq!(direction.packets[5].acked_at.since(direction.packets[5].time), ms(40.0));
    // By Karn's rule the acknowledgement of the repair is not a sample.
    assert_eq!(direction.round_trips.len(), 5);
    assert_eq!(counts.delivered, 6000);
}

#[test]
fn silence_before_a_retransmission_is_a_timeout() {
    let mut segments = handshake();
    segments.extend([
        data(0, 41.0),
        ack(1, 81.0),
        data(1, 82.0),
        data(2, 82.1),
        data(1, 400.0),
        ack(3, 440.0),
    ]);
    let direction = client(&segments);
    assert_eq!(direction.timeouts.len(), 1);
    assert!((direction.timeouts[0].silence.as_millis_f64() - 317.9).abs() < 0.01);
    assert!(direction.packets[3].is(Packet::TIMEOUT | Packet::RETRANSMISSION));
}

#[test]
fn retransmissions_that_were_not_necessary_are_found() {
    // By data that was acknowledged before, and by a report of the receiver (RFC 2883).
    let mut segments = handshake();
    segments.extend([data(0, 41.0), data(1, 42.0), ack(2, 82.0), data(0, 83.0)]);
    let report = [&[1, 1, 5, 10], [1000u32, 2000].map(u32::to_be_bytes).concat().as_slice()].concat();
    segments.push(TestSegment(123.0, true, 5000, 3000, ACK, 0, 1000, &report));
    let direction = client(&segments);
    assert_eq!((direction.counts.spurious, direction.counts.duplicate_reports), (1, 1));
    assert!(direction.sacks[0].is_duplicate);
    // By the echo of the original's timestamp (RFC 3522).
    let stamps = |value: u32, echo: u32| {
        [&[1, 1, 8, 10], [value, echo].map(u32::to_be_bytes).concat().as_slice()].concat()
    };
    let options = [stamps(100, 1), stamps(500, 1), stamps(2, 100), stamps(3, 500)];
    let with = |segment: TestSegment<'static>, options| {
        TestSegment(segment.0, segment.1, segment.2, segment.3, segment.4, segment.5, segment.6, options)
    };
    for (echo, spurious) in [(2, 1), (3, 0)] {
        let mut segments = handshake();
        segments.push(with(data(0, 41.0), &options[0]));
        segments.push(with(data(0, 441.0), &options[1]));
        segments.push(with(ack(1, 445.0), &options[echo]));
        assert_eq!(client(&segments).counts.spurious, spurious, "{echo}");
    }
}

#[test]
fn late_packets_fill_a_gap_soon_and_repairs_later() {
    for (millis, late, again) in [(42.5, 1, 0), (120.0, 0, 1)] {
        let mut segments = handshake();
        segments.extend([data(0, 41.0), data(2, 42.0), data(1, millis), ack(3, 160.0)]);
        let counts = client(&segments).counts;
        assert_eq!((counts.late, counts.retransmitted, counts.delivered), (late, again, 3000), "{millis}");
    }
}

#[test]
fn a_full_window_limits_the_sender() {
    let mut segments = handshake();
    // 1280 B of window, of which a packet leaves 280.
    segments[2] = TestSegment(40.1, false, 1000, 5000, ACK, 0, 1000, &[]);
    segments.push(TestSegment(40.5, true, 5000, 1000, ACK, 0, 10, &[]));
    let mut direction = client(&segments);
    assert!(direction.limits.is_empty());
    let narrow = |millis: f64, number: u32, window: u16| {
        TestSegment(millis, true, 5000, 1000 + number * 1000, ACK, 0, window, &[])
    };
    let mut segments = vec![
        TestSegment(0.0, false, 999, 0, SYN, 0, 10, &[2, 4, 0x03, 0xe8, 3, 3, 0]),
        TestSegment(40.0, true, 4999, 1000, SYN | ACK, 0, 1500, &[2, 4, 0x03, 0xe8, 3, 3, 0]),
    ];
    segments.extend([
        data(0, 41.0),
        narrow(81.0, 1, 3000),
        data(1, 82.0),
        data(2, 82.0),
        data(3, 82.0),
        narrow(122.0, 4, 0),
    ]);
    direction = client(&segments);
    assert_eq!(direction.counts.zero_windows, 1);
    let spans: Vec<_> =
        direction.limits.iter().map(|(from, until, limit)| (until.since(*from), *limit)).collect();
    assert_eq!(spans, [(ms(40.0), Limit::Receiver), (ms(40.0), Limit::Receiver)]);
}

#[test]
fn offloaded_segments_count_as_packets_of_the_segment_size() {
    let mut segments = handshake();
    segments.push(TestSegment(41.0, false, 1000, 5000, ACK, 3500, 1000, &[]));
    segments.push(TestSegment(81.0, true, 5000, 3024, ACK, 0, 1000, &[]));
    let trace = trace_of_segments(&segments);
    let direction = &trace.connections[0].directions[0];
    assert_eq!(
        direction.packets.iter().map(|packet| packet.length).collect::<Vec<_>>(),
        [1012, 1012, 1012, 464]
    );
    assert_eq!(direction.packets.iter().filter(|packet| packet.is_acked()).count(), 2);
    assert!(trace.connections[0].notes[0].contains("TSO"), "{:?}", trace.connections[0].notes);
}

#[test]
fn numbers_wrap_and_ports_are_used_again() {
    let opening = |sequence: u32, millis: f64| TestSegment(millis, false, sequence, 0, SYN, 0, 1000, OPENING);
    let first = 0xffff_fb00u32;
    let mut segments = vec![opening(first.wrapping_sub(1), 0.0)];
    for number in 0..4u32 {
        segments.push(TestSegment(
            f64::from(number) + 1.0,
            false,
            first.wrapping_add(number * 1000),
            5000,
            ACK,
            1000,
            1000,
            &[],
        ));
    }
    segments.push(TestSegment(50.0, true, 5000, first.wrapping_add(4000), ACK, 0, 1000, &[]));
    segments.push(TestSegment(60.0, false, first.wrapping_add(4000), 5000, FIN, 0, 1000, &[]));
    segments.push(opening(77, 1000.0));
    segments.push(TestSegment(1001.0, false, 78, 5000, ACK, 1000, 1000, &[]));
    let trace = trace_of_segments(&segments);
    assert_eq!(trace.connections.len(), 2);
    let positions: Vec<_> =
        trace.connections[0].directions[0].packets.iter().map(|packet| packet.position).collect();
    assert_eq!(positions, [0, 1000, 2000, 3000]);
    assert_eq!(trace.connections[0].directions[0].counts.delivered, 4000);
    assert_eq!(trace.connections[1].directions[0].packets[0].position, 0);
}

#[test]
fn a_capture_at_the_receiver_has_round_trips_by_timestamps() {
    let stamps = |value: u32, echo: u32| {
        [&[1, 1, 8, 10], [value, echo].map(u32::to_be_bytes).concat().as_slice()].concat()
    };
    let options: Vec<_> = (0..8u32)
        .map(|number| (stamps(100 + number, 199 + number), stamps(200 + number, 100 + number)))
        .collect();
    // At the server: the client's half of the handshake takes 40 ms.
    let mut segments = vec![
        TestSegment(0.0, false, 999, 0, SYN, 0, 1000, OPENING),
        TestSegment(0.1, true, 4999, 1000, SYN | ACK, 0, 1000, OPENING),
        TestSegment(40.1, false, 1000, 5000, ACK, 0, 1000, &[]),
    ];
    for (number, (sent, answer)) in options.iter().enumerate() {
        let time = 41.0 + number as f64 * 40.0;
        segments.push(TestSegment(time, false, 1000 + number as u32 * 1000, 5000, ACK, 1000, 1000, sent));
        segments.push(TestSegment(time + 0.1, true, 5000, 2000 + number as u32 * 1000, ACK, 0, 1000, answer));
    }
    let trace = trace_of_segments(&segments);
    let connection = &trace.connections[0];
    let direction = &connection.directions[0];
    assert_eq!((connection.point, direction.view), (Point::Server, View::Receiver));
    // A packet echoes the acknowledgement of the one before.
    let trips: Vec<f64> = direction.rtt_samples().iter().map(|sample| sample.1.as_millis_f64()).collect();
    assert!(!trips.is_empty() && trips.iter().all(|trip| (trip - 39.9).abs() < 1.0), "{trips:?}");
}

#[test]
fn encrypted_quic_has_sizes_times_and_the_spin_bit() {
    let datagram = |millis: f64, is_server: bool, payload: &[u8], length: u16| {
        let ports: [u16; 2] = if is_server { [443, 50_000] } else { [50_000, 443] };
        let total = 28 + length;
        let mut bytes = vec![0x45, 0];
        bytes.extend(total.to_be_bytes());
        bytes.extend([0, 7, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        if is_server {
            bytes[12..20].rotate_left(4);
        }
        bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend((length + 8).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        (millis, bytes, u32::from(total))
    };
    let mut packets = vec![datagram(0.0, false, &[0xc3, 0, 0, 0, 1, 8], 1200)];
    // Ten packets in each round trip of 50 ms.
    for number in 0..60u16 {
        let bit = if number / 10 % 2 == 0 { 0x40 } else { 0x60 };
        packets.push(datagram(50.0 + f64::from(number) * 5.0, false, &[bit, 1, 2, 3], 1200));
    }
    let trace = read_capture(&pcap(false, false, 101, &packets));
    let connection = &trace.connections[0];
    assert_eq!(connection.protocol, Protocol::EncryptedQuic);
    assert!(connection.notes[0].contains("encrypted"));
    let direction = &connection.directions[0];
    assert_eq!((direction.packets.len(), direction.counts.payload), (61, 61 * 1200));
    assert_eq!(direction.rtt_samples().iter().map(|sample| sample.1).collect::<Vec<_>>(), [ms(50.0); 4]);
}

#[test]
fn packets_that_are_not_used_are_counted() {
    let arp = (0.0, [[0; 12].as_slice(), &[8, 6], &[0; 28]].concat(), 42);
    let refused = |link: u32, packets: &[(f64, Vec<u8>, u32)]| {
        let file = pcap(false, false, link, packets);
        read(&mut file.as_slice(), &Limits::default()).unwrap_err().to_string()
    };
    assert!(refused(1, std::slice::from_ref(&arp)).contains("1 packets are not IP"));
    assert!(refused(105, std::slice::from_ref(&arp)).contains("link type 105"));
    assert!(refused(1, &[]).contains("no packets"));
    let (mut bytes, length) = ipv4(&data(0, 0.0));
    bytes.truncate(30);
    assert!(refused(101, &[(0.0, bytes, length)]).contains("capture at least 120 B"));
    let (mut fragment, length) = ipv4(&data(0, 0.0));
    fragment[7] = 100;
    let (whole, _) = ipv4(&data(0, 0.0));
    let trace = read_capture(&pcap(false, false, 101, &[(0.0, fragment, length), (1.0, whole, length)]));
    assert!(trace.notes[0].contains("1 packets are fragments"), "{:?}", trace.notes);
}

#[test]
fn a_cut_or_damaged_capture_gives_what_comes_before() {
    let mut segments = handshake();
    segments.extend([data(0, 41.0), ack(1, 81.0)]);
    let packets: Vec<_> = segments
        .iter()
        .map(|segment| {
            let (bytes, length) = ipv4(segment);
            (segment.0, bytes, length)
        })
        .collect();
    for (file, first) in [(pcap(false, true, 101, &packets), 24 + 16 + 48), (pcapng(true, 6, &packets), 180)]
    {
        for end in 0..file.len() {
            let found = read(&mut &file[..end], &Limits::default());
            if end > first {
                let trace = found.unwrap();
                let whole = read_capture(&file);
                assert!(
                    trace.connections[0].directions[0].counts.packets
                        <= whole.connections[0].directions[0].counts.packets
                );
                assert!(
                    !trace.is_cut || trace.notes.iter().any(|note| note.contains("ends at byte")),
                    "{:?}",
                    trace.notes
                );
            }
        }
        let mut damaged = file.clone();
        let at = damaged.len() - 60;
        damaged[at..at + 30].fill(0xff);
        let _ = read(&mut damaged.as_slice(), &Limits::default());
    }
    // A length that no packet has.
    let mut file = pcap(false, true, 101, &packets);
    let last = file.len() - 40 - 8;
    file[last..last + 4].fill(0xff);
    let trace = read_capture(&file);
    assert!(trace.is_cut && trace.notes[0].contains("length of 4294967295 B"), "{:?}", trace.notes);
}
