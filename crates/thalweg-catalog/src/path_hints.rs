//! Path hints: rate, round-trip time and packet size of a path, as known before the first packet.

use thalweg_proto::units::{Bytes, Duration, Rate};

/// Bytes that a live flow prepends to each PDU of its engine.
pub const FLOW_HEADER: u32 = 1;

/// Path hints, and the memory limit of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathHints {
    /// Maximum datagram size of a flow, in bytes: the path's packet size less the overhead of the layers below.
    pub max_datagram: u32,
    /// The path's rate, if configured or known from an earlier connection.
    pub rate: Option<Rate>,
    /// The path's round-trip time, likewise.
    pub rtt: Option<Duration>,
    /// Maximum receive memory for the application and for loss repair, in bytes; takes precedence over the scheme's
    /// configuration.
    pub memory: u64,
}

impl Default for PathHints {
    /// Returns hints for an unknown path: datagrams that any path carries, and 32 MiB of memory.
    fn default() -> Self {
        Self { max_datagram: 1200, rate: None, rtt: None, memory: 32 << 20 }
    }
}

impl PathHints {
    /// Returns the maximum payload of a packet with `overhead` bytes of the scheme's headers.
    pub fn max_payload(&self, overhead: u32) -> u32 {
        self.max_datagram.saturating_sub(overhead + FLOW_HEADER).max(1)
    }

    /// Returns the maximum bytes in flight over a number of round trips; `None` if the rate or the round-trip time is
    /// unknown.
    pub fn in_flight(&self, round_trips: f64) -> Option<Bytes> {
        Some(self.rate?.bytes_in(self.rtt?.mul_f64(round_trips)))
    }

    /// Returns the number of packets of `segment` bytes that the receive memory holds, at least one.
    pub fn memory_packets(&self, segment: u32) -> f64 {
        (self.memory / u64::from(segment.max(1))).max(1) as f64
    }

    /// Returns the number of packets of `segment` bytes sent at the path's rate in `time`, at least 64; `unknown` if
    /// rate or `time` is unknown. The receive memory limits both.
    pub fn packets_in(&self, segment: u32, time: Option<Duration>, unknown: f64) -> f64 {
        let known = self.rate.zip(time).map(|(rate, time)| {
            (rate.bytes_in(time).get() / u64::from(segment.max(1))).max(MIN_PACKETS) as f64
        });
        known.unwrap_or(unknown).min(self.memory_packets(segment))
    }
}

/// Minimum window, in packets: reducing it further gains nothing.
const MIN_PACKETS: u64 = 64;
