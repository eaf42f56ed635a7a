//! HTML page of a sweep.

use crate::results_document::{Document, FactorResults, PointResults, metrics_of};
use crate::svg_charts::{HeatMap, Scatter};
use crate::sweep_points::{Factor, Plan, SCHEME};
use std::fmt::Write as _;
use thalweg_report::output::{Remedy, differing_defaults_warning, format_value, heads_of, join_listed};
use thalweg_report::report::first_screen_cards::{Card, write_cards};
use thalweg_report::report::html_text_and_pages::{Page, escape};
use thalweg_report::results::{Metric, SubjectKind};

/// Maximum number of values of a factor in a heat map.
const MAX_CELLS: usize = 40;
/// Maximum number of heat maps side by side.
const MAX_MAPS: usize = 12;
/// Maximum number of points in the page's table.
const MAX_ROWS: usize = 2000;
/// Maximum number of metrics with pictures.
const MAX_METRICS: usize = 8;

/// Returns the page of a sweep's results.
pub fn page(document: &Document, plan: &Plan) -> String {
    let mut body = String::from("<section id=\"answer\" aria-label=\"Answer\">\n");
    if !document.complete {
        body.push_str("<p class=\"warning\">Partial: points are missing.</p>\n");
    }
    let warning = differing_defaults_warning(&document.unlike_defaults, Remedy::SweepFile);
    body.extend(warning.map(|warning| format!("<p class=\"warning\">{}</p>\n", escape(&warning))));
    let metrics = metrics_of(&document.points);
    write_cards(&mut body, &answer_cards(document, &metrics), true);
    body.push_str("</section>\n");
    write_failures(&mut body, document);
    for &metric in metrics.iter().take(MAX_METRICS) {
        write_pictures(&mut body, document, plan, metric);
    }
    write_importance(&mut body, document, &metrics);
    write_points(&mut body, document, &metrics);
    let runs: usize = document.points.iter().map(|point| point.seeds.len()).sum();
    let subtitle = format!("{} points of {}, {runs} runs", document.points.len(), document.scenario);
    Page {
        title: &document.file,
        subtitle: &subtitle,
        body: &body,
        data: None,
        version: &document.tool_version,
    }
    .render()
}

fn metric_heading(metric: Metric) -> String {
    heads_of(&[metric]).concat()
}

fn point_mean(point: &PointResults, metric: Metric) -> Option<f64> {
    point.metrics.get(metric.name(SubjectKind::Network)).map(|of| of.mean)
}

fn answer_cards(document: &Document, metrics: &[Metric]) -> Vec<Card> {
    let of = |&metric: &Metric| {
        let known = document.points.iter().filter_map(|point| Some((point_mean(point, metric)?, point)));
        let max = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let ranked = document.ranked(metric);
        let (first, share) = ranked.first()?;
        Some(Card {
            subject: escape(&metric_heading(metric)),
            main: escape(first),
            text: format!(
                "explains {:.0} % of its variance over points; most is {} at point {}",
                share * 100.0,
                escape(&format_value(metric, max.0)),
                max.1.point
            ),
            sure: None,
        })
    };
    metrics.iter().filter_map(of).take(4).collect()
}

fn write_failures(html: &mut String, document: &Document) {
    if document.failed.is_empty() {
        return;
    }
    let _ = writeln!(
        html,
        "<section aria-label=\"Failed points\"><h2>Points that failed</h2><p class=\"warning\">{} of {} points have no results.</p>",
        document.failed.len(),
        document.failed.len() + document.points.len()
    );
    for failed in document.failed.iter().take(50) {
        let _ = writeln!(
            html,
            "<details><summary>Point {}</summary><pre>{}\n\n{}</pre></details>",
            failed.point,
            failed.why.lines().map(escape).collect::<Vec<_>>().join("\n"),
            escape(&failed.command)
        );
    }
    html.push_str("</section>\n");
}

/// Returns the factors except the scheme, by the share of a metric that they explain.
fn by_importance(document: &Document, metric: Metric) -> Vec<&FactorResults> {
    let ranked = document.ranked(metric);
    let share =
        |factor: &FactorResults| ranked.iter().find(|(name, _)| *name == factor.name).map_or(0.0, |of| of.1);
    let mut factors: Vec<&FactorResults> =
        document.factors.iter().filter(|factor| factor.name != SCHEME && factor.values.len() > 1).collect();
    factors.sort_by(|a, b| share(b).total_cmp(&share(a)));
    factors
}

