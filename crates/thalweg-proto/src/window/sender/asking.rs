//! Acknowledgements that the sender requests (ACK congestion control, RFC 5690, in spirit; draft-ietf-quic-ack-frequency).
//!
//! One after every second segment fills a return path that is fifty times as narrow as the forward path. A sender that finds losses by time
//! needs a few in a round trip: five, no further apart than 40 segments, or 16 where it does not pace and each lets as many go at once. They are
//! more while the window doubles: slow start ends by the delays of eight (RFC 9406, section 4.2), and overshoots by what it learns late. While
//! losses are repaired every segment is acknowledged to controllers that [need it](Controller::needs_each_ack_in_repair): BBR carries a sixth
//! at 1 % of loss otherwise. A small flight is acknowledged as without requests.
//!
//! An acknowledgement that tells of twice as many segments as lie between two requests stands for another that was lost, or came so late on
//! its way, or at the host, that they were joined. So they are half as many then from round trip to round trip, also in repairs, and a tenth more
//! in each where none was missing.

use super::Sender;
use crate::congestion::Controller;
use crate::digest::feed;
use crate::payload::{Payload, Queue};
use core::hash::Hasher;

/// The acknowledgements in a round trip: usually, and while the window doubles.
const SHARE: (u32, u32) = (5, 64);
/// The segments between two of them at most, of senders that pace and of others.
const MAX_APART: (u32, u32) = (40, 16);
/// The growth of a window in a round trip from which on it doubles.
const DOUBLES: f64 = 1.25;
/// The distance as a multiple of the usual one where acknowledgements are missing, at most; two are left in a round trip.
const MAX_SPARSE: f64 = 16.0;
/// The share of that multiple that a round trip without such a loss leaves.
const RECOVERY: f64 = 0.9;

/// The requests of a sender.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    /// The segments between two at least.
    every: u32,
    /// Segments that have left since the last.
    since: u32,
    /// The distance as a multiple of the usual one.
    sparse: f64,
    /// The greatest distance in this round trip, and in the one before.
    widest: [u32; 2],
    /// The round trip ends when this is acknowledged, and whether an acknowledgement was missing in it.
    round_end: u64,
    is_missing: bool,
    /// The window in segments when it began, and whether it grew fast in the one before.
    window: f64,
    doubles: bool,
}

/// The packets in flight when a segment leaves.
#[derive(Clone, Copy, Debug)]
struct Flight {
    segments: u32,
    is_paced: bool,
    /// Losses are being repaired, of a controller that counts them at each acknowledgement.
    is_repairing: bool,
    /// Nothing more waits to be sent.
    is_last: bool,
}

/// The contents of an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Segments that are newly known to have arrived.
    segments: u32,
    /// All below is acknowledged, and what is sent next begins at `next`.
    cumulative: u64,
    next: u64,
    /// The window in segments.
    window: f64,
}

impl Asking {
    pub fn new(every: u32) -> Self {
        Self {
            every: every.max(1),
            since: 0,
            sparse: 1.0,
            widest: [0; 2],
            round_end: 0,
            is_missing: false,
            window: 0.0,
            doubles: true,
        }
    }

    /// The segments from one request to the next.
    fn apart(&self, flight: Flight) -> u32 {
        if flight.is_repairing && self.sparse <= 1.0 {
            return 1;
        }
        let share = if self.doubles { SHARE.1 } else { SHARE.0 };
        let most = if flight.is_paced { MAX_APART.0 } else { MAX_APART.1 };
        let usual = (flight.segments / share).min(most);
        let sparse = (f64::from(usual) * self.sparse) as u32;
        sparse.min(flight.segments / 2).max(usual).max(self.every)
    }

    /// A new segment leaves: true if it requests an acknowledgement.
    fn asks(&mut self, flight: Flight) -> bool {
        self.since += 1;
        let apart = self.apart(flight);
        self.widest[0] = self.widest[0].max(apart);
        let asks = self.since >= apart || flight.is_last && self.since >= self.every;
        if asks {
            self.since = 0;
        }
        asks
    }

    fn on_ack(&mut self, answer: Answer) {
        let widest = self.widest[0].max(self.widest[1]).max(self.every);
        self.is_missing |= answer.segments >= 2 * widest;
        if answer.cumulative > self.round_end {
            let sparse = if self.is_missing { 2.0 * self.sparse } else { RECOVERY * self.sparse };
            self.sparse = sparse.clamp(1.0, MAX_SPARSE);
            self.widest = [0, self.widest[0]];
            (self.round_end, self.is_missing) = (answer.next, false);
            self.doubles = answer.window > DOUBLES * self.window;
            self.window = answer.window;
        }
    }

