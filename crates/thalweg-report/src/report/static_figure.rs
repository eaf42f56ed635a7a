//! Static picture of a document, for papers and slides.

use super::downsampling::downsample;
use super::report_series::{AllSeries, RunSeries};
use crate::output::svg_diagrams::{Bar, BarPanel, Figure, HorizontalAxis, Line, LinePanel};
use crate::output::{Datum, Scale, Style, cell_text, format_direction, heads_of, title_lines};
use crate::results::{
    Body, Curves, Document, Group, Link, Metric, Run, SchemeResults, SubjectKind, Tables, Unit,
};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_sim::SHARES;

/// Part of a document shown by a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Plots to show exclusively; default: the choice of [`draw_figure`].
    pub plots: Option<Vec<Plot>>,
    /// Time span to show, in seconds; default: the whole run.
    pub span: Option<(f64, f64)>,
}

/// Plot of a picture: a quantity over time, or a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    /// Goodput of receivers.
    Goodput,
    /// Queue length of bottlenecks, in packets.
    Queue,
    /// Smoothed round-trip times.
    RoundTrip,
    /// Congestion windows.
    Window,
    /// Data delivered but not yet read.
    Unread,
    /// Slow-start thresholds.
    Ssthresh,
    /// Segments in flight.
    InFlight,
    /// Pacing rates.
    PacingRate,
    /// Queue length of bottlenecks, in bytes.
    QueueBytes,
    /// Transmission rates of bottlenecks.
    LinkRate,
    /// Cumulative drops at bottlenecks.
    Drops,
    /// Cumulative ECN marks at bottlenecks.
    Marks,
    /// Cumulative distribution of completion times.
    CompletionCdf,
    /// Cumulative distribution of round-trip times.
    RttCdf,
}

/// Source of a plot's values.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Series of flows.
    Flows(&'static str),
    /// Series of links.
    Links(&'static str),
    /// Distribution.
    Curve(fn(&Curves) -> &[f64]),
}

impl Plot {
    /// All plots, in drawing order.
    pub const ALL: [Self; 14] = [
        Self::Goodput,
        Self::Queue,
        Self::RoundTrip,
        Self::Window,
        Self::Unread,
        Self::Ssthresh,
        Self::InFlight,
        Self::PacingRate,
        Self::QueueBytes,
        Self::LinkRate,
        Self::Drops,
        Self::Marks,
        Self::CompletionCdf,
        Self::RttCdf,
    ];

    /// Plots drawn by default.
    const DEFAULT: [Self; 5] = [Self::Goodput, Self::Queue, Self::RoundTrip, Self::Window, Self::Unread];

    /// Returns the plot's name on the command line, its title, and the source of its values.
    const fn about(self) -> (&'static str, &'static str, Source) {
        use Source::{Curve, Flows, Links};
        match self {
            Self::Goodput => ("goodput", "Goodput", Flows("goodput")),
            Self::Queue => ("queue", "Queue", Links("queue-packets")),
            Self::RoundTrip => ("rtt", "Round-trip time, smoothed", Flows("rtt")),
            Self::Window => ("window", "Window", Flows("window")),
            Self::Unread => ("unread", "Delivered and not yet read", Flows("unread")),
            Self::Ssthresh => ("ssthresh", "Slow-start threshold", Flows("ssthresh")),
            Self::InFlight => ("in-flight", "In flight", Flows("in-flight")),
            Self::PacingRate => ("pacing-rate", "Pacing rate", Flows("pacing-rate")),
            Self::QueueBytes => ("queue-bytes", "Queue in bytes", Links("queue-bytes")),
            Self::LinkRate => ("link-rate", "Load of links", Links("link-rate")),
            Self::Drops => ("drops", "Drops since the warm-up", Links("drops")),
            Self::Marks => ("marks", "Marks since the warm-up", Links("marks")),
            Self::CompletionCdf => (
                "completion-cdf",
                "Completion times: share of transfers",
                Curve(|of| of.completion_s.as_slice()),
            ),
            Self::RttCdf => {
                ("rtt-cdf", "Round-trip times: share of samples", Curve(|of| of.rtt_s.as_slice()))
            }
        }
    }

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        self.about().0
    }

    /// Returns the names of all plots, for help and errors.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    const fn title(self) -> &'static str {
        self.about().1
    }

    /// Returns the series shown; empty for a distribution.
    const fn quantity(self) -> &'static str {
        match self.about().2 {
            Source::Flows(name) | Source::Links(name) => name,
            Source::Curve(_) => "",
        }
    }

    /// Returns true for counts, which begin again at the end of the warm-up.
    const fn is_count(self) -> bool {
        matches!(self, Self::Drops | Self::Marks)
    }

    const fn is_of_links(self) -> bool {
        matches!(self.about().2, Source::Links(_))
    }
}

