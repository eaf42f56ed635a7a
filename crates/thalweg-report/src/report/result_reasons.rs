//! Reasons for a result: the bottleneck queue, losses, and the limiting factors of senders.

use super::html_text_and_pages::{TEXT_STYLE, escape};
use crate::output::{Datum, Scale, cell_text, format_direction, format_seconds};
use crate::results::{Flow, Link, Metric, Run, SchemeResults, SubjectKind};
use std::fmt::Write as _;

/// Writes a table of schemes side by side, and the main cause of the differences between them.
pub(super) fn of_schemes(html: &mut String, schemes: &[SchemeResults]) {
    let all: Vec<(&SchemeResults, Bottleneck)> =
        schemes.iter().filter_map(|of| Some((of, Bottleneck::find(&of.runs)?))).collect();
    html.push_str("<h2>Why</h2>\n");
    let reasons: Vec<String> = [delay_reason(&all), goodput_reason(&all)].into_iter().flatten().collect();
    if !reasons.is_empty() {
        let _ = writeln!(html, "<p class=\"reason\">{}</p>", reasons.join(" "));
    }
    let is_one = all.windows(2).all(|pair| pair[0].1.name == pair[1].1.name);
    let place = match all.first() {
        Some((_, first)) if is_one => format!("At link {}, the busiest bottleneck", first.name),
        Some(_) => "At the busiest bottleneck of each".to_owned(),
        None => "No link was a bottleneck".to_owned(),
    };
    type Value = fn(&[Run]) -> f64;
    let counts: [(&str, Value); 4] = [
        ("Dropped, pkt", |runs| of_links(runs, &[Metric::LinkDrops])),
        ("Lost on wires, pkt", |runs| of_links(runs, &[Metric::LinkLosses, Metric::LinkCorrupted])),
        ("Marked, pkt", |runs| of_links(runs, &[Metric::Marks])),
        ("Timeouts", |runs| of_each(runs, |run| run.totals.or_zero(Metric::Timeouts))),
    ];
    let counts: Vec<_> =
        counts.into_iter().filter(|(_, value)| schemes.iter().any(|of| value(&of.runs) > 0.0)).collect();
    html.push_str("<div class=\"wide\"><table class=\"sortable reasons\"><thead><tr><th>Scheme</th>");
    if !is_one {
        html.push_str("<th>Link</th>");
    }
    html.push_str(
        "<th class=\"number\">Busy</th><th class=\"number\">Queue, pkt</th><th class=\"number\">Queue, time</th>",
    );
    html.push_str("<th class=\"number\">Queue at most, pkt</th>");
    for (head, _) in &counts {
        let _ = write!(html, "<th class=\"number\">{head}</th>");
    }
    html.push_str("<th>Senders held back by</th></tr></thead><tbody>\n");
    for (position, of) in schemes.iter().enumerate() {
        let swatch = format!("<i class=\"swatch s{}\"></i>", position % COLOURS);
        let _ = write!(html, "<tr><th scope=\"row\">{swatch}{}</th>", escape(&of.scheme));
        let found = all.iter().find(|(other, _)| other.scheme == of.scheme).map(|(_, found)| found);
        if !is_one {
            let _ = write!(html, "<td>{}</td>", found.map_or("–", |found| &found.name));
        }
        let mut cell = |value: Option<f64>, text: &dyn Fn(f64) -> String| {
            let _ = match value {
                Some(value) => {
                    write!(html, "<td class=\"number\" data-value=\"{value}\">{}</td>", escape(&text(value)))
                }
                None => write!(html, "<td class=\"number\">–</td>"),
            };
        };
        cell(found.map(|found| found.utilisation), &|used| Scale::PERCENT.fixed(used, 1));
        cell(found.map(|found| found.waiting_packets), &|packets| format!("{packets:.1}"));
        cell(found.and_then(|found| found.waiting_s), &format_seconds);
        cell(found.map(|found| found.max), &round_mean);
        for (_, value) in &counts {
            cell(Some(value(&of.runs)), &round_mean);
        }
        let held = limiting_factors(run_limits(&of.runs)).unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(html, "<td>{held}</td></tr>");
    }
    html.push_str("</tbody></table></div>\n");
    let several = schemes.iter().any(|of| of.runs.len() > 1);
    let means = if several { "; means over the runs" } else { "" };
    let _ = writeln!(html, "<p class=\"note\">{place}; counts are of the whole network{means}.</p>");
}

