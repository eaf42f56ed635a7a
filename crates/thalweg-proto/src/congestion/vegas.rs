//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", 1995).
//!
//! Once a round trip the sender compares the expected rate, `window / base_rtt`, with the actual rate, `window / rtt`.
//! The difference times the base round-trip time is the number of its own segments queued on the path. Congestion
//! avoidance keeps that number between alpha and beta.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | a fine-grained timeout is checked at duplicate acknowledgements and at the first two acknowledgements after a retransmission (section 3.1) | an option of the sender ([`SenderConfig::fine_grained_timer`](crate::window::SenderConfig::fine_grained_timer)), off by default | loss detection is not part of a controller here | without it a single loss in a small window may wait for the retransmission timer |
//! | loss recovery as in Reno | selective acknowledgement by default | as all schemes of this crate | fewer timeouts |
//! | marks: unspecified, as ECN is more recent | a mark reduces the window as a loss detected by duplicate acknowledgements does | required by RFC 3168 | none without `ecn` |
//! | slow start doubles every other round trip (section 3.3) | an option ([`VegasSlowStart`]): every round trip, as in Linux | a transfer that ends in slow start takes half as many round trips | more overshoot |
//! | slow start ends without a change of the window (section 3.3) | the window falls to seven eighths, or as in Linux | as in ns-2 | less overshoot |
//! | the round-trip time of one distinguished segment | the mean over the round, or the minimum as in Linux | a single sample is noisy on shared queues; ns-2 has the mean | smoother |
//! | slow start ends whatever the application has to send | not in a round that does not use the window | the estimate is that of a full window | none for bulk transfers |

use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules, SharedPath,
};
use crate::units::{Duration, Time};

/// Minimum window, in segments, also after a timeout.
const MIN_WINDOW: f64 = 2.0;
/// Multiplicative-decrease factor after a loss detected by duplicate acknowledgements (section 3.1 of the paper).
const LOSS_FACTOR: f64 = 0.75;
/// Multiplicative-decrease factor at the end of slow start due to a queue.
const LEAVE_SLOW_START_FACTOR: f64 = 0.875;

/// Variant of slow start and of the measurement that ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VegasSlowStart {
    /// Doubles every other round trip, and compares the mean round-trip time of a round with an unchanged window
    /// (section 3.3 of the paper, and ns-2).
    #[default]
    EveryOtherRound,
    /// Doubles every round trip, and compares the minimum of a round, which a burst does not raise. At its end the
    /// window falls to what needs no queue, and one segment (`tcp_vegas_cong_avoid` of Linux).
    EachRound,
}

/// Minimum number of samples of a round for a decision of [`VegasSlowStart::EachRound`]: fewer may all be delayed
/// acknowledgements. The window then grows as Reno's (`tcp_vegas_cong_avoid` of Linux).
const MIN_SAMPLES: u32 = 3;

/// Configuration of [`Vegas`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Number of queued segments below which the window grows.
    pub alpha: f64,
    /// Number of queued segments above which the window shrinks.
    pub beta: f64,
    /// Number of queued segments above which slow start ends.
    pub gamma: f64,
    /// Variant of slow start.
    pub slow_start: VegasSlowStart,
}

/// Vegas controller.
#[derive(Clone, Copy, Debug)]
pub struct Vegas {
    window: f64,
    ssthresh: f64,
    alpha: f64,
    beta: f64,
    gamma: f64,
    slow_start: VegasSlowStart,
    /// Sequence number whose acknowledgement ends the round.
    round_end: u64,
    rtt_sum: Duration,
    rtt_count: u32,
    /// Minimum round-trip time of the round.
    round_min: Duration,
    /// Time of the last window reduction after a loss.
    cut_at: Time,
    /// Growth phase: slow start grows in every other round only, so the comparison sees an unchanged window.
    growing: bool,
}

impl Vegas {
    /// Creates the controller described by `config`.
    pub fn new(config: &VegasConfig) -> Self {
        Self {
            window: config.initial_window.max(1.0),
            ssthresh: config.initial_ssthresh.max(MIN_WINDOW),
            alpha: config.alpha,
            beta: config.beta,
            gamma: config.gamma,
            slow_start: config.slow_start,
            round_end: 0,
            rtt_sum: Duration::ZERO,
            rtt_count: 0,
            round_min: Duration::MAX,
            cut_at: Time::ZERO,
            growing: true,
        }
    }