/// Draws a picture in SVG. Of a run it shows the flows' goodput, queues, round-trip times and windows over time; of
/// replications the same for each seed, with their mean; of a comparison first the schemes' results with intervals.
/// Where `view` names plots, a comparison has them for each scheme, on one scale. Axes end at the maximum after the
/// warm-up; higher values in the warm-up are clipped.
pub fn draw_figure(document: &Document, series: &AllSeries, view: &View) -> String {
    let (title, subtitle) = title_lines(document, Style::UNICODE);
    let (from, to) = view.span.unwrap_or((0.0, document.duration_s));
    let plots = view.plots.as_deref();
    let (mut bars, mut panels) = (Vec::new(), Vec::new());
    let sight = ViewSource { document, series, from, to };
    if let Body::Comparison { schemes, .. } = &document.body {
        if plots.is_none() {
            bars = Metric::in_table(Tables::BARS)
                .filter_map(|metric| self::bar_panel(metric, schemes))
                .collect();
        }
        panels.extend(plots.unwrap_or(&[Plot::Queue]).iter().flat_map(|plot| sight.compared(*plot, schemes)));
    } else {
        let runs: Vec<&Run> = document.runs().map(|(_, run)| run).collect();
        let all = plots.unwrap_or(&Plot::DEFAULT).iter();
        panels.extend(all.filter_map(|plot| {
            if let Source::Curve(of) = plot.about().2 {
                return distribution_panel(*plot, group_distributions(&runs, of), runs.len());
            }
            let (lines, note) = sight.of_runs("", &runs, *plot);
            let max = sight.max(&lines);
            line_panel(*plot, &format!("{}{note}", plot.title()), lines, max)
        }));
    }
    Figure { title, subtitle, bars, panels, from, to }.render()
}

/// Returns the distributions of a document as a section of a page: of groups, of several seeds together, or of schemes;
/// empty without any.
pub(super) fn distributions_section(document: &Document) -> String {
    let series = AllSeries::default();
    let sight = ViewSource { document, series: &series, from: 0.0, to: document.duration_s };
    let panel = |plot: &Plot| {
        let Source::Curve(of) = plot.about().2 else { return None };
        if let Body::Comparison { schemes, .. } = &document.body {
            return sight.compared(*plot, schemes).into_iter().next();
        }
        let runs: Vec<&Run> = document.runs().map(|(_, run)| run).collect();
        distribution_panel(*plot, group_distributions(&runs, of), runs.len())
    };
    let panels: Vec<LinePanel> = Plot::ALL.iter().filter_map(panel).collect();
    if panels.is_empty() {
        return String::new();
    }
    let figure = Figure { title: "Distributions".to_owned(), panels, ..Figure::default() };
    format!(
        "<section id=\"distributions\" aria-label=\"Distributions\">\n{}</section>\n",
        figure.within_page()
    )
}

/// Source of lines, and the part of them shown.
struct ViewSource<'a> {
    document: &'a Document,
    series: &'a AllSeries,
    from: f64,
    to: f64,
}

