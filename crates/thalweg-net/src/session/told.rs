//! Routers' messages, and what makes them believable: they name a packet of data that this end has sent lately.
//!
//! Only who sees packets on their way knows the connection id on them, which is random, and so can write such a message. He could
//! drop the packets as well, and that would slow the sender down no less.

use super::{Phase, Session};
use crate::flow::{FlowInput, sequence};
use std::collections::VecDeque;
use thalweg_proto::told::Told;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::Time;

/// Packets that routers may still speak of.
const MOST: usize = 2048;

/// The data that was sent lately.
#[derive(Clone, Debug, Default)]
pub(super) struct SentLately {
    /// The low bits of each packet's number, and the sequence number of its data.
    sent: VecDeque<(u32, u64)>,
    /// The last message that was believed.
    last: Option<Told>,
}

impl SentLately {
    /// Data leaves in a packet of this number.
    pub fn on_sent(&mut self, number: u64, pdu: &[u8]) {
        let Some(sequence) = sequence(pdu) else { return };
        if self.sent.len() >= MOST {
            self.sent.pop_front();
        }
        self.sent.push_back((number as u32, sequence));
    }

    /// The feedback that a message brings, once.
    fn believe(&mut self, told: &Told) -> Option<Feedback> {
        let first = self.sent.front()?.0;
        let place = |number: u32| number.wrapping_sub(first);
        let at = self.sent.partition_point(|(number, _)| place(*number) < place(told.head.number));
        let (number, sequence) = *self.sent.get(at)?;
        // A warning may name a packet without data.
        let is_known = !told.dropped || number == told.head.number;
        if !is_known || self.last.replace(*told) == Some(*told) {
            return None;
        }
        Some(Feedback { dropped: told.dropped.then_some(sequence), rate: told.rate, queue: told.queue })
    }
}

impl Session {
    /// A router speaks of this end's data. True if that was believed, and the session is to be polled.
    pub fn on_told(&mut self, now: Time, told: &Told) -> bool {
        if !matches!(self.phase, Phase::Open) {
            return false;
        }
        let Some(feedback) = self.sent_lately.as_mut().and_then(|lately| lately.believe(told)) else {
            return false;
        };
        self.notify_sender(now, FlowInput::Feedback(feedback));
        self.stats.told += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::told::Head;

    fn told(number: u32, dropped: bool, queue: u32) -> Told {
        Told { head: Head { connection: [1; 8], number }, dropped, queue, rate: None }
    }

    /// Segments of the window transport at every other number, the low bits of which go round.
    fn sent(first: u64, count: u64) -> SentLately {
        let mut lately = SentLately::default();
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
        let mut lately = sent(u64::from(u32::MAX) - 5, 10);
        // The fourth packet of data has the number 0 in its low bits.
        assert_eq!(
            lately.believe(&told(0, true, 3)),
            Some(Feedback { dropped: Some(3000), rate: None, queue: 3 })
        );
        assert_eq!(lately.believe(&told(0, true, 3)), None);
        // One between two packets of data.
        let warning = Some(Feedback { dropped: None, rate: None, queue: 3 });
        assert_eq!(lately.believe(&told(1, false, 3)), warning);
        assert_eq!(lately.believe(&told(1, true, 3)), None);
    }

    #[test]
    fn nothing_is_believed_of_what_was_not_sent_lately() {
        let mut lately = sent(100, 10);
        for number in [99, 119, 120, 100 + u32::MAX / 2] {
            assert_eq!(lately.believe(&told(number, false, 3)), None, "{number}");
        }
        assert_eq!(SentLately::default().believe(&told(0, false, 3)), None);
        let mut long = sent(0, 5000);
        assert_eq!(long.believe(&told(10, false, 3)), None);
        assert!(long.believe(&told(9990, true, 3)).is_some());
        assert_eq!(long.sent.len(), MOST);
    }
}
