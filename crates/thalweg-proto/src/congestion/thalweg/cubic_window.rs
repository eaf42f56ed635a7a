//! CUBIC's window (RFC 9438): the upper bound of the window after congestion, and the window while competing traffic is
//! present.
//!
//! # Differences from RFC 9438
//!
//! | RFC | Ours | Reason |
//! | --- | --- | --- |
//! | cwnd is at least one or two segments | the window may be below one segment | with less than one packet of many flows in the network, a minimum window keeps any queue full |
//! | after a timeout K = 0, and W_max is the window at the end of slow start (4.8) | W_max and K as after other congestion | a timeout with a small window is a loss like others |
//! | alpha is 1 once W_est reaches the window before the reduction (4.3) | alpha stays the same | there is no W_est: growth rates are compared |

use crate::units::{Duration, Time};

/// Scale of the curve (RFC 9438, section 5.1), in segments per second cubed.
const C: f64 = 0.4;
/// Decrease factor (section 4.6).
pub(super) const BETA: f64 = 0.7;
/// NewReno's growth per round trip with that factor (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Maximum growth per round trip (section 4.2).
const MAX_GROWTH: f64 = 1.5;
/// Maximum of W_max as derived from the time between losses, in windows.
const MAX_PLATEAU: f64 = 4.0;
/// Minimum of the data in flight from which the window is reduced, as a share of the window: packets of one burst of losses
/// are no longer in flight, and would reduce it twice.
const MIN_IN_FLIGHT: f64 = 0.5;

/// CUBIC's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct CubicWindow {
    /// Window, in segments.
    pub window: f64,
    /// Slow-start threshold, in segments.
    ssthresh: f64,
    /// Window of the curve's plateau, in segments.
    w_max: f64,
    /// Time from the epoch until the curve reaches `w_max`, in seconds.
    k: f64,
    /// Beginning of the curve.
    epoch: Time,
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    pub now: Time,
    /// Round-trip time, in seconds.
    pub rtt: f64,
    /// Segments in flight.
    pub in_flight: f64,
    /// The retransmission timer expired.
    pub timeout: bool,
    /// It expired once more for the same segment.
    pub repeated: bool,
    /// Competing traffic is present, and has grown since the last loss.
    pub competing: bool,
}

impl CubicWindow {
    /// Creates a window of `window` segments that first grows by slow start, up to `ssthresh`.
    pub fn new(window: f64, ssthresh: f64, now: Time) -> Self {
        Self { window, ssthresh, w_max: window.max(ssthresh), k: 0.0, epoch: now }
    }

    /// Handles the acknowledgement of `acked` segments.
    pub fn on_ack(&mut self, now: Time, rtt: Duration, acked: f64) {
        // Below one segment growth is proportional to the window: a fixed step would exceed the window itself.
        let scale = self.window.min(1.0);
        if self.window < self.ssthresh {
            self.window = (self.window + acked * scale).min(self.ssthresh);
            if self.window >= self.ssthresh {
                self.begin_epoch(now);
            }
            return;
        }
        // RFC 9438, section 4.2: the value of the curve one round trip from now.
        let t = (now.since(self.epoch) + rtt).as_secs_f64() - self.k;
        let target = (C * t * t * t + self.w_max).clamp(self.window, MAX_GROWTH * self.window);
        let curve = if self.window < 1.0 { 0.0 } else { (target - self.window) / self.window };
        self.window += acked * curve.max(ALPHA * scale / self.window);
    }

    /// Reduces the window, to no less than `min_window` segments.
    pub fn on_congestion(&mut self, event: &Congestion, min_window: f64) {
        if event.repeated {
            // RFC 5681, section 3.1: a repeated timeout keeps ssthresh.
            self.window = (self.window.min(1.0) * BETA).max(min_window);
            return;
        }
        let was_in_slow_start = self.window < self.ssthresh;
        // RFC 9438, section 4.7: fast convergence.
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        if event.competing && !was_in_slow_start {
            // The window from which a flow of CUBIC or NewReno has grown to its loss in the time since the last one.
            let seconds = event.now.since(self.epoch).as_secs_f64();
            let cubic = C / (1.0 - BETA) * seconds * seconds * seconds;
            let new_reno = ALPHA / (1.0 - BETA) * seconds / event.rtt.max(1e-6);
            self.w_max = self.w_max.max(cubic.max(new_reno).min(MAX_PLATEAU * self.window));
        }
        // RFC 9438, sections 4.6 and 4.8.
        let min_in_flight = if event.timeout { 1.0 } else { MIN_IN_FLIGHT * self.window };
        let reduced = (self.window.min(event.in_flight.max(1.0).max(min_in_flight)) * BETA).max(min_window);
        self.ssthresh = reduced;
        self.window = if event.timeout { reduced.min(1.0) } else { reduced };
        self.begin_epoch(event.now);
    }

