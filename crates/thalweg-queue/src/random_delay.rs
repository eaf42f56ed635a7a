//! Random delays: distributions of times, drawn per packet of a wire or per flow.

use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Maximum time in a distribution; longer ones are refused.
pub const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// Distribution of times. Draws are clamped to zero and `max`.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeSpec {
    /// Uniform distribution from `min` to `max`.
    Uniform {
        /// Minimum.
        min: Duration,
        /// Maximum.
        max: Duration,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean before clamping.
        mean: Duration,
        /// Maximum.
        max: Option<Duration>,
    },
    /// Normal distribution.
    Normal {
        /// Mean before clamping.
        mean: Duration,
        /// Standard deviation before clamping.
        deviation: Duration,
        /// Maximum.
        max: Option<Duration>,
    },
    /// Log-normal distribution.
    LogNormal {
        /// Median.
        median: Duration,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Maximum.
        max: Option<Duration>,
    },
    /// Pareto distribution: heavy-tailed.
    Pareto {
        /// Minimum.
        min: Duration,
        /// Shape. Without `max`, the variance is infinite up to 2 and the mean up to 1.
        shape: f64,
        /// Maximum.
        max: Option<Duration>,
    },
    /// Empirical distribution: sorted delays as quantiles at equal steps from 0 to 1, with linear interpolation.
    Quantiles(Arc<[Duration]>),
    /// Wi-Fi that shares its channel with other networks (draft-huitema-ccwg-c4-test, section on high jitter): some
    /// milliseconds of deferral for all packets, and for a share of them retransmissions of 7.5 ms each, 12 on average.
    Wifi {
        /// Jitter in the sense of the draft. The share of retransmitted packets is its excess over 1 ms, divided by 90
        /// ms. The mean of all draws is 0.32 ms less.
        average: Duration,
    },
}

/// Scope of one draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DrawScope {
    /// One draw per packet.
    #[default]
    Packet,
    /// One draw per flow, for both directions of a line.
    Flow,
}

/// Random delay of a wire in addition to its fixed delay.
#[derive(Clone, Debug, PartialEq)]
pub struct VariationSpec {
    /// Distribution of the delay.
    pub distribution: TimeSpec,
    /// Scope of one draw.
    pub each: DrawScope,
    /// Preserves order: a packet that would overtake the previous one arrives together with it. With one draw per flow,
    /// packets of different flows may overtake each other.
    pub keeps_order: bool,
    /// Share of the previous packet's random number in the current one, 0 to 1: netem's delay correlation. Only with
    /// one draw per packet, from distributions with [quantiles](TimeSpec::quantile).
    pub correlation: f64,
}

impl VariationSpec {
    /// Creates an independent draw per packet, in order.
    pub const fn new(distribution: TimeSpec) -> Self {
        Self { distribution, each: DrawScope::Packet, keeps_order: true, correlation: 0.0 }
    }

    /// Returns the reason why the variation is invalid, if it is.
    pub fn fault(&self) -> Option<&'static str> {
        let is_correlated = self.correlation != 0.0;
        match () {
            () if !(0.0..=1.0).contains(&self.correlation) => Some("the correlation must be from 0 to 1"),
            () if is_correlated && self.each == DrawScope::Flow => {
                Some("a correlation is of the packets of a wire, but each flow has one draw")
            }
            () if is_correlated && self.distribution.quantile(0.5).is_none() => {
                Some("this distribution takes several draws for a packet, which cannot be correlated")
            }
            () => self.distribution.fault(),
        }
    }
}

/// Maxima of a standard exponential and of a Box-Muller standard normal from 53 random bits.
const MAX_EXPONENTIAL: f64 = 36.75;
const MAX_NORMAL: f64 = 8.58;

/// Wi-Fi deferrals: unit and mean number.
const DEFERRAL: (Duration, f64) = (Duration::from_millis(1), 1.0);
/// Wi-Fi retransmissions of a retransmitted packet: duration of each, and mean number.
const RETRANSMISSION: (Duration, f64) = (Duration::from_micros(7500), 12.0);
/// Maximum numbers of deferrals and retransmissions from 53 random bits.
const MAX_DEFERRALS: u64 = 17;
const MAX_RETRANSMISSIONS: u64 = 52;

