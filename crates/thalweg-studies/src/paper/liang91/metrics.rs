//! Metrics of the thesis of Liang (1991).
//!
//! Throughput counts complete data packets that reached their sink, each once, after the warm-up; the network's
//! throughput is the sum over the sources. Messages and drops are sums over all routers in the same time.

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use thalweg_proto::units::Time;
use thalweg_report::statistics::{fairness_variance, mean};
use thalweg_sim::{FlowResult, Quantity, RunResult, Series};

/// Series that the metrics read.
pub const SERIES: &[Quantity] = &[Quantity::Window, Quantity::QueueBytes];

/// Returns the values of a cell.
pub fn cell_values(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    if let "throughput_improvement_percent" = cell.metric.as_str() {
        return throughput_gain(cell, runs);
    }
    case_value(cell, runs.case_of(cell)?)
}

fn case_value(cell: &Cell, case: &CaseRuns<'_>) -> Option<Vec<f64>> {
    match cell.metric.as_str() {
        "throughput_kbps" => source_throughput(cell, case, KILOBIT),
        "throughput_kbytes_per_s" => source_throughput(cell, case, KILOBYTE),
        "network_throughput_kbps" => case.each(|run| Some(network_throughput(run) / KILOBIT)),
        "network_throughput_kbytes_per_s" => case.each(|run| Some(network_throughput(run) / KILOBYTE)),
        "fairness_variance" => Some(vec![throughput_variance(cell, case.results)]),
        VARIANCE_PER_RUN => case.each(|run| Some(throughput_variance(cell, core::slice::from_ref(run)))),
        "packets_dropped" => case.each(|run| Some(dropped_packets(run))),
        "feedback_messages" | "feedback_messages_20s_80s" => case.each(|run| Some(feedback_messages(run))),
        "feedback_overhead_bps" => case.each(|run| Some(message_overhead(run))),
        "window_peaks_20s_80s" => case.each(|run| Some(count_window_peaks(window_series(run, 0)?))),
        "window_min_packets" => case.each(|run| extreme_window(cell, run, f64::min)),
        "window_max_packets" => case.each(|run| extreme_window(cell, run, f64::max)),
        WINDOW_CORRELATION => case.each(|run| window_correlation(run, false)),
        MOVEMENT_CORRELATION => case.each(|run| window_correlation(run, true)),
        WINDOW_DEVIATION => case.each(|run| standard_deviation(&sampled_window(run, 0)?)),
        _ => None,
    }
}

/// Returns the values of the runs beyond the published cells: the unpublished throughputs, drops and messages of each
/// case, and the correlation of the windows of competing sources.
pub fn unpublished_values(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    runs.cases.iter().flat_map(|case| further_of_case(runs.id, case)).collect()
}

fn further_of_case(experiment: &str, case: &CaseRuns<'_>) -> Vec<MeasuredCell> {
    let cell = |metric: &str| {
        let scheme = case.keys().get("scheme").and_then(serde_json::Value::as_str).unwrap_or_default();
        let keys = case.keys().iter().filter(|(key, _)| *key != "scheme");
        keys.fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()))
    };
    let mut cells = Vec::new();
    if experiment.starts_with("ours/") {
        let sources = case.results.first().map_or(0, |run| run.flows.len());
        cells.extend((1..=sources).map(|source| cell("throughput_kbps").with("source", source)));
        cells.push(cell("network_throughput_kbps"));
        cells.push(cell("fairness_variance").with("sources", FORWARD));
    }
    let first = case.results.first();
    let competing = first.map_or(0, |run| forward_flows(run).len());
    let against = first.map_or(0, |run| run.flows.len()) - competing;
    for (direction, sources) in [(FORWARD, competing), (REVERSE, against)] {
        if sources > 1 {
            cells.push(cell(VARIANCE_PER_RUN).with("sources", direction));
        }
    }
    if experiment == WINDOWS_COMPARED {
        cells.push(cell(WINDOW_DEVIATION));
    }
    let measured = |cell: Cell| case_value(&cell, case).map(|values| (cell, values));
    let mut all: Vec<MeasuredCell> = cells.into_iter().filter_map(measured).collect();
    if experiment == QUEUE_RECORDED {
        all.extend(wave_values(case).into_iter().map(|(metric, values)| (cell(metric), values)));
    }
    let common = ["packets_dropped", "feedback_messages", WINDOW_CORRELATION, MOVEMENT_CORRELATION];
    all.extend(common.map(cell).into_iter().filter_map(measured));
    all
}

