//! Acknowledgement requests of the sender, in the spirit of ACK congestion control (RFC 5690) and
//! draft-ietf-quic-ack-frequency.
//!
//! One acknowledgement per two segments fills a return path with a fiftieth of the forward path's capacity. A sender
//! with time-based loss detection needs only a few per round trip: it requests five, no further apart than 40 segments.
//! Without pacing the limit is 16 segments, as each acknowledgement then releases a burst. More are requested while the
//! window doubles: slow start ends by the delays of eight samples (RFC 9406, section 4.2), and late information causes
//! overshoot. During recovery every segment is acknowledged for controllers that [need
//! it](Controller::needs_each_ack_in_repair): otherwise BBR reaches a sixth of its rate at 1 % loss. A small flight is
//! acknowledged as without requests.
//!
//! An acknowledgement that covers twice the segments between two requests indicates that another was lost or coalesced,
//! on the path or at the host. The request rate is then halved per round trip, also in recovery, down to five requests.
//! It grows by a tenth per round trip without such a loss. With two requests a path that loses 13 % in both directions
//! left many round trips without any acknowledgement: one transfer of ten stayed at a window of two segments.

use super::Sender;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::state_digest::hash_all;
use core::hash::Hasher;

/// Acknowledgements per round trip: by default, and while the window doubles.
const REQUESTS_PER_ROUND: (u32, u32) = (5, 64);
/// Maximum distance between requests in segments: with pacing, and without.
const MAX_DISTANCE: (u32, u32) = (40, 16);
/// Minimum window growth per round trip that counts as doubling.
const MIN_DOUBLING_GROWTH: f64 = 1.25;
/// Maximum multiple of the default distance when acknowledgements are missing; five requests remain per round trip.
const MAX_DISTANCE_FACTOR: f64 = 16.0;
/// Factor on that multiple after a round trip without a missing acknowledgement.
const DISTANCE_DECAY: f64 = 0.9;

/// State of a sender's acknowledgement requests.
#[derive(Clone, Debug)]
pub(super) struct AckRequests {
    /// Minimum distance between requests, in segments.
    every: u32,
    /// Segments sent since the last request.
    sent_since_request: u32,
    /// Distance as a multiple of the default.
    distance_factor: f64,
    /// Maximum distance in this round trip and in the previous one.
    max_distances: [u32; 2],
    /// End of the round trip in the stream, and whether an acknowledgement was missing in it.
    round_end: u64,
    is_missing: bool,
    /// Window in segments at its start, and whether it grew fast in the previous one.
    window: f64,
    doubles: bool,
}

/// The packets in flight when a segment leaves.
#[derive(Clone, Copy, Debug)]
struct Flight {
    segments: u32,
    is_paced: bool,
    /// True during recovery, for a controller that counts losses at each acknowledgement.
    is_repairing: bool,
    /// True if no more data waits to be sent.
    is_last: bool,
}

/// The contents of an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct AckCoverage {
    /// Segments newly known to have arrived.
    segments: u32,
    /// Cumulative acknowledgement; new data begins at `next`.
    cumulative: u64,
    next: u64,
    /// Window in segments.
    window: f64,
}

impl AckRequests {
    pub fn new(every: u32) -> Self {
        Self {
            every: every.max(1),
            sent_since_request: 0,
            distance_factor: 1.0,
            max_distances: [0; 2],
            round_end: 0,
            is_missing: false,
            window: 0.0,
            doubles: true,
        }
    }

    /// Returns the distance from one request to the next, in segments.
    fn distance(&self, flight: Flight) -> u32 {
        if flight.is_repairing && self.distance_factor <= 1.0 {
            return 1;
        }
        let share = if self.doubles { REQUESTS_PER_ROUND.1 } else { REQUESTS_PER_ROUND.0 };
        let maximum = if flight.is_paced { MAX_DISTANCE.0 } else { MAX_DISTANCE.1 };
        let default_distance = (flight.segments / share).min(maximum);
        let scaled = (f64::from(default_distance) * self.distance_factor) as u32;
        scaled.min(flight.segments / REQUESTS_PER_ROUND.0).max(default_distance).max(self.every)
    }

    /// Records a new segment; returns true if it requests an acknowledgement.
    fn on_segment(&mut self, flight: Flight) -> bool {
        self.sent_since_request += 1;
        let distance = self.distance(flight);
        self.max_distances[0] = self.max_distances[0].max(distance);
        let is_requested =
            self.sent_since_request >= distance || flight.is_last && self.sent_since_request >= self.every;
        if is_requested {
            self.sent_since_request = 0;
        }
        is_requested
    }

    fn on_ack(&mut self, coverage: AckCoverage) {
        let max_distance = self.max_distances[0].max(self.max_distances[1]).max(self.every);
        self.is_missing |= coverage.segments >= 2 * max_distance;
        if coverage.cumulative > self.round_end {
            // RFC 5690, section 4.4: far fewer after a lost acknowledgement, slowly more without one.
            let distance_factor = if self.is_missing {
                2.0 * self.distance_factor
            } else {
                DISTANCE_DECAY * self.distance_factor
            };
            self.distance_factor = distance_factor.clamp(1.0, MAX_DISTANCE_FACTOR);
            self.max_distances = [0, self.max_distances[0]];
            (self.round_end, self.is_missing) = (coverage.next, false);
            self.doubles = coverage.window > MIN_DOUBLING_GROWTH * self.window;
            self.window = coverage.window;
        }
    }