impl ViewSource<'_> {
    /// Returns the lines of runs of one scenario: of its flows or its bottlenecks. Where a picture cannot show all,
    /// also returns their number, and the number of runs.
    fn of_runs(&self, scheme: &str, runs: &[&Run], plot: Plot) -> (Vec<Line>, String) {
        let runs = distinct_runs(runs);
        let Some(first) = runs.first() else { return (Vec::new(), String::new()) };
        let links = bottleneck_names(self.document);
        let place = |one: &RunSeries| match plot.is_of_links() {
            true => links.iter().position(|(name, _)| *name == one.subject),
            false => first.flows.iter().position(|flow| flow.name == one.subject),
        };
        let mut subjects: BTreeMap<usize, Vec<&RunSeries>> = BTreeMap::new();
        for one in self.series.of(plot.quantity()).filter(|one| one.scheme == scheme) {
            if runs.iter().any(|run| run.seed == one.seed)
                && let Some(place) = place(one)
            {
                subjects.entry(place).or_default().push(one);
            }
        }
        let all = if plot.is_of_links() { subjects.len() } else { subjects.len().max(first.flows.len()) };
        let shown = subjects.len().min(MAX_LINES);
        let lines = subjects.iter().take(MAX_LINES).flat_map(|(place, ones)| {
            self.lines(plot, ones, &subject_label(&links, first, &ones[0].subject), *place)
        });
        let lines: Vec<Line> = lines.collect();
        let kind = if plot.is_of_links() { "queues" } else { "flows" };
        let of = if all > MAX_LINES { format!(" of {shown} of {all} {kind}") } else { String::new() };
        (lines, format!("{of}{}", seeds_in_words(runs.len())))
    }

    /// Returns the queue of the fullest bottleneck under each scheme, or a panel with the flows of each scheme.
    fn compared(&self, plot: Plot, schemes: &[SchemeResults]) -> Vec<LinePanel> {
        if let Source::Curve(of) = plot.about().2 {
            let runs = schemes.iter().map(|of| of.runs.len()).max().unwrap_or(0);
            let subjects = schemes.iter().map(|scheme| {
                (scheme.scheme.clone(), scheme.runs.iter().map(|run| of(&run.distributions)).collect())
            });
            return distribution_panel(plot, subjects.collect(), runs).into_iter().collect();
        }
        if plot.is_of_links() {
            // Of several bottlenecks, the one with the longest queue.
            let names = bottleneck_names(self.document);
            let waiting = |subject: &str| {
                let links = self.document.runs().flat_map(|(_, run)| &run.links);
                let here = links.filter(|link| series_name(link) == subject);
                here.map(|link| link.or_zero(Metric::QueueMean)).sum::<f64>()
            };
            let fullest = names.iter().rev().max_by(|a, b| waiting(&a.0).total_cmp(&waiting(&b.0)));
            let Some((subject, name)) = fullest else { return Vec::new() };
            let of = |(place, of): (usize, &SchemeResults)| {
                let runs = distinct_runs(&of.runs.iter().collect::<Vec<_>>());
                let all = self.series.of(plot.quantity());
                let all = all.filter(|one| one.subject == *subject && one.scheme == of.scheme);
                let all = all.filter(|one| runs.iter().any(|run| run.seed == one.seed));
                self.lines(plot, &all.collect::<Vec<_>>(), &of.scheme, place)
            };
            let lines: Vec<Line> = schemes.iter().enumerate().flat_map(of).collect();
            let runs =
                schemes.iter().map(|of| distinct_runs(&of.runs.iter().collect::<Vec<_>>()).len()).max();
            let max = self.max(&lines);
            let title = format!("{} of {name}{}", plot.title(), seeds_in_words(runs.unwrap_or(0)));
            return line_panel(plot, &title, lines, max).into_iter().collect();
        }
        let of = |of: &SchemeResults| {
            (of.scheme.clone(), self.of_runs(&of.scheme, &of.runs.iter().collect::<Vec<_>>(), plot))
        };
        let found: Vec<_> = schemes.iter().map(of).collect();
        // One scale for all schemes, for comparison by eye.
        let max = found.iter().map(|(_, (lines, _))| self.max(lines)).fold(0.0, f64::max);
        let panel = |(scheme, (lines, note))| {
            line_panel(plot, &format!("{scheme}: {}{note}", plot.title()), lines, max)
        };
        found.into_iter().filter_map(panel).collect()
    }

    /// Returns the lines of one subject: of a single run its line; of several runs the mean at the times common to all,
    /// over a faint line for each run.
    fn lines(&self, plot: Plot, ones: &[&RunSeries], label: &str, colour: usize) -> Vec<Line> {
        let parts: Vec<(&[f64], &[f64])> = ones.iter().filter_map(|one| self.shown(plot, one)).collect();
        let line = |(times, values): (&[f64], &[f64]), points, is_faint| {
            let (times, values) = downsample(times, values, points);
            Line { label: String::new(), colour, times, values, is_faint }
        };
        if let [one] = parts.as_slice() {
            return vec![Line { label: label.to_owned(), ..line(*one, MAX_POINTS, false) }];
        }
        let mut lines: Vec<Line> =
            parts.iter().take(MAX_FAINT).map(|part| line(*part, MAX_FAINT_POINTS, true)).collect();
        lines.extend(mean_of(&parts).map(|(times, values)| line((&times, &values), MAX_POINTS, false)));
        if let Some(last) = lines.last_mut() {
            label.clone_into(&mut last.label);
        }
        lines
    }

    /// Returns the part of a series in the span shown; `None` if it is empty.
    fn shown<'b>(&self, plot: Plot, one: &'b RunSeries) -> Option<(&'b [f64], &'b [f64])> {
        // There is no round-trip time before the first sample; the simulator writes zero.
        let begun = match plot {
            Plot::RoundTrip => one.values.iter().position(|value| *value > 0.0).unwrap_or(0),
            _ if plot.is_count() && self.to > self.document.warmup_s => {
                one.times.partition_point(|time| *time <= self.document.warmup_s)
            }
            _ => 0,
        };
        let first = one.times.partition_point(|time| *time < self.from).max(begun);
        let end = one.times.partition_point(|time| *time <= self.to);
        let (times, values) = (one.times.get(first..end)?, one.values.get(first..end)?);
        (!times.is_empty()).then_some((times, values))
    }

    /// Returns the largest value of lines after the warm-up; of all values where the span shown lies within it.
    fn max(&self, lines: &[Line]) -> f64 {
        let from = |start: f64| {
            let values = lines.iter().flat_map(|line| line.times.iter().zip(&line.values));
            let values = values.filter(|(time, value)| **time >= start && value.is_finite());
            values.map(|(_, value)| *value).fold(0.0, f64::max)
        };
        let counted = from(self.document.warmup_s);
        if counted > 0.0 { counted } else { from(f64::NEG_INFINITY) }
    }
}