/// Returns the share of packets that Wi-Fi of that jitter retransmits.
fn sent_again(average: Duration) -> f64 {
    let (unit, mean) = RETRANSMISSION;
    let above = average.saturating_sub(DEFERRAL.0).as_secs_f64();
    (above / (unit.as_secs_f64() * mean)).min(1.0)
}

/// Returns a Poisson variate by inversion; `draw` is uniform in 0 to 1.
fn poisson_variate(mean: f64, max: u64, draw: f64) -> u64 {
    let mut probability = libm::exp(-mean);
    let (mut below, mut count) = (probability, 0);
    while draw >= below && count < max {
        count += 1;
        probability *= mean / count as f64;
        below += probability;
    }
    count
}

/// Returns the quantile at `share` of sorted times, with linear interpolation.
fn interpolate_quantile(times: &[Duration], share: f64) -> Duration {
    let place = share * times.len().saturating_sub(1) as f64;
    let below = times.get(place as usize).copied().unwrap_or_default();
    let above = times.get(place as usize + 1).copied().unwrap_or(below);
    below + above.saturating_sub(below).mul_f64(place - libm::floor(place))
}

/// Minimum argument of a quantile: half of the last of 53 random bits.
const SMALLEST_SHARE: f64 = 5.551_115_123_125_783e-17;
/// Maximum argument: the largest number below one.
const LARGEST_SHARE: f64 = 1.0 - f64::EPSILON / 2.0;

/// Returns the standard normal quantile: the rational approximation 26.2.23 of Abramowitz and Stegun (1964), and two
/// Newton steps.
fn normal_quantile(share: f64) -> f64 {
    let tail = share.min(1.0 - share).max(SMALLEST_SHARE);
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let above = (0.010_328 * t + 0.802_853) * t + 2.515_517;
    let below = ((0.001_308 * t + 0.189_269) * t + 1.432_788) * t + 1.0;
    // Computed in the lower tail, which keeps the precision of the share.
    let mut z = above / below - t;
    for _ in 0..2 {
        let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * core::f64::consts::PI);
        z -= (0.5 * libm::erfc(-z / core::f64::consts::SQRT_2) - tail) / density;
    }
    if share < 0.5 { z } else { -z }
}

impl TimeSpec {
    /// Draws a time.
    pub fn draw(&self, stream: &mut RandomStream) -> Duration {
        let at_most = |time: Duration, max: Option<Duration>| max.map_or(time, |max| time.min(max));
        match self {
            Self::Uniform { min, max } => *min + stream.uniform_duration(max.saturating_sub(*min)),
            Self::Exponential { mean, max } => at_most(stream.exponential_duration(*mean), *max),
            Self::Normal { mean, deviation, max } => {
                let seconds = mean.as_secs_f64() + deviation.as_secs_f64() * stream.normal();
                at_most(Duration::from_secs_f64(seconds), *max)
            }
            Self::LogNormal { median, sigma, max } => {
                at_most(median.mul_f64(libm::exp(sigma * stream.normal())), *max)
            }
            Self::Pareto { min, shape, max } => at_most(min.mul_f64(stream.pareto(*shape)), *max),
            Self::Quantiles(times) => interpolate_quantile(times, stream.unit()),
            Self::Wifi { average } => {
                // Every packet uses the same number of draws, so scenarios with other jitter get the same random
                // numbers.
                let [deferrals, less, again, times] = core::array::from_fn(|_| stream.unit());
                let count = poisson_variate(DEFERRAL.1, MAX_DEFERRALS, deferrals);
                let deferred = DEFERRAL.0 * count;
                let mut time =
                    if count > 0 { deferred.saturating_sub(DEFERRAL.0.mul_f64(less)) } else { deferred };
                if again < sent_again(*average) {
                    time += RETRANSMISSION.0 * poisson_variate(RETRANSMISSION.1, MAX_RETRANSMISSIONS, times);
                }
                time
            }
        }
    }

