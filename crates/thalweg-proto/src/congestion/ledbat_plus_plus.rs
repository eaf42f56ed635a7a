//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus by the rules of its version 01, and RFC 6817 where it says nothing; section numbers are
//! the draft's): transfers in the background, which leave a queue of a bounded time, and give way to others.
//!
//! ```text
//!   queueing delay:   the shortest of four round trips - the shortest of ten minutes
//!   gain:             1 / min(16, ceil(2 * target / shortest))
//!   slow start:       window += gain for each segment, at first until the queue is 3/4 of the target
//!   at the target:    window += gain for each round trip
//!   above it:         window += max(gain - constant * window * (delay / target - 1), -window / 2), once a round trip
//!   a loss:           window *= 1 / 2
//! ```
//!
//! Now and then the sender slows down to two segments for two round trips, in which queues drain, so that one that came late does not
//! take the queue of the others for a part of the path. Then it ramps up to its window again. The first slowdown is two
//! round trips after the first slow start, others nine times as long after the last one as that took, so that they cost a tenth.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the formula of decrease is given for all delays (4.3) | above the target; below, the window grows by the gain | below, it would grow by as much as it is | as other implementations read it |
//! | when in a round trip the decrease comes is not said (4.3) | with the first segment that left after the last one | what was sent before says nothing of it | none |
//! | a slowdown ramps up by slow start (4.4), which has a gain (4.1) | with the gain | slow start is that of 4.1; Apple's does so | a ramp takes the longer the shorter the path is, and the next slowdown comes the later |
//! | says nothing of a time-out in a slowdown (4.4) | of what left since it began: the window that was set aside stays, and slow start without the gain leads back to it | acknowledgements of two segments are lost together as no others are, and that says nothing of a larger window | without, half of the acknowledgements lost stop the sender |
//! | what ends a ramp but its threshold is not said (4.4) | a queue above the target, or a loss | somebody else came | the slowdown is over with it |
//! | the history of shortest delays is kept by minutes (RFC 6817, sections 2.4.2 and 2.5) | by eighths of ten minutes | as much for less | none |
//! | growth is bounded by what is in flight (RFC 6817, section 2.4.2) | none while the application has nothing to send | senders tell so | none |
//! | says nothing of marks | one is a loss of which nothing goes again | RFC 6817, section 2.4.2 | as other schemes here |

use super::recent::Recent;
use super::{AckSample, CeResponse, ConfigureController, Controller, Decision, LossKind, LossSample, Path};
use crate::units::{Duration, Time};

/// The least window in segments, which is that of a slowdown too (section 4.4).
const MIN_WINDOW: f64 = 2.0;
/// The window after a time-out in segments (RFC 6817, section 2.4.2).
const TIMEOUT_WINDOW: f64 = 1.0;
/// The largest divisor of the gain (section 4.2).
const MAX_DIVISOR: f64 = 16.0;
/// Round trips between the first slow start and the first slowdown, and of standing still in each (section 4.4).
const ROUND_TRIPS: u64 = 2;
/// A slowdown follows after so many times as long as the last one took (section 4.4).
const APART: u64 = 9;
/// Round trips of which the shortest is the delay now (section 4.5).
const FILTER: usize = 4;
/// The time for which the shortest round trip counts (RFC 6817, sections 2.4.2 and 2.5).
const HISTORY: Duration = Duration::from_secs(600);

/// The configuration of [`LedbatPlusPlus`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedbatPlusPlusConfig {
    /// The window at the start, in segments; at least 1 (section 4.1: 2).
    pub initial_window: f64,
    /// The slow-start threshold at the start, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// The queueing delay that it comes to, above zero (section 4.5: 60 ms).
    pub target: Duration,
    /// The weight of what is queued beyond the target, 0 or more (section 4.3: 1).
    pub constant: f64,
    /// Slow down now and then (section 4.4).
    pub slowdowns: bool,
}

