//! Thalweg: keeps a short queue on uncongested paths, and its fair share beside competing traffic.
//!
//! It responds to queueing delay, separates the path's own losses from congestion losses, and behaves as CUBIC where
//! competing traffic fills the queue. `docs/design/thalweg-scheme.md` describes the design and its reasons.
//!
//! ```text
//!   Start  -- standing queue, or losses beyond the path's -->  Hold  -- time-out -->  Start, to half of the window
//!                                                                    -- outage ---->  Start, to nearly all  (outage)
//!
//!   Hold:   the window converges to the flow's target queue                          (steady_state)
//!           losses beyond the path's: a lower rate, restored if the losses continue  (loss_probe)
//!           such losses beside a standing queue: a lower rate                        (many_flows)
//!           a queue that overflows below the target: at most half of its length      (overflow)
//!           a delay independent of the window: a longer path, not a queue            (base_delay_reset)
//!           a standing queue above the target: part of the window is yielded         (yield_share)
//!           a standing queue far above the target: the window of CUBIC               (competition)
//!           a queue that marks: the same                                             (marks)
//!           a router that reports a nearly full queue: a shorter target queue        (router_feedback)
//! ```
//!
//! Decisions are made once per round trip, except for the end of slow start. Volumes are in bytes, rates in bytes per
//! second and times in seconds.

mod base_delay_reset;
mod competition;
mod config;
mod delay;
mod loss;
mod loss_probe;
mod many_flows;
mod marks;
mod outage;
mod overflow;
mod router_feedback;
mod start;
mod steady_state;
mod target;
#[cfg(test)]
mod tests;
mod yield_share;

pub use config::ThalwegConfig;

use super::delivery::{Sampler, Stamp};
use super::{
    AckSample, Controller, Decision, FeedbackSample, LossKind, LossSample, LostSample, Path, SentSample,
};
use crate::units::{Duration, Rate, Time};
use crate::window::MAX_WINDOW;
use base_delay_reset::BaseDelayReset;
use competition::Competition;
use delay::Delay;
use loss::{PathLoss, Tally};
use loss_probe::LossProbe;
use many_flows::ManyFlows;
use outage::Outage;
use router_feedback::RouterFeedback;
use steady_state::Pace;
use target::Target;
use yield_share::Yielding;

/// Pacing rate as a multiple of one window per round trip: in slow start, and later. It does not limit the rate, it
/// only spreads the window's transmissions.
const PACING: (f64, f64) = (1.5, 1.2);
/// Duration of a burst at the pacing rate, in seconds: hosts wake some thousand times a second.
const QUANTUM: f64 = 250e-6;
/// Minimum and maximum burst, in segments. Pacing single segments loses throughput whenever a host wakes late, except
/// in slow start, which has more margin.
const BURST: (f64, f64) = (2.0, 64.0);
/// Minimum length of a round, as a share of the shortest round-trip time: a late packet may seem to end a round at
/// once.
const SHORTEST: f64 = 0.75;
/// Upper bound of the smoothed round-trip time, as a multiple of a round-trip time sample.
const OVER: f64 = 2.0;
/// Shares of the former window at which slow start ends after a time-out, and after an outage.
const RETURNS: (f64, f64) = (0.5, 0.9);
/// Share of the previous round's rate below which a delay is attributed to a host, not to the path.
const HOST_SLEEP_SHARE: f64 = 0.5;
/// Maximum share of an overflowing queue that a flow targets.
const FULL: f64 = 0.5;
/// Tolerated variation of an empty path's delay, as a share of the smallest queue target.
const TOLERANCE: f64 = 0.1;

/// Thalweg controller.
#[derive(Clone, Debug)]
pub struct Thalweg {
    config: ThalwegConfig,
    sampler: Sampler,
    /// Segment size, in bytes; 0 until the first packet is sent.
    segment: f64,
    window: f64,
    phase: Phase,
    pace: Pace,
    delay: Delay,
    base_delay_reset: BaseDelayReset,
    path_loss: PathLoss,
    loss_probe: Option<LossProbe>,
    many_flows: ManyFlows,
    yielding: Yielding,
    competition: Competition,
    router_feedback: RouterFeedback,
    outage: Outage,
    round: Round,
    /// Reduction of the window for this round trip, to drain the queue.
    drain_cut: f64,
    min_rtt: f64,
    /// Smoothed round-trip time; 0 before the first sample.
    rtt: f64,
    /// Sequence number after the last lost byte.
    lost_until: u64,
    /// Start of the current window; losses of packets sent earlier do not reflect it.
    epoch: Time,
    /// Time of the last acknowledgement.
    acked_at: Time,
}

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Slow start: the window doubles every round trip, up to `until`.
    Start { until: f64 },
    /// Steady state: the queue is held at its target.
    Hold,
}

