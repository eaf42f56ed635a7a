use super::*;
use std::process::Command;
use thalweg_proto::Ecn;
use thalweg_proto::adaptive_ack::{self, Report};
use thalweg_proto::datagram;
use thalweg_proto::handshake::{self, Control, Protocol};
use thalweg_proto::payload::{Length, Slice};
use thalweg_proto::sscop;
use thalweg_proto::sstp;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::{Rate, Time};
use thalweg_proto::window::{self, Ack, SackBlock, Segment};
use thalweg_sim::Pdu;
use thalweg_sim::packet_trace::PacketId;

fn segment(sequence: u64) -> Pdu {
    let segment = Segment::new(sequence, Length(1000));
    Pdu::Window(window::Pdu::Segment(segment))
}

fn acknowledgement() -> Pdu {
    let block = |start, end| SackBlock { start, end };
    let sack = [block(1000, 3000), block(5000, 6000), SackBlock::default()];
    let ack = Ack { cumulative: (1 << 32) + 999, window: 65_536, sack, ce: 1, ..Ack::default() };
    Pdu::Window(window::Pdu::Ack(ack))
}

/// Returns a capture at the source of these packets, sent (forward) or delivered (backward) a microsecond apart.
fn capture(packets: &[(u32, bool, u32, Pdu)], snapshot: u32) -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), Point::Source).unwrap().snapshot(snapshot);
    for (serial, (flow, backward, size, pdu)) in (0..).zip(packets) {
        capture.record(&Record {
            time: Time::from_picos(1_000_000_000_000 + u64::from(serial) * 1_000_000),
            step: if *backward { Step::Delivered } else { Step::Sent },
            link_direction: u32::MAX,
            packet: PacketId { connection: *flow, incarnation: 0, backward: *backward, serial, router: None },
            flow: *flow,
            reply: false,
            ecn: Ecn::NotEct,
            size: *size,
            pdu,
        });
    }
    assert_eq!(capture.packets(), packets.len() as u64);
    capture.finish().unwrap()
}

/// Tests flags, and that SYN and FIN take one sequence number each (RFC 9293, sections 3.1 and 3.4).
#[test]
fn connections_of_tcp_open_and_close() {
    let packet = |backward, step| {
        let pdu = Pdu::Handshake(Control { protocol: Protocol::Tcp, step });
        (0, backward, 60, pdu)
    };
    let steps = [
        (false, handshake::HandshakeStep::Syn, 0, 0, 0x02),
        (true, handshake::HandshakeStep::SynAck, 0, 1, 0x12),
        (false, handshake::HandshakeStep::Ack, 1, 1, 0x10),
        (false, handshake::HandshakeStep::Fin(1000), 1001, 1, 0x11),
        (true, handshake::HandshakeStep::FinAck(1000), 1, 1002, 0x11),
        (false, handshake::HandshakeStep::AckOfFin(1000), 1002, 2, 0x10),
    ];
    let packets: Vec<_> = steps.iter().map(|step| packet(step.0, step.1)).collect();
    let bytes = capture(&packets, 60);
    for (number, (backward, _, sequence, acknowledged, flags)) in steps.into_iter().enumerate() {
        // After the file header of 24 bytes, each packet has a header of 16 bytes and 60 bytes, 20 of them IP.
        let tcp = &bytes[24 + number * 76 + 16 + 20..];
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let port = if backward {
            u16::from_be_bytes([tcp[0], tcp[1]])
        } else {
            u16::from_be_bytes([tcp[2], tcp[3]])
        };
        assert_eq!(port, 5001);
        assert_eq!((word(4), word(8), tcp[13]), (sequence, acknowledged, flags));
    }
    assert_eq!(bytes.len(), 24 + 6 * 76);
}

fn two_level_data(length: u32) -> sstp::Pdu<Length> {
    let payload = Length(length);
    sstp::Pdu::Data(sstp::Data {
        shipment: 70_000,
        segment: 3,
        packet: 2,
        last: true,
        is_full: true,
        resent: true,
        payload,
    })
}

fn two_level_request() -> sstp::Pdu<Length> {
    let report = sstp::Report { control: 9, accepted: 3, cumulative: 2, limit: 60 };
    let bitmap = sstp::Bitmap::from_bytes(&[0b1101_1111, 0b1111_1110]);
    sstp::Pdu::Snak(report, sstp::Request { segment: 2, bitmap })
}

