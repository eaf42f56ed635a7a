//! Drift: counting that begins before the network has settled, so that means depend on how long was waited.
//!
//! The runs of a scheme are averaged point by point (Welch 1983), the mean is put into batches, and the point is found from
//! which on it is told most exactly: MSER (White 1997; White, Cobb and Spratt 2000) cuts where the squared standard error of
//! what is left is least. That alone finds a point in every series, so that a second test asks whether what is cut off
//! matters: it must move the mean by more than a margin, by more than chance.
//!
//! | spec | ours | reason | effect |
//! | --- | --- | --- | --- |
//! | MSER-5: batches of five observations | batches of at least five samples, at most [`MAX_BATCHES`] in all | long series | the point is told to 0.25 % of the time |
//! | the cut of least error | the first one that leaves a mean within half the margin of it | where what is left hardly varies, the least error is late | shorter warm-ups |
//! | the cut alone is the answer | it is tested, by Student's t over runs or over spans as long as it | a series without any drift has a cut as well | few drifts are told where there is none |

use crate::statistics::{self, Estimate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::spec::{DirectionSpec, Spec};
use thalweg_sim::{Quantity, RunResult};

/// Something that had not settled when counting began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The scheme, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The group of flows whose goodput drifts.
    pub group: String,
    /// The time in the run from which on it is settled, in seconds; missing where it drifts to the end.
    pub settled_s: Option<f64>,
    /// The mean of what is counted over that of what comes after it has settled, less 1.
    pub relative: f64,
}

/// The goodput of the groups of a scheme over time, run by run.
#[derive(Debug)]
pub struct Course {
    warmup: Duration,
    /// The length of a batch; zero where nothing is to be judged.
    batch: Duration,
    batches: usize,
    seen: BTreeSet<u64>,
    groups: Vec<Group>,
}

/// A group's goodput in each batch of each run.
#[derive(Debug, Default)]
struct Group {
    name: String,
    runs: Vec<Vec<f64>>,
    /// A source or a transfer's end set what some run carried.
    is_short: bool,
}

impl Course {
    /// The course of runs of `spec`. Nothing is judged of a scenario that changes by schedule or by a recorded capacity, which
    /// is not meant to settle, nor without samples.
    pub fn new(spec: &Spec) -> Self {
        let counted = spec.duration.saturating_sub(spec.warmup);
        let least = spec.measure.interval.map_or(Duration::ZERO, |interval| interval * BATCH);
        let batch = least.max(counted / MAX_BATCHES);
        let batches = if batch.is_zero() || !is_steady(spec) {
            0
        } else {
            usize::try_from(counted.as_picos() / batch.as_picos()).unwrap_or(0)
        };
        let group = |name: &String| Group { name: name.clone(), ..Group::default() };
        let groups = spec.groups.iter().map(|of| group(&of.name)).collect();
        Self { warmup: spec.warmup, batch, batches, seen: BTreeSet::new(), groups }
    }

    /// Takes the series of a run. One that was interrupted, and one that is the same as another, say nothing.
    pub fn add(&mut self, result: &RunResult) {
        if self.batches < MIN_BATCHES || !result.complete || !self.seen.insert(result.fingerprint) {
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
            // A point tells of the time before it.
            let position = (at.since(start).as_picos() - 1) / self.batch.as_picos();
            if let Some(held) = usize::try_from(position).ok().and_then(|position| held.get_mut(position)) {
                *held = (held.0 + value, held.1 + 1);
            }
        }
        for (sum, (values, count)) in sum.iter_mut().zip(held) {
            *sum += values / f64::from(count.max(1));
        }
    }

    /// The groups whose goodput drifts; `scheme` is named where several are compared. A shift of the mean below `margin`
    /// is none.
    pub fn drifts(&self, scheme: Option<&str>, margin: f64) -> Vec<Drift> {
        let judged: Vec<&Group> =
            self.groups.iter().filter(|group| !group.is_short && !group.runs.is_empty()).collect();
        let level = LEVEL / judged.len().max(1) as f64;
        let drift = |group: &&Group| {
            let shift = shift(&group.runs, margin, level)?;
            let is_settled = shift.cut < self.batches / 2;
            let settled = (self.warmup + self.batch * shift.cut as u64).as_secs_f64();
            Some(Drift {
                scheme: scheme.map(str::to_owned),
                group: group.name.clone(),
                settled_s: is_settled.then_some(settled),
                relative: shift.relative,
            })
        };
        judged.iter().filter_map(drift).collect()
    }
}

/// Nothing in the scenario changes at a time that was set beforehand.
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

/// The part of a series that is better left out.
struct Shift {
    /// So many batches.
    cut: usize,
    /// The mean of all over that of the rest, less 1.
    relative: f64,
}

