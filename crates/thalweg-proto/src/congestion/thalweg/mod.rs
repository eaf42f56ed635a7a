//! Thalweg: keeps a short queue on uncongested paths, and harms others no more than CUBIC does.
//!
//! It responds to queueing delay. A loss is congestion, and the response is CUBIC's, until experiments prove that the
//! path loses packets at any rate. `docs/design/thalweg-scheme.md` describes the design and its reasons.
//!
//! ```text
//!   Start  -- a queue stands, losses keep the rate from growing, or a timeout -->  steady state
//!
//!   Steady state:
//!     the window converges to the flow's target queue                               (steady_state, target)
//!     a queue that stays above the target: part of the window is yielded            (yield_share)
//!     losses beyond the path's: CUBIC's window, undone if the losses continue       (cubic, evidence)
//!     no empty queue for some seconds: a smaller window for a round trip            (drain)
//!     a queue that does not fall then: CUBIC's window                               (drain)
//!     a mark: the same
//!     a router that reports a nearly full queue: a shorter target queue             (router_feedback)
//!     a loss beside a queue that is not long: the same                              (queue_target)
//! ```
//!
//! Decisions are made once per round trip, except for losses, marks and the end of slow start. Volumes are in bytes,
//! rates in bytes per second and times in seconds.

mod config;
mod cubic_window;
mod drain_and_competition_test;
mod loss_evidence;
mod queue_target;
mod queueing_delay;
mod router_feedback;
mod slow_start;
mod steady_state;
#[cfg(test)]
mod tests;
mod yield_share;

pub use config::ThalwegConfig;

use super::delivery_rate::{Sampler, Stamp};
use super::{
    AckSample, ConnectionState, Controller, Decision, FeedbackSample, LossKind, LossSample, LostSample,
    SentSample,
};
use crate::units::{Duration, Rate, Time};
use crate::window::MAX_WINDOW;
use cubic_window::{Congestion, CubicWindow};
use drain_and_competition_test::Drain;
use loss_evidence::{Evidence, LossCounts};
use queue_target::{Target, TargetShare};
use queueing_delay::Delay;
use steady_state::Pace;
use yield_share::Yielding;

/// Pacing rate as a multiple of one window per round trip: in slow start, and later. It does not limit the rate, it
/// only spreads the window's transmissions.
const PACING_GAINS: (f64, f64) = (1.5, 1.2);
/// The same while the window is CUBIC's: in a queue of few packets a flow that is paced more closely loses less than its
/// neighbours, and has more than its share.
const PACING_AS_CUBIC: f64 = 2.0;
/// Duration of a burst at the pacing rate, in seconds: hosts wake some thousand times a second.
const BURST_SECONDS: f64 = 250e-6;
/// Minimum and maximum burst, in segments. Pacing single segments loses throughput whenever a host wakes late, except
/// in slow start, which has more margin.
const BURST_SEGMENTS: (f64, f64) = (2.0, 64.0);
/// Window, in segments, below which the pacing rate alone limits: the window is rounded up, and the rate is one window
/// per round trip.
const MAX_PACED_WINDOW: f64 = 4.0;
/// Minimum window, in segments. Many flows may have less than one packet each in the network (Kumar et al. 2020, section
/// 3.4), and a larger minimum would keep any queue full.
const MIN_WINDOW: f64 = 0.25;
/// Window, in segments, from which losses can be proven to be the path's: a flow with a smaller window may be one of
/// many, whose response changes nothing.
const PROOF_WINDOW: f64 = 16.0;
/// Share of the target queue that a flow uses while it attributes losses to the path: an overflow of a short queue would
/// be hard to distinguish from them.
const TOLERANT_TARGET: f64 = 0.5;
/// Multiple of the window beyond which CUBIC's window no longer matters as a bound.
const UNBOUND_WINDOW: f64 = 2.0;
/// Minimum length of a round, as a share of the shortest round-trip time: a late packet may seem to end a round at
/// once.
const MIN_ROUND_SHARE: f64 = 0.75;
/// Upper bound of the smoothed round-trip time, as a multiple of a round-trip time sample: few packets arrive at the
/// pacing rate of an outage.
const MAX_SRTT_SAMPLES: f64 = 2.0;
/// Tolerated variation of an empty path's delay, as a share of the smallest queue target.
const DELAY_TOLERANCE: f64 = 0.1;
/// Share of the window kept after a mark or message in slow start, where the window has doubled since the packet was
/// sent.
const OF_START: f64 = 0.5;

