//! Thalweg: a short queue where it may, its share where it must.
//!
//! It answers the delay of the queue, asks of losses whether they are the path's own, and does as CUBIC does where somebody else fills
//! the queue. The design and its reasons are in `docs/design/thalweg-scheme.md`.
//!
//! ```text
//!   Start  -- a queue stands, or more is lost than the path loses -->  Hold  -- time-out -->  Start, to half of the window
//!                                                                           -- an outage -->  Start, to nearly all of it   (outage)
//!
//!   Hold:   the window goes to where the flow has the queue that it asks for         (hold)
//!           losses beyond the path's own: a lower rate, taken back where they go on  (trial)
//!           and beside a queue that stays: a lower rate                              (crowd)
//!           a queue that overflows before it is so long: half of that at most        (overflow)
//!           a queue that stays whatever the window is: a longer path, and none       (floor)
//!           a queue that stays longer than it asks for: some of it is given away     (give)
//!           and one that stays much longer: the window of CUBIC                      (rival)
//!           and a queue that marks: the same                                         (marks)
//!           a router that says that its queue is nearly full: less of a queue        (told)
//! ```
//!
//! Everything is decided once a round trip, but for the end of slow start. Volumes are in bytes, rates in bytes a second and times in
//! seconds.

mod config;
mod crowd;
mod delay;
mod floor;
mod give;
mod hold;
mod loss;
mod marks;
mod outage;
mod overflow;
mod rival;
mod start;
mod target;
#[cfg(test)]
mod tests;
mod told;
mod trial;

pub use config::ThalwegConfig;

use super::delivery::{Sampler, Stamp};
use super::{
    AckSample, Controller, Decision, FeedbackSample, LossKind, LossSample, LostSample, Path, SentSample,
};
use crate::units::{Duration, Rate, Time};
use crate::window::MOST_WINDOW;
use crowd::Crowd;
use delay::Delay;
use floor::Floor;
use give::Giving;
use hold::Pace;
use loss::{PathLoss, Tally};
use outage::Outage;
use rival::Rival;
use target::Target;
use told::Told;
use trial::Trial;

/// The pacing rate as a multiple of a window each round trip: in slow start, and later. It is no limit, it only spreads what the window
/// allows.
const PACING: (f64, f64) = (1.5, 1.2);
/// The time of a burst at the pacing rate, in seconds: hosts wake some thousand times a second.
const QUANTUM: f64 = 250e-6;
/// The segments in a burst, at least and at most. A pace of single ones loses whatever a host wakes too late, but for slow start, which
/// has more of a margin.
const BURST: (f64, f64) = (2.0, 64.0);
/// The share of the shortest round trip that a round trip takes at least: a packet that comes late may seem to end one at once.
const SHORTEST: f64 = 0.75;
/// The multiple of a round trip that the smoothed one is no longer than.
const OVER: f64 = 2.0;
/// The shares of the window of before at which a start behind a time-out ends, and one behind an outage.
const RETURNS: (f64, f64) = (0.5, 0.9);
/// The share of the rate of the round trip before below which a host, and no path, is held to have taken the time.
const ASLEEP: f64 = 0.5;
/// The share of a queue that overflows which a flow asks for at most.
const FULL: f64 = 0.5;
/// The share of the shortest queue that is asked for which the delay of an empty path may differ by.
const TOLERANCE: f64 = 0.1;

/// Thalweg.
#[derive(Clone, Debug)]
pub struct Thalweg {
    config: ThalwegConfig,
    sampler: Sampler,
    /// The segment size; 0 until the first packet leaves, which tells it.
    segment: f64,
    window: f64,
    phase: Phase,
    pace: Pace,
    delay: Delay,
    floor: Floor,
    path_loss: PathLoss,
    trial: Option<Trial>,
    crowd: Crowd,
    giving: Giving,
    rival: Rival,
    told: Told,
    outage: Outage,
    round: Round,
    /// The window is smaller by this for this round trip, so that the queue empties.
    dip: f64,
    min_rtt: f64,
    /// The smoothed round trip; 0 before the first.
    rtt: f64,
    /// The number of the byte after the last one that was lost.
    lost_until: u64,
    /// Packets that left before say nothing of losses at the window of now.
    epoch: Time,
    /// The last packet was acknowledged.
    acked_at: Time,
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The window doubles from round trip to round trip, until it is so large.
    Start { until: f64 },
    /// The queue is held.
    Hold,
}

/// The events of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Time,
    tally: Tally,
    /// Those of the packets that left while the rate was lower.
    low: Tally,
    delivered: f64,
    /// The most that was in flight, and what was so when the first packet left that was lost.
    in_flight: f64,
    lost_at: f64,
    /// The sum of the round-trip times, and their number.
    rtts: (f64, f64),
    app_limited: bool,
    before: Before,
}

