//! ProbeBW: the cycle of DOWN, CRUISE, REFILL and UP ("ProbeBW Algorithm Details").

use super::{AckedData, Bbr, BbrState, FilterAdvance};
use crate::random::RandomStream;
use crate::units::{Duration, Time};

/// Minimum time between probes, in seconds; up to one second is added at random ("Time Scale for Bandwidth Probing").
/// A Reno flow of 25 Mbit/s and 30 ms needs this long without loss.
const MIN_PROBE_WAIT_S: f64 = 2.0;
/// Maximum number of round trips between probes: fewer than 60 would harm CUBIC and Reno, and with many more
/// a loss rate of 1 % would reduce the rate by more than a probe restores ("Design Considerations for
/// Choosing Constant Parameters").
const MAX_ROUNDS_BETWEEN_PROBES: f64 = 63.0;
/// Maximum number of doublings of the long-term bound's additive increase.
const MAX_DOUBLINGS: u32 = 30;

/// Phase of the acknowledgements in a bandwidth probe (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Init,
    /// Acknowledgements of the refill phase.
    Refilling,
    /// The probe has started, without acknowledgements yet.
    Starting,
    /// Acknowledgements of the probe's data.
    Feedback,
    /// Acknowledgements of the probe's last data.
    Stopping,
}

/// State of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Samples come from a probe (BBR.is_bw_probe_sample).
    pub is_probe_sample: bool,
    /// The last probe lost too much (BBR.prev_probe_too_high).
    pub too_high: bool,
    /// The last probe was stopped early (BBR.prev_probe_precautionary).
    pub precautionary: bool,
    /// BBR.bw_probe_up_acked, in bytes.
    up_acked: f64,
    /// BBR.probe_up_acked_per_inc, in bytes.
    pub up_acked_per_inc: f64,
    /// BBR.bw_probe_up_rounds.
    up_rounds: u32,
    /// BBR.rounds_since_probe_up.
    pub rounds_since_up: u32,
    /// BBR.bw_probe_wait.
    pub wait: Duration,
    /// BBR.cycle_stamp.
    pub since: Time,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            since: Time::ZERO,
        }
    }
}