/// Thalweg controller.
#[derive(Clone, Debug)]
pub struct Thalweg {
    config: ThalwegConfig,
    sampler: Sampler,
    /// Segment size, in bytes; 0 until the first packet is sent.
    segment: f64,
    /// Window that the delay allows, in bytes.
    window: f64,
    /// CUBIC's window: the upper bound after congestion, or the window beside competing traffic.
    cubic: Option<CubicWindow>,
    is_starting: bool,
    is_competing: bool,
    /// Losses can be proven to be the path's: the window is large enough, and no queue stands.
    is_provable: bool,
    pace: Pace,
    delay: Delay,
    evidence: Evidence,
    /// Packets of slow start while the rate grew.
    started: LossCounts,
    drain: Drain,
    yielding: Yielding,
    target_share: TargetShare,
    /// End of the hold-off after a router's message: earlier ones concern the congestion already answered.
    message_holdoff_end: Time,
    round: Round,
    min_rtt: f64,
    /// Minimum time without the shortest delay before a drain. It follows from `min_rtt`, and is needed at each
    /// acknowledgement.
    drain_interval: Duration,
    /// Smoothed round-trip time; 0 before the first sample.
    rtt: f64,
    /// Sequence number after the last lost byte.
    lost_until: u64,
    /// Start of the current window; losses of packets sent earlier do not reflect it.
    epoch: Time,
    /// Time of the last acknowledgement.
    acked_at: Time,
}

/// Signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Loss,
    /// Mark, or a router's report of a dropped packet: congestion beyond doubt.
    Report,
    /// Retransmission timeout, `repeated` if for the same segment.
    Timeout {
        repeated: bool,
    },
}

/// Events of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start_time: Time,
    tally: LossCounts,
    delivered: f64,
    /// Maximum data in flight, and data in flight at the transmission of the first lost packet.
    in_flight: f64,
    lost_at: f64,
    /// Sum of the round-trip times, and their number.
    rtts: (f64, f64),
    app_limited: bool,
    previous: PreviousRound,
}