impl Round {
    /// The rate at which packets arrive if it was `rate` in this round trip: a host that sleeps has little arrive in one round trip, which
    /// comes with the next.
    fn arrives(&self, rate: f64) -> f64 {
        if rate < ASLEEP * self.before.rate { self.before.rate } else { rate }
    }
}

/// The figures that remain of the round trip before.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The rate at which it delivered; 0 where there was none.
    rate: f64,
    sent: f64,
    in_flight: f64,
}

/// The data that Thalweg remembers with each packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThalwegStamp {
    delivery: Stamp,
    /// It left while the rate was lower than usual.
    low: bool,
}

impl Thalweg {
    /// Starts as `config` says; an initial window below one segment is one, and one that no sender follows the largest.
    pub fn new(config: &ThalwegConfig) -> Self {
        let initial_window = config.initial_window.clamp(1.0, MOST_WINDOW);
        Self {
            config: ThalwegConfig { initial_window, ..*config },
            sampler: Sampler::default(),
            segment: 0.0,
            window: 0.0,
            phase: Phase::Start { until: f64::INFINITY },
            pace: Pace::default(),
            delay: Delay::new(config.base_window),
            floor: Floor::default(),
            path_loss: PathLoss::default(),
            trial: None,
            crowd: Crowd::default(),
            giving: Giving::default(),
            rival: Rival::default(),
            told: Told::default(),
            outage: Outage::default(),
            round: Round::default(),
            dip: 0.0,
            min_rtt: f64::INFINITY,
            rtt: 0.0,
            lost_until: u64::MAX,
            epoch: Time::ZERO,
            acked_at: Time::ZERO,
        }
    }

    /// True while it does as CUBIC does, since somebody else fills the queue.
    pub fn is_competing(&self) -> bool {
        self.rival.is_there()
    }

    /// The share of packets that the path is held to lose by itself.
    pub fn path_loss(&self) -> f64 {
        self.path_loss.share()
    }

    /// The first packet leaves.
    #[cold]
    fn begin(&mut self, path: &Path) {
        self.segment = f64::from(path.segment);
        self.window = self.first_window();
        self.rtt = path.smoothed_rtt.as_secs_f64();
        self.round.began = path.now;
    }

    /// The queueing delay that a flow of this rate asks for.
    fn target(&self, rate: f64) -> f64 {
        let wanted = self.target_rule().at(rate, self.segment, self.min_rtt);
        self.delay.full().map_or(wanted, |full| wanted.min((FULL * full).max(self.segment / rate.max(1.0))))
    }

    fn target_rule(&self) -> Target {
        Target { constant: self.config.queueing.as_secs_f64() }
    }

    /// The rate of a window each round trip.
    fn rate(&self) -> f64 {
        if self.rtt > 0.0 { self.window / self.rtt } else { 0.0 }
    }

    /// The window that is allowed, apart from a dip of one round trip.
    fn usual(&self) -> f64 {
        let window = self.rival.window().map_or(self.window, |window| window * self.segment);
        if self.rival.is_looking() { window * (1.0 - rival::LOOK) } else { window }
    }

    /// The window of a flow that begins.
    fn first_window(&self) -> f64 {
        self.config.initial_window * self.segment
    }

    /// The window is larger than a first one: this is not one of many.
    fn is_large(&self) -> bool {
        self.window > self.first_window()
    }

    /// The path still carries a large window: a repair was lost or is late, by a queue that grows faster than time-outs, and losses are
    /// told by round trips. A window falls to its least where acknowledgements end, as with RFC 9002 (section 7.6).
    fn is_served(&self, path: &Path) -> bool {
        self.is_large()
            && self.phase == Phase::Hold
            && path.now.since(self.acked_at).as_secs_f64() < self.min_rtt
    }

    /// The tally of packets that leave at a lower rate.
    fn low(&mut self) -> &mut Tally {
        self.trial.as_mut().map_or(&mut self.round.low, |trial| &mut trial.low)
    }

    /// Takes the round-trip time of an acknowledgement: of what was sent again that of the last transmission, unless it is too short
    /// for that (RFC 8985, section 6.2, step 2).
    fn take_rtt(&mut self, sample: &AckSample) {
        if sample.rtt.is_some() {
            self.min_rtt = sample.path.min_rtt.as_secs_f64();
        }
        let rtt = sample.rtt.unwrap_or_else(|| sample.path.now.since(sample.sent_at)).as_secs_f64();
        if rtt >= self.min_rtt {
            self.round.rtts.0 += rtt;
            self.round.rtts.1 += 1.0;
            let smoothed = if self.rtt == 0.0 { rtt } else { self.rtt + (rtt - self.rtt) / 8.0 };
            // After an outage what it held back is over with the first packet that it did not: few come where the pace is that of an outage.
            self.rtt = smoothed.min(OVER * rtt);
        }
    }

