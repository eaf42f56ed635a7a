//! Drift: means that depend on the warm-up because the network has not settled at its end.
//!
//! The runs of a scheme are averaged point by point (Welch 1983) and the mean is put into batches. The truncation point
//! is found by MSER (White 1997; White, Cobb and Spratt 2000): it minimises the squared standard error of the remaining
//! mean. MSER alone finds a point in every series. A second test therefore asks whether the truncated part matters: it
//! must shift the mean significantly and by more than a margin.
//!
//! | spec | ours | reason | effect |
//! | --- | --- | --- | --- |
//! | MSER-5: batches of five observations | batches of at least five samples, at most [`MAX_BATCHES`] in all | long series | the point is resolved to 0.25 % of the time |
//! | the cut of least error | the first one that leaves a mean within half the margin of it | where the rest hardly varies, the least error is late | shorter warm-ups |
//! | the cut alone is the answer | it is tested, by Student's t over runs or over spans as long as it | a series without any drift has a cut as well | few false positives |

use crate::statistics::{self, Estimate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::simulation_spec::{DirectionSpec, Spec};
use thalweg_sim::{Quantity, RunResult};

/// Group whose goodput had not settled at the end of the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Scheme, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Group of flows whose goodput drifts.
    pub group: String,
    /// Simulated time of settling, in seconds; missing if it drifts to the end.
    pub settled_s: Option<f64>,
    /// Measured mean over the settled mean, less 1.
    pub relative: f64,
}

/// Goodput of a scheme's groups over time, by run.
#[derive(Debug)]
pub struct GoodputSeries {
    warmup: Duration,
    /// Length of a batch; zero where drift is not tested.
    batch: Duration,
    batches: usize,
    seen_flows: BTreeSet<u64>,
    groups: Vec<Group>,
}

/// Goodput of a group in each batch of each run.
#[derive(Debug, Default)]
struct Group {
    name: String,
    runs: Vec<Vec<f64>>,
    /// True if the offered load or the end of a transfer limited the goodput of some run.
    is_short: bool,
}

impl GoodputSeries {
    /// Creates the series for runs of `spec`. Drift is not tested without samples, or in scenarios with scheduled
    /// changes or a recorded capacity, which are not meant to settle.
    pub fn new(spec: &Spec) -> Self {
        let counted = spec.duration.saturating_sub(spec.warmup);
        let min = spec.measure.interval.map_or(Duration::ZERO, |interval| interval * MIN_BATCH_SAMPLES);
        let batch = min.max(counted / MAX_BATCHES);
        let batches = if batch.is_zero() || !is_steady(spec) {
            0
        } else {
            usize::try_from(counted.as_picos() / batch.as_picos()).unwrap_or(0)
        };
        let group = |name: &String| Group { name: name.clone(), ..Group::default() };
        let groups = spec.groups.iter().map(|of| group(&of.name)).collect();
        Self { warmup: spec.warmup, batch, batches, seen_flows: BTreeSet::new(), groups }
    }

    /// Adds the series of a run. Ignores interrupted runs and runs identical to an earlier one.
    pub fn add(&mut self, result: &RunResult) {
        if self.batches < MIN_BATCHES || !result.is_complete || !self.seen_flows.insert(result.fingerprint) {
            return;
        }
        let mut sums = vec![vec![0.0; self.batches]; self.groups.len()];
        for series in result.series.iter().filter(|series| series.quantity == Quantity::Goodput) {
            let Some(flow) = result.flows.get(series.subject as usize) else { continue };
            if let Some(sum) = sums.get_mut(flow.group as usize) {
                self.batch(&series.points, sum);
            }
        }
        for (number, (group, sum)) in self.groups.iter_mut().zip(sums).enumerate() {
            group.is_short |= result.groups.get(number).is_none_or(|of| {
                let mut flows = result.flows.iter().filter(|flow| flow.group as usize == number);
                !flows.all(|flow| of.wanted_more(flow))
            });
            group.runs.push(sum);
        }
    }

