//! Sender events between two decisions, accumulated for external controllers and for controllers that decide once per
//! round trip.
//!
//! An [`Observer`] receives the same events as a controller, and keeps a [`Stamp`] with every packet.

use super::delivery_rate::{Sampler, Stamp};
use super::{AckSample, ConnectionState, LostSample, SentSample};
use crate::units::{Duration, Time};

/// Events in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// End of the interval.
    pub now: Time,
    /// Length of the interval.
    pub span: Duration,
    /// Packets sent, including retransmissions.
    pub sent: u64,
    /// Packets newly acknowledged.
    pub acked: u64,
    /// Payload of the acknowledged packets, in bytes.
    pub acked_bytes: u64,
    /// Packets detected as lost, counted each time.
    pub lost: u64,
    /// Payload of the lost packets, in bytes.
    pub lost_bytes: u64,
    /// Packets that arrived with CE.
    pub ce: u64,
    /// Mean of the measured round-trip times; `None` without a measurement.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// Minimum round-trip time of the connection; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Newest delivery-rate sample in bytes per second; `None` before the first reliable one.
    pub delivery_rate: Option<f64>,
    /// Payload in flight at the end, in bytes.
    pub in_flight_bytes: u64,
    /// Segment size in bytes.
    pub segment: u32,
    /// The window was not the limit at any acknowledgement; the interval does not reflect the path's capacity.
    pub app_limited: bool,
    /// Loss recovery was in progress, or a loss suspected, at the newest acknowledgement.
    pub recovering: bool,
}

impl Observation {
    /// Names of the [numbers](Self::numbers), in their order. Times are in seconds, rates in bit/s, `in_flight` in segments, and
    /// `segment` in bytes.
    pub const COLUMNS: [&str; 14] = [
        "now",
        "interval",
        "sent",
        "acked",
        "acked_bytes",
        "lost",
        "lost_bytes",
        "marks",
        "rtt",
        "smoothed_rtt",
        "min_rtt",
        "delivery_rate",
        "in_flight",
        "segment",
    ];

    /// Returns the values as numbers, for controllers in other languages; NaN for an unknown one.
    pub fn numbers(&self) -> [f64; Self::COLUMNS.len()] {
        let seconds = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_secs_f64);
        [
            self.now.as_secs_f64(),
            self.span.as_secs_f64(),
            self.sent as f64,
            self.acked as f64,
            self.acked_bytes as f64,
            self.lost as f64,
            self.lost_bytes as f64,
            self.ce as f64,
            seconds(self.rtt),
            seconds(self.smoothed_rtt),
            seconds(self.min_rtt),
            self.delivery_rate.map_or(f64::NAN, |rate| rate * 8.0),
            self.in_flight_bytes as f64 / f64::from(self.segment.max(1)),
            f64::from(self.segment),
        ]
    }
}

/// Accumulator of a sender's events.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    sampler: Sampler,
    interval_start: Time,
    sent: u64,
    acked: u64,
    acked_bytes: u64,
    lost: u64,
    lost_bytes: u64,
    ce: u64,
    /// Sum of the round-trip times, and their number.
    rtts: Duration,
    rtt_count: u64,
    /// Number of acknowledgements, and of those at which the window was the limit.
    acks: u64,
    window_limited_acks: u64,
    delivery_rate: Option<f64>,
    smoothed_rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    in_flight_bytes: u64,
    segment: u32,
    recovering: bool,
}

