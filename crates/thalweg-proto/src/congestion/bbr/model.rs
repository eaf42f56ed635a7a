//! The model of the path: how fast it delivers, and how much it takes ("Updating Network Path Model Parameters").

use super::{Acked, Bbr, FilterAdvance};

/// Half of the round trips of version 1's filter (BtlBwFilterLen = 10).
const HALF_OF_ROUNDS: u32 = 5;

/// The highest delivery rates of this ProbeBW cycle and the one before (BBR.max_bw_filter, MaxBwFilterLen = 2), in bytes a
/// second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBandwidth {
    before: f64,
    now: f64,
    /// Round trips since the last advance, where they count.
    rounds: u32,
}

impl MaxBandwidth {
    /// BBR.max_bw.
    pub fn get(&self) -> f64 {
        self.before.max(self.now)
    }

    pub fn update(&mut self, rate: f64) {
        self.now = self.now.max(rate);
    }

    /// A cycle ends (AdvanceMaxBwFilter). One without a sample does not push the last one out.
    pub fn advance(&mut self) {
        if self.now > 0.0 {
            (self.before, self.now) = (self.now, 0.0);
        }
    }

    /// A round trip ends, of those that version 1 counts.
    pub fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds == HALF_OF_ROUNDS {
            self.rounds = 0;
            self.advance();
        }
    }
}

/// The path's deliveries of the latest round trip ("When not Probing for Bandwidth").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// The highest delivery rate in bytes a second (BBR.bw_latest).
    pub bw: f64,
    /// The most bytes delivered between the departure of a packet and its acknowledgement (BBR.inflight_latest).
    pub inflight: f64,
}

impl Bbr {
    /// UpdateMaxBw(), its round apart: samples that the application limited count where they are higher than all.
    pub(super) fn update_max_bw(&mut self, ack: &Acked) {
        if ack.rate > 0.0 && (ack.rate >= self.max_bw.get() || !ack.rs.app_limited) {
            self.max_bw.update(ack.rate);
        }
        if ack.rs.round_start && self.config.filter_advance == FilterAdvance::TenRounds {
            self.max_bw.end_round();
        }
    }

    /// UpdateLatestDeliverySignals().
    pub(super) fn update_latest(&mut self, ack: &Acked) {
        self.latest.bw = self.latest.bw.max(ack.rate);
        self.latest.inflight = self.latest.inflight.max(ack.rs.delivered as f64);
        self.loss.round_start = ack.rs.prior_delivered >= self.loss.round_delivered;
        if self.loss.round_start {
            self.loss.round_delivered = self.sampler.delivered();
        }
    }

    /// AdvanceLatestDeliverySignals().
    pub(super) fn advance_latest(&mut self, ack: &Acked) {
        if self.loss.round_start {
            self.latest = Latest { bw: ack.rate, inflight: ack.rs.delivered as f64 };
        }
    }

    /// BoundBWForModel().
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    /// ResetShortTermModel().
    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// The bandwidth-delay product at the rate `bw`, times `gain` (BDPMultiple), in bytes.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.seconds {
            Some(seconds) => gain * bw * seconds,
            None => self.initial_cwnd(),
        }
    }

    /// BBR.bdp, in bytes.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// The bytes that should be in flight to deliver at `bw` times `gain` (Inflight).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// QuantizationBudget(): room for hosts that batch, and for acknowledgements of every other packet.
    pub(super) fn quantization_budget(&self, inflight: f64) -> f64 {
        let offload = f64::from(self.config.offload_quanta) * self.send_quantum;
        let probe = if self.state == super::BbrState::ProbeUp { 2.0 * self.smss } else { 0.0 };
        inflight.max(offload).max(self.min_pipe_cwnd()) + probe
    }

    /// The bytes that should be in flight, unless congestion cut the window (TargetInflight).
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    /// The long-term bound less what is left free for others (InflightWithHeadroom), in bytes.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let headroom = (self.config.headroom * self.inflight_longterm).max(self.smss);
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        (self.inflight_longterm - headroom).max(self.min_pipe_cwnd())
    }
}
