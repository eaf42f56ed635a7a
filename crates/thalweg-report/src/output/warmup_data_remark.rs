//! Remarks on goodput of data that arrived during the warm-up.

use super::group_label::group_label;
use super::number_format::{Scale, Style};
use crate::results::{Body, Document, Flow, Group, MARGIN, Metric, Run};

/// Returns a sentence for each group whose goodput counts data from the warm-up, if its share is above the default margin
/// of comparisons. Comparisons of several schemes have it in their verdicts.
pub(super) fn early_arrivals(document: &Document, style: Style) -> Vec<String> {
    if matches!(&document.body, Body::Comparison { schemes, .. } if schemes.len() > 1) {
        return Vec::new();
    }
    let sentences =
        document.runs_by_scheme().flat_map(|(scheme, runs)| of_scheme(scheme, runs, document, style));
    sentences.take(MAX_SENTENCES).collect()
}

fn of_scheme(scheme: Option<&str>, runs: &[Run], document: &Document, style: Style) -> Vec<String> {
    let complete = || runs.iter().filter(|run| run.complete);
    let names = complete().next().map_or(&[][..], |run| run.groups.as_slice());
    let one = |group: &Group| {
        let flows = complete().flat_map(|run| &run.flows);
        let flows = flows.filter(|flow| flow.group == group.name && flow.wanted_more);
        let share = share_from_warmup(flows);
        let label = group_label(group, document, scheme, style);
        (share > MARGIN).then(|| {
            format!(
                "{} of the goodput of {label} is data that arrived during the warm-up and waited for loss repair, so \
                 goodput can exceed the rate of the path; set a longer `warmup` or `duration`.",
                Scale::PERCENT.fixed(share, 1)
            )
        })
    };
    names.iter().filter_map(one).collect()
}

/// Returns the share of the bytes delivered by these flows that had arrived during the warm-up and waited for loss
/// repair; 0 if they delivered nothing.
pub(super) fn share_from_warmup<'a>(flows: impl Iterator<Item = &'a Flow>) -> f64 {
    let (before, all) = flows.fold((0.0, 0.0), |(before, all), flow| {
        (before + flow.pre_warmup_bytes as f64, all + flow.or_zero(Metric::Delivered))
    });
    if all > 0.0 { before / all } else { 0.0 }
}

/// Returns the share of the goodput of backlogged flows that is data from the warm-up; `None` if it is within the default
/// margin of comparisons.
pub fn goodput_from_warmup(runs: &[Run]) -> Option<f64> {
    let flows = runs.iter().filter(|run| run.complete).flat_map(|run| &run.flows);
    let share = share_from_warmup(flows.filter(|flow| flow.wanted_more));
    (share > MARGIN).then_some(share)
}

/// Maximum number of groups named.
const MAX_SENTENCES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};
    use thalweg_proto::units::Bytes;

    #[test]
    fn goodput_of_early_data_is_named() {
        let remarks = |percent| {
            let mut result = run_result(1, 75);
            let last = result.flows.last_mut().unwrap();
            last.arrived_before = Bytes::new(last.delivered.get() * percent / 100);
            early_arrivals(
                &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
                Style::PLAIN,
            )
        };
        assert!(remarks(0).is_empty() && remarks(1).is_empty());
        // A comparison would not judge this scheme.
        assert!(2.0 / 100.0 > MARGIN && remarks(2).len() == 1);
        let expected = "14.0 % of the goodput of `bold` (cubic) is data that arrived during the warm-up and waited for loss repair, so \
                        goodput can exceed the rate of the path; set a longer `warmup` or `duration`.";
        assert_eq!(remarks(14), [expected]);
    }
}
