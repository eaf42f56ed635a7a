//! Prague (draft-briscoe-iccrg-prague-congestion-control by the text of its version 00; section numbers are its own):
//! DCTCP adapted to the Internet. Its packets are ECT(1), so they share a low-latency queue with other scalable flows.
//!
//! ```text
//!   each round:            alpha += g * (share of its segments that came with CE - alpha)
//!   CE, once a round:      cwnd *= 1 - alpha / 2, and slow start is over
//!   each segment without:  cwnd += (RTT / virtual RTT)^2 / cwnd
//!   a loss:                cwnd *= 1 / 2, together with what CE took in this round
//!   pacing rate:           cwnd / RTT, twice that in slow start
//! ```
//!
//! From 500 rounds after slow start on, a round is a virtual RTT of 25 ms, if that is longer. Flows with shorter
//! round-trip times then have the rate of a flow with the virtual RTT.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | all packets are ECT(1), acknowledgements too (2.2) | all data including retransmissions; acknowledgements are Not-ECT | acknowledgements have no congestion control | on a congested return path they wait in the classic queue |
//! | without accurate ECN feedback it falls back to Reno (2.3.1) | no sender lacks it | acknowledgements always count CE | none |
//! | acknowledged and marked bytes are counted (2.3.2, 2.4.3) | segments | feedback counts CE in segments | none if segments have equal size |
//! | initial alpha: unspecified (2.3.2) | 1, until the first CE | as the Linux reference | the first mark halves the window |
//! | a window of full segments with a remainder (2.4.2) | a real number: full segments, rounded up, limit the data in flight, and the pacing rate keeps the fraction | as `udp_prague`, whose window limits only where pacing fails | a window of 1.5 segments sends three in two round trips |
//! | a loss after a CE reduction in the same round may halve the window again (2.4.1, 3.2.1) | the two together halve the window | the draft's proposal, exactly | no reduction to a quarter |
//! | detection of classic ECN queues (3.3) | none | off in the Linux reference | beside Reno at a queue that marks as often as it would drop, it takes more than its share |
//! | windows below a segment (3.5) | a window is at least one segment, as for any controller; two in the reference | RFC 9331 recommends smaller windows, but no longer requires them | many flows on a slow link keep a queue of one segment each |
//! | paced first window (3.1.1, an option) | sent at once | off in the Linux reference | a burst of ten packets at the start |

use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules,
};
use crate::Ecn;
use crate::units::{Duration, Rate, Time};

/// Minimum ssthresh, in segments (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;
/// Minimum window, in segments.
const MIN_WINDOW: f64 = 1.0;

/// Configuration of [`Prague`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PragueConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Gain of the estimate of the marked share, from 0 to 1 (g; 1/16 in the draft).
    pub gain: f64,
    /// Virtual round-trip time, used by flows with a shorter one; zero for none (section 2.4.4: 25 ms).
    pub virtual_rtt: Duration,
    /// Rounds after slow start before the virtual round-trip time applies (section 2.4.4: 500).
    pub transition: u32,
    /// Maximum duration of a burst, in time at the pacing rate (section 2.5.2: 250 us).
    pub burst_delay: Duration,
}

/// Prague controller.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    config: PragueConfig,
    window: f64,
    ssthresh: f64,
    /// Estimate of the share of marked segments.
    alpha: f64,
    /// CE has been received on this path.
    saw_ce: bool,
    /// Segments acknowledged in this round.
    acked: u64,
    /// Segments reported with CE in this round.
    marked_segments: u64,
    /// First byte after this round.
    round_end: u64,
    round_start: Time,
    /// Rounds since slow start.
    rounds: u32,
    /// Cumulative acknowledgement.
    cumulative: u64,
    ecn_reduction: WindowReduction,
    /// Window growth per window of unmarked segments, in segments.
    increase: f64,
    pacing_rate: Option<Rate>,
    burst: u32,
}

/// Last reduction of the window.
#[derive(Clone, Copy, Debug, Default)]
struct WindowReduction {
    /// Sequence number below which all data was sent before the reduction.
    until: u64,
    reduced_at: Time,
    /// Estimate that determined the reduction after CE; `None` for a loss.
    alpha: Option<f64>,
}

impl Prague {
    /// Creates the controller described by `config`; out-of-range values are clamped.
    pub fn new(config: &PragueConfig) -> Self {
        let config = PragueConfig {
            initial_window: config.initial_window.max(1.0),
            gain: config.gain.clamp(0.0, 1.0),
            ..*config
        };
        Self {
            config,
            window: config.initial_window,
            ssthresh: config.initial_ssthresh.max(MIN_SSTHRESH),
            alpha: 1.0,
            saw_ce: false,
            acked: 0,
            marked_segments: 0,
            round_end: 0,
            round_start: Time::ZERO,
            rounds: 0,
            cumulative: 0,
            ecn_reduction: WindowReduction::default(),
            increase: 1.0,
            pacing_rate: None,
            burst: 1,
        }
    }