fn packets() -> Vec<(u32, bool, u32, Pdu)> {
    let warning = Feedback { dropped: None, rate: Some(Rate::from_mbits_per_sec(3)), growth: None, queue: 0 };
    let numbers = [3, 5].map(sscop::SequenceNumber::new).to_vec();
    let [ps, mr, r] = [2, 131, 3].map(sscop::SequenceNumber::new);
    let stat = sscop::Pdu::Stat(sscop::Stat { ps, mr, r, list: numbers, rate: None });
    let drop = Feedback { dropped: Some(4000), rate: None, growth: None, queue: 0 };
    vec![
        (0, false, 1040, segment(0)),
        (0, false, 1040, segment((1 << 32) - 1)),
        (0, true, 40, acknowledgement()),
        (300, false, 1028, Pdu::Datagram(datagram::Pdu(Length(1000)))),
        (0, true, 60, Pdu::Feedback(drop)),
        (0, true, 60, Pdu::Feedback(warning)),
        (
            1,
            false,
            1052,
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Data(adaptive_ack::Data {
                sequence: 9,
                payload: Length(1008),
            })),
        ),
        (
            1,
            true,
            60,
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Ack(Report { gap_in: 9, gap_out: 11, cumulative: 7 })),
        ),
        (2, false, 1051, Pdu::Sstp(two_level_data(1005))),
        (2, true, 50, Pdu::Sstp(two_level_request())),
        (1, false, 1036, Pdu::Sscop(sscop::Pdu::Sd { s: sscop::SequenceNumber::new(5), mu: Length(1001) })),
        (1, true, 48, Pdu::Sscop(stat)),
    ]
}

#[test]
fn the_file_begins_as_nanosecond_pcap_of_raw_packets() {
    let bytes = capture(&packets()[..1], 0);
    assert_eq!(bytes[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
    assert_eq!(bytes[20..24], [101, 0, 0, 0]);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(24), word(28), word(32), word(36)), (1, 0, 40, 1040), "only headers are stored");
    assert_eq!(bytes.len(), 24 + 16 + 40);
}

/// Readers take the size of a packet from its IP header: it is that on the simulated wire.
#[test]
fn headers_have_the_size_on_the_wire() {
    let syn = Pdu::Handshake(Control { protocol: Protocol::Tcp, step: handshake::HandshakeStep::Syn });
    // The longest TCP header has 60 bytes; a header is of whole words; what is larger than its packet stays so.
    let sizes = [
        (segment(0), 1052, 1052, 32),
        (segment(0), 1040, 1040, 20),
        (segment(0), 1000, 1040, 20),
        (segment(0), 1043, 1040, 20),
        (segment(0), 1300, 1080, 60),
        (acknowledgement(), 72, 72, 52),
        (acknowledgement(), 40, 60, 40),
        (syn, 60, 60, 40),
    ];
    for (pdu, size, total, header) in sizes {
        let bytes = capture(&[(0, false, size, pdu)], 0);
        let ip = &bytes[24 + 16..];
        assert_eq!(u32::from(u16::from_be_bytes([ip[2], ip[3]])), total, "{size}");
        assert_eq!((ip[20 + 12] >> 4) * 4, header, "{size}");
        // What is stored are the headers.
        assert_eq!(ip.len(), 20 + usize::from(header), "{size}");
        let options = &ip[20 + 20..];
        assert!(options.is_empty() || options.ends_with(&[1; 4]) || total > size || header == 20, "{size}");
    }
}

#[test]
fn a_capture_point_records_one_side_only() {
    let pdu = segment(0);
    let record = |step, link, backward| Record {
        time: Time::ZERO,
        step,
        link_direction: link,
        packet: PacketId { connection: 0, incarnation: 0, backward, serial: 0, router: None },
        flow: 0,
        reply: false,
        ecn: Ecn::NotEct,
        size: 1040,
        pdu: &pdu,
    };
    let sees = |point: Point, step, link, backward| point.sees(&record(step, link, backward));
    assert!(sees(Point::Source, Step::Sent, u32::MAX, false));
    assert!(!sees(Point::Source, Step::Delivered, u32::MAX, false));
    assert!(sees(Point::Sink, Step::Delivered, u32::MAX, false));
    assert!(sees(Point::Transmitters(vec![3]), Step::Transmitted, 3, true));
    assert!(!sees(Point::Transmitters(vec![3]), Step::Transmitted, 2, true));
}

/// Tests that the engine's own decoder reads captured adaptive acknowledgements.
#[test]
fn adaptive_acknowledgement_is_captured_as_deployed() {
    for (index, expected) in
        [(6, "Data { sequence: 9, "), (7, "Report { gap_in: 9, gap_out: 11, cumulative: 7 }")]
    {
        let bytes = capture(&packets()[index..=index], 65_535);
        // File, packet, IP and UDP headers.
        let pdu = adaptive_ack::wire::decode(&Slice::new(&bytes[24 + 16 + 28..])).unwrap();
        assert!(format!("{pdu:?}").contains(expected), "{pdu:?}");
    }
}

