//! First screen of a report: the winner, its lead, its significance and the reasons.

use super::first_screen_cards::{Card, write_cards};
use super::html_text_and_pages::{TEXT_STYLE, escape};
use super::interval_bars::interval_bar;
use super::result_reasons::{self, MAX_GROUPS, capitalise};
use crate::output::{
    Certainty, DETERMINISTIC, Datum, Remedy, Scale, Style, Verdict, aborted_schemes, all_remarks,
    are_all_identical, cell_text, decide_verdicts, differing_defaults_warning, format_rate, format_seconds,
    heads_of, identical_runs_sentences, join_listed,
};
use crate::results::{
    Body, Document, Flow, Metric, Metrics, Run, SchemeResults, SubjectKind, Summary, Tables,
};
use crate::statistics::Estimate;
use std::fmt::Write as _;

/// Returns the HTML section that answers the document's question.
pub(super) fn answer_section(document: &Document) -> String {
    let mut html = String::from("<section id=\"answer\" aria-label=\"Answer\">\n");
    if !document.complete {
        html.push_str("<p class=\"warning\">Partial: the runs were interrupted.</p>\n");
    }
    match &document.body {
        Body::Comparison { margin, schemes, .. } => {
            html.extend(
                differing_defaults_warning(&document.unlike_defaults, Remedy::Command)
                    .map(|warning| format!("<p class=\"warning\">{}</p>\n", escape(&warning))),
            );
            match document.parts().map(|parts| parts.compared) {
                Some(compared_part) => {
                    let names = document.compared.iter().flat_map(|of| &of.groups);
                    let names: Vec<&str> = names.map(String::as_str).collect();
                    let _ = writeln!(
                        html,
                        "<p class=\"note\">Compared: {}; the other flows keep their schemes.</p>",
                        escape(&join_listed(&names))
                    );
                    if let Body::Comparison { schemes, .. } = &compared_part.body {
                        write_comparison(&mut html, &compared_part, schemes, *margin);
                    }
                }
                None => write_comparison(&mut html, document, schemes, *margin),
            }
        }
        Body::Run { runs } => write_run(&mut html, document, runs, None),
        Body::Replications { runs, summary } => write_run(&mut html, document, runs, summary.as_ref()),
    }
    for sentence in all_remarks(document, Style::PLAIN) {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&sentence));
    }
    html.push_str("</section>\n");
    html
}

fn write_comparison(html: &mut String, document: &Document, schemes: &[SchemeResults], margin: f64) {
    let verdicts = decide_verdicts(schemes, margin, document.contention.as_ref());
    if let Some(sentence) = aborted_schemes(schemes) {
        let _ = writeln!(html, "<p class=\"warning\">{}</p>", escape(&sentence));
    }
    for sentence in identical_runs_sentences(schemes) {
        let _ = writeln!(html, "<p>{}</p>", escape(&sentence));
    }
    let cards: Vec<Card> = verdicts.iter().map(|of| verdict_card(of, document.deterministic)).collect();
    write_cards(html, &cards, false);
    write_scores(html, schemes);
    let summaries = || schemes.iter().filter_map(|of| of.summary.as_ref());
    let runs = summaries().map(|summary| summary.runs).min();
    let same = summaries().all(|summary| summary.different == 1);
    let note = match runs {
        None => "No run is complete: there is nothing to compare.".to_owned(),
        Some(1) if document.deterministic => DETERMINISTIC.to_owned(),
        Some(1) if are_all_identical(schemes) => "These are single runs.".to_owned(),
        Some(1) => {
            "These are single runs: <code>--reps 5</code> shows whether the differences are more than chance."
                .to_owned()
        }
        Some(runs) if same => {
            format!(
                "The {runs} runs of each scheme are the same: they count as one, and show no random variation."
            )
        }
        Some(runs) => format!(
            "Means over {runs} runs ± 95 % intervals; all schemes used the same random numbers. Bars of a column have one scale."
        ),
    };
    let _ = writeln!(html, "<p class=\"note\">{note}</p>");
    result_reasons::of_schemes(html, schemes);
}