/// Returns the distinct runs; the first where all are identical.
fn distinct_runs<'a>(runs: &[&'a Run]) -> Vec<&'a Run> {
    let prints: BTreeSet<&str> = runs.iter().map(|run| run.fingerprint.as_str()).collect();
    runs.iter().copied().take(if prints.len() > 1 { usize::MAX } else { 1 }).collect()
}

/// Formats the number of runs behind a panel, for its title; empty for one.
fn seeds_in_words(runs: usize) -> String {
    match runs {
        0 | 1 => String::new(),
        runs if runs > MAX_FAINT => format!(": mean of {runs} seeds, {MAX_FAINT} of them faint"),
        runs => format!(": mean of {runs} seeds, each faint"),
    }
}

/// Returns the mean at the times common to all series; `None` where they were not sampled together.
fn mean_of(parts: &[(&[f64], &[f64])]) -> Option<(Vec<f64>, Vec<f64>)> {
    // Times are not negative: their bit patterns sort in the same order.
    let mut sums: BTreeMap<u64, (f64, usize)> = BTreeMap::new();
    for (time, value) in parts.iter().flat_map(|(times, values)| times.iter().zip(*values)) {
        let sum = sums.entry(time.to_bits()).or_default();
        *sum = (sum.0 + value, sum.1 + 1);
    }
    let common = sums.iter().filter(|(_, (_, count))| *count == parts.len());
    let mean = common.map(|(time, (sum, count))| (f64::from_bits(*time), sum / *count as f64));
    let (times, values): (Vec<f64>, Vec<f64>) = mean.unzip();
    let longest = parts.iter().map(|(times, _)| times.len()).max()?;
    (2 * times.len() >= longest).then_some((times, values))
}

