//! Memory that hostile peers make an endpoint retain, with any scheme and options, measured as allocations. The tests
//! run in a separate process, one after the other, so nothing else is counted.

mod allocation_counter;
#[path = "it/attacks/attacker.rs"]
mod attacker;
#[path = "it/endpoint_pair/mod.rs"]
mod endpoint_pair;

use allocation_counter::allocated_bytes;
use attacker::{HostileClient, accepted_connection, server};
use endpoint_pair::{Channel, Pair, client_config, server_config};
use std::sync::{Mutex, PoisonError};
use thalweg_net::endpoint::{Arrival, Limits, ReceivedDatagrams};
use thalweg_net::wire::{AEAD_TAG, HEADER};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{adaptive_ack, sscop, sstp, window};

const START: Time = Time::from_picos(1_000_000_000_000);

/// Memory limit of all connections of a socket together, in bytes.
const SOCKET: i64 = 256 << 20;

static ALONE: Mutex<()> = Mutex::new(());

fn segment_bytes(segment: window::Segment<Slice>) -> Vec<u8> {
    let mut bytes = Vec::new();
    window::wire::encode(&window::Pdu::Segment(segment), &mut bytes);
    bytes
}

/// Scheme with its initial PDU, if any, and a generator of numbered PDUs that cannot be delivered.
struct Family {
    scheme: &'static str,
    first: Option<fn() -> Vec<u8>>,
    pdu: fn(u32) -> Vec<u8>,
    /// Number of PDUs per connection, and of connections.
    counts: [u32; 2],
}

fn adaptive_ack_data(sequence: u32, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let data = adaptive_ack::Data { sequence: sequence.into(), payload: Slice::new(vec![b'x'; length]) };
    adaptive_ack::wire::encode(&adaptive_ack::Pdu::Data(data), &mut bytes);
    bytes
}

fn sscop_data(number: u32, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mu = Slice::new(vec![b'x'; length]);
    sscop::Pdu::Sd { s: sscop::SequenceNumber::new(number), mu }.encode(&mut bytes);
    bytes
}

fn sscop_begin() -> Vec<u8> {
    let mut bytes = Vec::new();
    sscop::Pdu::<Slice>::Bgn { sq: 1, mr: sscop::SequenceNumber::new(1000), uu: None }.encode(&mut bytes);
    bytes
}

/// Returns a packet of a segment; `packet` counts the packets sent before.
fn sstp_data(segment: u32, packet: u16, shipment: u32, length: usize) -> Vec<u8> {
    let payload = Slice::new(vec![b'x'; length]);
    let (segment, last) = (segment as u16, packet == 3);
    let data = sstp::Data { shipment, segment, packet, last, is_full: true, resent: false, payload };
    let mut bytes = Vec::new();
    sstp::wire::encode(0, &sstp::Pdu::Data(data), &mut bytes);
    bytes
}

const FAMILIES: [Family; 7] = [
    // Many bytes per packet, regardless of the agreed size.
    Family {
        scheme: "adaptive-ack:window=1048576pkt,segment=256B",
        first: None,
        pdu: |number| adaptive_ack_data(number + 2, 50_000),
        counts: [60, 150],
    },
    // A byte far ahead of the window, which reserves slots for all before it.
    Family {
        scheme: "adaptive-ack:window=1048576pkt,segment=256B",
        first: None,
        pdu: |number| adaptive_ack_data(60_000 - number, 1),
        counts: [3, 400],
    },
    Family {
        scheme: "sscop:window=65536pkt,segment=1000B",
        first: Some(sscop_begin),
        pdu: |number| sscop_data(number + 1, 1000),
        counts: [2000, 200],
    },
    Family {
        scheme: "sscop-rate:window=65536pkt,segment=1000B",
        first: Some(sscop_begin),
        pdu: |number| sscop_data(number + 1, 1000),
        counts: [2000, 200],
    },
    // The second segment and all later ones.
    Family {
        scheme: "sstp:segment-packets=4pkt,window=32767,buffer=32767,segment=1000B,rate=1Gbit/s",
        first: None,
        pdu: |number| sstp_data(1 + number / 4, (number % 4) as u16, number + 4, 1000),
        counts: [1600, 200],
    },
    // A byte of each segment, which reserves slots for the rest of it.
    Family {
        scheme: "sstp:segment-packets=4096pkt,window=32767,buffer=32767,segment=1000B,rate=1Gbit/s",
        first: None,
        pdu: |number| sstp_data(number, 1, number * 4096, 1),
        counts: [150, 200],
    },
    // A byte far ahead of the window, which creates records of all segments before it.
    Family {
        scheme: "sstp:segment-packets=1pkt,window=32767,buffer=32767,segment=1000B,rate=1Gbit/s",
        first: None,
        pdu: |number| sstp_data(16_000 - number, 0, 16_000 + number, 1),
        counts: [2, 200],
    },
];

