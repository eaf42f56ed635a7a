//! Data for a page's scripts: one JSON document.

use super::animated_packet_selection::Replay;
use super::interval_bounds::Bounds;
use super::network_data::Topology;
use super::number_encoding::Numbers;
use super::report_series::{AllSeries, EmbeddedSeries};
use crate::output::heads_of;
use crate::results::{Document, Flow, Link, Metric, Run, Tables, Unit};
use crate::statistics::student_quantile;
use serde::Serialize;
use serde_json::{Value, json};

/// Data of a page. Sweeps will join as further runs, with their parameters beside scheme and seed.
#[derive(Debug, Serialize)]
pub(super) struct Model<'a> {
    duration_s: f64,
    warmup_s: f64,
    /// Names of the compared schemes; empty if none are compared.
    schemes: Vec<&'a str>,
    seeds: &'a [u64],
    runs: Vec<Value>,
    flow_columns: Vec<&'static str>,
    link_columns: Vec<&'static str>,
    /// Column headings of the flow metrics in the page's tables; the other tables follow.
    flow_heads: Vec<Head>,
    sink_heads: Vec<Head>,
    link_heads: Vec<Head>,
    /// Limiting factors of senders, in the order of the shares in flow rows.
    limits: Vec<String>,
    topology: Option<&'a Topology>,
    /// Upper bounds set by the network.
    bounds: &'a Bounds,
    /// Times in picoseconds from the start of a run.
    times: Vec<Numbers>,
    series: Vec<EmbeddedSeries<'a>>,
    replays: &'a [Replay],
    /// 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom.
    t975: Vec<f64>,
}

impl<'a> Model<'a> {
    pub(super) fn new(
        document: &'a Document,
        series: &'a AllSeries,
        topology: Option<&'a Topology>,
        bounds: &'a Bounds,
        replays: &'a [Replay],
    ) -> Self {
        let count = document.runs().count();
        let max = (MAX_FLOWS / count.max(1)).max(MIN_FLOWS);
        let mut schemes = Vec::new();
        for (scheme, _) in document.runs() {
            schemes.extend(scheme.filter(|name| !schemes.contains(name)));
        }
        let (times, series) = series.embedded(SERIES_BYTES);
        Self {
            duration_s: document.duration_s,
            warmup_s: document.warmup_s,
            schemes,
            seeds: &document.seeds,
            runs: document.runs().map(|(scheme, run)| run_value(scheme, run, max)).collect(),
            flow_columns: FLOW_COLUMNS.into_iter().chain(of_flows().map(|of| of.line().name)).collect(),
            link_columns: LINK_COLUMNS.into_iter().chain(of_links().map(|of| of.line().name)).collect(),
            flow_heads: Head::for_tables(Tables::PAGE),
            sink_heads: Head::for_tables(Tables::PAGE_SINKS),
            link_heads: Head::for_tables(Tables::PAGE_LINKS),
            limits: Metric::limits().map(Metric::limit_words).collect(),
            topology,
            bounds,
            times,
            series,
            replays,
            t975: (1..document.seeds.len().min(200) as u64)
                .map(|degrees| student_quantile(0.975, degrees))
                .collect(),
        }
    }

    /// Returns the data as JSON that can be embedded in a page: nothing in it can end a script.
    pub(super) fn to_json(&self) -> String {
        // Numbers and strings always serialise to JSON.
        serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c")
    }
}

fn run_value(scheme: Option<&str>, run: &Run, max: usize) -> Value {
    let groups =
        run.groups.iter().map(|group| json!([group.name, group.scheme, group.flows])).collect::<Vec<_>>();
    json!({
        "scheme": scheme.unwrap_or(""),
        "seed": run.seed,
        "complete": run.complete,
        "ended_s": run.ended_s,
        "fingerprint": run.fingerprint,
        "groups": groups,
        "flow_count": run.flows.len(),
        "flows": shown_flows(&run.flows, max).map(|flow| flow_row(flow, run)).collect::<Vec<_>>(),
        "link_count": run.links.len(),
        "links": shown_links(&run.links).map(link_row).collect::<Vec<_>>(),
    })
}

/// Returns at most `max` flows: those with the lowest and the highest goodput where there are more.
fn shown_flows(flows: &[Flow], max: usize) -> impl Iterator<Item = &Flow> {
    let mut keep = vec![true; flows.len()];
    if flows.len() > max {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        // The sort is stable: flows with equal goodput keep their order.
        let goodput = |index: usize| flows[index].or_zero(Metric::Goodput);
        order.sort_by(|&a, &b| goodput(a).total_cmp(&goodput(b)));
        order[max / 2..flows.len() - max.div_ceil(2)].iter().for_each(|&index| keep[index] = false);
    }
    flows.iter().zip(keep).filter_map(|(flow, keep)| keep.then_some(flow))
}

/// Returns at most [`MAX_LINKS`] links in their order: bottlenecks before others where there are more.
fn shown_links(links: &[Link]) -> impl Iterator<Item = &Link> {
    let bottlenecks = links.iter().filter(|link| link.bottleneck).count().min(MAX_LINKS);
    let (mut left, mut others) = (bottlenecks, MAX_LINKS - bottlenecks);
    links.iter().filter(move |link| {
        let quota = if link.bottleneck { &mut left } else { &mut others };
        let is_shown = *quota > 0;
        *quota -= usize::from(is_shown);
        is_shown
    })
}

