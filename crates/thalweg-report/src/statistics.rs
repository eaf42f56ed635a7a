//! Means, confidence intervals, paired differences and fairness indices.
//!
//! All computations use IEEE arithmetic and the `libm` crate; results are bit-identical on every machine.

use serde::{Deserialize, Serialize};
pub use thalweg_sim::fairness_measures::{fairness_variance, jain_index};

/// Mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the two-sided 95 % confidence interval by Student's t: the interval is `mean - ci95` to `mean
    /// + ci95`. `None` for a single value.
    pub ci95: Option<f64>,
    /// Sample standard deviation. `None` for a single value.
    pub std_dev: Option<f64>,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Number of values.
    pub n: u64,
}

impl Estimate {
    /// Computes the estimate from independent `values`; `None` if there are none.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let std_dev = variance(values).map(libm::sqrt);
        let n = values.len() as u64;
        let ci95 = std_dev.map(|s| student_quantile(0.975, n - 1) * s / libm::sqrt(n as f64));
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { mean, ci95, std_dev, min, max, n })
    }

    /// Widens the interval to a half width of at least `min`.
    #[must_use]
    pub fn with_min_half_width(self, min: f64) -> Self {
        Self { ci95: self.ci95.map(|half| half.max(min)), ..self }
    }

    /// Returns true if zero lies outside the interval; `None` without an interval.
    pub fn excludes_zero(&self) -> Option<bool> {
        self.ci95.map(|half| self.mean.abs() > half)
    }

    /// Returns the two-sided p-value of Student's test of a zero mean, from 0 to 1. `None` for a single value. It is
    /// below 0.05 where [`Self::excludes_zero`].
    pub fn p_value(&self) -> Option<f64> {
        let deviation = self.std_dev?;
        if self.mean == 0.0 {
            return Some(1.0);
        }
        if deviation == 0.0 {
            return Some(0.0);
        }
        Some(student_p(self.mean / (deviation / libm::sqrt(self.n as f64)), self.n - 1))
    }
}

/// Returns the two-sided p-value of `t` in Student's t distribution with `degrees` of freedom. Zero degrees give 1.
pub fn student_p(t: f64, degrees: u64) -> f64 {
    if degrees == 0 || t.is_nan() { 1.0 } else { (1.0 - student_within(t.abs(), degrees)).clamp(0.0, 1.0) }
}

/// Returns the number of initial values to truncate by the marginal standard error rule (MSER, White 1997): it
/// minimises the squared standard error of the mean of the rest, computed as if values were independent. At most half
/// of the values; `None` for fewer than two. For a series already put into batches of five it is MSER-5 (White, Cobb
/// and Spratt 2000).
pub fn mser(values: &[f64]) -> Option<usize> {
    let max = (values.len() > 1).then_some(values.len() / 2)?;
    // From the end: mean and sum of squared deviations of the remaining values (Welford 1962).
    let (mut mean, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (count, (truncation, value)) in (1_u32..).map(f64::from).zip(values.iter().enumerate().rev()) {
        let distance = value - mean;
        mean += distance / count;
        squares += distance * (value - mean);
        let error = squares / (count * count);
        // Of equal errors, the shorter truncation.
        if truncation <= max && error <= best.0 {
            best = (error, truncation);
        }
    }
    Some(best.1)
}

/// Returns the p-values of several tests, corrected for their number (Holm 1979): with no true difference, the
/// probability of any below 0.05 is at most 5 %, even for dependent tests. The result is in the order of `p_values`.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &position) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[position] * left).min(1.0));
        corrected[position] = largest;
    }
    corrected
}

/// Returns the arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean; `None` without values, or if any is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = values.iter().all(|value| *value > 0.0);
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    mean(&logarithms).filter(|_| positive).map(libm::exp)
}

