//! Hints on a path: knowledge of it before anything has been sent on it.

use thalweg_proto::units::{Bytes, Duration, Rate};

/// Bytes that a live flow puts before each PDU of its engine.
pub const FLOW_HEADER: u32 = 1;

/// Hints on a path, and the memory that a flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathHints {
    /// The largest datagram of a flow, in bytes: what is left in the path's packets when the layers below have taken
    /// theirs.
    pub maximum: u32,
    /// The rate that the path gives, where the user or an earlier connection knows.
    pub rate: Option<Rate>,
    /// Its round-trip time, likewise.
    pub rtt: Option<Duration>,
    /// The most bytes that a receiver may hold for its application and for repair, whatever the scheme would like.
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
    pub fn segment(&self, overhead: u32) -> u32 {
        self.maximum.saturating_sub(overhead + FLOW_HEADER).max(1)
    }

    /// The most bytes on the way in so many round trips; `None` where the rate or the round-trip time is not known.
    pub fn in_flight(&self, round_trips: f64) -> Option<Bytes> {
        Some(self.rate?.bytes_in(self.rtt?.mul_f64(round_trips)))
    }

    /// The packets of `segment` bytes that the receiver's memory holds, at least one.
    pub fn room(&self, segment: u32) -> f64 {
        (self.memory / u64::from(segment.max(1))).max(1) as f64
    }

    /// The packets of `segment` bytes that are on the way in so much time, or else `unknown`; within the receiver's memory.
    pub fn packets_in(&self, segment: u32, time: Option<Duration>, unknown: f64) -> f64 {
        let known = self.rate.zip(time).map(|(rate, time)| {
            (rate.bytes_in(time).get() / u64::from(segment.max(1))).max(MIN_PACKETS) as f64
        });
        known.unwrap_or(unknown).min(self.room(segment))
    }
}

/// A window that is not worth making smaller, in packets.
const MIN_PACKETS: u64 = 64;
