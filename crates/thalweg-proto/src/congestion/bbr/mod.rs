//! BBR, version 3 (draft-ietf-ccwg-bbr, editor's copy of August 2026; section names are its own).
//!
//! BBR maintains a model of the path: the delivery rate (`max_bw`), the minimum round-trip time (`min_rtt`), and the
//! maximum data in flight without excessive loss. It paces at the rate of the model, and probes by alternately sending
//! faster and slower.
//!
//! ```text
//!   Startup -> Drain -> ProbeDown -> ProbeCruise -> ProbeRefill -> ProbeUp
//!                           ^ |                        ^              |
//!                           | +------------------------+              |
//!                           +-----------------------------------------+
//!   every state -> ProbeRtt -> ProbeCruise, or Startup where the pipe was never full
//! ```
//!
//! Bounds apply on two time scales. `inflight_longterm` is the amount at which a probe lost too much. `bw_shortterm`
//! and `inflight_shortterm` follow losses from round trip to round trip, and are reset before the next probe.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | losses are marked before the acknowledgement that reveals them is processed ("Per-ACK Steps") | after | senders notify controllers in that order | losses detected by an acknowledgement count with the next one; the response to a lost packet is not later |
//! | the first pacing rate assumes a round trip of 1 ms until the next is known ("Pacing Rate" in code) | it is recomputed at the first round-trip sample, as in the section's prose | a rate that only grows would not pace Startup | bursts of the initial window, not of every window |
//! | every packet is paced ("Pacing") | up to ten leave unpaced when the application resumes after all data was acknowledged | RFC 9002, section 7.7 | responses of a few packets take no second round trip |
//! | the first packet is paced | sent at once | the segment size is known only with it | none |
//! | state is saved for undoing at the first loss of each round trip (`NoteLoss`) and on entering recovery | at the first loss of an episode | "before the loss episode"; the first loss may have ended a probe before recovery is entered | an episode of several round trips is undone as one |
//! | `SaveCwnd` follows the change to ProbeRTT | it precedes the change | the window to save is the one before | none |
//! | windows are restored when recovery ends, by the transport | by the cumulative acknowledgement | controllers are not notified of the end of recovery from a timeout | none |
//! | a sample without a rate counts as a round trip without growth (`CheckFullBWReached`) | it does not count | it carries no information on growth | samples shorter than a round trip do not end Startup |
//! | `lost_prefix` may be negative, or more than the packet (`InflightAtLoss`) | clamped to the packet | it is a part of the packet | `inflight_longterm` is not below the amount in flight before the packet |
//! | `MaxBwFilterLen` by a windowed filter | two values, of the current and the last cycle; a cycle without a sample evicts none | the window is two cycles long | none but for application-limited cycles |
//! | the short exit by loss sets `full_bw_reached` ("Exiting Startup Based on Packet Loss") | `full_bw_now` too | the second case of the appendix requires both | none: ProbeBW_UP begins with a new estimate |
//! | in Drain the table bounds the window by `inflight_longterm`, `BoundCwndForModel` does not | as `BoundCwndForModel` | the table is a summary | Drain ends at the bandwidth-delay product either way |
//! | the time between probes is drawn at random (`PickProbeWait`) | derived from the time and the delivered amount | engines have no hidden randomness | flows of one bottleneck still draw different times |
//! | no response to marks is specified, except that they count as congestion ("ECN") | a marked acknowledgement counts as the loss of the acknowledged data | RFC 3168 | marks end probes and lower bounds as losses do |
//! | without selective acknowledgements any loss ends a probe | losses are always counted | BBR senders here use selective acknowledgements | none |

mod ack_aggregation;
mod config;
mod control_parameters;
mod loss_response;
mod path_model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod states_and_gains;
#[cfg(test)]
mod tests;

pub use config::{BbrConfig, FilterAdvance, ProbeRttBasis};
pub use states_and_gains::BbrState;

use super::delivery_rate::{self, RateSample, Sampler, Stamp};
use super::{
    AckSample, CongestionState, ConnectionState, Controller, Decision, LossKind, LossSample, LostSample,
    MAX_WINDOW, SentSample,
};
use crate::units::{Duration, Rate, Time};

