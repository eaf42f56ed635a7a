//! Assessment as text.

use crate::claim_decisions::ClaimOutcome;
use crate::controller_state_measures;
use crate::results_document::{ClaimResults, Document, PointResults, Verdict};
use crate::run_measures::Measure;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};
use thalweg_report::output::{Remedy, Style, differing_defaults_warning, format_count, format_factor};

/// Parses a measure's name from a document.
fn parse_measure(name: &str) -> Option<Measure> {
    let from: StrDeserializer<'_, Error> = name.into_deserializer();
    Measure::deserialize(from).ok()
}

/// Formats a value of a claim's measure with its unit.
pub(crate) fn format_claim_value(claim: &ClaimResults, of: f64) -> String {
    let known_measure = parse_measure(&claim.measure).map(|measure| measure.format_value(of));
    known_measure
        .or_else(|| controller_state_measures::format_value(&claim.measure, of))
        .unwrap_or_else(|| of.to_string())
}

/// Formats the values of a point, such as `rate 10 Mbit/s, queue capacity 1 bdp`: factors by the last parts of their names.
pub(crate) fn point_words(point: &PointResults) -> String {
    if let Some(title) = point.values.get("title") {
        return title.clone();
    }
    let one = |(name, value): (&String, &String)| format!("{} {value}", shorten_factor_name(name));
    point.values.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Shortens a factor's name to its distinctive parts: `flow.tested.count` to `tested count`,
/// `link.bottleneck.queue.capacity` to `queue capacity`.
pub(crate) fn shorten_factor_name(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        ["link", _, rest @ ..] | ["flow", rest @ ..] if !rest.is_empty() => rest.join(" "),
        _ => name.to_owned(),
    }
}

/// Formats a point. With a reference: the distance from it, such as `4.1 Mbit/s, cubic 9.2 Mbit/s: -55.4 % (+/- 2.1 %)`.
/// With a bound: the value, that of the worst run, and the reference's.
pub(crate) fn format_point(claim: &ClaimResults, point: &PointResults, style: Style) -> String {
    let Some(mean) = point.mean else { return "no value".to_owned() };
    let mut text = format_claim_value(claim, mean);
    if !claim.is_relative {
        let worst = point.worst.filter(|worst| *worst != mean);
        text.extend(worst.map(|worst| format!(", {} in the worst run", format_claim_value(claim, worst))));
        for reference in &point.references {
            let other =
                reference.mean.map_or("no value".to_owned(), |other| format_claim_value(claim, other));
            text.push_str(&format!(", {} {other}", reference.scheme));
        }
        return text;
    }
    let Some(reference) = point.references.first() else { return text };
    let Some(other) = reference.mean else { return format!("{text}, {} no value", reference.scheme) };
    text.push_str(&format!(", {} {}", reference.scheme, format_claim_value(claim, other)));
    if let Some(difference) = reference.difference.filter(|_| other != 0.0) {
        text.push_str(&format_relative_difference(
            difference / other.abs(),
            reference.difference_ci95.map(|half| half / other.abs()),
            style,
        ));
    }
    text
}

/// Formats a relative difference with its 95 % interval: in percent, or from three times the reference as a factor with two
/// significant digits, without an interval whose ends do not differ in these digits.
fn format_relative_difference(difference: f64, half: Option<f64>, style: Style) -> String {
    if difference < MIN_FACTOR - 1.0 {
        let half = half.map(|half| format!(" ({} {:.1} %)", style.plus_minus(), 100.0 * half));
        return format!(": {:+.1} %{}", 100.0 * difference, half.unwrap_or_default());
    }
    let ratio = 1.0 + difference;
    let ends = half.map(|half| [(ratio - half).max(1.0), ratio + half].map(format_factor));
    // Ends that are equal when rounded say nothing.
    let interval = ends.filter(|[low, high]| low != high).map(|[low, high]| format!(" ({low} to {high})"));
    format!(": {} times{}", format_factor(ratio), interval.unwrap_or_default())
}

/// Value over that of the reference from which differences are factors.
const MIN_FACTOR: f64 = 3.0;

/// Formats a claim with its verdict, the number of points and the worst of them.
pub fn claim_line(claim: &ClaimResults, style: Style) -> String {
    let total = claim.points.len();
    let within = claim.count(ClaimOutcome::Holds);
    let mut text = format!("{}: {}", claim.text, claim.verdict.label());
    if claim.verdict == Verdict::NotEvaluated {
        return text + ": no point has a result that could be compared";
    }
    text.push_str(&format!(", {within} of {} within the margin", format_count(total as u64, "point")));
    let beyond = claim.count(ClaimOutcome::DoesNotHold);
    if beyond > 0 {
        text.push_str(&format!(", {beyond} beyond"));
    }
    let missing = claim.count(ClaimOutcome::NoResult);
    // Points alone have an outcome that the claim, as one of many, has not.
    if claim.verdict == Verdict::NotDecided && (within == total || beyond > 0) {
        text.push_str(" before the correction for the number of claims");
    }
    if missing > 0 {
        text.push_str(&format!(", {missing} without a result"));
    }
    if let Some(worst) = claim.worst_point().filter(|_| within < total) {
        text.push_str(&format!("; worst {}", format_point(claim, worst, style)));
        let at = point_words(worst);
        if !at.is_empty() {
            text.push_str(&format!(" at {at}"));
        }
    }
    text
}

