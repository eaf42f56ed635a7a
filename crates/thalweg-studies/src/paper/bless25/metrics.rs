//! Metrics of Bless, Lihotzki and Zitterbart (2025).
//!
//! The queueing delay is the bottleneck's backlog over its rate, sampled ten times a second, in round trips of the
//! empty path (`rtts`); the shortest of the flows counts. All samples of a run count, as in the published
//! distributions.

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use serde_json::Value;
use thalweg_report::statistics::mean;
use thalweg_sim::{Quantity, RunResult};

/// Median of the queueing delay.
pub const P50: &str = "queue_p50_rtts";
/// 90th percentile of the queueing delay.
pub const P90: &str = "queue_p90_rtts";
/// Share of samples without a queue, in percent.
pub const EMPTY: &str = "empty_percent";
/// Highest peak of the first second.
pub const START_PEAK: &str = "start_peak_rtts";
/// Mean of the later peaks caused by bandwidth probes.
pub const PROBE_PEAK: &str = "probe_peak_rtts";
/// Interval between peaks, in seconds.
pub const BETWEEN: &str = "between_probes_s";
/// Mean queueing delay over ten seconds.
pub const MEAN: &str = "queue_mean_rtts";
/// Time from the later start until the shares are equal.
pub const EVEN: &str = "even_after_s";
/// Goodput of the flow with the longer round trip over that of the other.
pub const LONGER: &str = "longer_over_shorter";
/// Goodput share of the flow that competes with CUBIC, in percent.
pub const SHARE: &str = "bbr_share_percent";
/// Utilisation of the bottleneck, in percent.
pub const USED: &str = "used_percent";

/// Series that the metrics read.
pub const SERIES: &[Quantity] = &[Quantity::QueueBytes, Quantity::Goodput];

/// Returns the values of a cell.
pub fn cell_values(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    case_value(cell, runs.case_of(cell)?)
}

/// Returns the values of the runs beyond the published cells.
pub fn unpublished_values(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    let metrics: &[&str] = match runs.id {
        "single/queue" => &[USED],
        "two/100-Mbit" | "two/1-Gbit" | "round-trips/shares" | "cubic/shares" => &[USED],
        "many/100-Mbit" | "many/1-Gbit" => &["queue_p25_rtts", "queue_p75_rtts", USED],
        "cubic/queue" => &[P50, USED],
        "ours/quanta" => &["queue_p25_rtts", P50, "queue_p75_rtts", USED],
        _ => &[],
    };
    let of_case = |case: &CaseRuns<'_>| {
        let scheme = case.keys().get("scheme").and_then(Value::as_str).unwrap_or_default();
        let others = || case.keys().iter().filter(|(key, _)| *key != "scheme");
        let cell = |metric: &&str| {
            others()
                .fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()))
        };
        let measured = |cell: Cell| case_value(&cell, case).map(|values| (cell, values));
        metrics.iter().map(cell).filter_map(measured).collect::<Vec<_>>()
    };
    runs.cases.iter().flat_map(of_case).collect()
}

fn case_value(cell: &Cell, case: &CaseRuns<'_>) -> Option<Vec<f64>> {
    let line = &case.case.spec.links.first()?.forward;
    let (rate, rtt) = (line.rate.as_bits_per_sec() as f64, 2.0 * line.delay.as_secs_f64());
    let late = cell.keys.get("late_s").and_then(Value::as_f64).unwrap_or(0.0);
    let from = cell.keys.get("from_s").and_then(Value::as_f64).unwrap_or(0.0);
    case.each(|run| {
        let queue = || queueing_delays(run, 8.0 / rate / rtt);
        match cell.metric.as_str() {
            EMPTY => {
                let queue = queue()?;
                let empty = queue.iter().filter(|(_, delay)| *delay < NOTHING).count();
                Some(100.0 * empty as f64 / queue.len() as f64)
            }
            START_PEAK => {
                queue()?.into_iter().filter(|(at, _)| *at <= 1.0).map(|(_, delay)| delay).reduce(f64::max)
            }
            PROBE_PEAK => {
                mean(&queue_peaks(&queue()?).into_iter().map(|(_, delay)| delay).collect::<Vec<f64>>())
            }
            BETWEEN => {
                let peaks = queue_peaks(&queue()?);
                mean(&peaks.windows(2).map(|two| two[1].0 - two[0].0).collect::<Vec<f64>>())
            }
            MEAN => {
                let begin = late + from;
                let within = |at: f64| at > begin && at <= begin + 10.0 + 1e-9;
                let delays: Vec<f64> =
                    queue()?.into_iter().filter(|(at, _)| within(*at)).map(|(_, delay)| delay).collect();
                // No value if the run is too short for ten seconds.
                mean(&delays).filter(|_| begin + 10.0 <= run.end_time.as_secs_f64())
            }
            EVEN => even_after(run, late),
            LONGER => {
                let [shorter, longer] = flow_goodputs(run)?;
                Some(longer / shorter)
            }
            SHARE => {
                let [bbr, cubic] = flow_goodputs(run)?;
                Some(100.0 * bbr / (bbr + cubic))
            }
            USED => Some(100.0 * run.links.first()?.utilisation),
            metric => {
                let percent: f64 = metric.strip_prefix("queue_p")?.strip_suffix("_rtts")?.parse().ok()?;
                quantile(queue()?.into_iter().map(|(_, delay)| delay).collect(), percent / 100.0)
            }
        }
    })
}

