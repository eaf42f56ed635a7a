//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018; section numbers are
//! the paper's).
//!
//! A sender with this much queueing delay ahead of it should send at `1 / (delta * delay)` packets a second, which is the best that it
//! can do where all others do so as well. The window moves towards that rate, and the rates of all meet.
//!
//! ```text
//!   queueing delay:   standing RTT - shortest RTT of 10 s
//!   standing RTT:     the shortest of half a smoothed RTT
//!   each segment:     window +- velocity / (delta * window), up while window / standing RTT <= 1 / (delta * queueing delay)
//!   velocity:         doubles each round trip once the window has gone one way for three, or else 1
//!   pacing rate:      2 * window / standing RTT
//! ```
//!
//! Where only senders like this one share a queue, it is nearly empty every few round trips. One that has seen no such moment for five
//! shares it with somebody who fills it, and competes: `1 / delta` grows by one each round trip, and is halved by a loss.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the window is compared with that at which the newest acknowledged packet left, once per window (2.1) | with that at the start of the round trip, when it ends | a round trip ends with the first packet that left after it began, at that window | none |
//! | the velocity holds for a whole round trip, whichever way the window goes in it (2.1) | a step the other way ends the round trip, with a velocity of 1 | it was learnt on the way that is over; mvfst does so too | without, a window of 1400 segments falls to 15 within one round trip, and again and again, where 100 Mbit/s and 100 ms meet |
//! | the velocity is not bounded (2.1) | no segment moves the window by more than one segment | a window should not more than double, or vanish, within a round trip | none in equilibrium |
//! | nearly empty is less than a tenth of the range of round trips (2.2) | or equal to it | without any queue both are nothing | an empty path is no competitor |
//! | the time for which the shortest and the longest round trip count is exact | to an eighth of it | bounded memory | none to be seen |
//! | nothing bounds the window where a queue is always full, or drops and never delays: the shortest round trip is the standing one then (2.1) | more than 0.3 of the packets of two round trips lost leave the share of the window that arrived, 0.7 at most, with a velocity of 1, and so many let it not grow | the authors' code (`ReduceOnLoss`) leaves 0.7 of it then; mvfst cuts at persistent congestion alone | without, 99.8 % of what goes through a policer is lost; a path that loses more than 0.3 by itself is not filled |
//! | says nothing of a loss in slow start (2.1) | it ends slow start | whatever is lost, the path has no room for twice as much | less overshoot where buffers are short |
//! | says nothing of time-outs, idle times and windows that the application does not use | two segments after a time-out, the first window after an idle time, what is left of an unused one, in slow start again | RFC 5681, sections 3.1 and 4.1; RFC 2861 and RFC 7661, but for the threshold, which it does not have | none on a path that works and is used |
//! | says nothing of marks | packets are Not-ECT | losses are no sign of congestion to it in default mode, so that marks would not be | a queue that marks drops its packets |
//! | one-way or round-trip delays are not told apart | round trips | what is queued on the way back cannot be helped | less throughput where the way back is congested |

mod losses;
mod mode;

use super::recent::Recent;
use super::{AckSample, ConfigureController, Controller, Decision, LossKind, LossSample, LostSample, Path};
use crate::units::{Duration, Rate, Time};
use losses::Losses;
use mode::Mode;

/// The least window in segments.
const MIN_WINDOW: f64 = 2.0;
/// Round trips that the window must have kept its direction for until the velocity doubles (section 2.1).
const STEADY: u32 = 3;
/// The pacing rate as a multiple of a window for each standing round trip (section 2.1).
const PACING_GAIN: f64 = 2.0;
/// Round trips for which the longest of them counts (section 2.2).
const LONGEST: u64 = 4;

/// The configuration of [`Copa`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopaConfig {
    /// The window at the start, in segments; at least 1.
    pub initial_window: f64,
    /// The weight of delay against throughput, above 0 (section 2.1: 0.5): each sender keeps about 1 / delta packets queued.
    pub delta: f64,
    /// Compete with senders that fill the queue (section 2.2), in place of staying with [`delta`](Self::delta).
    pub compete: bool,
    /// The time for which the shortest round trip counts (section 2.1: 10 s).
    pub min_rtt_window: Duration,
}

/// Copa.
#[derive(Clone, Copy, Debug)]
pub struct Copa {
    initial_window: f64,
    min_rtt_window: Duration,
    window: f64,
    slow_start: bool,
    mode: Mode,
    shortest: Recent<false>,
    standing: Recent<false>,
    longest: Recent<true>,
    velocity: f64,
    round: Round,
    losses: Losses,
    /// Time-outs so far, and cuts for heavy losses.
    cuts: u32,
    pacing_rate: Option<Rate>,
}

/// A round trip, and where the window went in those before it.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Time,
    /// The window at its start.
    window: f64,
    /// The window grew in the last one, or shrank; `None` where that is not known.
    up: Option<bool>,
    /// Round trips for which it has kept that direction since the one that set it.
    same: u32,
}

impl Copa {
    /// Starts as `config` says; values out of range are moved to the nearest that are not.
    pub fn new(config: &CopaConfig) -> Self {
        let window = config.initial_window.max(1.0);
        Self {
            initial_window: window,
            min_rtt_window: config.min_rtt_window,
            window,
            slow_start: true,
            mode: Mode::new(config.delta, config.compete),
            shortest: Recent::default(),
            standing: Recent::default(),
            longest: Recent::default(),
            velocity: 1.0,
            round: Round { window, ..Round::default() },
            losses: Losses::default(),
            cuts: 0,
            pacing_rate: None,
        }
    }

    /// The delta that it has now.
    pub fn delta(&self) -> f64 {
        1.0 / self.mode.inverse_delta()
    }

