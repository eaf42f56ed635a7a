//! The static picture of a document: for papers and slides.

use super::series::{AllSeries, One};
use super::thin::thin;
use crate::output::svg::{Bar, BarPanel, Figure, Line, LinePanel};
use crate::output::{Scale, Style, direction, title_lines};
use crate::results::{Body, Document, Link, Run, SchemeResults};

/// A picture in SVG. Of a run it shows the flows' goodput, the queues, round-trip times and windows over time; of
/// replications the same of the first seed; of a comparison first how the schemes did, with intervals.
pub fn figure(document: &Document, series: &AllSeries) -> String {
    let (title, _) = title_lines(document, Style { unicode: true, colour: false });
    let mut figure = Figure { title, from: 0.0, to: document.duration_s, ..Figure::default() };
    if let Body::Comparison { schemes, .. } = &document.body {
        figure.bars =
            SCALES.iter().filter_map(|(head, metric, scale)| bars(head, metric, *scale, schemes)).collect();
        figure.panels = compared(document, series, schemes);
    } else if let Some((_, run)) = document.runs().next() {
        let flows: Vec<&str> = run.flows.iter().map(|flow| flow.name.as_str()).collect();
        let of_flow = |one: &One| flows.iter().position(|name| *name == one.subject);
        let links = bottlenecks(document);
        let bottleneck = |one: &One| links.iter().position(|(name, _)| *name == one.subject);
        let panel = |quantity, title, place: &dyn Fn(&One) -> Option<usize>| {
            let all = series.of(quantity).filter(|one| one.seed == run.seed);
            let mut lines: Vec<Line> =
                all.filter_map(|one| Some(line(one, label(&links, &one.subject), place(one)?))).collect();
            lines.sort_by_key(|line| line.colour);
            lines.truncate(MOST_LINES);
            line_panel(quantity, title, lines)
        };
        let panels = [
            panel("goodput", "Goodput", &of_flow),
            panel("queue-packets", "Queue", &bottleneck),
            panel("rtt", "Round-trip time, smoothed", &of_flow),
            panel("window", "Window", &of_flow),
            panel("unread", "Delivered and not yet read", &of_flow),
        ];
        figure.panels = panels.into_iter().flatten().collect();
    }
    figure.render()
}

/// The queue of the first bottleneck under each scheme and the first seed.
fn compared(document: &Document, series: &AllSeries, schemes: &[SchemeResults]) -> Vec<LinePanel> {
    let names = bottlenecks(document);
    let (Some((subject, words)), Some(seed)) = (names.first(), document.seeds.first()) else {
        return Vec::new();
    };
    let place = |one: &One| schemes.iter().position(|of| of.scheme == one.scheme);
    let all = series.of("queue-packets").filter(|one| one.subject == *subject && one.seed == *seed);
    let lines = all.filter_map(|one| Some(line(one, &one.scheme, place(one)?))).collect();
    line_panel("queue-packets", &format!("Queue of {words}, seed {seed}"), lines).into_iter().collect()
}

/// The bottlenecks of the first run that has any: as series name them, and as people do.
fn bottlenecks(document: &Document) -> Vec<(String, String)> {
    let names = |link: &Link| {
        let Link { name, from, to, .. } = link;
        (format!("{name} {from}->{to}"), direction(name, from, to, Style { unicode: true, colour: false }))
    };
    let of_run =
        |(_, run): (_, &Run)| run.links.iter().filter(|link| link.bottleneck).map(names).collect::<Vec<_>>();
    document.runs().map(of_run).find(|names| !names.is_empty()).unwrap_or_default()
}

/// The name of what a line is of: links have one for people.
fn label<'a>(links: &'a [(String, String)], subject: &'a str) -> &'a str {
    links.iter().find(|(name, _)| name == subject).map_or(subject, |(_, words)| words)
}

fn line(one: &One, label: &str, colour: usize) -> Line {
    // There is no round-trip time before the first sample; the simulator writes zero.
    let first =
        if one.quantity == "rtt" { one.values.iter().position(|value| *value > 0.0).unwrap_or(0) } else { 0 };
    let (times, values) = thin(&one.times[first..], &one.values[first..], MOST_POINTS);
    Line { label: label.to_owned(), colour, times, values }
}

fn line_panel(quantity: &str, title: &str, lines: Vec<Line>) -> Option<LinePanel> {
    let most = lines.iter().flat_map(|line| &line.values).copied().fold(0.0, f64::max);
    let (unit, factor) = match quantity {
        "goodput" => Scale::of_rate(most / 2.0).unit(),
        "rtt" => Scale::of_time(most / 2.0).unit(),
        "window" => ("segments", 1.0),
        "unread" => Scale::of_bytes(most / 2.0).unit(),
        _ => Scale::PACKETS.unit(),
    };
    (!lines.is_empty()).then(|| LinePanel { title: format!("{title}, {unit}"), factor, lines })
}

fn bars(head: &str, metric: &str, scale: ScaleOf, schemes: &[SchemeResults]) -> Option<BarPanel> {
    let bar = |(colour, of): (usize, &SchemeResults)| {
        let estimate = of.summary.as_ref()?.totals.get(metric)?;
        Some(Bar {
            label: of.scheme.clone(),
            colour,
            mean: estimate.mean,
            half: estimate.ci95,
            words: scale(estimate.mean).estimate(estimate, Style { unicode: true, colour: false }),
        })
    };
    let bars: Vec<Bar> = schemes.iter().enumerate().filter_map(bar).collect();
    (!bars.is_empty()).then(|| BarPanel { title: head.to_owned(), bars })
}

/// The unit for a value.
type ScaleOf = fn(f64) -> Scale;

/// What of the schemes is shown as bars.
const SCALES: [(&str, &str, ScaleOf); 4] = [
    ("Goodput", "goodput_bps", Scale::of_rate),
    ("Delay, mean", "delay_mean_s", Scale::of_time),
    ("Delay, 99th percentile", "delay_p99_worst_s", Scale::of_time),
    ("Jain's index", "jain", |_| Scale::COUNT),
];

/// As many as there are colours.
const MOST_LINES: usize = 8;
/// More than the picture has columns.
const MOST_POINTS: usize = 1600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::RunKey;
    use crate::results::samples::{header, result};

    #[test]
    fn a_run_has_lines_and_a_comparison_bars() {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &result(1, 75));
        let run = Document::of_runs(header(&[1]), vec![Run::of(&result(1, 75))]);
        let svg = figure(&run, &series);
        assert!(svg.contains("Window, segments") && svg.contains(">bold</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"line").count(), 1);
        let runs = |mbits| vec![Run::of(&result(1, mbits)), Run::of(&result(2, mbits + 1))];
        let schemes = vec![("vegas".to_owned(), runs(40)), ("cubic".to_owned(), runs(75))];
        let svg = figure(&Document::of_comparison(header(&[1, 2]), schemes), &AllSeries::default());
        assert_eq!(svg.matches("class=\"bar").count(), 8);
        assert!(svg.contains("class=\"interval\"") && svg.contains("Mbit/s"), "{svg}");
    }
}