    pub fn feed_state<H: Hasher>(&self, into: &mut H) {
        let Self {
            every,
            sent_since_request: since,
            distance_factor,
            max_distances,
            round_end,
            is_missing,
            window,
            doubles,
        } = self;
        hash_all(
            into,
            (
                every,
                since,
                distance_factor.to_bits(),
                max_distances,
                round_end,
                is_missing,
                window.to_bits(),
                doubles,
            ),
        );
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Returns true if the new segment that leaves requests an immediate acknowledgement.
    pub(super) fn requests_ack(&mut self) -> bool {
        let flight = Flight {
            segments: self.scoreboard.in_flight(),
            is_paced: self.controller.decision().pacing_rate.is_some(),
            is_repairing: !self.is_open() && self.controller.needs_each_ack_in_repair(),
            is_last: self.application.is_drained(),
        };
        let ack_requests =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.ack_requests.as_mut());
        ack_requests.is_some_and(|ack_requests| ack_requests.on_segment(flight))
    }

    /// Records an acknowledgement that newly covers this many segments.
    pub(super) fn on_ack_coverage(&mut self, segments: u32) {
        let ack_requests =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.ack_requests.as_mut());
        // Early return: the controller's decision is costly to compute, and most senders do not need it.
        let Some(ack_requests) = ack_requests else { return };
        let (cumulative, next) = (self.peer.unacknowledged(), self.scoreboard.next());
        ack_requests.on_ack(AckCoverage {
            segments,
            cumulative,
            next,
            window: self.controller.decision().window,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACED_FLIGHT: Flight = Flight { segments: 0, is_paced: true, is_repairing: false, is_last: false };

    /// Returns the state of a sender whose window does not grow.
    fn steady() -> AckRequests {
        AckRequests { doubles: false, window: 120.0, ..AckRequests::new(2) }
    }

    #[test]
    fn about_five_requests_per_round_trip() {
        let (steady, doubling) = (steady(), AckRequests::new(2));
        for (segments, paced, unpaced) in [
            (1, [2, 2], [2, 2]),
            (10, [2, 2], [2, 2]),
            (60, [12, 2], [12, 2]),
            (120, [24, 2], [16, 2]),
            (10_000, [40, 40], [16, 16]),
        ] {
            let paces = Flight { segments, ..PACED_FLIGHT };
            let bursts = Flight { is_paced: false, ..paces };
            assert_eq!([&steady, &doubling].map(|ack_requests| ack_requests.distance(paces)), paced);
            assert_eq!([&steady, &doubling].map(|ack_requests| ack_requests.distance(bursts)), unpaced);
            assert_eq!(steady.distance(Flight { is_repairing: true, ..paces }), 1);
        }
        assert_eq!(AckRequests::new(100).distance(PACED_FLIGHT), 100);
    }

    #[test]
    fn a_doubling_window_is_detected() {
        let mut ack_requests = AckRequests::new(2);
        let mut seen = Vec::new();
        for (round, window) in [10.0, 20.0, 40.0, 44.0, 44.0, 22.0, 44.0].into_iter().enumerate() {
            let at = round as u64 + 1;
            ack_requests.on_ack(AckCoverage { segments: 2, cumulative: at, next: at, window });
            seen.push(ack_requests.doubles);
        }
        assert_eq!(seen, [true, true, true, false, false, false, true]);
    }

    /// RFC 5690, section 4.4: fewer where acknowledgements are lost, and slowly more where none is.
    #[test]
    fn fewer_where_acknowledgements_are_lost() {
        let mut ack_requests = steady();
        let flight = Flight { segments: 1000, ..PACED_FLIGHT };
        let mut end = 1000;
        // Acknowledges each round trip's segments within it; every third acknowledgement is coalesced with the previous
        // one.
        let mut round = |ack_requests: &mut AckRequests, flight: Flight, loses: bool| {
            let (mut waiting, mut requests) = (0, 0);
            for _ in 0..2000 {
                end += 1;
                waiting += 1;
                if ack_requests.on_segment(flight) {
                    requests += 1;
                    if !loses || requests % 3 != 1 {
                        let segments = std::mem::take(&mut waiting);
                        ack_requests.on_ack(AckCoverage {
                            segments,
                            cumulative: end - 1000,
                            next: end,
                            window: 120.0,
                        });
                    }
                }
            }
        };
        round(&mut ack_requests, flight, false);
        assert_eq!(ack_requests.distance(flight), 40);
        for _ in 0..10 {
            round(&mut ack_requests, flight, true);
        }
        let fewer = ack_requests.distance(flight);
        assert!((80..=200).contains(&fewer), "{fewer}: five of them in a flight");
        assert_eq!(ack_requests.distance(Flight { is_repairing: true, ..flight }), fewer);
        for _ in 0..40 {
            round(&mut ack_requests, flight, false);
        }
        assert_eq!(ack_requests.distance(flight), 40);
    }

    /// On a path that loses packets both ways, few requests are few chances: five per round trip are the minimum.
    #[test]
    fn five_requests_remain_where_acknowledgements_are_lost() {
        let lossy = AckRequests { distance_factor: MAX_DISTANCE_FACTOR, ..steady() };
        let distance = |segments| lossy.distance(Flight { segments, ..PACED_FLIGHT });
        assert_eq!([8, 60, 200, 1000].map(distance), [2, 12, 40, 200]);
    }

    /// The last written segment requests an acknowledgement, unless it is sent alone.
    #[test]
    fn the_last_segment_requests_an_acknowledgement() {
        let mut ack_requests = steady();
        let flight = Flight { segments: 120, is_last: true, ..PACED_FLIGHT };
        assert_eq!([(); 3].map(|()| ack_requests.on_segment(flight)), [false, true, false]);
    }
}
