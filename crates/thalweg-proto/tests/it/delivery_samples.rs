//! Deliveries and losses reported to controllers, and the resulting rate samples (draft-ietf-ccwg-bbr, "Delivery Rate
//! Samples"): segments of 1000 bytes, a sender driven by hand.

use std::sync::{Arc, Mutex};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::delivery_rate::{RateSample, Sampler, Stamp};
use thalweg_proto::congestion::{
    AckSample, ConnectionState, Controller, Decision, LossKind, LossSample, LostSample, SentSample,
};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Ack, Pdu, SackBlock, Sender, SenderConfig};
use thalweg_proto::{Engine, Output};

const SEGMENT: u64 = 1000;

/// Record of the samples passed to a controller.
#[derive(Debug, Default)]
struct Log {
    acks: Vec<(AckSample, RateSample)>,
    lost: Vec<LostSample>,
    episodes: Vec<LossKind>,
    sampler: Sampler,
}

/// A fixed window that samples the delivery rate.
#[derive(Clone, Debug)]
struct Probe {
    window: f64,
    log: Arc<Mutex<Log>>,
}

impl Controller for Probe {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.log.lock().unwrap().sampler.on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        let mut log = self.log.lock().unwrap();
        let rate = log.sampler.on_ack(sample, stamp);
        log.acks.push((*sample, rate));
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        let mut log = self.log.lock().unwrap();
        log.sampler.on_packet_lost(sample);
        log.lost.push(*sample);
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.log.lock().unwrap().sampler.on_app_limited(connection, self.window);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.log.lock().unwrap().episodes.push(sample.kind);
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

/// A sender with the samples passed to its controller.
struct Driven {
    sender: Sender<Length, Probe>,
    log: Arc<Mutex<Log>>,
    window: f64,
}

impl Driven {
    fn new(window: f64) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let config = SenderConfig { segment: SEGMENT as u32, ..SenderConfig::default() };
        let sender = Sender::new(Arc::new(config), Probe { window, log: Arc::clone(&log) });
        Self { sender, log, window }
    }

    fn handle_at(&mut self, millis: u64, input: Option<Input<Pdu<Length>, Length>>) -> u32 {
        let now = Time::ZERO + Duration::from_millis(millis);
        if let Some(input) = input {
            self.sender.handle(now, input);
        }
        let mut sent = 0;
        loop {
            match self.sender.poll(now) {
                Output::Transmit(_) => sent += 1,
                Output::Event(_) => {}
                Output::Timeout { .. } | Output::Idle => return sent,
            }
        }
    }

    fn write(&mut self, millis: u64, segments: u64) -> u32 {
        self.handle_at(millis, Some(Input::Write(Length((segments * SEGMENT) as u32))))
    }

    /// Acknowledges all below `segments` and these out-of-order ranges, with a receive window of `window` bytes.
    fn sack(&mut self, millis: u64, segments: u64, blocks: &[(u64, u64)], window: u64) -> u32 {
        let mut sack = [SackBlock::default(); 3];
        for (block, (start, end)) in sack.iter_mut().zip(blocks) {
            let offset = |at: u64| ((at - segments) * SEGMENT) as u32;
            *block = SackBlock { start: offset(*start), end: offset(*end) };
        }
        let ack = Ack { cumulative: segments * SEGMENT, window: window * SEGMENT, sack, ..Ack::default() };
        self.handle_at(millis, Some(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct }))
    }

    fn ack(&mut self, millis: u64, segments: u64) -> u32 {
        self.sack(millis, segments, &[], 1 << 20)
    }

    fn last(&self) -> (AckSample, RateSample) {
        *self.log.lock().unwrap().acks.last().unwrap()
    }

    fn lost_segments(&self) -> u64 {
        let log = self.log.lock().unwrap();
        let bytes: u64 = log.lost.iter().map(|lost| u64::from(lost.bytes)).sum();
        assert_eq!(bytes, log.sampler.lost());
        bytes / SEGMENT
    }
}

