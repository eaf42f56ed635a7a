//! Rations of a line's rate, as in BBN's packet-switched networks (Robinson, Friedman and Steenstrup 1990).
//!
//! | paper, as Liang 1991 gives it | here | reason | effect |
//! | --- | --- | --- | --- |
//! | `T`, `U` and `R` have no units | shares of the line's rate; the ration is sent as a rate | the only reading that makes `T + R` and `U` comparable | none |
//! | `T` is not given | 90 % | must be below 97 %, the threshold of a full line | the line is used to 90 % at most |
//! | the interval is not given | 1 s | some round trips of slow networks | how soon rations follow the load |
//! | rations are flooded through the network | sent to the sources in the queue | only these react to them | bandwidth grows with sources, not with nodes |
//! | routers at the border enforce rations | sources do | the sources of an experiment are honest | none, if they are |

use super::source_table::Sources;
use super::{ArrivalOutcome, Message, PassingPacket, Policy, RationsSpec, View};
use thalweg_proto::units::{Bytes, Time};

/// Minimum utilisation of a full line: demand beyond it cannot be measured.
const FULL_LINE_UTILISATION: f64 = 0.97;

/// Minimum ration, so a small ration can grow again. A line that seems full for a million intervals has fewer sources
/// than that.
const MIN_RATION: f64 = 1e-6;

/// Grants each source the same rate, and adjusts it at intervals to reach the target utilisation of the line.
///
/// With the target `T`, the utilisation `U` of the last interval and the ration `R`, all of them shares of the line's
/// rate, and `R = T` at the start: if the line was not full, `R <- min(T, T/U R)`. If it was, the demand is assumed to
/// exceed the target by at least one ration: `R <- min(T, T/max(U, T + R) R)`. So the ration of a full line goes
/// through `T`, `T/2`, `T/3` ...
#[derive(Clone, Debug)]
pub struct Rations {
    spec: RationsSpec,
    sources: Sources,
    /// Ration, as a share of the line's rate.
    ration: f64,
    /// Bytes that entered service in this interval.
    bytes: u64,
    /// Start of this interval.
    interval_start: Time,
}

impl Rations {
    /// Creates a policy for an idle line.
    pub const fn new(spec: &RationsSpec) -> Self {
        Self {
            spec: *spec,
            sources: Sources::new(spec.routing_interval),
            ration: spec.target,
            bytes: 0,
            interval_start: Time::ZERO,
        }
    }

    fn update(&mut self, utilisation: f64) {
        let target = self.spec.target;
        let wanted = if utilisation < FULL_LINE_UTILISATION {
            utilisation
        } else {
            utilisation.max(target + self.ration)
        };
        // An idle line has any amount left.
        let next = if wanted > 0.0 { target / wanted * self.ration } else { target };
        self.ration = next.min(target).max(MIN_RATION);
    }

    fn forget(&mut self, dropped: &[PassingPacket]) {
        dropped.iter().filter_map(|packet| packet.source).for_each(|source| self.sources.leave(source.flow));
    }
}

