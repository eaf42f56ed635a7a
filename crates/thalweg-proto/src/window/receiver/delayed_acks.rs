//! Delayed acknowledgements: segments received and not yet acknowledged.

use super::Receiver;
use crate::payload::Payload;
use crate::units::Time;

/// Maximum number of segments per acknowledgement where the sender requests acknowledgements.
const MAX_TOGETHER: u32 = 64;

/// Number of out-of-order segments acknowledged individually: a sender then detects a loss as early as possible (the
/// duplicate threshold of RFC 8985). Later ones carry no urgent information.
pub(super) const IMMEDIATE_ACKS: u32 = 3;

impl<P: Payload> Receiver<P> {
    /// Returns true if the sender requests acknowledgements.
    pub(super) fn acks_on_request(&self) -> bool {
        self.config.delayed_ack.is_some_and(|rule| rule.adaptive)
    }

    /// Records a segment; returns true if an acknowledgement is due now. Otherwise the acknowledgement is delayed.
    pub(super) fn is_due(&mut self, now: Time, ack_now: bool) -> bool {
        let Some(rule) = self.config.delayed_ack else { return true };
        self.delayed += 1;
        let every = if rule.adaptive { MAX_TOGETHER.max(rule.every) } else { rule.every };
        // RFC 5681, section 4.2: at least every second segment, and within 500 ms (`every` and `delay`). An
        // acknowledgement that is due anyway covers this segment, too.
        let is_due = ack_now || self.delayed >= every || self.owed > 0;
        if !is_due && self.ack_deadline == Time::MAX {
            self.ack_deadline = now + rule.delay;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    //! Tests which segments are acknowledged at once where the sender requests acknowledgements.
    use super::*;
    use crate::Ecn;
    use crate::engine_contract::{Engine, Output};
    use crate::payload::Length;
    use crate::transport::Input;
    use crate::units::Duration;
    use crate::window::{DelayedAck, Pdu, ReceiverConfig, Segment};
    use std::sync::Arc;

    const DELAY: Duration = Duration::from_millis(25);

    fn receiver() -> Receiver<Length> {
        let rule = DelayedAck { delay: DELAY, every: 2, adaptive: true };
        let config =
            ReceiverConfig { delayed_ack: Some(rule), report_arrivals: true, ..ReceiverConfig::default() };
        Receiver::new(Arc::new(config))
    }

    /// Returns the number of immediate acknowledgements for segment `number`, of 1000 bytes.
    fn answers(receiver: &mut Receiver<Length>, number: u64, ack_now: bool, ecn: Ecn) -> usize {
        let payload = Length(1000);
        let segment = Segment { ack_now, ..Segment::new(1000 * number, payload) };
        receiver.handle(Time::ZERO, Input::Pdu { pdu: Pdu::Segment(segment), ecn });
        let mut count = 0;
        loop {
            match receiver.poll(Time::ZERO) {
                Output::Transmit(_) => count += 1,
                Output::Event(_) => {}
                _ => return count,
            }
        }
    }

    #[test]
    fn requested_acknowledgements_are_sent_at_once() {
        let mut receiver = receiver();
        let answered: Vec<u64> =
            (0..200).filter(|number| answers(&mut receiver, *number, *number == 9, Ecn::Ect0) > 0).collect();
        // Without further requests one acknowledgement covers 64 segments.
        assert_eq!(answered, [9, 73, 137]);
        assert!(matches!(receiver.poll(Time::ZERO + DELAY), Output::Transmit(_)), "the rest in time");
    }

    /// RFC 8257, section 3.2: at the start and end of marking.
    #[test]
    fn changes_of_marks_are_answered_at_once() {
        let mut receiver = receiver();
        let marked = |number: &u64| (5..15).contains(number);
        let answered: Vec<u64> = (0..30)
            .filter(|number| {
                let ecn = if marked(number) { Ecn::Ce } else { Ecn::Ect0 };
                answers(&mut receiver, *number, false, ecn) > 0
            })
            .collect();
        assert_eq!(answered, [5, 15]);
    }

    /// A loss is detected as early as with an acknowledgement of each segment; later segments wait, a retransmission
    /// does not.
    #[test]
    fn a_gap_is_answered_at_once() {
        let mut receiver = receiver();
        assert_eq!(answers(&mut receiver, 0, false, Ecn::Ect0), 0);
        let answered: Vec<u64> =
            (2..40).filter(|number| answers(&mut receiver, *number, *number == 20, Ecn::Ect0) > 0).collect();
        assert_eq!(answered, [2, 3, 4, 20]);
        assert_eq!(answers(&mut receiver, 1, false, Ecn::Ect0), 1);
    }
}
