//! Response to losses ("Updating the Model Upon Packet Loss"), and its reversal after spurious losses ("Updating the
//! Model Upon Detecting a Spurious Loss Recovery").

use super::delivery_rate::Stamp;
use super::{AckedData, Bbr, BbrState};
use crate::congestion::LostSample;
use crate::units::Time;

/// State of recent losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// A loss occurred in this round trip (BBR.is_loss_in_round).
    pub in_round: bool,
    /// Delivered amount that ends the loss round: it ends with a packet sent at or after this amount
    /// (BBR.loss_round_delivered).
    pub round_delivered: u64,
    /// A loss round ended with this acknowledgement (BBR.loss_round_start).
    pub round_start: bool,
    /// Number of separate lost ranges in the round.
    pub ranges: u32,
    /// A mark occurred in the round.
    pub had_mark: bool,
    /// End of the last lost range.
    range_end: u64,
    /// Current loss episode.
    episode: Option<Episode>,
}

/// Episode of loss recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// Sequence number whose cumulative acknowledgement ends the episode.
    until: u64,
    /// Time of the last retransmission timeout in the episode, if any.
    timeout: Option<Time>,
}

impl Losses {
    /// Implements InLossRecovery().
    pub fn is_in_recovery(&self) -> bool {
        self.episode.is_some()
    }

    pub fn is_in_fast_recovery(&self) -> bool {
        self.episode.is_some_and(|episode| episode.timeout.is_none())
    }

    /// Returns true if this acknowledgement ends the recovery.
    pub fn recovers(&mut self, cumulative: u64) -> bool {
        let done = self.episode.is_some_and(|episode| cumulative >= episode.until);
        if done {
            self.episode = None;
        }
        done
    }
}

/// State to restore after spurious losses ("Undo State").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// State left because of the losses (BBR.undo_state).
    pub state: Option<BbrState>,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
}

impl Bbr {
    /// Implements ResetCongestionSignals().
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss.in_round = false;
        self.latest = super::path_model::LatestDeliveries::default();
    }

    /// Implements UpdateCongestionSignals(), except the update of max_bw.
    pub(super) fn update_congestion_signals(&mut self) {
        if !self.loss.round_start {
            return;
        }
        // AdaptLowerBoundsFromCongestion(), with InitLowerBounds() and LossLowerBounds(). A probe causes its
        // own losses, and answers them by inflight_longterm.
        if self.loss.in_round && !self.state.is_accelerating() {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw.get();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            let beta = self.config.beta;
            // What was delivered in the round despite its losses fits the path.
            self.bw_shortterm = self.latest.bw.max(beta * self.bw_shortterm);
            self.inflight_shortterm = self.latest.inflight.max(beta * self.inflight_shortterm);
        }
        self.loss.in_round = false;
    }

    /// Implements NoteLoss(), without saving state.
    fn note_loss(&mut self) {
        if !self.loss.in_round {
            // The round of the first loss begins here, so the bounds fall once in it.
            self.loss.round_delivered = self.sampler.delivered();
        }
        self.loss.in_round = true;
    }

    /// Implements HandleLostPacket().
    pub(super) fn handle_lost(&mut self, sample: &LostSample, stamp: Stamp) {
        let bytes = u64::from(sample.bytes);
        self.begin_episode(sample.connection.next_sequence, None);
        self.note_loss();
        self.loss.ranges += u32::from(sample.sequence != self.loss.range_end);
        self.loss.range_end = sample.sequence + bytes;
        if let Some(episode) = &self.loss.episode
            && episode.timeout == Some(sample.connection.now)
        {
            // The loss is reported after its timeout: the segment was counted as in flight.
            self.cwnd = (self.cwnd - bytes as f64).max(self.smss);
        }
        if !self.cycle.is_probe_sample {
            return;
        }
        // Figures of the lost packet: the acknowledgement that reveals it may belong to a much later, smaller
        // amount in flight.
        let lost = self.sampler.lost().saturating_sub(stamp.lost);
        if self.is_inflight_too_high(stamp.in_flight, lost) {
            let in_flight = self.inflight_at_loss(stamp.in_flight as f64, lost as f64, bytes as f64);
            self.handle_inflight_too_high(sample.connection.now, in_flight, stamp.app_limited);
        }
    }

    /// Handles a marked acknowledgement of `newly_acked` bytes as their loss ("ECN").
    pub(super) fn handle_marked(&mut self, ack: &AckedData) {
        self.note_loss();
        self.sampler.on_marked(ack.rs.newly_acked);
        self.loss.ranges += 1;
        self.loss.had_mark = true;
        if self.cycle.is_probe_sample && self.is_inflight_too_high(ack.rs.tx_in_flight, ack.rs.lost) {
            self.handle_inflight_too_high(ack.now, ack.rs.tx_in_flight as f64, ack.rs.app_limited);
        }
    }

    /// Implements IsInflightTooHigh(): returns true if the loss rate of a round trip exceeds the threshold.
    pub(super) fn is_inflight_too_high(&self, tx_in_flight: u64, lost: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.config.loss_threshold
    }

    /// Implements InflightAtLoss(): the data in flight, including the part of the packet, at which losses crossed the
    /// threshold.
    fn inflight_at_loss(&self, tx_in_flight: f64, lost: f64, bytes: f64) -> f64 {
        let threshold = self.config.loss_threshold;
        let (in_flight_before, lost_before) = (tx_in_flight - bytes, lost - bytes);
        let prefix = (threshold * in_flight_before - lost_before) / (1.0 - threshold);
        in_flight_before + prefix.clamp(0.0, bytes)
    }

    /// Implements HandleInflightTooHigh().
    fn handle_inflight_too_high(&mut self, now: Time, in_flight: f64, app_limited: bool) {
        self.cycle.too_high = true;
        // One response per probe.
        self.cycle.is_probe_sample = false;
        // An application-limited amount in flight is not where the path began to lose.
        if !app_limited {
            // "Probing for Bandwidth In ProbeBW": at most the decrease of CUBIC.
            self.inflight_longterm = in_flight.max(self.target_inflight() * self.config.beta);
        }
        if self.state == BbrState::ProbeUp {
            self.undo.state = Some(BbrState::ProbeUp);
            self.start_down(now);
            // The acknowledgement that reported the loss has already been processed.
            self.set_pacing_rate(self.pacing_gain());
        }
    }

    /// Starts or continues a loss episode, which lasts until all data below `until` is acknowledged. State for undo is
    /// saved only at its start (SaveStateUponLoss).
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

    /// Implements OnEnterRTO(): the window becomes the data in flight plus one segment.
    pub(super) fn enter_timeout(&mut self, now: Time, until: u64, in_flight: f64) {
        self.begin_episode(until, Some(now));
        self.save_cwnd();
        self.cwnd = in_flight + self.smss;
    }

    /// Implements HandleSpuriousLossDetection().
    pub(super) fn handle_spurious_loss(&mut self) {
        self.loss.episode = None;
        self.restore_cwnd();
        self.loss.in_round = false;
        // The losses may have hidden the growth of the rate: the plateau must be found again.
        self.full_bw.reset(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let probes_rtt = self.state == BbrState::ProbeRtt;
        match self.undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full_bw.is_reached = false;
                if !probes_rtt {
                    self.enter(BbrState::Startup);
                }
            }
            Some(BbrState::ProbeUp) if self.state != BbrState::ProbeUp && !probes_rtt => self.start_refill(),
            _ => {}
        }
    }
}
