//! Periodic variation of paths, such as low-orbit satellite links.

use crate::SpecError;
use crate::impairment_spec::{above_zero, check_share};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate};

/// Periodic variation of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeriodicVariationSpec {
    /// Period of the variation.
    pub every: Duration,
    /// Relative spread of the rate: uniform within this share above and below the line's rate, constant during a
    /// period.
    pub rate_spread: f64,
    /// Maximum additional delay: uniform from zero, constant during a period.
    pub delay_spread: Duration,
    /// Outage of the transmitter at the start of each period.
    pub outage: Duration,
}

/// Rate and delay of a line during one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariationPeriod {
    /// Rate during the period.
    pub rate: Rate,
    /// Delay during the period.
    pub delay: Duration,
}

impl PeriodicVariationSpec {
    /// Minimum period.
    pub const MIN_PERIOD: Duration = Duration::from_millis(100);

    /// Checks that the period is long enough, and that rate and transmission time remain above zero.
    ///
    /// # Errors
    /// Returns the first value out of range as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        check_share("rate-spread", self.rate_spread)?;
        if self.every < Self::MIN_PERIOD {
            return Err(SpecError::TooSmall { what: "every", value: self.every.as_secs_f64() });
        }
        above_zero("every, less the outage", self.every.saturating_sub(self.outage).as_secs_f64())
    }

    /// Draws the next period of a line with that rate and delay. One stream serves all periods of a line.
    pub fn draw_period(&self, rate: Rate, delay: Duration, stream: &mut RandomStream) -> VariationPeriod {
        let factor = 1.0 + self.rate_spread * (2.0 * stream.unit() - 1.0);
        let delay = delay + stream.uniform_duration(self.delay_spread);
        // An unlimited rate stays unlimited, and no rate becomes an outage.
        let varied = rate.mul_f64(factor).max(Rate::from_bits_per_sec(1));
        VariationPeriod {
            rate: if rate == Rate::MAX || self.rate_spread <= 0.0 { rate } else { varied },
            delay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: PeriodicVariationSpec = PeriodicVariationSpec {
        every: Duration::from_secs(15),
        rate_spread: 0.4,
        delay_spread: Duration::from_millis(20),
        outage: Duration::ZERO,
    };

    /// Uniform within the spread: the means are the line's rate, and its delay and half of the spread; the extremes are near.
    #[test]
    fn periods_are_uniform_within_their_spread() {
        let (rate, delay) = (Rate::from_mbits_per_sec(100), Duration::from_millis(15));
        let mut stream = RandomStream::new(1, "rhythm", 0);
        let periods: Vec<VariationPeriod> =
            (0..20_000).map(|_| SPEC.draw_period(rate, delay, &mut stream)).collect();
        let mean =
            |of: &dyn Fn(&VariationPeriod) -> f64| periods.iter().map(of).sum::<f64>() / periods.len() as f64;
        assert!((mean(&|period| period.rate.as_f64()) / 1e8 - 1.0).abs() < 0.01);
        assert!((mean(&|period| period.delay.as_millis_f64()) - 25.0).abs() < 0.2);
        let rates = periods.iter().map(|period| period.rate.as_f64() / 1e6);
        let (min, max) = rates.fold((f64::MAX, 0.0f64), |(a, b), rate| (a.min(rate), b.max(rate)));
        assert!((60.0..60.1).contains(&min) && (139.9..=140.0).contains(&max), "{min} to {max}");
    }

    #[test]
    fn invalid_periods_are_refused() {
        assert_eq!(SPEC.check(), Ok(()));
        for bad in [
            PeriodicVariationSpec { every: Duration::ZERO, ..SPEC },
            PeriodicVariationSpec { rate_spread: 1.1, ..SPEC },
            PeriodicVariationSpec { outage: SPEC.every, ..SPEC },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let endless = SPEC.draw_period(Rate::MAX, Duration::ZERO, &mut RandomStream::new(1, "rhythm", 0));
        assert_eq!(endless.rate, Rate::MAX);
    }
}
