//! The static picture of a document: for papers and slides.

use super::series::{AllSeries, One};
use super::thin::thin;
use crate::output::svg::{Bar, BarPanel, Figure, Line, LinePanel};
use crate::output::{Datum, Scale, Style, direction, heads_of, title_lines, words};
use crate::results::{Body, Document, Link, Metric, Of, Run, SchemeResults, Tables};

/// The part of a document that a picture shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The plots to show, and nothing else; without, those that [`figure`] chooses.
    pub plots: Option<Vec<Plot>>,
    /// The part of the run to show, in seconds; without, all of it.
    pub span: Option<(f64, f64)>,
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    /// Data that receivers could read.
    Goodput,
    /// Packets that wait at bottlenecks.
    Queue,
    /// Smoothed round-trip times.
    RoundTrip,
    /// Congestion windows.
    Window,
    /// Data that was delivered and not yet read.
    Unread,
}

impl Plot {
    /// All, in the order of pictures.
    pub const ALL: [Self; 5] = [Self::Goodput, Self::Queue, Self::RoundTrip, Self::Window, Self::Unread];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Queue => "queue",
            Self::RoundTrip => "rtt",
            Self::Window => "window",
            Self::Unread => "unread",
        }
    }

    const fn quantity(self) -> &'static str {
        match self {
            Self::Queue => "queue-packets",
            _ => self.name(),
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Goodput => "Goodput",
            Self::Queue => "Queue",
            Self::RoundTrip => "Round-trip time, smoothed",
            Self::Window => "Window",
            Self::Unread => "Delivered and not yet read",
        }
    }
}

/// A picture in SVG. Of a run it shows the flows' goodput, the queues, round-trip times and windows over time; of
/// replications the same of the first seed; of a comparison first how the schemes did, with intervals. Where `view` names
/// plots, a comparison has them for each scheme, on one scale.
pub fn figure(document: &Document, series: &AllSeries, view: &View) -> String {
    let (title, _) = title_lines(document, Style::UNICODE);
    let (from, to) = view.span.unwrap_or((0.0, document.duration_s));
    let plots = view.plots.as_deref();
    let (mut bars, mut panels) = (Vec::new(), Vec::new());
    let sight = Sight { document, series, from, to };
    if let Body::Comparison { schemes, .. } = &document.body {
        if plots.is_none() {
            bars = Metric::in_table(Tables::BARS).filter_map(|metric| self::bars(metric, schemes)).collect();
        }
        panels.extend(plots.unwrap_or(&[Plot::Queue]).iter().flat_map(|plot| sight.compared(*plot, schemes)));
    } else if let Some((_, run)) = document.runs().next() {
        let all = plots.unwrap_or(&Plot::ALL).iter();
        panels.extend(all.filter_map(|plot| {
            let (lines, note) = sight.of_run("", run, *plot);
            alone(*plot, &format!("{}{note}", plot.title()), lines)
        }));
    }
    Figure { title, bars, panels, from, to }.render()
}

/// The source of lines, and the part of them that is shown.
struct Sight<'a> {
    document: &'a Document,
    series: &'a AllSeries,
    from: f64,
    to: f64,
}