/// Returns the schemes with the lowest and the highest value.
fn lowest_and_highest<'a>(
    all: &'a [(&'a SchemeResults, Bottleneck)],
    value: impl Fn(&Bottleneck) -> Option<f64>,
) -> Option<[(&'a SchemeResults, &'a Bottleneck, f64); 2]> {
    let known = || all.iter().filter_map(|(of, at)| Some((*of, at, value(at)?)));
    let min = known().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let max = known().max_by(|a, b| a.2.total_cmp(&b.2))?;
    (min.1.name == max.1.name && min.0.scheme != max.0.scheme).then_some([min, max])
}

/// Returns true if a difference makes up most of another one and does not exceed it.
fn is_most(part: f64, of: f64) -> bool {
    of > 0.0 && (0.5..=1.2).contains(&(part / of))
}

/// Returns the sentence on queueing delay at the bottleneck, if it explains most of the difference in delay.
fn delay_reason(all: &[(&SchemeResults, Bottleneck)]) -> Option<String> {
    let [(less, _, short), (more, _, long)] = lowest_and_highest(all, |at| at.waiting_s)?;
    let delay = |of: &SchemeResults| {
        of.summary.as_ref()?.totals.get(Metric::DelayMean.name(SubjectKind::Network)).map(|of| of.mean)
    };
    is_most(long - short, delay(more)? - delay(less)?).then(|| {
        format!(
            "Most of the difference in delay is queueing delay at the bottleneck: {} under {}, {} under {}.",
            format_seconds(short),
            escape(&less.scheme),
            format_seconds(long),
            escape(&more.scheme)
        )
    })
}

/// Returns the sentence on idle time of the bottleneck, if it explains most of the difference in goodput.
fn goodput_reason(all: &[(&SchemeResults, Bottleneck)]) -> Option<String> {
    let [(less, at, low), (more, _, high)] = lowest_and_highest(all, |at| Some(at.utilisation))?;
    let goodput = |of: &SchemeResults| {
        of.summary.as_ref()?.totals.get(Metric::Goodput.name(SubjectKind::Network)).map(|of| of.mean)
    };
    is_most((high - low) * at.rate_bps?, goodput(more)? - goodput(less)?).then(|| {
        format!(
            "Most of the difference in goodput is idle time of the bottleneck: {} under {}, {} under {}.",
            Scale::PERCENT.fixed(1.0 - high, 1),
            escape(&more.scheme),
            Scale::PERCENT.fixed(1.0 - low, 1),
            escape(&less.scheme)
        )
    })
}

/// Formats a mean count as an integer or with one decimal.
fn round_mean(mean: f64) -> String {
    let text = if mean < 100.0 { format!("{mean:.1}") } else { format!("{mean:.0}") };
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Returns the mean over runs.
fn of_each(runs: &[Run], value: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64
}

/// Returns the mean over runs of the sum over links.
fn of_links(runs: &[Run], metrics: &[Metric]) -> f64 {
    let sum = |link: &Link| metrics.iter().map(|&metric| link.or_zero(metric)).sum::<f64>();
    of_each(runs, |run| run.links.iter().map(sum).sum())
}

/// Limiting factors of a sender, with their shares of its time.
type Limits = Vec<(Metric, f64)>;

fn run_limits(runs: &[Run]) -> impl Iterator<Item = Limits> + '_ {
    runs.iter().flat_map(|run| &run.flows).filter_map(Flow::limits)
}

/// Writes the queue, the losses and the senders' limiting factors of one scheme, and of each group.
pub(super) fn of_runs(html: &mut String, runs: &[Run]) {
    html.push_str("<h2>Why</h2>\n<ul class=\"why\">\n");
    // Sentences on each group make this one redundant.
    let each = (2..=MAX_GROUPS).contains(&runs.first().map_or(0, |run| run.groups.len()));
    let held = limiting_factors(run_limits(runs)).map(|held| format!("held back by: {held}"));
    let parts: Vec<String> =
        [queue_clause(runs), losses_clause(runs), held.filter(|_| !each)].into_iter().flatten().collect();
    if !parts.is_empty() {
        let _ = writeln!(html, "<li>{}.</li>", capitalise(&parts.join("; ")));
    }
    html.push_str("</ul>\n");
    groups_why(html, runs);
}

/// Busiest bottleneck of a scheme, with its use in the mean over runs.
struct Bottleneck {
    /// Name, as escaped text.
    name: String,
    utilisation: f64,
    waiting_packets: f64,
    /// Queueing delay of the mean queue, in seconds; `None` where the rate varies or is unknown.
    waiting_s: Option<f64>,
    max: f64,
    rate_bps: Option<f64>,
}