/// Events of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Time,
    tally: Tally,
    /// Tally of the packets sent at a reduced rate.
    low: Tally,
    delivered: f64,
    /// Maximum data in flight, and data in flight at the transmission of the first lost packet.
    in_flight: f64,
    lost_at: f64,
    /// Sum of the round-trip times, and their number.
    rtts: (f64, f64),
    app_limited: bool,
    before: Before,
}

impl Round {
    /// Returns the arrival rate, given `rate` in this round trip. A sleeping host has few arrivals in one round trip,
    /// and the rest in the next.
    fn arrives(&self, rate: f64) -> f64 {
        if rate < HOST_SLEEP_SHARE * self.before.rate { self.before.rate } else { rate }
    }
}

/// Figures of the previous round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Delivery rate; 0 if unknown.
    rate: f64,
    sent: f64,
    in_flight: f64,
}

/// Data kept with each packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThalwegStamp {
    delivery: Stamp,
    /// The packet was sent at a reduced rate.
    low: bool,
}

impl Thalweg {
    /// Creates the controller described by `config`. An initial window below one segment becomes one segment; one
    /// beyond any sender's limit becomes the largest.
    pub fn new(config: &ThalwegConfig) -> Self {
        let initial_window = config.initial_window.clamp(1.0, MAX_WINDOW);
        Self {
            config: ThalwegConfig { initial_window, ..*config },
            sampler: Sampler::default(),
            segment: 0.0,
            window: 0.0,
            phase: Phase::Start { until: f64::INFINITY },
            pace: Pace::default(),
            delay: Delay::new(config.base_window),
            base_delay_reset: BaseDelayReset::default(),
            path_loss: PathLoss::default(),
            loss_probe: None,
            many_flows: ManyFlows::default(),
            yielding: Yielding::default(),
            competition: Competition::default(),
            router_feedback: RouterFeedback::default(),
            outage: Outage::default(),
            round: Round::default(),
            drain_cut: 0.0,
            min_rtt: f64::INFINITY,
            rtt: 0.0,
            lost_until: u64::MAX,
            epoch: Time::ZERO,
            acked_at: Time::ZERO,
        }
    }

    /// Returns true while it behaves as CUBIC because competing traffic fills the queue.
    pub fn is_competing(&self) -> bool {
        self.competition.is_there()
    }

    /// Returns the estimated share of packets lost by the path itself.
    pub fn path_loss(&self) -> f64 {
        self.path_loss.share()
    }

    /// Initialises the state at the transmission of the first packet.
    #[cold]
    fn begin(&mut self, path: &Path) {
        self.segment = f64::from(path.segment);
        self.window = self.first_window();
        self.rtt = path.smoothed_rtt.as_secs_f64();
        self.round.began = path.now;
    }

    /// Returns the queueing-delay target of a flow of this rate.
    fn target(&self, rate: f64) -> f64 {
        let wanted = self.target_rule().at(rate, self.segment, self.min_rtt);
        self.delay.full().map_or(wanted, |full| wanted.min((FULL * full).max(self.segment / rate.max(1.0))))
    }

    fn target_rule(&self) -> Target {
        Target { constant: self.config.queueing.as_secs_f64() }
    }

    /// Returns the rate of one window per round trip.
    fn rate(&self) -> f64 {
        if self.rtt > 0.0 { self.window / self.rtt } else { 0.0 }
    }

    /// Returns the allowed window, without the reduction of a one-round drain.
    fn window_without_drain(&self) -> f64 {
        let window = self.competition.window().map_or(self.window, |window| window * self.segment);
        if self.competition.is_probing() { window * (1.0 - competition::PROBE_CUT) } else { window }
    }

    /// Returns the initial window of a flow.
    fn first_window(&self) -> f64 {
        self.config.initial_window * self.segment
    }

