//! Assessment as an HTML page.

use crate::claim_decisions::ClaimOutcome;
use crate::results_document::{
    ClaimResults, Document, ExperimentResults, PointResults, SectionResults, Verdict,
};
use crate::svg_curves::draw_transient;
use crate::text_output::{
    TESTS, claim_line, defaults_warning, describe_parameters, evidence_kind, format_point,
    format_verdict_counts, point_words, rfc9743_statement, router_support_sentence, shorten_factor_name,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use thalweg_report::report::first_screen_cards::{Card, write_cards};
use thalweg_report::report::html_text_and_pages::{Page, TEXT_STYLE, escape};
use thalweg_sweep::svg_charts::HeatMap;

/// Returns the page: the verdicts, the harm to other flows, each section with maps of its points, and the margins.
pub fn page(document: &Document) -> String {
    let mut body = String::from("<section id=\"answer\" aria-label=\"Answer\">\n");
    if !document.complete {
        body.push_str("<p class=\"warning\">Partial: runs are missing.</p>\n");
    }
    body.extend(
        defaults_warning(document).map(|warning| format!("<p class=\"warning\">{}</p>\n", escape(&warning))),
    );
    if let Some(needs) = &document.needs_routers {
        let _ = writeln!(body, "<p class=\"warning\">{}</p>", escape(&router_support_sentence(needs)));
    }
    write_cards(&mut body, &answer_cards(document), true);
    let _ = writeln!(
        body,
        "<p>{}</p><p class=\"note\">{}</p>",
        escape(&format_verdict_counts(document)),
        escape(TESTS)
    );
    body.push_str("</section>\n");
    write_failures(&mut body, document);
    write_overview(&mut body, document);
    document.sections.iter().for_each(|section| write_section(&mut body, section));
    write_margins(&mut body, document);
    let paragraphs = [evidence_kind(document)].into_iter().chain(rfc9743_statement(document));
    let paragraphs = paragraphs.collect::<Vec<_>>().join("\n\n");
    body.push_str("<section aria-label=\"Evidence\"><h2>Evidence</h2>\n");
    paragraphs.split("\n\n").for_each(|text| body.push_str(&format!("<p>{}</p>\n", escape(text))));
    body.push_str("</section>\n");
    Page {
        title: &format!("{}: {}", document.pack, document.scheme),
        subtitle: &describe_parameters(document),
        body: &body,
        data: None,
        version: &document.tool_version,
    }
    .render()
}

fn answer_cards(document: &Document) -> Vec<Card> {
    let card = |verdict: Verdict, class, sure, text: &str| {
        let sections: BTreeSet<&str> = document
            .claims()
            .filter(|(.., claim)| claim.verdict == verdict)
            .map(|(section, ..)| section.number.as_str())
            .collect();
        let sections: Vec<&str> = sections.into_iter().collect();
        let sections =
            if sections.is_empty() { String::new() } else { format!(": sections {}", sections.join(", ")) };
        Card {
            subject: format!("Claims that {text}"),
            main: document.count(verdict).to_string(),
            text: format!("of {}{}", document.claims().count(), escape(&sections)),
            sure: Some((class, sure)),
        }
    };
    vec![
        card(Verdict::Holds, "yes", "at every point", "hold"),
        card(Verdict::DoesNotHold, "no", "at some point", "do not hold"),
        card(Verdict::NotDecided, "unknown", "at this number of runs", "are not decided"),
    ]
}

fn write_failures(html: &mut String, document: &Document) {
    if document.failed.is_empty() {
        return;
    }
    html.push_str("<section aria-label=\"Failed points\"><h2>Points without a result</h2>\n");
    for failed in document.failed.iter().take(MAX_FAILURES) {
        let values: Vec<String> =
            failed.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(
            html,
            "<details><summary>{} with {} ({})</summary><pre>{}\n\n{}</pre></details>",
            escape(&failed.sweep),
            escape(&failed.scheme),
            escape(&values.join(", ")),
            failed.why.lines().map(escape).collect::<Vec<_>>().join("\n"),
            escape(&failed.command)
        );
    }
    html.push_str("</section>\n");
}

fn verdict_css_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "yes",
        Verdict::DoesNotHold => "no",
        Verdict::NotDecided | Verdict::NotEvaluated => "unknown",
    }
}

fn write_overview(html: &mut String, document: &Document) {
    html.push_str("<section aria-label=\"Claims\"><h2>Claims</h2>\n<p class=\"note\">The worst point of each claim: the distance from the reference as a share of its value, or the value where a bound decides.</p>\n<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Section</th><th>Claim</th><th>Verdict</th><th class=\"number\">Points</th><th class=\"number\">Within</th><th class=\"number\">Beyond</th><th>At worst</th></tr></thead><tbody>\n");
    for (section, experiment, claim) in document.claims() {
        let worst =
            claim.worst_point().map(|point| format_point(claim, point, TEXT_STYLE)).unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}: {}</td><td class=\"{}\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&section.number),
            escape(&experiment.title),
            escape(&claim.text),
            verdict_css_class(claim.verdict),
            claim.verdict.label(),
            claim.points.len(),
            claim.count(ClaimOutcome::Holds),
            claim.count(ClaimOutcome::DoesNotHold),
            escape(&worst)
        );
    }
    html.push_str("</tbody></table></div></section>\n");
}