impl Bottleneck {
    fn find(runs: &[Run]) -> Option<Self> {
        let bottlenecks = runs.first()?.links.iter().filter(|link| link.bottleneck);
        let used = |link: &Link| link.or_zero(Metric::Utilisation);
        let busiest = bottlenecks.max_by(|a, b| used(a).total_cmp(&used(b)))?;
        let same =
            |link: &&Link| link.name == busiest.name && link.from == busiest.from && link.to == busiest.to;
        let links: Vec<&Link> = runs.iter().filter_map(|run| run.links.iter().find(same)).collect();
        let mean = |metric| links.iter().map(|link| link.or_zero(metric)).sum::<f64>() / links.len() as f64;
        let waiting_bytes = mean(Metric::QueueMeanBytes);
        let rate = busiest.get(Metric::LinkRate);
        Some(Self {
            name: escape(&format_direction(&busiest.name, &busiest.from, &busiest.to, TEXT_STYLE)),
            utilisation: mean(Metric::Utilisation),
            waiting_packets: mean(Metric::QueueMean),
            waiting_s: rate.map(|rate| waiting_bytes * 8.0 / rate),
            max: links.iter().map(|link| link.or_zero(Metric::QueueMax)).fold(0.0, f64::max),
            rate_bps: rate,
        })
    }
}

/// Returns the clause on the busiest bottleneck: its share of time busy, and its queue.
fn queue_clause(runs: &[Run]) -> Option<String> {
    let Bottleneck { name, utilisation: used, waiting_packets, max, .. } = Bottleneck::find(runs)?;
    let used = Scale::PERCENT.fixed(used, 1);
    let waiting = Scale::PACKETS.fixed(waiting_packets, 1);
    Some(format!("link {name} was busy {used} of the time; {waiting} waited on average, {max} at most"))
}

/// Returns the drops, marks and timeouts of a run, as means over runs.
fn losses_clause(runs: &[Run]) -> Option<String> {
    if runs.is_empty() {
        return None;
    }
    let counts = [
        ("dropped by queues", of_links(runs, &[Metric::LinkDrops])),
        ("lost by wires", of_links(runs, &[Metric::LinkLosses, Metric::LinkCorrupted])),
        ("marked", of_links(runs, &[Metric::Marks])),
    ];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0.0)
        .map(|(what, count)| format!("{} pkt {what}", round_mean(*count)))
        .collect();
    let timeouts = of_each(runs, |run| run.totals.or_zero(Metric::Timeouts));
    if timeouts > 0.0 {
        let plural = if timeouts == 1.0 { "" } else { "s" };
        parts.push(format!("{} timeout{plural}", round_mean(timeouts)));
    }
    if parts.is_empty() {
        return Some("no packet was lost or marked".to_owned());
    }
    let each = if runs.len() > 1 { " a run" } else { "" };
    Some(format!("{}{each}", parts.join(", ")))
}