/// Formats the whole assessment for a terminal.
pub fn format_assessment(document: &Document, style: Style) -> String {
    let line = |text: &str| style.folded(&style.clean(text)) + "\n";
    let mut text = style.bold(&style.clean(&format!("{}: {}", document.pack, document.scheme))) + "\n";
    text.push_str(&line(&describe_parameters(document)));
    if !document.complete {
        text.push_str("PARTIAL: runs are missing; repeat the call to continue\n");
    }
    text.extend(defaults_warning(document).map(|warning| line(&warning)));
    text.extend(document.needs_routers.iter().map(|needs| line(&router_support_sentence(needs))));
    for section in &document.sections {
        let verdict = match &section.not_evaluated {
            Some(reason) => format!("not evaluated because {reason}"),
            None => section.verdict.label().to_owned(),
        };
        text.push_str(&format!("\n{}", line(&format!("{:<6} {}: {verdict}", section.number, section.title))));
        for experiment in &section.experiments {
            text.push_str(&line(&format!("  {}", experiment.title)));
            for claim in &experiment.claims {
                let mark = match claim.verdict {
                    Verdict::Holds => "+",
                    Verdict::DoesNotHold => "-",
                    Verdict::NotDecided | Verdict::NotEvaluated => "?",
                };
                text.push_str(&line(&format!("    {mark} {}", claim_line(claim, style))));
            }
        }
    }
    text + "\n" + &line(&format_verdict_counts(document))
}

/// Formats the counts of verdicts as a sentence.
pub(crate) fn format_verdict_counts(document: &Document) -> String {
    let failed: Vec<&str> = document
        .sections
        .iter()
        .filter(|section| section.verdict == Verdict::DoesNotHold)
        .map(|section| section.number.as_str())
        .collect();
    let (held, broken) = (document.count(Verdict::Holds), document.count(Verdict::DoesNotHold));
    let mut text = format!(
        "{}: {held} {}, {broken} {}, {} not decided, {} not evaluated",
        format_count(document.claims().count() as u64, "claim"),
        if held == 1 { "holds" } else { "hold" },
        if broken == 1 { "does not" } else { "do not" },
        document.count(Verdict::NotDecided),
        document.count(Verdict::NotEvaluated)
    );
    if !failed.is_empty() {
        text.push_str(&format!("; sections with a claim that does not hold: {}", failed.join(", ")));
    }
    text + "."
}

/// Describes the parameters of an assessment: points, seeds, and the schemes executed.
pub(crate) fn describe_parameters(document: &Document) -> String {
    let (first, count) = document.seeds;
    let others: Vec<&str> =
        document.references.iter().map(String::as_str).filter(|other| *other != document.scheme).collect();
    let quick = if document.quick {
        " Quick assessment (--quick): few points and seeds, with many undecided claims."
    } else {
        ""
    };
    let beside = if others.is_empty() {
        String::new()
    } else {
        format!(" and, under the same random numbers, for {} in its place", others.join(" and "))
    };
    let set = match document.sets.as_slice() {
        [] => String::new(),
        sets => format!(", with {} everywhere", sets.join(" and ")),
    };
    format!(
        "{}, each simulated with {} for {}{beside}{set}: {}. {}{quick}",
        format_count(document.points as u64, "point"),
        format_seeds(first, count),
        document.scheme,
        format_count(document.runs as u64, "run"),
        verdict_basis_sentence(document)
    )
}

/// States what verdicts compare the scheme with: the first reference, bounds, or both.
pub(crate) fn verdict_basis_sentence(document: &Document) -> String {
    let reference = document.references.first().map_or("nothing", String::as_str);
    let has_claims = |is_relative| document.claims().any(|(.., claim)| claim.is_relative == is_relative);
    match (has_claims(true), has_claims(false)) {
        (true, true) => format!("Verdicts compare with {reference} or with absolute bounds."),
        (true, false) => format!("Verdicts compare with {reference}."),
        (false, _) => "Verdicts compare with absolute bounds.".to_owned(),
    }
}

