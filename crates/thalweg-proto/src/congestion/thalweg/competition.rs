//! Detection of competing traffic that fills the queue until it overflows, and the response to it.

use crate::units::{Duration, Time};

/// Round trips with a standing queue before it is attributed to competing traffic. A round trip with a growing queue
/// counts twice.
const MIN_QUEUE_ROUNDS: u32 = 6;
/// Share of the queue below which it counts as draining.
const SHRINKS: f64 = 0.9;
/// Minimum share of its window that this flow must have yielded meanwhile.
const YIELDED: f64 = 0.1;
/// Minimum drop of the rate, as a share of the yielded window; without competing traffic the queue keeps the rate up.
const MIN_RATE_DROP: f64 = 0.4;
/// Round trips without a queue after which competing traffic is assumed gone.
const CALM_ROUNDS: u32 = 60;
/// Round trips between two probes for competing traffic.
const PROBE_INTERVAL: u32 = 12;
/// Consecutive probes that must find no competing traffic.
const ALONE: u32 = 3;
/// Minimum drop of the rate beside competing traffic, as a share of a probe's window reduction.
const ELASTIC: f64 = 0.25;
/// Window reduction of a probe, as a share of the window.
pub(super) const PROBE_CUT: f64 = 0.2;
/// Growth of the rate for a window 1.5 times as large, below which the flow holds a third of the path's capacity.
const FOLLOWS: f64 = 1.3;
/// CUBIC's constants (RFC 9438, sections 4.1 and 4.6): scale in segments per second cubed, and decrease factor.
const C: f64 = 0.4;
pub(super) const BETA: f64 = 0.7;
/// NewReno's growth per round trip with that factor (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of the detection of competing traffic.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Competition {
    /// Round trips with too long a queue, and the window, the rate and the queue before the first of them.
    long: u32,
    before: (f64, f64, f64),
    /// Largest window since the queue was short.
    peak: f64,
    /// Largest window yielded to other flows since the queue was at its target.
    yielded_window: f64,
    share: Option<Share>,
    /// Consecutive round trips without a queue.
    calm: u32,
    /// Round trips until the next probe.
    until_probe: u32,
    rate_before_probe: Option<f64>,
    alone: u32,
}

/// CUBIC window beside competing traffic.
#[derive(Clone, Copy, Debug)]
struct Share {
    window: f64,
    /// The window grows by half each round trip, until the first loss or while the rate follows it.
    starting: bool,
    last_rate: f64,
    /// Time of the last loss.
    epoch: Time,
    /// Window of the curve's plateau, and the seconds until it.
    top: f64,
    k: f64,
}

impl Competition {
    pub fn is_there(&self) -> bool {
        self.share.is_some()
    }

    /// Returns the window in segments, while competing traffic fills the queue.
    pub fn window(&self) -> Option<f64> {
        self.share.map(|share| share.window)
    }

    pub fn is_probing(&self) -> bool {
        self.rate_before_probe.is_some()
    }

    /// Records the window, in segments, at the end of slow start; other schemes would have continued.
    pub fn note_peak(&mut self, window: f64) {
        self.peak = self.peak.max(window);
    }

    /// Records the window, in segments, before a part of it is yielded to other flows.
    pub fn note_yielded(&mut self, window: f64) {
        self.yielded_window = self.yielded_window.max(window);
    }

    /// Clears the yielded window: the queue is at its target.
    pub fn forget_yielded(&mut self) {
        self.yielded_window = 0.0;
    }

    /// Evaluates a round trip without known competing traffic: the window in segments, the delivery rate, the queueing
    /// delay, and whether the queue exceeds that of flows of this scheme. With `is_least`, the window is at its minimum
    /// and the queue belongs to other flows. Returns true if competing traffic is detected.
    pub fn suspect(
        &mut self,
        now: Time,
        (window, is_least): (f64, bool),
        rate: f64,
        queueing: f64,
        is_long: bool,
    ) -> bool {
        if !is_long {
            (self.long, self.peak) = (0, 0.0);
            return false;
        }
        if self.long == 0 || queueing < SHRINKS * self.before.2 {
            self.before = (window.max(self.peak).max(self.yielded_window), rate, queueing);
            self.long = 0;
        }
        let grows = queueing > self.before.2;
        self.before.2 = self.before.2.max(queueing);
        self.long += if grows { 2 } else { 1 };
        let yielded = 1.0 - window / self.before.0;
        let lost = 1.0 - rate / self.before.1;
        let is_felt = yielded >= YIELDED && lost >= MIN_RATE_DROP * yielded;
        if self.long < MIN_QUEUE_ROUNDS || !is_felt && !is_least {
            return false;
        }
        self.start_competing(now, self.before.0);
        true
    }

    /// Handles the acknowledgement of `acked` segments.
    pub fn on_ack(&mut self, now: Time, rtt: Duration, acked: f64) {
        let Some(share) = &mut self.share else { return };
        if share.starting {
            share.window += acked / 2.0;
            return;
        }
        // RFC 9438, section 4.4: the value of the curve one round trip from now.
        let t = (now.since(share.epoch) + rtt).as_secs_f64() - share.k;
        let target = (C * t * t * t + share.top).clamp(share.window, 1.5 * share.window);
        let new_reno = ALPHA / share.window;
        share.window += acked * ((target - share.window) / share.window).max(new_reno);
    }

    /// Starts competing, from this window in segments.
    pub fn start_competing(&mut self, now: Time, window: f64) {
        let window = window.max(self.yielded_window);
        let share =
            Share { window, starting: self.peak > 0.0, last_rate: 0.0, epoch: now, top: window, k: 0.0 };
        *self = Self { share: Some(share), until_probe: PROBE_INTERVAL, ..Self::default() };
    }

