//! The round-trip time and the retransmission timeout (RFC 6298).

use super::RttConfig;
use crate::units::Duration;
use core::hash::{Hash, Hasher};

/// Last sample, for drivers that collect samples; [`Duration::MAX`] without one. No decision depends on it, so state
/// hashes exclude it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LatestSample(Duration);

impl Hash for LatestSample {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

/// The state of RFC 6298, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RttEstimator {
    smoothed: Duration,
    variation: Duration,
    min: Duration,
    /// The timeout, backed off by doubling.
    timeout: Duration,
    latest: LatestSample,
}

impl RttEstimator {
    /// Creates the state before the first sample.
    pub fn new(config: &RttConfig) -> Self {
        Self {
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            min: Duration::MAX,
            timeout: config.initial,
            latest: LatestSample(Duration::MAX),
        }
    }

    /// Takes a measurement; ends any back-off (RFC 6298, sections 2 and 5).
    pub fn sample(&mut self, config: &RttConfig, rtt: Duration) {
        self.min = self.min.min(rtt);
        self.latest = LatestSample(rtt);
        // RFC 6298, section 4: a coarse clock counts ticks. Rounded down, a short sample would be zero, and
        // zero means no sample.
        let rtt = rtt.round_up_to(config.granularity);
        if self.smoothed.is_zero() {
            // RFC 6298, section 2.2: the first measurement.
            self.smoothed = rtt;
            self.variation = rtt / 2;
        } else {
            // RFC 6298, section 2.3: gains of 1/4 and 1/8. The variation uses the previous smoothed time.
            let (variation, smoothed) = (self.variation.as_picos(), self.smoothed.as_picos());
            let error = self.smoothed.abs_diff(rtt).as_picos();
            self.variation = Duration::from_picos(variation - variation / 4 + error / 4);
            self.smoothed = Duration::from_picos(smoothed - smoothed / 8 + rtt.as_picos() / 8);
        }
        self.timeout = self.computed_timeout(config);
    }

    /// Doubles the timeout after an expiry of the timer (RFC 6298, section 5.5).
    pub fn back_off(&mut self, config: &RttConfig) {
        // RFC 6298, section 2.5: the maximum applies to the back-off, too.
        self.timeout = (self.timeout() * 2).min(config.ceiling);
    }

    /// Sets a minimum for the timeout before the first sample (RFC 6298, section 5.7).
    pub fn wait_at_least(&mut self, timeout: Duration) {
        if self.smoothed.is_zero() {
            self.timeout = self.timeout.max(timeout);
        }
    }

    fn computed_timeout(&self, config: &RttConfig) -> Duration {
        // RFC 6298, sections 2.3 to 2.5: SRTT + max(G, K * RTTVAR), within a minimum and a maximum.
        let deviations = self.variation * u64::from(config.deviations);
        let margin = deviations.max(config.granularity).max(config.margin);
        (self.smoothed + margin).max(config.floor).min(config.ceiling)
    }

    /// Returns the timeout without floor, margin and back-off, for the fine-grained check. The initial one before the
    /// first sample.
    pub fn fine_grained_timeout(&self, config: &RttConfig) -> Duration {
        if self.smoothed.is_zero() {
            return config.initial;
        }
        self.smoothed + (self.variation * u64::from(config.deviations)).max(config.granularity)
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    pub const fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Returns the minimum sample; [`Duration::MAX`] before the first.
    pub const fn min(&self) -> Duration {
        self.min
    }

    /// Returns the smoothed and the minimum round-trip time, after the first sample.
    pub const fn measured(&self) -> (Option<Duration>, Option<Duration>) {
        if self.smoothed.is_zero() { (None, None) } else { (Some(self.smoothed), Some(self.min)) }
    }

    /// Returns the last sample since the previous call, as it was measured.
    #[inline]
    pub fn take_latest(&mut self) -> Option<Duration> {
        let latest = core::mem::replace(&mut self.latest, LatestSample(Duration::MAX)).0;
        (latest != Duration::MAX).then_some(latest)
    }

    /// Returns the retransmission timeout, never zero: under any configuration, a timer is not due when it is set.
    pub const fn timeout(&self) -> Duration {
        if self.timeout.is_zero() { Duration::from_picos(1) } else { self.timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Values computed by hand from RFC 6298, section 2.
    #[test]
    fn estimates_follow_rfc_6298() {
        let config = RttConfig { floor: Duration::ZERO, margin: Duration::ZERO, ..RttConfig::default() };
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.timeout(), MS(1000));
        rtt.sample(&config, MS(100));
        assert_eq!((rtt.smoothed(), rtt.timeout()), (MS(100), MS(300)));
        rtt.sample(&config, MS(180));
        // variation 0.75 * 50 + 0.25 * 80 = 57.5; smoothed 0.875 * 100 + 0.125 * 180 = 110.
        assert_eq!((rtt.smoothed(), rtt.timeout()), (MS(110), MS(340)));
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(), MS(680));
        assert_eq!(rtt.min(), MS(100));
    }

    #[test]
    fn a_sample_is_taken_once() {
        let config = RttConfig { granularity: MS(100), ..RttConfig::default() };
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.take_latest(), None);
        rtt.sample(&config, MS(3));
        rtt.sample(&config, MS(7));
        // Not rounded to the clock granularity.
        assert_eq!((rtt.take_latest(), rtt.take_latest()), (Some(MS(7)), None));
    }

    #[test]
    fn a_zero_round_trip_gives_a_nonzero_timeout() {
        // Without floor and granularity a measured zero would give a timeout of zero: a timer that is always due.
        let config = RttConfig { floor: Duration::ZERO, margin: Duration::ZERO, ..RttConfig::default() };
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(&config, Duration::ZERO);
        assert_eq!(rtt.timeout(), Duration::from_picos(1));
        rtt.back_off(&config);
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(), Duration::from_picos(4));
    }

    #[test]
    fn floor_ceiling_and_tick() {
        let config = RttConfig {
            granularity: MS(100),
            margin: Duration::ZERO,
            ceiling: Duration::from_secs(2),
            ..RttConfig::default()
        };
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(&config, MS(3));
        // The sample counts as one clock tick: 100 + max(100, 4 * 50).
        assert_eq!(rtt.timeout(), MS(300));
        for _ in 0..10 {
            rtt.back_off(&config);
        }
        assert_eq!(rtt.timeout(), Duration::from_secs(2));
    }
}