    fn end_round(&mut self, path: &Path) {
        let now = path.now;
        let queueing = self.delay.end_round();
        self.told.watch(queueing, self.delay.newest());
        let last = core::mem::take(&mut self.round);
        let windows = self.usual() / self.first_window();
        let queueing = if self.floor.has_moved(self.delay.standing(), windows, last.tally, self.path_loss()) {
            self.delay.begin_anew();
            self.rival = Rival::default();
            0.0
        } else {
            queueing
        };
        let took = now.since(last.began).as_secs_f64();
        let rate = if took > 0.0 { last.delivered / took } else { 0.0 };
        self.round.began = now;
        self.round.before = Before { rate, sent: last.tally.sent, in_flight: last.in_flight };
        self.path_loss.control(last.low);
        self.end_dip(queueing);
        let rtt = if last.rtts.1 > 0.0 { last.rtts.0 / last.rtts.1 } else { self.rtt };
        if rtt <= 0.0 {
            return;
        }
        let empty = (rtt - queueing).max(0.0);
        if let Phase::Start { .. } = self.phase {
            self.end_round_of_start(now, &last, rate, empty);
        } else if self.answer_losses(&last, path, last.arrives(rate) * empty) {
            // Whatever the queue was, it is not what matters now.
        } else if let Some(window) = self.rival.window() {
            self.window = window * self.segment;
            let is_calm = queueing < self.target(self.rate());
            if self.rival.watch(now, rate, is_calm) {
                self.pace.slow_down();
            }
        } else if !last.app_limited {
            self.steer(now, &last, queueing, rate, rtt);
        }
    }
}

impl crate::digest::Digest for Thalweg {
    fn digest<H: core::hash::Hasher>(&self, now: Time, into: &mut H) {
        crate::digest::feed_shown(now, self, into);
    }
}

impl Controller for Thalweg {
    type PacketInfo = ThalwegStamp;

    fn on_sent(&mut self, sample: &SentSample) -> ThalwegStamp {
        if self.segment == 0.0 {
            self.begin(&sample.path);
        }
        // It grows once the path is known to carry longer packets.
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
            self.delay.sample(sample, TOLERANCE * self.config.queueing.as_secs_f64(), self.rival.is_there());
        }
        if let Phase::Start { until } = self.phase {
            self.start(sample, &rs, until);
        }
        self.rival.on_ack(path.now, path.smoothed_rtt, acked);
        let is_whole = path.now.since(self.round.began).as_secs_f64() > SHORTEST * self.min_rtt;
        if rs.round_start && (is_whole || self.min_rtt.is_infinite()) {
            self.end_round(path);
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, info: ThalwegStamp) {
        self.sampler.on_packet_lost(sample);
        if sample.named {
            // The router's message says what it means.
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
        // What single losses mean is decided by round trips.
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
            // Half of it each time: where many start at once, the first windows together may be what is too much.
            self.window = (self.window.min(self.first_window()) / 2.0).max(self.least());
            // What was in flight may fill the queue for as long, and be lost for that: it says nothing of smaller windows.
            self.epoch = sample.path.now + Duration::from_secs_f64(self.rtt);
            self.round.tally = Tally::default();
            self.trial = None;
            (self.rival, self.giving) = (Rival::default(), Giving::default());
        }
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        self.on_told(sample);
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
        // What was measured since stays.
        (self.window, self.phase, self.trial) = (self.window.max(before.window), before.phase, None);
    }

    fn decision(&self) -> Decision {
        if self.segment == 0.0 {
            return Decision::window(self.config.initial_window);
        }
        let usual = self.usual();
        let window = ((usual - self.dip).max(self.least()) / self.segment).max(1.0);
        if self.rtt == 0.0 {
            return Decision::window(window);
        }
        let (gain, least) =
            if matches!(self.phase, Phase::Start { .. }) { (PACING.0, 1.0) } else { (PACING.1, BURST.0) };
        let rate = gain * usual / self.rtt;
        Decision {
            window,
            pacing_rate: Some(Rate::from_bits_per_sec((8.0 * rate).max(1.0) as u64)),
            burst: (rate * QUANTUM / self.segment).clamp(least, BURST.1) as u32,
        }
    }
}
