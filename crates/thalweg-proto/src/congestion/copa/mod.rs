//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018; section
//! numbers are the paper's).
//!
//! A sender with the queueing delay `delay` should send at `1 / (delta * delay)` packets a second, which is optimal if
//! all other senders do the same. The window moves towards that rate, and the rates of all senders converge.
//!
//! ```text
//!   queueing delay:   standing RTT - shortest RTT of 10 s
//!   standing RTT:     the shortest of half a smoothed RTT
//!   each segment:     window +- velocity / (delta * window), up while window / standing RTT <= 1 / (delta * queueing delay)
//!   velocity:         doubles each round trip once the window has gone one way for three, or else 1
//!   pacing rate:      2 * window / standing RTT
//! ```
//!
//! If only Copa senders share a queue, it is nearly empty every few round trips. A sender that has not observed a
//! nearly empty queue for five round trips shares it with a buffer-filling sender, and competes: `1 / delta` grows by
//! one each round trip, and is halved by a loss.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | once per window, the window is compared with that at the transmission of the newest acknowledged packet (2.1) | compared at the end of a round trip with the window at its start | a round trip ends with the first packet sent after it began, at that window | none |
//! | the velocity holds for a full round trip, in either direction of the window (2.1) | a step in the other direction ends the round trip, with a velocity of 1 | the velocity was learnt in the former direction; mvfst does the same | without it, a window of 1400 segments repeatedly falls to 15 within one round trip at 100 Mbit/s and 100 ms |
//! | the velocity is not bounded (2.1) | no segment moves the window by more than one segment | a window should at most double, and not vanish, within a round trip | none in equilibrium |
//! | nearly empty is less than a tenth of the range of round trips (2.2) | or equal to it | without a queue both are zero | an empty path is not taken for a competitor |
//! | the same (2.2) | or at most one own packet queued, below half of the range | alone, a sender with the default delta queues 0 to 5 packets every five round trips: a tenth of that is half a packet, which the rest of a packet in transmission exceeds | without it, a lone sender at 10 Mbit/s and 40 ms competes with itself for good, with 278 packets queued instead of 3; shares beside CUBIC and NewReno are the same. It still can below 8 packets of bandwidth-delay product |
//! | the minimum and maximum round-trip times expire exactly | to an eighth of it | bounded memory | none observed |
//! | the window is unbounded if a queue is always full, or drops without delaying: the minimum then equals the standing round-trip time (2.1) | if more than 0.3 of the packets of two round trips are lost, the window falls to the delivered share, at most 0.7, with a velocity of 1; at that loss rate it does not grow | the authors' code (`ReduceOnLoss`) reduces it to 0.7 then; mvfst reduces it only at persistent congestion | without it, 99.8 % of the data sent through a policer is lost; a path with a loss rate above 0.3 is not filled |
//! | loss in slow start: unspecified (2.1) | it ends slow start | the path cannot carry twice the window | less overshoot with short buffers |
//! | timeouts, idle times and unused windows: unspecified | two segments after a timeout, the initial window after an idle time, the used part of an unused window; slow start in each case | RFC 5681, sections 3.1 and 4.1; RFC 2861 and RFC 7661, without ssthresh, which Copa lacks | none on a path that works and is used |
//! | marks: unspecified | packets are Not-ECT | in default mode losses do not indicate congestion, so marks would not either | a queue that marks drops its packets |
//! | one-way or round-trip delays: unspecified | round-trip delays | a queue on the return path is outside the sender's control | less throughput if the return path is congested |

mod competitive_mode;
mod heavy_losses;

use super::windowed_rtt_extremes::{WindowedMax, WindowedMin};
use super::{
    AckSample, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample, LostSample,
    SenderRules, SharedPath,
};
use crate::units::{Duration, Rate, Time};
use competitive_mode::CompetitiveMode;
use heavy_losses::HeavyLossDetector;

/// Minimum window, in segments.
const MIN_WINDOW: f64 = 2.0;
/// Round trips with a constant window direction before the velocity doubles (section 2.1).
const STEADY_ROUNDS: u32 = 3;
/// Pacing rate, as a multiple of one window per standing round-trip time (section 2.1).
const PACING_GAIN: f64 = 2.0;
/// Length of the maximum filter, in round trips (section 2.2).
const MAX_RTT_WINDOW_RTTS: u64 = 4;