/// Queueing delay below which a queue counts as empty, in round trips.
const NOTHING: f64 = 0.01;

fn run_series(
    run: &RunResult,
    quantity: Quantity,
    subject: u32,
) -> Option<&[(thalweg_proto::units::Time, f64)]> {
    let series = run.series.iter().find(|series| series.quantity == quantity && series.subject == subject)?;
    Some(&series.points)
}

/// Returns sample times in seconds, and queueing delays of the bottleneck in round trips; `byte` is the delay of a byte
/// in round trips.
fn queueing_delays(run: &RunResult, byte: f64) -> Option<Vec<(f64, f64)>> {
    let points = run_series(run, Quantity::QueueBytes, 0)?;
    (!points.is_empty()).then(|| points.iter().map(|(at, bytes)| (at.as_secs_f64(), bytes * byte)).collect())
}

/// Returns the peak of each interval with a queue longer than a quarter of a round trip, after the first second and up
/// to 16 s, the length of the published plot.
fn queue_peaks(queue: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    let mut was_high = false;
    for &(at, delay) in queue.iter().filter(|(at, _)| (1.0..=16.0).contains(at)) {
        let is_high = delay > 0.25;
        if is_high && !was_high {
            peaks.push((at, delay));
        }
        if let Some(peak) = peaks.last_mut().filter(|peak| is_high && delay > peak.1) {
            *peak = (at, delay);
        }
        was_high = is_high;
    }
    peaks
}

/// Returns the quantile of the values at `share`.
fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let at = (share * values.len() as f64) as usize;
    values.get(at.min(values.len().checked_sub(1)?)).copied()
}

fn flow_goodputs(run: &RunResult) -> Option<[f64; 2]> {
    let [first, second] = run.flows.as_slice() else { return None };
    Some([first.goodput.as_f64(), second.goodput.as_f64()])
}

/// Returns the seconds from the later start until the goodputs of a second differ by less than a tenth of their sum for
/// five seconds; the whole time if they never do.
fn even_after(run: &RunResult, late: f64) -> Option<f64> {
    let each = |flow| run_series(run, Quantity::Goodput, flow);
    let (first, second) = (each(0)?, each(1)?);
    let seconds = |points: &[(thalweg_proto::units::Time, f64)]| -> Vec<f64> {
        points
            .chunks(10)
            .filter_map(|ten| mean(&ten.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>()))
            .collect()
    };
    let differ = |(one, two): (f64, f64)| (one - two).abs() >= 0.1 * (one + two);
    let uneven: Vec<bool> = seconds(first).into_iter().zip(seconds(second)).map(differ).collect();
    let begin = late as usize;
    let even = uneven.get(begin..)?.windows(5).position(|five| !five.contains(&true));
    Some(even.map_or(run.end_time.as_secs_f64() - late, |at| at as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_the_highest_point_of_a_time_with_a_queue() {
        let queue =
            [(0.5, 1.0), (1.1, 0.3), (1.2, 0.8), (1.3, 0.4), (1.4, 0.1), (3.0, 0.6), (3.1, 0.5), (17.0, 0.9)];
        assert_eq!(queue_peaks(&queue), [(1.2, 0.8), (3.0, 0.6)]);
    }

    #[test]
    fn quantiles_are_values() {
        let values = || (1..=10).rev().map(f64::from).collect::<Vec<f64>>();
        assert_eq!(quantile(values(), 0.5), Some(6.0));
        assert_eq!((quantile(values(), 0.0), quantile(values(), 1.0)), (Some(1.0), Some(10.0)));
        assert_eq!(quantile(Vec::new(), 0.5), None);
    }
}
