//! Metrics of Chen and Chen (1999).
//!
//! Throughput is the share of time during which the transmitter of the last link is busy; POLLs count, and a second at
//! half rate counts as a second. The fairness index is Jain's index over the goodput of the five sources. Both are also
//! computed for each second and for the steady part of each phase of the bottleneck, from samples every 10 ms.

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use thalweg_report::statistics::mean;
use thalweg_sim::fairness_measures::jain_index;
use thalweg_sim::simulation_spec::Framing;
use thalweg_sim::{Quantity, RunResult};

/// Series that the metrics read.
pub const SERIES: &[Quantity] =
    &[Quantity::InFlight, Quantity::Goodput, Quantity::LinkRate, Quantity::QueuePackets, Quantity::Drops];

/// Returns the values of a cell.
pub fn cell_values(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    case_value(cell, runs.case_of(cell)?)
}

fn case_value(cell: &Cell, case: &CaseRuns<'_>) -> Option<Vec<f64>> {
    let source = cell.number("source").and_then(|source| usize::try_from(source.checked_sub(1)?).ok());
    let alpha = case.keys().get("alpha").and_then(serde_json::Value::as_f64).unwrap_or(ALPHA);
    let is_framed = case.case.spec.links.iter().any(|link| link.forward.framing != Framing::None);
    case.each(|run| {
        let view = View::new(run)?;
        let Some(span) = cell.text("phase").map(|phase| view.span(phase)) else {
            return match cell.metric.as_str() {
                "throughput_percent" => Some(100.0 * run.links[view.link].utilisation),
                "fairness_index" => jain_index(&view.goodputs()),
                "goodput_percent" => {
                    let bits = view.goodputs().iter().sum::<f64>() * view.end();
                    Some(100.0 * bits / bottleneck_capacity(Span { from: 0.0, to: view.end() }))
                }
                "losses_pdus" => Some(run.links[view.link].drops_full as f64),
                "queue_recovery_s" => view.recovery(10.0 * alpha),
                _ => None,
            };
        };
        let span = span?;
        match cell.metric.as_str() {
            // Link series count packets, not the cells that carry them.
            "throughput_percent" if is_framed => None,
            "throughput_percent" => view.utilisation_percent(span),
            "fairness_index" => jain_index(&view.shares(span)?),
            "queue_mean_pdus" => mean(&view.queue(span)?),
            "queue_min_pdus" => view.queue(span)?.into_iter().reduce(f64::min),
            "queue_max_pdus" => view.queue(span)?.into_iter().reduce(f64::max),
            "losses_pdus" => view.losses(span),
            "window_mean_pdus" => mean(&view.samples(Quantity::InFlight, source?, span)?),
            "rate_mean_mbps" => Some(view.shares(span)?.get(source?)? / 1e6),
            _ => None,
        }
    })
}

/// Returns all measurements of each case beyond the published cells.
pub fn unpublished_values(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    let published = !runs.id.starts_with("ours/");
    let of_case = |case: &CaseRuns<'_>| {
        let scheme = case.keys().get("scheme").and_then(serde_json::Value::as_str).unwrap_or_default();
        let cell = |metric: &str| {
            let keys = case.keys().iter().filter(|(key, _)| *key != "scheme");
            keys.fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()))
        };
        let overall: &[&str] = if published { &OVERALL[PUBLISHED..] } else { &OVERALL };
        let mut cells: Vec<Cell> = overall.iter().map(|metric| cell(metric)).collect();
        for phase in PHASES {
            cells.extend(IN_PHASE.iter().map(|metric| cell(metric).with("phase", phase)));
            for source in 1..=SOURCES {
                let of_source = |metric| cell(metric).with("phase", phase).with("source", source);
                cells.extend(OF_SOURCE.map(of_source));
            }
        }
        cells
    };
    let measured = |case: &CaseRuns<'_>| {
        let with_values = |cell: Cell| case_value(&cell, case).map(|values| (cell, values));
        of_case(case).into_iter().filter_map(with_values).collect::<Vec<_>>()
    };
    runs.cases.iter().flat_map(measured).collect()
}

/// A time span of a run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    from: f64,
    to: f64,
}

/// Returns the capacity of the bottleneck in a span, in bits: 100 Mbit/s, and 50 from 1 s to 2 s.
fn bottleneck_capacity(span: Span) -> f64 {
    let reduced = (span.to.min(2.0) - span.from.max(1.0)).max(0.0);
    1e8 * (span.to - span.from) - 5e7 * reduced
}

/// A run with the index of its bottleneck.
struct View<'a> {
    run: &'a RunResult,
    link: usize,
}

impl<'a> View<'a> {
    fn new(run: &'a RunResult) -> Option<Self> {
        let link = run.links.iter().position(|link| link.name == "bottleneck" && link.from == "sw4")?;
        Some(Self { run, link })
    }