/// States that claims which compare a reference with itself hold by construction; `None` for other schemes.
pub(crate) fn own_reference_sentence(document: &Document) -> Option<String> {
    let is_own = document.references.first() == Some(&document.scheme);
    (is_own && document.claims().any(|(.., claim)| claim.is_relative)).then(|| {
        format!(
            "`{}` is its own reference: its claims hold by construction, except those with an absolute bound.",
            document.scheme
        )
    })
}

/// Formats the seeds of a point, such as `seeds 1 to 10`.
pub(crate) fn format_seeds(first: u64, count: u32) -> String {
    let last = first.saturating_add(u64::from(count.saturating_sub(1)));
    if last == first { format!("seed {first}") } else { format!("seeds {first} to {last}") }
}

/// Returns the warning that schemes differ in the defaults of options; `None` where they do not.
pub(crate) fn defaults_warning(document: &Document) -> Option<String> {
    differing_defaults_warning(&document.unlike_defaults, Remedy::Command)
}

/// Sentences on the tests.
pub(crate) const TESTS: &str = "A point is a scenario with one value of each factor. It is within the margin if a one-sided paired t-test at \
    5 % shows that the mean difference from the reference is smaller than the margin. It is beyond the margin if the test, corrected for the \
    number of the claim's points (Bonferroni), shows that the mean difference is larger. If the margin is an absolute bound, the test compares \
    the mean with the bound; a bound of every run decides without a test. A claim holds if all of its points are within the margin, and does \
    not hold if a point is beyond it; both verdicts are also corrected for the number of claims (Holm). A claim without a comparable result at \
    any point is not evaluated. All other claims are not decided with this number of runs. Differences are relative to the mean of the \
    reference, with 95 % confidence intervals that are not corrected; intervals are symmetric, and may extend below -100 %.";

/// Sentence on the verdicts of sections.
pub(crate) const SECTIONS: &str =
    "A section holds if all of its evaluated claims hold, and does not hold if one does not.";

/// Returns the sentence on router support that the scheme needs and does not have here.
pub(crate) fn router_support_sentence(needs: &str) -> String {
    format!(
        "The scheme relies on messages that Internet routers do not send (`{needs}`): all results here are without them."
    )
}

/// Returns the kind of evidence, for section 3.1 of the RFC.
pub(crate) fn evidence_kind(document: &Document) -> String {
    format!(
        "Evidence: packet-level simulation by thalweg {}. {}\n\n{TESTS} Assumptions: hosts without delays, one bottleneck, and no feedback \
         messages from routers; the scenario files define all other conditions.",
        document.tool_version,
        describe_parameters(document)
    )
}

/// Returns a template of the statement that sections 3.2 and 4 of RFC 9743 require of authors; `None` for other plans.
pub(crate) fn rfc9743_statement(document: &Document) -> Option<String> {
    if !document.has_statement {
        return None;
    }
    let failed: Vec<String> = document
        .sections
        .iter()
        .filter(|section| section.verdict == Verdict::DoesNotHold)
        .map(|section| format!("{} ({})", section.number, section.title.to_lowercase()))
        .collect();
    let failed = match failed.as_slice() {
        [] => format!(
            "In simulation no claim of RFC 9743 was found not to hold; {} of {} were not decided",
            document.count(Verdict::NotDecided),
            document.claims().count()
        ),
        failed => {
            format!("In simulation claims do not hold in the sections {} of RFC 9743", failed.join(", "))
        }
    };
    Some(format!(
        "For authors to complete (RFC 9743, sections 3.2 and 4): there [is / is no] IETF consensus that {} is safe for use on the \
         Internet. It is intended for [general use / a controlled environment that is kept apart by ...]. It is not recommended where ... \
         {failed}. There [is / is no] evidence of deployment: ...",
        document.scheme
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_differences_are_factors_with_two_digits() {
        let text = |difference, half| format_relative_difference(difference, half, Style::PLAIN);
        assert_eq!(text(-0.554, Some(0.021)), ": -55.4 % (+/- 2.1 %)");
        assert_eq!(text(1.99, None), ": +199.0 %");
        assert_eq!(text(48.572, Some(18.831)), ": 50 times (31 to 68)");
        assert_eq!(text(2.13, Some(4.0)), ": 3.1 times (1.0 to 7.1)");
        assert_eq!(text(1233.0, None), ": 1200 times");
        assert_eq!(text(1400.0, Some(9.0)), ": 1400 times");
    }

    #[test]
    fn factors_are_named_by_their_place_in_the_flow_or_link() {
        for (name, short) in [
            ("link.bottleneck.rate", "rate"),
            ("link.bottleneck.queue.capacity", "queue capacity"),
            ("flow.tested.count", "tested count"),
            ("title", "title"),
            ("link.bottleneck", "link.bottleneck"),
        ] {
            assert_eq!(shorten_factor_name(name), short);
        }
    }
}
