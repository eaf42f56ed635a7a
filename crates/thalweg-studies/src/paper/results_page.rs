//! Results page of a reproduced study: published and simulated values, and claims.

use crate::paper::{Claim, HIDDEN_KEYS, Verdict, VerdictCounts, format_number, metric_words};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use thalweg_report::report::first_screen_cards::{Card, write_cards};
use thalweg_report::report::html_text_and_pages::{Page, escape};

/// Returns the results page of a paper, from the JSON of [`Results::to_json`](crate::paper::Results::to_json). `title`
/// is the paper's.
///
/// # Errors
///
/// Returns a description of the error if `json` is not such a document.
pub fn paper_report(title: &str, version: &str, json: &str) -> Result<String, String> {
    let document: Document = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut body = String::from("<section id=\"answer\" aria-label=\"Answer\">\n");
    if !document.complete {
        body.push_str("<p class=\"warning\">Partial: the runs were interrupted.</p>\n");
    }
    write_cards(&mut body, &paper_cards(&document), true);
    body.push_str("</section>\n");
    write_claims(&mut body, &document.claims);
    write_overview(&mut body, &document.experiments);
    body.push_str("<section aria-label=\"Values\">\n<h2>Values</h2>\n");
    document
        .experiments
        .iter()
        .enumerate()
        .for_each(|(position, of)| write_experiment(&mut body, position, of));
    body.push_str("</section>\n");
    let subtitle = "Our runs beside the published values";
    Ok(Page { title, subtitle, body: &body, data: None, version }.render())
}

#[derive(Deserialize)]
struct Document {
    #[serde(default = "default_true")]
    complete: bool,
    experiments: Vec<Experiment>,
    claims: Vec<Claim>,
}

fn default_true() -> bool {
    true
}

#[derive(Deserialize)]
struct Experiment {
    id: String,
    #[serde(default)]
    title: String,
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    scheme: String,
    metric: String,
    value: Option<f64>,
    ci95: Option<f64>,
    published: Option<Value>,
    relative_difference: Option<f64>,
    #[serde(flatten)]
    keys: Map<String, Value>,
}

fn paper_cards(document: &Document) -> Vec<Card> {
    let mut cards = Vec::new();
    let mut card = |subject: &str, main: &str, sure, text: &str| {
        cards.push(Card { subject: subject.to_owned(), main: main.to_owned(), text: text.to_owned(), sure });
    };
    claim_cards(&document.claims, &mut card);
    let rows = || document.experiments.iter().flat_map(|of| &of.results);
    let differences: Vec<f64> = rows().filter_map(|row| row.relative_difference).map(f64::abs).collect();
    let count = differences.len();
    if let Some(middle) = median_of(&differences) {
        let within = |max: f64| differences.iter().filter(|of| **of <= max).count();
        let text = format!(
            "median distance of {count} values from the published ones; {} lie within 5 %, {} within 10 %, {} within 25 %",
            within(0.05),
            within(0.10),
            within(0.25)
        );
        card("How near", &format_percent(middle), None, &text);
    }
    let by_metric = by_metric(rows());
    if by_metric.len() > 1 {
        // The median of all values must not hide large deviations.
        let farthest = by_metric.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let words = |(metric, median, count): &(String, f64, usize)| {
            format!("{} of {count} of {}", format_percent(*median), escape(metric))
        };
        if let Some((metric, median, count)) = farthest {
            let others = by_metric.iter().filter(|(other, ..)| other != metric).take(2);
            let others: Vec<String> = others.map(words).collect();
            let text = format!(
                "median distance of {count} values of {}; against {}",
                escape(metric),
                others.join(", ")
            );
            card("Farthest", &format_percent(*median), None, &text);
        }
    }
    cards.push(variation_card(document));
    cards
}