fn write_pictures(html: &mut String, document: &Document, plan: &Plan, metric: Metric) {
    let values: Vec<f64> = document.points.iter().filter_map(|point| point_mean(point, metric)).collect();
    let scale = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &value| (min.min(value), max.max(value)));
    if values.is_empty() {
        return;
    }
    let _ = writeln!(html, "<section aria-label=\"{0}\"><h2>{0}</h2>", escape(&metric_heading(metric)));
    let factors = by_importance(document, metric);
    let scheme = document.factors.iter().find(|factor| factor.name == SCHEME && factor.values.len() > 1);
    let mut axes: Vec<&FactorResults> =
        factors.iter().copied().filter(|factor| !factor.drawn && factor.values.len() <= MAX_CELLS).collect();
    if axes.len() < 2 {
        axes.extend(scheme);
    }
    if let [across, rest @ ..] = axes.as_slice() {
        let down = rest.first().copied();
        // Third dimension: the scheme if it is not an axis, otherwise the most important remaining factor.
        let is_free = |factor: &&FactorResults| {
            factor.name != across.name && down.is_none_or(|down| factor.name != down.name)
        };
        let beside = scheme.filter(is_free).or_else(|| axes.iter().copied().find(is_free));
        write_maps(html, document, metric, scale, (across, down, beside));
    }
    let drawn: Vec<&FactorResults> = factors.into_iter().filter(|factor| factor.drawn).collect();
    if !drawn.is_empty() {
        if let Some(scheme) = scheme {
            let colour = |(number, name): (usize, &String)| {
                format!("<b style=\"color:var(--c{})\">{}</b>", number % 9, escape(name))
            };
            let colours: Vec<String> = scheme.values.iter().enumerate().map(colour).collect();
            let _ = writeln!(html, "<p class=\"note\">{}</p>", colours.join(" "));
        }
        drawn
            .iter()
            .take(MAX_MAPS)
            .for_each(|factor| write_scatter(html, document, plan, metric, scale, factor));
    }
    html.push_str("</section>\n");
}

type Axes<'d> = (&'d FactorResults, Option<&'d FactorResults>, Option<&'d FactorResults>);

fn write_maps(
    html: &mut String,
    document: &Document,
    metric: Metric,
    scale: (f64, f64),
    (across, down, beside): Axes<'_>,
) {
    let has = |point: &PointResults, factor: &FactorResults, value: &str| {
        point.values.get(&factor.name).is_some_and(|current| current == value)
    };
    let names = |factor: Option<&FactorResults>| {
        factor.map_or_else(|| vec![String::new()], |factor| factor.values.clone())
    };
    let (rows, panels) = (names(down), names(beside));
    let note = match down {
        Some(down) => format!("{} across, {} down", across.title(), down.title()),
        None => format!("{} across", across.title()),
    };
    let others = document.factors.iter().filter(|factor| {
        let is = |other: Option<&FactorResults>| other.is_some_and(|other| other.name == factor.name);
        factor.values.len() > 1 && factor.name != across.name && !is(down) && !is(beside)
    });
    let others: Vec<&str> = others.map(|factor| factor.name.as_str()).collect();
    let over = if others.is_empty() { String::new() } else { format!("; means over {}", others.join(", ")) };
    let _ = writeln!(html, "<p class=\"note\">{}{}</p>", escape(&note), escape(&over));
    for panel in panels.iter().take(MAX_MAPS) {
        let cell = |row: &str, column: &str| {
            let fits = |point: &&PointResults| {
                has(point, across, column)
                    && down.is_none_or(|down| has(point, down, row))
                    && beside.is_none_or(|beside| has(point, beside, panel))
            };
            let values: Vec<f64> =
                document.points.iter().filter(fits).filter_map(|point| point_mean(point, metric)).collect();
            let mean = thalweg_report::statistics::mean(&values)?;
            Some((mean, format_value(metric, mean)))
        };
        let columns: Vec<&str> = across.values.iter().map(String::as_str).collect();
        let title = beside.map_or_else(
            || metric_heading(metric),
            |beside| format!("{}, {} {panel}", metric_heading(metric), beside.title()),
        );
        let cells = rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
        let (across, down) = (across.title(), down.map(FactorResults::title).unwrap_or_default());
        let map = HeatMap {
            title: &title,
            columns: (&across, columns),
            rows: (&down, rows.iter().map(String::as_str).collect()),
            cells,
            scale,
        };
        map.draw(html);
    }
}

