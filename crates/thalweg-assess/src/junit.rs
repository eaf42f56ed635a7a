//! Assessment as JUnit XML, for continuous integration.

use crate::results_document::{Document, Verdict};
use crate::text_output::{claim_line, defaults_warning};
use std::fmt::Write as _;
use thalweg_report::output::{Style, format_count};

/// Formats a test suite for each section, with a test for each claim: a claim that does not hold fails, an undecided
/// one is skipped.
pub fn junit(document: &Document) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (fails, skips) = (document.count(Verdict::DoesNotHold), document.count(Verdict::NotDecided));
    let total = document.claims().count() + document.failed.len();
    let _ = writeln!(
        xml,
        "<testsuites name=\"{}\" tests=\"{total}\" failures=\"{fails}\" errors=\"{}\" skipped=\"{}\">",
        escape(&format!("{}: {}", document.pack, document.scheme)),
        document.failed.len(),
        skips + document.count(Verdict::NotEvaluated)
    );
    for section in &document.sections {
        let name = escape(&format!("{} {}", section.number, section.title));
        let claims =
            || section.experiments.iter().flat_map(|of| of.claims.iter().map(move |claim| (of, claim)));
        let count = |verdict| claims().filter(|(_, claim)| claim.verdict == verdict).count();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
            claims().count(),
            count(Verdict::DoesNotHold),
            count(Verdict::NotDecided) + count(Verdict::NotEvaluated)
        );
        if let Some(warning) = defaults_warning(document) {
            let warning = escape(&warning);
            let _ = writeln!(
                xml,
                "    <properties><property name=\"unlike-defaults\" value=\"{warning}\"/></properties>"
            );
        }
        for (experiment, claim) in claims() {
            let title = escape(&format!("{}: {}", experiment.title, claim.text));
            let line = escape(&claim_line(claim, Style::PLAIN));
            let inside = match claim.verdict {
                Verdict::Holds => String::new(),
                Verdict::DoesNotHold => {
                    let command = claim.worst_point().map(|point| point.command.as_str()).unwrap_or_default();
                    format!("<failure message=\"{line}\">{}</failure>", escape(command))
                }
                Verdict::NotDecided | Verdict::NotEvaluated => format!("<skipped message=\"{line}\"/>"),
            };
            let _ = writeln!(xml, "    <testcase classname=\"{name}\" name=\"{title}\">{inside}</testcase>");
        }
        xml.push_str("  </testsuite>\n");
    }
    if !document.failed.is_empty() {
        let count = format_count(document.failed.len() as u64, "point");
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{count} without a result\" tests=\"{0}\" errors=\"{0}\">",
            document.failed.len()
        );
        for failed in &document.failed {
            let _ = writeln!(
                xml,
                "    <testcase classname=\"{}\" name=\"{}\"><error message=\"{}\">{}</error></testcase>",
                escape(&failed.sweep),
                escape(&format!("{} {:?}", failed.scheme, failed.values)),
                escape(failed.why.lines().next().unwrap_or_default()),
                escape(&format!("{}\n{}", failed.why, failed.command))
            );
        }
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

/// Escapes text for an element or an attribute, without characters that XML 1.0 forbids.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
