//! Decides the claims of an assessment by statistical tests over the seeds.
//!
//! A point is a scenario with the values of its factors, run with several seeds under the scheme under test and, with
//! the same seeds, under a reference scheme. For each seed it has a distance to the edge of the accepted band
//! ([`Band::slack`], with the margin as a share of the reference's mean). Student's one-sided test asks whether the
//! mean distance is above zero (within), or below (beyond).
//!
//! A claim covers all of its points. It *holds* if every point is within. This needs no correction, as the claim must
//! be true at every point (an intersection-union test; Berger 1982). It *does not hold* if some point is beyond, corrected
//! for the number of points (Bonferroni). Both are corrected again for all claims of a report (Holm 1979), each kind
//! separately. Otherwise it is *not decided* at this number of runs.
//!
//! | spec | ours | reason | effect |
//! | --- | --- | --- | --- |
//! | Student's test: normal values | means over seconds of a run, which are nearly normal | few seeds | the share of wrong verdicts is 5 % only approximately |
//! | runs differ | where all distances are equal, their value decides | there is no random variation | a verdict from one run |
//! | values exist | a seed without a value, where the reference has one, counts as beyond; if all seeds lack one, the p-value is one half to the power of their number | a transfer that never ends has no completion time | starvation is detected |

use crate::equivalence_margins::Band;
use thalweg_report::statistics::{Estimate, holm, mean, student_p};

/// Significance level of the tests.
pub const SIGNIFICANCE_LEVEL: f64 = 0.05;

/// P-values of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// P-value of the distances if the point were not within its band.
    pub within: f64,
    /// P-value of the distances if the point were not beyond its band.
    pub beyond: f64,
}

/// Outcome of a claim at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// Within the band.
    Holds,
    /// Beyond the band, also after correction for the claim's number of points.
    #[serde(rename = "does-not")]
    DoesNotHold,
    /// The difference may be random.
    NotDecided,
    /// No data to test.
    NoResult,
}

/// Tests a point with the values of the same seeds under the scheme and under the reference. Returns none for fewer
/// than two pairs or without comparable values.
pub fn test_point(values: &[Option<f64>], references: &[Option<f64>], band: Band) -> Option<Test> {
    let at = |position: usize| references.get(position).copied().flatten();
    let (mut pairs, mut missing) = (Vec::new(), 0);
    for (position, value) in values.iter().enumerate() {
        match (value, at(position)) {
            (Some(value), _) if !band.is_relative() => pairs.push((*value, 0.0)),
            (Some(value), Some(reference)) => pairs.push((*value, reference)),
            (None, Some(_)) => missing += 1,
            (None, None) if !band.is_relative() => missing += 1,
            _ => {}
        }
    }
    // The margin is a share of the mean, so it does not vary with the seed. Only the difference varies.
    let mean = mean(&pairs.iter().map(|(_, reference)| *reference).collect::<Vec<_>>()).unwrap_or(0.0);
    let slack = |(value, reference): &(f64, f64)| band.slack(mean + (value - reference), mean);
    let slacks: Vec<f64> = pairs.iter().map(slack).collect();
    if let Band::Max(_) | Band::Min(_) = band {
        let worst =
            if missing > 0 { Some(f64::NEG_INFINITY) } else { slacks.iter().copied().reduce(f64::min) };
        return worst.map(test_without_variation);
    }
    if missing > 0 {
        let all = slacks.is_empty();
        return Some(Test {
            within: 1.0,
            beyond: if all { libm::pow(0.5, f64::from(missing)) } else { 1.0 },
        });
    }
    let estimate = Estimate::from_values(&slacks).filter(|estimate| estimate.n > 1)?;
    let deviation = estimate.std_dev?;
    // Equal distances differ by rounding errors.
    let largest = estimate.min.abs().max(estimate.max.abs());
    if estimate.max - estimate.min <= 16.0 * f64::EPSILON * largest {
        return Some(test_without_variation(estimate.mean));
    }
    let t = estimate.mean / (deviation / libm::sqrt(estimate.n as f64));
    let half = student_p(t, estimate.n - 1) / 2.0;
    let within = if t > 0.0 { half } else { 1.0 - half };
    Some(Test { within, beyond: 1.0 - within })
}

/// Returns the test of a distance without random variation.
fn test_without_variation(slack: f64) -> Test {
    if slack >= 0.0 { Test { within: 0.0, beyond: 1.0 } } else { Test { within: 1.0, beyond: 0.0 } }
}

/// Returns the outcomes of a claim's points.
pub fn claim_outcomes(tests: &[Option<Test>]) -> Vec<ClaimOutcome> {
    let count = tests.iter().flatten().count() as f64;
    let outcome = |test: &Option<Test>| match test {
        None => ClaimOutcome::NoResult,
        Some(test) if test.beyond * count < SIGNIFICANCE_LEVEL => ClaimOutcome::DoesNotHold,
        Some(test) if test.within < SIGNIFICANCE_LEVEL => ClaimOutcome::Holds,
        Some(_) => ClaimOutcome::NotDecided,
    };
    tests.iter().map(outcome).collect()
}

/// Combines the tests of a claim's points; none without points.
pub fn combine_point_tests(tests: &[Option<Test>]) -> Option<Test> {
    let known: Vec<&Test> = tests.iter().flatten().collect();
    let within = known.iter().map(|test| test.within).reduce(f64::max)?;
    let beyond = known.iter().map(|test| test.beyond).reduce(f64::min)?;
    Some(Test { within, beyond: (beyond * known.len() as f64).min(1.0) })
}