    /// Adds the mean of `points` within each batch to `sum`.
    fn batch(&self, points: &[(Time, f64)], sum: &mut [f64]) {
        let start = Time::ZERO + self.warmup;
        let mut held = vec![(0.0, 0_u32); sum.len()];
        for (at, value) in points.iter().filter(|(at, _)| *at > start) {
            // A point covers the interval before it.
            let position = (at.since(start).as_picos() - 1) / self.batch.as_picos();
            if let Some(held) = usize::try_from(position).ok().and_then(|position| held.get_mut(position)) {
                *held = (held.0 + value, held.1 + 1);
            }
        }
        for (sum, (values, count)) in sum.iter_mut().zip(held) {
            *sum += values / f64::from(count.max(1));
        }
    }

    /// Returns the groups whose goodput drifts; `scheme` is named where several are compared. A shift of the mean below
    /// `margin` is ignored.
    pub fn drifts(&self, scheme: Option<&str>, margin: f64) -> Vec<Drift> {
        let eligible: Vec<&Group> =
            self.groups.iter().filter(|group| !group.is_short && !group.runs.is_empty()).collect();
        let level = SIGNIFICANCE_LEVEL / eligible.len().max(1) as f64;
        let drift = |group: &&Group| {
            let shift = detect_drift(&group.runs, margin, level)?;
            let is_settled = shift.truncated_batches < self.batches / 2;
            let settled = (self.warmup + self.batch * shift.truncated_batches as u64).as_secs_f64();
            Some(Drift {
                scheme: scheme.map(str::to_owned),
                group: group.name.clone(),
                settled_s: is_settled.then_some(settled),
                relative: shift.relative,
            })
        };
        eligible.iter().filter_map(drift).collect()
    }
}

