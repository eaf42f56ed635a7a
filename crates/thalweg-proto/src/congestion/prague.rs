//! Prague (draft-briscoe-iccrg-prague-congestion-control by the text of its version 00; section numbers are its own): DCTCP made
//! fit for the Internet, whose packets are ECT(1) and so share a low-latency queue with others that keep it short.
//!
//! ```text
//!   each round:            alpha += g * (share of its segments that came with CE - alpha)
//!   CE, once a round:      cwnd *= 1 - alpha / 2, and slow start is over
//!   each segment without:  cwnd += (RTT / virtual RTT)^2 / cwnd
//!   a loss:                cwnd *= 1 / 2, together with what CE took in this round
//!   pacing rate:           cwnd / RTT, twice that in slow start
//! ```
//!
//! From 500 rounds after slow start on, a round is a virtual RTT of 25 ms, if that is longer: flows of shorter round-trip times then
//! have the rate of one with that.
//!
//! # Differences from the specification
//!
//! | Draft | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | all packets are ECT(1), acknowledgements too (2.2) | all data is, sent again or not; acknowledgements are Not-ECT | they have no congestion control | where the way back is congested as well, they wait in the classic queue |
//! | without accurate ECN feedback it falls back to Reno (2.3.1) | there is no sender without | acknowledgements always count | none |
//! | bytes count, acknowledged and marked (2.3.2, 2.4.3) | segments do | what is counted of CE is segments | none where segments are alike |
//! | the value that alpha starts with is not given (2.3.2) | 1, until the first CE | as the Linux reference | the first mark halves the window |
//! | a window of whole segments with a remainder (2.4.2) | a real number: whole segments rounded up limit what is in flight, and the pacing rate keeps to the fraction | as `udp_prague`, whose window only limits where pacing fails | a window of 1.5 segments sends three in two round trips |
//! | a loss after a cut for CE in the same round may halve again (2.4.1, 3.2.1) | the two together halve | the draft's proposal, exactly | no quarter of the window |
//! | detection of classic ECN queues (3.3) | none | off in the Linux reference | beside Reno at a queue that marks as it would drop, it takes more than its share |
//! | windows below a segment (3.5) | a window is at least one segment, as that of any controller; the reference's is two | RFC 9331 recommends it, and no longer asks for it | where many flows share little, their queue is a segment of each |
//! | paced first window (3.1.1, an option) | sent at once | off in the Linux reference | ten packets in a row at the start |

use super::{AckSample, CeResponse, ConfigureController, Controller, Decision, LossKind, LossSample, Path};
use crate::Ecn;
use crate::units::{Duration, Rate, Time};

/// The least threshold in segments (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;
/// The least window in segments.
const MIN_WINDOW: f64 = 1.0;

/// The configuration of [`Prague`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PragueConfig {
    /// The window at the start, in segments; at least 1.
    pub initial_window: f64,
    /// The slow-start threshold at the start, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// The weight of a round's share of marks in the estimate, from 0 to 1 (g; 1/16 in the draft).
    pub gain: f64,
    /// Flows of shorter round-trip times behave as if they had this one; zero for none (section 2.4.4: 25 ms).
    pub virtual_rtt: Duration,
    /// The rounds after slow start before they do (section 2.4.4: 500).
    pub transition: u32,
    /// The longest queue that a burst may be, in time at the pacing rate (section 2.5.2: 250 us).
    pub burst_delay: Duration,
}

/// Prague.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    config: PragueConfig,
    window: f64,
    ssthresh: f64,
    /// The estimate of the share of segments that are marked.
    alpha: f64,
    /// A queue on the path marks.
    saw_ce: bool,
    /// Segments acknowledged in this round.
    acked: u64,
    /// Segments with CE told of in this round.
    marked: u64,
    /// The first byte after this round.
    round_end: u64,
    round_start: Time,
    /// Rounds since slow start.
    rounds: u32,
    /// Everything below has arrived.
    cumulative: u64,
    cut: Cut,
    /// The segments by which a window without CE grows the window.
    increase: f64,
    pacing_rate: Option<Rate>,
    burst: u32,
}

/// The last time that the window was made smaller.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Everything below this position left before.
    until: u64,
    at: Time,
    /// The estimate by which CE made it smaller; `None` for a loss.
    alpha: Option<f64>,
}

