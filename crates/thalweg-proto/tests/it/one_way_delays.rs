//! One-way delays from segments through acknowledgements to samples (RFC 6817, section 2.3), between endpoints with
//! different clocks.

use std::sync::{Arc, Mutex};
use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Pdu, Receiver, ReceiverConfig, RelativeDelay, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

/// A window of one segment that records the delays of samples.
#[derive(Clone, Debug)]
struct Watching(Arc<Mutex<Vec<Option<RelativeDelay>>>>);

impl Controller for Watching {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.0.lock().unwrap().push(sample.one_way_delay);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(1.0)
    }
}

/// Returns the PDU that an endpoint has to send.
fn sent<E: Engine>(engine: &mut E, now: Time) -> Option<E::Pdu> {
    loop {
        match engine.poll(now) {
            Output::Transmit(pdu) => return Some(pdu),
            Output::Event(_) => {}
            Output::Timeout { .. } | Output::Idle => return None,
        }
    }
}

/// Sends one segment after another with these delays to a receiver whose clock is `clock_offset`, with acknowledgements that
/// take 3 ms. Returns the delays of the samples.
fn samples(timestamps: bool, clock_offset: Duration, delays: &[Duration]) -> Vec<Option<RelativeDelay>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let config = SenderConfig { segment: 1000, timestamps, ..SenderConfig::default() };
    let mut sender = Sender::new(Arc::new(config), Watching(Arc::clone(&log)));
    let mut receiver =
        Receiver::new(Arc::new(ReceiverConfig { delayed_ack: None, ..ReceiverConfig::default() }));
    let mut now = Time::ZERO + Duration::from_secs(1);
    sender.handle(now, Input::Write(Length(1000 * delays.len() as u32)));
    for &delay in delays {
        let Some(Pdu::Segment(segment)) = sent(&mut sender, now) else { panic!("a segment") };
        assert_eq!(segment.sent_at.is_some(), timestamps);
        now += delay;
        receiver.handle(now + clock_offset, Input::Pdu { pdu: Pdu::Segment(segment), ecn: Ecn::NotEct });
        let Some(Pdu::Ack(ack)) = sent(&mut receiver, now + clock_offset) else {
            panic!("an acknowledgement")
        };
        now += Duration::from_millis(3);
        sender.handle(now, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
    }
    let samples = log.lock().unwrap();
    samples.clone()
}

/// The forward queue is measured for any clock of the receiver and any return delay.
#[test]
fn samples_measure_the_forward_queue() {
    let delays = [10, 25, 10, 12, 110].map(Duration::from_millis);
    for clock_offset in [Duration::ZERO, Duration::from_secs(4000), Duration::from_secs(1_000_000)] {
        let samples = samples(true, clock_offset, &delays);
        let samples: Vec<RelativeDelay> =
            samples.into_iter().map(|delay| delay.expect("each segment says when it left")).collect();
        let base = samples.iter().copied().reduce(RelativeDelay::min).unwrap();
        let above: Vec<Duration> = samples.iter().map(|delay| delay.above(base)).collect();
        assert_eq!(above, [0, 15, 0, 2, 100].map(Duration::from_millis));
    }
}

#[test]
fn without_timestamps_samples_have_no_delay() {
    assert_eq!(samples(false, Duration::ZERO, &[Duration::from_millis(10); 3]), [None; 3]);
}