    fn end(&self) -> f64 {
        self.run.end_time.as_secs_f64()
    }

    /// Returns the span of a phase, if the run is long enough.
    fn span(&self, phase: &str) -> Option<Span> {
        let (from, to) = match phase {
            "second-1" => (0.0, 1.0),
            "second-2" => (1.0, 2.0),
            "second-3" => (2.0, 3.0),
            "steady-100" => (0.5, 1.0),
            "steady-50" => (1.5, 2.0),
            "steady-100-again" => (2.5, 3.0),
            "last-third" if self.end() > 3.0 => (self.end() * 2.0 / 3.0, self.end()),
            _ => return None,
        };
        (to <= self.end()).then_some(Span { from, to })
    }

    /// Returns the samples of a series in a span; rates cover the time before each sample.
    fn samples(&self, quantity: Quantity, subject: usize, span: Span) -> Option<Vec<f64>> {
        let of =
            |series: &&thalweg_sim::Series| series.quantity == quantity && series.subject as usize == subject;
        let points = &self.run.series.iter().find(of)?.points;
        let within = |at: f64| at > span.from + 1e-9 && at <= span.to + 1e-9;
        let samples: Vec<f64> =
            points.iter().filter(|(at, _)| within(at.as_secs_f64())).map(|(_, value)| *value).collect();
        (!samples.is_empty()).then_some(samples)
    }

    fn goodputs(&self) -> Vec<f64> {
        self.run.flows.iter().map(|flow| flow.goodput.as_f64()).collect()
    }

    /// Returns the goodput of each source in a span, in bit/s.
    fn shares(&self, span: Span) -> Option<Vec<f64>> {
        (0..self.run.flows.len()).map(|flow| mean(&self.samples(Quantity::Goodput, flow, span)?)).collect()
    }

    /// Returns the utilisation of the bottleneck in a span, in percent.
    fn utilisation_percent(&self, span: Span) -> Option<f64> {
        let rate = mean(&self.samples(Quantity::LinkRate, self.link, span)?)?;
        Some(100.0 * rate * (span.to - span.from) / bottleneck_capacity(span))
    }

    fn queue(&self, span: Span) -> Option<Vec<f64>> {
        self.samples(Quantity::QueuePackets, self.link, span)
    }

    fn losses(&self, span: Span) -> Option<f64> {
        let until = |to: f64| self.samples(Quantity::Drops, self.link, Span { from: 0.0, to });
        let at = |to: f64| if to <= 0.0 { Some(0.0) } else { until(to)?.last().copied() };
        Some(at(span.to)? - at(span.from)?)
    }

    /// Returns the time in seconds from the drop to 50 Mbit/s until the queue is at most `high` PDUs: twice the target
    /// of five sources. `None` for runs of less than 2 s.
    fn recovery(&self, high: f64) -> Option<f64> {
        if self.end() < 2.0 {
            return None;
        }
        let queue = self.queue(Span { from: 1.0, to: 2.0 })?;
        let last = queue.iter().rposition(|packets| *packets > high);
        Some(last.map_or(0.0, |last| (last + 1) as f64 / queue.len() as f64))
    }
}

/// Metrics of the whole run; for the published experiment, the first ones are its cells.
const OVERALL: [&str; 5] =
    ["throughput_percent", "fairness_index", "goodput_percent", "losses_pdus", "queue_recovery_s"];
const PUBLISHED: usize = 2;
const IN_PHASE: [&str; 6] = [
    "throughput_percent",
    "fairness_index",
    "queue_mean_pdus",
    "queue_min_pdus",
    "queue_max_pdus",
    "losses_pdus",
];
const OF_SOURCE: [&str; 2] = ["window_mean_pdus", "rate_mean_mbps"];
/// Steady part of each phase of the bottleneck, and the last third of long runs.
pub const STEADY: [&str; 3] = ["steady-100", "steady-50", "steady-100-again"];
const PHASES: [&str; 7] = ["second-1", "second-2", "second-3", STEADY[0], STEADY[1], STEADY[2], "last-third"];
/// Number of sources in the parking lot.
pub const SOURCES: usize = 5;
/// Value of the paper, in PDUs.
const ALPHA: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottleneck_loses_half_for_a_second() {
        let bits = |from, to| bottleneck_capacity(Span { from, to });
        assert_eq!((bits(0.0, 1.0), bits(1.0, 2.0), bits(0.0, 3.0)), (1e8, 5e7, 2.5e8));
        assert_eq!((bits(1.5, 2.5), bits(2.5, 3.0), bits(20.0, 30.0)), (7.5e7, 5e7, 1e9));
    }
}