/// Figures of the previous round trip.
#[derive(Clone, Copy, Debug, Default)]
struct PreviousRound {
    /// Delivery rate; 0 if unknown.
    rate: f64,
    sent: f64,
    in_flight: f64,
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
            cubic: None,
            is_starting: true,
            is_competing: false,
            is_provable: false,
            pace: Pace::default(),
            delay: Delay::new(config.base_window),
            evidence: Evidence::tolerating(config.tolerated()),
            started: LossCounts::default(),
            drain: Drain::default(),
            yielding: Yielding::default(),
            target_share: TargetShare::default(),
            message_holdoff_end: Time::ZERO,
            round: Round::default(),
            min_rtt: f64::INFINITY,
            drain_interval: drain_and_competition_test::interval(f64::INFINITY),
            rtt: 0.0,
            lost_until: u64::MAX,
            epoch: Time::ZERO,
            acked_at: Time::ZERO,
        }
    }

    /// Returns true while it behaves as CUBIC because competing traffic fills the queue, or because packets are marked.
    pub fn is_competing(&self) -> bool {
        self.is_competing
    }

    /// Returns the loss events per packet that are attributed to the path itself.
    pub fn path_loss(&self) -> f64 {
        self.evidence.rate()
    }

    /// Initialises the state at the transmission of the first packet.
    #[cold]
    fn begin(&mut self, connection: &ConnectionState) {
        self.segment = f64::from(connection.segment);
        self.window = self.first_window();
        self.rtt = connection.smoothed_rtt.as_secs_f64();
        self.round.start_time = connection.now;
    }

    fn target_rule(&self) -> Target {
        Target { constant: self.config.queueing.as_secs_f64() }
    }

    /// Returns the queueing-delay target of a flow of this rate.
    fn target(&self, rate: f64) -> f64 {
        self.target_rule().at(rate, self.segment, self.min_rtt)
    }

    /// Returns the part of this queueing-delay target that the flow uses now. A flow that does not respond to all losses
    /// leaves room in the queue for those that do.
    fn target_in_use(&mut self, now: Time, target: f64) -> f64 {
        let tolerant = if self.evidence.rate() > 0.0 { TOLERANT_TARGET } else { 1.0 };
        tolerant * self.target_share.at(now) * target
    }

    /// Returns true if this queueing delay does not exceed that of flows of the scheme.
    fn is_queue_short(&self, queueing: f64) -> bool {
        queueing <= steady_state::LONG_QUEUE_TARGETS * self.target(self.rate())
    }

    /// Returns the allowed window, without the reduction of a drain.
    fn full_window(&self) -> f64 {
        let cubic = self.cubic.map(|cubic| cubic.window * self.segment);
        match cubic {
            Some(cubic) if self.is_competing => cubic,
            Some(cubic) => self.window.min(cubic),
            None => self.window,
        }
    }

    /// Returns the window in use.
    fn window_in_use(&self) -> f64 {
        self.full_window() * self.drain.share()
    }

    /// Returns the rate of one window per round trip.
    fn rate(&self) -> f64 {
        if self.rtt > 0.0 { self.full_window() / self.rtt } else { 0.0 }
    }

    /// Returns the initial window of a flow.
    fn first_window(&self) -> f64 {
        self.config.initial_window * self.segment
    }

    /// Returns the minimum window: one segment in slow start, also where the segment size has grown beyond the window.
    fn min_window(&self) -> f64 {
        if self.is_starting { self.segment } else { MIN_WINDOW * self.segment }
    }

    /// Returns CUBIC's window of `window` bytes, with slow start up to `ssthresh` bytes.
    fn cubic_at(&self, now: Time, window: f64, ssthresh: f64) -> CubicWindow {
        CubicWindow::new(window / self.segment, ssthresh / self.segment, now)
    }

    /// Returns true if the path still carries a large window: a retransmission was lost, or is late because the queue
    /// grows faster than the timeout, and losses are evaluated by themselves. The window falls to its minimum if
    /// acknowledgements cease, as in RFC 9002 (section 7.6).
    fn is_served(&self, connection: &ConnectionState) -> bool {
        self.full_window() > self.first_window()
            && connection.now.since(self.acked_at).as_secs_f64() < self.min_rtt
    }

    /// Takes the round-trip time of an acknowledgement. For a retransmitted packet it uses the last transmission,
    /// unless the result is too short (RFC 8985, section 6.2, step 2).
    fn take_rtt(&mut self, sample: &AckSample) {
        if sample.rtt.is_some() {
            let min_rtt = sample.connection.min_rtt.as_secs_f64();
            if min_rtt != self.min_rtt {
                (self.min_rtt, self.drain_interval) =
                    (min_rtt, drain_and_competition_test::interval(min_rtt));
            }
        }
        let rtt = sample.rtt.unwrap_or_else(|| sample.connection.now.since(sample.sent_at)).as_secs_f64();
        if rtt >= self.min_rtt {
            self.round.rtts.0 += rtt;
            self.round.rtts.1 += 1.0;
            // RFC 6298, section 2: alpha is an eighth.
            let smoothed = if self.rtt == 0.0 { rtt } else { self.rtt + (rtt - self.rtt) / 8.0 };
            self.rtt = smoothed.min(MAX_SRTT_SAMPLES * rtt);
        }
    }

    /// Responds to congestion as CUBIC does, once in a window of data. The origin of losses may be proven later.
    fn respond(&mut self, connection: &ConnectionState, cause: Cause) {
        let (now, before) = (connection.now, self.full_window());
        let mut cubic = self.cubic.unwrap_or_else(|| self.cubic_at(now, before, 0.0));
        let is_timeout = matches!(cause, Cause::Timeout { .. });
        let event = Congestion {
            now,
            rtt: self.rtt,
            // After a timeout all segments count as lost; RFC 5681, section 3.1, uses FlightSize.
            in_flight: f64::from(if is_timeout { connection.outstanding } else { connection.in_flight }),
            timeout: is_timeout,
            repeated: cause == Cause::Timeout { repeated: true },
            competing: self.is_competing,
        };
        cubic.on_congestion(&event, MIN_WINDOW);
        self.cubic = Some(cubic);
        if cause == Cause::Loss && self.is_provable {
            self.evidence.begin(before, self.round.tally);
        } else {
            self.evidence.abandon();
        }
        if cause == Cause::Loss && !self.is_competing && self.is_queue_short(self.delay.newest()) {
            // The queue may be full.
            self.target_share.reduce(now, cubic_window::BETA);
        }
        self.epoch = now;
        self.drain.note_congestion(now);
        self.round.tally = LossCounts::default();
        self.pace.slow_down();
        self.pace.ceiling = before;
    }

    /// Undoes the response to losses that are the path's, with the window before it.
    fn undo_response(&mut self, window: f64) {
        self.cubic = None;
        self.window = self.window.max(window);
        self.target_share.undo();
        self.pace.rest();
    }

    /// Begins slow start again, from one segment. A window too small to prove anything would stay small on a path that
    /// loses packets at any rate; slow start finds whether the rate grows in spite of losses.
    fn restart(&mut self) {
        self.window = self.segment;
        self.cubic = None;
        self.drain = Drain::default();
        self.round.tally = LossCounts::default();
        self.pace.slow_down();
    }

    fn end_round(&mut self, connection: &ConnectionState) {
        let now = connection.now;
        let queueing = self.delay.end_round();
        let last = core::mem::take(&mut self.round);
        let took = now.since(last.start_time).as_secs_f64();
        let rate = if took > 0.0 { last.delivered / took } else { 0.0 };
        self.round.start_time = now;
        self.round.previous = PreviousRound { rate, sent: last.tally.sent, in_flight: last.in_flight };
        let rtt = if last.rtts.1 > 0.0 { last.rtts.0 / last.rtts.1 } else { self.rtt };
        if rtt <= 0.0 {
            return;
        }
        if self.is_starting {
            self.end_round_of_start(now, &last, rate, queueing, rtt);
            return;
        }
        let target = self.target(self.rate());
        self.evidence.forget_former_losses(self.window_in_use() / self.segment);
        self.evaluate_losses(queueing, target);
        if self.run_drain(now, queueing, target, rtt) {
            return;
        }
        if self.is_competing {
            self.window = self.full_window();
        } else {
            if !last.app_limited {
                let target = self.target_in_use(now, target);
                self.steer(&last, queueing, rate, rtt, target);
            }
            self.cubic =
                self.cubic.filter(|cubic| cubic.window * self.segment <= UNBOUND_WINDOW * self.window);
        }
    }

    /// Decides the origin of losses, if that is possible beside this queueing delay. Beside a long queue losses are
    /// congestion, whether they depend on this flow's rate or not.
    fn evaluate_losses(&mut self, queueing: f64, target: f64) {
        let is_short = self.is_queue_short(queueing);
        self.is_provable = is_short && !self.is_competing && self.full_window() > PROOF_WINDOW * self.segment;
        // At the reduced rate a queue that is not empty is that of others, and losses may be its overflow. Delays that
        // scatter less than that are not due to a queue.
        let is_filled = self.evidence.end_round()
            && queueing > steady_state::ALMOST_EMPTY_SHARE * target + self.delay.spread();
        if !self.is_provable || is_filled {
            self.evidence.abandon();
        }
        if let Some(window) = self.evidence.decide(self.full_window()) {
            self.undo_response(window);
        }
    }
}