/// Corrects the tests of all claims of a report for their number.
pub fn correct_for_multiplicity(claims: &[Option<Test>]) -> Vec<Option<Test>> {
    let known: Vec<Test> = claims.iter().copied().flatten().collect();
    let of = |p: fn(&Test) -> f64| holm(&known.iter().map(p).collect::<Vec<_>>());
    let pairs = of(|test| test.within).into_iter().zip(of(|test| test.beyond));
    let mut both = pairs.map(|(within, beyond)| Test { within, beyond });
    claims.iter().map(|claim| claim.and_then(|_| both.next())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    const TENTH: Band = Band::NotBelow { share: 0.1, amount: 0.0 };

    /// Student's sleep data as distances from a bound of 0; R's paired t-test gives t = 4.0621 and p = 0.002833,
    /// two-sided.
    #[test]
    fn one_sided_p_values_are_those_of_students_test() {
        let slacks = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let found = test_point(&some(&slacks), &[], Band::AtLeast(0.0)).unwrap();
        assert!((found.within - 0.002_833 / 2.0).abs() < 3e-7, "{found:?}");
        assert!((found.beyond - (1.0 - 0.002_833 / 2.0)).abs() < 3e-7);
        let beyond = test_point(&some(&slacks.map(|of| -of)), &[], Band::AtLeast(0.0)).unwrap();
        assert!((beyond.beyond - found.within).abs() < 1e-12);
    }

    #[test]
    fn identical_values_are_within_the_margin_without_a_test() {
        let values = some(&[10.0, 12.0, 11.0]);
        let same = test_point(&values, &values, TENTH).unwrap();
        assert!(same.within < SIGNIFICANCE_LEVEL, "{same:?}");
        let zero = some(&[0.0, 0.0]);
        assert_eq!(test_point(&zero, &zero, Band::NotAbove { share: 0.1, amount: 0.0 }).unwrap().within, 0.0);
        let half = some(&[5.0, 6.0, 5.5]);
        assert!(test_point(&half, &values, TENTH).unwrap().beyond < SIGNIFICANCE_LEVEL);
        assert_eq!(test_point(&some(&[1.0]), &some(&[1.0]), TENTH), None);
    }

    #[test]
    fn a_value_that_is_missing_is_no_good_sign() {
        let reference = some(&[1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(test_point(&[None; 5], &reference, TENTH).unwrap().beyond, 1.0 / 32.0);
        let one = [Some(1.0), Some(1.0), None, Some(1.0), Some(1.0)];
        assert_eq!(test_point(&one, &reference, TENTH).unwrap(), Test { within: 1.0, beyond: 1.0 });
        assert_eq!(test_point(&reference, &[None; 5], TENTH), None);
    }

    #[test]
    fn the_worst_run_decides_a_printed_bound() {
        let worst = Band::Max(5.0);
        assert_eq!(test_point(&some(&[4.0, 4.9]), &[], worst).unwrap().within, 0.0);
        assert_eq!(test_point(&some(&[1.0, 1.0, 5.1]), &[], worst).unwrap().beyond, 0.0);
        assert_eq!(test_point(&[Some(1.0), None], &[], worst).unwrap().beyond, 0.0);
    }

    /// Differences of -1 and -3 from references of 100 and 50: the margin is 10 % of 75 for both, and the distances are
    /// 6.5 and 4.5. With one degree of freedom and t = 5.5 / 1, Student's distribution is Cauchy's, with the one-sided
    /// p = 1/2 - atan(5.5) / pi.
    #[test]
    fn the_margin_is_a_share_of_the_mean() {
        let found = test_point(&some(&[99.0, 47.0]), &some(&[100.0, 50.0]), TENTH).unwrap();
        let expected = 0.5 - libm::atan(5.5) / core::f64::consts::PI;
        assert!((found.within - expected).abs() < 1e-9, "{found:?}");
    }

    /// Bonferroni within a claim and Holm over claims, by hand.
    #[test]
    fn many_points_and_claims_are_corrected_for() {
        let with = |within: f64, beyond: f64| Some(Test { within, beyond });
        let points = [with(0.9, 0.02), with(0.01, 0.99), with(0.04, 0.96), None];
        assert_eq!(
            claim_outcomes(&points),
            [ClaimOutcome::NotDecided, ClaimOutcome::Holds, ClaimOutcome::Holds, ClaimOutcome::NoResult]
        );
        assert_eq!(claim_outcomes(&points[..2])[0], ClaimOutcome::DoesNotHold);
        assert_eq!(combine_point_tests(&points).unwrap(), Test { within: 0.9, beyond: 0.06 });
        assert_eq!(combine_point_tests(&[None]), None);
        let claims = correct_for_multiplicity(&[with(0.02, 0.98), None, with(0.03, 0.01)]);
        assert_eq!(claims[1], None);
        let (first, last) = (claims[0].unwrap(), claims[2].unwrap());
        assert!((first.within - 0.04).abs() < 1e-15 && (last.within - 0.04).abs() < 1e-15);
        assert!((first.beyond - 0.98).abs() < 1e-15 && (last.beyond - 0.02).abs() < 1e-15);
    }
}
