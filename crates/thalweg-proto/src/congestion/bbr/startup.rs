//! Startup and Drain ("Startup", "Drain"), and the full-pipe estimator, which also ends ProbeBW_UP.

use super::{AckedData, Bbr, BbrState};

/// Minimum factor of the delivery rate that counts as growth ("Exiting Acceleration Based on Bandwidth Plateau").
const FULL_BW_GROWTH: f64 = 1.25;
/// Round trips without growth that indicate a full pipe: fewer may reflect receive-window auto-tuning.
const PLATEAU_ROUNDS: u32 = 3;
/// Minimum number of separate lost ranges in a round trip that end Startup (BBRStartupFullLossCnt).
const FULL_LOSS_COUNT: u32 = 6;
/// Maximum duration of Drain, in round trips.
const MAX_DRAIN_ROUNDS: u64 = 3;

/// Full-pipe estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBandwidth {
    /// The pipe has been full at some time (BBR.full_bw_reached).
    pub is_reached: bool,
    /// The pipe has been full since the last reset (BBR.full_bw_now).
    pub now: bool,
    /// Baseline rate of the growth test, in bytes per second (BBR.full_bw).
    pub bw: f64,
    /// Round trips without growth (BBR.full_bw_count).
    pub count: u32,
}

impl FullBandwidth {
    /// Implements ResetFullBW(), with `bw` as the baseline.
    pub fn reset(&mut self, bw: f64) {
        *self = Self { is_reached: self.is_reached, now: false, bw, count: 0 };
    }
}

impl Bbr {
    /// Implements CheckFullBWReached().
    pub(super) fn check_full_bw(&mut self, ack: &AckedData) {
        // An application-limited sample does not grow, even on a path with capacity left.
        if self.full_bw.now || !ack.rs.round_start || ack.rs.app_limited || ack.rate <= 0.0 {
            return;
        }
        if ack.rate >= self.full_bw.bw * FULL_BW_GROWTH {
            self.full_bw.reset(ack.rate);
            return;
        }
        self.full_bw.count += 1;
        self.full_bw.now = self.full_bw.count >= PLATEAU_ROUNDS;
        self.full_bw.is_reached |= self.full_bw.now;
    }

    /// Implements CheckStartupDone().
    pub(super) fn check_startup_done(&mut self, ack: &AckedData) {
        if self.state != BbrState::Startup {
            return;
        }
        self.check_startup_high_loss(ack);
        if self.full_bw.is_reached {
            self.enter(BbrState::Drain);
            self.drain_start_round = self.sampler.rounds();
        }
    }

    /// Implements CheckStartupHighLoss(): a full round trip in fast recovery, with a high loss rate and enough lost
    /// ranges.
    fn check_startup_high_loss(&mut self, ack: &AckedData) {
        if !self.loss.round_start {
            return;
        }
        // Counts of a round end with it, whether or not the test uses them.
        let ranges = core::mem::take(&mut self.loss.ranges);
        let in_recovery = self.loss.is_in_fast_recovery() || core::mem::take(&mut self.loss.had_mark);
        if self.full_bw.is_reached
            || !in_recovery
            || ranges < FULL_LOSS_COUNT
            || !self.is_inflight_too_high(ack.rs.tx_in_flight, ack.rs.lost)
        {
            return;
        }
        self.undo.state = Some(BbrState::Startup);
        self.full_bw.is_reached = true;
        self.full_bw.now = true;
        // "Exiting Startup Based on Packet Loss": what was delivered in a round trip despite the losses fits
        // the path.
        self.inflight_longterm = self.bdp().max(self.latest.inflight);
    }

    /// Implements CheckDrainDone().
    pub(super) fn check_drain_done(&mut self, ack: &AckedData) {
        if self.state == BbrState::Drain
            && (ack.in_flight <= self.inflight(self.bw, 1.0)
                // A queue of other flows would otherwise keep this one in Drain.
                || self.sampler.rounds() > self.drain_start_round + MAX_DRAIN_ROUNDS)
        {
            self.start_down(ack.now);
        }
    }
}
