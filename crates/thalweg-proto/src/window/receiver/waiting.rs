//! The segments that wait to be acknowledged together.

use super::Receiver;
use crate::payload::Payload;
use crate::units::Time;

/// Segments that are acknowledged together at most where the sender asks for acknowledgements.
const MAX_TOGETHER: u32 = 64;

/// Segments out of order that are acknowledged one by one, so that a sender learns of a loss as soon as it can be sure of it (the
/// duplicate threshold of RFC 8985). Those behind them tell nothing that could not wait.
pub(super) const DISORDERED: u32 = 3;

impl<P: Payload> Receiver<P> {
    /// True if the sender asks for acknowledgements.
    pub(super) fn is_asked(&self) -> bool {
        self.config.delayed_ack.is_some_and(|rule| rule.adaptive)
    }

    /// True if a segment that has come is acknowledged now, alone or with others. It waits for them otherwise.
    pub(super) fn is_due(&mut self, now: Time, ack_now: bool) -> bool {
        let Some(rule) = self.config.delayed_ack else { return true };
        self.delayed += 1;
        let every = if rule.adaptive { MAX_TOGETHER.max(rule.every) } else { rule.every };
        let is_due = ack_now || self.delayed >= every || self.owed > 0;
        if !is_due && self.ack_deadline == Time::MAX {
            self.ack_deadline = now + rule.delay;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    //! Proves which segments are answered at once where the sender requests acknowledgements.
    use super::*;
    use crate::Ecn;
    use crate::engine::{Engine, Output};
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

    /// The number of acknowledgements that segment `number`, of 1000 bytes each, brings about at once.
    fn answers(receiver: &mut Receiver<Length>, number: u64, ack_now: bool, ecn: Ecn) -> usize {
        let payload = Length(1000);
        let segment =
            Segment { sequence: 1000 * number, payload, retransmission: false, sent_at: None, ack_now };
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
    fn what_is_asked_about_is_answered_at_once() {
        let mut receiver = receiver();
        let answered: Vec<u64> =
            (0..200).filter(|number| answers(&mut receiver, *number, *number == 9, Ecn::Ect0) > 0).collect();
        // Without further requests one speaks for 64.
        assert_eq!(answered, [9, 73, 137]);
        assert!(matches!(receiver.poll(Time::ZERO + DELAY), Output::Transmit(_)), "the rest in time");
    }

    /// RFC 8257, section 3.2: where marks begin and end.
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

    /// A loss shows as soon as with an acknowledgement of each segment; those behind it wait, and a repair does not.
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
