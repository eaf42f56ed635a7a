//! The CE count, from the receiver through acknowledgements to samples: the loss of the acknowledgement that first
//! reported a mark loses no mark.

use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Ack, DelayedAck, Pdu, Receiver, ReceiverConfig, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

/// A fixed window that records the CE counts of samples.
#[derive(Clone, Debug)]
struct CeRecorder(Arc<Mutex<Vec<u32>>>);

impl Controller for CeRecorder {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.0.lock().unwrap().push(sample.ce);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(20.0)
    }
}

/// A sender with its controller's samples, and the PDUs that an endpoint has to send at `now`.
struct Endpoints {
    sender: Sender<Length, CeRecorder>,
    samples: Arc<Mutex<Vec<u32>>>,
    now: Time,
}

fn sent<E: Engine>(engine: &mut E, now: Time) -> Vec<E::Pdu> {
    let mut pdus = Vec::new();
    loop {
        match engine.poll(now) {
            Output::Transmit(pdu) => pdus.push(pdu),
            Output::Event(_) => {}
            Output::Timeout { .. } | Output::Idle => return pdus,
        }
    }
}

impl Endpoints {
    fn new() -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let config = SenderConfig { segment: 1000, ..SenderConfig::default() };
        let sender = Sender::new(Arc::new(config), CeRecorder(Arc::clone(&samples)));
        Self { sender, samples, now: Time::ZERO }
    }

    fn feed(&mut self, input: Input<Pdu<Length>, Length>) -> Vec<Pdu<Length>> {
        self.now += Duration::from_millis(1);
        self.sender.handle(self.now, input);
        sent(&mut self.sender, self.now)
    }

    /// Acknowledges all below `cumulative` segments, with this CE count.
    fn ack(&mut self, cumulative: u64, ce: u16) {
        let ack = Ack { cumulative: cumulative * 1000, window: 1 << 30, ce, ..Ack::default() };
        self.feed(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
    }

    fn samples(&self) -> Vec<u32> {
        self.samples.lock().unwrap().clone()
    }
}

/// RFC 9768, section 3.2.2.2: the difference to the last count, modulo its width, counts. An older count, in a
/// reordered acknowledgement, has no effect.
#[test]
fn ce_counts_wrap_and_old_counts_are_ignored() {
    let mut endpoints = Endpoints::new();
    endpoints.feed(Input::Write(Length(100_000)));
    for (cumulative, ce) in [(1, 32_767), (2, 65_534), (3, 65_534), (4, 0), (5, 65_535), (6, 7), (7, 7)] {
        endpoints.ack(cumulative, ce);
    }
    assert_eq!(endpoints.samples(), [32_767, 32_767, 0, 2, 0, 7, 0]);
}

/// A mark reported by an acknowledgement without new data is in the next sample, once.
#[test]
fn marks_wait_for_the_next_sample() {
    let mut endpoints = Endpoints::new();
    endpoints.feed(Input::Write(Length(100_000)));
    for (cumulative, ce) in [(1, 0), (1, 3), (1, 4), (2, 4), (3, 4)] {
        endpoints.ack(cumulative, ce);
    }
    assert_eq!(endpoints.samples(), [0, 4, 0]);
}

proptest! {
    /// For any lost acknowledgements and any acknowledgement delay, samples report all marks exactly once.
    #[test]
    fn no_mark_is_lost_with_an_acknowledgement(
        draws in prop::collection::vec((any::<bool>(), 0u32..10), 1..300),
        every in prop::option::of(2u32..5),
    ) {
        let mut endpoints = Endpoints::new();
        let delay = Duration::from_millis(40);
        let delayed_ack = every.map(|every| DelayedAck { delay, every, adaptive: false });
        let mut receiver = Receiver::new(Arc::new(ReceiverConfig { delayed_ack, ..ReceiverConfig::default() }));
        let (mut marks, mut last) = (0, None);
        let mut segments = endpoints.feed(Input::Write(Length(1_000_000)));
        for (is_ce, draw) in draws {
            let Some(pdu) = (!segments.is_empty()).then(|| segments.remove(0)) else { break };
            marks += u32::from(is_ce);
            let ecn = if is_ce { Ecn::Ce } else { Ecn::Ect0 };
            receiver.handle(endpoints.now, Input::Pdu { pdu, ecn });
            for pdu in sent(&mut receiver, endpoints.now) {
                if draw < 3 || segments.is_empty() {
                    segments.extend(endpoints.feed(Input::Pdu { pdu, ecn: Ecn::NotEct }));
                    last = None;
                } else {
                    last = Some(pdu);
                }
            }
        }
        // A delayed acknowledgement leaves at its deadline.
        last = sent(&mut receiver, endpoints.now + delay).pop().or(last);
        // The last acknowledgement replaces all lost ones.
        if let Some(pdu) = last {
            endpoints.feed(Input::Pdu { pdu, ecn: Ecn::NotEct });
        }
        prop_assert_eq!(endpoints.samples().iter().sum::<u32>(), marks);
    }
}