    /// Returns the quantile at this share of draws, 0 to 1; `None` if a draw takes several random numbers.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let share = share.clamp(SMALLEST_SHARE, LARGEST_SHARE);
        let at_most = |time: Duration, max: Option<Duration>| max.map_or(time, |max| time.min(max));
        Some(match self {
            Self::Uniform { min, max } => *min + max.saturating_sub(*min).mul_f64(share),
            Self::Exponential { mean, max } => at_most(mean.mul_f64(-libm::log1p(-share)), *max),
            Self::Normal { mean, deviation, max } => {
                let seconds = mean.as_secs_f64() + deviation.as_secs_f64() * normal_quantile(share);
                at_most(Duration::from_secs_f64(seconds), *max)
            }
            Self::LogNormal { median, sigma, max } => {
                at_most(median.mul_f64(libm::exp(sigma * normal_quantile(share))), *max)
            }
            Self::Pareto { min, shape, max } => {
                at_most(min.mul_f64(libm::exp(-libm::log1p(-share) / shape)), *max)
            }
            Self::Quantiles(times) => interpolate_quantile(times, share),
            Self::Wifi { .. } => return None,
        })
    }

    /// Returns the maximum of all draws.
    pub fn longest(&self) -> Duration {
        let at_most = |time: Duration, max: Option<Duration>| max.map_or(time, |max| time.min(max));
        match self {
            Self::Uniform { max, .. } => *max,
            Self::Exponential { mean, max } => at_most(mean.mul_f64(MAX_EXPONENTIAL), *max),
            Self::Normal { mean, deviation, max } => at_most(*mean + deviation.mul_f64(MAX_NORMAL), *max),
            Self::LogNormal { median, sigma, max } => {
                at_most(median.mul_f64(libm::exp(sigma * MAX_NORMAL)), *max)
            }
            Self::Pareto { min, shape, max } => {
                at_most(min.mul_f64(libm::exp(MAX_EXPONENTIAL / shape)), *max)
            }
            Self::Quantiles(times) => times.last().copied().unwrap_or_default(),
            Self::Wifi { average } if sent_again(*average) > 0.0 => {
                DEFERRAL.0 * MAX_DEFERRALS + RETRANSMISSION.0 * MAX_RETRANSMISSIONS
            }
            Self::Wifi { .. } => DEFERRAL.0 * MAX_DEFERRALS,
        }
    }

    /// Returns the mean, for path estimates before use. Clamping is included for exponential, Pareto and uniform times
    /// and for quantiles. Normal and log-normal means are before clamping, and at most [`longest`](Self::longest).
    pub fn mean(&self) -> Duration {
        let mean = match self {
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::Exponential { mean, max: None } => *mean,
            Self::Exponential { mean, max: Some(max) } => {
                let relative_max = max.as_secs_f64() / mean.as_secs_f64().max(f64::MIN_POSITIVE);
                mean.mul_f64(-libm::expm1(-relative_max))
            }
            Self::Normal { mean, .. } => *mean,
            Self::LogNormal { median, sigma, .. } => median.mul_f64(libm::exp(sigma * sigma / 2.0)),
            Self::Pareto { min, shape, .. } => {
                let ratio = self.longest().as_secs_f64() / min.as_secs_f64().max(f64::MIN_POSITIVE);
                min.mul_f64(cut_pareto_mean(*shape, ratio))
            }
            Self::Quantiles(times) => {
                let steps =
                    times.windows(2).map(|pair| (pair[0].as_secs_f64() + pair[1].as_secs_f64()) / 2.0);
                let count = times.len().saturating_sub(1).max(1) as f64;
                let mean = Duration::from_secs_f64(steps.sum::<f64>() / count);
                if times.len() == 1 { times[0] } else { mean }
            }
            Self::Wifi { average } => {
                let some_deferral = -libm::expm1(-DEFERRAL.1);
                let deferred = DEFERRAL.0.mul_f64(DEFERRAL.1 - some_deferral / 2.0);
                deferred + RETRANSMISSION.0.mul_f64(RETRANSMISSION.1 * sent_again(*average))
            }
        };
        mean.min(self.longest())
    }

    /// Returns the reason why the distribution is invalid, if it is.
    pub fn fault(&self) -> Option<&'static str> {
        let is_bad = |number: f64| !(number.is_finite() && number > 0.0);
        match self {
            Self::Uniform { min, max } if max < min => Some("min is above max"),
            Self::Pareto { shape, .. } if is_bad(*shape) => Some("the shape must be above 0"),
            Self::Pareto { min, max: Some(max), .. } if max < min => Some("min is above max"),
            Self::LogNormal { sigma, .. } if !sigma.is_finite() || *sigma < 0.0 => {
                Some("a standard deviation must not be below 0")
            }
            Self::Quantiles(times) if times.is_empty() => Some("there is no time among the quantiles"),
            Self::Quantiles(times) if !times.is_sorted() => Some("quantiles must ascend"),
            _ if self.longest() > LONGEST_DELAY => Some("it could be longer than an hour"),
            _ => None,
        }
    }
}