    /// Returns the round-trip time that represents the round, in seconds.
    fn round_rtt(&self) -> f64 {
        match self.slow_start {
            VegasSlowStart::EveryOtherRound => self.rtt_sum.as_secs_f64() / f64::from(self.rtt_count),
            VegasSlowStart::EachRound => self.round_min.as_secs_f64(),
        }
    }

    fn forget_samples(&mut self) {
        self.rtt_sum = Duration::ZERO;
        self.rtt_count = 0;
        self.round_min = Duration::MAX;
    }

    /// Ends slow start, due to a queue.
    fn leave_slow_start(&mut self, share_without_queue: f64) {
        let window = match self.slow_start {
            VegasSlowStart::EveryOtherRound => self.window * LEAVE_SLOW_START_FACTOR,
            VegasSlowStart::EachRound => self.window.min(self.window * share_without_queue + 1.0),
        };
        self.window = window.max(MIN_WINDOW);
        // Below any window: slow start is over.
        self.ssthresh = MIN_WINDOW;
    }

    fn end_round(&mut self, sample: &AckSample) {
        self.round_end = sample.connection.next_sequence;
        let count = self.rtt_count;
        if count == 0 {
            return;
        }
        let share_without_queue = sample.connection.min_rtt.as_secs_f64() / self.round_rtt();
        self.forget_samples();
        let queued = self.window * (1.0 - share_without_queue);
        let is_slow_start = self.window < self.ssthresh;
        if self.slow_start == VegasSlowStart::EachRound && count < MIN_SAMPLES {
            if !is_slow_start && !sample.app_limited {
                self.window += f64::from(sample.counted) / self.window;
            }
        } else if sample.app_limited {
            // An unused window does not indicate the queue that it would cause.
        } else if is_slow_start {
            // Section 3.3 of the paper: slow start doubles every other round trip, and ends at gamma queued segments.
            if queued > self.gamma {
                self.leave_slow_start(share_without_queue);
            } else if self.slow_start == VegasSlowStart::EveryOtherRound {
                self.growing = !self.growing;
            }
        } else if queued > self.beta {
            self.window = (self.window - 1.0).max(MIN_WINDOW);
        } else if queued < self.alpha {
            self.window += 1.0;
        }
    }
}

impl Controller for Vegas {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        if let Some(rtt) = sample.rtt {
            self.rtt_sum += rtt;
            self.rtt_count += 1;
            self.round_min = self.round_min.min(rtt);
        }
        if sample.recovering {
            return;
        }
        // Section 3.2 of the paper: one decision per round trip.
        if sample.cumulative >= self.round_end {
            self.end_round(sample);
        }
        if self.window < self.ssthresh && self.growing && !sample.app_limited {
            self.window += f64::from(sample.counted);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        match sample.kind {
            // Section 3.1: a segment sent before the last reduction does not reflect the reduced window.
            LossKind::Detected | LossKind::Mark if sample.sent_at < self.cut_at => return,
            LossKind::Detected | LossKind::Mark => {
                self.window = (self.window * LOSS_FACTOR).max(MIN_WINDOW);
                self.ssthresh = MIN_WINDOW;
            }
            LossKind::Timeout => {
                self.ssthresh = (self.window / 2.0).max(MIN_WINDOW);
                self.window = MIN_WINDOW;
            }
        }
        self.cut_at = sample.connection.now;
        self.round_end = sample.connection.next_sequence;
        self.forget_samples();
        self.growing = true;
    }

    fn on_idle(&mut self, _connection: &ConnectionState) {
        self.window = self.window.min(MIN_WINDOW);
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

impl ConfigureController for VegasConfig {
    type Controller = Vegas;
    const NAME: &'static str = "vegas";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> Vegas {
        Vegas::new(self)
    }

    /// Brakmo and Peterson 1995, section 3.2: at most beta packets of each flow.
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        Some(path.delay_of_packets(self.beta))
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
