//! Path model: delivery rate and data in flight ("Updating Network Path Model Parameters").

use super::{AckedData, Bbr, FilterAdvance};

/// Half the length of version 1's filter, in round trips (BtlBwFilterLen = 10).
const HALF_FILTER_ROUNDS: u32 = 5;

/// Maximum delivery rates of this ProbeBW cycle and the previous one (BBR.max_bw_filter, MaxBwFilterLen = 2), in bytes
/// per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBandwidth {
    previous_cycle: f64,
    now: f64,
    /// Round trips since the last advance, if the filter counts them.
    rounds: u32,
}

impl MaxBandwidth {
    /// Returns BBR.max_bw.
    pub fn get(&self) -> f64 {
        self.previous_cycle.max(self.now)
    }

    pub fn update(&mut self, rate: f64) {
        self.now = self.now.max(rate);
    }

    /// Ends a cycle (AdvanceMaxBwFilter). A cycle without a sample does not replace the previous one.
    pub fn advance(&mut self) {
        if self.now > 0.0 {
            (self.previous_cycle, self.now) = (self.now, 0.0);
        }
    }

    /// Ends a round trip, for the filter of version 1.
    pub fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds == HALF_FILTER_ROUNDS {
            self.rounds = 0;
            self.advance();
        }
    }
}

/// Deliveries of the latest round trip ("When not Probing for Bandwidth").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatestDeliveries {
    /// Maximum delivery rate, in bytes per second (BBR.bw_latest).
    pub bw: f64,
    /// Maximum number of bytes delivered between the departure of a packet and its acknowledgement
    /// (BBR.inflight_latest).
    pub inflight: f64,
}

impl Bbr {
    /// Implements UpdateMaxBw(), without its round count: application-limited samples count only if they exceed the
    /// maximum.
    pub(super) fn update_max_bw(&mut self, ack: &AckedData) {
        // "BBR.max_bw and Application-limited Delivery Rate Samples": a smaller one measures the application.
        if ack.rate > 0.0 && (ack.rate >= self.max_bw.get() || !ack.rs.app_limited) {
            self.max_bw.update(ack.rate);
        }
        if ack.rs.round_start && self.config.filter_advance == FilterAdvance::TenRounds {
            self.max_bw.end_round();
        }
    }

    /// Implements UpdateLatestDeliverySignals().
    pub(super) fn update_latest(&mut self, ack: &AckedData) {
        self.latest.bw = self.latest.bw.max(ack.rate);
        self.latest.inflight = self.latest.inflight.max(ack.rs.delivered as f64);
        self.loss.round_start = ack.rs.prior_delivered >= self.loss.round_delivered;
        if self.loss.round_start {
            self.loss.round_delivered = self.sampler.delivered();
        }
    }

    /// Implements AdvanceLatestDeliverySignals().
    pub(super) fn advance_latest(&mut self, ack: &AckedData) {
        if self.loss.round_start {
            self.latest = LatestDeliveries { bw: ack.rate, inflight: ack.rs.delivered as f64 };
        }
    }

    /// Implements BoundBWForModel().
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    /// Implements ResetShortTermModel().
    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// Returns the bandwidth-delay product at the rate `bw`, times `gain` (BDPMultiple), in bytes.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.seconds {
            Some(seconds) => gain * bw * seconds,
            // Without a round-trip time there is no product.
            None => self.initial_cwnd(),
        }
    }

    /// Returns BBR.bdp, in bytes.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// Returns the target data in flight at `bw` times `gain`, in bytes (Inflight).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// Implements QuantizationBudget(): adds data in flight for hosts that batch, and for delayed acknowledgements.
    pub(super) fn quantization_budget(&self, inflight: f64) -> f64 {
        let offload = f64::from(self.config.offload_quanta) * self.send_quantum;
        // The probe must exceed the product even where a quarter of it is less than a packet.
        let probe = if self.state == super::BbrState::ProbeUp { 2.0 * self.smss } else { 0.0 };
        inflight.max(offload).max(self.min_pipe_cwnd()) + probe
    }

    /// Returns the target data in flight, bounded by a window reduced by congestion (TargetInflight), in bytes.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    /// Returns the long-term bound minus the headroom (InflightWithHeadroom), in bytes.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let headroom = (self.config.headroom * self.inflight_longterm).max(self.smss);
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        (self.inflight_longterm - headroom).max(self.min_pipe_cwnd())
    }
}
