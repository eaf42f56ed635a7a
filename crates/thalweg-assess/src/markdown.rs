//! Assessment as Markdown, for the appendix of an Internet-Draft, and a comparison of several.

use crate::claim_decisions::ClaimOutcome;
use crate::results_document::{Document, Verdict};
use crate::text_output::{
    TESTS, claim_line, defaults_warning, evidence_kind, format_point, format_seeds, format_verdict_counts,
    point_words, rfc9743_statement, router_support_sentence,
};
use std::fmt::Write as _;
use thalweg_report::output::Style;

/// Formats the assessment: its parameters, the sections with their claims, the margins, and a template of the
/// statement.
pub fn markdown(document: &Document) -> String {
    let mut text = format!("# {}: `{}`\n\n", document.pack, document.scheme);
    if !document.complete {
        text.push_str("**Partial: runs are missing.**\n\n");
    }
    text.extend(defaults_warning(document).map(|warning| format!("{warning}\n\n")));
    let _ = writeln!(text, "{}\n", format_verdict_counts(document));
    let _ = writeln!(text, "{}", evidence_kind(document));
    if document.references.iter().any(|reference| *reference != document.scheme) {
        let _ = writeln!(text, "\n{REFERENCES}");
    }
    text.push_str(
        "\n## Sections\n\n| section | about | verdict | claims that hold | do not | not decided |\n",
    );
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for section in &document.sections {
        let claims = || section.experiments.iter().flat_map(|of| &of.claims);
        let count = |verdict| match claims().filter(|claim| claim.verdict == verdict).count() {
            0 => String::new(),
            count => count.to_string(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            section.number,
            section.title,
            bold_verdict(section.verdict),
            count(Verdict::Holds),
            count(Verdict::DoesNotHold),
            count(Verdict::NotDecided)
        );
    }
    for section in &document.sections {
        let _ = writeln!(text, "\n## {} {}\n", section.number, section.title);
        if let Some(reason) = &section.not_evaluated {
            let _ = writeln!(text, "Not evaluated because {reason}.");
        } else if let Some(needs) = &document.needs_routers {
            let _ = writeln!(text, "{}\n", router_support_sentence(needs));
        }
        for (number, experiment) in section.experiments.iter().enumerate() {
            let before = if number > 0 { "\n" } else { "" };
            let _ = writeln!(text, "{before}{} (`{}`):\n", experiment.title, experiment.sweep);
            for claim in &experiment.claims {
                let _ =
                    writeln!(text, "- {}", mark_failed_line(&claim_line(claim, Style::PLAIN), claim.verdict));
                // Verdicts of other references are shown where they differ.
                let others = claim
                    .by_reference
                    .iter()
                    .filter(|(name, verdict)| **name != document.scheme && **verdict != claim.verdict);
                for (reference, verdict) in others {
                    let what = if claim.is_relative { "against" } else { "of" };
                    let _ = writeln!(text, "  - {what} {reference}: {}", verdict.label());
                }
            }
        }
    }
    text = text.trim_end().to_owned() + "\n";
    if !document.failed.is_empty() {
        text.push_str("\n## Points without a result\n\n");
        for failed in &document.failed {
            let values: Vec<String> =
                failed.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
            let why = failed.why.lines().next().unwrap_or_default();
            let _ = writeln!(
                text,
                "- `{}` with {} ({}): {why}; `{}`",
                failed.sweep,
                failed.scheme,
                values.join(", "),
                failed.command
            );
        }
    }
    text.push_str(&format_margins(document));
    if let Some(statement) = rfc9743_statement(document) {
        let _ = writeln!(text, "\n## Statement\n\n{statement}");
    }
    text
}

/// Meaning of the lines below a claim.
const REFERENCES: &str = "Below a claim, `against X` is the verdict of the same claim with X as the reference, and `of X` the verdict for X itself. \
    Only verdicts that differ are shown.";

fn format_margins(document: &Document) -> String {
    let mut text = String::from("\n## Margins\n\n| margin | of | band |\n| --- | --- | --- |\n");
    for (name, (about, band)) in &document.margins {
        let _ = writeln!(text, "| `{name}` | {about} | {band} |");
    }
    text
}

fn bold_verdict(verdict: Verdict) -> String {
    if verdict == Verdict::DoesNotHold {
        format!("**{}**", verdict.label())
    } else {
        verdict.label().to_owned()
    }
}

/// Highlights a line with the verdict "does not hold".
fn mark_failed_line(line: &str, verdict: Verdict) -> String {
    if verdict == Verdict::DoesNotHold {
        line.replacen(": does not hold", ": **does not hold**", 1)
    } else {
        line.to_owned()
    }
}

/// Formats several assessments by the same plan side by side: the failed claims, and by how much.
pub fn compare_assessments(documents: &[Document]) -> String {
    let Some(first) = documents.first() else { return String::new() };
    let names: Vec<String> = documents.iter().map(|of| format!("`{}`", of.scheme)).collect();
    let mut text = format!("# {}: {}\n\n{}\n\n{TESTS}\n", first.pack, names.join(", "), frame_of_all(first));
    let head = |text: &mut String, first: &str| {
        let _ =
            writeln!(text, "\n| {first} | {} |\n| --- |{}", names.join(" | "), " --- |".repeat(names.len()));
    };
    text.push_str("\n## Verdicts by section\n");
    head(&mut text, "section");
    for (number, section) in first.sections.iter().enumerate() {
        let verdicts = documents.iter().map(|document| {
            let cell_result = document
                .sections
                .get(number)
                .map_or(Verdict::NotEvaluated, |cell_result| cell_result.verdict);
            bold_verdict(cell_result)
        });
        let _ = writeln!(
            text,
            "| {} {} | {} |",
            section.number,
            section.title,
            verdicts.collect::<Vec<_>>().join(" | ")
        );
    }
    text.push_str(
        "\n## Points beyond the margin\n\nThe table has, for each claim, the number of points beyond the margin and the number of all points. \
         Undecided points do not count as beyond.\n",
    );
    head(&mut text, "claim");
    for (number, (section, experiment, claim)) in first.claims().enumerate() {
        let cells = documents.iter().map(|document| {
            let Some((.., cell_result)) = document.claims().nth(number) else { return String::new() };
            let (beyond, total) = (cell_result.count(ClaimOutcome::DoesNotHold), cell_result.points.len());
            let cell = format!("{beyond} of {total}");
            if cell_result.verdict == Verdict::DoesNotHold { format!("**{cell}**") } else { cell }
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(
            text,
            "| {} {}: {} | {} |",
            section.number,
            experiment.title,
            claim.text,
            cells.join(" | ")
        );
    }
    text.push_str("\n## Failed claims by scheme, worst values\n");
    for document in documents {
        let _ = writeln!(text, "\n### `{}`\n\n{}\n", document.scheme, format_verdict_counts(document));
        text.extend(defaults_warning(document).map(|warning| format!("{warning}\n\n")));
        if let Some(needs) = &document.needs_routers {
            let _ = writeln!(text, "{}\n", router_support_sentence(needs));
        }
        for (section, experiment, claim) in document.claims() {
            let Some(worst) = claim.worst_point().filter(|_| claim.verdict == Verdict::DoesNotHold) else {
                continue;
            };
            let cell_result = format_point(claim, worst, Style::PLAIN);
            let measure = &claim.measure;
            let _ = writeln!(
                text,
                "- {} {}: not \"{}\"; `{measure}` {cell_result} at {}",
                section.number,
                experiment.title,
                claim.text,
                point_words(worst)
            );
        }
    }
    text + &format_margins(first)
}

fn frame_of_all(document: &Document) -> String {
    let (first, count) = document.seeds;
    let quick = if document.quick { " Quick assessment (--quick): few points and seeds." } else { "" };
    format!(
        "Simulation by thalweg {}: {} points, each simulated with {} with each scheme and, under the same random numbers, with {} in its \
         place.{quick}",
        document.tool_version,
        document.points,
        format_seeds(first, count),
        document.references.join(" and ")
    )
}