/// Returns the mean of a Pareto distribution from 1 on, clamped at `max`.
fn cut_pareto_mean(shape: f64, max: f64) -> f64 {
    let beyond = libm::pow(max, -shape);
    let below = if (shape - 1.0).abs() < 1e-9 {
        libm::log(max)
    } else {
        shape / (shape - 1.0) * (1.0 - max * beyond)
    };
    below + max * beyond
}

/// State of a wire's random delay.
#[derive(Debug)]
pub struct Variation {
    stream: RandomStream,
    /// Arrival time of the previous packet.
    last: Time,
    /// Random number of the previous packet, with correlated packets.
    share: Option<f64>,
    /// Draws per flow, where each flow has one.
    flows: BTreeMap<u32, Duration>,
}

impl Variation {
    /// Creates the state; packets draw from `stream`.
    pub const fn new(stream: RandomStream) -> Self {
        Self { stream, last: Time::ZERO, share: None, flows: BTreeMap::new() }
    }

    /// Discards the draws per flow after a change of the distribution.
    pub fn forget_flows(&mut self) {
        self.flows.clear();
    }

    /// Draws the delay of a packet.
    fn draw(&mut self, spec: &VariationSpec) -> Duration {
        if spec.correlation <= 0.0 {
            return spec.distribution.draw(&mut self.stream);
        }
        let before = self.share.unwrap_or_else(|| self.stream.unit());
        let share = self.stream.unit() * (1.0 - spec.correlation) + before * spec.correlation;
        self.share = Some(share);
        spec.distribution.quantile(share).unwrap_or_default()
    }

