//! Proves what a receiver makes of shipment numbers that lines have disordered: what it asks for, in the end, is what
//! has been sent and has not come.

mod sstp_pair;

use sstp_pair::{PACKET, receiver_config};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::sstp::{Acknowledgement, Data, Evicted, Pdu, Position, Receiver, ReceiverConfig};
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine as _, Output};

/// A receiver whose segments have one packet each.
struct Line {
    receiver: Receiver<Length>,
    now: Time,
}

impl Line {
    fn new(config: ReceiverConfig) -> Self {
        Self { receiver: Receiver::new(Arc::new(config)), now: Time::ZERO }
    }

    fn tell(&mut self, pdu: Pdu<Length>) -> Vec<u16> {
        self.receiver.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
        self.requests()
    }

    fn data(&mut self, shipment: u32, segment: u16, resent: bool) -> Vec<u16> {
        self.tell(Pdu::Data(Data {
            shipment,
            segment,
            packet: 0,
            last: true,
            full: true,
            resent,
            payload: Length(PACKET),
        }))
    }

    fn position(&mut self, shipment: u32, segment: u16) -> Vec<u16> {
        self.tell(Pdu::KeepAlive(Position { shipment, segment, packet: 0 }))
    }

    /// The segments asked for now.
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

    /// So long after, the segments asked for again.
    fn later(&mut self, milliseconds: u64) -> Vec<u16> {
        self.now += Duration::from_millis(milliseconds);
        self.requests()
    }
}

#[test]
fn a_position_that_data_has_overtaken_says_nothing() {
    let mut line = Line::new(ReceiverConfig { reordering: 1, ..receiver_config(1, 6) });
    assert_eq!(line.data(0, 0, false), []);
    // Shipment 1 is late. The position was told before 2 left, and is the second sign that 1 is lost.
    assert_eq!(line.data(2, 2, false), []);
    assert_eq!(line.position(1, 1), [1]);
    // So the next is shipment 3, and waits for nothing.
    assert_eq!(line.data(3, 3, false), []);
    let stats = line.receiver.stats();
    assert_eq!((stats.stored, stats.gaps), (3, 1));
}

#[test]
fn a_segment_that_came_late_and_was_discarded_after_its_request_is_asked_for_again() {
    let acknowledgement = Acknowledgement::Soft(Evicted::One);
    let mut line = Line::new(ReceiverConfig { acknowledgement, buffer: 2, ..receiver_config(1, 6) });
    // Segments 0 and 2 are missed; 2 comes late, so it is not wanted when requests are repeated.
    assert_eq!(line.data(1, 1, false), [0]);
    assert_eq!(line.data(3, 3, false), [2]);
    assert_eq!(line.data(2, 2, false), []);
    assert_eq!(line.later(40), [0]);
    // It makes room for the lowest segment, and is asked for when its turn comes.
    assert_eq!(line.data(0, 0, false), []);
    assert_eq!(line.receiver.expected(), 2);
    assert_eq!(line.receiver.stats().evictions, 2);
    assert_eq!(line.position(3, 3), [2]);
}

/// A receiver that takes lost answers, for which it no longer waits, for segments 4 and 5, which have not been sent.
fn deceived() -> Line {
    let mut line = Line::new(receiver_config(1, 8));
    assert_eq!(line.data(3, 3, false), [0, 1, 2]);
    // Two segments come late, but were sent again as shipments 4 and 5.
    assert_eq!((line.data(0, 0, false), line.data(1, 1, false)), (vec![], vec![]));
    assert_eq!(line.later(40), [2]);
    assert_eq!(line.data(6, 2, true), [4, 5]);
    assert_eq!(line.receiver.expected(), 4);
    line
}

#[test]
fn what_has_not_been_sent_is_forgotten_when_the_sender_says_where_it_stands() {
    let mut line = deceived();
    assert_eq!(line.later(40), [4, 5]);
    assert_eq!(line.position(6, 3), []);
    assert_eq!(line.later(40), []);
    assert_eq!(line.receiver.poll(line.now), Output::Idle);
}

#[test]
fn what_was_asked_for_before_it_was_sent_is_accepted_when_it_comes() {
    let mut line = deceived();
    assert_eq!(line.data(7, 4, false), []);
    assert_eq!(line.receiver.expected(), 5);
    assert_eq!(line.data(8, 5, false), []);
    assert_eq!(line.receiver.expected(), 6);
}