impl Policy for Rations {
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        dropped: &[PassingPacket],
        _messages: &mut Vec<Message>,
    ) -> bool {
        if let Some(source) = arrival.source {
            self.sources.arrive(view.now, source, outcome != ArrivalOutcome::InService);
        }
        if outcome == ArrivalOutcome::InService {
            self.bytes += u64::from(arrival.size);
        }
        self.forget(dropped);
        false
    }

    fn on_departure(
        &mut self,
        _view: &View,
        departure: Option<&PassingPacket>,
        dropped: &[PassingPacket],
        _messages: &mut Vec<Message>,
    ) -> bool {
        if let Some(packet) = departure {
            self.bytes += u64::from(packet.size);
            packet.source.iter().for_each(|source| self.sources.leave(source.flow));
        }
        self.forget(dropped);
        false
    }

    fn on_interval(&mut self, view: &View, messages: &mut Vec<Message>) {
        let span = view.now.since(self.interval_start);
        let possible = view.rate.as_f64() * span.as_secs_f64();
        let sent = Bytes::new(core::mem::take(&mut self.bytes)).as_bits_f64();
        self.interval_start = view.now;
        if possible > 0.0 {
            self.update(sent / possible);
        }
        let rate = Some(view.rate.mul_f64(self.ration));
        for (flow, _) in self.sources.iter(view.now) {
            messages.push(Message { flow, dropped: None, rate, growth: None });
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests the rule and its messages.
    use super::super::test_helpers::{ACK, RATE, at_millis, data_packet, queue_view};
    use super::*;
    use thalweg_proto::units::Duration;

    const SPEC: RationsSpec = RationsSpec {
        target: 0.9,
        interval: Duration::from_secs(1),
        routing_interval: Duration::from_secs(10),
    };

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
    }

    #[test]
    fn the_ration_of_a_full_line_goes_through_the_fractions_of_the_target() {
        let mut policy = Rations::new(&SPEC);
        assert_near(policy.ration, 0.9);
        for sources in [2.0, 3.0, 4.0, 5.0] {
            policy.update(1.0);
            assert_near(policy.ration, 0.9 / sources);
        }
    }

    #[test]
    fn a_line_that_is_not_full_is_steered_to_the_target() {
        // Three sources send 0.3 each on a line with a target of 0.9: the ration is right. With 0.5 in use the ration
        // grows by 0.9 to 0.5, but not above the target; at 0.95 it shrinks by 0.9 to 0.95.
        let mut policy = Rations { ration: 0.3, ..Rations::new(&SPEC) };
        policy.update(0.9);
        assert_near(policy.ration, 0.3);
        policy.update(0.5);
        assert_near(policy.ration, 0.54);
        policy.update(0.1);
        assert_near(policy.ration, 0.9);
        policy.update(0.95);
        assert_near(policy.ration, 0.9 * 0.9 / 0.95);
        policy.update(0.0);
        assert_near(policy.ration, 0.9);
    }

    #[test]
    fn every_source_gets_the_same_rate_each_interval() {
        // 8 kbit/s are 1000 bytes a second: ten packets of 100 bytes fill the line for the interval.
        let mut policy = Rations::new(&SPEC);
        let mut messages = Vec::new();
        policy.on_arrival(
            &queue_view(0, 0, 0),
            &data_packet(1, 0),
            ArrivalOutcome::InService,
            &[],
            &mut messages,
        );
        policy.on_arrival(
            &queue_view(0, 1, 100),
            &data_packet(2, 0),
            ArrivalOutcome::Waits,
            &[],
            &mut messages,
        );
        policy.on_arrival(&queue_view(0, 2, 150), &ACK, ArrivalOutcome::Waits, &[], &mut messages);
        for flow in [2, 1, 1, 1, 1, 1, 1, 1, 1] {
            policy.on_departure(&queue_view(500, 0, 0), Some(&data_packet(flow, 0)), &[], &mut messages);
        }
        assert_eq!(messages, []);
        policy.on_interval(&queue_view(1000, 0, 0), &mut messages);
        let rate = Some(RATE.mul_f64(0.45));
        let expected = [1, 2].map(|flow| Message { rate, ..Message::new(super::super::FlowId(flow), None) });
        assert_eq!(messages, expected);
        // A source without packets for a routing interval gets no more messages.
        messages.clear();
        policy.on_interval(&View { now: at_millis(11_000), ..queue_view(0, 0, 0) }, &mut messages);
        assert_eq!(messages, []);
    }

    #[test]
    fn in_an_outage_rations_stay() {
        let mut policy = Rations { ration: 0.3, ..Rations::new(&SPEC) };
        let stopped = View { rate: thalweg_proto::units::Rate::ZERO, ..queue_view(1000, 0, 0) };
        policy.on_interval(&stopped, &mut Vec::new());
        assert_near(policy.ration, 0.3);
    }
}
