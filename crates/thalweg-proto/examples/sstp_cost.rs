//! Measures the processing of SSTP per packet, at the sender and at the receiver: table 1 of Gong and Parulkar 1992 for
//! this implementation.
//!
//! ```console skip
//! $ cargo run --release -p thalweg-proto --example sstp_cost
//! $ valgrind --tool=callgrind --toggle-collect='*::send_batch*' target/release/examples/sstp_cost 20000 engine
//! ```
//!
//! The sender sends a window of 64 segments of 16 packets of 1024 bytes, as pacing permits; the receiver processes
//! them; the sender processes its reports; and so on without losses. Times are those of the batches of each endpoint.
//! The modes are `engine` (state machines alone) and `wire` (with the packets' bytes: header, copy of the data,
//! checksum).

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration as WallTime, Instant};
use thalweg_proto::payload::Slice;
use thalweg_proto::sstp::{
    Acknowledgement, Pdu, RateSpec, Receiver, ReceiverConfig, Resume, Sender, SenderConfig, Tolerance, wire,
};
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::{Ecn, Engine, Output};

/// Payload of a packet, in bytes.
const PACKET: u32 = 1024;
/// Packets of a segment.
const SEGMENT: u16 = 16;
/// Segments of a batch.
const WINDOW: u16 = 64;
/// Packets without a number on the command line.
const PACKETS: u64 = 1_000_000;

/// A packet in transit, alone or as bytes.
enum InTransit {
    Pdu(Pdu<Slice>),
    Bytes(Slice),
}

/// Both endpoints, with the time spent in each.
struct Pair {
    sender: Sender<Slice>,
    receiver: Receiver<Slice>,
    now: Time,
    with_bytes: bool,
    there: Vec<InTransit>,
    back: Vec<InTransit>,
    spent: [WallTime; 2],
    sent: u64,
    delivered: u64,
}

/// Returns a PDU as it travels.
fn pack(pdu: Pdu<Slice>, with_bytes: bool) -> InTransit {
    if !with_bytes {
        return InTransit::Pdu(pdu);
    }
    let mut bytes = Vec::with_capacity(PACKET as usize + wire::DATA_OVERHEAD);
    wire::encode(1, &pdu, &mut bytes);
    InTransit::Bytes(Slice::new(bytes))
}

/// Returns the PDU of what has travelled.
fn unpack(packet: InTransit) -> Pdu<Slice> {
    match packet {
        InTransit::Pdu(pdu) => pdu,
        InTransit::Bytes(bytes) => wire::decode(&bytes).expect("both endpoints have the same format").1,
    }
}

impl Pair {
    fn new(with_bytes: bool) -> Self {
        let rate = Rate::from_mbits_per_sec(1000);
        let rate = RateSpec::with_average(rate, rate, 1, Bytes::new(u64::from(PACKET)));
        let sender = SenderConfig {
            segment_packets: SEGMENT,
            max_payload: PACKET,
            rate: rate.expect("the rate is valid"),
            resume: Resume::AtOnce,
            window: WINDOW,
            soft: false,
        };
        let receiver = ReceiverConfig {
            segment_packets: SEGMENT,
            max_payload: PACKET,
            window: WINDOW,
            buffer: WINDOW,
            acknowledgement: Acknowledgement::Hard,
            tolerance: Tolerance::Packets(0),
            reordering: 0,
            repeat: Duration::from_secs(1),
            wait_for_consumption: false,
        };
        Self {
            sender: Sender::new(Arc::new(sender)),
            receiver: Receiver::new(Arc::new(receiver)),
            now: Time::ZERO,
            with_bytes,
            there: Vec::new(),
            back: Vec::new(),
            spent: [WallTime::ZERO; 2],
            sent: 0,
            delivered: 0,
        }
    }

    /// Processes the reports that have arrived, and sends a window of new data, which is written first.
    #[inline(never)]
    fn send_batch(&mut self, data: &Slice) {
        let began = Instant::now();
        for packet in self.back.drain(..) {
            self.sender.handle(self.now, Input::Pdu { pdu: unpack(packet), ecn: Ecn::NotEct });
        }
        self.sender.handle(self.now, Input::Write(data.clone()));
        let due = self.sent + u64::from(WINDOW) * u64::from(SEGMENT);
        while self.sent < due {
            match self.sender.poll(self.now) {
                Output::Transmit(pdu) => {
                    self.sent += u64::from(pdu.is_data());
                    self.there.push(pack(pdu, self.with_bytes));
                }
                Output::Event(event) => {
                    black_box(event);
                }
                Output::Timeout { at, .. } => self.now = at,
                Output::Idle => panic!("the window is full before a batch is sent"),
            }
        }
        self.spent[0] += began.elapsed();
    }

    /// Processes all packets that have arrived.
    #[inline(never)]
    fn receive_batch(&mut self) {
        let began = Instant::now();
        for packet in self.there.drain(..) {
            self.receiver.handle(self.now, Input::Pdu { pdu: unpack(packet), ecn: Ecn::NotEct });
            loop {
                match self.receiver.poll(self.now) {
                    Output::Transmit(report) => self.back.push(pack(report, self.with_bytes)),
                    Output::Event(event) => {
                        self.delivered += 1;
                        black_box(event);
                    }
                    Output::Timeout { .. } | Output::Idle => break,
                }
            }
        }
        self.spent[1] += began.elapsed();
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let packets = words.next().map_or(PACKETS, |word| word.parse().expect("the first argument is a number"));
    let only = words.next();
    let data = Slice::new(vec![0x5a; PACKET as usize * usize::from(SEGMENT) * usize::from(WINDOW)]);
    for (mode, with_bytes) in [("engine", false), ("wire", true)] {
        if only.as_deref().is_some_and(|only| only != mode) {
            continue;
        }
        let mut pair = Pair::new(with_bytes);
        while pair.sent < packets {
            pair.send_batch(&data);
            pair.receive_batch();
        }
        assert!(pair.delivered > 0, "nothing was delivered");
        for (endpoint, spent) in ["sender", "receiver"].into_iter().zip(pair.spent) {
            let each = spent.as_nanos() as f64 / pair.sent as f64;
            let rate = f64::from(PACKET) * 8.0 / each;
            println!("{mode:6} {endpoint:8} {each:7.1} ns a packet, {rate:7.1} Gbit/s of data");
        }
    }
}
