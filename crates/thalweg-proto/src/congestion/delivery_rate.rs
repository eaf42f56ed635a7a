//! Delivery-rate estimation, with a sample per acknowledgement (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
//!
//! A controller that uses samples has a [`Sampler`] and keeps a [`Stamp`] with every packet
//! ([`Controller::PacketInfo`](super::Controller::PacketInfo)). Other controllers have no cost in time or memory.
//!
//! ```
//! use thalweg_proto::congestion::{
//!     AckSample, ConnectionState, Controller, Decision, LossSample, LostSample, SentSample,
//! };
//! use thalweg_proto::congestion::delivery_rate::{Sampler, Stamp};
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
//!     fn on_app_limited(&mut self, connection: &ConnectionState) {
//!         self.sampler.on_app_limited(connection, self.decision().window);
//!     }
//!     fn on_loss(&mut self, _sample: &LossSample) {}
//!     fn decision(&self) -> Decision {
//!         Decision::window(10.0)
//!     }
//! }
//! ```
//!
//! A sampler counts events that no undo reverts: a controller whose state is
//! [restored](super::Controller::on_undo) keeps its current sampler.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | application limits are checked before each write, acknowledgement and timer | after each time the sender was drained | no event occurs between the two, so the state is the same | none |
//! | a rate needs an interval of at least the minimum round-trip time | the same; no rate before the first round-trip time | Karn's rule may leave the first acknowledgements without one | the first sample comes with the first round-trip time |
//! | packets below the transport are counted (`C.pending_transmissions`) | not counted | a driver takes a packet only when it can be sent | none |

use super::{AckSample, ConnectionState, LostSample, SentSample};
use crate::units::{Duration, Time};

/// State of the connection at the departure of a packet, stored with the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Bytes delivered before (P.delivered).
    pub delivered: u64,
    /// Bytes lost before (P.lost).
    pub lost: u64,
    /// Bytes in flight, including this packet (P.tx_in_flight).
    pub in_flight: u64,
    /// Time of the last delivery before (P.delivered_time).
    delivered_at: Time,
    /// Start of the send interval (P.first_send_time).
    first_sent_at: Time,
    /// Departure time of the packet (P.send_time).
    sent_at: Time,
    /// The application, not the path, limited the data sent (P.is_app_limited).
    pub app_limited: bool,
}

/// Rate sample of one acknowledgement (RS).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Bytes delivered between the departure of the newest acknowledged packet and now (RS.delivered).
    pub delivered: u64,
    /// Bytes delivered before the departure of that packet (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Sampling interval: the longer of the send and acknowledgement intervals (RS.interval).
    pub interval: Duration,
    /// The rate is unreliable: the interval is shorter than the minimum round-trip time, or none is known.
    pub unreliable: bool,
    /// The application limited the rate at the departure of the packet (RS.is_app_limited).
    pub app_limited: bool,
    /// Bytes in flight after the departure of the packet (RS.tx_in_flight).
    pub tx_in_flight: u64,
    /// Bytes declared lost between the departure of the packet and now (RS.lost).
    pub lost: u64,
    /// Bytes newly acknowledged (RS.newly_acked).
    pub newly_acked: u64,
    /// Bytes declared lost since the previous acknowledgement (RS.newly_lost).
    pub newly_lost: u64,
    /// Start of a packet-timed round trip: the packet was sent after the last one started.
    pub round_start: bool,
}

impl RateSample {
    /// Returns the delivery rate in bytes per second (RS.delivery_rate); `None` if unreliable.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let seconds = self.interval.as_secs_f64();
        (!self.unreliable && seconds > 0.0).then(|| self.delivered as f64 / seconds)
    }
}

/// Sampler of the delivery rate and of packet-timed round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampler {
    /// Total bytes delivered (C.delivered).
    delivered: u64,
    /// Time of the last delivery (C.delivered_time).
    delivered_at: Time,
    /// Departure time of the newest delivered packet, or of the first packet after an idle time (C.first_send_time).
    first_sent_at: Time,
    /// Delivered amount up to which the rate counts as application-limited; 0 if it is not limited (C.app_limited).
    app_limited: u64,
    /// Total bytes declared lost (C.lost).
    lost: u64,
    /// Lost bytes already reported in a sample.
    reported_lost: u64,
    /// Delivered amount that ends the round trip: it ends with a packet sent at or after this amount
    /// (BBR.next_round_delivered).
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
        let now = sample.connection.now;
        if sample.connection.in_flight_bytes == 0 {
            // Both intervals restart: idle time would count as slow sending and slow delivery.
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            lost: self.lost,
            in_flight: sample.connection.in_flight_bytes + u64::from(sample.bytes),
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
            app_limited: self.is_app_limited(),
        }
    }

    /// Handles an acknowledgement with the stamp of the newest packet acknowledged, and returns the rate sample.
    pub fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) -> RateSample {
        let now = sample.connection.now;
        self.delivered += sample.acked_bytes;
        self.delivered_at = now;
        self.first_sent_at = stamp.sent_at;
        // All data sent during the application limit is delivered, so later samples measure the path again.
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        // "BBR.round_count: Tracking Packet-Timed Round Trips".
        let round_start = stamp.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
            self.rounds += 1;
        }
        let sending = stamp.sent_at.since(stamp.first_sent_at);
        // "Delivery Rate Samples": the longer interval, since compressed acknowledgements would otherwise
        // raise the rate above that of sending.
        let interval = sending.max(now.since(stamp.delivered_at));
        let newly_lost = self.lost - self.reported_lost;
        self.reported_lost = self.lost;
        RateSample {
            delivered: self.delivered.saturating_sub(stamp.delivered),
            prior_delivered: stamp.delivered,
            interval,
            unreliable: interval < sample.connection.min_rtt,
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

    /// Handles an application without data to send; `window` is the controller's, in segments. Samples of the data in
    /// flight are application-limited, unless the window is full.
    pub fn on_app_limited(&mut self, connection: &ConnectionState, window: f64) {
        // A window that counts bytes holds more small packets.
        let segment = u64::from(connection.segment);
        let fits_window = connection.in_flight_bytes + segment <= (window as u64).saturating_mul(segment);
        if f64::from(connection.in_flight) < window || fits_window {
            self.mark_app_limited(connection.in_flight_bytes);
        }
    }

    /// Marks the samples of the `in_flight` bytes as application-limited (MarkConnectionAppLimited).
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}