/// Returns the bottlenecks of the first run that has any: their series names and display names.
fn bottleneck_names(document: &Document) -> Vec<(String, String)> {
    let names = |link: &Link| {
        let Link { name, from, to, .. } = link;
        (series_name(link), format_direction(name, from, to, Style::UNICODE))
    };
    let of_run =
        |(_, run): (_, &Run)| run.links.iter().filter(|link| link.bottleneck).map(names).collect::<Vec<_>>();
    document.runs().map(of_run).find(|names| !names.is_empty()).unwrap_or_default()
}

/// Returns the series name of a link.
fn series_name(Link { name, from, to, .. }: &Link) -> String {
    format!("{name} {from}->{to}")
}

/// Returns the name of a line's subject: links have a display name, and flows include their schemes where these differ.
fn subject_label(links: &[(String, String)], run: &Run, subject: &str) -> String {
    if let Some((_, display_name)) = links.iter().find(|(name, _)| name == subject) {
        return display_name.clone();
    }
    let differ = run.groups.windows(2).any(|pair| pair[0].scheme != pair[1].scheme);
    let flow = run.flows.iter().find(|flow| flow.name == subject).filter(|_| differ);
    let group = flow.and_then(|flow| run.groups.iter().find(|group| group.name == flow.group));
    let full_name = group.map(|group| format!("{subject} ({})", group.scheme));
    full_name.filter(|name| name.chars().count() <= MAX_LETTERS).unwrap_or_else(|| subject.to_owned())
}

/// Builds a panel of lines, if there are any, for values up to `max`.
fn line_panel(plot: Plot, title: &str, lines: Vec<Line>, max: f64) -> Option<LinePanel> {
    let (unit, factor) = axis_unit(plot, max);
    (!lines.is_empty()).then(|| LinePanel {
        title: format!("{title}, {unit}"),
        factor,
        max,
        lines,
        across: None,
    })
}

/// Returns the distributions of each group over all runs, by group name.
fn group_distributions<'a>(runs: &[&'a Run], of: fn(&Curves) -> &[f64]) -> Vec<(String, Vec<&'a [f64]>)> {
    let Some(first) = runs.first() else { return Vec::new() };
    let differ = first.groups.windows(2).any(|pair| pair[0].scheme != pair[1].scheme);
    let group = |group: &Group| {
        let matching = runs.iter().filter_map(|run| run.groups.iter().find(|other| other.name == group.name));
        let full_name = format!("{} ({})", group.name, group.scheme);
        let name =
            if differ && full_name.chars().count() <= MAX_LETTERS { full_name } else { group.name.clone() };
        (name, matching.map(|matching| of(&matching.distributions)).collect())
    };
    first.groups.iter().map(group).collect()
}