/// A window of ten segments over a round trip of 100 ms, acknowledged one per millisecond. The first flight is stamped
/// with nothing delivered: its k-th acknowledgement, at 99 + k ms, gives k segments in that time ("ACK Rate"). From the
/// second flight on each sample covers a whole window, from the third in a round trip.
#[test]
fn a_full_window_is_delivered_once_a_round_trip() {
    let mut driven = Driven::new(10.0);
    assert_eq!(driven.write(0, 1000), 10);
    for k in 1..=10 {
        assert_eq!(driven.ack(99 + k, k), 1);
        let (ack, rate) = driven.last();
        assert_eq!(
            (ack.connection.in_flight, ack.connection.in_flight_bytes),
            (10, 10 * SEGMENT),
            "before it"
        );
        assert_eq!(ack.in_flight_bytes, 9 * SEGMENT, "after it");
        assert_eq!((rate.delivered, rate.prior_delivered), (k * SEGMENT, 0));
        assert_eq!(rate.interval, Duration::from_millis(99 + k));
        assert_eq!(rate.tx_in_flight, k * SEGMENT, "with the packet itself");
        assert_eq!(rate.round_start, k == 1);
    }
    for k in 11..=40 {
        let _ = driven.ack(99 + k + 90 * ((k - 1) / 10), k);
        let (_, rate) = driven.last();
        assert_eq!(rate.delivered, 10 * SEGMENT);
        // The second flight left 1 ms apart after the first, which left at once: "Send Rate" has the longer time.
        let interval = if k <= 20 { 89 + k } else { 100 };
        assert_eq!(rate.interval, Duration::from_millis(interval));
        assert_eq!(rate.bytes_per_second(), Some(10_000.0 / (interval as f64 / 1000.0)));
        assert_eq!((rate.app_limited, rate.newly_acked), (false, SEGMENT));
        assert_eq!(rate.round_start, k % 10 == 1, "a round is what was in flight when it began");
    }
    assert_eq!(driven.log.lock().unwrap().sampler.rounds(), 4);
}

/// Ten segments leave 1 ms apart and are acknowledged together. The sending interval is not longer than that of the
/// acknowledgements, and a burst of acknowledgements gives no rate above that of the round trip ("Compression and
/// Aggregation").
#[test]
fn compressed_acknowledgements_do_not_raise_the_rate() {
    let mut driven = Driven::new(10.0);
    for k in 0..10 {
        let _ = driven.write(k, 1);
    }
    let _ = driven.ack(109, 10);
    let (ack, rate) = driven.last();
    assert_eq!((ack.acked, rate.delivered), (10, 10 * SEGMENT));
    assert_eq!(ack.sent_at, Time::ZERO + Duration::from_millis(9), "that of the newest");
    assert_eq!(rate.interval, Duration::from_millis(109), "since the first left");
    assert_eq!(rate.bytes_per_second(), Some(10_000.0 / 0.109));
}

/// "Tracking application-limited phases": segments sent after the application ran dry with a partly free window are
/// marked, until all data in flight then is delivered. With a full window nothing is marked.
#[test]
fn application_limited_packets_are_marked() {
    let mut driven = Driven::new(10.0);
    let _ = driven.write(0, 4);
    let _ = driven.write(10, 100);
    // Segments 0 to 3 left before any delivery; 4 to 9 while the four were the bubble.
    let expected = [false, false, false, false, true, true, true, true, true, true];
    for (k, limited) in expected.into_iter().enumerate() {
        let _ = driven.ack(100 + k as u64, k as u64 + 1);
        assert_eq!(driven.last().1.app_limited, limited, "segment {k}");
    }
    // 10 to 13 left before more than the bubble of four was delivered, 14 at the fifth acknowledgement after it.
    for k in 10..20 {
        let _ = driven.ack(200 + k, k + 1);
        assert_eq!(driven.last().1.app_limited, k < 14, "segment {k}");
    }
    let mut full = Driven::new(10.0);
    let _ = full.write(0, 10);
    assert!(!full.log.lock().unwrap().sampler.is_app_limited(), "the window was full");
}