/// Returns the throughput gain of the mechanism in the scheme's name, in percent of the throughput without it.
fn throughput_gain(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    let (better, base) = match cell.scheme.as_str() {
        "seif-over-reacting" => ("seif", "reacting-feedback"),
        "byte-over-packet" => ("seif-byte-buffers", "seif-packet-buffers"),
        _ => return None,
    };
    let (better, base) = (runs.scheme(better)?, runs.scheme(base)?);
    better.each_with(base, |better, base| {
        Some(100.0 * (network_throughput(better) / network_throughput(base) - 1.0))
    })
}

/// Returns the index of a source. Sources are numbered from 1; two windows that the thesis does not number are `one`
/// and `other`.
fn source_index(cell: &Cell) -> Option<usize> {
    match cell.text("source") {
        Some("one") => Some(0),
        Some("other") => Some(1),
        Some(_) => None,
        None => usize::try_from(cell.number("source")?.checked_sub(1)?).ok(),
    }
}

fn source_throughput(cell: &Cell, case: &CaseRuns<'_>, unit: f64) -> Option<Vec<f64>> {
    let source = source_index(cell)?;
    case.each(|run| run.flows.get(source).map(|flow| flow.throughput.as_f64() / unit))
}

/// Returns the network's throughput in bit/s.
fn network_throughput(run: &RunResult) -> f64 {
    run.flows.iter().map(|flow| flow.throughput.as_f64()).sum::<f64>()
}

/// Returns the flows that compete in the forward direction.
fn forward_flows(run: &RunResult) -> Vec<usize> {
    let is_forward =
        |flow: &FlowResult| flow_direction(run, flow).is_none_or(|name| !name.starts_with(REVERSE));
    (0..run.flows.len()).filter(|&flow| is_forward(&run.flows[flow])).collect()
}

fn flow_direction<'a>(run: &'a RunResult, flow: &FlowResult) -> Option<&'a str> {
    run.groups.get(flow.group as usize).map(|group| group.name.as_str())
}

/// Returns the fairness variance of the competing sources: the sources of a direction (`sources`: `forward`,
/// `reverse`), the listed ones (`1,2`), or all. As in the thesis it is computed from the sources' mean throughputs over
/// the runs. It is less than the mean of the runs' variances if the favoured source varies by chance.
fn throughput_variance(cell: &Cell, runs: &[RunResult]) -> f64 {
    let Some(first) = runs.first() else { return 0.0 };
    let unit = if cell.text("unit") == Some("(kbytes/s)^2") { KILOBYTE } else { KILOBIT };
    let counts = |place: &usize| match cell.text("sources") {
        None => true,
        Some(FORWARD) => forward_flows(first).contains(place),
        Some(REVERSE) => !forward_flows(first).contains(place),
        Some(list) => list.split(',').any(|number| number.parse() == Ok(place + 1)),
    };
    let of = |place: usize| {
        let throughputs: Vec<f64> =
            runs.iter().map(|run| run.flows[place].throughput.as_f64() / unit).collect();
        mean(&throughputs).unwrap_or_default()
    };
    let throughputs: Vec<f64> = (0..first.flows.len()).filter(counts).map(of).collect();
    fairness_variance(&throughputs)
}

fn dropped_packets(run: &RunResult) -> f64 {
    run.links.iter().map(|link| link.drops_full + link.drops_early).sum::<u64>() as f64
}

fn feedback_messages(run: &RunResult) -> f64 {
    run.links.iter().map(|link| link.feedback).sum::<u64>() as f64
}

/// Returns the messages' bits over the measured time.
fn message_overhead(run: &RunResult) -> f64 {
    let bytes: u64 = run.links.iter().map(|link| link.feedback_bytes.get()).sum();
    bytes as f64 * 8.0 / (run.end_time.as_secs_f64() - run.warmup.as_secs_f64())
}

/// Returns the window of a flow after the warm-up, at every change.
fn window_series(run: &RunResult, flow: usize) -> Option<&[(Time, f64)]> {
    let of_flow = |series: &&Series| series.quantity == Quantity::Window && series.subject as usize == flow;
    let series = run.series.iter().find(of_flow)?;
    // Includes the value at the start of the measurement.
    Some(&series.points[first_after_warmup(series, run).saturating_sub(1)..])
}

/// Returns the position of a series' first point after the warm-up.
fn first_after_warmup(series: &Series, run: &RunResult) -> usize {
    series.points.partition_point(|(time, _)| *time < Time::ZERO + run.warmup)
}