/// Configuration of [`Copa`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopaConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Weight of delay against throughput, above 0 (section 2.1: 0.5): each sender keeps about 1 / delta packets
    /// queued.
    pub delta: f64,
    /// Compete with buffer-filling senders (section 2.2), instead of keeping [`delta`](Self::delta).
    pub competitive_mode: bool,
    /// Length of the minimum filter (section 2.1: 10 s).
    pub min_rtt_lifetime: Duration,
}

/// Copa controller.
#[derive(Clone, Copy, Debug)]
pub struct Copa {
    initial_window: f64,
    min_rtt_lifetime: Duration,
    window: f64,
    slow_start: bool,
    mode: CompetitiveMode,
    min_rtt: WindowedMin,
    standing_rtt: WindowedMin,
    max_rtt: WindowedMax,
    velocity: f64,
    round: Round,
    losses: HeavyLossDetector,
    /// Number of timeouts and of reductions for heavy losses.
    reduction_count: u32,
    pacing_rate: Option<Rate>,
}

/// Current round trip, and the window direction in earlier ones.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Time,
    /// Window at its start.
    window: f64,
    /// The window grew in the last round trip; `None` if unknown.
    grew: Option<bool>,
    /// Number of round trips in the current direction after its first one.
    same_direction_rounds: u32,
}

impl Copa {
    /// Creates the controller described by `config`; out-of-range values are clamped.
    pub fn new(config: &CopaConfig) -> Self {
        let window = config.initial_window.max(1.0);
        Self {
            initial_window: window,
            min_rtt_lifetime: config.min_rtt_lifetime,
            window,
            slow_start: true,
            mode: CompetitiveMode::new(config.delta, config.competitive_mode),
            min_rtt: WindowedMin::default(),
            standing_rtt: WindowedMin::default(),
            max_rtt: WindowedMax::default(),
            velocity: 1.0,
            round: Round { window, ..Round::default() },
            losses: HeavyLossDetector::default(),
            reduction_count: 0,
            pacing_rate: None,
        }
    }

    /// Returns the current delta.
    pub fn delta(&self) -> f64 {
        1.0 / self.mode.inverse_delta()
    }

    /// Returns true in competitive mode.
    pub const fn is_competing(&self) -> bool {
        self.mode.is_competing()
    }

    /// Returns the velocity: the change of the window per round trip, in units of 1 / delta.
    pub const fn velocity(&self) -> f64 {
        self.velocity
    }

    /// Section 2.1: determines the window direction of the round trip that ends, and updates the velocity.
    fn end_round(&mut self, now: Time) {
        let window_changed = self.window != self.round.window;
        let grew = window_changed.then_some(self.window > self.round.window);
        if window_changed && grew == self.round.grew {
            self.round.same_direction_rounds = self.round.same_direction_rounds.saturating_add(1);
        } else {
            (self.round.grew, self.round.same_direction_rounds) = (grew, 0);
        }
        self.velocity = match self.round.same_direction_rounds {
            0 => 1.0,
            rounds if rounds >= STEADY_ROUNDS => self.velocity * 2.0,
            _ => self.velocity,
        };
        (self.round.start, self.round.window) = (now, self.window);
    }

    /// Reduces the window to `decrease_factor` after heavy losses.
    fn reduce_window(&mut self, now: Time, decrease_factor: f64) {
        self.reduction_count = self.reduction_count.saturating_add(1);
        self.window = (self.window * decrease_factor).max(MIN_WINDOW);
        self.slow_start = false;
        self.velocity = 1.0;
        self.round = Round { start: now, window: self.window, ..Round::default() };
    }

    /// Section 2.1: moves the window towards the target rate, by the amount for `acked` segments.
    fn adjust_window(&mut self, now: Time, acked_segments: u32, grow: bool) {
        if self.velocity > 1.0 && self.round.grew != Some(grow) {
            // The velocity applies to the previous direction.
            self.velocity = 1.0;
            self.round = Round { start: now, window: self.window, ..Round::default() };
        }
        let inverse_delta = self.mode.inverse_delta();
        // At most one segment for each segment: the window at most doubles in a round trip.
        self.velocity = self.velocity.min(self.window / inverse_delta).max(1.0);
        let change = f64::from(acked_segments) * (self.velocity * inverse_delta / self.window).min(1.0);
        self.window = if grow { self.window + change } else { (self.window - change).max(MIN_WINDOW) };
    }

    fn begin_slow_start(&mut self, window: f64) {
        self.window = self.window.min(window);
        self.slow_start = true;
        self.velocity = 1.0;
        self.round = Round { window: self.window, start: self.round.start, ..Round::default() };
    }

