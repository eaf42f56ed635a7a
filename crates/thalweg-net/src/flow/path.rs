//! What is known of a path before anything has been sent on it.

use super::options::Value;
use super::{FLOW_HEADER, Reading, Scheme, others};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// What is known of a path, and what a flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathHints {
    /// The largest datagram of a flow, in bytes: what is left in the path's packets when the layers below have taken
    /// theirs.
    pub maximum: u32,
    /// The rate that the path gives, where the user or an earlier connection knows.
    pub rate: Option<Rate>,
    /// Its round-trip time, likewise.
    pub rtt: Option<Duration>,
    /// How many bytes a receiver may hold for its application and for repair, whatever the scheme would like.
    pub memory: u64,
}

impl Default for PathHints {
    /// Nothing is known: datagrams that any path takes, and 32 MiB of memory.
    fn default() -> Self {
        Self { maximum: 1200, rate: None, rtt: None, memory: 32 << 20 }
    }
}

impl PathHints {
    /// The largest payload of a packet that has so many bytes of headers of its scheme.
    pub(super) fn segment(&self, overhead: u32) -> u32 {
        self.maximum.saturating_sub(overhead + FLOW_HEADER).max(1)
    }

    /// What is on the way in so many round trips at most, as far as is known.
    pub(super) fn in_flight(&self, round_trips: f64) -> Option<Bytes> {
        Some(self.rate?.bytes_in(self.rtt?.mul_f64(round_trips)))
    }
}

impl Scheme {
    /// The same with everything settled on which both ends must agree, from what this end knows of the path. What was said
    /// stays.
    #[must_use]
    pub fn on_path(mut self, path: &PathHints) -> Self {
        if let Some(overhead) = others::overhead(self.name()) {
            // SSCOP pads to whole words.
            let segment = path.segment(overhead);
            self.suggest("segment", size(u64::from(if segment > 4 { segment & !3 } else { segment })));
        }
        match self.name() {
            "udp" => {
                if let Some(rate) = path.rate {
                    self.suggest("rate", Value::Rate(rate));
                }
            }
            "adaptive-ack" => self.settle_adaptive_ack(path),
            "sscop" | "sscop-rate" | "sscop-rate-literal" => self.settle_sscop(path),
            "sstp" => self.settle_sstp(path),
            _ => {
                // Four times what is on the way: a loss is repaired, and found lost again, before the window closes.
                if let Some(window) = path.in_flight(4.0) {
                    let window = window.get().clamp(LEAST_WINDOW, path.memory.max(LEAST_WINDOW));
                    self.suggest("receive-window", size(window));
                }
            }
        }
        self
    }

    /// The payload of a packet in bytes.
    pub(super) fn segment(&self, path: &PathHints) -> u32 {
        let own = path.segment(others::overhead(self.name()).unwrap_or(0));
        self.size("segment").map_or(own, |size| size.get() as u32)
    }

    /// An eighth of what a receiver grants, in what it counts. Segments of SSTP may be of any size, and of others nothing is
    /// known: there each piece matters.
    pub(super) fn reading(&self, path: &PathHints) -> Reading {
        match self.name() {
            "udp" | "adaptive-ack" | "sstp" => Reading { bytes: 1, pieces: 1 },
            "sscop" | "sscop-rate" | "sscop-rate-literal" => {
                let buffer = self.packets("buffer").or(self.packets("window")).unwrap_or(1.0);
                Reading { bytes: MOST_READ, pieces: (buffer.min(self.room(path)) / 8.0).max(1.0) as u32 }
            }
            _ => {
                let window = self.size("receive-window").map_or(path.memory, Bytes::get).min(path.memory);
                Reading { bytes: (window / 8).clamp(1, MOST_READ), pieces: u32::MAX }
            }
        }
    }

    /// How many packets the receiver's memory holds.
    pub(super) fn room(&self, path: &PathHints) -> f64 {
        (path.memory / u64::from(self.segment(path).max(1))).max(1) as f64
    }

