//! Remarks on goodput that had not settled at the end of the warm-up.

use super::number_format::join_listed;
use super::number_format::{Scale, Style, plain_seconds};
use crate::results::{Document, Drift};

/// Returns a sentence for each scheme with drifting goodput, with the warm-up it needs.
pub(super) fn unsettled_goodput_sentences(document: &Document, style: Style) -> Vec<String> {
    let mut schemes: Vec<Option<&str>> =
        document.drifts.iter().map(|drift| drift.scheme.as_deref()).collect();
    schemes.dedup();
    let sentence = |scheme: &Option<&str>| {
        let drifts: Vec<&Drift> =
            document.drifts.iter().filter(|drift| drift.scheme.as_deref() == *scheme).collect();
        drift_sentence(&drifts, *scheme, document, style)
    };
    schemes.iter().map(sentence).collect()
}

fn drift_sentence(drifts: &[&Drift], scheme: Option<&str>, document: &Document, style: Style) -> String {
    let known: usize = document.runs().map(|(_, run)| run.groups.len()).max().unwrap_or(0);
    let groups: Vec<String> =
        drifts.iter().take(MAX_GROUPS).map(|drift| format!("`{}`", style.clean(&drift.group))).collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let of = match (scheme, known) {
        (Some(scheme), 1) => style.clean(scheme),
        (Some(scheme), _) => format!("{} ({})", style.clean(scheme), join_listed(&groups)),
        (None, _) => join_listed(&groups),
    };
    let worst = drifts.iter().max_by(|a, b| a.relative.abs().total_cmp(&b.relative.abs()));
    let subject = match worst {
        Some(drift) if drifts.len() > 1 => format!("the mean of `{}`", style.clean(&drift.group)),
        _ => "its mean".to_owned(),
    };
    let worst = worst.map_or(0.0, |drift| drift.relative);
    let (size, side) = (Scale::PERCENT.fixed(worst.abs(), 1), if worst < 0.0 { "below" } else { "above" });
    let last = drifts.iter().map(|drift| drift.settled_s).reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)));
    match last.flatten().map(round_up).filter(|&warmup| warmup <= MAX_WARMUP * document.duration_s) {
        Some(warmup) => {
            let warmup = plain_seconds(warmup);
            format!(
                "Goodput of {of} still drifts: {subject} is {size} {side} that of the time after {warmup}; set `warmup = \"{warmup}\"`."
            )
        }
        None => format!(
            "Goodput of {of} drifts to the end: {subject} is {size} {side} that of the second half; set a longer `duration`."
        ),
    }
}

/// Rounds up to a number with few digits.
fn round_up(seconds: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(seconds)));
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let reaches = |step: &&f64| **step * unit >= seconds * (1.0 - 1e-9);
    steps.iter().find(reaches).map_or(seconds, |step| step * unit)
}

/// Maximum number of groups named.
const MAX_GROUPS: usize = 4;
/// Largest warm-up suggested, as a fraction of the duration: beyond it less than a quarter of the time remains.
const MAX_WARMUP: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::results::test_fixtures::{run_result, test_header};

    fn warnings(drifts: &[(&str, Option<f64>, f64)]) -> Vec<String> {
        let mut document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&run_result(1, 75))]);
        document.duration_s = 60.0;
        let drift = |&(group, settled_s, relative): &(&str, Option<f64>, f64)| Drift {
            scheme: None,
            group: group.to_owned(),
            settled_s,
            relative,
        };
        document.drifts = drifts.iter().map(drift).collect();
        unsettled_goodput_sentences(&document, Style::PLAIN)
    }

    #[test]
    fn the_longest_warm_up_is_named_in_round_numbers() {
        let expected = "Goodput of `a` and `b` still drifts: the mean of `b` is 8.0 % below that of the time after 12 s; \
                        set `warmup = \"12 s\"`.";
        assert_eq!(warnings(&[("a", Some(3.5), 0.02), ("b", Some(11.5), -0.08)]), [expected]);
        let one = warnings(&[("a", Some(3.5), 0.02)]).concat();
        assert!(one.contains("`a` still drifts: its mean is 2.0 % above"), "{one}");
        assert!(warnings(&[]).is_empty());
    }

    #[test]
    fn drift_to_the_end_asks_for_a_longer_run() {
        for settled in [None, Some(50.0)] {
            let warning = warnings(&[("a", settled, 0.02)]).concat();
            assert!(
                warning.contains("drifts to the end") && warning.contains("longer `duration`"),
                "{warning}"
            );
        }
    }
}
