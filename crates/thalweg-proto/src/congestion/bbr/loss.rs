//! The answer to losses ("Updating the Model Upon Packet Loss"), and its undoing where they were none ("Updating the Model
//! Upon Detecting a Spurious Loss Recovery").

use super::delivery::Stamp;
use super::{Acked, Bbr, BbrState};
use crate::congestion::LostSample;
use crate::units::Time;

/// The losses of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// Something was lost in this round trip (BBR.is_loss_in_round).
    pub in_round: bool,
    /// The round trip of losses ends with a packet that left when so much had been delivered (BBR.loss_round_delivered).
    pub round_delivered: u64,
    /// One ended with this acknowledgement (BBR.loss_round_start).
    pub round_start: bool,
    /// Separate ranges of data that were lost in it.
    pub ranges: u32,
    /// Something was marked in it.
    pub marked: bool,
    /// The end of the range that was lost last.
    range_end: u64,
    /// The episode that is being repaired.
    episode: Option<Episode>,
}

/// An episode of loss recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The episode ends when all below this position in the stream is acknowledged.
    until: u64,
    /// The retransmission timer expired in it, and when it did last.
    timeout: Option<Time>,
}

impl Losses {
    /// InLossRecovery().
    pub fn is_in_recovery(&self) -> bool {
        self.episode.is_some()
    }

    pub fn is_in_fast_recovery(&self) -> bool {
        self.episode.is_some_and(|episode| episode.timeout.is_none())
    }

    /// True if this acknowledgement repairs all that was missing.
    pub fn recovers(&mut self, cumulative: u64) -> bool {
        let done = self.episode.is_some_and(|episode| cumulative >= episode.until);
        if done {
            self.episode = None;
        }
        done
    }
}

/// The state that is restored when losses turn out to have been none ("Undo State").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that was left because of them (BBR.undo_state).
    pub state: Option<BbrState>,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
}

impl Bbr {
    /// ResetCongestionSignals().
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss.in_round = false;
        self.latest = super::model::Latest::default();
    }

    /// UpdateCongestionSignals(), the maximum of bandwidth apart.
    pub(super) fn update_congestion_signals(&mut self) {
        if !self.loss.round_start {
            return;
        }
        // AdaptLowerBoundsFromCongestion(), with InitLowerBounds() and LossLowerBounds().
        if self.loss.in_round && !self.state.is_accelerating() {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw.get();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            let beta = self.config.beta;
            self.bw_shortterm = self.latest.bw.max(beta * self.bw_shortterm);
            self.inflight_shortterm = self.latest.inflight.max(beta * self.inflight_shortterm);
        }
        self.loss.in_round = false;
    }

    /// NoteLoss(), without what it saves.
    fn note_loss(&mut self) {
        if !self.loss.in_round {
            self.loss.round_delivered = self.sampler.delivered();
        }
        self.loss.in_round = true;
    }

    /// HandleLostPacket().
    pub(super) fn handle_lost(&mut self, sample: &LostSample, stamp: Stamp) {
        let bytes = u64::from(sample.bytes);
        self.begin_episode(sample.path.next_sequence, None);
        self.note_loss();
        self.loss.ranges += u32::from(sample.sequence != self.loss.range_end);
        self.loss.range_end = sample.sequence + bytes;
        if let Some(episode) = &self.loss.episode
            && episode.timeout == Some(sample.path.now)
        {
            // Told after the time-out that found it: it had been counted as in flight.
            self.cwnd = (self.cwnd - bytes as f64).max(self.smss);
        }
        if !self.cycle.is_probe_sample {
            return;
        }
        let lost = self.sampler.lost().saturating_sub(stamp.lost);
        if self.is_inflight_too_high(stamp.in_flight, lost) {
            let in_flight = self.inflight_at_loss(stamp.in_flight as f64, lost as f64, bytes as f64);
            self.handle_inflight_too_high(sample.path.now, in_flight, stamp.app_limited);
        }
    }

    /// A marked acknowledgement of `newly_acked` bytes, which counts as their loss ("ECN").
    pub(super) fn handle_marked(&mut self, ack: &Acked) {
        self.note_loss();
        self.sampler.on_marked(ack.rs.newly_acked);
        self.loss.ranges += 1;
        self.loss.marked = true;
        if self.cycle.is_probe_sample && self.is_inflight_too_high(ack.rs.tx_in_flight, ack.rs.lost) {
            self.handle_inflight_too_high(ack.now, ack.rs.tx_in_flight as f64, ack.rs.app_limited);
        }
    }

    /// IsInflightTooHigh(): more than the threshold of a round trip's data is lost.
    pub(super) fn is_inflight_too_high(&self, tx_in_flight: u64, lost: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.config.loss_threshold
    }

    /// InflightAtLoss(): how much of a packet could be lost before losses crossed the threshold, after what was in flight
    /// before it.
    fn inflight_at_loss(&self, tx_in_flight: f64, lost: f64, bytes: f64) -> f64 {
        let threshold = self.config.loss_threshold;
        let (in_flight_before, lost_before) = (tx_in_flight - bytes, lost - bytes);
        let prefix = (threshold * in_flight_before - lost_before) / (1.0 - threshold);
        in_flight_before + prefix.clamp(0.0, bytes)
    }

    /// HandleInflightTooHigh().
    fn handle_inflight_too_high(&mut self, now: Time, in_flight: f64, app_limited: bool) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(self.target_inflight() * self.config.beta);
        }
        if self.state == BbrState::ProbeUp {
            self.undo.state = Some(BbrState::ProbeUp);
            self.start_down(now);
            // The acknowledgement that told of the loss has been dealt with.
            self.set_pacing_rate(self.pacing_gain());
        }
    }

    /// A loss recovery begins or goes on, until all below `until` is acknowledged. Only its beginning is remembered for undoing
    /// it (SaveStateUponLoss).
    pub(super) fn begin_episode(&mut self, until: u64, timeout: Option<Time>) {
        let timeout = match self.loss.episode {
            Some(episode) => timeout.or(episode.timeout),
            None => {
                self.save_cwnd();
                self.undo = Undo {
                    state: None,
                    bw_shortterm: self.bw_shortterm,
                    inflight_shortterm: self.inflight_shortterm,
                    inflight_longterm: self.inflight_longterm,
                };
                timeout
            }
        };
        self.loss.episode = Some(Episode { until, timeout });
    }

    /// OnEnterRTO(): one segment more than what is still in flight.
    pub(super) fn enter_timeout(&mut self, now: Time, until: u64, in_flight: f64) {
        self.begin_episode(until, Some(now));
        self.save_cwnd();
        self.cwnd = in_flight + self.smss;
    }

    /// HandleSpuriousLossDetection().
    pub(super) fn handle_spurious_loss(&mut self) {
        self.loss.episode = None;
        self.restore_cwnd();
        self.loss.in_round = false;
        self.full_bw.reset(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let probes_rtt = self.state == BbrState::ProbeRtt;
        match self.undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full_bw.reached = false;
                if !probes_rtt {
                    self.enter(BbrState::Startup);
                }
            }
            Some(BbrState::ProbeUp) if self.state != BbrState::ProbeUp && !probes_rtt => self.start_refill(),
            _ => {}
        }
    }
}