/// Adds a card for the claims of the paper and one for those of this project, where there are any.
fn claim_cards(
    claims: &[Claim],
    card: &mut impl FnMut(&str, &str, Option<(&'static str, &'static str)>, &str),
) {
    if claims.is_empty() {
        card(
            "Claims that hold",
            "not judged",
            Some(("unknown", "Not judged")),
            "these experiments alone decide no claim",
        );
    }
    for (ours, subject) in [(false, "Claims that hold"), (true, "Our own that hold")] {
        let claims: Vec<&Claim> = claims.iter().filter(|claim| claim.ours == ours).collect();
        let tally = VerdictCounts::from_claims(claims.iter().copied());
        if tally.all() == 0 {
            continue;
        }
        let ids = |verdict| {
            let ids = claims.iter().filter(|claim| claim.verdict == verdict).map(|claim| escape(&claim.id));
            ids.collect::<Vec<_>>().join(", ")
        };
        let (sign_only, failing) = (ids(Verdict::SignOnly), ids(Verdict::Fails));
        let mut text = Vec::new();
        if !sign_only.is_empty() {
            text.push(format!("in direction, not in size: {sign_only}"));
        }
        if !failing.is_empty() {
            text.push(format!("not borne out: {failing}"));
        }
        let sure = match (sign_only.is_empty(), failing.is_empty()) {
            (true, true) => ("yes", "All hold"),
            (false, true) => ("unknown", "Some in direction, not in size"),
            (_, false) => ("no", "Some do not hold"),
        };
        if text.is_empty() {
            text.push("every claim that these experiments decide is borne out".to_owned());
        }
        let holding = claims.iter().filter(|claim| claim.holds()).count();
        card(subject, &format!("{holding} of {}", tally.all()), Some(sure), &text.join("; "));
    }
}

/// Returns the card on the random variation of our values.
fn variation_card(document: &Document) -> Card {
    let rows = || document.experiments.iter().flat_map(|of| &of.results);
    let half = |row: &Row| Some(row.ci95.filter(|half| *half > 0.0)? / row.value?.abs());
    let halves: Vec<f64> = rows().filter_map(half).filter(|half| half.is_finite()).collect();
    let fixed = rows().count() - halves.len();
    let (main, text) = match median_of(&halves) {
        Some(middle) => (
            format!("± {}", format_percent(middle)),
            format!(
                "median 95 % interval of {} values that are means over several seeds; {fixed} come from runs without chance",
                halves.len()
            ),
        ),
        None => ("no intervals".to_owned(), format!("all {fixed} values come from single runs")),
    };
    Card { subject: "How sure".to_owned(), main, text, sure: None }
}

/// Returns the median, the upper of two.
fn median_of(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Returns each metric with the median distance of its values from the published ones and their number, in descending
/// order of the number.
fn by_metric<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<(String, f64, usize)> {
    let mut metrics: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(difference) = row.relative_difference {
            metrics.entry(&row.metric).or_default().push(difference.abs());
        }
    }
    let of_metric = |(metric, differences): (&str, Vec<f64>)| {
        Some((metric_words(metric), median_of(&differences)?, differences.len()))
    };
    let mut found: Vec<(String, f64, usize)> = metrics.into_iter().filter_map(of_metric).collect();
    found.sort_by_key(|(.., count)| core::cmp::Reverse(*count));
    found
}

