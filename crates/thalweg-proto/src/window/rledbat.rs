//! Receiver-driven background transfers (rLEDBAT, RFC 9840): LEDBAT++ runs at the receiver and limits the advertised
//! window, for any controller at the sender.
//!
//! # Differences from RFC 9840
//!
//! | RFC 9840 | here | reason | effect |
//! | --- | --- | --- | --- |
//! | round trips are measured by echoed timestamps | queueing delay is that of the forward path, by the timestamps of segments; the round trip is the time from the advertisement of a window edge to the first segment beyond the previous edge | acknowledgements here echo none | queues of the return path do not count; the round trip appears long while the sender does not use the window |
//! | detects retransmissions by sequence number and timestamp | by their flag | segments here have one | none |
//! | the window never shrinks: its edge stays | the same | | none |
//! | growth requires that the sender uses the window | it does not | an unused window does no harm | an unused window takes several round trips to shrink |

use crate::congestion::{
    AckSample, ConnectionState, Controller, LedbatPlusPlus, LedbatPlusPlusConfig, LossKind, LossSample,
};
use crate::one_way_delay::RelativeDelay;
use crate::units::{Duration, Time};

/// LEDBAT++ at a receiver.
#[derive(Clone, Debug)]
pub(super) struct Background {
    control: LedbatPlusPlus,
    /// Largest payload received, taken as the payload of full segments.
    segment: u32,
    /// First one-way delay, the origin of later ones.
    reference: Option<RelativeDelay>,
    /// Minimum round trip.
    round_trip: Option<Duration>,
    /// An advertised window edge, and the time of the advertisement beyond it.
    edge: Option<(u64, Time)>,
    last_loss: Time,
}

impl Background {
    pub fn new(config: &LedbatPlusPlusConfig) -> Self {
        Self {
            control: LedbatPlusPlus::new(config),
            segment: 0,
            reference: None,
            round_trip: None,
            edge: None,
            last_loss: Time::ZERO,
        }
    }

    /// Returns the window edge to advertise, after one at `advertised`, where the receiver accepts all data below
    /// `limit`.
    pub fn edge(&self, base: u64, limit: u64, advertised: u64) -> u64 {
        if self.segment == 0 {
            // Without timestamps in segments there is no delay to measure.
            return limit;
        }
        let window = self.control.decision().window * f64::from(self.segment);
        // RFC 9293, section 3.8.6: an advertised edge does not move back, as data up to it may be in flight.
        limit.min(base.saturating_add(window as u64).max(advertised))
    }

    /// Records an advance of the advertised edge.
    pub fn advertise(&mut self, now: Time, from: u64, to: u64) {
        if to > from && self.edge.is_none() {
            self.edge = Some((from, now));
        }
    }

    /// Records a segment that ends at `end`, with its one-way delay.
    pub fn arrive(&mut self, now: Time, end: u64, bytes: u32, delay: RelativeDelay, is_repeated: bool) {
        self.segment = self.segment.max(bytes);
        if let Some((_, at)) = self.edge.filter(|(edge, _)| end > *edge) {
            let rtt = now.since(at);
            self.round_trip = Some(self.round_trip.map_or(rtt, |minimum| minimum.min(rtt)));
            self.edge = None;
        }
        let reference = *self.reference.get_or_insert(delay);
        let Some(round_trip) = self.round_trip else { return };
        let rtt = (round_trip + delay.above(reference)).saturating_sub(reference.above(delay));
        let connection = ConnectionState {
            now,
            outstanding: 0,
            in_flight: 0,
            in_flight_bytes: 0,
            smoothed_rtt: rtt,
            min_rtt: round_trip,
            segment: self.segment,
            next_sequence: end,
        };
        if is_repeated {
            // At most once per round trip.
            if now.since(self.last_loss) >= rtt {
                self.last_loss = now;
                let sent_at = Time::ZERO + now.since(Time::ZERO).saturating_sub(rtt);
                self.control.on_loss(&LossSample {
                    connection,
                    kind: LossKind::Detected,
                    sent_at,
                    repeated: false,
                });
            }
            return;
        }
        let sample = AckSample {
            connection,
            acked: 1,
            acked_bytes: u64::from(bytes),
            counted: 1,
            cumulative: end,
            sent_at: Time::ZERO + now.since(Time::ZERO).saturating_sub(rtt),
            in_flight_bytes: 0,
            rtt: Some(rtt),
            ce: 0,
            one_way_delay: None,
            recovering: false,
            app_limited: false,
        };
        self.control.on_ack(&sample, ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn background() -> Background {
        Background::new(&LedbatPlusPlusConfig { slowdowns: false, ..LedbatPlusPlusConfig::RECOMMENDED })
    }

    /// RFC 9840: the advertised edge never moves back, however small the window becomes, and never exceeds the
    /// receiver's limit.
    #[test]
    fn the_edge_never_moves_back() {
        let mut background = background();
        background.arrive(at(1), 1000, 1000, RelativeDelay::from_bits(7), false);
        assert_eq!(background.edge(1000, 1 << 20, 0), 3000);
        assert_eq!(background.edge(1000, 1 << 20, 9000), 9000);
        assert_eq!(background.edge(1000, 2500, 0), 2500);
    }

    /// Returns the window in segments after a while at this queueing delay, with round trips of 100 ms.
    fn window(queue: u32) -> f64 {
        let mut background = background();
        for round in 0..200u64 {
            let now = at(round * 10);
            background.advertise(now, round * 1000, round * 1000 + 3000);
            let delay = if round < 20 { 0 } else { queue * 1000 };
            background.arrive(
                now + Duration::from_millis(5),
                round * 1000 + 500,
                1000,
                RelativeDelay::from_bits(delay),
                false,
            );
        }
        background.round_trip.map_or(0.0, |_| background.control.decision().window)
    }

    /// RFC 9840, and LEDBAT++, section 4.3: below the target the window grows, above it shrinks.
    #[test]
    fn delay_above_the_target_shrinks_the_window() {
        assert!(window(0) > 12.0, "{}", window(0));
        assert!(window(200) < 4.0, "{}", window(200));
    }
}