impl LedbatPlusPlusConfig {
    /// The values of the draft.
    pub const RECOMMENDED: Self = Self {
        initial_window: 2.0,
        initial_ssthresh: f64::INFINITY,
        target: Duration::from_millis(60),
        constant: 1.0,
        slowdowns: true,
    };
}

/// LEDBAT++.
#[derive(Clone, Copy, Debug)]
pub struct LedbatPlusPlus {
    config: LedbatPlusPlusConfig,
    window: f64,
    ssthresh: f64,
    shortest: Recent<false>,
    /// The last round trips, in a ring.
    samples: [Duration; FILTER],
    oldest: usize,
    /// The first slow start is not over.
    starting: bool,
    slowdown: Slowdown,
    /// The time at which a queue above the target last made the window smaller.
    decreased: Time,
}

/// The place in the cycle of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// There will be none, or the first slow start comes first.
    Off,
    /// The next one begins then.
    Due(Time),
    /// It began, and the window stands still.
    Still { since: Time, until: Time },
    /// It began, and the window grows to what it was; `restarts` after a time-out of what left since it began.
    Ramp { since: Time, restarts: bool },
}

impl LedbatPlusPlus {
    /// Starts as `config` says; values out of range are moved to the nearest that are not.
    pub fn new(config: &LedbatPlusPlusConfig) -> Self {
        let config = LedbatPlusPlusConfig {
            initial_window: config.initial_window.max(1.0),
            target: config.target.max(Duration::from_picos(1)),
            constant: config.constant.max(0.0),
            ..*config
        };
        Self {
            config,
            window: config.initial_window,
            ssthresh: config.initial_ssthresh.max(MIN_WINDOW),
            shortest: Recent::default(),
            samples: [Duration::MAX; FILTER],
            oldest: 0,
            starting: true,
            slowdown: Slowdown::Off,
            decreased: Time::ZERO,
        }
    }

    /// The share of NewReno's growth that it has (section 4.2), from 1/16 to 1.
    pub fn gain(&self) -> f64 {
        let (target, shortest) = (self.config.target.as_secs_f64(), self.shortest.get().as_secs_f64());
        let divisor = if shortest > 0.0 { (2.0 * target / shortest).ceil() } else { MAX_DIVISOR };
        1.0 / divisor.clamp(1.0, MAX_DIVISOR)
    }

    /// True in a slowdown, while the window stands still or grows to what it was.
    pub const fn is_slowed_down(&self) -> bool {
        matches!(self.slowdown, Slowdown::Still { .. } | Slowdown::Ramp { .. })
    }

    /// The queueing delay now (section 4.5); nothing before the first round trip.
    fn queueing(&self) -> Duration {
        let now = self.samples.iter().copied().fold(Duration::MAX, Duration::min);
        if now == Duration::MAX { Duration::ZERO } else { now.saturating_sub(self.shortest.get()) }
    }

    /// Section 4.4: begins and ends slowdowns by the time; true while the window stands still.
    fn stands_still(&mut self, path: &Path) -> bool {
        let now = path.now;
        match self.slowdown {
            Slowdown::Due(at) if now >= at => {
                self.ssthresh = self.window.max(MIN_WINDOW);
                self.window = self.window.min(MIN_WINDOW);
                self.slowdown = Slowdown::Still { since: now, until: now + path.smoothed_rtt * ROUND_TRIPS };
                true
            }
            Slowdown::Still { since, until } if now >= until => {
                self.slowdown = Slowdown::Ramp { since, restarts: false };
                false
            }
            Slowdown::Still { .. } => true,
            Slowdown::Off | Slowdown::Due(_) | Slowdown::Ramp { .. } => false,
        }
    }