impl Prague {
    /// Starts as `config` says; values out of range are moved to the nearest that are not.
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
            marked: 0,
            round_end: 0,
            round_start: Time::ZERO,
            rounds: 0,
            cumulative: 0,
            cut: Cut::default(),
            increase: 1.0,
            pacing_rate: None,
            burst: 1,
        }
    }

    /// The estimate of the share of segments that are marked, from 0 to 1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The congestion window in segments with its fraction.
    pub const fn window(&self) -> f64 {
        self.window
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// True once the virtual round-trip time takes the place of the real one, so that early shares go by the real one
    /// (section 2.4.4).
    fn is_rtt_independent(&self) -> bool {
        self.rounds >= self.config.transition && !self.config.virtual_rtt.is_zero()
    }

    /// True if what began `since` then has lasted for a round, as far as that is a virtual one (section 2.4.4).
    fn is_virtual_round(&self, since: Time, now: Time) -> bool {
        !self.is_rtt_independent() || now.since(since) >= self.config.virtual_rtt
    }

    /// Section 2.3.2: alpha, once a round.
    fn end_round(&mut self, path: &Path) {
        if self.saw_ce {
            // More may be marked than is acknowledged: copies count.
            let share = (self.marked as f64 / self.acked.max(1) as f64).min(1.0);
            self.alpha += self.config.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
        (self.round_end, self.round_start) = (path.next_sequence, path.now);
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        // Section 2.4.4: a segment per virtual round, of a window that is sent more often than once in it.
        let ratio = path.smoothed_rtt.as_secs_f64() / self.config.virtual_rtt.as_secs_f64();
        self.increase = if self.is_rtt_independent() && ratio < 1.0 { ratio * ratio } else { 1.0 };
    }

    /// Section 2.4.2: CE, which ends slow start (section 2.4.5) and cuts once a round.
    fn on_ce(&mut self, path: &Path) {
        if self.cumulative > self.cut.until && self.is_virtual_round(self.cut.at, path.now) {
            self.window = (self.window * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW);
            self.cut = Cut { until: path.next_sequence, at: path.now, alpha: Some(self.alpha) };
            self.ssthresh = self.window;
        }
        self.ssthresh = self.ssthresh.min(self.window);
    }

    /// Growth by segments that came without CE, after a cut too (section 2.4.3).
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

    /// Section 2.5: the pacing rate, and how much may leave at once.
    fn pace(&mut self, path: &Path, in_flight_bytes: u64) {
        let rtt = path.smoothed_rtt.as_picos() as f64;
        if rtt == 0.0 {
            return;
        }
        let segment = f64::from(path.segment);
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
        let path = &sample.path;
        self.cumulative = sample.cumulative;
        self.acked += u64::from(sample.acked);
        self.marked += u64::from(sample.ce);
        if sample.cumulative > self.round_end && self.is_virtual_round(self.round_start, path.now) {
            self.end_round(path);
        }
        if sample.ce > 0 {
            self.saw_ce = true;
            self.on_ce(path);
        }
        self.grow(sample);
        self.pace(path, sample.in_flight_bytes);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if !sample.repeated {
            // Section 3.2.1: what CE took in this round counts, so that both together leave half.
            let by_ce = self.cut.alpha.filter(|_| self.cumulative <= self.cut.until);
            let factor = by_ce.map_or(0.5, |alpha| 1.0 / (2.0 - alpha));
            // Section 2.4.1 and RFC 5681, equation 4: half of what is outstanding.
            let outstanding = f64::from(sample.path.outstanding).min(self.window);
            self.ssthresh = (outstanding * factor).max(MIN_SSTHRESH);
        }
        self.window = match sample.kind {
            LossKind::Duplicates | LossKind::Mark => self.ssthresh.min(self.window),
            LossKind::Timeout => MIN_WINDOW,
        };
        self.cut = Cut { until: sample.path.next_sequence, at: sample.path.now, alpha: None };
        self.pace(&sample.path, 0);
    }

    fn on_idle(&mut self, path: &Path) {
        // Section 2.4.5, RFC 5681, section 4.1: the restart window.
        self.window = self.window.min(self.config.initial_window);
        self.pace(path, 0);
    }

    fn on_unused(&mut self, window: f64, path: &Path) {
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.max(MIN_WINDOW));
        self.pace(path, 0);
    }

    fn decision(&self) -> Decision {
        // Rounded up, as senders round down: the fraction is in the pacing rate.
        let whole = self.window as u32;
        let window = if f64::from(whole) < self.window { whole.saturating_add(1) } else { whole };
        Decision { window: f64::from(window), pacing_rate: self.pacing_rate, burst: self.burst }
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for PragueConfig {
    type Controller = Prague;
    const NAME: &'static str = "prague";

    fn make(&self) -> Prague {
        Prague::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        // Section 2.2.
        CeResponse::Own(Ecn::Ect1)
    }
}