fn write_section(html: &mut String, section: &SectionResults) {
    let title = escape(&format!("{} {}", section.number, section.title));
    let _ = writeln!(html, "<section aria-label=\"{title}\"><h2>{title}: {}</h2>", section.verdict.label());
    if let Some(reason) = &section.not_evaluated {
        let _ = writeln!(html, "<p>Not evaluated because {}.</p>", escape(reason));
    }
    for experiment in &section.experiments {
        let _ = writeln!(html, "<h3>{}</h3>", escape(&experiment.title));
        let _ =
            writeln!(html, "<p class=\"note\"><code>thalweg sweep {}</code></p>", escape(&experiment.sweep));
        experiment.transients.iter().for_each(|transient| draw_transient(html, transient));
        for claim in &experiment.claims {
            let _ = writeln!(
                html,
                "<p class=\"sure {}\">{}</p>",
                verdict_css_class(claim.verdict),
                escape(&claim_line(claim, TEXT_STYLE))
            );
            write_factor_map(html, claim);
            write_claim_table(html, experiment, claim);
        }
    }
    html.push_str("</section>\n");
}

/// Draws the points over the two factors with the most values; a cell shows the worst of its points.
fn write_factor_map(html: &mut String, claim: &ClaimResults) {
    let mut factors: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in claim.points.iter().flat_map(|point| &point.values) {
        let values = factors.entry(name).or_default();
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    let mut factors: Vec<(&str, Vec<&str>)> =
        factors.into_iter().filter(|(_, values)| values.len() > 1).collect();
    factors.sort_by_key(|(_, values)| core::cmp::Reverse(values.len()));
    let Some((across, columns)) = factors.first() else { return };
    let (down, rows) = factors.get(1).map_or(("", vec![""]), |(down, rows)| (*down, rows.clone()));
    let has = |point: &PointResults, factor: &str, value: &str| {
        factor.is_empty() || point.values.get(factor).is_some_and(|level| level == value)
    };
    let cell = |row: &str, column: &str| {
        let here = claim.points.iter().filter(|point| has(point, across, column) && has(point, down, row));
        let worst = here.filter_map(|point| claim.severity(point)).max_by(f64::total_cmp)?;
        let value = if claim.less_is_better { worst } else { -worst };
        let text = match claim.is_relative {
            true => format!("{:+.0} %", 100.0 * value),
            false => crate::text_output::format_claim_value(claim, value),
        };
        Some((-worst, text))
    };
    let cells: Vec<Vec<Option<(f64, String)>>> =
        rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
    // For relative distances, the colour scale is fixed: -50 % to +50 %.
    let known = || cells.iter().flatten().flatten().map(|(value, _)| *value);
    let scale = match claim.is_relative {
        true => (-0.5, 0.5),
        false => (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max)),
    };
    let (across, down) = (shorten_factor_name(across), shorten_factor_name(down));
    let factors = if down.is_empty() { across.clone() } else { format!("{across} and {down}") };
    let _ = writeln!(html, "<p class=\"note\">Worst result by {}</p>\n<div>", escape(&factors));
    HeatMap { title: &claim.measure, columns: (&across, columns.clone()), rows: (&down, rows), cells, scale }
        .draw(html);
    html.push_str("</div>\n");
}

fn write_claim_table(html: &mut String, experiment: &ExperimentResults, claim: &ClaimResults) {
    let _ = writeln!(
        html,
        "<details><summary>{} points</summary><div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Point</th><th>Verdict</th><th>{}</th><th class=\"number\">Runs that differ</th><th>Command</th></tr></thead><tbody>",
        claim.points.len(),
        escape(&claim.measure)
    );
    for point in &claim.points {
        let outcome = match point.outcome {
            ClaimOutcome::Holds => "within",
            ClaimOutcome::DoesNotHold => "beyond",
            ClaimOutcome::NotDecided => "not decided",
            ClaimOutcome::NoResult => "no result",
        };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{outcome}</td><td>{}</td><td class=\"number\">{} of {}</td><td><code>{}</code></td></tr>",
            escape(&point_words(point)),
            escape(&format_point(claim, point, TEXT_STYLE)),
            point.different,
            point.seeds,
            escape(&point.command)
        );
    }
    let _ =
        writeln!(html, "</tbody></table></div><p class=\"note\">{}</p></details>", escape(&experiment.sweep));
}

fn write_margins(html: &mut String, document: &Document) {
    html.push_str("<section aria-label=\"Margins\"><h2>Margins</h2>\n<div class=\"wide\"><table><thead><tr><th>Name</th><th>Quantity</th><th>Accepted band</th><th>Sections</th></tr></thead><tbody>\n");
    for (name, (about, band)) in &document.margins {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(name),
            escape(about),
            escape(band),
            escape(&document.sections_of_margin(name).join(", "))
        );
    }
    html.push_str("</tbody></table></div></section>\n");
}

/// Maximum number of failures shown.
const MAX_FAILURES: usize = 50;