    /// Slow start is over, for whatever reason: the first one, or that of a slowdown.
    fn leave_slow_start(&mut self, path: &Path) {
        if core::mem::take(&mut self.starting) && self.config.slowdowns {
            self.slowdown = Slowdown::Due(path.now + path.smoothed_rtt * ROUND_TRIPS);
        }
        if let Slowdown::Ramp { since, .. } = self.slowdown {
            self.slowdown = Slowdown::Due(path.now + path.now.since(since) * APART);
        }
    }

    /// Section 4.1: exponential growth, by the gain.
    fn slow_start(&mut self, path: &Path, acked: f64, queueing: Duration) {
        let limit = if self.starting { self.config.target * 3 / 4 } else { self.config.target };
        if queueing > limit {
            self.ssthresh = self.window.max(MIN_WINDOW);
        } else {
            let restarts = matches!(self.slowdown, Slowdown::Ramp { restarts: true, .. });
            let gain = if restarts { 1.0 } else { self.gain() };
            self.window = (self.window + gain * acked).min(self.ssthresh);
        }
        if self.window >= self.ssthresh {
            self.leave_slow_start(path);
        }
    }
}

impl Controller for LedbatPlusPlus {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let path = &sample.path;
        if let Some(rtt) = sample.rtt {
            self.shortest.sample(path.now, rtt, HISTORY);
            self.samples[self.oldest] = rtt;
            self.oldest = (self.oldest + 1) % FILTER;
        }
        if self.stands_still(path) || sample.recovering {
            return;
        }
        let (queueing, acked) = (self.queueing(), f64::from(sample.acked));
        let in_slow_start = self.starting || matches!(self.slowdown, Slowdown::Ramp { .. });
        if in_slow_start && self.window >= self.ssthresh {
            // It begins at its threshold, as that of a slowdown does where the window was the least already.
            self.leave_slow_start(path);
        }
        if queueing > self.config.target && self.window >= self.ssthresh {
            // Section 4.3.
            if sample.sent_at >= self.decreased {
                self.decreased = path.now;
                let beyond = queueing.as_secs_f64() / self.config.target.as_secs_f64() - 1.0;
                let change = self.gain() - self.config.constant * self.window * beyond;
                self.window = (self.window + change.max(-self.window / 2.0)).max(MIN_WINDOW);
                self.ssthresh = self.ssthresh.min(self.window);
            }
        } else if sample.app_limited {
            // An unused window says nothing about how much it would queue.
        } else if self.window < self.ssthresh {
            self.slow_start(path, acked, queueing);
        } else {
            // Section 4.2.
            self.window += self.gain() * acked / self.window;
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if let Slowdown::Still { since, .. } | Slowdown::Ramp { since, .. } = self.slowdown
            && sample.kind == LossKind::Timeout
            && sample.sent_at >= since
        {
            self.window = TIMEOUT_WINDOW;
            self.slowdown = Slowdown::Ramp { since, restarts: true };
            return;
        }
        let is_still = matches!(self.slowdown, Slowdown::Still { .. });
        if !sample.repeated {
            // What a slowdown set aside is what met the loss.
            let window = if self.is_slowed_down() { self.ssthresh } else { self.window };
            self.ssthresh = (window / 2.0).max(MIN_WINDOW);
        }
        self.window = match sample.kind {
            LossKind::Timeout => TIMEOUT_WINDOW,
            LossKind::Duplicates | LossKind::Mark => self.window.min(self.ssthresh),
        };
        if !is_still {
            self.leave_slow_start(&sample.path);
        }
    }

    fn on_idle(&mut self, _path: &Path) {
        // RFC 5681, section 4.1.
        self.window = self.window.min(self.config.initial_window);
    }

    fn on_unused(&mut self, window: f64, _path: &Path) {
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.max(MIN_WINDOW));
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for LedbatPlusPlusConfig {
    type Controller = LedbatPlusPlus;
    const NAME: &'static str = "ledbat-plus-plus";

    fn make(&self) -> LedbatPlusPlus {
        LedbatPlusPlus::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