    fn update_pacing_rate(&mut self, segment: u32) {
        let standing_rtt = self.standing_rtt.get();
        if standing_rtt.is_zero() || standing_rtt == Duration::MAX {
            self.pacing_rate = None;
            return;
        }
        let bits_times_ps = PACING_GAIN * self.window * f64::from(segment) * 8e12;
        let rate = (bits_times_ps / standing_rtt.as_picos() as f64).max(1.0);
        self.pacing_rate = Some(Rate::from_bits_per_sec(rate as u64));
    }
}

impl Controller for Copa {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let ConnectionState { now, smoothed_rtt, segment, .. } = sample.connection;
        if let Some(rtt) = sample.rtt {
            self.min_rtt.sample(now, rtt, self.min_rtt_lifetime);
            // Section 2.1: the minimum of half a round trip, since a burst of acknowledgements inflates
            // single samples.
            self.standing_rtt.sample(now, rtt, smoothed_rtt / 2);
            self.max_rtt.sample(now, rtt, smoothed_rtt * MAX_RTT_WINDOW_RTTS);
        }
        let (min_rtt, standing_rtt) = (self.min_rtt.get(), self.standing_rtt.get());
        if standing_rtt == Duration::MAX {
            return;
        }
        let queueing_delay = standing_rtt.saturating_sub(min_rtt);
        let rtt_range = self.max_rtt.get().saturating_sub(min_rtt);
        let queued_packets = self.window * queueing_delay.as_secs_f64() / standing_rtt.as_secs_f64();
        self.mode.update(now, smoothed_rtt, queueing_delay, rtt_range, queued_packets);
        // Section 2.1: the rate is not above the target; both sides are multiplied by the denominators.
        let is_below_target = self.window * queueing_delay.as_secs_f64()
            <= self.mode.inverse_delta() * standing_rtt.as_secs_f64();
        let may_move = !is_below_target || !sample.app_limited && !self.losses.forbids_growth(sample.sent_at);
        // Section 2.1: slow start doubles the window until the rate exceeds the target for the first time.
        if self.slow_start && is_below_target {
            self.window += if may_move { f64::from(sample.acked) } else { 0.0 };
        } else if self.slow_start {
            self.slow_start = false;
            (self.round.start, self.round.window) = (now, self.window);
        }
        if !self.slow_start {
            if sample.sent_at >= self.round.start && now > self.round.start {
                self.end_round(now);
                self.mode.end_round();
            }
            if may_move {
                self.adjust_window(now, sample.acked, is_below_target);
            }
        }
        if let Some(decrease_factor) = self.losses.on_ack(now, sample.sent_at, sample.acked, smoothed_rtt) {
            self.reduce_window(now, decrease_factor);
        }
        self.update_pacing_rate(segment);
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _info: ()) {
        self.losses.on_lost(sample.sent_at);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.mode.on_loss();
        self.slow_start = false;
        if sample.kind == LossKind::Timeout {
            self.reduction_count = self.reduction_count.saturating_add(1);
            self.losses.on_timeout(sample.connection.now);
            self.begin_slow_start(MIN_WINDOW);
        }
        self.update_pacing_rate(sample.connection.segment);
    }

    fn would_undo(&self, saved: &Self) -> bool {
        saved.reduction_count < self.reduction_count || saved.mode.inverse_delta() > self.mode.inverse_delta()
    }

    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        // Measurements since then are kept, as are window changes for other reasons.
        self.mode.undo(&saved.mode);
        if saved.reduction_count < self.reduction_count {
            self.window = self.window.max(saved.window);
            self.slow_start = saved.slow_start;
        }
        self.update_pacing_rate(connection.segment);
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        self.begin_slow_start(self.initial_window);
        self.update_pacing_rate(connection.segment);
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        self.begin_slow_start(window.max(MIN_WINDOW));
        self.update_pacing_rate(connection.segment);
    }

    fn decision(&self) -> Decision {
        Decision { window: self.window, pacing_rate: self.pacing_rate, burst: 1 }
    }
}

impl ConfigureController for CopaConfig {
    type Controller = Copa;
    const NAME: &'static str = "copa";
    const SENDER_RULES: SenderRules = SenderRules::UNUSED_WINDOW;

    fn make(&self) -> Copa {
        Copa::new(self)
    }

    /// Arun and Balakrishnan 2018, section 2.1: 1 / delta packets of each flow.
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        Some(path.delay_of_packets(1.0 / self.delta))
    }
}
