//! Control parameters: pacing rate, send quantum and congestion window ("Updating Control Parameters").

use super::{AckedData, Bbr, BbrState};
use crate::units::Duration;

/// Share of the estimated bandwidth left unused on average (PacingMarginPercent).
const PACING_MARGIN: f64 = 0.01;
/// Duration of a send quantum at the pacing rate, in seconds ("Send Quantum").
const QUANTUM_SECONDS: f64 = 1e-3;
/// Maximum send quantum, in bytes.
const MAX_QUANTUM: f64 = 65_536.0;
/// Assumed round-trip time before the first sample, in seconds ("Pacing Rate").
const UNKNOWN_RTT: f64 = 1e-3;
/// Minimum window, in segments; allows for delayed acknowledgements (MinPipeCwnd).
const MIN_PIPE: f64 = 4.0;

/// Record of the window limiting this round trip or the last (C.is_cwnd_limited).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CwndLimited {
    now: bool,
    was_limited: bool,
}

impl CwndLimited {
    pub fn get(self) -> bool {
        self.now || self.was_limited
    }

    pub fn note(&mut self, full: bool) {
        self.now |= full;
    }

    pub fn next_round(&mut self) {
        (self.was_limited, self.now) = (self.now, false);
    }
}

impl Bbr {
    /// Returns C.InitialCwnd, in bytes.
    pub(super) fn initial_cwnd(&self) -> f64 {
        self.config.initial_window * self.smss
    }

    /// Returns BBR.MinPipeCwnd, in bytes.
    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        MIN_PIPE * self.smss
    }

    /// Implements InitPacingRate(): the initial window per round trip, times the Startup gain, which doubles it in one.
    pub(super) fn init_pacing_rate(&mut self, smoothed_rtt: Duration) {
        let seconds = if smoothed_rtt.is_zero() { UNKNOWN_RTT } else { smoothed_rtt.as_secs_f64() };
        self.pacing_rate = BbrState::Startup.pacing_gain() * self.initial_cwnd() / seconds;
    }

    /// Implements SetPacingRateWithGain(). Until the pipe has been filled once, the rate only increases.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - PACING_MARGIN);
        if rate > self.pacing_rate || self.full_bw.is_reached && rate > 0.0 {
            self.pacing_rate = rate;
        }
    }

    /// Implements SetSendQuantum().
    pub(super) fn set_send_quantum(&mut self) {
        // "Send Quantum": small bursts at low rates, for short queues; large ones at high rates, for the
        // hosts.
        self.send_quantum = (self.pacing_rate * QUANTUM_SECONDS).min(MAX_QUANTUM).max(2.0 * self.smss);
    }

    /// Implements UpdateMaxInflight(); the result is in bytes.
    fn max_inflight(&self) -> f64 {
        let inflight = self.bdp_multiple(self.bw, self.state.cwnd_gain());
        self.quantization_budget(inflight + self.aggregation.extra)
    }

    /// Implements SetCwnd().
    pub(super) fn set_cwnd(&mut self, ack: &AckedData) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd + ack.rs.newly_acked as f64;
        if self.full_bw.is_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || (self.sampler.delivered() as f64) < self.initial_cwnd() {
            // "cwnd Adjustment Mechanism": before an initial window of data is delivered, the model is too
            // uncertain to stop growth.
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == BbrState::ProbeRtt {
            // BoundCwndForProbeRTT().
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// Implements BoundCwndForModel().
    fn bound_cwnd(&mut self) {
        let longterm = match self.state {
            BbrState::Startup | BbrState::Drain => f64::INFINITY,
            BbrState::ProbeDown | BbrState::ProbeRefill | BbrState::ProbeUp => self.inflight_longterm,
            // "ProbeBW_DOWN": the headroom leaves capacity for other flows to converge, and for their bursts.
            BbrState::ProbeCruise | BbrState::ProbeRtt => self.inflight_with_headroom(),
        };
        let cap = longterm.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }

    /// Implements SaveCwnd(): saves the last window not reduced by loss or ProbeRTT.
    pub(super) fn save_cwnd(&mut self) {
        let is_good = !self.loss.is_in_recovery() && self.state != BbrState::ProbeRtt;
        self.prior_cwnd = if is_good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Implements RestoreCwnd().
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