/// Returns the clause on the limiting factors of senders, by the mean of their shares of time.
fn limiting_factors(limits: impl Iterator<Item = Limits>) -> Option<String> {
    let all: Vec<Limits> = limits.collect();
    let mut sums: Limits = all.first()?.iter().map(|(limit, _)| (*limit, 0.0)).collect();
    for limits in &all {
        for (sum, (_, share)) in sums.iter_mut().zip(limits) {
            sum.1 += share / all.len() as f64;
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts = sums.iter().take(2).filter(|(_, share)| *share >= 0.005);
    let parts: Vec<String> = parts
        .map(|(limit, share)| format!("{} {}", limit.limit_words(), Scale::PERCENT.fixed(*share, 0)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Writes a sentence about each of a few groups: its losses and limiting factors.
fn groups_why(html: &mut String, runs: &[Run]) {
    let Some(first) = runs.first().filter(|run| (2..=MAX_GROUPS).contains(&run.groups.len())) else {
        return;
    };
    html.push_str("<ul class=\"why\">\n");
    for group in &first.groups {
        let flows = || runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.group == group.name);
        let mean = |metric| flows().map(|flow| flow.or_zero(metric)).sum::<f64>() / runs.len() as f64;
        let resent = match mean(Metric::Retransmissions) {
            0.0 => "sent nothing twice".to_owned(),
            count => format!("sent {} again", Scale::PACKETS.value(count)),
        };
        let (lost, sent) = (mean(Metric::Lost), mean(Metric::Sent));
        let of = if lost > 0.0 { " of those that arrived" } else { "" };
        let jitter = group.get(Metric::Jitter).map(|jitter| format!(", jitter {}", format_seconds(jitter)));
        let delay = group.get(Metric::DelayMean).map(|mean| {
            format!("delay {} on average{of}{}", format_seconds(mean), jitter.unwrap_or_default())
        });
        let loss = (lost > 0.0 && sent > 0.0).then(|| {
            let share = cell_text(Metric::Loss, Some(Datum::One(lost / sent)), TEXT_STYLE);
            format!("lost {share} of its packets ({})", Scale::PACKETS.value(lost))
        });
        let marked = Some(mean(Metric::Marked)).filter(|&marked| marked > 0.0);
        let marked = marked.map(|marked| format!("{} arrived marked", Scale::PACKETS.value(marked)));
        let held =
            limiting_factors(flows().filter_map(Flow::limits)).map(|held| format!("held back by: {held}"));
        let parts: Vec<String> =
            delay.into_iter().chain(loss).chain(marked).chain([resent]).chain(held).collect();
        let _ = writeln!(
            html,
            "<li><strong>{}</strong> ({}): {}.</li>",
            escape(&group.name),
            escape(&group.scheme),
            parts.join("; ")
        );
    }
    html.push_str("</ul>\n");
}

/// Number of scheme colours, used in turn.
const COLOURS: usize = 8;

/// Capitalises the first letter.
pub(super) fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Maximum number of groups described here; larger numbers are only in the tables.
pub(super) const MAX_GROUPS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};
    use crate::results::{Body, Document};

    /// Returns two schemes; the second has ten times the queue and leaves the link idle for a tenth of the time.
    fn schemes() -> Vec<SchemeResults> {
        let mut short = run_result(1, 75);
        let mut long = run_result(1, 65);
        let picos = |micros: u64| thalweg_proto::units::Duration::from_micros(micros);
        (short.links[0].queue.mean_bytes, long.links[0].queue.mean_bytes) = (12_500.0, 125_000.0);
        (short.links[0].utilisation, long.links[0].utilisation) = (0.99, 0.89);
        for (run, mean) in [(&mut short, 11_000), (&mut long, 20_000)] {
            run.flows.iter_mut().for_each(|flow| flow.delay.mean = picos(mean));
            run.groups.iter_mut().for_each(|group| group.delay.mean = picos(mean));
        }
        let runs = |run| vec![Run::from_result(&run)];
        let document = Document::from_comparison(
            test_header(&[1]),
            vec![("a".to_owned(), runs(short)), ("b".to_owned(), runs(long))],
        );
        let Body::Comparison { schemes, .. } = document.body else { panic!() };
        schemes
    }

    #[test]
    fn the_main_cause_of_a_difference_is_stated() {
        let mut html = String::new();
        of_schemes(&mut html, &schemes());
        assert!(html.contains("queueing delay at the bottleneck: 1.000 ms under a"), "{html}");
        assert!(html.contains("idle time of the bottleneck: 1.0 % under a, 11.0 % under b."), "{html}");
        assert!(
            html.contains("<th class=\"number\">Dropped, pkt</th>") && !html.contains("Marked"),
            "{html}"
        );
    }

    #[test]
    fn minor_causes_are_omitted() {
        let mut schemes = schemes();
        for of in &mut schemes {
            of.runs[0].links[0].values.set(Metric::Utilisation, Some(0.9));
            of.runs[0].links[0].values.set(Metric::QueueMeanBytes, Some(12_500.0));
        }
        let mut html = String::new();
        of_schemes(&mut html, &schemes);
        assert!(!html.contains("Most of"), "{html}");
    }

    #[test]
    fn groups_state_their_losses() {
        let mut run = run_result(1, 75);
        run.groups[1].delay.mean = thalweg_proto::units::Duration::from_millis(44);
        run.flows[2].counts.lost_data = 223;
        run.flows[2].jitter = Some(thalweg_proto::units::Duration::from_millis(3));
        run.flows[0].counts.lost_data = 0;
        run.flows[1].counts.lost_data = 0;
        let mut html = String::new();
        let mut run = Run::from_result(&run);
        run.flows[2].values.set(Metric::Marked, Some(5.0));
        groups_why(&mut html, &[run]);
        let expected = "delay 44.00 ms on average of those that arrived, jitter 3.000 ms; lost 22.3 % of its packets (223 pkt); \
                        5 pkt arrived marked;";
        assert!(html.contains(expected), "{html}");
        assert_eq!(html.matches("of those that arrived").count(), 1, "the other group lost nothing: {html}");
    }

    #[test]
    fn means_of_counts_are_short() {
        assert_eq!([7.6, 4.0, 1623.6, 0.04].map(round_mean), ["7.6", "4", "1624", "0"]);
    }
}