impl Observer {
    /// Handles the transmission of a packet and returns the stamp to keep with it.
    pub fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.sent += 1;
        self.in_flight_bytes = sample.connection.in_flight_bytes + u64::from(sample.bytes);
        self.segment = sample.connection.segment;
        self.sampler.on_sent(sample)
    }

    /// Handles an acknowledgement with the stamp of the newest packet acknowledged. Returns true if a packet-timed
    /// round trip ends with it.
    pub fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) -> bool {
        let delivery = self.sampler.on_ack(sample, stamp);
        self.acked += u64::from(sample.acked);
        self.acked_bytes += sample.acked_bytes;
        self.ce += u64::from(sample.ce);
        if let Some(rtt) = sample.rtt {
            self.rtts += rtt;
            self.rtt_count += 1;
        }
        self.acks += 1;
        self.window_limited_acks += u64::from(!sample.app_limited);
        self.delivery_rate = delivery.bytes_per_second().or(self.delivery_rate);
        self.follow(&sample.connection);
        self.in_flight_bytes = sample.in_flight_bytes;
        self.recovering = sample.recovering;
        delivery.round_start
    }

    /// Handles the loss of a packet.
    pub const fn on_packet_lost(&mut self, sample: &LostSample) {
        self.sampler.on_packet_lost(sample);
        self.lost += 1;
        self.lost_bytes += sample.bytes as u64;
        self.in_flight_bytes = sample.connection.in_flight_bytes.saturating_sub(sample.bytes as u64);
    }

    /// Handles an idle application, under a window of `window` segments.
    pub fn on_app_limited(&mut self, connection: &ConnectionState, window: f64) {
        self.sampler.on_app_limited(connection, window);
    }

    /// Stores the state of the connection, which loss samples carry too.
    pub fn follow(&mut self, connection: &ConnectionState) {
        self.smoothed_rtt = Some(connection.smoothed_rtt).filter(|rtt| !rtt.is_zero());
        self.min_rtt = Some(connection.min_rtt).filter(|rtt| *rtt < Duration::MAX);
        self.in_flight_bytes = connection.in_flight_bytes;
        self.segment = connection.segment;
    }

    /// Returns the events from the start of the interval to `now`.
    pub fn observe(&self, now: Time) -> Observation {
        Observation {
            now,
            span: now.since(self.interval_start),
            sent: self.sent,
            acked: self.acked,
            acked_bytes: self.acked_bytes,
            lost: self.lost,
            lost_bytes: self.lost_bytes,
            ce: self.ce,
            rtt: (self.rtt_count > 0).then(|| self.rtts / self.rtt_count),
            smoothed_rtt: self.smoothed_rtt,
            min_rtt: self.min_rtt,
            delivery_rate: self.delivery_rate,
            in_flight_bytes: self.in_flight_bytes,
            segment: self.segment,
            app_limited: self.acks > 0 && self.window_limited_acks == 0,
            recovering: self.recovering,
        }
    }

    /// Starts a new interval without events; the state of the connection is kept.
    pub fn begin(&mut self, now: Time) {
        *self = Self {
            interval_start: now,
            sent: 0,
            acked: 0,
            acked_bytes: 0,
            lost: 0,
            lost_bytes: 0,
            ce: 0,
            rtts: Duration::ZERO,
            rtt_count: 0,
            acks: 0,
            window_limited_acks: 0,
            ..*self
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(now: u64, in_flight: u32) -> ConnectionState {
        ConnectionState {
            now: Time::ZERO + Duration::from_millis(now),
            outstanding: in_flight,
            in_flight,
            in_flight_bytes: u64::from(in_flight) * 1000,
            smoothed_rtt: Duration::from_millis(40),
            min_rtt: Duration::from_millis(30),
            segment: 1000,
            next_sequence: 0,
        }
    }

    fn ack(now: u64, rtt: Option<u64>) -> AckSample {
        AckSample {
            connection: connection(now, 4),
            acked: 1,
            acked_bytes: 1000,
            counted: 1,
            cumulative: 0,
            sent_at: Time::ZERO,
            in_flight_bytes: 3000,
            rtt: rtt.map(Duration::from_millis),
            ce: 1,
            one_way_delay: None,
            recovering: false,
            app_limited: rtt.is_none(),
        }
    }

    /// Four packets leave at once at 0 ms, and are acknowledged 10 ms apart from 40 ms on: an interval of the first
    /// three, and one of the last.
    #[test]
    fn an_interval_holds_its_events_and_rounds_follow_packets() {
        let mut observer = Observer::default();
        let stamps: Vec<Stamp> = (0..4)
            .map(|sent| {
                let sample =
                    SentSample { connection: connection(0, sent), bytes: 1000, retransmission: false };
                observer.on_sent(&sample)
            })
            .collect();
        assert!(observer.on_ack(&ack(40, Some(40)), stamps[0]), "the first ends the round before it");
        assert!(!observer.on_ack(&ack(50, None), stamps[1]), "it left before anything was delivered");
        assert!(!observer.on_ack(&ack(60, Some(60)), stamps[2]));
        let lost = LostSample {
            connection: connection(60, 1),
            sequence: 3000,
            bytes: 1000,
            sent_at: Time::ZERO,
            named: false,
        };
        observer.on_packet_lost(&lost);
        let now = Time::ZERO + Duration::from_millis(60);
        let seen = observer.observe(now);
        assert_eq!((seen.sent, seen.acked, seen.acked_bytes, seen.lost, seen.ce), (4, 3, 3000, 1, 3));
        assert_eq!((seen.span, seen.rtt), (Duration::from_millis(60), Some(Duration::from_millis(50))));
        assert_eq!((seen.in_flight_bytes, seen.segment, seen.app_limited), (0, 1000, false));
        // 3000 bytes in 60 ms.
        assert_eq!(seen.delivery_rate, Some(50_000.0));
        observer.begin(now);
        let empty = observer.observe(now);
        assert_eq!((empty.sent, empty.acked, empty.lost, empty.rtt), (0, 0, 0, None));
        assert_eq!((empty.min_rtt, empty.delivery_rate), (Some(Duration::from_millis(30)), Some(50_000.0)));
        assert!(!observer.on_ack(&ack(70, None), stamps[3]));
        let later = SentSample { connection: connection(70, 0), bytes: 1000, retransmission: false };
        let stamp = observer.on_sent(&later);
        assert!(observer.on_ack(&ack(110, None), stamp), "it left after the round began");
        let last = observer.observe(Time::ZERO + Duration::from_millis(110));
        assert_eq!((last.sent, last.acked, last.rtt, last.app_limited), (1, 2, None, true));
    }
}
