//! Assessment as Markdown, for the appendix of an Internet-Draft, and a comparison of several.

use crate::claim_decisions::ClaimOutcome;
use crate::results_document::{ClaimResults, Document, SectionResults, Verdict};
use crate::text_output::{
    SECTIONS, TESTS, claim_line, defaults_warning, evidence_kind, format_point, format_seeds,
    format_verdict_counts, own_reference_sentence, point_words, rfc9743_statement, router_support_sentence,
    verdict_basis_sentence,
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
    text.extend(own_reference_sentence(document).map(|sentence| format!("{sentence}\n\n")));
    let _ = writeln!(text, "{}", evidence_kind(document));
    if document.references.iter().any(|reference| *reference != document.scheme) {
        let _ = writeln!(text, "\n{REFERENCES}");
    }
    let _ = write!(
        text,
        "\n## Sections\n\n{SECTIONS}\n\n| section | about | verdict | claims that hold | do not | not decided | not evaluated |\n"
    );
    text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for section in &document.sections {
        let claims = || section.experiments.iter().flat_map(|of| &of.claims);
        let count = |verdict| match claims().filter(|claim| claim.verdict == verdict).count() {
            0 => String::new(),
            count => count.to_string(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            section.number,
            section.title,
            bold_verdict(section.verdict),
            count(Verdict::Holds),
            count(Verdict::DoesNotHold),
            count(Verdict::NotDecided),
            count(Verdict::NotEvaluated)
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
    let mut text = String::from(
        "\n## Margins\n\n| margin | quantity | accepted band | sections |\n| --- | --- | --- | --- |\n",
    );
    for (name, (about, band)) in &document.margins {
        let sections = document.sections_of_margin(name).join(", ");
        let _ = writeln!(text, "| `{name}` | {about} | {band} | {sections} |");
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
    let head = |text: &mut String, first: &[&str]| {
        let columns = first.len() + names.len();
        let _ = writeln!(
            text,
            "\n| {} | {} |\n|{}",
            first.join(" | "),
            names.join(" | "),
            " --- |".repeat(columns)
        );
    };
    let _ = writeln!(text, "\n## Verdicts by section\n\n{SECTIONS}");
    text.extend(documents.iter().find_map(own_reference_sentence).map(|sentence| format!("\n{sentence}\n")));
    head(&mut text, &["section"]);
    for (number, section) in first.sections.iter().enumerate() {
        let verdicts = documents.iter().map(|document| {
            let known = document.sections.get(number);
            known.map_or_else(|| bold_verdict(Verdict::NotEvaluated), format_section_verdict)
        });
        let _ = writeln!(
            text,
            "| {} {} | {} |",
            section.number,
            section.title,
            verdicts.collect::<Vec<_>>().join(" | ")
        );
    }
    let reasons = |section: &SectionResults| {
        let reason = section.not_evaluated.as_ref()?;
        Some(format!("- Section {} is not evaluated because {reason}.\n", section.number))
    };
    let reasons: String = first.sections.iter().filter_map(reasons).collect();
    if !reasons.is_empty() {
        let _ = write!(text, "\n{reasons}");
    }
    text.push_str(
        "\n## Points beyond the margin\n\nA cell has the number of the claim's points beyond the margin, and the number of all of its points. In \
         bold, the claim does not hold, also after the correction for the number of claims.\n",
    );
    head(&mut text, &["claim", "margin"]);
    for (number, (section, experiment, claim)) in first.claims().enumerate() {
        let cells = documents.iter().map(|document| {
            document.claims().nth(number).map_or_else(String::new, |(.., claim)| format_beyond_count(claim))
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(
            text,
            "| {}, {}: {} | `{}` | {} |",
            section.number,
            experiment.title,
            claim.text,
            claim.margin,
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
                "- {}, {}: not \"{}\"; `{measure}` {cell_result} at {}",
                section.number,
                experiment.title,
                claim.text,
                point_words(worst)
            );
        }
    }
    text + &format_margins(first)
}

/// Formats a section's verdict; if only some of its claims are evaluated, with their number.
fn format_section_verdict(section: &SectionResults) -> String {
    let claims = || section.experiments.iter().flat_map(|of| &of.claims);
    let evaluated = claims().filter(|claim| claim.verdict != Verdict::NotEvaluated).count();
    let verdict = bold_verdict(section.verdict);
    match claims().count() {
        total if evaluated == 0 || evaluated == total => verdict,
        total => format!("{verdict} ({evaluated} of {total} claims evaluated)"),
    }
}

/// Formats the number of a claim's points beyond the margin. A claim without results has none, which would look like success.
fn format_beyond_count(claim: &ClaimResults) -> String {
    let cell = format!("{} of {}", claim.count(ClaimOutcome::DoesNotHold), claim.points.len());
    match claim.verdict {
        Verdict::NotEvaluated => claim.verdict.label().to_owned(),
        Verdict::DoesNotHold => format!("**{cell}**"),
        Verdict::Holds | Verdict::NotDecided => cell,
    }
}

fn frame_of_all(document: &Document) -> String {
    let (first, count) = document.seeds;
    let quick = if document.quick { " Quick assessment (--quick): few points and seeds." } else { "" };
    format!(
        "Simulation by thalweg {}: {} points, each simulated with {} for each scheme and, under the same random numbers, for {} in its \
         place. {}{quick}",
        document.tool_version,
        document.points,
        format_seeds(first, count),
        document.references.join(" and "),
        verdict_basis_sentence(document)
    )
}