fn write_scatter(
    html: &mut String,
    document: &Document,
    plan: &Plan,
    metric: Metric,
    scale: (f64, f64),
    factor: &FactorResults,
) {
    let Some(number) = plan.factors.iter().position(|of| of.key.text == factor.name) else { return };
    let Some((numbers, _)) = plan.factors[number].numbers() else { return };
    let scheme = plan.factors.iter().position(Factor::is_scheme);
    let at = |point: &PointResults| {
        let current = &plan.points[point.point - 1];
        let colour = scheme.map_or(0, |scheme| current[scheme] as usize);
        Some((numbers[current[number] as usize], point_mean(point, metric)?, colour))
    };
    let mut points: Vec<(f64, f64, usize)> = document.points.iter().filter_map(at).collect();
    let positive = numbers.iter().all(|number| *number > 0.0);
    let ends = |of: &[(f64, f64, usize)]| {
        of.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), (x, ..)| (min.min(*x), max.max(*x)))
    };
    let across = ends(&points);
    let words = |wanted: f64| {
        let found = numbers.iter().position(|number| *number == wanted);
        found.map(|level| plan.factors[number].levels[level].unquoted().to_owned()).unwrap_or_default()
    };
    let (west, east) = (words(across.0), words(across.1));
    // A span of more than a decade needs a logarithmic axis.
    let is_log = positive && across.1 / across.0 > 10.0;
    if is_log {
        points.iter_mut().for_each(|point| point.0 = point.0.log10());
    }
    let across = ends(&points);
    let axis = if is_log { format!("{} (log)", factor.title()) } else { factor.title() };
    let title = format!("{} by {axis}", metric_heading(metric));
    let ends = [west, east, format_value(metric, scale.0), format_value(metric, scale.1)];
    Scatter { title: &title, ends, across, up: scale, points }.draw(html);
}

fn write_importance(html: &mut String, document: &Document, metrics: &[Metric]) {
    if document.importance.is_empty() {
        return;
    }
    html.push_str("<section aria-label=\"Factors\"><h2>What explains the variance</h2>\n<p class=\"note\">The share of the variance over points that each factor explains by itself; what they leave is interaction. Chance is the share of the variance of all runs that lies between seeds.");
    for set in &document.confounded {
        let _ = write!(
            html,
            " Values of {} change together: each has the share of all of them.",
            escape(&join_listed(&set.iter().map(String::as_str).collect::<Vec<_>>()))
        );
    }
    html.push_str("</p>\n<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Metric</th>");
    let factors: Vec<&FactorResults> =
        document.factors.iter().filter(|factor| factor.values.len() > 1).collect();
    for factor in &factors {
        let _ = write!(html, "<th class=\"number\">{}</th>", escape(&factor.name));
    }
    html.push_str("<th class=\"number\">Chance</th></tr></thead><tbody>\n");
    for &metric in metrics {
        let Some(of) = document.importance.get(metric.name(SubjectKind::Network)) else { continue };
        let _ = write!(html, "<tr><td>{}</td>", escape(&metric_heading(metric)));
        let shares = factors.iter().map(|factor| of.factors.get(&factor.name).copied()).chain([of.chance]);
        for share in shares {
            match share {
                Some(share) => {
                    let _ = write!(
                        html,
                        "<td class=\"number\" data-value=\"{share}\">{:.0} %</td>",
                        share * 100.0
                    );
                }
                None => html.push_str("<td class=\"number\">–</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></section>\n");
}

fn write_points(html: &mut String, document: &Document, metrics: &[Metric]) {
    html.push_str("<section aria-label=\"Points\"><h2>Points</h2>\n");
    if document.points.len() > MAX_ROWS {
        let _ = writeln!(
            html,
            "<p class=\"note\">The first {MAX_ROWS} of {}; results.json has all.</p>",
            document.points.len()
        );
    }
    html.push_str("<div class=\"wide\"><table class=\"sortable\"><thead><tr><th class=\"number\">Point</th>");
    for factor in &document.factors {
        let _ = write!(html, "<th>{}</th>", escape(&factor.title()));
    }
    html.push_str("<th class=\"number\">Runs</th>");
    for &metric in metrics {
        let _ = write!(html, "<th class=\"number\">{}</th>", escape(&metric_heading(metric)));
    }
    html.push_str("</tr></thead><tbody>\n");
    for point in document.points.iter().take(MAX_ROWS) {
        let _ = write!(html, "<tr><td class=\"number\" data-value=\"{0}\">{0}</td>", point.point);
        for factor in &document.factors {
            let _ = write!(
                html,
                "<td>{}</td>",
                escape(point.values.get(&factor.name).map_or("", String::as_str))
            );
        }
        let _ = write!(html, "<td class=\"number\" data-value=\"{0}\">{0}</td>", point.seeds.len());
        for &metric in metrics {
            match point.metrics.get(metric.name(SubjectKind::Network)) {
                Some(of) => {
                    let half =
                        of.ci95.map(|half| format!(" ± {}", format_value(metric, half))).unwrap_or_default();
                    let _ = write!(
                        html,
                        "<td class=\"number\" data-value=\"{}\">{}{}</td>",
                        of.mean,
                        escape(&format_value(metric, of.mean)),
                        escape(&half)
                    );
                }
                None => html.push_str("<td class=\"number\">–</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></section>\n");
}