    /// Returns true if the window exceeds the initial one; the flow is then not one of many.
    fn is_large(&self) -> bool {
        self.window > self.first_window()
    }

    /// Returns true if the path still carries a large window: a retransmission was lost, or is late because the queue
    /// grows faster than the time-out, and losses are judged per round trip. The window falls to its minimum if
    /// acknowledgements cease, as in RFC 9002 (section 7.6).
    fn is_served(&self, path: &Path) -> bool {
        self.is_large()
            && self.phase == Phase::Hold
            && path.now.since(self.acked_at).as_secs_f64() < self.min_rtt
    }

    /// Returns the tally of packets sent at a reduced rate.
    fn low(&mut self) -> &mut Tally {
        self.loss_probe.as_mut().map_or(&mut self.round.low, |loss_probe| &mut loss_probe.low)
    }

    /// Takes the round-trip time of an acknowledgement. For a retransmitted packet it uses the last transmission,
    /// unless the result is too short (RFC 8985, section 6.2, step 2).
    fn take_rtt(&mut self, sample: &AckSample) {
        if sample.rtt.is_some() {
            self.min_rtt = sample.path.min_rtt.as_secs_f64();
        }
        let rtt = sample.rtt.unwrap_or_else(|| sample.path.now.since(sample.sent_at)).as_secs_f64();
        if rtt >= self.min_rtt {
            self.round.rtts.0 += rtt;
            self.round.rtts.1 += 1.0;
            // RFC 6298, section 2: alpha is an eighth.
            let smoothed = if self.rtt == 0.0 { rtt } else { self.rtt + (rtt - self.rtt) / 8.0 };
            // The bound discards the outage's delay at the first packet sent after it: few packets arrive at the pacing
            // rate of an outage.
            self.rtt = smoothed.min(OVER * rtt);
        }
    }

    fn end_round(&mut self, path: &Path) {
        let now = path.now;
        let queueing = self.delay.end_round();
        self.router_feedback.watch(queueing, self.delay.newest());
        let last = core::mem::take(&mut self.round);
        let windows = self.window_without_drain() / self.first_window();
        let queueing = if self.base_delay_reset.has_moved(
            self.delay.standing(),
            windows,
            last.tally,
            self.path_loss(),
        ) {
            self.delay.reset_base();
            self.competition = Competition::default();
            0.0
        } else {
            queueing
        };
        let took = now.since(last.began).as_secs_f64();
        let rate = if took > 0.0 { last.delivered / took } else { 0.0 };
        self.round.began = now;
        self.round.before = Before { rate, sent: last.tally.sent, in_flight: last.in_flight };
        self.path_loss.control(last.low);
        self.end_drain(queueing);
        let rtt = if last.rtts.1 > 0.0 { last.rtts.0 / last.rtts.1 } else { self.rtt };
        if rtt <= 0.0 {
            return;
        }
        let empty = (rtt - queueing).max(0.0);
        if let Phase::Start { .. } = self.phase {
            self.end_round_of_start(now, &last, rate, empty);
        } else if self.respond_to_losses(&last, path, last.arrives(rate) * empty) {
            // The former queue estimate no longer matters.
        } else if let Some(window) = self.competition.window() {
            self.window = window * self.segment;
            let is_calm = queueing < self.target(self.rate());
            if self.competition.watch(now, rate, is_calm) {
                self.pace.slow_down();
            }
        } else if !last.app_limited {
            self.steer(now, &last, queueing, rate, rtt);
        }
    }
}

impl crate::digest::Digest for Thalweg {
    fn digest<H: core::hash::Hasher>(&self, now: Time, into: &mut H) {
        crate::digest::feed_debug(now, self, into);
    }
}

impl Controller for Thalweg {
    type PacketInfo = ThalwegStamp;

    fn on_sent(&mut self, sample: &SentSample) -> ThalwegStamp {
        if self.segment == 0.0 {
            self.begin(&sample.path);
        }
        // The segment size grows once path-MTU discovery succeeds.
        self.segment = f64::from(sample.path.segment);
        let delivery = self.sampler.on_sent(sample);
        self.round.in_flight = self.round.in_flight.max(delivery.in_flight as f64);
        ThalwegStamp { delivery, low: self.is_low() }
    }

