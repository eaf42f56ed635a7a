//! BBR, version 3 (draft-ietf-ccwg-bbr, editor's copy of August 2026; section names are its own).
//!
//! BBR keeps a model of the path: how fast it delivers (`max_bw`), how long an empty one takes (`min_rtt`), and how much may be
//! in flight before it loses. It paces at what the model says, and tests the model by sending faster and slower in turn.
//!
//! ```text
//!   Startup -> Drain -> ProbeDown -> ProbeCruise -> ProbeRefill -> ProbeUp
//!                           ^ |                        ^              |
//!                           | +------------------------+              |
//!                           +-----------------------------------------+
//!   every state -> ProbeRtt -> ProbeCruise, or Startup where the pipe was never full
//! ```
//!
//! Two time scales bound it. `inflight_longterm` is what a probe found too much; `bw_shortterm` and `inflight_shortterm` follow
//! losses down from round trip to round trip, and are forgotten before the next probe.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | losses are marked before the acknowledgement that tells of them is dealt with ("Per-ACK Steps") | after | senders tell controllers so | what the acknowledgement itself found lost counts with the next one; the answer to a lost packet is not later |
//! | the first pacing rate assumes a round trip of 1 ms until the next is known ("Pacing Rate" in code) | it is set anew with the first round-trip time, as the section's prose has it | a rate that only grows would pace nothing in Startup | bursts of the initial window, not of every window |
//! | every packet is paced ("Pacing") | up to ten leave unpaced when the application goes on after all was acknowledged | RFC 9002, section 7.7 | answers of a few packets take no second round trip |
//! | the first packet is paced | sent at once | the size of segments is known with it | none |
//! | state is saved for undoing at the first loss of each round trip (`NoteLoss`) and on entering recovery | at the first loss of an episode | "before the loss episode"; the first loss may have ended a probe by the time that recovery is entered | an episode of several round trips is undone as a whole |
//! | `SaveCwnd` follows the change to ProbeRTT | it precedes it | what it saves is the window before | none |
//! | windows are restored when recovery ends, by the transport | by the cumulative acknowledgement | recovery from a time-out is told to no controller | none |
//! | a sample without a rate counts as a round trip without growth (`CheckFullBWReached`) | it does not count | it says nothing of growth | Startup does not end for samples shorter than a round trip |
//! | `lost_prefix` may be negative, or more than the packet (`InflightAtLoss`) | within the packet | it is a part of the packet | `inflight_longterm` is not below what was in flight before the packet |
//! | `MaxBwFilterLen` by a windowed filter | two values, of this cycle and the last; a cycle without a sample pushes none out | the window is two cycles long | none but for cycles that are limited by the application |
//! | the short exit by loss sets `full_bw_reached` ("Exiting Startup Based on Packet Loss") | `full_bw_now` too | the appendix' second case asks for both | none: ProbeBW_UP begins with a new estimate |
//! | in Drain the table bounds the window by `inflight_longterm`, `BoundCwndForModel` does not | as `BoundCwndForModel` | the table is a summary | Drain ends at the bandwidth-delay product either way |
//! | the time between probes is drawn at random (`PickProbeWait`) | from the time and what was delivered | engines are free of hidden randomness | flows of one bottleneck still draw apart |
//! | no answer to marks is specified, beyond that they count as congestion ("ECN") | a marked acknowledgement counts as the loss of what it acknowledges | RFC 3168 | probes end, and bounds fall, as with losses |
//! | without selective acknowledgements any loss ends a probe | losses are always counted | senders of this project have them with BBR | none |

mod aggregation;
mod config;
mod control;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;
#[cfg(test)]
mod tests;

pub use config::{BbrConfig, FilterAdvance, ProbeRttBasis};
pub use state::BbrState;

use super::delivery::{self, RateSample, Sampler, Stamp};
use super::{
    AckSample, CongestionState, Controller, Decision, LossKind, LossSample, LostSample, Path, SentSample,
};
use crate::units::{Duration, Rate, Time};
use crate::window::MAX_WINDOW;

/// BBR. Volumes are in bytes, rates in bytes a second, as the draft has them.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    sampler: Sampler,
    state: BbrState,
    /// C.SMSS; 0 until the first packet leaves, which tells it.
    smss: f64,
    /// C.cwnd.
    cwnd: f64,
    /// BBR.prior_cwnd.
    prior_cwnd: f64,
    cwnd_limited: control::CwndLimited,
    /// C.pacing_rate.
    pacing_rate: f64,
    /// C.send_quantum.
    send_quantum: f64,
    /// BBR.max_bw.
    max_bw: model::MaxBandwidth,
    /// BBR.bw.
    bw: f64,
    /// BBR.bw_shortterm, infinite where nothing bounds it.
    bw_shortterm: f64,
    /// BBR.inflight_shortterm, infinite where nothing bounds it.
    inflight_shortterm: f64,
    /// BBR.inflight_longterm, infinite where nothing bounds it.
    inflight_longterm: f64,
    latest: model::Latest,
    aggregation: aggregation::Aggregation,
    full_bw: startup::FullBandwidth,
    /// BBR.drain_start_round.
    drain_start_round: u64,
    cycle: probe_bw::Cycle,
    min_rtt: probe_rtt::MinRtt,
    loss: loss::Losses,
    undo: loss::Undo,
    /// BBR.idle_restart.
    idle_restart: bool,
    has_rtt: bool,
}