/// Selective acknowledgements show three holes: each lost segment is reported with its bytes, the episode once.
#[test]
fn every_lost_segment_is_reported_and_the_episode_once() {
    let mut driven = Driven::new(20.0);
    let _ = driven.write(0, 20);
    let _ = driven.sack(100, 1, &[(2, 3), (4, 5), (6, 9)], 1 << 20);
    // Three or more segments have arrived above 1, 3 and 5 (RFC 6675, IsLost): 2 and 4 have arrived.
    let log_of = |driven: &Driven| driven.log.lock().unwrap().episodes.clone();
    assert_eq!((driven.lost_segments(), log_of(&driven)), (3, vec![LossKind::Detected]));
    let _ = driven.sack(101, 1, &[(10, 16), (6, 9), (2, 3)], 1 << 20);
    assert_eq!((driven.lost_segments(), log_of(&driven)), (4, vec![LossKind::Detected]), "9 is a later one");
    let (_, rate) = driven.last();
    assert_eq!(
        (rate.newly_lost, rate.lost),
        (3 * SEGMENT, 3 * SEGMENT),
        "those of the acknowledgement before"
    );
    assert_eq!(driven.window, 20.0);
}

/// The retransmission timer marks the whole flight as lost; another expiry marks only data retransmitted since.
#[test]
fn a_timeout_reports_all_data_in_flight_as_lost() {
    let mut driven = Driven::new(5.0);
    let _ = driven.write(0, 5);
    assert_eq!(driven.handle_at(1000, None), 5, "all go again");
    assert_eq!(driven.lost_segments(), 5);
    assert_eq!(driven.handle_at(3000, None), 5);
    assert_eq!(driven.lost_segments(), 10);
}

/// RFC 9293, section 3.8.6.1: data refused by a peer with a closed window indicates nothing about the network.
#[test]
fn data_refused_by_a_closed_window_is_not_lost() {
    let mut driven = Driven::new(4.0);
    let _ = driven.write(0, 4);
    let _ = driven.sack(100, 2, &[], 0);
    for millis in [2000, 6000, 20000] {
        let _ = driven.handle_at(millis, None);
    }
    let _ = driven.sack(20100, 2, &[], 10);
    assert_eq!(driven.lost_segments(), 0);
}

/// A selectively acknowledged retransmission is the newest segment: the sample uses its send time, although it gives no
/// round-trip time (Karn's rule).
#[test]
fn a_retransmission_that_arrived_is_the_newest() {
    let mut driven = Driven::new(20.0);
    let _ = driven.write(0, 8);
    // 0 and 1 are lost and retransmitted at 100 ms; the second of them arrives.
    let _ = driven.sack(100, 0, &[(2, 8)], 1 << 20);
    assert_eq!(driven.lost_segments(), 2);
    let _ = driven.sack(200, 0, &[(1, 8)], 1 << 20);
    let (ack, rate) = driven.last();
    assert_eq!((ack.sent_at, ack.rtt), (Time::ZERO + Duration::from_millis(100), None));
    assert_eq!((rate.delivered, rate.prior_delivered), (SEGMENT, 6 * SEGMENT));
    assert_eq!(rate.interval, Duration::from_millis(100));
}

/// After a path change, segments sent on the old path give the new controller no samples.
#[test]
fn a_new_path_gets_samples_of_its_packets_only() {
    let mut driven = Driven::new(10.0);
    let _ = driven.write(0, 20);
    let _ = driven.ack(100, 5);
    let log = Arc::new(Mutex::new(Log::default()));
    let now = Time::ZERO + Duration::from_millis(150);
    driven.sender.on_path_change(now, Probe { window: 10.0, log: Arc::clone(&log) });
    let _ = driven.sack(160, 5, &[(7, 15)], 1 << 20);
    assert!(log.lock().unwrap().lost.is_empty() && log.lock().unwrap().acks.is_empty());
    // 5 and 6 are retransmitted on the new path, as is the first of 15 to 19.
    let _ = driven.ack(260, 16);
    let acks = log.lock().unwrap().acks.clone();
    assert_eq!(acks.len(), 1);
    assert_eq!(acks[0].1.prior_delivered, 0);
}