/// Returns the number of window decreases that follow an increase.
fn count_window_peaks(window: &[(Time, f64)]) -> f64 {
    let (mut peaks, mut grew) = (0, false);
    for pair in window.windows(2) {
        if pair[1].1 > pair[0].1 {
            grew = true;
        } else if pair[1].1 < pair[0].1 && grew {
            (peaks, grew) = (peaks + 1, false);
        }
    }
    f64::from(peaks)
}

/// Returns the values of the metrics of waves; a metric that a run lacks is left out.
fn wave_values(case: &CaseRuns<'_>) -> Vec<(&'static str, Vec<f64>)> {
    let times: Option<Vec<Vec<f64>>> =
        case.results.iter().map(|run| longest_queue(run).map(upward_crossings)).collect();
    let Some(times) = times else { return Vec::new() };
    let distances: Vec<Vec<f64>> = times.iter().map(|times| consecutive_differences(times)).collect();
    let numbers = times.iter().map(|times| times.len() as f64).collect();
    let means = distances.iter().map(|distances| mean(distances)).collect();
    let irregularities = distances.iter().map(|distances| relative_deviation(distances)).collect();
    let all = [(QUEUE_WAVES, Some(numbers)), (WAVE_INTERVAL, means), (WAVE_IRREGULARITY, irregularities)];
    all.into_iter().filter_map(|(metric, values)| Some((metric, values?))).collect()
}

/// Returns the queue with the highest peak after the warm-up, at every change, in bytes.
fn longest_queue(run: &RunResult) -> Option<&[(Time, f64)]> {
    let queues = run.series.iter().filter(|series| series.quantity == Quantity::QueueBytes);
    let measured = queues.map(|series| &series.points[first_after_warmup(series, run)..]);
    let peak = |points: &[(Time, f64)]| points.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    measured.max_by(|a, b| peak(a).total_cmp(&peak(b)))
}

/// Returns the times of upward crossings of the threshold, each after a fall to half of it.
fn upward_crossings(queue: &[(Time, f64)]) -> Vec<f64> {
    let (mut times, mut was_low) = (Vec::new(), false);
    for (time, bytes) in queue {
        was_low |= *bytes <= WAVE_THRESHOLD / 2.0;
        if was_low && *bytes > WAVE_THRESHOLD {
            times.push(time.as_secs_f64());
            was_low = false;
        }
    }
    times
}

/// Returns the differences of consecutive times.
fn consecutive_differences(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the standard deviation of a list of values in percent of their mean.
fn relative_deviation(values: &[f64]) -> Option<f64> {
    Some(100.0 * standard_deviation(values)? / mean(values).filter(|mean| *mean > 0.0)?)
}

/// Returns the smallest or largest window, in whole packets.
fn extreme_window(cell: &Cell, run: &RunResult, which: fn(f64, f64) -> f64) -> Option<f64> {
    let window = window_series(run, source_index(cell)?)?;
    window.iter().map(|(_, packets)| packets.floor()).reduce(which)
}

/// Returns the window of a flow after the warm-up, ten times a second.
fn sampled_window(run: &RunResult, flow: usize) -> Option<Vec<f64>> {
    let window = window_series(run, flow)?;
    let (first, last) = (run.warmup.as_secs_f64(), run.end_time.as_secs_f64());
    let count = ((last - first) * SAMPLES_PER_SECOND) as u64;
    let at = |sample: u64| {
        let time = first + sample as f64 / SAMPLES_PER_SECOND;
        let next = window.partition_point(|(at, _)| at.as_secs_f64() <= time);
        window.get(next.saturating_sub(1)).map(|(_, packets)| *packets)
    };
    (0..count).map(at).collect()
}

/// Returns the standard deviation of a list of values.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean_of = mean(values)?;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean_of) * (value - mean_of)).collect();
    mean(&squares).map(libm::sqrt)
}

/// Returns the mean correlation of the windows over all pairs of sources in the forward direction: of the windows
/// themselves, or of their changes between samples, ten times a second. A packet takes 64 ms on the slow link. Windows
/// reduced by the same warning therefore change in the same sample; windows in the same slow cycle do not. `None` for
/// fewer than two sources, or a window that never changes.
fn window_correlation(run: &RunResult, movements: bool) -> Option<f64> {
    let values = |flow: usize| -> Option<Vec<f64>> {
        let levels = sampled_window(run, flow)?;
        Some(if movements { levels.windows(2).map(|two| two[1] - two[0]).collect() } else { levels })
    };
    let windows: Vec<Vec<f64>> = forward_flows(run).into_iter().map(values).collect::<Option<_>>()?;
    let mut correlations = Vec::new();
    for (place, a) in windows.iter().enumerate() {
        for b in &windows[place + 1..] {
            correlations.push(pearson_correlation(a, b)?);
        }
    }
    mean(&correlations)
}

