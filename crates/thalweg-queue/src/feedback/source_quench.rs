//! Source quench (RFC 792), as early as RFC 896 (Nagle 1984) recommends.

use super::{ArrivalOutcome, Message, PassingPacket, Policy, QuenchSpec, View};
use crate::Limit;

/// Notifies the source of each packet that finds the queue at or above the threshold, or of each dropped packet.
///
/// RFC 792 has a gateway notify the source of a packet that it drops. RFC 896 (section "The source quench problem")
/// asks for messages well before that; the comparisons of Liang 1991 send them when the queue is half full. There is no
/// filter: every packet that arrives at such a queue causes a message. Messages carry no sequence number: a quench asks
/// to slow down, not for a retransmission.
#[derive(Clone, Debug)]
pub struct SourceQuench {
    spec: QuenchSpec,
    limit: Limit,
}

impl SourceQuench {
    /// Creates a policy for an empty queue with this limit.
    pub const fn new(spec: &QuenchSpec, limit: Limit) -> Self {
        Self { spec: *spec, limit }
    }

    fn is_long(&self, view: &View) -> bool {
        let share = self.spec.threshold_share;
        match self.limit {
            Limit::Packets(limit) => view.packets as f64 >= share * limit as f64,
            Limit::Bytes(limit) => view.bytes as f64 >= share * limit as f64,
            Limit::Unlimited => false,
        }
    }
}

fn append_quench(packet: &PassingPacket, messages: &mut Vec<Message>) {
    messages.extend(packet.source.map(|source| Message::new(source.flow, None)));
}

impl Policy for SourceQuench {
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        if self.spec.on_drop {
            dropped.iter().for_each(|packet| append_quench(packet, messages));
        } else if outcome != ArrivalOutcome::InService && self.is_long(view) {
            append_quench(arrival, messages);
        }
        false
    }

    fn on_departure(
        &mut self,
        _view: &View,
        _departure: Option<&PassingPacket>,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        if self.spec.on_drop {
            dropped.iter().for_each(|packet| append_quench(packet, messages));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    //! Tests the destinations and times of quenches.
    use super::super::test_helpers::{ACK, data_packet, messages_of, queue_view};
    use super::*;

    const EARLY: QuenchSpec = QuenchSpec { threshold_share: 0.5, on_drop: false };

    #[test]
    fn each_packet_that_finds_the_queue_half_full_is_answered() {
        // A limit of ten: the fifth queued packet and every later one cause a message, dropped or not.
        let mut policy = SourceQuench::new(&EARLY, Limit::Packets(10));
        let mut arrive = |packets, flow, outcome| {
            messages_of(|messages| {
                policy.on_arrival(&queue_view(0, packets, 0), &data_packet(flow, 0), outcome, &[], messages)
            })
        };
        assert_eq!(arrive(4, 1, ArrivalOutcome::Waits), []);
        assert_eq!(arrive(5, 1, ArrivalOutcome::Waits), [(1, None)]);
        assert_eq!(arrive(6, 2, ArrivalOutcome::Waits), [(2, None)]);
        assert_eq!(arrive(10, 3, ArrivalOutcome::Dropped), [(3, None)]);
        assert_eq!(arrive(4, 1, ArrivalOutcome::Waits), []);
    }

    #[test]
    fn acknowledgements_are_not_answered() {
        let mut policy = SourceQuench::new(&EARLY, Limit::Bytes(1000));
        let full = queue_view(0, 9, 900);
        assert_eq!(
            messages_of(|messages| policy.on_arrival(&full, &ACK, ArrivalOutcome::Waits, &[], messages)),
            []
        );
    }

    #[test]
    fn the_original_answers_drops_only() {
        // The owner of the dropped packet is notified, for any arriving packet.
        let mut policy = SourceQuench::new(&QuenchSpec { on_drop: true, ..EARLY }, Limit::Packets(10));
        let full = queue_view(0, 10, 0);
        let mut arrive = |dropped: &[PassingPacket]| {
            messages_of(|messages| {
                policy.on_arrival(&full, &data_packet(1, 0), ArrivalOutcome::Waits, dropped, messages)
            })
        };
        assert_eq!(arrive(&[]), []);
        assert_eq!(arrive(&[data_packet(2, 7)]), [(2, None)]);
    }
}