/// Builds a panel of distribution functions: for each subject and quantile, the mean over its runs.
fn distribution_panel(plot: Plot, subjects: Vec<(String, Vec<&[f64]>)>, runs: usize) -> Option<LinePanel> {
    let line = |(colour, (label, curves)): (usize, (String, Vec<&[f64]>))| {
        let curves: Vec<&[f64]> = curves.into_iter().filter(|curve| curve.len() == SHARES.len()).collect();
        if curves.is_empty() {
            return None;
        }
        let mean = |at: usize| curves.iter().map(|curve| curve[at]).sum::<f64>() / curves.len() as f64;
        let times = (0..SHARES.len()).map(mean).collect();
        Some(Line { label, colour, times, values: SHARES.to_vec(), is_faint: false })
    };
    let all = subjects.len();
    let lines: Vec<Line> = subjects.into_iter().enumerate().filter_map(line).take(MAX_LINES).collect();
    // A long tail would leave no room for the rest: axes end at 1.25 times the 99th percentile.
    let end = |line: &Line| line.times[SHARES.len() - 1].min(1.25 * line.times[SHARES.len() - 3]);
    let to = lines.iter().map(end).fold(0.0, f64::max);
    if lines.is_empty() {
        return None;
    }
    let (unit, factor) = Scale::for_time(to / 2.0).unit();
    let of = if all > MAX_LINES { format!(" of {MAX_LINES} of {all} groups") } else { String::new() };
    let note = if runs > 1 { format!(": mean of {runs} seeds") } else { String::new() };
    let across = Some(HorizontalAxis { to, factor, unit });
    let (percent, share) = self::axis_unit(plot, 1.0);
    let title = format!("{}{of}{note}, {percent}", plot.title());
    Some(LinePanel { title, factor: share, max: 1.0, lines, across })
}

/// Returns the unit of an axis up to `max`.
fn axis_unit(plot: Plot, max: f64) -> (&'static str, f64) {
    match plot {
        Plot::Goodput | Plot::PacingRate | Plot::LinkRate => Scale::for_rate(max / 2.0).unit(),
        Plot::RoundTrip => Scale::for_time(max / 2.0).unit(),
        Plot::Window | Plot::Ssthresh | Plot::InFlight => ("segments", 1.0),
        Plot::Unread | Plot::QueueBytes => Scale::for_bytes(max / 2.0).unit(),
        Plot::Queue | Plot::Drops | Plot::Marks => Scale::PACKETS.unit(),
        Plot::CompletionCdf | Plot::RttCdf => Scale::PERCENT.unit(),
    }
}

fn bar_panel(metric: Metric, schemes: &[SchemeResults]) -> Option<BarPanel> {
    let bar = |(colour, of): (usize, &SchemeResults)| {
        let estimate = *of.summary.as_ref()?.totals.get(metric.name(SubjectKind::Network))?;
        Some(Bar {
            label: of.scheme.clone(),
            colour,
            mean: estimate.mean,
            half: estimate.ci95,
            value_text: cell_text(metric, Some(Datum::Mean(estimate)), Style::UNICODE),
        })
    };
    let bars: Vec<Bar> = schemes.iter().enumerate().filter_map(bar).collect();
    // An index or a share never exceeds 1, even if its interval does.
    let limit = matches!(metric.line().unit, Unit::Fraction) || metric == Metric::Jain;
    let limit = if limit { 1.0 } else { f64::INFINITY };
    (!bars.is_empty()).then(|| BarPanel { title: heads_of(&[metric]).concat(), bars, limit })
}