    /// Returns the arrival time of a packet of `flow` that would arrive at `arrives` without the delay. `of_flow` draws
    /// for a flow.
    pub fn delayed_arrival(
        &mut self,
        spec: &VariationSpec,
        arrives: Time,
        flow: u32,
        of_flow: impl FnOnce() -> Duration,
    ) -> Time {
        match spec.each {
            DrawScope::Flow => arrives + *self.flows.entry(flow).or_insert_with(of_flow),
            DrawScope::Packet => {
                let drawn = arrives + self.draw(spec);
                if !spec.keeps_order {
                    return drawn;
                }
                // If the fixed delay shrank by more than the maximum draw, packets may overtake earlier ones
                // nevertheless.
                let behind = self.last.min(arrives + spec.distribution.longest());
                self.last = behind.max(drawn);
                self.last
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 200_000;

    fn ms(millis: f64) -> Duration {
        Duration::from_secs_f64(millis / 1e3)
    }

    /// Mean and variance of draws, in milliseconds.
    fn moments(spec: &TimeSpec) -> (f64, f64) {
        let mut stream = RandomStream::new(11, "moments", 0);
        let draws: Vec<f64> = (0..N).map(|_| spec.draw(&mut stream).as_secs_f64() * 1e3).collect();
        assert!(draws.iter().all(|draw| *draw <= spec.longest().as_secs_f64() * 1e3), "{spec:?}");
        let mean = draws.iter().sum::<f64>() / N as f64;
        (mean, draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / N as f64)
    }

    /// Means and variances match the textbook; a truncated exponential has E = m (1 - e^-c) and E2 = 2 m^2 (1 - (1 + c)
    /// e^-c), and a Pareto distribution of shape a from 1 on has a / (a - 1) and a / ((a - 1)^2 (a - 2)).
    #[test]
    fn distributions_have_their_moments() {
        let truncated_moments = (1.0 - (-1.0f64).exp(), 2.0 * (1.0 - 2.0 * (-1.0f64).exp()));
        let deferral = (1.0 - truncated_moments.0 / 2.0, 1.0 + truncated_moments.0 / 3.0);
        let cases = [
            (TimeSpec::Uniform { min: ms(2.0), max: ms(8.0) }, 5.0, 3.0),
            (TimeSpec::Exponential { mean: ms(4.0), max: None }, 4.0, 16.0),
            (
                TimeSpec::Exponential { mean: ms(4.0), max: Some(ms(4.0)) },
                4.0 * truncated_moments.0,
                16.0 * (truncated_moments.1 - truncated_moments.0 * truncated_moments.0),
            ),
            (TimeSpec::Normal { mean: ms(50.0), deviation: ms(5.0), max: None }, 50.0, 25.0),
            (TimeSpec::LogNormal { median: ms(3.0), sigma: 0.5, max: None }, 3.0 * 0.125f64.exp(), {
                9.0 * 0.25f64.exp() * 0.25f64.exp_m1()
            }),
            (TimeSpec::Pareto { min: ms(2.0), shape: 5.0, max: None }, 2.5, 4.0 * 5.0 / 48.0),
            // Deferrals: N less a uniform where N > 0 has E = 1 - (1 - 1/e) / 2 and E2 = 1 + (1 - 1/e) / 3. Retransmissions of a
            // share x: E = 90 x and E2 = 7.5^2 (12 + 144) x.
            (TimeSpec::Wifi { average: ms(0.5) }, deferral.0, deferral.1 - deferral.0 * deferral.0),
            (
                TimeSpec::Wifi { average: ms(7.0) },
                deferral.0 + 6.0,
                deferral.1 - deferral.0 * deferral.0 + 8775.0 / 15.0 - 36.0,
            ),
            // Half of the draws between neighbours: uniform from 0 to 3 (E2 = 3) and from 3 to 9 (E2 = 39).
            (TimeSpec::Quantiles(Arc::new([ms(0.0), ms(3.0), ms(9.0)])), 3.75, 21.0 - 3.75 * 3.75),
        ];
        for (spec, mean, variance) in cases {
            let (found, spread) = moments(&spec);
            assert!((found / mean - 1.0).abs() < 0.01, "{spec:?}: mean {found}, not {mean}");
            assert!((spread / variance - 1.0).abs() < 0.04, "{spec:?}: variance {spread}, not {variance}");
            let computed = spec.mean().as_secs_f64() * 1e3;
            assert!((computed / mean - 1.0).abs() < 1e-6, "{spec:?}: says {computed}, not {mean}");
            assert_eq!(spec.fault(), None);
        }
    }

    /// The draft's jitter of 7 ms: "multiple spikes of 100 to 200 ms every second". At 833 packets a second (10
    /// Mbit/s), a fifteenth of them are retransmitted, twelve times on average.
    #[test]
    fn bad_wifi_has_several_spikes_a_second() {
        let spec = TimeSpec::Wifi { average: ms(7.0) };
        let mut stream = RandomStream::new(11, "wifi", 0);
        let draws: Vec<Duration> = (0..N).map(|_| spec.draw(&mut stream)).collect();
        let share = |min, max| {
            draws.iter().filter(|draw| (ms(min)..ms(max)).contains(draw)).count() as f64 / N as f64
        };
        assert!((share(30.0, 500.0) - 1.0 / 15.0).abs() < 0.002, "{}", share(30.0, 500.0));
        // A Poisson number of mean 12 exceeds 13 in 32 of 100 cases; the retransmissions then take 100 ms.
        let spikes = 833.0 * share(100.0, 200.0);
        assert!((833.0 / 15.0 * 0.30..833.0 / 15.0 * 0.35).contains(&spikes), "{spikes} spikes a second");
        assert!(share(9.0, 30.0) < 0.002, "{}", share(9.0, 30.0));
    }

    #[test]
    fn no_draw_is_longer_than_the_longest() {
        let last = 1.0 - f64::EPSILON / 2.0;
        assert_eq!(
            poisson_variate(1.0, u64::MAX >> 1, 0.999_999_999_999),
            poisson_variate(1.0, MAX_DEFERRALS, 0.999_999_999_999)
        );
        assert!(
            poisson_variate(1.0, 1000, last) <= 1000
                && poisson_variate(12.0, MAX_RETRANSMISSIONS, last) <= MAX_RETRANSMISSIONS
        );
        assert_eq!([0.3, 0.5, 0.9].map(|draw| poisson_variate(1.0, 99, draw)), [0, 1, 2]);
    }

    #[test]
    fn cut_pareto_times_have_their_mean() {
        for shape in [0.8, 1.0, 1.2] {
            let spec = TimeSpec::Pareto { min: ms(1.0), shape, max: Some(ms(50.0)) };
            let (found, _) = moments(&spec);
            let computed = spec.mean().as_secs_f64() * 1e3;
            assert!((found / computed - 1.0).abs() < 0.02, "{shape}: {found}, said {computed}");
        }
    }

    #[test]
    fn invalid_distributions_are_refused() {
        for spec in [
            TimeSpec::Uniform { min: ms(2.0), max: ms(1.0) },
            TimeSpec::Pareto { min: ms(2.0), shape: 0.0, max: None },
            TimeSpec::Pareto { min: ms(2.0), shape: 0.5, max: None },
            TimeSpec::Pareto { min: ms(2.0), shape: 2.0, max: Some(ms(1.0)) },
            TimeSpec::LogNormal { median: ms(1.0), sigma: -1.0, max: None },
            TimeSpec::LogNormal { median: ms(1.0), sigma: 9.0, max: None },
            TimeSpec::Exponential { mean: Duration::from_secs(1000), max: None },
            TimeSpec::Quantiles(Arc::new([])),
            TimeSpec::Quantiles(Arc::new([ms(2.0), ms(1.0)])),
        ] {
            assert!(spec.fault().is_some(), "{spec:?}");
        }
    }

    /// A tenth of the draws is below the first decile, and so on; the normal quantiles match the tables.
    #[test]
    fn quantiles_are_those_of_the_draws() {
        for (share, z) in [(0.975, 1.959_963_984_540_054), (0.5, 0.0), (0.001, -3.090_232_306_167_813)] {
            assert!((normal_quantile(share) - z).abs() < 1e-12, "{share}: {}", normal_quantile(share));
        }
        for spec in [
            TimeSpec::Uniform { min: ms(2.0), max: ms(8.0) },
            TimeSpec::Exponential { mean: ms(4.0), max: None },
            TimeSpec::Normal { mean: ms(50.0), deviation: ms(5.0), max: None },
            TimeSpec::LogNormal { median: ms(3.0), sigma: 0.5, max: None },
            TimeSpec::Pareto { min: ms(2.0), shape: 1.5, max: Some(ms(100.0)) },
            TimeSpec::Quantiles(Arc::new([ms(0.0), ms(3.0), ms(9.0)])),
        ] {
            let mut stream = RandomStream::new(11, "quantiles", 0);
            let draws: Vec<Duration> = (0..N).map(|_| spec.draw(&mut stream)).collect();
            for share in [0.1, 0.5, 0.9] {
                let at = spec.quantile(share).unwrap();
                let below = draws.iter().filter(|draw| **draw <= at).count() as f64 / N as f64;
                assert!((below - share).abs() < 0.005, "{spec:?}: {below} for {share}");
            }
            let end = spec.quantile(1.0).unwrap();
            assert!(end <= spec.longest(), "{spec:?}: {end}");
        }
    }

    /// netem's numbers x(k) = (1 - rho) u(k) + rho x(k - 1) have the correlation rho, and a uniform time follows them.
    #[test]
    fn correlated_times_match_netem() {
        let distribution = TimeSpec::Uniform { min: ms(0.0), max: ms(10.0) };
        for correlation in [0.0, 0.25, 0.9] {
            let spec =
                VariationSpec { keeps_order: false, correlation, ..VariationSpec::new(distribution.clone()) };
            assert_eq!(spec.fault(), None);
            let mut variation = Variation::new(RandomStream::new(3, "variation", 0));
            let times: Vec<f64> = (0..N)
                .map(|_| {
                    let arrives = variation.delayed_arrival(&spec, Time::ZERO, 0, || Duration::ZERO);
                    arrives.since(Time::ZERO).as_secs_f64()
                })
                .collect();
            let mean = times.iter().sum::<f64>() / N as f64;
            let by = |lag: usize| {
                times.windows(lag + 1).map(|pair| (pair[0] - mean) * (pair[lag] - mean)).sum::<f64>()
            };
            let found = by(1) / by(0);
            assert!((found - correlation).abs() < 0.01, "{correlation}: {found}");
            assert!((mean - 0.005).abs() < 2e-4, "{correlation}: {mean}");
        }
    }

    #[test]
    fn invalid_correlations_are_refused() {
        let spec = VariationSpec::new(TimeSpec::Wifi { average: ms(1.0) });
        assert_eq!(spec.fault(), None);
        assert!(VariationSpec { correlation: 0.5, ..spec }.fault().unwrap().contains("several draws"));
        let uniform = VariationSpec::new(TimeSpec::Uniform { min: ms(0.0), max: ms(1.0) });
        assert!(VariationSpec { correlation: 1.5, ..uniform.clone() }.fault().is_some());
        assert!(VariationSpec { correlation: 0.5, each: DrawScope::Flow, ..uniform }.fault().is_some());
    }
}
