//! Startup and Drain ("Startup", "Drain"), and the estimator of a full pipe, which ends ProbeBW_UP too.

use super::{Acked, Bbr, BbrState};

/// A delivery rate that is this much higher is growth ("Exiting Acceleration Based on Bandwidth Plateau").
const GROWTH: f64 = 1.25;
/// So many round trips without growth mean that the pipe is full.
const PLATEAU_ROUNDS: u32 = 3;
/// So many separate ranges of data are lost in the round trip for whose losses Startup ends (BBRStartupFullLossCnt).
const LOST_RANGES: u32 = 6;
/// Drain ends after so many round trips, whatever is in flight.
const DRAIN_ROUNDS: u64 = 3;

/// The estimator of a full pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBandwidth {
    /// The pipe was full at some time (BBR.full_bw_reached).
    pub reached: bool,
    /// The pipe is full since it was last asked (BBR.full_bw_now).
    pub now: bool,
    /// The rate from which growth is measured, in bytes a second (BBR.full_bw).
    pub bw: f64,
    /// Round trips without growth (BBR.full_bw_count).
    pub count: u32,
}

impl FullBandwidth {
    /// ResetFullBW(), with `bw` as what growth is measured from.
    pub fn reset(&mut self, bw: f64) {
        *self = Self { reached: self.reached, now: false, bw, count: 0 };
    }
}

impl Bbr {
    /// CheckFullBWReached().
    pub(super) fn check_full_bw(&mut self, ack: &Acked) {
        if self.full_bw.now || !ack.rs.round_start || ack.rs.app_limited || ack.rate <= 0.0 {
            return;
        }
        if ack.rate >= self.full_bw.bw * GROWTH {
            self.full_bw.reset(ack.rate);
            return;
        }
        self.full_bw.count += 1;
        self.full_bw.now = self.full_bw.count >= PLATEAU_ROUNDS;
        self.full_bw.reached |= self.full_bw.now;
    }

    /// CheckStartupDone().
    pub(super) fn check_startup_done(&mut self, ack: &Acked) {
        if self.state != BbrState::Startup {
            return;
        }
        self.check_startup_high_loss(ack);
        if self.full_bw.reached {
            self.enter(BbrState::Drain);
            self.drain_start_round = self.sampler.rounds();
        }
    }

    /// CheckStartupHighLoss(): a whole round trip in fast recovery, with too much and enough ranges lost.
    fn check_startup_high_loss(&mut self, ack: &Acked) {
        if !self.loss.round_start {
            return;
        }
        let ranges = core::mem::take(&mut self.loss.ranges);
        let in_recovery = self.loss.is_in_fast_recovery() || core::mem::take(&mut self.loss.marked);
        if self.full_bw.reached
            || !in_recovery
            || ranges < LOST_RANGES
            || !self.is_inflight_too_high(ack.rs.tx_in_flight, ack.rs.lost)
        {
            return;
        }
        self.undo.state = Some(BbrState::Startup);
        self.full_bw.reached = true;
        self.full_bw.now = true;
        self.inflight_longterm = self.bdp().max(self.latest.inflight);
    }

    /// CheckDrainDone().
    pub(super) fn check_drain_done(&mut self, ack: &Acked) {
        if self.state == BbrState::Drain
            && (ack.in_flight <= self.inflight(self.bw, 1.0)
                || self.sampler.rounds() > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down(ack.now);
        }
    }
}
