//! Misbehaving receivers, to study their effect on a scheme and on competing flows (RFC 9743, section 7.6). The first
//! four are from Savage et al. 1999 ("TCP Congestion Control with a Misbehaving Receiver"); RFC 3540 addresses the
//! last.

use crate::payload::Payload;
use std::collections::VecDeque;

/// A protocol violation of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misbehaviour {
    /// A segment in order is acknowledged in eight parts (ACK division).
    DividesAcks,
    /// A segment is acknowledged four times (DupACK spoofing).
    RepeatsAcks,
    /// Missing data is acknowledged together with later data, and never delivered.
    ConcealsLoss,
    /// As `ConcealsLoss`, plus eight segments still in flight (optimistic acknowledgement).
    Optimistic,
    /// Congestion marks are not reported.
    ConcealsMarks,
}

impl Misbehaviour {
    /// Returns true if losses are concealed.
    pub const fn conceals_loss(self) -> bool {
        matches!(self, Self::ConcealsLoss | Self::Optimistic)
    }
}

/// Acknowledgements per divided segment.
const ACKS_PER_SEGMENT: u64 = 8;
/// Additional acknowledgements of a segment.
pub(super) const REPEATED_ACKS: u32 = 3;
/// Segments acknowledged before their arrival.
const OPTIMISTIC_SEGMENTS: u64 = 8;

/// The state of a misbehaving receiver.
#[derive(Clone, Debug)]
pub(super) struct Misbehaving<P> {
    pub how: Misbehaviour,
    /// Data after a concealed loss, by position.
    pub pieces: VecDeque<(u64, P)>,
    /// Concealed bytes.
    pub concealed: u64,
    /// Cumulative numbers of the extra acknowledgements, which precede the regular ones.
    pub extra_acks: VecDeque<u64>,
}

impl<P: Payload> Misbehaving<P> {
    pub fn new(how: Misbehaviour) -> Self {
        Self { how, pieces: VecDeque::new(), concealed: 0, extra_acks: VecDeque::new() }
    }

    /// Handles an advance from `from` to `to` by a segment of `segment` bytes; returns the number of additional
    /// acknowledgements.
    pub fn advanced(&mut self, from: u64, to: u64, segment: u64) -> u32 {
        let before = self.extra_acks.len();
        match self.how {
            Misbehaviour::DividesAcks => {
                let part = |number: u64| from + (to - from) * number / ACKS_PER_SEGMENT;
                self.extra_acks.extend((1..ACKS_PER_SEGMENT).map(part).filter(|at| *at > from));
            }
            Misbehaviour::Optimistic => {
                self.extra_acks.push_back(to.saturating_add(OPTIMISTIC_SEGMENTS * segment));
            }
            Misbehaviour::RepeatsAcks | Misbehaviour::ConcealsLoss | Misbehaviour::ConcealsMarks => {}
        }
        // At most `ACKS_PER_SEGMENT`.
        (self.extra_acks.len() - before) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::engine_contract::{Engine, Output};
    use crate::payload::Length;
    use crate::transport::{Event, Input};
    use crate::units::Time;
    use crate::window::{Pdu, Receiver, ReceiverConfig, Segment};
    use std::sync::Arc;

    /// Returns the cumulative numbers and CE counts of the answers to marked segments of 1000 bytes at `starts`, and
    /// the sizes of the delivered data.
    fn answers(how: Misbehaviour, starts: &[u64]) -> (Vec<(u64, u16)>, Vec<u32>) {
        let config = ReceiverConfig { misbehaviour: Some(how), ..ReceiverConfig::default() };
        let mut receiver = Receiver::<Length>::new(Arc::new(config));
        let (mut acks, mut pieces) = (Vec::new(), Vec::new());
        for sequence in starts {
            let segment = Segment::new(*sequence, Length(1000));
            receiver.handle(Time::ZERO, Input::Pdu { pdu: Pdu::Segment(segment), ecn: Ecn::Ce });
            loop {
                match receiver.poll(Time::ZERO) {
                    Output::Transmit(Pdu::Ack(ack)) => acks.push((ack.cumulative, ack.ce)),
                    Output::Event(Event::Delivered(Length(bytes))) => pieces.push(bytes),
                    Output::Idle => break,
                    other => panic!("{other:?}"),
                }
            }
        }
        let delivered: u32 = pieces.iter().sum();
        assert_eq!(receiver.counts().payload, u64::from(delivered), "what was never there is not counted");
        (acks, pieces)
    }

    #[test]
    fn concealed_losses_are_acknowledged_and_never_delivered() {
        let (acks, pieces) = answers(Misbehaviour::ConcealsLoss, &[0, 2000, 3000, 1000, 4000]);
        assert_eq!(acks, [(1000, 1), (3000, 2), (4000, 3), (4000, 4), (5000, 5)]);
        assert_eq!(pieces, [1000; 4], "what came late is not delivered");
    }

    #[test]
    fn data_in_flight_is_acknowledged_optimistically() {
        let (acks, pieces) = answers(Misbehaviour::Optimistic, &[0, 2000]);
        let numbers: Vec<u64> = acks.iter().map(|ack| ack.0).collect();
        assert_eq!((numbers, pieces), (vec![9000, 1000, 11_000, 3000], vec![1000; 2]));
    }

    #[test]
    fn acknowledgements_are_divided_or_repeated() {
        let numbers = |how| answers(how, &[0]).0.iter().map(|ack| ack.0).collect::<Vec<_>>();
        assert_eq!(numbers(Misbehaviour::DividesAcks), [125, 250, 375, 500, 625, 750, 875, 1000]);
        assert_eq!(numbers(Misbehaviour::RepeatsAcks), [1000; 4]);
        // Apart from that it receives data correctly.
        assert_eq!(answers(Misbehaviour::DividesAcks, &[0, 2000, 1000]).1, [1000, 2000]);
    }

    #[test]
    fn ce_marks_are_concealed() {
        assert_eq!(answers(Misbehaviour::ConcealsMarks, &[0, 1000]).0, [(1000, 0), (2000, 0)]);
    }
}
