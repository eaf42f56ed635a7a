//! Synthetic traces of cellular links.

use crate::CapacityTrace;
use crate::mahimahi_trace::MAX_LINES;
use std::fmt;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate, Time};

impl CapacityTrace {
    /// Generates a synthetic trace of a cellular link in mahimahi's format: opportunities of 1500 bytes at whole
    /// milliseconds, the last of them at the end of the period.
    ///
    /// The rate is constant for 20 ms at a time. Its logarithm is a stationary Gaussian process with a time constant of
    /// 1 s (an autoregression of the first order). The fades and peaks thus last as long as for a walking or driving
    /// user. Opportunities are a Poisson process of that rate, which gives their irregular spacing. Winstein, Sivaraman
    /// and Balakrishnan (Sprout, 2013) found that a doubly stochastic Poisson process describes measured cellular
    /// links. In their model the rate itself wanders and sticks at zero; here it comes close to zero but never stays
    /// there.
    ///
    /// - `stream` determines the randomness: the same stream gives the same trace on every machine;
    /// - `mean` is the mean rate over the period, met to within half an opportunity;
    /// - `variability` is the standard deviation of the rate divided by its mean, 0 to 10: zero is a steady rate, 0.5 a
    ///   good cellular link, above 1 one with deep fades. A single period varies by about this much, more exactly if it
    ///   is longer;
    /// - `period` is rounded up to whole milliseconds.
    ///
    /// # Errors
    /// Returns a [`SynthesisError`] if a value is out of range.
    pub fn synthesise(
        stream: &mut RandomStream,
        mean: Rate,
        variability: f64,
        period: Duration,
    ) -> Result<Self, SynthesisError> {
        if !(0.0..=MAX_VARIABILITY).contains(&variability) {
            return Err(SynthesisError::Variability(variability));
        }
        let millis = period.as_picos().div_ceil(MILLI.as_picos());
        if millis == 0 || millis > MAX_LINES as u64 {
            return Err(SynthesisError::Period(period));
        }
        let period = Duration::from_millis(millis);
        let bytes = mean.bytes_in(period).get();
        let count = bytes / BYTES + u64::from(bytes % BYTES >= BYTES / 2);
        if count == 0 || count > MAX_LINES as u64 {
            return Err(SynthesisError::Rate { mean, period });
        }
        let profile = Profile::draw(stream, variability, millis);
        // Given their number, the arrivals of a Poisson process are ordered uniform draws: the partial sums of
        // exponential draws over their total. The last one falls on the end, as the format requires.
        let mut again = stream.clone();
        let total: f64 = (0..count).map(|_| stream.exponential()).sum();
        let (mut opportunities, mut sum, mut step) = (Vec::with_capacity(count as usize), 0.0, 0);
        for _ in 1..count {
            sum += again.exponential();
            let at = profile.millis_at(sum / total, &mut step).clamp(1, millis);
            opportunities.push(Time::ZERO + Duration::from_millis(at));
        }
        opportunities.push(Time::ZERO + period);
        Ok(Self { opportunities, period, bytes_per_opportunity: BYTES as u32 })
    }
}

/// Rate over the period, as the cumulative amount at the end of each step, up to a factor.
struct Profile {
    bytes_before: Vec<f64>,
    millis: u64,
}

impl Profile {
    fn draw(stream: &mut RandomStream, variability: f64, millis: u64) -> Self {
        // A lognormal variable with this deviation of its logarithm has the wanted ratio of deviation to mean.
        let sigma = libm::sqrt(libm::log1p(variability * variability));
        let keep = libm::exp(-(STEP_MILLIS as f64) / MEMORY_MILLIS);
        let renew = libm::sqrt(1.0 - keep * keep);
        let (mut level, mut passed) = (stream.normal(), 0.0);
        let steps = (0..millis.div_ceil(STEP_MILLIS)).map(|step| {
            let length = step_length(step, millis);
            passed += libm::exp(sigma * level) * length as f64;
            level = keep * level + renew * stream.normal();
            passed
        });
        Self { bytes_before: steps.collect(), millis }
    }

    /// Returns the first millisecond with at least this `share` of the total by its end. `step` is the start of the
    /// search: ask for shares in ascending order.
    fn millis_at(&self, share: f64, step: &mut usize) -> u64 {
        let target = share * self.bytes_before.last().copied().unwrap_or(0.0);
        while *step + 1 < self.bytes_before.len() && self.bytes_before[*step] < target {
            *step += 1;
        }
        let before = if *step > 0 { self.bytes_before[*step - 1] } else { 0.0 };
        let within = (target - before) / (self.bytes_before[*step] - before);
        let length = step_length(*step as u64, self.millis);
        *step as u64 * STEP_MILLIS + libm::ceil(within * length as f64) as u64
    }
}

/// Returns the length of a step in milliseconds; the period may truncate the last one.
fn step_length(step: u64, millis: u64) -> u64 {
    STEP_MILLIS.min(millis - step * STEP_MILLIS)
}

