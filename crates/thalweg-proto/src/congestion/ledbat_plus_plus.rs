//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus by the rules of its version 01, and RFC 6817 where the draft is silent;
//! section numbers are the draft's). It is a scheme for background transfers, with a bounded queueing delay, that
//! yields to other traffic.
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
//! Periodically the sender slows down to two segments for two round trips. Queues drain, and a flow that started on a
//! standing queue measures the true base delay. Then the sender ramps up to its former window. The first slowdown
//! follows two round trips after the first slow start. Each later one follows after nine times the duration of the
//! previous one, so slowdowns cost a tenth of the time.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the decrease formula applies to all delays (4.3) | only above the target; below it the window grows by the gain | below the target the formula would grow the window by up to its own size | as other implementations |
//! | time of the decrease within a round trip: unspecified (4.3) | with the first segment sent after the last decrease | earlier segments do not reflect it | none |
//! | a slowdown ends with slow start (4.4), for which 4.1 defines a gain | slow start with the gain | section 4.1 defines slow start; Apple's implementation does the same | the shorter the path, the longer a ramp, and the later the next slowdown |
//! | timeout in a slowdown: unspecified (4.4) | if it concerns segments sent since the slowdown began, the saved window stays, and slow start without the gain leads back to it | with two segments per round trip all acknowledgements are easily lost together, which does not reflect a larger window | without it, losing half of the acknowledgements stops the sender |
//! | end of a ramp before its threshold: unspecified (4.4) | a queue above the target, or a loss | competing traffic has started | the slowdown ends with it |
//! | the base-delay history is kept by minutes (RFC 6817, sections 2.4.2 and 2.5) | in eighths of ten minutes | equal accuracy with less memory | none |
//! | growth is bounded by the data in flight (RFC 6817, section 2.4.2) | no growth while the application has no data to send | senders report the application limit | none |
//! | marks: unspecified | a mark counts as a loss without retransmission | RFC 6817, section 2.4.2 | as the other schemes of this crate |

use super::windowed_rtt_extremes::WindowedMin;
use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules, SharedPath,
};
use crate::units::{Duration, Time};

/// Minimum window, in segments, also used in a slowdown (section 4.4).
const MIN_WINDOW: f64 = 2.0;
/// Window after a timeout, in segments (RFC 6817, section 2.4.2).
const TIMEOUT_WINDOW: f64 = 1.0;
/// Maximum divisor of the gain (section 4.2).
const MAX_DIVISOR: f64 = 16.0;
/// Round trips between the first slow start and the first slowdown, and at the minimum window in each slowdown (section
/// 4.4).
const ROUND_TRIPS: u64 = 2;
/// Interval between slowdowns, as a multiple of the duration of the last one (section 4.4).
const SLOWDOWN_INTERVAL: u64 = 9;
/// Number of round-trip samples in the minimum filter of the current delay (section 4.5).
const DELAY_FILTER_SAMPLES: usize = 4;
/// Length of the minimum filter of the base delay (RFC 6817, sections 2.4.2 and 2.5).
const BASE_DELAY_HISTORY: Duration = Duration::from_secs(600);

/// Configuration of [`LedbatPlusPlus`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedbatPlusPlusConfig {
    /// Initial window, in segments; at least 1 (section 4.1: 2).
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Target queueing delay, above zero (section 4.5: 60 ms).
    pub target: Duration,
    /// Weight of the queueing delay beyond the target, 0 or more (section 4.3: 1).
    pub constant: f64,
    /// Perform periodic slowdowns (section 4.4).
    pub slowdowns: bool,
}

impl LedbatPlusPlusConfig {
    /// Values of the draft.
    pub const RECOMMENDED: Self = Self {
        initial_window: 2.0,
        initial_ssthresh: f64::INFINITY,
        target: Duration::from_millis(60),
        constant: 1.0,
        slowdowns: true,
    };
}

/// LEDBAT++ controller.
#[derive(Clone, Copy, Debug)]
pub struct LedbatPlusPlus {
    config: LedbatPlusPlusConfig,
    window: f64,
    ssthresh: f64,
    min_rtt: WindowedMin,
    /// Last round-trip samples, in a ring.
    samples: [Duration; DELAY_FILTER_SAMPLES],
    oldest: usize,
    /// The first slow start is in progress.
    starting: bool,
    slowdown: Slowdown,
    /// Time of the last window decrease due to a queue above the target.
    decreased: Time,
}

/// Phase of the slowdown cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// No slowdown is scheduled: slowdowns are disabled, or the first slow start is in progress.
    Off,
    /// Start time of the next slowdown.
    Due(Time),
    /// The window is at its minimum.
    Still { since: Time, until: Time },
    /// The window ramps up to its former size; `restarts` after a timeout of data sent in the slowdown.
    Ramp { since: Time, restarts: bool },
}