/// The news of an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Acked {
    now: Time,
    /// RS.
    rs: RateSample,
    /// RS.delivery_rate; 0 without.
    rate: f64,
    /// RS.rtt.
    rtt: Option<Duration>,
    /// C.inflight.
    in_flight: f64,
}

impl Bbr {
    /// Starts as `config` says (OnInit), but with no window that no sender follows. What depends on the path is set when the first
    /// packet leaves.
    pub fn new(config: &BbrConfig) -> Self {
        let initial_window = config.initial_window.clamp(1.0, MAX_WINDOW);
        Self {
            config: BbrConfig { initial_window, ..*config },
            sampler: Sampler::default(),
            state: BbrState::Startup,
            smss: 0.0,
            cwnd: 0.0,
            prior_cwnd: 0.0,
            cwnd_limited: control::CwndLimited::default(),
            pacing_rate: 0.0,
            send_quantum: 0.0,
            max_bw: model::MaxBandwidth::default(),
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            latest: model::Latest::default(),
            aggregation: aggregation::Aggregation::default(),
            full_bw: startup::FullBandwidth::default(),
            drain_start_round: 0,
            cycle: probe_bw::Cycle::default(),
            min_rtt: probe_rtt::MinRtt::default(),
            loss: loss::Losses::default(),
            undo: loss::Undo::default(),
            idle_restart: false,
            has_rtt: false,
        }
    }

    /// The state that it is in.
    pub const fn state(&self) -> BbrState {
        self.state
    }

    /// BBR.pacing_gain.
    pub(super) const fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Drain => self.config.drain_gain,
            state => state.pacing_gain(),
        }
    }

    /// The state is another from now on, with its gains.
    fn enter(&mut self, state: BbrState) {
        self.state = state;
    }

    /// The first packet leaves: the path is there.
    #[cold]
    fn begin(&mut self, path: &Path) {
        self.smss = f64::from(path.segment);
        self.cwnd = self.initial_cwnd();
        self.init_pacing_rate(path.smoothed_rtt);
        self.set_send_quantum();
        self.min_rtt.stamp = path.now;
        self.min_rtt.probe_stamp = path.now;
        self.aggregation.since = path.now;
    }

    /// HandleRestartFromIdle(): at the rate that the path had, rather than from the beginning ("Restarting From Idle").
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

    /// The first round-trip time, by which the first rate was too high or too low.
    #[cold]
    fn first_rtt(&mut self, path: &Path) {
        self.has_rtt = true;
        self.init_pacing_rate(path.smoothed_rtt);
    }

    /// UpdateModelAndState().
    fn update_model(&mut self, ack: &Acked) {
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

    /// UpdateControlParameters().
    fn update_control(&mut self, ack: &Acked) {
        self.set_pacing_rate(self.pacing_gain());
        self.set_send_quantum();
        self.set_cwnd(ack);
    }
}

impl crate::digest::Digest for Bbr {
    fn digest<H: core::hash::Hasher>(&self, now: Time, into: &mut H) {
        crate::digest::feed_debug(now, self, into);
    }
}

impl Controller for Bbr {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        let path = &sample.path;
        if self.smss == 0.0 {
            self.begin(path);
        }
        if path.in_flight_bytes == 0 && self.sampler.is_app_limited() {
            self.restart_from_idle(path.now);
        }
        let stamp = self.sampler.on_sent(sample);
        self.cwnd_limited.note(stamp.in_flight as f64 + self.smss > self.cwnd);
        stamp
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        self.smss = f64::from(sample.path.segment);
        let marked = sample.ce > 0 && self.config.ecn;
        if marked {
            self.sampler.on_marked(sample.acked_bytes);
        }
        let rs = self.sampler.on_ack(sample, stamp);
        let ack = Acked {
            now: sample.path.now,
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
            self.first_rtt(&sample.path);
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
            LossKind::Duplicates => self.begin_episode(sample.path.next_sequence, None),
            LossKind::Timeout => {
                let in_flight = sample.path.in_flight_bytes as f64;
                self.enter_timeout(sample.path.now, sample.path.next_sequence, in_flight);
            }
            // Each marked acknowledgement was answered.
            LossKind::Mark => {}
        }
    }

    fn on_app_limited(&mut self, path: &Path) {
        if self.smss > 0.0 {
            self.sampler.on_app_limited(path, self.cwnd / self.smss);
        }
    }

    fn undoes(&self, _before: &Self) -> bool {
        true
    }

    fn on_undo(&mut self, _before: Self, _path: &Path) {
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
            known: [
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