/// Maximum number of lines, equal to the number of colours.
const MAX_LINES: usize = 8;
/// Maximum label length beside the lines, in characters.
const MAX_LETTERS: usize = 19;
/// Maximum number of points, more than the picture's width.
const MAX_POINTS: usize = 1600;
/// Maximum number of runs with a faint line behind their mean.
const MAX_FAINT: usize = 10;
/// Maximum number of points of a faint line.
const MAX_FAINT_POINTS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::RunKey;
    use crate::results::test_fixtures::{run_result, test_header};
    use thalweg_proto::units::{Duration, Time};
    use thalweg_sim::{FlowResult, Quantity, Series};

    #[test]
    fn a_run_has_lines_and_a_comparison_bars() {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &run_result(1, 75));
        let run = Document::from_runs(test_header(&[1]), vec![Run::from_result(&run_result(1, 75))]);
        let svg = draw_figure(&run, &series, &View::default());
        assert!(svg.contains("Window, segments") && svg.contains(">bold (cubic)</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"line").count(), 1);
        let runs = |mbits| {
            vec![Run::from_result(&run_result(1, mbits)), Run::from_result(&run_result(2, mbits + 1))]
        };
        let schemes = vec![("vegas".to_owned(), runs(40)), ("cubic".to_owned(), runs(75))];
        let svg = draw_figure(
            &Document::from_comparison(test_header(&[1, 2]), schemes),
            &AllSeries::default(),
            &View::default(),
        );
        assert_eq!(svg.matches("class=\"bar").count(), 8);
        assert!(svg.contains("class=\"interval\"") && svg.contains("Mbit/s"), "{svg}");
    }

    /// Replications show a faint line for each seed, their mean, and the number of seeds in the title.
    #[test]
    fn every_seed_is_seen_and_their_mean() {
        let mut series = AllSeries::default();
        let mut runs = Vec::new();
        for (seed, window) in [(1, 10.0), (2, 14.0), (3, 18.0)] {
            let mut one = run_result(seed, 70 + seed);
            one.fingerprint = seed;
            one.series[0].points =
                vec![(Time::ZERO, 40.0 * window), (Time::from_picos(6_000_000_000_000), window)];
            series.add(RunKey { scheme: "", seed }, &one);
            runs.push(Run::from_result(&one));
        }
        let document = Document::from_runs(test_header(&[1, 2, 3]), runs.clone());
        let svg = draw_figure(&document, &series, &View::default());
        assert_eq!(svg.matches("class=\"line faint c2\"").count(), 3, "{svg}");
        assert_eq!(svg.matches("class=\"line c2\"").count(), 1);
        assert_eq!(svg.matches(">bold (cubic)</text>").count(), 1);
        assert!(svg.contains("Window: mean of 3 seeds, each faint, segments"), "{svg}");
        assert!(svg.contains("3 runs, seeds 1 to 3"), "{svg}");
        // The axis excludes the burst of the warm-up, which ends at 5 s.
        assert!(svg.contains(">20</text>") && !svg.contains(">400</text>"), "{svg}");
        let mean = mean_of(&[(&[0.0, 6.0], &[1.0, 10.0]), (&[6.0, 7.0], &[14.0, 5.0])]);
        assert_eq!(mean, Some((vec![6.0], vec![12.0])));
        assert_eq!(mean_of(&[(&[0.0, 1.0, 2.0], &[1.0; 3]), (&[0.5, 1.5, 2.5], &[1.0; 3])]), None);
        // Identical runs count once.
        runs.iter_mut().for_each(|run| run.fingerprint = "0".to_owned());
        let svg = draw_figure(&Document::from_runs(test_header(&[1, 2, 3]), runs), &series, &View::default());
        assert_eq!((svg.matches("class=\"line").count(), svg.contains("faint,")), (1, false));
    }

    #[test]
    fn flows_omitted_from_a_picture_are_counted() {
        let mut many = run_result(1, 75);
        let (flow, points) = (many.flows[2].clone(), many.series[0].clone());
        for number in 0..7 {
            many.flows.push(FlowResult { name: format!("more.{number}"), ..flow.clone() });
            many.series.push(Series { subject: 3 + number, ..points.clone() });
        }
        many.series.extend((0..2).map(|subject| Series { subject, ..points.clone() }));
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &many);
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&many)]);
        let svg = draw_figure(&document, &series, &View::default());
        assert_eq!(svg.matches("class=\"line").count(), 8);
        assert!(svg.contains("Window of 8 of 10 flows, segments"), "{svg}");
    }

    #[test]
    fn a_view_names_plots_and_a_span() {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "vegas", seed: 1 }, &run_result(1, 40));
        series.add(RunKey { scheme: "cubic", seed: 1 }, &run_result(1, 75));
        let runs = |mbits| vec![Run::from_result(&run_result(1, mbits))];
        let schemes = vec![("vegas".to_owned(), runs(40)), ("cubic".to_owned(), runs(75))];
        let document = Document::from_comparison(test_header(&[1]), schemes);
        let view = |plots: &[Plot], span| View { plots: Some(plots.to_vec()), span };
        let svg = draw_figure(&document, &series, &view(&[Plot::Window], Some((0.0, 1.0))));
        assert!(svg.contains("vegas: Window, segments") && svg.contains("cubic: Window, segments"), "{svg}");
        assert!(!svg.contains("class=\"bar") && svg.contains(">1 s</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"line").count(), 2);
        let svg = draw_figure(&document, &series, &view(&[Plot::Window], Some((500.0, 501.0))));
        assert_eq!(svg.matches("class=\"line").count(), 0, "nothing was recorded then");
        assert!(Plot::names().starts_with("goodput, queue, rtt, window, unread, ssthresh, "));
    }

    /// Counts begin again at the end of the warm-up, 5 s, where a line from its start would fall to zero.
    #[test]
    fn counts_are_drawn_from_the_end_of_the_warm_up() {
        let mut result = run_result(1, 75);
        let points = [(1, 70.0), (5, 80.0), (6, 0.0), (7, 3.0)];
        let points = points.map(|(seconds, count)| (Time::ZERO + Duration::from_secs(seconds), count));
        result.series = vec![Series { quantity: Quantity::Drops, subject: 0, points: points.to_vec() }];
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &result);
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]);
        let shown = |from, to| {
            let sight = ViewSource { document: &document, series: &series, from, to };
            let one = series.of("drops").next().unwrap();
            sight.shown(Plot::Drops, one).map(|(_, values)| values.to_vec())
        };
        assert_eq!(shown(0.0, 30.0), Some(vec![0.0, 3.0]));
        assert_eq!(shown(0.0, 4.0), Some(vec![70.0]), "within the warm-up");
    }

    /// A distribution has an axis of its own that ends near the 99th percentile, and a line for each group or scheme.
    #[test]
    fn distributions_have_a_line_for_each_group_or_scheme() {
        let of = |seed, mbits, scale: f64| {
            let mut run = Run::from_result(&run_result(seed, mbits));
            let curve = |shift: f64| {
                SHARES.iter().map(|share| scale * (0.01 + shift + 0.03 * share)).collect::<Vec<f64>>()
            };
            for (group, shift) in run.groups.iter_mut().zip([0.0, 0.02]) {
                group.distributions.rtt_s = curve(shift);
            }
            run.distributions.rtt_s = curve(0.01);
            run
        };
        let view = View { plots: Some(vec![Plot::RttCdf, Plot::CompletionCdf]), span: None };
        let run = Document::from_runs(test_header(&[1]), vec![of(1, 75, 1.0)]);
        let svg = draw_figure(&run, &AllSeries::default(), &view);
        assert_eq!(svg.matches("class=\"line").count(), 2, "no transfers, and so no completion times: {svg}");
        assert!(
            svg.contains("Round-trip times: share of samples, %") && svg.contains(">bold (cubic)</text>"),
            "{svg}"
        );
        assert!(svg.contains(">60 ms</text>") && svg.contains(">100</text>"), "{svg}");
        // Several seeds show the mean time at each quantile: 10 and 30 ms give 20 ms.
        let (one, other) = (of(1, 75, 1.0), of(2, 76, 3.0));
        let found = group_distributions(&[&one, &other], |of| of.rtt_s.as_slice());
        let panel = distribution_panel(Plot::RttCdf, found, 2).unwrap();
        assert!((panel.lines[0].times[0] - 0.02).abs() < 1e-12 && panel.title.contains("mean of 2 seeds"));
        let section = distributions_section(&run);
        assert!(section.contains("<svg class=\"curves\"") && !section.contains("<style>"), "{section}");
        assert_eq!(
            distributions_section(&Document::from_runs(
                test_header(&[1]),
                vec![Run::from_result(&run_result(1, 75))]
            )),
            ""
        );
        let schemes =
            vec![("vegas".to_owned(), vec![of(1, 40, 1.0)]), ("cubic".to_owned(), vec![of(1, 75, 2.0)])];
        let svg =
            draw_figure(&Document::from_comparison(test_header(&[1]), schemes), &AllSeries::default(), &view);
        assert!(svg.contains(">vegas</text>") && svg.contains(">cubic</text>"), "{svg}");
    }
}
