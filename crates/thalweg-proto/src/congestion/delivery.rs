//! The rate at which a path delivers data, sampled with each acknowledgement (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
//!
//! A controller that wants samples has a [`Sampler`] and keeps a [`Stamp`] with every packet
//! ([`Controller::PacketInfo`](super::Controller::PacketInfo)). Those that want none pay nothing, neither in time nor in
//! memory.
//!
//! ```
//! use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample, LostSample, Path, SentSample};
//! use thalweg_proto::congestion::delivery::{Sampler, Stamp};
//!
//! #[derive(Clone, Debug, Default)]
//! struct Fastest {
//!     sampler: Sampler,
//!     bytes_per_second: f64,
//! }
//!
//! impl Controller for Fastest {
//!     type PacketInfo = Stamp;
//!
//!     fn on_sent(&mut self, sample: &SentSample) -> Stamp {
//!         self.sampler.on_sent(sample)
//!     }
//!     fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
//!         let delivery = self.sampler.on_ack(sample, stamp);
//!         let rate = delivery.bytes_per_second().unwrap_or(0.0);
//!         if rate > self.bytes_per_second || !delivery.app_limited {
//!             self.bytes_per_second = self.bytes_per_second.max(rate);
//!         }
//!     }
//!     fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
//!         self.sampler.on_packet_lost(sample);
//!     }
//!     fn on_app_limited(&mut self, path: &Path) {
//!         self.sampler.on_app_limited(path, self.decision().window);
//!     }
//!     fn on_loss(&mut self, _sample: &LossSample) {}
//!     fn decision(&self) -> Decision {
//!         Decision::window(10.0)
//!     }
//! }
//! ```
//!
//! A sampler counts what happened, which nothing undoes: a controller that is
//! [given back its state](super::Controller::on_undo) keeps the sampler that it has.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | application limits are looked for before each write, acknowledgement and timer | after each time that the sender was drained | nothing happens between the two, so that the state is the same | none |
//! | a rate needs an interval of at least the shortest round-trip time | the same; there is none before the first round-trip time | Karn's rule may leave the first acknowledgements without one | the first sample comes with the first round-trip time |
//! | packets below the transport are counted (`C.pending_transmissions`) | not counted | a driver takes a packet when it can be sent | none |

use super::{AckSample, LostSample, Path, SentSample};
use crate::units::{Duration, Time};

/// The state of the connection when a packet left, as a sampler remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The bytes delivered before (P.delivered).
    pub delivered: u64,
    /// The bytes lost before (P.lost).
    pub lost: u64,
    /// The bytes in flight, this packet's among them (P.tx_in_flight).
    pub in_flight: u64,
    /// The last delivery before (P.delivered_time).
    delivered_at: Time,
    /// The start of the interval in which data was sent (P.first_send_time).
    first_sent_at: Time,
    /// The departure of the packet (P.send_time).
    sent_at: Time,
    /// The application, not the path, limited what was sent (P.is_app_limited).
    pub app_limited: bool,
}

/// The rate sample of one acknowledgement (RS).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// The bytes delivered between the departure of the newest acknowledged packet and now (RS.delivered).
    pub delivered: u64,
    /// The bytes delivered before that packet left (RS.prior_delivered).
    pub prior_delivered: u64,
    /// The time that the bytes took: that of sending or that of their acknowledgements, whichever is longer (RS.interval).
    pub interval: Duration,
    /// Nothing reliable can be said of the rate: the interval is shorter than any round trip, or none is known.
    pub unreliable: bool,
    /// The application limited the rate when the packet left (RS.is_app_limited).
    pub app_limited: bool,
    /// The bytes in flight when the packet had left (RS.tx_in_flight).
    pub tx_in_flight: u64,
    /// The bytes found lost between the departure of the packet and now (RS.lost).
    pub lost: u64,
    /// The bytes newly acknowledged (RS.newly_acked).
    pub newly_acked: u64,
    /// The bytes found lost since the acknowledgement before (RS.newly_lost).
    pub newly_lost: u64,
    /// A packet-timed round trip begins: the packet left after the last one began.
    pub round_start: bool,
}

impl RateSample {
    /// Returns the delivery rate in bytes per second (RS.delivery_rate); `None` if unreliable.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let seconds = self.interval.as_secs_f64();
        (!self.unreliable && seconds > 0.0).then(|| self.delivered as f64 / seconds)
    }
}

/// Samples of the delivery rate, and packet-timed round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampler {
    /// The bytes delivered so far (C.delivered).
    delivered: u64,
    /// The time of the last delivery (C.delivered_time).
    delivered_at: Time,
    /// The departure of the newest packet that was delivered, or of the first after nothing was in flight
    /// (C.first_send_time).
    first_sent_at: Time,
    /// The rate counts as limited by the application until more than this is delivered; 0 for not limited (C.app_limited).
    app_limited: u64,
    /// The bytes found lost so far (C.lost).
    lost: u64,
    /// Lost bytes already reported in a sample.
    told: u64,
    /// A round trip ends with a packet that left when so much had been delivered (BBR.next_round_delivered).
    round_end: u64,
    rounds: u64,
}

impl Sampler {
    /// Returns the bytes delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the bytes lost so far; a segment counts each time it is lost.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of packet-timed round trips so far (BBR.round_count).
    pub const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns true while the data in flight was limited by the application.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Starts a round trip with the next packet sent.
    pub const fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// Handles the transmission of a packet and returns the stamp to keep with it.
    pub fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        let now = sample.path.now;
        if sample.path.in_flight_bytes == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            lost: self.lost,
            in_flight: sample.path.in_flight_bytes + u64::from(sample.bytes),
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
            app_limited: self.is_app_limited(),
        }
    }

    /// Handles an acknowledgement with the stamp of the newest packet acknowledged, and returns the rate sample.
    pub fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) -> RateSample {
        let now = sample.path.now;
        self.delivered += sample.acked_bytes;
        self.delivered_at = now;
        self.first_sent_at = stamp.sent_at;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let round_start = stamp.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
            self.rounds += 1;
        }
        let sending = stamp.sent_at.since(stamp.first_sent_at);
        let interval = sending.max(now.since(stamp.delivered_at));
        let newly_lost = self.lost - self.told;
        self.told = self.lost;
        RateSample {
            delivered: self.delivered.saturating_sub(stamp.delivered),
            prior_delivered: stamp.delivered,
            interval,
            unreliable: interval < sample.path.min_rtt,
            app_limited: stamp.app_limited,
            tx_in_flight: stamp.in_flight,
            lost: self.lost.saturating_sub(stamp.lost),
            newly_acked: sample.acked_bytes,
            newly_lost,
            round_start,
        }
    }

    /// Handles the loss of a packet.
    pub const fn on_packet_lost(&mut self, sample: &LostSample) {
        self.lost += sample.bytes as u64;
    }

    /// Counts an ECN mark as the loss of `bytes`.
    pub const fn on_marked(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// The application has nothing more to send; `window` is the controller's, in segments. Samples of what is in flight
    /// say what the application wanted, unless the window is full.
    pub fn on_app_limited(&mut self, path: &Path, window: f64) {
        // Of small packets there are more in a window that counts bytes.
        let segment = u64::from(path.segment);
        let has_room = path.in_flight_bytes + segment <= (window as u64).saturating_mul(segment);
        if f64::from(path.in_flight) < window || has_room {
            self.mark_app_limited(path.in_flight_bytes);
        }
    }

    /// Marks the samples of the `in_flight` bytes as application-limited (MarkConnectionAppLimited).
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}