    /// Handles the first loss or mark of an episode. Between two of them competing flows grow as far as CUBIC does in
    /// that time, and so may this one.
    pub fn on_loss(&mut self, now: Time, rtt: Duration) {
        let Some(share) = &mut self.share else { return };
        let seconds = now.since(share.epoch).as_secs_f64();
        let cubic = C / (1.0 - BETA) * seconds * seconds * seconds;
        let new_reno = ALPHA / (1.0 - BETA) * seconds / rtt.as_secs_f64().max(1e-6);
        let fair = if share.starting { 0.0 } else { cubic.max(new_reno) };
        // RFC 9438, section 4.7: fast convergence.
        share.top = if share.window < share.top { share.window * (1.0 + BETA) / 2.0 } else { share.window };
        share.top = share.top.max(fair.min(4.0 * share.window));
        // RFC 9438, sections 4.6 and 4.2: the decrease, and the time back to the plateau.
        share.window *= BETA;
        share.k = libm::cbrt((share.top - share.window).max(0.0) / C);
        share.starting = false;
        share.epoch = now;
    }

    /// Evaluates a round trip beside competing traffic, with this delivery rate. Returns true if the competing traffic
    /// is gone.
    pub fn watch(&mut self, now: Time, rate: f64, is_calm: bool) -> bool {
        self.calm = if is_calm { self.calm + 1 } else { 0 };
        if let Some(before) = self.rate_before_probe.take() {
            let is_alone = 1.0 - rate / before < ELASTIC * PROBE_CUT;
            self.alone = if is_alone { self.alone + 1 } else { 0 };
            self.until_probe = PROBE_INTERVAL;
        } else if self.until_probe == 0 {
            self.rate_before_probe = Some(rate);
        } else {
            self.until_probe -= 1;
        }
        if let Some(share) = self.share.as_mut().filter(|share| share.starting) {
            if share.last_rate > 0.0 && rate < FOLLOWS * share.last_rate {
                (share.starting, share.epoch, share.top) = (false, now, share.window);
            }
            share.last_rate = rate;
        }
        let over = self.calm >= CALM_ROUNDS || self.alone >= ALONE;
        if over {
            *self = Self::default();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// A queue that stays while both the window and the rate shrink belongs to competing traffic; if the rate stays it
    /// is the flow's own.
    #[test]
    fn a_rate_that_falls_with_the_window_indicates_competing_traffic() {
        for (others, expected) in [(true, true), (false, false)] {
            let mut competition = Competition::default();
            let mut found = false;
            for round in 0..12u32 {
                let window = 1000.0 * 0.93f64.powi(round as i32);
                let rate = if others { window } else { 1000.0 };
                let queueing = 0.05 + 0.001 * f64::from(round);
                found |= competition.suspect(at(100), (window, false), rate, queueing, true);
                if found {
                    break;
                }
            }
            assert_eq!((found, competition.is_there()), (expected, expected));
            assert_eq!(competition.window(), expected.then_some(1000.0), "as large as before it gave way");
        }
    }

    #[test]
    fn a_shrinking_queue_is_not_competing_traffic() {
        let mut competition = Competition::default();
        for round in 0..40i32 {
            let part = 0.9f64.powi(round);
            assert!(!competition.suspect(
                at(100),
                (1000.0 * part, false),
                1000.0 * part,
                0.1 * 0.85f64.powi(round),
                true
            ));
        }
    }

    #[test]
    fn a_flow_at_its_minimum_window_detects_competing_traffic() {
        for is_least in [true, false] {
            let mut competition = Competition::default();
            let found = (0..8).any(|_| competition.suspect(at(100), (4.0, is_least), 1e6, 0.05, true));
            assert_eq!((found, competition.window()), (is_least, is_least.then_some(4.0)));
        }
    }

    fn competing(window: f64) -> Competition {
        let share = Share { window, starting: false, last_rate: 0.0, epoch: at(0), top: window, k: 0.0 };
        Competition { share: Some(share), until_probe: PROBE_INTERVAL, ..Competition::default() }
    }

    /// RFC 9438, section 4.2: between two losses CUBIC grows from 0.7 of a window to the full window, along a cubic
    /// curve of time. A flow with a smaller window grows to that at once.
    #[test]
    fn the_loss_interval_gives_the_window_of_competing_flows() {
        let mut competition = competing(400.0);
        competition.on_loss(at(10_000), Duration::from_millis(100));
        let share = competition.share.expect("there");
        assert_eq!(share.window, 280.0);
        assert!((share.top - C / (1.0 - BETA) * 1000.0).abs() < 1.0, "{}", share.top);
        let mut now = 10_000;
        while now < 20_000 {
            now += 100;
            for _ in 0..100 {
                let acked = competition.window().expect("there") / 100.0;
                competition.on_ack(at(now), Duration::from_millis(100), acked);
            }
        }
        let window = competition.window().expect("there");
        assert!((1100.0..1500.0).contains(&window), "{window}");
    }

    /// A probe reduces the window by a fifth: three in a row with an unchanged rate find no competing traffic.
    #[test]
    fn probes_detect_the_end_of_competing_traffic() {
        for (share, rounds) in [(1.0, Some(45)), (0.5, None)] {
            let mut competition = competing(400.0);
            let left = (0..200).find(|_| {
                let rate = if competition.is_probing() { 1.0 - PROBE_CUT * (1.0 - share) } else { 1.0 };
                competition.watch(at(1000), rate, false)
            });
            assert_eq!(left.is_some(), rounds.is_some(), "{share}: {left:?}");
            assert!(left.is_none_or(|left| rounds.is_some_and(|max| left < max)), "{left:?}");
        }
    }
}