    pub fn digest<H: Hasher>(&self, into: &mut H) {
        let Self { every, since, sparse, widest, round_end, is_missing, window, doubles } = self;
        feed(
            into,
            (every, since, sparse.to_bits(), widest, round_end, is_missing, window.to_bits(), doubles),
        );
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// True if the new segment that leaves requests an acknowledgement at once.
    pub(super) fn asks_for_ack(&mut self) -> bool {
        let flight = Flight {
            segments: self.scoreboard.in_flight(),
            is_paced: self.controller.decision().pacing_rate.is_some(),
            is_repairing: !self.is_open() && self.controller.needs_each_ack_in_repair(),
            is_last: self.queue.is_empty(),
        };
        let asking = self.extensions.as_deref_mut().and_then(|extensions| extensions.asking.as_mut());
        asking.is_some_and(|asking| asking.asks(flight))
    }

    /// An acknowledgement newly tells of so many segments.
    pub(super) fn note_answer(&mut self, segments: u32) {
        let asking = self.extensions.as_deref_mut().and_then(|extensions| extensions.asking.as_mut());
        // A controller computes its decision, which most senders would ask for in vain.
        let Some(asking) = asking else { return };
        let (cumulative, next) = (self.unacknowledged, self.scoreboard.next());
        asking.on_ack(Answer { segments, cumulative, next, window: self.controller.decision().window });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACED: Flight = Flight { segments: 0, is_paced: true, is_repairing: false, is_last: false };

    /// A sender whose window does not grow.
    fn steady() -> Asking {
        Asking { doubles: false, window: 120.0, ..Asking::new(2) }
    }

    #[test]
    fn some_five_in_a_round_trip() {
        let (steady, doubling) = (steady(), Asking::new(2));
        for (segments, paced, unpaced) in [
            (1, [2, 2], [2, 2]),
            (10, [2, 2], [2, 2]),
            (60, [12, 2], [12, 2]),
            (120, [24, 2], [16, 2]),
            (10_000, [40, 40], [16, 16]),
        ] {
            let paces = Flight { segments, ..PACED };
            let bursts = Flight { is_paced: false, ..paces };
            assert_eq!([&steady, &doubling].map(|asking| asking.apart(paces)), paced);
            assert_eq!([&steady, &doubling].map(|asking| asking.apart(bursts)), unpaced);
            assert_eq!(steady.apart(Flight { is_repairing: true, ..paces }), 1);
        }
        assert_eq!(Asking::new(100).apart(PACED), 100);
    }

    #[test]
    fn a_window_that_doubles_is_seen_by_itself() {
        let mut asking = Asking::new(2);
        let mut seen = Vec::new();
        for (round, window) in [10.0, 20.0, 40.0, 44.0, 44.0, 22.0, 44.0].into_iter().enumerate() {
            let at = round as u64 + 1;
            asking.on_ack(Answer { segments: 2, cumulative: at, next: at, window });
            seen.push(asking.doubles);
        }
        assert_eq!(seen, [true, true, true, false, false, false, true]);
    }

    /// RFC 5690, section 4.4: fewer where acknowledgements are lost, and slowly more where none is.
    #[test]
    fn fewer_where_acknowledgements_are_lost() {
        let mut asking = steady();
        let flight = Flight { segments: 120, ..PACED };
        let mut end = 120;
        // All that leaves in a round trip is acknowledged by it, one in three times together with the one before.
        let mut round = |asking: &mut Asking, flight: Flight, loses: bool| {
            let (mut waiting, mut requests) = (0, 0);
            for _ in 0..240 {
                end += 1;
                waiting += 1;
                if asking.asks(flight) {
                    requests += 1;
                    if !loses || requests % 3 != 1 {
                        let segments = std::mem::take(&mut waiting);
                        asking.on_ack(Answer { segments, cumulative: end - 120, next: end, window: 120.0 });
                    }
                }
            }
        };
        round(&mut asking, flight, false);
        assert_eq!(asking.apart(flight), 24);
        for _ in 0..10 {
            round(&mut asking, flight, true);
        }
        let fewer = asking.apart(flight);
        assert!((30..=60).contains(&fewer), "{fewer}: no more than half of a flight apart");
        assert_eq!(asking.apart(Flight { is_repairing: true, ..flight }), fewer);
        for _ in 0..40 {
            round(&mut asking, flight, false);
        }
        assert_eq!(asking.apart(flight), 24);
    }

    /// The last segment that the application has written requests one, unless it is one alone.
    #[test]
    fn the_end_asks() {
        let mut asking = steady();
        let flight = Flight { segments: 120, is_last: true, ..PACED };
        assert_eq!([(); 3].map(|()| asking.asks(flight)), [false, true, false]);
    }
}