impl LedbatPlusPlus {
    /// Creates the controller described by `config`; out-of-range values are clamped.
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
            min_rtt: WindowedMin::default(),
            samples: [Duration::MAX; DELAY_FILTER_SAMPLES],
            oldest: 0,
            starting: true,
            slowdown: Slowdown::Off,
            decreased: Time::ZERO,
        }
    }

    /// Returns the gain, the share of NewReno's growth (section 4.2), from 1/16 to 1.
    pub fn gain(&self) -> f64 {
        let (target, shortest) = (self.config.target.as_secs_f64(), self.min_rtt.get().as_secs_f64());
        let divisor = if shortest > 0.0 { (2.0 * target / shortest).ceil() } else { MAX_DIVISOR };
        1.0 / divisor.clamp(1.0, MAX_DIVISOR)
    }

    /// Returns true during a slowdown, including its ramp.
    pub const fn is_slowed_down(&self) -> bool {
        matches!(self.slowdown, Slowdown::Still { .. } | Slowdown::Ramp { .. })
    }

    /// Returns the current queueing delay (section 4.5); zero before the first sample.
    fn queueing(&self) -> Duration {
        let now = self.samples.iter().copied().fold(Duration::MAX, Duration::min);
        if now == Duration::MAX { Duration::ZERO } else { now.saturating_sub(self.min_rtt.get()) }
    }

    /// Section 4.4: starts and ends slowdowns by time; returns true while the window is at its minimum.
    fn holds_minimum_window(&mut self, connection: &ConnectionState) -> bool {
        let now = connection.now;
        match self.slowdown {
            Slowdown::Due(at) if now >= at => {
                // The ramp ends at the former window.
                self.ssthresh = self.window.max(MIN_WINDOW);
                self.window = self.window.min(MIN_WINDOW);
                self.slowdown =
                    Slowdown::Still { since: now, until: now + connection.smoothed_rtt * ROUND_TRIPS };
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

    /// Ends slow start for any reason: the first one, or that of a slowdown.
    fn leave_slow_start(&mut self, connection: &ConnectionState) {
        if core::mem::take(&mut self.starting) && self.config.slowdowns {
            self.slowdown = Slowdown::Due(connection.now + connection.smoothed_rtt * ROUND_TRIPS);
        }
        if let Slowdown::Ramp { since, .. } = self.slowdown {
            self.slowdown = Slowdown::Due(connection.now + connection.now.since(since) * SLOWDOWN_INTERVAL);
        }
    }

    /// Section 4.1: exponential growth, scaled by the gain.
    fn slow_start(&mut self, connection: &ConnectionState, acked: f64, queueing: Duration) {
        let limit = if self.starting { self.config.target * 3 / 4 } else { self.config.target };
        if queueing > limit {
            self.ssthresh = self.window.max(MIN_WINDOW);
        } else {
            let restarts = matches!(self.slowdown, Slowdown::Ramp { restarts: true, .. });
            let gain = if restarts { 1.0 } else { self.gain() };
            self.window = (self.window + gain * acked).min(self.ssthresh);
        }
        if self.window >= self.ssthresh {
            self.leave_slow_start(connection);
        }
    }
}

impl Controller for LedbatPlusPlus {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let connection = &sample.connection;
        if let Some(rtt) = sample.rtt {
            self.min_rtt.sample(connection.now, rtt, BASE_DELAY_HISTORY);
            self.samples[self.oldest] = rtt;
            self.oldest = (self.oldest + 1) % DELAY_FILTER_SAMPLES;
        }
        if self.holds_minimum_window(connection) || sample.recovering {
            return;
        }
        let (queueing, acked) = (self.queueing(), f64::from(sample.acked));
        let in_slow_start = self.starting || matches!(self.slowdown, Slowdown::Ramp { .. });
        if in_slow_start && self.window >= self.ssthresh {
            // Slow start begins at its threshold, as in a slowdown whose former window was already the minimum.
            self.leave_slow_start(connection);
        }
        if queueing > self.config.target && self.window >= self.ssthresh {
            // Section 4.3: at most half per round trip, since a wrong base delay could otherwise empty the
            // window.
            if sample.sent_at >= self.decreased {
                self.decreased = connection.now;
                let beyond = queueing.as_secs_f64() / self.config.target.as_secs_f64() - 1.0;
                let change = self.gain() - self.config.constant * self.window * beyond;
                self.window = (self.window + change.max(-self.window / 2.0)).max(MIN_WINDOW);
                self.ssthresh = self.ssthresh.min(self.window);
            }
        } else if sample.app_limited {
            // An unused window does not indicate the queue that it would cause.
        } else if self.window < self.ssthresh {
            self.slow_start(connection, acked, queueing);
        } else {
            // Section 4.2: NewReno's growth, scaled by the gain.
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
        // RFC 6817, section 2.4.2: half at a loss, once per round trip. RFC 5681, section 3.1: a repeated
        // timeout keeps ssthresh.
        if !sample.repeated {
            // In a slowdown, the loss applies to the former window: half of two segments would forget the
            // path.
            let window = if self.is_slowed_down() { self.ssthresh } else { self.window };
            self.ssthresh = (window / 2.0).max(MIN_WINDOW);
        }
        self.window = match sample.kind {
            LossKind::Timeout => TIMEOUT_WINDOW,
            LossKind::Detected | LossKind::Mark => self.window.min(self.ssthresh),
        };
        if !is_still {
            self.leave_slow_start(&sample.connection);
        }
    }

    fn on_idle(&mut self, _connection: &ConnectionState) {
        // RFC 5681, section 4.1: the restart window.
        self.window = self.window.min(self.config.initial_window);
    }

    fn on_window_unused(&mut self, window: f64, _connection: &ConnectionState) {
        // RFC 7661, section 4.4.3: slow start leads back to three quarters of the unused window.
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
    const SENDER_RULES: SenderRules = SenderRules::UNUSED_WINDOW;

    fn make(&self) -> LedbatPlusPlus {
        LedbatPlusPlus::new(self)
    }

    fn queue_target(&self, _path: &SharedPath) -> Option<Duration> {
        Some(self.target)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
