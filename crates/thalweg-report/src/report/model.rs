//! What the scripts of a page work with: one JSON document.

use super::encode::Numbers;
use super::replay::Replay;
use super::series::{AllSeries, Embedded};
use super::topology::Topology;
use crate::results::{Document, Flow, Link, Run};
use crate::statistics::student_quantile;
use serde::Serialize;
use serde_json::{Value, json};

/// The data of a page. Sweeps will join as further runs with what they vary beside scheme and seed.
#[derive(Debug, Serialize)]
pub(super) struct Model<'a> {
    duration_s: f64,
    warmup_s: f64,
    /// Names of compared schemes; empty otherwise.
    schemes: Vec<&'a str>,
    seeds: &'a [u64],
    runs: Vec<Value>,
    flow_columns: &'static [&'static str],
    link_columns: &'static [&'static str],
    topology: Option<&'a Topology>,
    /// Picoseconds from the start of a run.
    times: Vec<Numbers>,
    series: Vec<Embedded<'a>>,
    replays: &'a [Replay],
    /// The 97.5 % quantile of Student's t for 1, 2, ... degrees of freedom.
    t975: Vec<f64>,
}

impl<'a> Model<'a> {
    pub(super) fn of(
        document: &'a Document,
        series: &'a AllSeries,
        topology: Option<&'a Topology>,
        replays: &'a [Replay],
    ) -> Self {
        let count = document.runs().count();
        let most = (MOST_FLOWS / count.max(1)).max(FEWEST_FLOWS);
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
            runs: document.runs().map(|(scheme, run)| run_value(scheme, run, most)).collect(),
            flow_columns: FLOW_COLUMNS,
            link_columns: LINK_COLUMNS,
            topology,
            times,
            series,
            replays,
            t975: (1..document.seeds.len().min(200) as u64)
                .map(|degrees| student_quantile(0.975, degrees))
                .collect(),
        }
    }

    /// The data as JSON that can stand within a page: nothing in it ends a script.
    pub(super) fn to_json(&self) -> String {
        // Numbers and texts always have a form in JSON.
        serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c")
    }
}

fn run_value(scheme: Option<&str>, run: &Run, most: usize) -> Value {
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
        "flows": shown(&run.flows, most).map(|flow| flow_row(flow, run)).collect::<Vec<_>>(),
        "links": run.links.iter().take(MOST_LINKS).map(link_row).collect::<Vec<_>>(),
    })
}

/// At most `most` flows: where there are more, those with the lowest and those with the highest goodput.
fn shown(flows: &[Flow], most: usize) -> impl Iterator<Item = &Flow> {
    let mut keep = vec![true; flows.len()];
    if flows.len() > most {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|&index| (flows[index].goodput_bps, index));
        order[most / 2..flows.len() - most.div_ceil(2)].iter().for_each(|&index| keep[index] = false);
    }
    flows.iter().zip(keep).filter_map(|(flow, keep)| keep.then_some(flow))
}

const FLOW_COLUMNS: &[&str] = &[
    "name",
    "group",
    "scheme",
    "start_s",
    "finished_s",
    "goodput_bps",
    "share",
    "delay_min_s",
    "delay_mean_s",
    "delay_p99_s",
    "min_rtt_s",
    "sent_packets",
    "retransmissions",
    "timeouts",
    "drops",
    "limits",
    "segments",
    "segment_delay_mean_s",
    "segment_delay_max_s",
    "unread_max_bytes",
    "incomplete_segments",
    "hole_packets",
    "refused_packets",
    "evicted_segments",
];

fn flow_row(flow: &Flow, run: &Run) -> Value {
    let scheme = run.groups.iter().find(|group| group.name == flow.group).map(|group| group.scheme.as_str());
    let limits = flow.limits.map(|limits| limits.shares().map(|(_, share)| (share * 1e4).round() / 1e4));
    json!([
        flow.name,
        flow.group,
        scheme,
        flow.start_s,
        flow.finished_s,
        flow.goodput_bps,
        flow.share,
        flow.delay_min_s,
        flow.delay_mean_s,
        flow.delay_p99_s,
        flow.min_rtt_s,
        flow.sent_packets,
        flow.retransmissions,
        flow.timeouts,
        flow.drops,
        limits,
        flow.segments,
        flow.segment_delay_mean_s,
        flow.segment_delay_max_s,
        flow.unread_max_bytes,
        flow.two_level.map(|counts| counts.incomplete_segments),
        flow.two_level.map(|counts| counts.hole_packets),
        flow.two_level.map(|counts| counts.refused_packets),
        flow.two_level.map(|counts| counts.evicted_segments),
    ])
}

const LINK_COLUMNS: &[&str] = &[
    "name",
    "from",
    "to",
    "bottleneck",
    "rate_bps",
    "utilisation",
    "packets",
    "queue_mean_packets",
    "queue_p99_packets",
    "queue_max_packets",
    "drops",
    "marks",
    "feedback",
    "losses",
];

fn link_row(link: &Link) -> Value {
    json!([
        link.name,
        link.from,
        link.to,
        link.bottleneck,
        link.rate_bps,
        link.utilisation,
        link.packets,
        link.queue_mean_packets,
        link.queue_p99_packets,
        link.queue_max_packets,
        link.drops,
        link.marks,
        link.feedback,
        link.losses,
    ])
}

/// What the series of a page may take before they are thinned, in bytes, so that it stays below 5 MB.
const SERIES_BYTES: usize = 4_500_000;

/// Rows of flows in a page, over all runs.
const MOST_FLOWS: usize = 8000;
/// Rows of flows of each run at least.
const FEWEST_FLOWS: usize = 32;
/// Rows of links of each run.
const MOST_LINKS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::{header, result};

    #[test]
    fn of_many_flows_the_extremes_stay() {
        let mut run = Run::of(&result(1, 75));
        let flow = run.flows[0].clone();
        run.flows = (0..100u64).map(|i| Flow { goodput_bps: (i * 37) % 100, ..flow.clone() }).collect();
        let mut kept: Vec<u64> = shown(&run.flows, 10).map(|flow| flow.goodput_bps).collect();
        kept.sort_unstable();
        assert_eq!(kept, [0, 1, 2, 3, 4, 95, 96, 97, 98, 99]);
        assert_eq!(shown(&run.flows, 100).count(), 100);
    }

    #[test]
    fn rows_have_a_value_for_each_column_and_nothing_ends_the_script() {
        let mut result = result(1, 75);
        result.flows[0].name = "</script><b>".to_owned();
        let document = Document::of_runs(header(&[1]), vec![Run::of(&result)]);
        let series = AllSeries::default();
        let json = Model::of(&document, &series, None, &[]).to_json();
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