/// Returns the sample variance, with n - 1 in the denominator; `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Returns the estimate of `other - base` over pairs. Pairs with a missing value are left out; `None` if no pair is
/// left.
///
/// Where both were measured with the same random numbers, common variation cancels, and the interval is narrower than
/// that of either.
pub fn paired_difference(base: &[Option<f64>], other: &[Option<f64>]) -> Option<Estimate> {
    let pairs: Vec<(f64, f64)> =
        base.iter().zip(other).filter_map(|(base, other)| Some(((*base)?, (*other)?))).collect();
    let differences: Vec<f64> = pairs.iter().map(|(base, other)| other - base).collect();
    // Equal differences may differ by the rounding of the values.
    let largest = pairs.iter().map(|(base, other)| base.abs().max(other.abs())).fold(0.0, f64::max);
    let first = *differences.first()?;
    if differences.iter().all(|difference| (difference - first).abs() <= 16.0 * f64::EPSILON * largest) {
        let none = (differences.len() > 1).then_some(0.0);
        let n = differences.len() as u64;
        return Some(Estimate { mean: first, ci95: none, std_dev: none, min: first, max: first, n });
    }
    Estimate::from_values(&differences)
}

/// Returns the `p`-quantile (0 to 1) of `values` with linear interpolation between neighbours (definition 7 of Hyndman
/// and Fan 1996, used by R, NumPy and spreadsheets); `None` without values.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

/// Returns the `p`-quantile of Student's t distribution with `degrees` of freedom, for p strictly between 0 and 1.
///
/// Up to 200 degrees the distribution function is summed exactly (its series is finite for whole degrees) and inverted
/// by bisection. Beyond, four terms of the Cornish-Fisher expansion around the normal quantile are accurate to better
/// than 1e-9 for the probabilities of confidence intervals. Zero degrees give infinity.
pub fn student_quantile(p: f64, degrees: u64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, degrees);
    }
    if degrees == 0 {
        return f64::INFINITY;
    }
    if degrees > EXACT_DEGREES {
        return student_expansion(normal_quantile(p), degrees as f64);
    }
    // Probability between -t and t.
    let within = 2.0 * p - 1.0;
    let mut high = 1.0;
    while student_within(high, degrees) < within && high < 1e15 {
        high *= 2.0;
    }
    bisect(0.0, high, |t| student_within(t, degrees) < within)
}

/// Returns the `p`-quantile of the chi-squared distribution with `degrees` of freedom, for 0.5 <= p < 1, by the cube-root
/// approximation (Wilson and Hilferty 1931; Abramowitz and Stegun, 26.4.17): at p = 0.99 accurate to 1 %. Zero degrees
/// give zero.
pub fn chi_squared_quantile(p: f64, degrees: u64) -> f64 {
    if degrees == 0 {
        return 0.0;
    }
    let n = degrees as f64;
    let variance = 2.0 / (9.0 * n);
    let root = 1.0 - variance + normal_quantile(p) * libm::sqrt(variance);
    n * root * root * root
}

/// Returns the probability between -t and t in Student's t distribution (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn student_within(t: f64, degrees: u64) -> f64 {
    let n = degrees as f64;
    // With theta = atan(t / sqrt(n)).
    let cos_squared = n / (n + t * t);
    let sin = t / libm::sqrt(n + t * t);
    let mut sum = 0.0;
    if degrees.is_multiple_of(2) {
        let mut term = 1.0;
        for k in (1..=degrees / 2).map(|k| k as f64) {
            sum += term;
            term *= cos_squared * (2.0 * k - 1.0) / (2.0 * k);
        }
        sin * sum
    } else {
        let mut term = libm::sqrt(cos_squared);
        for k in (1..=(degrees - 1) / 2).map(|k| k as f64) {
            sum += term;
            term *= cos_squared * (2.0 * k) / (2.0 * k + 1.0);
        }
        core::f64::consts::FRAC_2_PI * (libm::atan(t / libm::sqrt(n)) + sin * sum)
    }
}

/// Returns the expansion of Student's quantile in powers of 1/n around the normal quantile z (Abramowitz and Stegun,
/// 26.7.5).
fn student_expansion(z: f64, n: f64) -> f64 {
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n
}

/// Returns the `p`-quantile of the standard normal distribution, for 0.5 <= p < 1.
fn normal_quantile(p: f64) -> f64 {
    // The distribution function is 1 - erfc(z / sqrt 2) / 2.
    bisect(0.0, 40.0, |z| libm::erfc(z * core::f64::consts::FRAC_1_SQRT_2) > 2.0 * (1.0 - p))
}

