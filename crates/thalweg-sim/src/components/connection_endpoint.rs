//! Endpoints of connections: an engine of any protocol and the simulator's state for it.

use crate::Pdu;
use crate::components::flow_pausing_gates::NO_GATE;
use crate::components::packet_pool::{NONE, PacketClass};
use crate::components::sstp_segment_delays::SegmentTimes;
use crate::prefetch_hints::prefetch_all;
use crate::simulation_spec::LOWEST_PRIORITY;
use thalweg_catalog::{AnyEngine, Visit};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Limit, ReceiverCounts};
use thalweg_proto::units::{Duration, Time};

/// An engine with simulated payload.
pub(crate) type Engine = AnyEngine<Length>;

/// A command of an application or gate to an engine.
pub(crate) type Command = thalweg_proto::transport::Command<Length>;

/// An engine's output.
pub(crate) type Output = thalweg_catalog::AnyOutput<Length>;

/// Prefetches a whole engine.
pub(crate) struct EnginePrefetch;

impl Visit for EnginePrefetch {
    #[inline(always)]
    fn visit<T>(&self, engine: &T) {
        prefetch_all(engine);
    }
}

/// Counts of a connection's engines, over their lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Counts of the receivers.
    pub receivers: ReceiverCounts,
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub min_rtt: Duration,
    pub smoothed_rtt: Duration,
    /// Slow-start threshold in segments; with several connections, that of the last.
    pub ssthresh: Option<f64>,
    /// Accepted segments of two-level flow control, and their total delay.
    pub segments: u64,
    pub segment_delays: Duration,
    pub longest_segment_delay: Duration,
    pub limits: [Duration; Limit::COUNT],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            receivers: ReceiverCounts::default(),
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
            min_rtt: Duration::MAX,
            smoothed_rtt: Duration::ZERO,
            ssthresh: None,
            segments: 0,
            segment_delays: Duration::ZERO,
            longest_segment_delay: Duration::ZERO,
            limits: [Duration::ZERO; Limit::COUNT],
        }
    }
}

impl Counts {
    /// Returns the counts of both endpoints of a connection, over its lifetime.
    pub fn from_engines([sender, receiver]: [&Engine; 2], times: Option<&SegmentTimes>, now: Time) -> Self {
        let taken = receiver.end().receiver_counts();
        let Some(stats) = sender.end().sender_stats(now) else {
            return Self { receivers: taken, ..Self::default() };
        };
        let delay = times.map(SegmentTimes::delay).unwrap_or_default();
        Self {
            receivers: taken,
            sent: stats.sent,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            min_rtt: stats.min_rtt.unwrap_or(Duration::MAX),
            smoothed_rtt: stats.smoothed_rtt.unwrap_or(Duration::ZERO),
            ssthresh: stats.ssthresh,
            segments: delay.count,
            segment_delays: times.map(SegmentTimes::sum).unwrap_or_default(),
            longest_segment_delay: delay.max,
            limits: stats.limits,
        }
    }

    /// Adds another connection's counts.
    pub fn add(&mut self, other: &Self) {
        self.receivers.add(&other.receivers);
        self.sent += other.sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.min_rtt = self.min_rtt.min(other.min_rtt);
        self.smoothed_rtt = if other.smoothed_rtt.is_zero() { self.smoothed_rtt } else { other.smoothed_rtt };
        self.ssthresh = other.ssthresh.or(self.ssthresh);
        self.segments += other.segments;
        self.segment_delays += other.segment_delays;
        self.longest_segment_delay = self.longest_segment_delay.max(other.longest_segment_delay);
        for (sum, more) in self.limits.iter_mut().zip(other.limits) {
            *sum += more;
        }
    }

    /// Returns the counts since `base`; round-trip times cover the whole lifetime.
    pub fn since(&self, base: &Self) -> Self {
        let mut limits = self.limits;
        for (limit, before) in limits.iter_mut().zip(base.limits) {
            *limit -= before;
        }
        Self {
            receivers: self.receivers.since(&base.receivers),
            sent: self.sent - base.sent,
            retransmissions: self.retransmissions - base.retransmissions,
            timeouts: self.timeouts - base.timeouts,
            segments: self.segments - base.segments,
            segment_delays: self.segment_delays.saturating_sub(base.segment_delays),
            limits,
            ..*self
        }
    }
}

/// An endpoint of a connection, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Endpoint {
    pub engine: Engine,
    /// Time of its pending timer event; [`Time::MAX`] if none is queued.
    pub timer_at: Time,
    pub path: EndpointPath,
    /// Number of packets sent.
    pub serial: u32,
    /// Its flow.
    pub flow: u32,
    /// Overhead of a data packet on the wire, and size of a packet without payload, in bytes.
    pub header: u32,
    pub control: u32,
    /// Number of uses of its connection slot.
    pub incarnation: u16,
    /// True while it waits for its host.
    pub awaits_host: bool,
    /// True if every change of its state is recorded.
    pub watched: bool,
    /// True while its outputs are being processed.
    pub draining: bool,
    /// Priority of its flow, and ECN codepoint of its first transmissions.
    pub class: PacketClass,
    /// Its gate.
    pub gate: u16,
}

/// The path of packets from an endpoint of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointPath {
    /// The access link; [`NONE`] for a flow without one.
    pub first: u32,
    /// Start position of the route.
    pub route: u32,
    /// The access link at the other end.
    pub exit: u32,
    /// The endpoint's host; [`NONE`] if processing is free.
    pub host: u32,
}

impl Endpoint {
    pub const VACANT: Self = Self {
        engine: Engine::Vacant,
        timer_at: Time::MAX,
        path: EndpointPath { first: NONE, route: 0, exit: NONE, host: NONE },
        serial: 0,
        flow: 0,
        header: 0,
        control: 0,
        incarnation: 0,
        awaits_host: false,
        watched: false,
        draining: false,
        class: PacketClass::new(LOWEST_PRIORITY, Ecn::NotEct),
        gate: NO_GATE,
    };

    /// Returns the size on the wire of a packet with this PDU.
    #[inline]
    pub fn wire_size(&self, pdu: &Pdu) -> u32 {
        pdu.wire_size(self.header, self.control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_cache_line() {
        assert_eq!(size_of::<Endpoint>(), 64);
    }
}