/// Reason for a failed synthesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SynthesisError {
    /// Variability outside 0 to 10.
    Variability(f64),
    /// Period of zero, or of more than 50 million milliseconds (14 hours).
    Period(Duration),
    /// Rate with no opportunity in the period, or with more than 50 million.
    Rate {
        /// Mean rate.
        mean: Rate,
        /// Length of the period.
        period: Duration,
    },
}

impl fmt::Display for SynthesisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variability(found) => {
                write!(f, "the variability must lie between 0 and {MAX_VARIABILITY}, but it is {found}")
            }
            Self::Period(found) => {
                write!(f, "the period must lie between 1 ms and {MAX_LINES} ms, but it is {found}")
            }
            Self::Rate { mean, period } => write!(
                f,
                "{mean} over {period} is not between 1 and {MAX_LINES} opportunities of {BYTES} bytes; change either"
            ),
        }
    }
}

impl std::error::Error for SynthesisError {}

const BYTES: u64 = 1500;
const MILLI: Duration = Duration::from_millis(1);
/// Step length as in Sprout's model: shorter than the reaction time of a scheduler or a transport.
const STEP_MILLIS: u64 = 20;
/// Time constant: about the duration of a fade at walking to driving speed.
const MEMORY_MILLIS: f64 = 1000.0;
/// Maximum variability. Beyond it, nearly all bytes pass in one burst, unlike any link.
const MAX_VARIABILITY: f64 = 10.0;

#[cfg(test)]
mod tests {
    //! Tests that synthetic traces are valid and repeatable, and have the requested rate and variability.
    use super::*;

    fn make(seed: u64, mbits: u64, variability: f64, period: Duration) -> CapacityTrace {
        let mut stream = RandomStream::new(seed, "cellular", 0);
        CapacityTrace::synthesise(&mut stream, Rate::from_mbits_per_sec(mbits), variability, period).unwrap()
    }

    #[test]
    fn the_mean_rate_matches_the_request() {
        // 12 Mbit/s over 60 s are exactly 60 000 opportunities, whatever the variability.
        for variability in [0.0, 0.5, 2.0, 10.0] {
            let trace = make(1, 12, variability, Duration::from_secs(60));
            assert_eq!(trace.check(), Ok(()));
            assert_eq!(trace.opportunities.len(), 60_000);
            assert_eq!(trace.mean_rate(), Rate::from_mbits_per_sec(12));
        }
    }

    #[test]
    fn the_variability_matches_the_request() {
        // 100 Mbit/s over 10 min, counted in steps of 20 ms: the deviation of the counts over their mean, less the
        // Poisson process's part, is near the requested variability.
        for variability in [0.0, 0.3, 0.6, 1.0] {
            let trace = make(2, 100, variability, Duration::from_secs(600));
            let mut counts = vec![0.0f64; 30_000];
            for at in &trace.opportunities {
                counts[(((at.as_picos() - 1) / MILLI.as_picos()) / STEP_MILLIS) as usize] += 1.0;
            }
            let mean = counts.iter().sum::<f64>() / 3e4;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 3e4;
            let found = ((variance - mean).max(0.0)).sqrt() / mean;
            assert!((found - variability).abs() < 0.02 + 0.2 * variability, "{variability}: {found}");
        }
    }

    #[test]
    fn it_is_repeatable_and_depends_on_the_stream() {
        // The first times are frozen: a change here changes every stored trace.
        let short = Duration::from_millis(200);
        assert_eq!(make(1, 2, 0.5, short), make(1, 2, 0.5, short));
        assert_ne!(make(1, 2, 0.5, short), make(2, 2, 0.5, short));
        let millis: Vec<u64> =
            make(1, 2, 0.5, short).opportunities.iter().map(|at| at.as_picos() / MILLI.as_picos()).collect();
        assert_eq!(millis.len(), 33);
        assert_eq!(millis[..8], [1, 4, 11, 15, 15, 15, 23, 23]);
    }

    #[test]
    fn mahimahi_can_read_it() {
        // The trace round-trips through the file format.
        let trace = make(3, 5, 1.0, Duration::from_secs(10));
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(CapacityTrace::read(text.as_slice()).unwrap(), trace);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        // Zero and excessive rates and periods, and invalid variabilities.
        let make = |rate, variability, period| {
            CapacityTrace::synthesise(&mut RandomStream::new(1, "x", 0), rate, variability, period)
        };
        let (second, rate) = (Duration::from_secs(1), Rate::from_mbits_per_sec(1));
        for bad in [f64::NAN, -0.1, 10.1] {
            assert!(matches!(make(rate, bad, second), Err(SynthesisError::Variability(_))));
        }
        for bad in [Duration::ZERO, Duration::MAX] {
            assert_eq!(make(rate, 0.5, bad), Err(SynthesisError::Period(bad)));
        }
        for bad in [Rate::ZERO, Rate::from_bits_per_sec(5999), Rate::MAX] {
            assert!(matches!(make(bad, 0.5, second), Err(SynthesisError::Rate { .. })));
        }
        assert_eq!(
            make(Rate::from_bits_per_sec(6000), 0.5, second).map(|trace| trace.opportunities.len()),
            Ok(1)
        );
        // A fraction of a millisecond is rounded up to one.
        assert!(make(Rate::from_mbits_per_sec(100), 10.0, Duration::from_picos(1)).is_ok());
    }
}
