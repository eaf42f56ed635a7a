//! Router of the DEC bit (Ramakrishnan and Jain, "A binary feedback scheme for congestion avoidance in computer
//! networks", 1990).

use super::{ArrivalOutcome, DecBitSpec, Message, PassingPacket, Policy, View};
use thalweg_proto::units::Time;

/// Marks packets at a line with a long average queue.
///
/// The average covers the number of packets at the line over the previous cycle and the current one, including the
/// packet in service and packets of every kind. A cycle is a busy period of the line and the following idle period
/// (Ramakrishnan and Jain 1990, section 4.1). A queued packet is marked if its flow supports feedback and the average
/// exceeds the threshold, which is one packet.
#[derive(Clone, Debug)]
pub struct DecBit {
    spec: DecBitSpec,
    /// End time of the sums.
    now: Time,
    /// Start times of the previous cycle and the current one.
    cycle_starts: [Time; 2],
    /// Packets times picoseconds in each of them.
    area: [u128; 2],
    /// Number of queued packets.
    queued_packets: u64,
}

impl DecBit {
    /// Creates a policy for an idle line.
    pub const fn new(spec: &DecBitSpec) -> Self {
        Self { spec: *spec, now: Time::ZERO, cycle_starts: [Time::ZERO; 2], area: [0; 2], queued_packets: 0 }
    }

    /// Integrates over the time since the last event. The line served one packet throughout, or until it became idle.
    fn advance(&mut self, view: &View) {
        let idle_from = view.busy_until.min(view.now).max(self.now);
        let busy = idle_from.since(self.now).as_picos();
        let passed = view.now.since(self.now).as_picos();
        self.area[1] += u128::from(busy) + u128::from(self.queued_packets) * u128::from(passed);
        self.now = view.now;
    }

    /// Returns the average number of packets at the line.
    fn average(&self) -> f64 {
        let span = self.now.since(self.cycle_starts[0]).as_picos();
        if span == 0 { 0.0 } else { (self.area[0] + self.area[1]) as f64 / span as f64 }
    }
}

impl Policy for DecBit {
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        _dropped: &[PassingPacket],
        _messages: &mut Vec<Message>,
    ) -> bool {
        self.advance(view);
        if outcome == ArrivalOutcome::InService {
            // The line was idle: a new cycle.
            self.cycle_starts = [self.cycle_starts[1], view.now];
            self.area = [self.area[1], 0];
        }
        self.queued_packets = view.packets;
        outcome == ArrivalOutcome::Waits
            && arrival.source.is_some()
            && self.average() > self.spec.threshold_packets
    }

    fn on_departure(
        &mut self,
        view: &View,
        _departure: Option<&PassingPacket>,
        _dropped: &[PassingPacket],
        _messages: &mut Vec<Message>,
    ) -> bool {
        self.advance(view);
        self.queued_packets = view.packets;
        false
    }
}

#[cfg(test)]
mod tests {
    //! Tests the average over two cycles and the resulting marks.
    use super::super::test_helpers::{ACK, RATE, at_millis, data_packet, queue_view};
    use super::*;

    const SPEC: DecBitSpec = DecBitSpec { threshold_packets: 1.0 };

    /// Returns the view of a line that became idle at `busy_until` or is busy until then.
    fn line(millis: u64, packets: u64, busy_until: u64) -> View {
        View { now: at_millis(millis), packets, bytes: 0, rate: RATE, busy_until: at_millis(busy_until) }
    }

    fn arrive(policy: &mut DecBit, view: &View, outcome: ArrivalOutcome) -> bool {
        policy.on_arrival(view, &data_packet(1, 0), outcome, &[], &mut Vec::new())
    }

    fn depart(policy: &mut DecBit, view: &View) {
        assert!(!policy.on_departure(view, Some(&data_packet(1, 0)), &[], &mut Vec::new()));
    }

    #[test]
    fn the_average_is_over_the_last_cycle_and_the_current_one() {
        // Each packet takes 100 ms. First cycle, from 0: one packet in service to 100, idle to 200: 100 packet-ms.
        // Second, from 200: one in service, one waits from 220 and is served from 300 to 400, idle to 500:
        // 20 + 2 * 80 + 100 = 280 packet-ms. Third, from 500.
        let mut policy = DecBit::new(&SPEC);
        assert!(!arrive(&mut policy, &line(0, 0, 0), ArrivalOutcome::InService));
        assert!(!arrive(&mut policy, &line(200, 0, 100), ArrivalOutcome::InService));
        assert!((policy.average() - 0.5).abs() < 1e-12);
        arrive(&mut policy, &line(220, 1, 300), ArrivalOutcome::Waits);
        assert!((policy.average() - 120.0 / 220.0).abs() < 1e-12);
        depart(&mut policy, &line(300, 0, 300));
        assert!((policy.average() - 280.0 / 300.0).abs() < 1e-12);
        arrive(&mut policy, &line(500, 0, 400), ArrivalOutcome::InService);
        // The first cycle no longer counts.
        assert!((policy.average() - 280.0 / 300.0).abs() < 1e-12);
        arrive(&mut policy, &line(550, 1, 600), ArrivalOutcome::Waits);
        assert!((policy.average() - 330.0 / 350.0).abs() < 1e-12);
    }

    #[test]
    fn a_packet_that_waits_is_marked_when_the_average_is_above_one() {
        // Two packets wait behind one from 0 on: the average is 3 at once, and the packets after the first are marked.
        // A packet that finds the line idle is not, although the average is still above 1.
        let mut policy = DecBit::new(&SPEC);
        assert!(!arrive(&mut policy, &line(0, 0, 0), ArrivalOutcome::InService));
        assert!(!arrive(&mut policy, &line(0, 1, 100), ArrivalOutcome::Waits));
        assert!(!arrive(&mut policy, &line(0, 2, 100), ArrivalOutcome::Waits));
        assert!(arrive(&mut policy, &line(10, 3, 100), ArrivalOutcome::Waits));
        assert!(!arrive(&mut policy, &line(10, 3, 100), ArrivalOutcome::Dropped));
        for (millis, left) in [(100, 2), (200, 1), (300, 0)] {
            depart(&mut policy, &line(millis, left, millis));
        }
        assert!(!arrive(&mut policy, &line(410, 0, 400), ArrivalOutcome::InService));
        assert!(policy.average() > 1.0);
    }

    #[test]
    fn acknowledgements_count_but_are_not_marked() {
        let mut policy = DecBit::new(&SPEC);
        let mut ack = |millis, packets, outcome| {
            policy.on_arrival(&queue_view(millis, packets, 0), &ACK, outcome, &[], &mut Vec::new())
        };
        assert!(
            !ack(0, 0, ArrivalOutcome::InService)
                && !ack(0, 1, ArrivalOutcome::Waits)
                && !ack(10, 2, ArrivalOutcome::Waits)
        );
        assert!((policy.average() - 2.0).abs() < 1e-12);
        assert!(arrive(&mut policy, &queue_view(11, 3, 0), ArrivalOutcome::Waits));
    }

    #[test]
    fn the_threshold_is_a_parameter() {
        // One packet waits behind another: the average is 2.
        let marked = |threshold| {
            let mut policy = DecBit::new(&DecBitSpec { threshold_packets: threshold });
            arrive(&mut policy, &line(0, 0, 0), ArrivalOutcome::InService);
            arrive(&mut policy, &line(0, 1, 100), ArrivalOutcome::Waits);
            arrive(&mut policy, &line(50, 2, 100), ArrivalOutcome::Waits)
        };
        assert!(marked(1.9) && !marked(2.0));
    }
}