/// BBR controller. Volumes are in bytes, rates in bytes per second, as in the draft.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    sampler: Sampler,
    state: BbrState,
    /// C.SMSS; 0 until the first packet is sent.
    smss: f64,
    /// C.cwnd.
    cwnd: f64,
    /// BBR.prior_cwnd.
    prior_cwnd: f64,
    cwnd_limited: control_parameters::CwndLimited,
    /// C.pacing_rate.
    pacing_rate: f64,
    /// C.send_quantum.
    send_quantum: f64,
    /// BBR.max_bw.
    max_bw: path_model::MaxBandwidth,
    /// BBR.bw.
    bw: f64,
    /// BBR.bw_shortterm; infinite if unbounded.
    bw_shortterm: f64,
    /// BBR.inflight_shortterm; infinite if unbounded.
    inflight_shortterm: f64,
    /// BBR.inflight_longterm; infinite if unbounded.
    inflight_longterm: f64,
    latest: path_model::LatestDeliveries,
    aggregation: ack_aggregation::Aggregation,
    full_bw: startup::FullBandwidth,
    /// BBR.drain_start_round.
    drain_start_round: u64,
    cycle: probe_bw::Cycle,
    min_rtt: probe_rtt::MinRtt,
    loss: loss_response::Losses,
    undo: loss_response::Undo,
    /// BBR.idle_restart.
    idle_restart: bool,
    has_rtt: bool,
}

/// Data of one acknowledgement.
#[derive(Clone, Copy, Debug)]
struct AckedData {
    now: Time,
    /// RS.
    rs: RateSample,
    /// RS.delivery_rate; 0 if unknown.
    rate: f64,
    /// RS.rtt.
    rtt: Option<Duration>,
    /// C.inflight.
    in_flight: f64,
}

impl Bbr {
    /// Creates the controller described by `config` (OnInit), with a window that no sender can exceed. Path-dependent
    /// state is set when the first packet is sent.
    pub fn new(config: &BbrConfig) -> Self {
        let initial_window = config.initial_window.clamp(1.0, MAX_WINDOW);
        Self {
            config: BbrConfig { initial_window, ..*config },
            sampler: Sampler::default(),
            state: BbrState::Startup,
            smss: 0.0,
            cwnd: 0.0,
            prior_cwnd: 0.0,
            cwnd_limited: control_parameters::CwndLimited::default(),
            pacing_rate: 0.0,
            send_quantum: 0.0,
            max_bw: path_model::MaxBandwidth::default(),
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            latest: path_model::LatestDeliveries::default(),
            aggregation: ack_aggregation::Aggregation::default(),
            full_bw: startup::FullBandwidth::default(),
            drain_start_round: 0,
            cycle: probe_bw::Cycle::default(),
            min_rtt: probe_rtt::MinRtt::default(),
            loss: loss_response::Losses::default(),
            undo: loss_response::Undo::default(),
            idle_restart: false,
            has_rtt: false,
        }
    }

    /// Returns the current state.
    pub const fn state(&self) -> BbrState {
        self.state
    }

    /// Returns BBR.pacing_gain.
    pub(super) const fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Drain => self.config.drain_gain,
            state => state.pacing_gain(),
        }
    }

    /// Enters a state and applies its gains.
    fn enter(&mut self, state: BbrState) {
        self.state = state;
    }

    /// Initialises path-dependent state when the first packet is sent.
    #[cold]
    fn begin(&mut self, connection: &ConnectionState) {
        self.smss = f64::from(connection.segment);
        self.cwnd = self.initial_cwnd();
        self.init_pacing_rate(connection.smoothed_rtt);
        self.set_send_quantum();
        self.min_rtt.stamp = connection.now;
        self.min_rtt.probe_stamp = connection.now;
        self.aggregation.since = connection.now;
    }

    /// Implements HandleRestartFromIdle(): restarts at the estimated rate of the path instead of in Startup
    /// ("Restarting From Idle").
    #[cold]
    fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == BbrState::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// Handles the first round-trip time, which corrects the initial pacing rate.
    #[cold]
    fn first_rtt(&mut self, connection: &ConnectionState) {
        self.has_rtt = true;
        self.init_pacing_rate(connection.smoothed_rtt);
    }

    /// Implements UpdateModelAndState().
    fn update_model(&mut self, ack: &AckedData) {
        // In the order of the draft: each step uses the signals of the steps before it. The signals of the
        // round are replaced only after the tests of Startup and ProbeBW have used them.
        self.update_latest(ack);
        self.update_max_bw(ack);
        self.update_congestion_signals();
        self.update_aggregation(ack);
        self.check_full_bw(ack);
        self.check_startup_done(ack);
        self.check_drain_done(ack);
        self.update_cycle(ack);
        self.min_rtt.update(ack.now, ack.rtt, self.config.probe_rtt_interval);
        self.check_probe_rtt(ack);
        self.advance_latest(ack);
        self.bound_bw();
    }

    /// Implements UpdateControlParameters().
    fn update_control(&mut self, ack: &AckedData) {
        self.set_pacing_rate(self.pacing_gain());
        self.set_send_quantum();
        self.set_cwnd(ack);
    }
}