/// Returns true if nothing in the scenario changes at a scheduled time.
fn is_steady(spec: &Spec) -> bool {
    let still = |line: &DirectionSpec| line.schedule.is_empty() && line.capacity.is_none();
    let links = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let access = spec.groups.iter().filter_map(|group| group.access.as_ref()).flat_map(|access| {
        [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
    });
    let end = Time::ZERO + spec.duration;
    links.chain(access).all(still)
        && spec.groups.iter().all(|group| {
            group.stop.is_none_or(|stop| stop >= end)
                && group.reading.as_ref().is_none_or(|reading| reading.changes.is_empty())
        })
}

/// Part of a series to truncate.
struct SeriesTruncation {
    /// Number of batches.
    truncated_batches: usize,
    /// Mean of all over the mean of the rest, less 1.
    relative: f64,
}

/// Returns the drift of `runs`, each with the same number of batches; `None` where it is below `margin` or not
/// significant at `level`.
fn detect_drift(runs: &[Vec<f64>], margin: f64, level: f64) -> Option<SeriesTruncation> {
    let batches = runs.first()?.len();
    let average = |batch: usize| runs.iter().map(|run| run[batch]).sum::<f64>() / runs.len() as f64;
    let mean: Vec<f64> = (0..batches).map(average).collect();
    let truncation = statistics::mser(&mean).filter(|&truncation| truncation > 0)?;
    let settled = statistics::mean(&mean[truncation..])?;
    // Where the rest hardly varies, the MSER cut removes more than necessary.
    let is_enough = |batches: &usize| {
        let rest = statistics::mean(&mean[*batches..]);
        rest.is_some_and(|rest| (rest / settled - 1.0).abs() <= margin / 2.0)
    };
    let batches = (1..truncation).find(is_enough).unwrap_or(truncation);
    let (all, rest) = (statistics::mean(&mean)?, statistics::mean(&mean[batches..])?);
    let relative = all / rest - 1.0;
    if !relative.is_finite() || relative.abs() <= margin {
        return None;
    }
    let p = if runs.len() >= MIN_RUNS {
        let bias =
            |run: &Vec<f64>| Some(statistics::mean(&run[..batches])? - statistics::mean(&run[batches..])?);
        Estimate::from_values(&runs.iter().filter_map(bias).collect::<Vec<_>>())?.p_value()?
    } else {
        // With one or two runs, compares the first span with others of the same length.
        let spans: Vec<f64> = mean[batches..].chunks_exact(batches).filter_map(statistics::mean).collect();
        let (deviation, count) = (libm::sqrt(statistics::variance(&spans)?), spans.len() as f64);
        let distance = statistics::mean(&mean[..batches])? - statistics::mean(&spans)?;
        // Standard error of the difference between one value and the mean of `count` others.
        let scaled = deviation * libm::sqrt(1.0 + 1.0 / count);
        statistics::student_p(distance / scaled, spans.len() as u64 - 1)
    };
    (p < level).then_some(SeriesTruncation { truncated_batches: batches, relative })
}

/// Minimum number of samples in a batch.
const MIN_BATCH_SAMPLES: u64 = 5;
/// Maximum number of batches in a run.
const MAX_BATCHES: u64 = 400;
/// Minimum number of batches for a test.
const MIN_BATCHES: usize = 20;
/// Minimum number of runs for a test across runs.
const MIN_RUNS: usize = 3;
/// Significance level, roughly the false-positive rate; it is low because the cut is the worst of many.
const SIGNIFICANCE_LEVEL: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::random::RandomStream;

    /// Returns runs of a series of 120 batches around 100. Each batch keeps 0.7 of the previous deviation: an
    /// autoregressive series, as windows produce. Before `settled` it is lower by `depth`.
    fn runs(seed: u64, runs: u64, settled: usize, depth: f64) -> Vec<Vec<f64>> {
        let run = |run: u64| {
            let mut stream = RandomStream::new(seed, "drift", run);
            let mut distance = 0.0;
            let mut value = |batch: usize| {
                distance = 0.7 * distance + 2.0 * stream.normal();
                100.0 + distance - if batch < settled { depth } else { 0.0 }
            };
            (0..120).map(&mut value).collect()
        };
        (0..runs).map(run).collect()
    }

    fn detect_shifts(count: u64, settled: usize, depth: f64) -> Vec<SeriesTruncation> {
        (0..200)
            .filter_map(|seed| detect_drift(&runs(seed, count, settled, depth), 0.01, SIGNIFICANCE_LEVEL))
            .collect()
    }

    #[test]
    fn stationary_series_rarely_raise_false_alarms() {
        for count in [1, 2, 3, 5, 10] {
            let false_alarms = detect_shifts(count, 0, 0.0).len();
            assert!(false_alarms <= 6, "{count} runs: {false_alarms} of 200");
        }
    }

    #[test]
    fn transients_are_reported_with_their_length() {
        // A sixth of the time at 70 instead of 100 lowers the mean by 5 %.
        for count in [1, 5] {
            let found = detect_shifts(count, 20, 30.0);
            let min = if count == 1 { 160 } else { 195 };
            assert!(found.len() >= min, "{count} runs: {} of 200", found.len());
            // Some cuts of a single run are at a later random dip.
            let near = found
                .iter()
                .filter(|of| of.truncated_batches.abs_diff(20) <= 4 && (of.relative + 0.05).abs() < 0.02);
            let min = if count == 1 { 0.6 } else { 0.95 };
            let share = near.count() as f64 / found.len() as f64;
            assert!(share >= min, "{count} runs: {share}");
        }
    }

    #[test]
    fn negligible_transients_are_not_reported() {
        // A batch at half the rate lowers the mean by 0.4 %.
        assert!(detect_shifts(5, 1, 50.0).is_empty());
    }

    #[test]
    fn a_series_rising_to_the_end_is_not_settled() {
        let rising: Vec<Vec<f64>> = (0..5)
            .map(|run| (0..120).map(|batch| f64::from(batch) + f64::from(run) / 10.0).collect())
            .collect();
        assert_eq!(detect_drift(&rising, 0.01, SIGNIFICANCE_LEVEL).map(|of| of.truncated_batches), Some(60));
    }
}