fn write_claims(html: &mut String, claims: &[Claim]) {
    if claims.is_empty() {
        return;
    }
    html.push_str("<section aria-label=\"Claims\">\n<h2>Claims</h2>\n<p class=\"note\">Each opens with the numbers that decide it.</p>\n<div class=\"claims\">\n");
    for (wanted, class) in [(Verdict::Fails, "no"), (Verdict::SignOnly, "unknown"), (Verdict::Holds, "yes")] {
        // A claim that does not hold, or not in size, shows its evidence at once.
        let open = if wanted == Verdict::Holds { "" } else { " open" };
        let verdict = wanted.label();
        for claim in claims.iter().filter(|claim| claim.verdict == wanted) {
            let (id, text) = (escape(&claim.id), escape(&claim.text));
            let section = match (claim.ours, claim.section.is_empty()) {
                (true, _) => " (ours)".to_owned(),
                (false, true) => String::new(),
                (false, false) => format!(" ({})", escape(&claim.section)),
            };
            let _ = writeln!(
                html,
                "<details{open}><summary><span class=\"sure {class}\">{id} {verdict}</span> {text}{section}</summary><ul class=\"evidence\">"
            );
            for step in claim.evidence.replace(". Against it", "; Against it").split("; ") {
                let step = step.replace("+/-", "±").replace(">=", "≥").replace("<=", "≤");
                let _ = writeln!(html, "<li>{}</li>", escape(&step));
            }
            html.push_str("</ul></details>\n");
        }
    }
    html.push_str("</div>\n</section>\n");
}

/// Appends one line per experiment with a mark for each value, by its distance from the published one.
fn write_overview(html: &mut String, experiments: &[Experiment]) {
    let with = experiments.iter().enumerate();
    let with: Vec<(usize, &Experiment)> =
        with.filter(|(_, of)| of.results.iter().any(|row| row.relative_difference.is_some())).collect();
    if with.is_empty() {
        return;
    }
    html.push_str("<section aria-label=\"Distance from the published values\">\n<h2>Distance from the published values</h2>\n");
    let _ = writeln!(
        html,
        "<p class=\"note\">Each mark is a value; the band is ± 10 %. Marks at the edge lie {} % away or further. A name leads to its table.</p>\n<div class=\"strips\">",
        EDGE * 100.0
    );
    for (position, of) in with {
        let _ = write!(
            html,
            "<a href=\"#experiment-{position}\">{}</a><svg viewBox=\"-52 0 104 12\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><rect class=\"band\" x=\"-10\" width=\"20\" height=\"12\"/><path class=\"zero\" d=\"M0 0V12\"/>",
            escape(&of.id),
            escape(&text_alternative(of))
        );
        for difference in of.results.iter().filter_map(|row| row.relative_difference) {
            let x = difference.clamp(-EDGE, EDGE) * 100.0;
            let _ = write!(html, "<path class=\"mark\" d=\"M{x:.2} 2V10\"/>");
        }
        html.push_str("</svg>\n");
    }
    html.push_str("</div>\n</section>\n");
}

/// Returns the text alternative of an experiment's line, for screen readers.
fn text_alternative(of: &Experiment) -> String {
    let differences = || of.results.iter().filter_map(|row| row.relative_difference);
    let (low, high) = differences().fold((f64::MAX, f64::MIN), |(low, high), of| (low.min(of), high.max(of)));
    format!(
        "{}: {} values, {} to {}",
        of.id,
        differences().count(),
        format_signed_percent(low),
        format_signed_percent(high)
    )
}