/// Heading of a metric's column, for scripts.
#[derive(Debug, Serialize)]
struct Head {
    name: &'static str,
    title: String,
    unit: &'static str,
    /// True if the column is shown only where some row is above zero.
    rare: bool,
}

impl Head {
    /// Returns the headings of a table of the page.
    fn for_tables(place: Tables) -> Vec<Self> {
        let metrics: Vec<Metric> = Metric::in_table(place).collect();
        let head = |(metric, title): (&Metric, String)| {
            let line = metric.line();
            let unit = match line.unit {
                Unit::Fraction => "share",
                Unit::Dimensionless | Unit::Segments => "",
                unit => unit.name(),
            };
            Self { name: line.name, title, unit, rare: line.omitted_when_zero }
        };
        metrics.iter().zip(heads_of(&metrics)).map(head).collect()
    }
}

const FLOW_COLUMNS: [&str; 4] = ["name", "group", "scheme", "limits"];
const LINK_COLUMNS: [&str; 4] = ["name", "from", "to", "bottleneck"];

/// Returns the metrics of flows in a page.
fn of_flows() -> impl Iterator<Item = Metric> {
    Metric::in_table(Tables::PAGE.union(Tables::PAGE_SINKS))
}

/// Returns the metrics of links in a page.
fn of_links() -> impl Iterator<Item = Metric> {
    Metric::in_table(Tables::PAGE_LINKS)
}

fn flow_row(flow: &Flow, run: &Run) -> Value {
    let scheme = run.groups.iter().find(|group| group.name == flow.group).map(|group| group.scheme.as_str());
    let limits = flow
        .limits()
        .map(|limits| limits.iter().map(|(_, share)| (share * 1e4).round() / 1e4).collect::<Vec<_>>());
    let first = [json!(flow.name), json!(flow.group), json!(scheme), json!(limits)];
    first.into_iter().chain(of_flows().map(|metric| metric_number(metric, flow.get(metric)))).collect()
}

fn link_row(link: &Link) -> Value {
    let first = [json!(link.name), json!(link.from), json!(link.to), json!(link.bottleneck)];
    first.into_iter().chain(of_links().map(|metric| metric_number(metric, link.get(metric)))).collect()
}

/// Returns a value as an integer where the metric is integral, which is shorter.
fn metric_number(metric: Metric, value: Option<f64>) -> Value {
    match value {
        Some(value) if metric.line().is_integer => json!(value as u64),
        value => json!(value),
    }
}

/// Maximum size of a page's series before thinning, in bytes: keeps the page below 5 MB.
const SERIES_BYTES: usize = 4_500_000;

/// Maximum number of flow rows in a page, over all runs.
const MAX_FLOWS: usize = 8000;
/// Minimum number of flow rows for each run.
const MIN_FLOWS: usize = 32;
/// Maximum number of link rows for each run.
const MAX_LINKS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};

    #[test]
    fn of_many_flows_the_extremes_stay() {
        let mut run = Run::from_result(&run_result(1, 75));
        let flow = run.flows[0].clone();
        run.flows = vec![flow; 100];
        for (flow, i) in run.flows.iter_mut().zip(0..) {
            flow.values.set(Metric::Goodput, Some(f64::from((i * 37) % 100)));
        }
        let mut kept: Vec<u64> =
            shown_flows(&run.flows, 10).map(|flow| flow.or_zero(Metric::Goodput) as u64).collect();
        kept.sort_unstable();
        assert_eq!(kept, [0, 1, 2, 3, 4, 95, 96, 97, 98, 99]);
        assert_eq!(shown_flows(&run.flows, 100).count(), 100);
    }

    #[test]
    fn of_many_links_the_bottlenecks_stay() {
        let run = Run::from_result(&run_result(1, 75));
        let (bottleneck, other) = (run.links[0].clone(), run.links[1].clone());
        let mut links = vec![other; 2 * MAX_LINKS];
        links.push(bottleneck);
        let kept: Vec<bool> = shown_links(&links).map(|link| link.bottleneck).collect();
        assert_eq!((kept.len(), kept.last()), (MAX_LINKS, Some(&true)));
        assert_eq!(shown_links(&links[..7]).count(), 7);
    }

    #[test]
    fn rows_have_a_value_for_each_column_and_nothing_ends_the_script() {
        let mut result = run_result(1, 75);
        result.flows[0].name = "</script><b>".to_owned();
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]);
        let series = AllSeries::default();
        let json = Model::new(&document, &series, None, &Bounds::default(), &[]).to_json();
        assert!(!json.contains('<'), "{json}");
        let model: Value = serde_json::from_str(&json).unwrap();
        let run = &model["runs"][0];
        for (rows, columns) in [("flows", "flow_columns"), ("links", "link_columns")] {
            let width = model[columns].as_array().unwrap().len();
            assert!(!run[rows].as_array().unwrap().is_empty());
            assert!(run[rows].as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == width));
        }
        assert_eq!(run["flows"][0][0], "</script><b>");
    }
}