    /// The packets that are on the way in so much time, or else `unknown`; within the receiver's memory.
    fn packets_in(&self, path: &PathHints, time: Option<Duration>, unknown: f64) -> f64 {
        let known = path.rate.zip(time).map(|(rate, time)| {
            (rate.bytes_in(time).get() / u64::from(self.segment(path).max(1))).max(LEAST_PACKETS) as f64
        });
        known.unwrap_or(unknown).min(self.room(path))
    }

    /// The window holds what is sent until the report on a repair: two round trips and reports.
    fn settle_adaptive_ack(&mut self, path: &PathHints) {
        let normal = self.time("t-normal").unwrap_or(Duration::ZERO);
        let time = path.rtt.map(|rtt| (rtt + normal) * 2);
        let window = self.packets_in(path, time, 400.0);
        self.suggest("window", Value::Packets(window));
    }

    /// The same with POLLs, of which there are several in a round trip, so that the end of a burst is soon asked for.
    fn settle_sscop(&mut self, path: &PathHints) {
        let least = Duration::from_millis(20);
        let most = Duration::from_millis(750);
        let poll = path.rtt.map_or(Duration::from_millis(100), |rtt| (rtt / 2).max(least).min(most));
        // Who is asked has to have the time to answer.
        let silence = self.time("timer-no-response").unwrap_or(Duration::MAX);
        self.suggest("timer-poll", Value::Time(poll.min(silence / 2)));
        let poll = self.time("timer-poll").unwrap_or(poll);
        // Where a rate bounds what is sent, the window is only for the receiver's memory.
        let unknown = if self.name() == "sscop" { 1024.0 } else { f64::INFINITY };
        let window = self.packets_in(path, path.rtt.map(|rtt| (rtt + poll) * 2), unknown);
        self.suggest("window", Value::Packets(window));
        let window = self.packets("window").unwrap_or(window);
        self.suggest("buffer", Value::Packets(window));
        if let Some(rate) = path.rate.filter(|rate| !rate.is_zero()) {
            if self.rate("start-rate").is_some_and(|start| start > rate) {
                self.suggest("start-rate", Value::Rate(rate));
            }
            let start = self.rate("start-rate").unwrap_or(rate);
            self.suggest("max-rate", Value::Rate(rate.max(start)));
        }
    }

    /// Gong and Parulkar 1992, section 4.1: w_a segments are sent in one round trip, and the window is 2.5 times that.
    fn settle_sstp(&mut self, path: &PathHints) {
        let rate = path.rate.unwrap_or(UNKNOWN_RATE).max(self.rate("average-rate").unwrap_or(Rate::ZERO));
        self.suggest("rate", Value::Rate(rate));
        let rate = self.rate("average-rate").or(self.rate("rate")).unwrap_or(rate);
        let rtt = path.rtt.unwrap_or(UNKNOWN_RTT);
        self.suggest("repeat", Value::Time(rtt.max(Duration::from_millis(10))));
        let packets = self.packets("segment-packets").unwrap_or(1.0);
        let packet = rate.transmission_time(others::sstp_packet(self, path)).as_secs_f64();
        let per_round_trip = (rtt.as_secs_f64() + 3.0 * packet) / (packet * packets);
        let most = (self.room(path) / packets).clamp(2.0, f64::from(thalweg_proto::sstp::MAX_WINDOW));
        let window = (2.5 * per_round_trip).ceil().clamp(2.0, most);
        self.suggest("window", Value::Count(window as u32));
        let window = self.count("window").unwrap_or(2);
        self.suggest("buffer", Value::Count(window));
    }
}

fn size(bytes: u64) -> Value {
    Value::Size(Bytes::new(bytes))
}

/// Bytes that an application takes in silence, at most.
const MOST_READ: u64 = 512 << 10;
/// A receive window that is not worth making smaller, in bytes.
const LEAST_WINDOW: u64 = 1 << 20;
/// A window that is not worth making smaller, in packets.
const LEAST_PACKETS: u64 = 64;
/// The rate of a scheme that needs one, where nobody told: what most paths have.
const UNKNOWN_RATE: Rate = Rate::from_mbits_per_sec(10);
/// A round trip around most of the world.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);
