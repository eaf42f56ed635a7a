//! The target queueing delay of a flow, by its rate and minimum round-trip time, and the share of it in use.

use crate::units::{Duration, Time};

/// Rate-dependent queueing delay of a flow of 100 Mbit/s, in seconds. It falls with the square root of the rate.
const REFERENCE_DELAY: f64 = 1.5e-3;
/// Reference rate, in bytes per second.
const REFERENCE_RATE: f64 = 12.5e6;
/// Segments of the flow that its target may contain on short paths, where the round-trip time limits it: a shorter queue
/// cannot be distinguished from the packets themselves.
const MIN_TARGET_SEGMENTS: f64 = 1.0;
/// Maximum of the rate-dependent part, as a share of the minimum round-trip time.
const SCALED_SHARE: f64 = 0.25;
/// Maximum of the constant part, as a share of the minimum round-trip time. On paths shorter than the host delay, in
/// seconds, the maximum is the difference of the two if that is larger.
const CONSTANT_SHARE: f64 = 0.125;
const HOST_DELAY: f64 = 1e-3;

/// Minimum share of the target that a flow uses, and the time in which the share recovers from zero to one.
const MIN_SHARE: f64 = 0.1;
const RECOVERY_TIME: Duration = Duration::from_secs(10);

/// Rule of the queueing-delay target: slower flows target more, and flows sharing a queue converge to equal rates for
/// any round-trip times (as FAST TCP's packets in the queue do, and the flow scaling of Swift, section 3.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Constant part of the target, in seconds.
    pub constant: f64,
}

impl Target {
    /// Returns the queueing delay in seconds for `rate`, in bytes per second, with segments of `segment` bytes, at this
    /// minimum round-trip time.
    pub fn at(self, rate: f64, segment: f64, min_rtt: f64) -> f64 {
        let shortest = MIN_TARGET_SEGMENTS * segment / rate.max(1.0);
        self.constant(min_rtt) + Self::scale_rate(rate).min((SCALED_SHARE * min_rtt).max(shortest))
    }

    /// Returns the same without the segment that a target contains at least.
    pub fn without_segment(self, rate: f64, min_rtt: f64) -> f64 {
        self.constant(min_rtt) + Self::scale_rate(rate).min(SCALED_SHARE * min_rtt)
    }

    fn scale_rate(rate: f64) -> f64 {
        REFERENCE_DELAY * (REFERENCE_RATE / rate.max(1.0)).sqrt()
    }

    fn constant(self, min_rtt: f64) -> f64 {
        self.constant.min((CONSTANT_SHARE * min_rtt).max(HOST_DELAY - min_rtt))
    }

    /// Returns the rate at which a flow targets a queue of `queueing`, as a share of the rate at which it targets
    /// `target`.
    pub fn rate_share(self, target: f64, queueing: f64, min_rtt: f64) -> f64 {
        let constant = self.constant(min_rtt);
        ((target - constant) / (queueing - constant)).powi(2)
    }
}

/// Share of its queue target that a flow uses. It falls at a router's message, and at a loss beside a queue that is not
/// long: the queue may hold less than the target. All flows that share the queue reduce at the same time and recover
/// alike, so that their shares converge.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetShare {
    share: f64,
    /// Time of the last calculation of the share, and the share before the last reduction.
    updated_at: Time,
    before: f64,
}

impl Default for TargetShare {
    fn default() -> Self {
        Self { share: 1.0, updated_at: Time::ZERO, before: 1.0 }
    }
}

impl TargetShare {
    /// Returns the share at this time.
    pub fn at(&mut self, now: Time) -> f64 {
        let passed = now.since(self.updated_at).as_secs_f64() / RECOVERY_TIME.as_secs_f64();
        (self.share, self.updated_at) = ((self.share + passed).min(1.0), now);
        self.share
    }

    /// Returns true if the flow uses all of its target.
    pub fn has_recovered(&self) -> bool {
        self.share >= 1.0
    }

    /// Reduces the share by `factor`.
    pub fn reduce(&mut self, now: Time, factor: f64) {
        self.before = self.at(now);
        self.share = (factor * self.before).max(MIN_SHARE);
    }

    /// Undoes the last reduction.
    pub fn undo(&mut self) {
        self.share = self.share.max(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth per second.
    #[test]
    fn the_share_of_the_target_recovers_with_time() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut share = TargetShare::default();
        share.reduce(at(1), 0.25);
        assert_eq!((share.at(at(3)), share.has_recovered()), (0.45, false));
        assert_eq!((share.at(at(20)), share.has_recovered()), (1.0, true));
        (0..9).for_each(|_| share.reduce(at(20), 0.5));
        assert_eq!(share.at(at(20)), MIN_SHARE);
        share.undo();
        assert_eq!(share.at(at(20)), MIN_SHARE, "the last reduction of these changed nothing");
        share.reduce(at(30), 0.5);
        share.undo();
        assert_eq!(share.at(at(30)), 1.0);
    }

    const TARGET: Target = Target { constant: 1e-3 };
    const SEGMENT: f64 = 1448.0;

    #[test]
    fn slower_flows_have_longer_queue_targets() {
        let at = |megabits: f64, min_rtt: f64| TARGET.at(megabits * 125e3, SEGMENT, min_rtt);
        let near = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-6, "{value} for {wanted}");
        near(at(100.0, 0.1), 2.5e-3);
        near(at(25.0, 0.1), 4.0e-3);
        near(at(1.0, 0.1), 16e-3);
        // A quarter of the round-trip time, or a segment where that is longer.
        near(at(1.0, 0.04), 1e-3 + SEGMENT / 125e3);
        near(at(5.0, 0.02), 1e-3 + 5e-3);
        // At most three eighths of the round-trip time on a short path.
        near(at(100.0, 1e-3), 0.375e-3);
        // At most a millisecond and a quarter, if hosts cause the delay.
        near(at(10_000.0, 100e-6), 0.9e-3 + 25e-6);
        near(at(10_000.0, 600e-6), 0.4e-3 + 150e-6);
    }

    #[test]
    fn a_queue_gives_the_fair_rate_of_its_flows() {
        let at = |megabits: f64| TARGET.at(megabits * 125e3, SEGMENT, 0.1);
        assert!((TARGET.rate_share(at(80.0), at(20.0), 0.1) - 0.25).abs() < 1e-9);
    }
}