impl crate::state_digest::Digest for Bbr {
    fn feed_state<H: core::hash::Hasher>(&self, now: Time, into: &mut H) {
        crate::state_digest::feed_debug(now, self, into);
    }
}

impl Controller for Bbr {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        let connection = &sample.connection;
        if self.smss == 0.0 {
            self.begin(connection);
        }
        // "Restarting From Idle": before the packet is counted as in flight.
        if connection.in_flight_bytes == 0 && self.sampler.is_app_limited() {
            self.restart_from_idle(connection.now);
        }
        let stamp = self.sampler.on_sent(sample);
        // The window is full if no further segment fits.
        self.cwnd_limited.note(stamp.in_flight as f64 + self.smss > self.cwnd);
        stamp
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        self.smss = f64::from(sample.connection.segment);
        let marked = sample.ce > 0 && self.config.ecn;
        if marked {
            self.sampler.on_marked(sample.acked_bytes);
        }
        let rs = self.sampler.on_ack(sample, stamp);
        let ack = AckedData {
            now: sample.connection.now,
            rs,
            rate: rs.bytes_per_second().unwrap_or(0.0),
            rtt: sample.rtt,
            in_flight: sample.in_flight_bytes as f64,
        };
        if ack.rs.round_start {
            self.cycle.rounds_since_up = self.cycle.rounds_since_up.saturating_add(1);
            self.cwnd_limited.next_round();
        }
        if !self.has_rtt && ack.rtt.is_some() {
            self.first_rtt(&sample.connection);
        }
        if marked {
            self.handle_marked(&ack);
        }
        if self.loss.recovers(sample.cumulative) {
            self.restore_cwnd();
        }
        self.update_model(&ack);
        self.update_control(&ack);
    }

    fn on_packet_lost(&mut self, sample: &LostSample, stamp: Stamp) {
        self.sampler.on_packet_lost(sample);
        self.handle_lost(sample, stamp);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        match sample.kind {
            LossKind::Detected => self.begin_episode(sample.connection.next_sequence, None),
            LossKind::Timeout => {
                let in_flight = sample.connection.in_flight_bytes as f64;
                self.enter_timeout(sample.connection.now, sample.connection.next_sequence, in_flight);
            }
            // Marks are handled per acknowledgement.
            LossKind::Mark => {}
        }
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        if self.smss > 0.0 {
            self.sampler.on_app_limited(connection, self.cwnd / self.smss);
        }
    }

    fn would_undo(&self, _before: &Self) -> bool {
        true
    }

    fn on_undo(&mut self, _before: Self, _connection: &ConnectionState) {
        self.handle_spurious_loss();
    }

    fn decision(&self) -> Decision {
        if self.smss == 0.0 {
            return Decision::window(self.config.initial_window);
        }
        Decision {
            window: (self.cwnd / self.smss).max(1.0),
            pacing_rate: Some(Rate::from_bits_per_sec((self.pacing_rate * 8.0).max(1.0) as u64)),
            burst: (self.send_quantum / self.smss).max(1.0) as u32,
        }
    }

    fn needs_each_ack_in_repair(&self) -> bool {
        true
    }

    fn congestion_state(&self) -> Option<CongestionState> {
        let packets = |bytes: f64| bytes / self.smss.max(1.0);
        Some(CongestionState {
            name: self.state.name(),
            state_variables: [
                ("bandwidth_bps", 8.0 * self.max_bw.get()),
                ("bdp_packets", packets(self.bdp())),
                ("rounds", self.sampler.rounds() as f64),
                ("inflight_longterm_packets", packets(self.inflight_longterm)),
                ("inflight_shortterm_packets", packets(self.inflight_shortterm)),
                ("bandwidth_shortterm_bps", 8.0 * self.bw_shortterm),
                ("extra_acked_packets", packets(self.aggregation.extra)),
                ("full_bandwidth_rounds", f64::from(self.full_bw.count)),
            ],
        })
    }
}
