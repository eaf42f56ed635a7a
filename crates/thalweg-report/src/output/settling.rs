//! The words on what had not settled when counting began.

use super::text::listed;
use super::text::{Scale, Style, plain_seconds};
use crate::results::{Document, Drift};

/// A sentence for each scheme of which goodput still drifted, with the warm-up that it takes.
pub(super) fn settling(document: &Document, style: Style) -> Vec<String> {
    let mut schemes: Vec<Option<&str>> =
        document.drifts.iter().map(|drift| drift.scheme.as_deref()).collect();
    schemes.dedup();
    let sentence = |scheme: &Option<&str>| {
        let drifts: Vec<&Drift> =
            document.drifts.iter().filter(|drift| drift.scheme.as_deref() == *scheme).collect();
        words(&drifts, *scheme, document, style)
    };
    schemes.iter().map(sentence).collect()
}

fn words(drifts: &[&Drift], scheme: Option<&str>, document: &Document, style: Style) -> String {
    let known: usize = document.runs().map(|(_, run)| run.groups.len()).max().unwrap_or(0);
    let groups: Vec<String> =
        drifts.iter().take(MOST).map(|drift| format!("`{}`", style.clean(&drift.group))).collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let of = match (scheme, known) {
        (Some(scheme), 1) => style.clean(scheme),
        (Some(scheme), _) => format!("{} ({})", style.clean(scheme), listed(&groups)),
        (None, _) => listed(&groups),
    };
    let worst = drifts.iter().max_by(|a, b| a.relative.abs().total_cmp(&b.relative.abs()));
    let whose = match worst {
        Some(drift) if drifts.len() > 1 => format!("the mean of `{}`", style.clean(&drift.group)),
        _ => "its mean".to_owned(),
    };
    let worst = worst.map_or(0.0, |drift| drift.relative);
    let (size, way) = (Scale::PERCENT.fixed(worst.abs(), 1), if worst < 0.0 { "below" } else { "above" });
    let last = drifts.iter().map(|drift| drift.settled_s).reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)));
    match last.flatten().map(round_up).filter(|&warmup| warmup <= MAX_WARMUP * document.duration_s) {
        Some(warmup) => {
            let warmup = plain_seconds(warmup);
            format!(
                "Goodput of {of} still drifts: {whose} is {size} {way} that of the time after {warmup}; set `warmup = \"{warmup}\"`."
            )
        }
        None => format!(
            "Goodput of {of} drifts to the end: {whose} is {size} {way} that of the second half; set a longer `duration`."
        ),
    }
}

/// A number of few digits that is not below.
fn round_up(seconds: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(seconds)));
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let reaches = |step: &&f64| **step * unit >= seconds * (1.0 - 1e-9);
    steps.iter().find(reaches).map_or(seconds, |step| step * unit)
}

/// Groups that are named.
const MOST: usize = 4;
/// A warm-up that leaves less than a quarter of the time is none.
const MAX_WARMUP: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::results::samples::{header, result};

    fn told(drifts: &[(&str, Option<f64>, f64)]) -> Vec<String> {
        let mut document = Document::of_runs(header(&[1]), vec![Run::of(&result(1, 75))]);
        document.duration_s = 60.0;
        let drift = |&(group, settled_s, relative): &(&str, Option<f64>, f64)| Drift {
            scheme: None,
            group: group.to_owned(),
            settled_s,
            relative,
        };
        document.drifts = drifts.iter().map(drift).collect();
        settling(&document, Style::PLAIN)
    }

    #[test]
    fn the_longest_warm_up_is_named_in_round_numbers() {
        let expected = "Goodput of `a` and `b` still drifts: the mean of `b` is 8.0 % below that of the time after 12 s; \
                        set `warmup = \"12 s\"`.";
        assert_eq!(told(&[("a", Some(3.5), 0.02), ("b", Some(11.5), -0.08)]), [expected]);
        let one = told(&[("a", Some(3.5), 0.02)]).concat();
        assert!(one.contains("`a` still drifts: its mean is 2.0 % above"), "{one}");
        assert!(told(&[]).is_empty());
    }

    #[test]
    fn what_never_settles_needs_a_longer_run() {
        for settled in [None, Some(50.0)] {
            let said = told(&[("a", settled, 0.02)]).concat();
            assert!(said.contains("drifts to the end") && said.contains("longer `duration`"), "{said}");
        }
    }
}