fn write_experiment(html: &mut String, position: usize, of: &Experiment) {
    let title = if of.title.is_empty() { String::new() } else { format!(": {}", escape(&of.title)) };
    let is_published = of.results.iter().any(|row| row.published.is_some());
    let open = if is_published { "open " } else { "" };
    let _ = writeln!(
        html,
        "<details {open}id=\"experiment-{position}\"><summary>{}{title}</summary>\n<div class=\"wide\"><table class=\"sortable\"><thead><tr>",
        escape(&of.id)
    );
    let mut keys: Vec<&String> = Vec::new();
    for key in of.results.iter().flat_map(|row| row.keys.keys()) {
        if !keys.contains(&key) && !HIDDEN_KEYS.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    html.push_str("<th>Scheme</th><th>Metric</th>");
    keys.iter().for_each(|key| {
        let _ = write!(html, "<th>{}</th>", escape(&key.replace('_', " ")));
    });
    let heads: &[&str] = if is_published { &["Ours", "Published", "Difference"] } else { &["Ours"] };
    for head in heads {
        let _ = write!(html, "<th class=\"number\">{head}</th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    of.results.iter().for_each(|row| row_html(html, row, &keys, is_published));
    html.push_str("</tbody></table></div></details>\n");
}

fn row_html(html: &mut String, row: &Row, keys: &[&String], is_published: bool) {
    let _ =
        write!(html, "<tr><td>{}</td><td>{}</td>", escape(&row.scheme), escape(&metric_words(&row.metric)));
    for key in keys {
        let _ = write!(
            html,
            "<td>{}</td>",
            row.keys.get(*key).map(|value| escape(&value_text(value))).unwrap_or_default()
        );
    }
    let mut cell = |value: Option<f64>, text: &str| {
        let data = value.map(|value| format!(" data-value=\"{value}\"")).unwrap_or_default();
        let _ = write!(html, "<td class=\"number\"{data}>{text}</td>");
    };
    let interval = row.ci95.map(|half| format!(" ± {}", format_number(half))).unwrap_or_default();
    cell(row.value, &row.value.map_or("–".to_owned(), |value| format!("{}{interval}", format_number(value))));
    if !is_published {
        html.push_str("</tr>\n");
        return;
    }
    let published = row.published.as_ref();
    cell(
        published.and_then(Value::as_f64),
        &published.map_or("–".to_owned(), |value| escape(&value_text(value))),
    );
    cell(row.relative_difference, &row.relative_difference.map_or(String::new(), format_signed_percent));
    html.push_str("</tr>\n");
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn format_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn format_signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0).replace('-', "−")
}

/// Largest distance shown in the overview.
const EDGE: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"paper": "x", "experiments": [
        {"id": "table-1", "title": "Some <b>", "results": [
            {"scheme": "seif", "metric": "throughput_kbps", "source": 1, "table": "t", "value": 31.5, "ci95": 0.25,
             "published": 30, "relative_difference": 0.05},
            {"scheme": "seif", "metric": "delay_ms", "source": 2, "value": null, "published": "> 70"}]}],
        "claims": [{"id": "1", "text": "a", "verdict": "holds", "evidence": "2 > 1"},
                   {"id": "2", "section": "4.2", "text": "b", "verdict": "does-not-hold", "evidence": "1 < 2"},
                   {"id": "3", "text": "c", "verdict": "sign-only", "evidence": "3 > 2. Against its size: 9"},
                   {"id": "4", "ours": true, "text": "d", "verdict": "holds", "evidence": "4 > 3"}]}"#;

    #[test]
    fn values_stand_beside_the_published_ones() {
        let page = paper_report("A & B", "0.0.0", JSON).unwrap();
        for words in [
            "<h1>A &amp; B</h1>",
            "1 of 3",
            "in direction, not in size: 3; not borne out: 2",
            "1 of 1",
            "b (4.2)",
            "d (ours)",
            "<li>Against its size: 9</li>",
            "31.50 ± 0.250",
            ">30<",
            "+5.0 %",
            "&gt; 70",
            "throughput, kbit/s",
            "Some &lt;b&gt;",
            "<th>source</th>",
        ] {
            assert!(page.contains(words), "no `{words}` in {page}");
        }
        assert!(page.contains("± 0.8 %") && page.contains("interval of 1 values"), "0.25 of 31.5");
        assert!(
            page.contains("<details open><summary><span class=\"sure no\">2")
                && page.contains("<li>1 &lt; 2</li>")
        );
        assert!(!page.contains("<th>table</th>"));
        let place = |words: &str| page.find(words).unwrap();
        assert!(place("2 does not hold") < place("3 holds in direction, not in size"));
        assert!(place("3 holds in direction, not in size") < place("1 holds"));
    }

    #[test]
    fn unknown_papers_are_rejected() {
        assert!(paper_report("x", "0", "{}").unwrap_err().contains("experiments"));
        assert!(paper_report("x", "0", "[").is_err());
    }
}
