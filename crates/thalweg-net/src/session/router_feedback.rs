//! Feedback from routers, and its validation: a message must name a recently sent data packet.
//!
//! Connection ids are random, so only an on-path observer can forge such a message. That attacker could as well drop
//! the packets, which slows the sender down no less.

use super::{Phase, Session};
use crate::flow::{FlowInput, window_sequence_number};
use std::collections::VecDeque;
use thalweg_proto::router_feedback_datagram::RouterFeedback;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::Time;

/// Maximum number of packets about which feedback is accepted.
const MAX_REMEMBERED: usize = 2048;

/// Recently sent data packets.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentlySent {
    /// Low bits of each packet number, and the sequence number of its data.
    sent: VecDeque<(u32, u64)>,
    /// Last accepted message.
    last: Option<RouterFeedback>,
}

impl RecentlySent {
    /// Records a data packet with this packet number.
    pub fn on_sent(&mut self, number: u64, pdu: &[u8]) {
        let Some(sequence) = window_sequence_number(pdu) else { return };
        if self.sent.len() >= MAX_REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back((number as u32, sequence));
    }

    /// Validates a message, and returns its feedback once.
    fn validate(&mut self, message: &RouterFeedback) -> Option<Feedback> {
        let first = self.sent.front()?.0;
        let place = |number: u32| number.wrapping_sub(first);
        let at = self.sent.partition_point(|(number, _)| place(*number) < place(message.head.number));
        let (number, sequence) = *self.sent.get(at)?;
        // A congestion warning may name a packet without data.
        let is_known = !message.dropped || number == message.head.number;
        if !is_known || self.last.replace(*message) == Some(*message) {
            return None;
        }
        Some(Feedback {
            dropped: message.dropped.then_some(sequence),
            rate: message.rate,
            growth: None,
            queue: message.queue,
        })
    }
}

impl Session {
    /// Processes feedback from a router. Returns true if it was accepted; then poll the session.
    pub fn on_router_feedback(&mut self, now: Time, message: &RouterFeedback) -> bool {
        if !matches!(self.phase, Phase::Open) {
            return false;
        }
        let Some(feedback) = self.sent_lately.as_mut().and_then(|lately| lately.validate(message)) else {
            return false;
        };
        self.notify_sender(now, FlowInput::Feedback(feedback));
        self.stats.router_feedback += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::router_feedback_datagram::Head;

    fn message(number: u32, dropped: bool, queue: u32) -> RouterFeedback {
        RouterFeedback { head: Head { connection: [1; 8], number }, dropped, queue, rate: None }
    }

    /// Records segments of the window transport at every other packet number; the low bits wrap.
    fn recently_sent(first: u64, count: u64) -> RecentlySent {
        let mut lately = RecentlySent::default();
        for place in 0..count {
            let segment = [[0, 0x10].as_slice(), &(1000 * place).to_be_bytes(), b"data"].concat();
            lately.on_sent(first + 2 * place, &segment);
            // An acknowledgement.
            lately.on_sent(first + 2 * place + 1, &[0, 0x20, 0, 0]);
        }
        lately
    }

    #[test]
    fn a_message_is_believed_once_of_what_was_sent() {
        let mut lately = recently_sent(u64::from(u32::MAX) - 5, 10);
        // The low bits of the fourth data packet's number are 0.
        assert_eq!(
            lately.validate(&message(0, true, 3)),
            Some(Feedback { dropped: Some(3000), rate: None, growth: None, queue: 3 })
        );
        assert_eq!(lately.validate(&message(0, true, 3)), None);
        // A packet between two data packets.
        let warning = Some(Feedback { dropped: None, rate: None, growth: None, queue: 3 });
        assert_eq!(lately.validate(&message(1, false, 3)), warning);
        assert_eq!(lately.validate(&message(1, true, 3)), None);
    }

    #[test]
    fn nothing_is_believed_of_what_was_not_sent_lately() {
        let mut lately = recently_sent(100, 10);
        for number in [99, 119, 120, 100 + u32::MAX / 2] {
            assert_eq!(lately.validate(&message(number, false, 3)), None, "{number}");
        }
        assert_eq!(RecentlySent::default().validate(&message(0, false, 3)), None);
        let mut long = recently_sent(0, 5000);
        assert_eq!(long.validate(&message(10, false, 3)), None);
        assert!(long.validate(&message(9990, true, 3)).is_some());
        assert_eq!(long.sent.len(), MAX_REMEMBERED);
    }
}