/// Returns the HTML section that shows results side by side, without a verdict: the values, their differences from the first, and
/// the reasons. `notes` are sentences on what was measured, `warnings` on what makes it doubtful.
pub(super) fn side_by_side(document: &Document, notes: &[String], warnings: &[String]) -> String {
    let mut html = String::from("<section id=\"answer\" aria-label=\"Answer\">\n<h2>Side by side</h2>\n");
    for (class, sentences) in [("warning", warnings), ("note", notes)] {
        for sentence in sentences {
            let _ = writeln!(html, "<p class=\"{class}\">{}</p>", escape(sentence));
        }
    }
    if let Body::Comparison { schemes, .. } = &document.body {
        write_scores(&mut html, schemes);
        html.push_str("<p class=\"note\">Bars of a column have one scale.</p>\n");
        write_differences(&mut html, schemes);
        result_reasons::of_schemes(&mut html, schemes);
    }
    html.push_str("</section>\n");
    html
}

/// Writes the relative differences of all from the first.
fn write_differences(html: &mut String, schemes: &[SchemeResults]) {
    let Some((first, others)) = schemes.split_first().filter(|(_, others)| !others.is_empty()) else {
        return;
    };
    let value = |of: &SchemeResults, metric: Metric| {
        let mean = of.summary.as_ref()?.totals.get(metric.name(SubjectKind::Network))?.mean;
        Some(mean).filter(|mean| mean.is_finite())
    };
    let known = |metric: &Metric| value(first, *metric).is_some_and(|mean| mean != 0.0);
    let metrics: Vec<Metric> = Metric::in_table(Tables::BARS).filter(known).collect();
    let _ = write!(
        html,
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Difference from {}</th>",
        escape(&first.scheme)
    );
    for metric in &metrics {
        let _ = write!(html, "<th class=\"number\">{}</th>", heads_of(&[*metric]).concat());
    }
    html.push_str("</tr></thead><tbody>\n");
    for of in others {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(&of.scheme));
        for metric in &metrics {
            let relative = value(of, *metric).zip(value(first, *metric)).map(|(own, base)| own / base - 1.0);
            let _ = match relative {
                Some(relative) => write!(
                    html,
                    "<td class=\"number\" data-value=\"{relative}\">{}{}</td>",
                    if relative > 0.0 { "+" } else { "" },
                    Scale::PERCENT.fixed(relative, 1)
                ),
                None => write!(html, "<td class=\"number\">–</td>"),
            };
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn verdict_card(verdict: &Verdict, is_deterministic: bool) -> Card {
    let sure = match verdict.certainty {
        Certainty::Significant => ("yes", "Sure: more than chance"),
        Certainty::Open => (
            "no",
            if verdict.behind.is_empty() {
                "Not decided: may be chance"
            } else {
                "No clear winner among these"
            },
        ),
        Certainty::SingleRun if is_deterministic => ("yes", "Sure: nothing is random"),
        Certainty::SingleRun => ("unknown", "One run each: chance unknown"),
        Certainty::Equal => ("yes", "Less than matters"),
        Certainty::Unsettled => ("unknown", "Not settled: set a later warm-up"),
    };
    let main = match (&verdict.leader, verdict.certainty) {
        (_, Certainty::Unsettled) => "no verdict".to_owned(),
        (None, _) => "equal".to_owned(),
        // Lists the schemes that may be first, where others are excluded.
        (Some(_), Certainty::Open) if !verdict.behind.is_empty() && verdict.first.len() <= MAX_FIRST => {
            escape(&verdict.first.join(", "))
        }
        (Some(_), Certainty::Open) => "no clear winner".to_owned(),
        (Some(leader), _) => escape(leader),
    };
    let prefix = format!("No clear winner in {}: ", verdict.subject);
    let mut text = escape(verdict.sentence.strip_prefix(&prefix).unwrap_or(&verdict.sentence));
    if verdict.certainty == Certainty::Open && !verdict.behind.is_empty() {
        let _ = write!(
            text,
            " Behind by more than chance, by Holm's method for all {} comparisons: {}.",
            verdict.comparisons,
            escape(&verdict.behind.join(", "))
        );
    }
    Card { subject: capitalise(verdict.subject), main, text, sure: Some(sure) }
}

/// Writes the schemes side by side; each column has one scale.
fn write_scores(html: &mut String, schemes: &[SchemeResults]) {
    let value = |of: &SchemeResults, metric: Metric| {
        of.summary.as_ref().and_then(|summary| summary.totals.get(metric.name(SubjectKind::Network)).copied())
    };
    let known = |metric: &Metric| schemes.iter().any(|of| value(of, *metric).is_some());
    let metrics: Vec<Metric> = Metric::in_table(Tables::BARS).filter(known).collect();
    html.push_str("<div class=\"wide\"><table class=\"sortable scores\"><thead><tr><th>Scheme</th>");
    metrics.iter().for_each(|metric| {
        let _ = write!(html, "<th class=\"number\">{}</th>", heads_of(&[*metric]).concat());
    });
    html.push_str("</tr></thead><tbody>\n");
    for (position, of) in schemes.iter().enumerate() {
        let _ = write!(
            html,
            "<tr><th scope=\"row\"><i class=\"swatch s{}\"></i>{}</th>",
            position % COLOURS,
            escape(&of.scheme)
        );
        for &metric in &metrics {
            let all = schemes.iter().filter_map(|of| value(of, metric));
            let ends = all.map(|of| of.mean + of.ci95.unwrap_or(0.0));
            let max = if metric == Metric::Jain { 1.0 } else { ends.fold(0.0, f64::max) };
            match value(of, metric) {
                Some(estimate) => {
                    let _ = write!(
                        html,
                        "<td class=\"number s{}\" data-value=\"{}\">{}{}</td>",
                        position % COLOURS,
                        estimate.mean,
                        escape(&cell_text(metric, Some(Datum::Mean(estimate)), TEXT_STYLE)),
                        interval_bar(estimate.mean, estimate.ci95, max)
                    );
                }
                None => html.push_str("<td class=\"number\">–</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

/// Writes one run, or several runs with different seeds.
fn write_run(html: &mut String, document: &Document, runs: &[Run], summary: Option<&Summary>) {
    let Some(first) = runs.first() else { return };
    let estimate = |metric: &str, single: Option<f64>| {
        let mean = summary.and_then(|summary| summary.totals.get(metric).copied());
        mean.or(Estimate::from_values(&single.into_iter().collect::<Vec<_>>()))
    };
    let shown = |estimate: Option<Estimate>, scale: fn(f64) -> Scale| {
        estimate.map_or("–".to_owned(), |of| escape(&scale(of.mean).estimate(&of, TEXT_STYLE)))
    };
    let totals = &first.totals;
    let goodput = estimate("goodput_bps", totals.get(Metric::Goodput));
    let mut all: Vec<Card> = completion_card(first, summary).into_iter().collect();
    all.push(Card {
        subject: "Goodput".to_owned(),
        main: shown(goodput, Scale::for_rate),
        text: flows_words(first),
        sure: None,
    });
    if first.flows.len() > 1 {
        all.push(shares_card(
            first,
            summary,
            &shown(estimate("jain", totals.get(Metric::Jain)), |_| Scale::COUNT),
        ));
    }
    let worst = shown(estimate("delay_p99_worst_s", totals.get(Metric::DelayP99)), Scale::for_time);
    let shortest = first
        .groups
        .iter()
        .filter_map(|group| group.get(Metric::DelayMin))
        .reduce(f64::min)
        .map(format_seconds);
    let shortest = shortest.map(|time| format!("; the shortest was {}", escape(&time))).unwrap_or_default();
    all.push(Card {
        subject: "Delay, one way".to_owned(),
        main: shown(estimate("delay_mean_s", totals.get(Metric::DelayMean)), Scale::for_time),
        text: format!(
            "on average, of packets that arrived; 99 % of those of the slowest group took less than {worst}{shortest}"
        ),
        sure: None,
    });
    all.push(certainty_card(runs, goodput, document.deterministic));
    write_cards(html, &all, true);
    result_reasons::of_runs(html, runs);
}

/// Returns the card of completion times; `None` where no transfer ended.
fn completion_card(first: &Run, summary: Option<&Summary>) -> Option<Card> {
    let datum = |metric: Metric| match summary {
        Some(summary) => summary.totals.get(metric.name(SubjectKind::Network)).copied().map(Datum::Mean),
        None => first.totals.get(metric).map(Datum::One),
    };
    let shown = |metric: Metric| escape(&cell_text(metric, datum(metric), TEXT_STYLE));
    datum(Metric::CompletionMean)?;
    let unfinished = match datum(Metric::Unfinished) {
        Some(Datum::One(0.0)) | None => String::new(),
        Some(Datum::Mean(estimate)) if estimate.max == 0.0 => String::new(),
        Some(_) => format!("; not ended: {}", shown(Metric::Unfinished)),
    };
    Some(Card {
        subject: "Completion time".to_owned(),
        main: shown(Metric::CompletionMean),
        text: format!(
            "on average; median {}, 99th percentile {}; {} times as long as alone{unfinished}",
            shown(Metric::CompletionP50),
            shown(Metric::CompletionP99),
            shown(Metric::SlowdownMean),
        ),
        sure: None,
    })
}

fn flows_words(run: &Run) -> String {
    let flows = run.flows.len();
    let schemes: Vec<String> = run.groups.iter().fold(Vec::new(), |mut names, group| {
        if !names.contains(&group.scheme) {
            names.push(group.scheme.clone());
        }
        names
    });
    format!(
        "payload of {flows} flow{} ({}), each byte once",
        if flows == 1 { "" } else { "s" },
        escape(&schemes.join(", "))
    )
}

/// Returns the card of shares: the flows or groups with the most and the least.
fn shares_card(run: &Run, summary: Option<&Summary>, jain: &str) -> Card {
    let share =
        |of: &Flow| of.get(Metric::Share).map_or("–".to_owned(), |share| Scale::PERCENT.fixed(share, 1));
    let groups = &run.groups;
    let (main, text) = if (2..=MAX_GROUPS).contains(&groups.len()) {
        let goodput = |position: usize| {
            let mean = |metrics: &Metrics| metrics.get("goodput_bps").map(|of| of.mean);
            summary
                .and_then(|of| of.groups.get(position))
                .and_then(|of| mean(&of.metrics))
                .unwrap_or(groups[position].or_zero(Metric::Goodput))
        };
        let total: f64 = (0..groups.len()).map(goodput).sum();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&a, &b| goodput(b).total_cmp(&goodput(a)));
        let part = |&position: &usize| {
            let share = if total > 0.0 { goodput(position) / total } else { 0.0 };
            (
                format!("{} {}", escape(&groups[position].name), Scale::PERCENT.fixed(share, 1)),
                escape(&groups[position].scheme),
            )
        };
        let parts: Vec<(String, String)> = order.iter().map(part).collect();
        let main = parts.first().map(|(name_and_share, _)| name_and_share.clone()).unwrap_or_default();
        let rest: Vec<String> =
            parts.iter().map(|(name_and_share, scheme)| format!("{name_and_share} ({scheme})")).collect();
        (main, rest.join(", "))
    } else {
        let goodput = |flow: &Flow| flow.or_zero(Metric::Goodput);
        let max = run.flows.iter().max_by(|a, b| goodput(a).total_cmp(&goodput(b)));
        let min = run.flows.iter().min_by(|a, b| goodput(a).total_cmp(&goodput(b)));
        let rate_and_share = |flow: Option<&Flow>| {
            flow.map(|flow| {
                format!("{} {} ({})", escape(&flow.name), format_rate(goodput(flow)), share(flow))
            })
            .unwrap_or_default()
        };
        (format!("Jain {jain}"), format!("most: {}; least: {}", rate_and_share(max), rate_and_share(min)))
    };
    let text = if main.starts_with("Jain") { text } else { format!("{text}; Jain's index {jain}") };
    Card { subject: "Shares".to_owned(), main, text, sure: None }
}

fn certainty_card(runs: &[Run], goodput: Option<Estimate>, is_deterministic: bool) -> Card {
    let subject = "How sure".to_owned();
    let relative = goodput.and_then(|of| Some(of.ci95? / of.mean)).filter(|of| of.is_finite());
    match (runs.len(), relative) {
        _ if is_deterministic => Card {
            subject,
            main: "exact".to_owned(),
            text: "every replication gives this run".to_owned(),
            sure: Some(("yes", "Nothing is random")),
        },
        (1, _) | (_, None) => Card {
            subject,
            main: "one run".to_owned(),
            text: "exact for this seed; <code>--reps 5</code> shows the random variation".to_owned(),
            sure: Some(("unknown", "Chance unknown")),
        },
        (count, Some(relative)) => Card {
            subject,
            main: format!("± {}", Scale::PERCENT.fixed(relative, 1)),
            text: format!("of goodput: 95 % interval by Student's t over {count} runs under different seeds"),
            sure: Some(if relative <= 0.05 {
                ("yes", "Narrow")
            } else {
                ("no", "Wide: more runs narrow it")
            }),
        },
    }
}

/// Maximum number of names in a title.
const MAX_FIRST: usize = 3;

/// Number of colours for schemes and flows, used in turn.
const COLOURS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Header;
    use crate::results::test_fixtures::{run_result, test_header};

    fn runs(mbits: [u64; 3]) -> Vec<Run> {
        mbits.iter().zip(1..).map(|(mbits, seed)| Run::from_result(&run_result(seed, *mbits))).collect()
    }

    fn compare_text(a: [u64; 3], b: [u64; 3]) -> String {
        let schemes = vec![("<vegas>".to_owned(), runs(a)), ("cubic".to_owned(), runs(b))];
        answer_section(&Document::from_comparison(test_header(&[1, 2, 3]), schemes))
    }

    #[test]
    fn a_comparison_states_winner_and_significance() {
        let clear = compare_text([70, 71, 70], [50, 50, 49]);
        assert!(
            clear.contains("<p class=\"main\">&lt;vegas&gt;</p><p class=\"sure yes\">Sure: more than chance"),
            "{clear}"
        );
        assert!(clear.contains("excludes zero"), "{clear}");
        let open = compare_text([70, 40, 60], [50, 60, 61]);
        assert!(open.contains("no clear winner</p><p class=\"sure no\">"), "{open}");
        let schemes = vec![
            ("a".to_owned(), runs([70, 40, 60])),
            ("b".to_owned(), runs([50, 60, 61])),
            ("c".to_owned(), runs([1, 2, 2])),
        ];
        let three = answer_section(&Document::from_comparison(test_header(&[1, 2, 3]), schemes));
        assert!(
            three.contains(">b, a</p>")
                && three.contains("Behind by more than chance, by Holm's method for all 9 comparisons: c."),
            "{three}"
        );
        assert!(open.contains("At link left → right,") && open.contains(">98.7 %</td>"), "{open}");
    }

    #[test]
    fn deterministic_and_identical_runs_are_called_so() {
        let compared = |b: [u64; 3]| {
            let schemes = [("a", [70; 3]), ("b", b)];
            let schemes = schemes.map(|(name, mbits)| (name.to_owned(), runs(mbits)[..1].to_vec()));
            let header = Header { deterministic: true, ..test_header(&[1]) };
            answer_section(&Document::from_comparison(header, schemes.to_vec()))
        };
        let different = compared([80; 3]);
        assert!(
            different.contains("Sure: nothing is random") && !different.contains("--reps"),
            "{different}"
        );
        let identical = compared([70; 3]);
        assert!(
            identical.contains("<p>a and b gave identical runs") && !identical.contains("equal"),
            "{identical}"
        );
    }

    #[test]
    fn completion_times_lead_when_transfers_finish() {
        let run = |seed: u64, millis: u64| {
            let mut result = run_result(seed, 75);
            let mean = thalweg_proto::units::Duration::from_millis(millis);
            result.transfers.completion = thalweg_sim::Summary { count: 9, mean, ..Default::default() };
            result.transfers.slowdown = thalweg_sim::Ratios { count: 9, mean: 2.25, ..Default::default() };
            result.transfers.unfinished = 3;
            Run::from_result(&result)
        };
        let one = answer_section(&Document::from_runs(test_header(&[1]), vec![run(1, 40)]));
        let card = one.find("Completion time</h2><p class=\"main\">40.00 ms").expect("a card");
        assert!(card < one.find("Goodput</h2>").unwrap(), "{one}");
        assert!(one.contains("2.25 times as long as alone; not ended: 3"), "{one}");
        let schemes = vec![
            ("a".to_owned(), vec![run(1, 40), run(2, 41)]),
            ("b".to_owned(), vec![run(1, 60), run(2, 62)]),
        ];
        let two = answer_section(&Document::from_comparison(test_header(&[1, 2]), schemes));
        let head = two.find("<th class=\"number\">Time mean</th>").expect("a column");
        assert!(head < two.find("<th class=\"number\">Goodput</th>").unwrap(), "{two}");
    }

    #[test]
    fn a_run_states_goodput_shares_and_bottlenecks() {
        let one = answer_section(&Document::from_runs(test_header(&[1]), runs([75, 75, 75])[..1].to_vec()));
        for expected in [
            "95.00 Mbit/s",
            "bold 78.9 %",
            "shy 21.1 % (vegas)",
            "one run",
            "36 pkt dropped by queues",
            "held back by: congestion window 71 %",
        ] {
            assert!(one.contains(expected), "no `{expected}` in {one}");
        }
        let header = Header { deterministic: true, ..test_header(&[1]) };
        let exact = answer_section(&Document::from_runs(header, runs([75, 75, 75])[..1].to_vec()));
        assert!(exact.contains("Nothing is random") && !exact.contains("--reps"), "{exact}");
        let several = answer_section(&Document::from_runs(test_header(&[1, 2, 3]), runs([75, 76, 77])));
        assert!(several.contains("over 3 runs") && several.contains("± 2.6 %"), "{several}");
    }
}