impl Bbr {
    /// Implements StartProbeBW_DOWN().
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.cycle.up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait(now);
        self.cycle.since = now;
        self.cycle.ack_phase = AckPhase::Stopping;
        if self.config.filter_advance == FilterAdvance::AtDown {
            self.max_bw.advance();
        }
        self.sampler.start_round();
        self.enter(BbrState::ProbeDown);
    }

    /// Implements PickProbeWait(). The random number is derived from the flow's own state, with picosecond resolution.
    /// Flows of one bottleneck thus draw different values, and runs are reproducible.
    fn pick_probe_wait(&mut self, now: Time) {
        let mut stream = RandomStream::new(now.as_picos(), "bbr-probe-wait", self.sampler.delivered());
        self.cycle.rounds_since_up = stream.below(2) as u32;
        self.cycle.wait = Duration::from_secs_f64(MIN_PROBE_WAIT_S + stream.unit());
    }

    /// Implements StartProbeBW_REFILL().
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0.0;
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.sampler.start_round();
        self.enter(BbrState::ProbeRefill);
    }

    /// Implements StartProbeBW_UP().
    fn start_up(&mut self, ack: &AckedData) {
        self.cycle.is_probe_sample = true;
        self.cycle.ack_phase = AckPhase::Starting;
        self.sampler.start_round();
        // The probe needs its own plateau: Startup's ended at another rate.
        self.full_bw.reset(ack.rate);
        self.enter(BbrState::ProbeUp);
        self.raise_slope();
    }

    /// Implements UpdateProbeBWCyclePhase().
    pub(super) fn update_cycle(&mut self, ack: &AckedData) {
        // The feedback of the last probe may start the next one, so it precedes the schedule.
        if !self.full_bw.is_reached || self.adapt_long_term(ack) {
            return;
        }
        let goes_down = self.state == BbrState::ProbeUp && self.is_time_to_go_down(ack);
        match self.state {
            BbrState::ProbeDown | BbrState::ProbeCruise if self.is_time_to_probe(ack.now) => {
                self.start_refill();
            }
            BbrState::ProbeDown if self.is_time_to_cruise(ack.in_flight) => self.enter(BbrState::ProbeCruise),
            // REFILL lasts one round trip.
            // "ProbeBW_REFILL": without a full pipe the probe would lose packets early in a short buffer, and
            // inflight_longterm would be too low.
            BbrState::ProbeRefill if ack.rs.round_start => self.start_up(ack),
            BbrState::ProbeUp if goes_down => {
                self.cycle.too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    /// Implements IsTimeToProbeBW(): after the random wait, or after the round trips of a Reno flow.
    fn is_time_to_probe(&self, now: Time) -> bool {
        // "A Dual-Time-Scale Approach for Coexistence": a Reno flow needs as many round trips without loss to
        // reach this window.
        let rounds = (self.target_inflight() / self.smss).min(MAX_ROUNDS_BETWEEN_PROBES);
        now.since(self.cycle.since) > self.cycle.wait || f64::from(self.cycle.rounds_since_up) >= rounds
    }

    /// Implements IsTimeToCruise().
    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw.get(), 1.0)
    }

    /// Implements IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, ack: &AckedData) -> bool {
        if self.config.precautionary && self.cycle.too_high && ack.in_flight >= self.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.cwnd_limited.get() && self.cwnd >= self.inflight_longterm {
            // The sample measures the bound, not the path.
            self.full_bw.reset(ack.rate);
            return false;
        }
        self.full_bw.now
    }

    /// Implements AdaptLongTermModel(): returns true if it selected the next state.
    fn adapt_long_term(&mut self, ack: &AckedData) -> bool {
        if self.cycle.ack_phase == AckPhase::Starting && ack.rs.round_start {
            self.cycle.ack_phase = AckPhase::Feedback;
        }
        if self.cycle.ack_phase == AckPhase::Stopping && ack.rs.round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                // "Tracking Time for the BBR.max_bw Max Filter": an application-limited cycle did not probe,
                // so it ends no period.
                if !ack.rs.app_limited && self.config.filter_advance == FilterAdvance::AfterFeedback {
                    self.max_bw.advance();
                }
                if self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.inflight_longterm.is_finite() && !self.is_inflight_too_high(ack.rs.tx_in_flight, ack.rs.lost)
        {
            // This much was in flight without excessive loss, so the bound was too low.
            self.inflight_longterm = self.inflight_longterm.max(ack.rs.tx_in_flight as f64);
            if self.state == BbrState::ProbeUp {
                self.probe_upward(ack);
            }
        }
        false
    }

    /// Implements RaiseInflightLongtermSlope(): in each round trip the bound grows by twice as many segments as in the
    /// previous one.
    fn raise_slope(&mut self) {
        // "ProbeBW_UP": cautious at first, as many flows may share a short buffer; then bold, as the product
        // may be large.
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_DOUBLINGS);
        self.cycle.up_acked_per_inc = (self.cwnd / growth).max(self.smss);
    }

    /// Implements ProbeInflightLongtermUpward().
    fn probe_upward(&mut self, ack: &AckedData) {
        // A bound that is not reached has not been tested.
        if !self.cwnd_limited.get() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.cycle.up_acked += ack.rs.newly_acked as f64;
        if self.cycle.up_acked >= self.cycle.up_acked_per_inc {
            let segments = (self.cycle.up_acked / self.cycle.up_acked_per_inc).floor();
            self.cycle.up_acked -= segments * self.cycle.up_acked_per_inc;
            self.inflight_longterm += segments * self.smss;
        }
        if ack.rs.round_start {
            self.raise_slope();
        }
    }
}
