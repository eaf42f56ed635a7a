//! Time series of transients: goodput over time in one run of each point, under each scheme.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use thalweg_report::parallel_batch::{self, Job};
use thalweg_sim::{Quantity, RunResult};
use thalweg_sweep::Sweep;

/// Time series of a point under several schemes, all with the first seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transient {
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Sampling interval, in seconds.
    pub interval_s: f64,
    /// Goodput of a group in bit/s by scheme: the scheme under test, then the references in order.
    pub goodput_bps: Vec<(String, Vec<f64>)>,
}

/// Maximum number of points shown.
const MAX_POINTS: usize = 8;
/// Number of samples of a series.
const SAMPLES: usize = 200;

/// Returns the goodput series of a group at the first points of a sweep; failed runs are left out.
pub fn goodput_transients(
    sweep: &Sweep<'_>,
    schemes: &[&str],
    group: &str,
    values: impl Fn(usize) -> BTreeMap<String, String>,
) -> Vec<Transient> {
    let count = (sweep.plan.points.len() / schemes.len().max(1)).min(MAX_POINTS) * schemes.len();
    let made: Mutex<BTreeMap<usize, (f64, Vec<f64>)>> = Mutex::default();
    let work = |point: usize| {
        let spec = sweep.spec(point).ok()?;
        let job = Job { spec: spec.clone(), seed: sweep.seed, events: None, threads: 1 };
        let run = catch_unwind(AssertUnwindSafe(|| parallel_batch::run_single_job(&job, &sweep.stop)))
            .ok()?
            .ok()?;
        let length = spec.duration.as_secs_f64();
        Some((length / SAMPLES as f64, goodput_samples(&run.0, group, length)))
    };
    let each = |point: usize, goodput_samples: Option<(f64, Vec<f64>)>| {
        let mut made = made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        made.extend(goodput_samples.map(|goodput_samples| (point, goodput_samples)));
    };
    parallel_batch::run_parallel(count, sweep.threads, &sweep.stop, work, each, || ());
    let made = made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let transient = |first: usize| {
        let known = schemes.iter().enumerate().filter_map(|(number, scheme)| {
            let (interval, goodput_samples) = made.get(&(first + number))?;
            Some((*interval, ((*scheme).to_owned(), goodput_samples.clone())))
        });
        let (intervals, goodput_bps): (Vec<f64>, Vec<_>) = known.unzip();
        let interval_s = intervals.first().copied()?;
        Some(Transient { values: values(first), interval_s, goodput_bps })
    };
    (0..count).step_by(schemes.len().max(1)).filter_map(transient).collect()
}

/// Returns the goodput of a group in samples of equal length; zero where nothing was measured.
fn goodput_samples(run: &RunResult, group: &str, length: f64) -> Vec<f64> {
    let number = run.groups.iter().position(|candidate| candidate.name == group);
    let mut sums = vec![0.0; SAMPLES];
    for series in run.series.iter().filter(|series| series.quantity == Quantity::Goodput) {
        let flow = run.flows.get(series.subject as usize);
        if flow.is_none_or(|flow| Some(flow.group as usize) != number) {
            continue;
        }
        let mut means = vec![(0.0, 0_u32); SAMPLES];
        for (at, value) in &series.points {
            // A point covers the interval before it.
            let place = libm::ceil(at.as_secs_f64() / length * SAMPLES as f64) as usize;
            let mean = &mut means[place.saturating_sub(1).min(SAMPLES - 1)];
            *mean = (mean.0 + value, mean.1 + 1);
        }
        for (sum, (mean, count)) in sums.iter_mut().zip(means) {
            *sum += mean / f64::from(count.max(1));
        }
    }
    sums.iter().map(|sum| libm::round(*sum)).collect()
}
