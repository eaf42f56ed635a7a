//! DCTCP (RFC 8257): the window decreases in proportion to the marks, for paths whose queues mark from a threshold on.
//!
//! ```text
//!   each window of data:  alpha += g * (share of its segments that came with CE - alpha)
//!   CE, once a window:    window *= 1 - alpha / 2
//!   all else:             as NewReno
//! ```
//!
//! For a queue that marks above a length, and a window whose first W segments stay unmarked, alpha converges to about
//! sqrt(2 / W) (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3).
//!
//! # Differences from the specification
//!
//! | RFC 8257 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the receiver echoes changes between marked and unmarked segments at once (section 3.2) | acknowledgements count the segments with CE, and are delayed as for other controllers | the count is exact despite aggregated or lost acknowledgements | none on alpha |
//! | cumulatively acknowledged and marked bytes are counted (section 3.3, steps 1 to 3) | segments, including selectively acknowledged ones | all feedback counts CE in segments | none if segments have equal size |
//! | the initial alpha is implementation-defined | 1 | as Linux | the first mark halves the window, as RFC 3168 requires |
//! | retransmissions may be ECN-capable (section 3.1 leaves that to RFC 3168) | in simulations retransmissions are Not-ECT | as for other controllers | a queue above its threshold may drop them, as it drops other Not-ECT packets |

use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossSample, NewReno,
    NewRenoConfig, SenderRules, SlowStartExit,
};
use crate::Ecn;

/// Configuration of [`Dctcp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Gain of the estimate of the marked share, from 0 to 1 (g; 1/16 in the RFC).
    pub gain: f64,
}

/// DCTCP controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    gain: f64,
    /// Estimate of the share of marked segments.
    alpha: f64,
    /// Segments acknowledged in this window of data.
    acked: u64,
    /// Segments reported with CE in this window of data.
    marked_segments: u64,
    /// First byte after this window of data.
    window_end: u64,
    /// Sequence number below which all data was sent before the last window reduction.
    reduced_until: u64,
}

impl Dctcp {
    /// Creates the controller described by `config`; an out-of-range gain is clamped.
    pub fn new(config: &DctcpConfig) -> Self {
        let DctcpConfig { initial_window, initial_ssthresh, gain } = *config;
        Self {
            reno: NewReno::new(&NewRenoConfig {
                initial_window,
                initial_ssthresh,
                slow_start_exit: SlowStartExit::Loss,
                ecn_beta: None,
                slow_start_beta: None,
            }),
            gain: gain.clamp(0.0, 1.0),
            alpha: 1.0,
            acked: 0,
            marked_segments: 0,
            window_end: 0,
            reduced_until: 0,
        }
    }

    /// Returns the estimate of the share of marked segments, from 0 to 1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Updates the estimate: RFC 8257, section 3.3, steps 1 to 8.
    fn estimate(&mut self, sample: &AckSample) {
        self.acked += u64::from(sample.acked);
        self.marked_segments += u64::from(sample.ce);
        // Step 4: once per window of data.
        if sample.cumulative <= self.window_end {
            return;
        }
        // Steps 5 and 6. Marked segments may outnumber acknowledged ones, since duplicates count.
        let share = (self.marked_segments as f64 / self.acked.max(1) as f64).min(1.0);
        self.alpha += self.gain * (share - self.alpha);
        // Steps 7 and 8.
        (self.acked, self.marked_segments, self.window_end) = (0, 0, sample.connection.next_sequence);
    }
}

impl Controller for Dctcp {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, info: ()) {
        self.estimate(sample);
        if sample.ce == 0 {
            // RFC 8257, section 3.4: growth as in conventional TCP.
            self.reno.on_ack(sample, info);
        } else if sample.cumulative > self.reduced_until {
            // RFC 8257, section 3.3, step 9, at most once per window of data: later marks of the window
            // reflect the queue before the reduction.
            self.reno.reduce_to(self.reno.decision().window * (1.0 - self.alpha / 2.0));
            self.reduced_until = sample.connection.next_sequence;
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // RFC 8257, section 3.5: as conventional TCP. Marks of the same window must not reduce it again.
        self.reno.on_loss(sample);
        self.reduced_until = sample.connection.next_sequence;
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        self.reno.on_idle(connection);
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        self.reno.on_window_unused(window, connection);
    }

    fn decision(&self) -> Decision {
        self.reno.decision()
    }

    fn ssthresh(&self) -> Option<f64> {
        self.reno.ssthresh()
    }
}

impl ConfigureController for DctcpConfig {
    type Controller = Dctcp;
    const NAME: &'static str = "dctcp";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> Dctcp {
        Dctcp::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::ControllerSpecific(Ecn::Ect0)
    }
}