/// Returns Pearson's coefficient.
fn pearson_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| f(a - mean_a, b - mean_b)).sum()
    };
    let spread = libm::sqrt(sum(&|a, _| a * a) * sum(&|_, b| b * b));
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread)
}

/// Mean of the runs' fairness variances (our metric).
pub const VARIANCE_PER_RUN: &str = "fairness_variance_per_run";
/// Correlation of competing windows (our metric).
pub const WINDOW_CORRELATION: &str = "window_correlation";
/// Correlation of the changes of competing windows (our metric).
pub const MOVEMENT_CORRELATION: &str = "window_movement_correlation";
/// Standard deviation of the first source's window over time (our metric).
pub const WINDOW_DEVIATION: &str = "window_deviation_packets";
/// Number of times that the bottleneck's queue rises above the feedback threshold after it was at most half as long (our
/// metric).
pub const QUEUE_WAVES: &str = "queue_waves";
/// Mean time between these (our metric).
pub const WAVE_INTERVAL: &str = "queue_wave_interval_s";
/// Standard deviation of the time between these, in percent of its mean (our metric).
pub const WAVE_IRREGULARITY: &str = "queue_wave_irregularity_percent";
/// Experiment with a recorded queue, with and without the filter.
const QUEUE_RECORDED: &str = "table-4.5/exp-1";
/// Feedback threshold of that experiment in bytes: 80 % of 10 packets of 512 bytes.
const WAVE_THRESHOLD: f64 = 4096.0;
/// Experiment whose windows the thesis compares in figures 4.3 and 4.4.
const WINDOWS_COMPARED: &str = "table-4.2/exp-1";
/// Direction of most sources.
const FORWARD: &str = "forward";
/// Other direction.
const REVERSE: &str = "reverse";
const KILOBIT: f64 = 1e3;
/// Bits of 1000 bytes.
const KILOBYTE: f64 = 8e3;
const SAMPLES_PER_SECOND: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Duration;

    #[test]
    fn a_peak_is_a_fall_after_growth() {
        let at = |second: u64| Time::ZERO + Duration::from_secs(second);
        let window = |values: &[f64]| -> Vec<(Time, f64)> {
            values.iter().enumerate().map(|(second, &value)| (at(second as u64), value)).collect()
        };
        assert_eq!(count_window_peaks(&window(&[5.0, 6.0, 3.0, 4.0, 4.0, 2.0])), 2.0);
        // Two consecutive decreases are one peak; a decrease from the start is none.
        assert_eq!(count_window_peaks(&window(&[5.0, 2.5, 3.5, 1.75, 1.0, 2.0])), 1.0);
        assert_eq!(count_window_peaks(&window(&[])), 0.0);
    }

    #[test]
    fn a_wave_begins_above_the_threshold_after_a_low_queue() {
        let at = |second: u64| Time::ZERO + Duration::from_secs(second);
        let queue: Vec<(Time, f64)> =
            [0.0, 5000.0, 4000.0, 5000.0, 2048.0, 4096.0, 4608.0, 0.0, 1000.0, 5120.0]
                .iter()
                .enumerate()
                .map(|(second, &bytes)| (at(second as u64), bytes))
                .collect();
        assert_eq!(upward_crossings(&queue), [1.0, 6.0, 9.0]);
        assert_eq!(consecutive_differences(&upward_crossings(&queue)), [5.0, 3.0]);
        assert_eq!(relative_deviation(&[5.0, 3.0]), Some(25.0));
        assert!(upward_crossings(&queue[1..4]).is_empty() && relative_deviation(&[]).is_none());
    }

    #[test]
    fn a_deviation_is_that_from_the_mean() {
        assert_eq!(standard_deviation(&[3.0, 5.0, 3.0, 5.0]), Some(1.0));
        assert_eq!(standard_deviation(&[]), None);
    }

    #[test]
    fn windows_that_move_together_are_correlated() {
        assert_eq!(pearson_correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), Some(1.0));
        assert_eq!(pearson_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(pearson_correlation(&[1.0, 2.0, 1.0, 2.0], &[1.0, 1.0, 2.0, 2.0]), Some(0.0));
        assert_eq!(pearson_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