/// Returns the point between `low` and `high` at which `below` turns from true to false, to double precision.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Maximum degrees of freedom for the exact sum, whose cost grows with them.
const EXACT_DEGREES: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} is not {expected} within {tolerance}");
    }

    #[test]
    fn the_cut_leaves_the_least_squared_error() {
        // By hand: without the 0 the others are equal; if all are equal, nothing is truncated; never more than half.
        assert_eq!(mser(&[0.0, 5.0, 5.0, 5.0, 5.0]), Some(1));
        assert_eq!(mser(&[5.0; 8]), Some(0));
        assert_eq!(mser(&[0.0, 0.0, 0.0, 5.0]), Some(0));
        // Sums of squares over squared counts: 18.75/16 and 0.5/9 and 0/4.
        assert_eq!(mser(&[0.0, 5.0, 4.0, 4.0]), Some(2));
        assert_eq!((mser(&[1.0]), mser(&[])), (None, None));
    }

    /// Published tables of Student's t (for instance NIST/SEMATECH e-Handbook, 1.3.6.7.2), and exact closed forms
    /// for one and two degrees.
    #[test]
    fn student_quantiles_agree_with_tables() {
        for (p, degrees, expected) in [
            (0.975, 1, 12.706),
            (0.975, 2, 4.303),
            (0.975, 3, 3.182),
            (0.975, 4, 2.776),
            (0.975, 5, 2.571),
            (0.975, 9, 2.262),
            (0.975, 10, 2.228),
            (0.975, 29, 2.045),
            (0.975, 30, 2.042),
            (0.975, 100, 1.984),
            (0.95, 7, 1.895),
            (0.995, 10, 3.169),
            (0.999, 3, 10.215),
        ] {
            assert_near(student_quantile(p, degrees), expected, 0.000_51);
        }
        assert_near(student_quantile(0.975, 1), libm::tan(0.475 * core::f64::consts::PI), 1e-12);
        assert_near(student_quantile(0.975, 2), 0.95 / libm::sqrt(2.0 * 0.975 * 0.025), 1e-12);
        assert_near(student_quantile(0.025, 4), -2.776_445_105, 1e-9);
    }

    #[test]
    fn the_expansion_joins_the_exact_sum() {
        for p in [0.9, 0.95, 0.975, 0.995] {
            let expanded = student_expansion(normal_quantile(p), EXACT_DEGREES as f64);
            assert_near(expanded, student_quantile(p, EXACT_DEGREES), 1e-9);
        }
        assert_near(student_quantile(0.975, 1_000_000_000), 1.959_963_985, 1e-8);
    }

    #[test]
    fn chi_squared_quantiles_match_the_published_table() {
        // Abramowitz and Stegun, table 26.8, column 0.01.
        for (degrees, quantile) in
            [(1, 6.634_90), (2, 9.210_34), (4, 13.276_7), (10, 23.209_3), (30, 50.892_2), (100, 135.807)]
        {
            let relative = chi_squared_quantile(0.99, degrees) / quantile;
            assert_near(relative, 1.0, 0.01);
        }
        assert_eq!(chi_squared_quantile(0.99, 0), 0.0);
    }

    #[test]
    fn mean_and_variance_of_a_textbook_sample() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_near(variance(&values).unwrap(), 32.0 / 7.0, 1e-12);
        assert_eq!((mean(&[]), variance(&[1.0])), (None, None));
        assert_near(geometric_mean(&[2.0, 8.0, 32.0]).unwrap(), 8.0, 1e-14);
        assert_eq!((geometric_mean(&[]), geometric_mean(&[1.0, 0.0])), (None, None));
    }

    /// Student's own data (1908): hours of sleep gained by ten patients under two drugs. R's `t.test(paired = TRUE)`
    /// gives the mean difference 1.58 and the interval 0.7001142 to 2.4598858.
    #[test]
    fn the_paired_difference_of_students_sleep_data() {
        let some = |values: [f64; 10]| values.map(Some);
        let first = some([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]);
        let second = some([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]);
        let difference = paired_difference(&first, &second).unwrap();
        let half = difference.ci95.unwrap();
        assert_near(difference.mean, 1.58, 1e-12);
        assert_near(difference.mean - half, 0.700_114_2, 1e-7);
        assert_near(difference.mean + half, 2.459_885_8, 1e-7);
        assert_eq!(difference.excludes_zero(), Some(true));
        // R: `t.test` gives t = 4.0621 and p = 0.002833.
        assert_near(difference.p_value().unwrap(), 0.002_833, 5e-7);
    }

    #[test]
    fn p_values_of_edges() {
        let p = |values: &[f64]| Estimate::from_values(values).unwrap().p_value();
        assert_eq!((p(&[1.0]), p(&[2.0, 2.0]), p(&[-1.0, 1.0])), (None, Some(0.0), Some(1.0)));
        // With one degree of freedom Student's distribution is Cauchy's: p = 1 - 2 atan(t) / pi, and t is 3 here.
        assert_near(p(&[1.0, 2.0]).unwrap(), 1.0 - 2.0 * libm::atan(3.0) / core::f64::consts::PI, 1e-12);
    }

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")` gives 0.03, 0.06, 0.06, 0.02.
    #[test]
    fn holms_correction_agrees_with_r() {
        for (found, expected) in holm(&[0.01, 0.04, 0.03, 0.005]).into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert_near(found, expected, 1e-15);
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_pair_with_a_hole_is_left_out() {
        let difference = paired_difference(&[Some(1.0), None, Some(3.0)], &[Some(2.0), Some(9.0), Some(4.0)]);
        let difference = difference.unwrap();
        assert_eq!((difference.mean, difference.n, difference.ci95), (1.0, 2, Some(0.0)));
        assert_eq!(paired_difference(&[None], &[Some(1.0)]), None);
    }

    /// In binary 0.105 - 0.1, 0.205 - 0.2 and 0.705 - 0.7 are three different numbers.
    #[test]
    fn differences_within_rounding_error_are_equal() {
        let (base, other) = ([Some(0.1), Some(0.2), Some(0.7)], [Some(0.105), Some(0.205), Some(0.705)]);
        let difference = paired_difference(&base, &other).unwrap();
        assert_eq!((difference.ci95, difference.std_dev), (Some(0.0), Some(0.0)));
        assert_near(difference.mean, 0.005, 1e-15);
        let unequal = paired_difference(&base, &[Some(0.105), Some(0.205), Some(0.705 + 1e-12)]).unwrap();
        assert!(unequal.ci95.unwrap() > 1e-13);
    }

    #[test]
    fn a_single_value_has_no_interval() {
        let estimate = Estimate::from_values(&[4.0]).unwrap();
        assert_eq!((estimate.mean, estimate.ci95, estimate.n), (4.0, None, 1));
        assert_eq!(estimate.excludes_zero(), None);
    }

    /// Jain, Chiu and Hawe 1984: if k of n users share equally and the others get nothing, the index is k/n.
    #[test]
    fn jain_of_a_share_of_the_users() {
        let mut shares = vec![5.0; 20];
        shares.resize(100, 0.0);
        assert_near(jain_index(&shares).unwrap(), 0.2, 1e-12);
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    #[test]
    fn the_fairness_variance_divides_by_n() {
        assert_eq!(fairness_variance(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 4.0);
        assert_eq!(fairness_variance(&[]), 0.0);
    }

    /// R: `quantile(c(1, 2, 3, 4, 10), c(0.25, 0.5, 0.9))` gives 2, 3, 7.6.
    #[test]
    fn quantiles_interpolate() {
        let values = [10.0, 1.0, 4.0, 2.0, 3.0];
        assert_near(quantile(&values, 0.25).unwrap(), 2.0, 1e-12);
        assert_near(quantile(&values, 0.5).unwrap(), 3.0, 1e-12);
        assert_near(quantile(&values, 0.9).unwrap(), 7.6, 1e-12);
        assert_eq!(quantile(&[], 0.5), None);
    }
}