    /// Returns the estimate of the share of marked segments, from 0 to 1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the congestion window in segments, with its fraction.
    pub const fn window(&self) -> f64 {
        self.window
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Returns true once the virtual round-trip time replaces the real one; early growth follows the real one (section
    /// 2.4.4).
    fn is_rtt_independent(&self) -> bool {
        self.rounds >= self.config.transition && !self.config.virtual_rtt.is_zero()
    }

    /// Returns true if a round that began at `since` has lasted a virtual round-trip time, if that applies (section
    /// 2.4.4).
    fn is_virtual_round(&self, since: Time, now: Time) -> bool {
        !self.is_rtt_independent() || now.since(since) >= self.config.virtual_rtt
    }

    /// Section 2.3.2: updates alpha once a round.
    fn end_round(&mut self, connection: &ConnectionState) {
        // Unmarked rounds before the first CE would decay alpha, and the first mark would hardly reduce the
        // window.
        if self.saw_ce {
            // Marked segments may outnumber acknowledged ones, since duplicates count.
            let share = (self.marked_segments as f64 / self.acked.max(1) as f64).min(1.0);
            self.alpha += self.config.gain * (share - self.alpha);
        }
        (self.acked, self.marked_segments) = (0, 0);
        (self.round_end, self.round_start) = (connection.next_sequence, connection.now);
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        // Section 2.4.4: one segment per virtual round, for a window that is sent more than once per virtual round.
        let ratio = connection.smoothed_rtt.as_secs_f64() / self.config.virtual_rtt.as_secs_f64();
        self.increase = if self.is_rtt_independent() && ratio < 1.0 { ratio * ratio } else { 1.0 };
    }

    /// Section 2.4.2: handles CE, which ends slow start (section 2.4.5) and reduces the window once a round.
    fn on_ce(&mut self, connection: &ConnectionState) {
        if self.cumulative > self.ecn_reduction.until
            && self.is_virtual_round(self.ecn_reduction.reduced_at, connection.now)
        {
            self.window = (self.window * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW);
            self.ecn_reduction = WindowReduction {
                until: connection.next_sequence,
                reduced_at: connection.now,
                alpha: Some(self.alpha),
            };
            self.ssthresh = self.window;
        }
        self.ssthresh = self.ssthresh.min(self.window);
    }

    /// Grows the window by the segments without CE, also after a reduction (section 2.4.3).
    fn grow(&mut self, sample: &AckSample) {
        let unmarked = sample.acked.saturating_sub(sample.ce);
        if sample.recovering || sample.app_limited || unmarked == 0 {
            return;
        }
        if self.in_slow_start() {
            self.window += f64::from(unmarked.min(sample.counted));
        } else {
            self.window += f64::from(unmarked) * self.increase / self.window;
        }
    }

    /// Section 2.5: sets the pacing rate and the burst size.
    fn pace(&mut self, connection: &ConnectionState, in_flight_bytes: u64) {
        let rtt = connection.smoothed_rtt.as_picos() as f64;
        if rtt == 0.0 {
            return;
        }
        let segment = f64::from(connection.segment);
        // Section 2.5: at one window per round trip the pacing itself would prevent doubling.
        let factor = if self.in_slow_start() { 2.0 } else { 1.0 };
        let bytes = (self.window * segment).max(in_flight_bytes as f64) * factor;
        let burst = bytes / rtt * self.config.burst_delay.as_picos() as f64 / segment;
        self.burst = (burst as u32).max(1);
        self.pacing_rate = Some(Rate::from_bits_per_sec((bytes * 8e12 / rtt).max(1.0) as u64));
    }
}

impl Controller for Prague {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let connection = &sample.connection;
        self.cumulative = sample.cumulative;
        self.acked += u64::from(sample.acked);
        self.marked_segments += u64::from(sample.ce);
        if sample.cumulative > self.round_end && self.is_virtual_round(self.round_start, connection.now) {
            self.end_round(connection);
        }
        if sample.ce > 0 {
            self.saw_ce = true;
            self.on_ce(connection);
        }
        self.grow(sample);
        self.pace(connection, sample.in_flight_bytes);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if !sample.repeated {
            // Section 3.2.1: the reduction for CE in this round counts, so both reductions together halve the window.
            let by_ce = self.ecn_reduction.alpha.filter(|_| self.cumulative <= self.ecn_reduction.until);
            let factor = by_ce.map_or(0.5, |alpha| 1.0 / (2.0 - alpha));
            // Section 2.4.1 and RFC 5681, equation 4: half of the outstanding data.
            let outstanding = f64::from(sample.connection.outstanding).min(self.window);
            self.ssthresh = (outstanding * factor).max(MIN_SSTHRESH);
        }
        self.window = match sample.kind {
            LossKind::Detected | LossKind::Mark => self.ssthresh.min(self.window),
            LossKind::Timeout => MIN_WINDOW,
        };
        self.ecn_reduction = WindowReduction {
            until: sample.connection.next_sequence,
            reduced_at: sample.connection.now,
            alpha: None,
        };
        self.pace(&sample.connection, 0);
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        // Section 2.4.5, RFC 5681, section 4.1: the restart window.
        self.window = self.window.min(self.config.initial_window);
        self.pace(connection, 0);
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        // RFC 7661, section 4.4.3: slow start leads back to three quarters of the unused window.
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.max(MIN_WINDOW));
        self.pace(connection, 0);
    }

    fn decision(&self) -> Decision {
        // Rounded up, since senders round down; the pacing rate preserves the fraction.
        let full_segments = self.window as u32;
        let window = if f64::from(full_segments) < self.window {
            full_segments.saturating_add(1)
        } else {
            full_segments
        };
        Decision { window: f64::from(window), pacing_rate: self.pacing_rate, burst: self.burst }
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for PragueConfig {
    type Controller = Prague;
    const NAME: &'static str = "prague";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> Prague {
        Prague::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        // Section 2.2.
        CeResponse::ControllerSpecific(Ecn::Ect1)
    }
}