impl Sight<'_> {
    /// The lines of a run: those of its flows, or of its bottlenecks; and where these are more than a picture shows, how many.
    fn of_run(&self, scheme: &str, run: &Run, plot: Plot) -> (Vec<Line>, String) {
        let links = bottlenecks(self.document);
        let place = |one: &One| match plot {
            Plot::Queue => links.iter().position(|(name, _)| *name == one.subject),
            _ => run.flows.iter().position(|flow| flow.name == one.subject),
        };
        let all = self.series.of(plot.quantity()).filter(|one| one.seed == run.seed && one.scheme == scheme);
        let mut lines: Vec<Line> =
            all.filter_map(|one| self.line(one, &label(&links, run, &one.subject), place(one)?)).collect();
        lines.sort_by_key(|line| line.colour);
        let all = match plot {
            Plot::Queue => lines.len(),
            _ => lines.len().max(run.flows.len()),
        };
        lines.truncate(MOST_LINES);
        let kind = if plot == Plot::Queue { "queues" } else { "flows" };
        let note =
            if all > MOST_LINES { format!(" of {} of {all} {kind}", lines.len()) } else { String::new() };
        (lines, note)
    }

    /// The queue of the fullest bottleneck under each scheme, or a panel with the flows of each scheme; of the first seed.
    fn compared(&self, plot: Plot, schemes: &[SchemeResults]) -> Vec<LinePanel> {
        if plot == Plot::Queue {
            // Of several that with most in it.
            let names = bottlenecks(self.document);
            let waiting = |subject: &str| {
                let links = self.document.runs().flat_map(|(_, run)| &run.links);
                let here = links.filter(|link| series_name(link) == subject);
                here.map(|link| link.or_zero(Metric::QueueMean)).sum::<f64>()
            };
            let fullest = names.iter().rev().max_by(|a, b| waiting(&a.0).total_cmp(&waiting(&b.0)));
            let (Some((subject, words)), Some(seed)) = (fullest, self.document.seeds.first()) else {
                return Vec::new();
            };
            let place = |one: &One| schemes.iter().position(|of| of.scheme == one.scheme);
            let all = self.series.of(plot.quantity());
            let all = all.filter(|one| one.subject == *subject && one.seed == *seed);
            let lines = all.filter_map(|one| self.line(one, &one.scheme, place(one)?)).collect();
            return alone(plot, &format!("Queue of {words}, seed {seed}"), lines).into_iter().collect();
        }
        let of =
            |of: &SchemeResults| Some((of.scheme.clone(), self.of_run(&of.scheme, of.runs.first()?, plot)));
        let found: Vec<_> = schemes.iter().filter_map(of).collect();
        // Schemes are compared by eye: they have one scale.
        let most = found.iter().map(|(_, (lines, _))| most(lines)).fold(0.0, f64::max);
        let panel =
            |(scheme, (lines, note))| panel(plot, &format!("{scheme}: {}{note}", plot.title()), lines, most);
        found.into_iter().filter_map(panel).collect()
    }

    /// The part of a series that is shown; none where nothing of it is.
    fn line(&self, one: &One, label: &str, colour: usize) -> Option<Line> {
        // There is no round-trip time before the first sample; the simulator writes zero.
        let begun = match one.quantity.as_str() {
            "rtt" => one.values.iter().position(|value| *value > 0.0).unwrap_or(0),
            _ => 0,
        };
        let first = one.times.partition_point(|time| *time < self.from).max(begun);
        let end = one.times.partition_point(|time| *time <= self.to);
        let (times, values) = (one.times.get(first..end)?, one.values.get(first..end)?);
        let (times, values) = thin(times, values, MOST_POINTS);
        (!times.is_empty()).then(|| Line { label: label.to_owned(), colour, times, values })
    }
}

/// The bottlenecks of the first run that has any: as series name them, and as people do.
fn bottlenecks(document: &Document) -> Vec<(String, String)> {
    let names = |link: &Link| {
        let Link { name, from, to, .. } = link;
        (series_name(link), direction(name, from, to, Style::UNICODE))
    };
    let of_run =
        |(_, run): (_, &Run)| run.links.iter().filter(|link| link.bottleneck).map(names).collect::<Vec<_>>();
    document.runs().map(of_run).find(|names| !names.is_empty()).unwrap_or_default()
}

/// The name under which a link has its series.
fn series_name(Link { name, from, to, .. }: &Link) -> String {
    format!("{name} {from}->{to}")
}

/// The name of what a line is of: links have one for people, and flows are told with their schemes where these differ.
fn label(links: &[(String, String)], run: &Run, subject: &str) -> String {
    if let Some((_, words)) = links.iter().find(|(name, _)| name == subject) {
        return words.clone();
    }
    let differ = run.groups.windows(2).any(|pair| pair[0].scheme != pair[1].scheme);
    let flow = run.flows.iter().find(|flow| flow.name == subject).filter(|_| differ);
    let group = flow.and_then(|flow| run.groups.iter().find(|group| group.name == flow.group));
    let whole = group.map(|group| format!("{subject} ({})", group.scheme));
    whole.filter(|words| words.chars().count() <= MOST_LETTERS).unwrap_or_else(|| subject.to_owned())
}

/// A panel of lines, if there are any, for values up to `most`.
fn panel(plot: Plot, title: &str, lines: Vec<Line>, most: f64) -> Option<LinePanel> {
    let (unit, factor) = unit(plot, most);
    (!lines.is_empty()).then(|| LinePanel { title: format!("{title}, {unit}"), factor, most, lines })
}

/// A panel with a scale of its own.
fn alone(plot: Plot, title: &str, lines: Vec<Line>) -> Option<LinePanel> {
    let most = most(&lines);
    panel(plot, title, lines, most)
}