/// The drift of `runs`, each with as many batches; `None` where it is below `margin` or may be chance at `level`.
fn shift(runs: &[Vec<f64>], margin: f64, level: f64) -> Option<Shift> {
    let batches = runs.first()?.len();
    let average = |batch: usize| runs.iter().map(|run| run[batch]).sum::<f64>() / runs.len() as f64;
    let mean: Vec<f64> = (0..batches).map(average).collect();
    let cut = statistics::mser(&mean).filter(|&cut| cut > 0)?;
    let settled = statistics::mean(&mean[cut..])?;
    // Where what is left hardly varies, that cut takes off more than matters.
    let is_enough = |cut: &usize| {
        let rest = statistics::mean(&mean[*cut..]);
        rest.is_some_and(|rest| (rest / settled - 1.0).abs() <= margin / 2.0)
    };
    let cut = (1..cut).find(is_enough).unwrap_or(cut);
    let (all, rest) = (statistics::mean(&mean)?, statistics::mean(&mean[cut..])?);
    let relative = all / rest - 1.0;
    if !relative.is_finite() || relative.abs() <= margin {
        return None;
    }
    let p = if runs.len() >= MIN_RUNS {
        let bias = |run: &Vec<f64>| Some(statistics::mean(&run[..cut])? - statistics::mean(&run[cut..])?);
        Estimate::of(&runs.iter().filter_map(bias).collect::<Vec<_>>())?.p_value()?
    } else {
        // One run or two: the first span against others of the same length.
        let spans: Vec<f64> = mean[cut..].chunks_exact(cut).filter_map(statistics::mean).collect();
        let (deviation, count) = (libm::sqrt(statistics::variance(&spans)?), spans.len() as f64);
        let distance = statistics::mean(&mean[..cut])? - statistics::mean(&spans)?;
        // The standard error of the difference between one value and the mean of `count` others.
        let scaled = deviation * libm::sqrt(1.0 + 1.0 / count);
        statistics::student_p(distance / scaled, spans.len() as u64 - 1)
    };
    (p < level).then_some(Shift { cut, relative })
}

/// Samples in a batch, at least.
const BATCH: u64 = 5;
/// Batches in a run, at most.
const MAX_BATCHES: u64 = 400;
/// With fewer there is too little to judge.
const MIN_BATCHES: usize = 20;
/// So many runs tell what chance does to a run.
const MIN_RUNS: usize = 3;
/// The probability of a drift being told where there is none, roughly: the cut is the worst of many.
const LEVEL: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::random::Stream;

    /// Runs of a series of 120 batches around 100 of which each keeps 0.7 of the distance of the one before: an
    /// autoregressive series, as windows make. Before `settled` it is lower by `depth`.
    fn runs(seed: u64, runs: u64, settled: usize, depth: f64) -> Vec<Vec<f64>> {
        let run = |run: u64| {
            let mut stream = Stream::new(seed, "drift", run);
            let mut distance = 0.0;
            let mut value = |batch: usize| {
                distance = 0.7 * distance + 2.0 * stream.normal();
                100.0 + distance - if batch < settled { depth } else { 0.0 }
            };
            (0..120).map(&mut value).collect()
        };
        (0..runs).map(run).collect()
    }

    fn told(count: u64, settled: usize, depth: f64) -> Vec<Shift> {
        (0..200).filter_map(|seed| shift(&runs(seed, count, settled, depth), 0.01, LEVEL)).collect()
    }

    #[test]
    fn a_series_without_drift_is_seldom_told_to_have_one() {
        for count in [1, 2, 3, 5, 10] {
            let false_alarms = told(count, 0, 0.0).len();
            assert!(false_alarms <= 6, "{count} runs: {false_alarms} of 200");
        }
    }

    #[test]
    fn a_start_that_matters_is_told_with_its_length() {
        // A sixth of the time at 70 in place of 100 takes 5 % off the mean.
        for count in [1, 5] {
            let found = told(count, 20, 30.0);
            let least = if count == 1 { 160 } else { 195 };
            assert!(found.len() >= least, "{count} runs: {} of 200", found.len());
            // Some cuts of a single run are at a later dip of its own.
            let near =
                found.iter().filter(|of| of.cut.abs_diff(20) <= 4 && (of.relative + 0.05).abs() < 0.02);
            let least = if count == 1 { 0.6 } else { 0.95 };
            let share = near.count() as f64 / found.len() as f64;
            assert!(share >= least, "{count} runs: {share}");
        }
    }

    #[test]
    fn a_start_that_does_not_matter_is_not_told() {
        // A batch at half the rate takes 0.4 % off the mean.
        assert!(told(5, 1, 50.0).is_empty());
    }

    #[test]
    fn what_rises_to_the_end_is_never_settled() {
        let rising: Vec<Vec<f64>> = (0..5)
            .map(|run| (0..120).map(|batch| f64::from(batch) + f64::from(run) / 10.0).collect())
            .collect();
        assert_eq!(shift(&rising, 0.01, LEVEL).map(|of| of.cut), Some(60));
    }
}
