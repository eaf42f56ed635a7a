//! Tests a receiver with reordered shipment numbers: in the end it requests exactly the data that was sent and has not
//! arrived.

use crate::sstp_pair::{PACKET, receiver_config};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::sstp::{Acknowledgement, Data, Evicted, Pdu, Position, Receiver, ReceiverConfig};
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine as _, Output};

/// A receiver whose segments have one packet each.
struct ReceiverHarness {
    receiver: Receiver<Length>,
    now: Time,
}

impl ReceiverHarness {
    fn new(config: ReceiverConfig) -> Self {
        Self { receiver: Receiver::new(Arc::new(config)), now: Time::ZERO }
    }

    fn receive(&mut self, pdu: Pdu<Length>) -> Vec<u16> {
        self.receiver.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
        self.requests()
    }

    fn data(&mut self, shipment: u32, segment: u16, resent: bool) -> Vec<u16> {
        self.receive(Pdu::Data(Data {
            shipment,
            segment,
            packet: 0,
            last: true,
            is_full: true,
            resent,
            payload: Length(PACKET),
        }))
    }

    fn position(&mut self, shipment: u32, segment: u16) -> Vec<u16> {
        self.receive(Pdu::KeepAlive(Position { shipment, segment, packet: 0 }))
    }

    /// Returns the segments requested now.
    fn requests(&mut self) -> Vec<u16> {
        let mut requests = Vec::new();
        loop {
            match self.receiver.poll(self.now) {
                Output::Transmit(Pdu::Snak(_, request)) => requests.push(request.segment),
                Output::Transmit(_) | Output::Event(_) => {}
                Output::Timeout { .. } | Output::Idle => return requests,
            }
        }
    }

    /// Returns the segments requested again after this time.
    fn later(&mut self, milliseconds: u64) -> Vec<u16> {
        self.now += Duration::from_millis(milliseconds);
        self.requests()
    }
}

#[test]
fn a_position_overtaken_by_data_has_no_effect() {
    let mut harness = ReceiverHarness::new(ReceiverConfig { reordering: 1, ..receiver_config(1, 6) });
    assert_eq!(harness.data(0, 0, false), []);
    // Shipment 1 is late. The position was reported before 2 left, and is the second sign of the loss of 1.
    assert_eq!(harness.data(2, 2, false), []);
    assert_eq!(harness.position(1, 1), [1]);
    // The next is therefore shipment 3, and is not delayed.
    assert_eq!(harness.data(3, 3, false), []);
    let stats = harness.receiver.stats();
    assert_eq!((stats.stored, stats.gaps), (3, 1));
}

#[test]
fn a_late_segment_evicted_after_its_request_is_requested_again() {
    let acknowledgement = Acknowledgement::Soft(Evicted::One);
    let mut harness =
        ReceiverHarness::new(ReceiverConfig { acknowledgement, buffer: 2, ..receiver_config(1, 6) });
    // Segments 0 and 2 are missing; 2 arrives late, so it is not requested again.
    assert_eq!(harness.data(1, 1, false), [0]);
    assert_eq!(harness.data(3, 3, false), [2]);
    assert_eq!(harness.data(2, 2, false), []);
    assert_eq!(harness.later(40), [0]);
    // It is evicted for the lowest segment, and requested in its turn.
    assert_eq!(harness.data(0, 0, false), []);
    assert_eq!(harness.receiver.expected(), 2);
    assert_eq!(harness.receiver.stats().evictions, 2);
    assert_eq!(harness.position(3, 3), [2]);
}

/// Returns a receiver that mistakes lost answers, for which it no longer waits, for the unsent segments 4 and 5.
fn deceived() -> ReceiverHarness {
    let mut harness = ReceiverHarness::new(receiver_config(1, 8));
    assert_eq!(harness.data(3, 3, false), [0, 1, 2]);
    // Two segments arrive late, but were retransmitted as shipments 4 and 5.
    assert_eq!((harness.data(0, 0, false), harness.data(1, 1, false)), (vec![], vec![]));
    assert_eq!(harness.later(40), [2]);
    assert_eq!(harness.data(6, 2, true), [4, 5]);
    assert_eq!(harness.receiver.expected(), 4);
    harness
}

#[test]
fn requests_for_unsent_segments_are_dropped_at_the_reported_position() {
    let mut harness = deceived();
    assert_eq!(harness.later(40), [4, 5]);
    assert_eq!(harness.position(6, 3), []);
    assert_eq!(harness.later(40), []);
    assert_eq!(harness.receiver.poll(harness.now), Output::Idle);
}

#[test]
fn a_segment_requested_before_transmission_is_accepted_on_arrival() {
    let mut harness = deceived();
    assert_eq!(harness.data(7, 4, false), []);
    assert_eq!(harness.receiver.expected(), 5);
    assert_eq!(harness.data(8, 5, false), []);
    assert_eq!(harness.receiver.expected(), 6);
}