/// The largest value of lines.
fn most(lines: &[Line]) -> f64 {
    let values = lines.iter().flat_map(|line| &line.values).copied();
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The unit of an axis up to `most`.
fn unit(plot: Plot, most: f64) -> (&'static str, f64) {
    match plot {
        Plot::Goodput => Scale::of_rate(most / 2.0).unit(),
        Plot::RoundTrip => Scale::of_time(most / 2.0).unit(),
        Plot::Window => ("segments", 1.0),
        Plot::Unread => Scale::of_bytes(most / 2.0).unit(),
        Plot::Queue => Scale::PACKETS.unit(),
    }
}

fn bars(metric: Metric, schemes: &[SchemeResults]) -> Option<BarPanel> {
    let bar = |(colour, of): (usize, &SchemeResults)| {
        let estimate = *of.summary.as_ref()?.totals.get(metric.name(Of::Network))?;
        Some(Bar {
            label: of.scheme.clone(),
            colour,
            mean: estimate.mean,
            half: estimate.ci95,
            words: words(metric, Some(Datum::Mean(estimate)), Style::UNICODE),
        })
    };
    let bars: Vec<Bar> = schemes.iter().enumerate().filter_map(bar).collect();
    (!bars.is_empty()).then(|| BarPanel { title: heads_of(&[metric]).concat(), bars })
}

/// As many as there are colours.
const MOST_LINES: usize = 8;
/// The room beside the lines.
const MOST_LETTERS: usize = 19;
/// More than the picture has columns.
const MOST_POINTS: usize = 1600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::RunKey;
    use crate::results::samples::{header, result};
    use thalweg_sim::{FlowResult, Series};

    #[test]
    fn a_run_has_lines_and_a_comparison_bars() {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &result(1, 75));
        let run = Document::of_runs(header(&[1]), vec![Run::of(&result(1, 75))]);
        let svg = figure(&run, &series, &View::default());
        assert!(svg.contains("Window, segments") && svg.contains(">bold (cubic)</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"line").count(), 1);
        let runs = |mbits| vec![Run::of(&result(1, mbits)), Run::of(&result(2, mbits + 1))];
        let schemes = vec![("vegas".to_owned(), runs(40)), ("cubic".to_owned(), runs(75))];
        let svg = figure(
            &Document::of_comparison(header(&[1, 2]), schemes),
            &AllSeries::default(),
            &View::default(),
        );
        assert_eq!(svg.matches("class=\"bar").count(), 8);
        assert!(svg.contains("class=\"interval\"") && svg.contains("Mbit/s"), "{svg}");
    }

    #[test]
    fn flows_that_a_picture_has_no_room_for_are_counted() {
        let mut many = result(1, 75);
        let (flow, points) = (many.flows[2].clone(), many.series[0].clone());
        for number in 0..7 {
            many.flows.push(FlowResult { name: format!("more.{number}"), ..flow.clone() });
            many.series.push(Series { subject: 3 + number, ..points.clone() });
        }
        many.series.extend((0..2).map(|subject| Series { subject, ..points.clone() }));
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &many);
        let document = Document::of_runs(header(&[1]), vec![Run::of(&many)]);
        let svg = figure(&document, &series, &View::default());
        assert_eq!(svg.matches("class=\"line").count(), 8);
        assert!(svg.contains("Window of 8 of 10 flows, segments"), "{svg}");
    }

    #[test]
    fn a_view_names_plots_and_a_span() {
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "vegas", seed: 1 }, &result(1, 40));
        series.add(RunKey { scheme: "cubic", seed: 1 }, &result(1, 75));
        let runs = |mbits| vec![Run::of(&result(1, mbits))];
        let schemes = vec![("vegas".to_owned(), runs(40)), ("cubic".to_owned(), runs(75))];
        let document = Document::of_comparison(header(&[1]), schemes);
        let view = |plots: &[Plot], span| View { plots: Some(plots.to_vec()), span };
        let svg = figure(&document, &series, &view(&[Plot::Window], Some((0.0, 1.0))));
        assert!(svg.contains("vegas: Window, segments") && svg.contains("cubic: Window, segments"), "{svg}");
        assert!(!svg.contains("class=\"bar") && svg.contains(">1 s</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"line").count(), 2);
        let svg = figure(&document, &series, &view(&[Plot::Window], Some((500.0, 501.0))));
        assert_eq!(svg.matches("class=\"line").count(), 0, "nothing was recorded then");
        let names: Vec<&str> = Plot::ALL.iter().map(|plot| plot.name()).collect();
        assert_eq!(names, ["goodput", "queue", "rtt", "window", "unread"]);
    }
}