impl crate::state_digest::Digest for Thalweg {
    fn feed_state<H: core::hash::Hasher>(&self, now: Time, into: &mut H) {
        crate::state_digest::feed_debug(now, self, into);
    }
}

impl Controller for Thalweg {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        if self.segment == 0.0 {
            self.begin(&sample.connection);
        }
        // The segment size grows once path-MTU discovery succeeds.
        self.segment = f64::from(sample.connection.segment);
        let delivery = self.sampler.on_sent(sample);
        self.round.in_flight = self.round.in_flight.max(delivery.in_flight as f64);
        delivery
    }

    fn on_ack(&mut self, sample: &AckSample, delivery: Stamp) {
        let connection = &sample.connection;
        let rs = self.sampler.on_ack(sample, delivery);
        let acked = f64::from(sample.acked);
        self.acked_at = connection.now;
        let arrived = LossCounts { sent: acked, ..LossCounts::default() };
        if sample.sent_at >= self.epoch {
            self.round.tally.add(arrived);
            self.evidence.count(arrived);
        } else {
            self.evidence.count_earlier(arrived);
        }
        self.round.delivered += sample.acked_bytes as f64;
        self.round.app_limited |= rs.app_limited;
        self.take_rtt(sample);
        self.delay.sample(sample, DELAY_TOLERANCE * self.config.queueing.as_secs_f64());
        if self.is_starting {
            self.start(sample, &rs);
        }
        if let Some(cubic) = &mut self.cubic
            && !sample.app_limited
            && sample.sent_at >= self.epoch
        {
            cubic.on_ack(connection.now, connection.smoothed_rtt, acked);
        }
        let is_full_round =
            connection.now.since(self.round.start_time).as_secs_f64() > MIN_ROUND_SHARE * self.min_rtt;
        if rs.round_start && (is_full_round || self.min_rtt.is_infinite()) {
            self.end_round(connection);
        } else if !self.is_starting {
            self.drain_at_once(connection.now);
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, delivery: Stamp) {
        self.sampler.on_packet_lost(sample);
        if sample.named {
            // The router's message carries this information itself.
            return;
        }
        let events = if sample.sequence == self.lost_until { 0.0 } else { 1.0 };
        self.lost_until = sample.sequence + u64::from(sample.bytes);
        let one = LossCounts { sent: 1.0, lost: 1.0, events };
        if sample.sent_at < self.epoch {
            self.evidence.count_earlier(one);
            return;
        }
        if self.round.lost_at == 0.0 {
            self.round.lost_at = delivery.in_flight as f64;
        }
        self.round.tally.add(one);
        self.evidence.count(one);
        let is_decided = !self.is_starting && !self.evidence.is_trial();
        if is_decided && self.evidence.is_exceeded(self.window_in_use() / self.segment) {
            self.respond(&sample.connection, Cause::Loss);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if self.segment == 0.0 {
            return;
        }
        let connection = &sample.connection;
        match sample.kind {
            // Losses are evaluated packet by packet.
            LossKind::Detected => {}
            LossKind::Mark if self.is_starting => self.leave_start(connection.now, OF_START * self.window),
            LossKind::Mark => {
                // The router decides the length of the queue and its division among flows that use ECN: the delay rule
                // would find no usable queue, or one that stays.
                self.respond(connection, Cause::Report);
                self.set_competing(self.is_competing || self.config.compete);
            }
            LossKind::Timeout if !self.is_served(connection) => {
                let is_small = self.full_window() < PROOF_WINDOW * self.segment;
                if self.is_starting && is_small && !sample.repeated && !self.evidence.is_hopeless() {
                    self.restart();
                } else {
                    self.is_starting = false;
                    self.respond(connection, Cause::Timeout { repeated: sample.repeated });
                }
                // Packets in flight may fill the queue for that time and be lost; their loss does not reflect smaller
                // windows.
                self.epoch = connection.now + Duration::from_secs_f64(self.rtt);
            }
            LossKind::Timeout => {}
        }
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        self.on_router_feedback(sample);
    }

    fn retransmits_reported_drops(&self) -> bool {
        true
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        if self.segment > 0.0 {
            self.sampler.on_app_limited(connection, self.decision().window);
        }
    }

    fn would_undo(&self, saved: &Self) -> bool {
        saved.full_window() > self.full_window()
    }

    fn on_undo(&mut self, saved: Self, _connection: &ConnectionState) {
        // Measurements taken since are kept.
        self.window = self.window.max(saved.window);
        self.target_share = saved.target_share;
        (self.is_starting, self.cubic) = (saved.is_starting, saved.cubic);
        self.set_competing(saved.is_competing);
        self.evidence.abandon();
    }

    fn decision(&self) -> Decision {
        if self.segment == 0.0 {
            return Decision::window(self.config.initial_window);
        }
        let window = self.window_in_use().max(self.min_window()) / self.segment;
        if self.rtt == 0.0 {
            return Decision::window(window.max(1.0));
        }
        let is_paced = window < MAX_PACED_WINDOW && !self.is_starting;
        let (gain, smallest) = match (self.is_starting, is_paced) {
            (true, _) => (PACING_GAINS.0, 1.0),
            (false, true) => (1.0, 1.0),
            (false, false) if self.cubic.is_some() => (PACING_AS_CUBIC, BURST_SEGMENTS.0),
            (false, false) => (PACING_GAINS.1, BURST_SEGMENTS.0),
        };
        let rate = gain * window * self.segment / self.rtt;
        let largest = if is_paced { 1.0 } else { BURST_SEGMENTS.1 };
        Decision {
            window: if is_paced { window.ceil() } else { window },
            pacing_rate: Some(Rate::from_bits_per_sec((8.0 * rate).max(1.0) as u64)),
            burst: (rate * BURST_SECONDS / self.segment).clamp(smallest, largest) as u32,
        }
    }
}
