//! The count of segments with CE, from the receiver over acknowledgements to samples: no mark is lost with the acknowledgement
//! that told of it first.

use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Ack, DelayedAck, Pdu, Receiver, ReceiverConfig, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

/// A fixed window that keeps what samples tell of CE.
#[derive(Clone, Debug)]
struct Counting(Arc<Mutex<Vec<u32>>>);

impl Controller for Counting {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.0.lock().unwrap().push(sample.ce);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(20.0)
    }
}

/// A sender with what its controller was told, and the PDUs that an end has to send at `now`.
struct Ends {
    sender: Sender<Length, Counting>,
    told: Arc<Mutex<Vec<u32>>>,
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

impl Ends {
    fn new() -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let config = SenderConfig { segment: 1000, ..SenderConfig::default() };
        let sender = Sender::new(Arc::new(config), Counting(Arc::clone(&told)));
        Self { sender, told, now: Time::ZERO }
    }

    fn tell(&mut self, input: Input<Pdu<Length>, Length>) -> Vec<Pdu<Length>> {
        self.now += Duration::from_millis(1);
        self.sender.handle(self.now, input);
        sent(&mut self.sender, self.now)
    }

    /// All below `cumulative` segments has arrived, and this is the count.
    fn ack(&mut self, cumulative: u64, ce: u16) {
        let ack = Ack { cumulative: cumulative * 1000, window: 1 << 30, ce, ..Ack::default() };
        self.tell(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
    }

    fn told(&self) -> Vec<u32> {
        self.told.lock().unwrap().clone()
    }
}

/// RFC 9768, section 3.2.2.2: what counts is the difference to the last count, modulo its width; a count from before the last
/// one, of an acknowledgement that was overtaken, tells nothing.
#[test]
fn counts_wrap_and_old_ones_tell_nothing() {
    let mut ends = Ends::new();
    ends.tell(Input::Write(Length(100_000)));
    for (cumulative, ce) in [(1, 32_767), (2, 65_534), (3, 65_534), (4, 0), (5, 65_535), (6, 7), (7, 7)] {
        ends.ack(cumulative, ce);
    }
    assert_eq!(ends.told(), [32_767, 32_767, 0, 2, 0, 7, 0]);
}

/// A mark that came with an acknowledgement of nothing new is in the next sample, once.
#[test]
fn marks_wait_for_the_next_sample() {
    let mut ends = Ends::new();
    ends.tell(Input::Write(Length(100_000)));
    for (cumulative, ce) in [(1, 0), (1, 3), (1, 4), (2, 4), (3, 4)] {
        ends.ack(cumulative, ce);
    }
    assert_eq!(ends.told(), [0, 4, 0]);
}

proptest! {
    /// Whichever acknowledgements are lost, and however many segments one waits for, samples tell of as many marks as segments came
    /// with.
    #[test]
    fn no_mark_is_lost_with_an_acknowledgement(
        fates in prop::collection::vec((any::<bool>(), 0u32..10), 1..300),
        every in prop::option::of(2u32..5),
    ) {
        let mut ends = Ends::new();
        let delay = Duration::from_millis(40);
        let delayed_ack = every.map(|every| DelayedAck { delay, every, adaptive: false });
        let mut receiver = Receiver::new(Arc::new(ReceiverConfig { delayed_ack, ..ReceiverConfig::default() }));
        let (mut marks, mut last) = (0, None);
        let mut segments = ends.tell(Input::Write(Length(1_000_000)));
        for (is_ce, fate) in fates {
            let Some(pdu) = (!segments.is_empty()).then(|| segments.remove(0)) else { break };
            marks += u32::from(is_ce);
            let ecn = if is_ce { Ecn::Ce } else { Ecn::Ect0 };
            receiver.handle(ends.now, Input::Pdu { pdu, ecn });
            for pdu in sent(&mut receiver, ends.now) {
                if fate < 3 || segments.is_empty() {
                    segments.extend(ends.tell(Input::Pdu { pdu, ecn: Ecn::NotEct }));
                    last = None;
                } else {
                    last = Some(pdu);
                }
            }
        }
        // What still waits leaves when its time is over.
        last = sent(&mut receiver, ends.now + delay).pop().or(last);
        // The one that came last speaks for all that were lost.
        if let Some(pdu) = last {
            ends.tell(Input::Pdu { pdu, ecn: Ecn::NotEct });
        }
        prop_assert_eq!(ends.told().iter().sum::<u32>(), marks);
    }
}