/// Undeliverable data counts against the same limit as data queued for the application.
#[test]
fn out_of_order_data_is_bounded_per_socket() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for Family { scheme, first, pdu, counts: [pdus, connections] } in FAMILIES {
        let mut endpoint = server(server_config());
        let before = allocated_bytes();
        let mut max = 0;
        let mut hostiles = Vec::new();
        for number in 0..connections {
            let now = START + Duration::from_millis(u64::from(number));
            let mut hostile = HostileClient::connect(&mut endpoint, now, number, scheme.as_bytes());
            let (handle, _) =
                accepted_connection(&mut endpoint).unwrap_or_else(|| panic!("{:?}", hostile.closed));
            endpoint.authorise(handle);
            if let Some(first) = first {
                hostile.pdu(&mut endpoint, now, &first());
            }
            for number in 0..pdus {
                hostile.pdu(&mut endpoint, now, &pdu(number));
            }
            max = max.max(allocated_bytes() - before);
            assert!(max <= SOCKET, "{scheme}: {max} bytes of {number} connections");
            assert!(hostile.closed.is_none(), "{scheme}: {:?}", hostile.closed);
            hostiles.push(hostile);
        }
        println!("{scheme}: {} KiB of {connections} connections", max >> 10);
        assert!(max > 1 << 20, "{scheme}: the attack is none: {max} bytes");
    }
}

/// A retained packet does not pin other packets of its buffer if those are useless or there are many such buffers.
#[test]
fn retained_packets_do_not_pin_large_buffers() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Garbage needs no key. Authentic packets arrive while the driver reports no memory for whole buffers.
    for is_garbage in [true, false] {
        let mut endpoint = server(server_config());
        let mut hostile = HostileClient::connect(&mut endpoint, START, 1, b"cubic");
        let (handle, _) = accepted_connection(&mut endpoint).unwrap();
        endpoint.authorise(handle);
        let before = allocated_bytes();
        for number in 0..500 {
            let segment = window::Segment::new(1 + 2000 * number, Slice::new(vec![b'x'; 1300]));
            let mut together = hostile.sealed_pdu(&segment_bytes(segment));
            let stride = together.len();
            for _ in 0..39 {
                let other = hostile.sealed(&vec![0; stride - HEADER - AEAD_TAG]);
                together.extend(if is_garbage { vec![9; stride] } else { other });
            }
            let share = |bytes| ReceivedDatagrams { bytes: Slice::new(bytes), must_copy: !is_garbage };
            let arrival = Arrival { from: hostile.address, ecn: Ecn::NotEct };
            endpoint.receive(START, arrival, stride, together, share);
            hostile.collect(&mut endpoint, START);
        }
        assert!(hostile.closed.is_none(), "{:?}", hostile.closed);
        let kept = allocated_bytes() - before;
        assert!((600_000..1_500_000).contains(&kept), "{kept} bytes for 650 000");
    }
}

/// Packets without memory for them are dropped, and retransmitted.
#[test]
fn every_scheme_arrives_with_little_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let schemes =
        ["cubic", "adaptive-ack", "sscop", "sscop-rate", "sstp:rate=4Mbit/s", "sstp:acknowledgement=soft"];
    for (scheme, seed) in schemes.into_iter().zip(1..) {
        let channel = Channel { loss: 0.05, jitter: Duration::from_millis(3), ..Channel::default() };
        // Each connection has the minimum memory.
        let limits = Limits { memory: 100 << 10, ..Limits::default() };
        let mut config = server_config();
        config.limits = limits;
        let mut pair = Pair::with(seed, channel, client_config(), config);
        pair.transfer(scheme, seed, [400_000, 1000], Duration::from_secs(600));
        let server = &mut pair.ends[1];
        let memory = server.handle.and_then(|handle| server.endpoint.session(handle)).unwrap().memory();
        assert_eq!(memory, 64 << 10, "{scheme}");
    }
}
