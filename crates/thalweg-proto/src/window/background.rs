//! Transfers in the background by the receiver's choice (rLEDBAT, RFC 9840): LEDBAT++ runs at the receiver, and its window is the
//! one that acknowledgements advertise, whatever controller the sender has.
//!
//! # Differences from RFC 9840
//!
//! | RFC 9840 | here | reason | effect |
//! | --- | --- | --- | --- |
//! | round trips are told by timestamps that segments echo | queueing delay is that of the way here, by the timestamps of segments; the round trip is the time from the advertisement of a window's edge to the first segment beyond the one before | segments here echo none | queues of the way back do not count; a sender that does not use the window makes round trips seem long, until it does |
//! | a retransmission is told from its sequence number and timestamp | by its mark | segments here have one | none |
//! | the window never shrinks: its edge stays | so | | none |
//! | growth asks whether the sender uses the window | it does not | what the sender does not use does no harm | a window that was not used takes some round trips to become small |

use super::timestamp::RelativeDelay;
use crate::congestion::{
    AckSample, Controller, LedbatPlusPlus, LedbatPlusPlusConfig, LossKind, LossSample, Path,
};
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
    lost: Time,
}

impl Background {
    pub fn new(config: &LedbatPlusPlusConfig) -> Self {
        Self {
            control: LedbatPlusPlus::new(config),
            segment: 0,
            reference: None,
            round_trip: None,
            edge: None,
            lost: Time::ZERO,
        }
    }

    /// The edge to advertise, of which one was `advertised`, where the receiver could take all below `limit`.
    pub fn edge(&self, base: u64, limit: u64, advertised: u64) -> u64 {
        if self.segment == 0 {
            // Without timestamps in segments there is no delay to measure.
            return limit;
        }
        let window = self.control.decision().window * f64::from(self.segment);
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
            self.round_trip = Some(self.round_trip.map_or(rtt, |least| least.min(rtt)));
            self.edge = None;
        }
        let reference = *self.reference.get_or_insert(delay);
        let Some(round_trip) = self.round_trip else { return };
        let rtt = (round_trip + delay.above(reference)).saturating_sub(reference.above(delay));
        let path = Path {
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
            // Once a round trip.
            if now.since(self.lost) >= rtt {
                self.lost = now;
                let sent_at = Time::ZERO + now.since(Time::ZERO).saturating_sub(rtt);
                self.control.on_loss(&LossSample {
                    path,
                    kind: LossKind::Duplicates,
                    sent_at,
                    repeated: false,
                });
            }
            return;
        }
        let sample = AckSample {
            path,
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

    /// RFC 9840: the edge of the window stays where it was advertised, however small the window becomes, and is never beyond
    /// what the receiver could take.
    #[test]
    fn the_edge_never_moves_back() {
        let mut background = background();
        background.arrive(at(1), 1000, 1000, RelativeDelay::from_bits(7), false);
        assert_eq!(background.edge(1000, 1 << 20, 0), 3000);
        assert_eq!(background.edge(1000, 1 << 20, 9000), 9000);
        assert_eq!(background.edge(1000, 2500, 0), 2500);
    }

    /// Segments of which each takes longer by this: the window in segments after a while, by round trips of 100 ms.
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
    fn delay_above_the_target_makes_the_window_small() {
        assert!(window(0) > 12.0, "{}", window(0));
        assert!(window(200) < 4.0, "{}", window(200));
    }
}
