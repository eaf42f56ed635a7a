//! Network congestion control and media rate control of SCReAMv2 (sections 4.2 and 4.4): the reference window and the
//! target rate derived from it.

use super::config::{Config, Response};
use super::queueing_delay::Delay;
use super::sent_packets::Outcome;
use super::wire::DATA_HEADER;
use crate::units::{Duration, Rate, Time};

/// MIN_REF_WND in bytes.
const MIN_WINDOW: f64 = 3000.0;
/// BYTES_IN_FLIGHT_HEAD_ROOM.
const HEADROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
/// POST_CONGESTION_DELAY_RTT.
const CAUTIOUS_ROUNDS: f64 = 100.0;
/// MUL_INCREASE_FACTOR.
const INCREASE: f64 = 0.02;
/// VIRTUAL_RTT.
const VIRTUAL_RTT: f64 = 0.025;
/// L4S_AVG_G_UP and L4S_AVG_G_DOWN.
const GAIN_UP: f64 = 1.0 / 8.0;
const GAIN_DOWN: f64 = 1.0 / 128.0;
/// Minimum interval between updates of l4s_alpha, in seconds.
const ALPHA_EVERY: f64 = 0.01;
/// Minimum share of marks with which L4S counts as active.
const NO_MARKS: f64 = 0.0001;
/// BYTES_IN_FLIGHT_LIMIT and BYTES_IN_FLIGHT_LIMIT_COMPENSATION.
const IN_FLIGHT_LIMIT: f64 = 0.9;
const IN_FLIGHT_COMPENSATION: f64 = 1.5;
/// Gain of the smoothed round-trip time (RFC 6298).
const RTT_GAIN: f64 = 1.0 / 8.0;
/// Minimum interval between updates of the window's inflection point, in round trips.
const INFLECTION_ROUNDS: f64 = 10.0;

/// State of the congestion controller. Windows are in bytes, times in seconds.
#[derive(Clone, Debug)]
pub(super) struct Control {
    response: Response,
    mss: f64,
    min_rate: f64,
    max_rate: f64,
    pub delay: Delay,
    /// ref_wnd, and ref_wnd_i.
    window: f64,
    inflection: f64,
    inflected: Option<Time>,
    rtt: Option<f64>,
    min_rtt: Option<Duration>,
    /// The last sample, for drivers that collect samples.
    latest_rtt: Option<Duration>,
    /// target_bitrate in bit/s.
    target: f64,
    /// l4s_alpha, and the counters for its next update.
    alpha: f64,
    alpha_updated: Time,
    delivered: u32,
    marked_packets: u32,
    /// max_bytes_in_flight of this round trip and the previous one.
    max_in_flight: [u64; 2],
    round: Time,
    /// True if a packet was lost in this round trip.
    lost_in_round: bool,
    /// last_congestion_detected_time and last_reaction_to_congestion_time.
    congested: Option<Time>,
    reacted: Option<Time>,
    /// Losses and marks since the last reaction.
    is_loss: bool,
    is_ce: bool,
    /// Number of reactions to marks.
    cuts: u64,
}

impl Control {
    pub fn new(config: &Config) -> Self {
        let min_rate = config.encoder.min_rate.as_f64();
        Self {
            response: config.ecn,
            mss: f64::from(config.segment) + f64::from(DATA_HEADER),
            min_rate,
            max_rate: config.encoder.max_rate.as_f64(),
            delay: Delay::new(config.competes),
            window: MIN_WINDOW,
            inflection: 1.0,
            inflected: None,
            rtt: None,
            min_rtt: None,
            latest_rtt: None,
            target: min_rate,
            alpha: 0.0,
            alpha_updated: Time::ZERO,
            delivered: 0,
            marked_packets: 0,
            max_in_flight: [0; 2],
            round: Time::ZERO,
            lost_in_round: false,
            congested: None,
            reacted: None,
            is_loss: false,
            is_ce: false,
            cuts: 0,
        }
    }

    /// Returns the target rate in bit/s, headers of data included.
    pub const fn target(&self) -> f64 {
        self.target
    }