    fn on_ack(&mut self, sample: &AckSample, info: ThalwegStamp) {
        let path = &sample.path;
        let rs = self.sampler.on_ack(sample, info.delivery);
        let acked = f64::from(sample.acked);
        self.acked_at = path.now;
        if sample.sent_at >= self.epoch {
            self.round.tally.sent += acked;
        }
        if info.low {
            self.low().sent += acked;
        }
        self.round.delivered += sample.acked_bytes as f64;
        self.round.app_limited |= rs.app_limited;
        if self.outage.is_over(sample) {
            self.take_rtt(sample);
            self.delay.sample(
                sample,
                TOLERANCE * self.config.queueing.as_secs_f64(),
                self.competition.is_there(),
            );
        }
        if let Phase::Start { until } = self.phase {
            self.start(sample, &rs, until);
        }
        self.competition.on_ack(path.now, path.smoothed_rtt, acked);
        let is_full_round = path.now.since(self.round.began).as_secs_f64() > SHORTEST * self.min_rtt;
        if rs.round_start && (is_full_round || self.min_rtt.is_infinite()) {
            self.end_round(path);
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, info: ThalwegStamp) {
        self.sampler.on_packet_lost(sample);
        if sample.named {
            // The router's message carries this information itself.
            return;
        }
        self.delay.lost(sample.sent_at);
        let events = if sample.sequence == self.lost_until { 0.0 } else { 1.0 };
        self.lost_until = sample.sequence + u64::from(sample.bytes);
        let one = Tally { sent: 1.0, lost: 1.0, events };
        if sample.sent_at >= self.epoch {
            if self.round.lost_at == 0.0 {
                self.round.lost_at = info.delivery.in_flight as f64;
            }
            self.round.tally.add(one);
        }
        if info.low {
            self.low().add(one);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // Single losses are evaluated once per round trip.
        if self.segment > 0.0 && sample.kind == LossKind::Mark {
            self.on_mark(&sample.path);
        } else if self.segment > 0.0 && sample.kind == LossKind::Timeout && !self.is_served(&sample.path) {
            let is_outage = self.outage.time_out(self.is_grown());
            if is_outage {
                self.delay.forget_newest();
            }
            let returns = if is_outage { RETURNS.1 } else { RETURNS.0 };
            let until = if let Phase::Start { until } = self.phase { until } else { returns * self.window };
            self.phase = Phase::Start { until };
            // Halve each time: if many flows start at once, their initial windows together may be too much.
            self.window = (self.window.min(self.first_window()) / 2.0).max(self.least());
            // Packets in flight may fill the queue for that time and be lost; their loss does not reflect smaller
            // windows.
            self.epoch = sample.path.now + Duration::from_secs_f64(self.rtt);
            self.round.tally = Tally::default();
            self.loss_probe = None;
            (self.competition, self.yielding) = (Competition::default(), Yielding::default());
        }
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        self.on_router_feedback(sample);
    }

    fn retransmits_reported_drops(&self) -> bool {
        true
    }

    fn on_app_limited(&mut self, path: &Path) {
        if self.segment > 0.0 {
            self.sampler.on_app_limited(path, self.decision().window);
        }
    }

    fn undoes(&self, before: &Self) -> bool {
        before.window > self.window
    }

    fn on_undo(&mut self, before: Self, _path: &Path) {
        // Measurements taken since are kept.
        (self.window, self.phase, self.loss_probe) = (self.window.max(before.window), before.phase, None);
    }

    fn decision(&self) -> Decision {
        if self.segment == 0.0 {
            return Decision::window(self.config.initial_window);
        }
        let window_without_drain = self.window_without_drain();
        let window = ((window_without_drain - self.drain_cut).max(self.least()) / self.segment).max(1.0);
        if self.rtt == 0.0 {
            return Decision::window(window);
        }
        let (gain, min_burst) =
            if matches!(self.phase, Phase::Start { .. }) { (PACING.0, 1.0) } else { (PACING.1, BURST.0) };
        let rate = gain * window_without_drain / self.rtt;
        Decision {
            window,
            pacing_rate: Some(Rate::from_bits_per_sec((8.0 * rate).max(1.0) as u64)),
            burst: (rate * QUANTUM / self.segment).clamp(min_burst, BURST.1) as u32,
        }
    }
}