    /// True while it competes with senders that fill the queue.
    pub const fn is_competing(&self) -> bool {
        self.mode.is_competing()
    }

    /// The segments by which a round trip moves the window, divided by 1 / delta.
    pub const fn velocity(&self) -> f64 {
        self.velocity
    }

    /// Section 2.1: the direction of the window in the round trip that ends, and the velocity that follows.
    fn end_round(&mut self, now: Time) {
        let moved = self.window != self.round.window;
        let up = moved.then_some(self.window > self.round.window);
        if moved && up == self.round.up {
            self.round.same = self.round.same.saturating_add(1);
        } else {
            (self.round.up, self.round.same) = (up, 0);
        }
        self.velocity = match self.round.same {
            0 => 1.0,
            same if same >= STEADY => self.velocity * 2.0,
            _ => self.velocity,
        };
        (self.round.start, self.round.window) = (now, self.window);
    }

    /// Heavy losses leave `share` of the window.
    fn cut(&mut self, now: Time, share: f64) {
        self.cuts = self.cuts.saturating_add(1);
        self.window = (self.window * share).max(MIN_WINDOW);
        self.slow_start = false;
        self.velocity = 1.0;
        self.round = Round { start: now, window: self.window, ..Round::default() };
    }

    /// Section 2.1: towards the target rate, by what so many acknowledged segments are worth.
    fn step(&mut self, now: Time, acked: u32, up: bool) {
        if self.velocity > 1.0 && self.round.up != Some(up) {
            // It was learnt on the way that is over.
            self.velocity = 1.0;
            self.round = Round { start: now, window: self.window, ..Round::default() };
        }
        let inverse_delta = self.mode.inverse_delta();
        self.velocity = self.velocity.min(self.window / inverse_delta).max(1.0);
        let change = f64::from(acked) * (self.velocity * inverse_delta / self.window).min(1.0);
        self.window = if up { self.window + change } else { (self.window - change).max(MIN_WINDOW) };
    }

    fn begin_slow_start(&mut self, window: f64) {
        self.window = self.window.min(window);
        self.slow_start = true;
        self.velocity = 1.0;
        self.round = Round { window: self.window, start: self.round.start, ..Round::default() };
    }

    fn pace(&mut self, segment: u32) {
        let standing = self.standing.get();
        if standing.is_zero() || standing == Duration::MAX {
            self.pacing_rate = None;
            return;
        }
        let bits = PACING_GAIN * self.window * f64::from(segment) * 8e12;
        let rate = (bits / standing.as_picos() as f64).max(1.0);
        self.pacing_rate = Some(Rate::from_bits_per_sec(rate as u64));
    }
}

impl Controller for Copa {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let Path { now, smoothed_rtt, segment, .. } = sample.path;
        if let Some(rtt) = sample.rtt {
            self.shortest.sample(now, rtt, self.min_rtt_window);
            self.standing.sample(now, rtt, smoothed_rtt / 2);
            self.longest.sample(now, rtt, smoothed_rtt * LONGEST);
        }
        let (shortest, standing) = (self.shortest.get(), self.standing.get());
        if standing == Duration::MAX {
            return;
        }
        let queueing = standing.saturating_sub(shortest);
        let range = self.longest.get().saturating_sub(shortest);
        self.mode.update(now, smoothed_rtt, queueing, range);
        // Section 2.1: the rate is not above the target, both multiplied by what they are divided by.
        let up = self.window * queueing.as_secs_f64() <= self.mode.inverse_delta() * standing.as_secs_f64();
        let grows = !up || !sample.app_limited && !self.losses.forbid_growth(sample.sent_at);
        if self.slow_start && up {
            self.window += if grows { f64::from(sample.acked) } else { 0.0 };
        } else if self.slow_start {
            self.slow_start = false;
            (self.round.start, self.round.window) = (now, self.window);
        }
        if !self.slow_start {
            if sample.sent_at >= self.round.start && now > self.round.start {
                self.end_round(now);
                self.mode.end_round();
            }
            if grows {
                self.step(now, sample.acked, up);
            }
        }
        if let Some(share) = self.losses.on_ack(now, sample.sent_at, sample.acked, smoothed_rtt) {
            self.cut(now, share);
        }
        self.pace(segment);
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _info: ()) {
        self.losses.on_lost(sample.sent_at);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.mode.on_loss();
        self.slow_start = false;
        if sample.kind == LossKind::Timeout {
            self.cuts = self.cuts.saturating_add(1);
            self.losses.on_timeout(sample.path.now);
            self.begin_slow_start(MIN_WINDOW);
        }
        self.pace(sample.path.segment);
    }

    fn undoes(&self, before: &Self) -> bool {
        before.cuts < self.cuts || before.mode.inverse_delta() > self.mode.inverse_delta()
    }

    fn on_undo(&mut self, before: Self, path: &Path) {
        // What was measured since stays, and so does what the window did for other reasons.
        self.mode.undo(&before.mode);
        if before.cuts < self.cuts {
            self.window = self.window.max(before.window);
            self.slow_start = before.slow_start;
        }
        self.pace(path.segment);
    }

    fn on_idle(&mut self, path: &Path) {
        self.begin_slow_start(self.initial_window);
        self.pace(path.segment);
    }

    fn on_unused(&mut self, window: f64, path: &Path) {
        self.begin_slow_start(window.max(MIN_WINDOW));
        self.pace(path.segment);
    }

    fn decision(&self) -> Decision {
        Decision { window: self.window, pacing_rate: self.pacing_rate, burst: 1 }
    }
}

impl ConfigureController for CopaConfig {
    type Controller = Copa;
    const NAME: &'static str = "copa";

    fn make(&self) -> Copa {
        Copa::new(self)
    }
}
