//! One-way delays from segments over acknowledgements to samples (RFC 6817, section 2.3), between ends whose clocks differ.

use std::sync::{Arc, Mutex};
use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Pdu, Receiver, ReceiverConfig, RelativeDelay, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

/// A window of one segment that keeps the delays of which samples tell.
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

/// The PDU that an end has to send.
fn sent<E: Engine>(engine: &mut E, now: Time) -> Option<E::Pdu> {
    loop {
        match engine.poll(now) {
            Output::Transmit(pdu) => return Some(pdu),
            Output::Event(_) => {}
            Output::Timeout { .. } | Output::Idle => return None,
        }
    }
}

/// Sends one segment after the other, each of which takes as long as `delays` says, to a receiver whose clock is `ahead`, and
/// acknowledgements that take 3 ms. What samples told of delays.
fn told(timestamps: bool, ahead: Duration, delays: &[Duration]) -> Vec<Option<RelativeDelay>> {
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
        receiver.handle(now + ahead, Input::Pdu { pdu: Pdu::Segment(segment), ecn: Ecn::NotEct });
        let Some(Pdu::Ack(ack)) = sent(&mut receiver, now + ahead) else { panic!("an acknowledgement") };
        now += Duration::from_millis(3);
        sender.handle(now, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
    }
    let told = log.lock().unwrap();
    told.clone()
}

/// The queue on the way is seen whatever the receiver's clock says, and whatever the way back takes.
#[test]
fn samples_tell_the_queue_on_the_way() {
    let delays = [10, 25, 10, 12, 110].map(Duration::from_millis);
    for ahead in [Duration::ZERO, Duration::from_secs(4000), Duration::from_secs(1_000_000)] {
        let told = told(true, ahead, &delays);
        let told: Vec<RelativeDelay> =
            told.into_iter().map(|delay| delay.expect("each segment says when it left")).collect();
        let base = told.iter().copied().reduce(RelativeDelay::min).unwrap();
        let above: Vec<Duration> = told.iter().map(|delay| delay.above(base)).collect();
        assert_eq!(above, [0, 15, 0, 2, 100].map(Duration::from_millis));
    }
}

#[test]
fn without_the_option_nothing_is_told() {
    assert_eq!(told(false, Duration::ZERO, &[Duration::from_millis(10); 3]), [None; 3]);
}