/// Tests that the engine's own decoder reads captured two-level flow control, checksums included, for odd and even
/// payload lengths.
#[test]
fn two_level_flow_control_is_captured_as_deployed() {
    for length in [1, 2, 1005, 1006] {
        let bytes = capture(&[(2, false, 0, Pdu::Sstp(two_level_data(length)))], 65_535);
        let (connection, pdu) = sstp::wire::decode(&Slice::new(&bytes[24 + 16 + 28..])).unwrap();
        let sstp::Pdu::Data(data) = pdu else { panic!("{pdu:?}") };
        assert_eq!((connection, data.shipment, data.payload.as_bytes().len()), (2, 70_000, length as usize));
        assert!(data.last && data.resent);
    }
    let bytes = capture(&packets()[9..=9], 65_535);
    let decoded = sstp::wire::decode(&Slice::new(&bytes[24 + 16 + 28..])).unwrap().1;
    assert_eq!(format!("{decoded:?}"), format!("{:?}", two_level_request()));
    // A segment whose bitmap exceeds the stored headers.
    let sstp::Pdu::Snak(report, mut request) = two_level_request() else { panic!() };
    request.bitmap = sstp::Bitmap::none_received(60_000);
    let bytes = capture(&[(2, true, 0, Pdu::Sstp(sstp::Pdu::Snak(report, request)))], 65_535);
    assert_eq!(bytes.len(), 24 + 16 + 28 + 22 + 7500);
}

#[test]
fn answers_are_sent_by_the_sink() {
    let mut capture = Capture::new(Vec::new(), Point::Source).unwrap();
    for (reply, step, expected) in [(false, Step::Sent, 1), (true, Step::Sent, 1), (true, Step::Delivered, 2)]
    {
        capture.record(&Record {
            time: Time::ZERO,
            step,
            link_direction: u32::MAX,
            packet: PacketId { connection: 0, incarnation: 0, backward: false, serial: 0, router: None },
            flow: 0,
            reply,
            ecn: Ecn::NotEct,
            size: 1040,
            pdu: &segment(0),
        });
        assert_eq!(capture.packets(), expected, "{reply}, {step:?}");
    }
}

/// Tests against Wireshark: it must find every header well-formed, with valid checksums and the expected values.
#[test]
fn tshark_reads_the_headers_as_meant() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let path = std::env::temp_dir().join(format!("thalweg-capture-{}.pcap", std::process::id()));
    std::fs::write(&path, capture(&packets(), 65_535)).unwrap();
    let fields = [
        "frame.len",
        "ip.src",
        "ip.dst",
        "tcp.seq",
        "tcp.ack",
        "tcp.flags.ece",
        "tcp.options.sack_le",
        "udp.length",
        "icmp.type",
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "sscop.s",
        "sscop.stat.s",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    tshark.args(["-o", "tcp.relative_sequence_numbers:FALSE", "-d", "udp.port==5001,sscop"]);
    tshark.args(["-o", "sscop.payload:Data (no further dissection)"]);
    for protocol in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Checksum status 1 is good. Wireshark does not check the truncated TCP header quoted in a message.
    let expected = [
        "1040|10.0.0.1|10.128.0.1|1|1|0|||||1|1||||",
        "1040|10.0.0.1|10.128.0.1|0|1|0|||||1|1||||",
        "60|10.128.0.1|10.0.0.1|1|1000|1|2000,6000||||1|1||||",
        "1028|10.0.1.45|10.128.1.45|||||1008|||1||1|||",
        "60|10.255.255.254,10.0.0.1|10.0.0.1,10.128.0.1|4001|||||4||1,1|||1||",
        "60|10.255.255.254,10.0.0.1|10.0.0.1,10.128.0.1|4294967295|||||4||1,1|||1||",
        "1052|10.0.0.2|10.128.0.2|||||1032|||1||1|||",
        "60|10.128.0.2|10.0.0.2|||||40|||1||1|||",
        "1051|10.0.0.3|10.128.0.3|||||1031|||1||1|||",
        "52|10.128.0.3|10.0.0.3|||||32|||1||1|||",
        "1036|10.0.0.2|10.128.0.2|||||1016|||1||1||5|",
        "48|10.128.0.2|10.0.0.2|||||28|||1||1|||3,5",
    ];
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