    /// Begins the curve at the current window (section 4.2, figure 2).
    fn begin_epoch(&mut self, now: Time) {
        self.epoch = now;
        self.k = libm::cbrt((self.w_max - self.window).max(0.0) / C);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: f64 = 0.1;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn loss(millis: u64, in_flight: f64) -> Congestion {
        Congestion { now: at(millis), rtt: RTT, in_flight, timeout: false, repeated: false, competing: false }
    }

    /// Acknowledges a window per round trip from `from` to `until`, in milliseconds.
    fn acknowledge_windows(cubic: &mut CubicWindow, from: u64, until: u64) {
        for now in (from..until).step_by(100) {
            let acked = cubic.window / 100.0;
            (0..100).for_each(|_| cubic.on_ack(at(now), Duration::from_secs_f64(RTT), acked));
        }
    }

    /// RFC 9438, section 4.2: the window is back at the former one after K seconds.
    #[test]
    fn the_window_returns_along_the_curve() {
        let mut cubic = CubicWindow::new(1000.0, 0.0, at(0));
        cubic.on_congestion(&loss(0, 1000.0), 0.25);
        assert_eq!(cubic.window, 700.0);
        let k = (300.0f64 / C).cbrt();
        acknowledge_windows(&mut cubic, 0, (k * 500.0) as u64);
        assert!((940.0..985.0).contains(&cubic.window), "{}", cubic.window);
        acknowledge_windows(&mut cubic, (k * 500.0) as u64, (k * 1000.0) as u64);
        assert!((990.0..1010.0).contains(&cubic.window), "{}", cubic.window);
        // A second loss before that gives up part of the window (section 4.7).
        cubic.on_congestion(&loss(20_000, 1000.0), 0.25);
        let before = cubic.window;
        cubic.on_congestion(&loss(20_000, 1000.0), 0.25);
        assert_eq!(cubic.w_max, before * 0.85);
    }

    /// Between two losses competing flows grow from 0.7 of a window to the full window, along a cubic curve of time. A
    /// flow with a smaller window grows to that at once, but at most to four times its window.
    #[test]
    fn the_loss_interval_gives_the_window_of_competing_flows() {
        for (competing, window, w_max) in
            [(true, 400.0, C / (1.0 - BETA) * 1000.0), (true, 200.0, 800.0), (false, 400.0, 400.0)]
        {
            let mut cubic = CubicWindow::new(window, 0.0, at(0));
            cubic.on_congestion(&Congestion { competing, ..loss(10_000, window) }, 0.25);
            assert!((cubic.w_max - w_max).abs() < 1.0, "{}", cubic.w_max);
            assert_eq!(cubic.window, BETA * window);
        }
    }

    /// A timeout restarts slow start up to 0.7 of the data in flight, and repeated ones do not change that.
    #[test]
    fn a_time_out_restarts_slow_start() {
        let mut cubic = CubicWindow::new(100.0, 0.0, at(0));
        cubic.on_congestion(&Congestion { timeout: true, ..loss(0, 60.0) }, 0.25);
        assert_eq!((cubic.window, cubic.ssthresh), (1.0, 42.0));
        let mut repeated = cubic;
        (0..5).for_each(|_| {
            repeated.on_congestion(&Congestion { timeout: true, repeated: true, ..loss(0, 1.0) }, 0.25);
        });
        assert_eq!((repeated.window, repeated.ssthresh), (0.25, 42.0));
        for _ in 0..3 {
            let acked = cubic.window;
            cubic.on_ack(at(100), Duration::from_secs_f64(RTT), acked);
        }
        assert_eq!(cubic.window, 8.0);
        (0..40).for_each(|_| cubic.on_ack(at(200), Duration::from_secs_f64(RTT), 1.0));
        assert!((42.0..44.0).contains(&cubic.window), "{}", cubic.window);
    }

    /// Data that is lost with the first packet is not in flight, and does not reduce the window further.
    #[test]
    fn little_data_in_flight_reduces_to_half_of_that_at_most() {
        let mut cubic = CubicWindow::new(100.0, 0.0, at(0));
        cubic.on_congestion(&loss(0, 10.0), 0.25);
        assert_eq!(cubic.window, 35.0);
    }

    /// Below one segment the window grows in proportion to itself, and falls to its minimum.
    #[test]
    fn the_window_may_be_below_one_segment() {
        let mut cubic = CubicWindow::new(0.5, 0.0, at(0));
        cubic.on_congestion(&loss(0, 0.0), 0.25);
        cubic.on_ack(at(100), Duration::from_secs_f64(RTT), 1.0);
        assert!((cubic.window - 0.35 - ALPHA).abs() < 1e-9, "{}", cubic.window);
        let mut cubic = CubicWindow::new(0.3, 0.0, at(0));
        cubic.on_congestion(&loss(0, 1.0), 0.25);
        assert_eq!(cubic.window, 0.25);
    }
}