    /// Returns the reference window in bytes.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// Returns the smoothed round-trip time.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(Duration::from_secs_f64)
    }

    /// Returns the minimum round-trip time.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// Returns the last sample since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.latest_rtt.take()
    }

    /// Returns the number of reactions to marks.
    pub const fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Records the number of bytes in flight after a transmission.
    pub fn note_in_flight(&mut self, bytes: u64) {
        self.max_in_flight[0] = self.max_in_flight[0].max(bytes);
    }

    /// Handles the outcome of a report; `in_flight` is the number of bytes in flight before it.
    pub fn on_report(&mut self, now: Time, outcome: &Outcome, in_flight: u64) {
        if let Some(rtt) = outcome.rtt {
            let sample = rtt.as_secs_f64();
            self.latest_rtt = Some(rtt);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |minimum| minimum.min(rtt)));
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt + RTT_GAIN * (sample - rtt)));
            self.delay.measure(now, outcome.one_way);
        }
        let Some(rtt) = self.rtt.map(|rtt| rtt.max(1e-6)) else { return };
        self.delay.update(now, Duration::from_secs_f64(rtt.min(VIRTUAL_RTT)));
        self.update_alpha(now, outcome, rtt);
        let scale = self.closeness();
        self.reduce(now, outcome, rtt, scale);
        self.increase(now, outcome, rtt, scale);
        self.set_target(rtt, in_flight as f64 / self.window);
        if now.since(self.round).as_secs_f64() >= rtt {
            self.round = now;
            self.max_in_flight = [0, self.max_in_flight[0]];
            self.delay.end_round(core::mem::take(&mut self.lost_in_round));
        }
    }

    /// ref_wnd_ratio.
    fn ratio(&self) -> f64 {
        (self.mss / self.window).min(1.0)
    }

    /// Returns scl_t: small where the window is close to its value at the last congestion.
    fn closeness(&self) -> f64 {
        let scale = (self.window - self.inflection) / self.inflection * 8.0;
        (scale * scale).clamp(0.1, 1.0)
    }

    /// Section 4.2.1.3.
    fn update_alpha(&mut self, now: Time, outcome: &Outcome, rtt: f64) {
        self.delivered += outcome.packets;
        self.marked_packets += outcome.marked_packets;
        if self.delivered == 0 || now.since(self.alpha_updated).as_secs_f64() < rtt.min(ALPHA_EVERY) {
            return;
        }
        let share = f64::from(self.marked_packets) / f64::from(self.delivered);
        // Fast attack, slow decay.
        if share >= self.alpha {
            self.alpha += GAIN_UP * (share - self.alpha);
        } else {
            self.alpha *= 1.0 - GAIN_DOWN;
        }
        self.alpha_updated = now;
        (self.delivered, self.marked_packets) = (0, 0);
    }

    /// Section 4.2.2.1.
    fn reduce(&mut self, now: Time, outcome: &Outcome, rtt: f64, scale: f64) {
        let is_marked = outcome.marked_packets > 0 && self.response != Response::None;
        self.is_loss |= outcome.is_loss;
        self.lost_in_round |= outcome.is_loss;
        self.is_ce |= is_marked;
        if outcome.is_loss || is_marked {
            self.congested = Some(now);
        }
        let since = self.reacted.map(|at| now.since(at).as_secs_f64());
        // At most one reaction per min(VIRTUAL_RTT, s_rtt): a burst of losses or marks is one event.
        if since.is_some_and(|since| since < rtt.min(VIRTUAL_RTT)) {
            return;
        }
        let (is_loss, is_ce) = (core::mem::take(&mut self.is_loss), core::mem::take(&mut self.is_ce));
        let virtual_alpha = if is_loss || is_ce { None } else { self.virtual_alpha(rtt) };
        if !is_loss && !is_ce && virtual_alpha.is_none() {
            return;
        }
        if self.inflected.is_none_or(|at| now.since(at).as_secs_f64() > INFLECTION_ROUNDS * rtt) {
            (self.inflected, self.inflection) = (Some(now), self.window);
        }
        // Stability of small windows.
        let small = (1.0 - self.ratio()).max(0.5);
        if is_loss {
            self.window *= BETA_LOSS;
        }
        if is_ce && self.response == Response::L4s {
            let mut decrease = self.alpha / 2.0 * small;
            if self.delay.last() < self.delay.target() * 0.25 {
                decrease *= scale.max(0.25);
            }
            if since.is_none_or(|since| since > CAUTIOUS_ROUNDS * rtt.max(VIRTUAL_RTT)) {
                // The window may have grown far beyond the data in flight.
                self.window = self.window.min(self.max_in_flight[1] as f64);
            }
            self.window *= 1.0 - decrease;
        } else if is_ce {
            self.window *= BETA_ECN;
        }
        if let Some(alpha) = virtual_alpha {
            self.window *= 1.0 - alpha / 2.0 * small;
        }
        self.cuts += u64::from(is_ce);
        self.window = self.window.max(MIN_WINDOW);
        self.reacted = Some(now);
    }

    /// Returns l4s_alpha_v_t: a virtual mark share derived from delay, without real marks (sections 4.2.1.4 and
    /// 4.2.2.1).
    fn virtual_alpha(&self, rtt: f64) -> Option<f64> {
        let half = self.delay.target() / 2.0;
        let limit = 2.0 / self.target * self.mss * 8.0 / rtt;
        (self.delay.last() > half && self.alpha < limit)
            .then(|| (2.0 * limit * ((self.delay.average() - half) / half).max(0.0)).min(1.0))
    }

    /// Section 4.2.2.2.
    fn increase(&mut self, now: Time, outcome: &Outcome, rtt: f64, scale: f64) {
        let since = |at: Time| now.since(at).as_secs_f64() / (CAUTIOUS_ROUNDS * rtt.max(VIRTUAL_RTT));
        let cautious = self.congested.map_or(1.0, |at| since(at).min(1.0));
        let mut more = outcome.bytes.saturating_sub(outcome.marked_bytes) as f64 * self.ratio();
        // Flows with short round trips would otherwise grow faster than others.
        let short = (rtt / VIRTUAL_RTT).min(1.0);
        more *= short * short * scale.max(0.25) * (1.0 - self.ratio()).max(0.5);
        // Without marks, delay alone indicates a queue.
        if self.alpha < NO_MARKS {
            more *= (1.0 - self.delay.average() / (self.delay.target() / 4.0)).max(0.1);
        }
        more *= 1.0 + INCREASE * self.window / self.mss * cautious * scale;
        // A window that the encoder does not fill must not grow: it would not limit the next key frame.
        let in_flight = self.max_in_flight.into_iter().max().unwrap_or(0) as f64;
        if self.window + more <= self.mss + in_flight * HEADROOM && self.target < self.max_rate {
            self.window += more;
        }
    }

    /// Section 4.4.
    fn set_target(&mut self, rtt: f64, in_flight: f64) {
        let mut scale = 1.0;
        if self.delay.last() > self.delay.target() * 0.25 && in_flight > IN_FLIGHT_LIMIT {
            scale /= (in_flight / IN_FLIGHT_LIMIT).min(IN_FLIGHT_COMPENSATION);
        }
        scale *= 1.0 - (self.ratio() - 0.1).clamp(0.0, 0.2);
        self.target = (scale * 8.0 * self.window / rtt).clamp(self.min_rate, self.max_rate);
    }

    /// Returns the share of the target for frames, without headers (PACKET_OVERHEAD).
    pub fn media(&self) -> f64 {
        self.target * (1.0 - f64::from(DATA_HEADER) / self.mss)
    }

    /// Returns the pacing rate (section 4.3.3).
    pub fn pacing(&self) -> Rate {
        Rate::from_bits_per_sec((self.target.max(MIN_PACING) * PACING_HEADROOM) as u64)
    }
}

/// RATE_PACE_MIN in bit/s.
pub(super) const MIN_PACING: f64 = 50_000.0;
/// PACKET_PACING_HEADROOM.
const PACING_HEADROOM: f64 = 1.5;

#[cfg(test)]
#[path = "congestion_control_tests.rs"]
mod tests;
