//! Remarks on flows whose sender aborted the connection before sending all data.

use super::Style;
use super::group_label::group_label;
use super::number_format::{format_count, format_seconds};
use crate::results::{Document, Group, Metric, Run};

/// Returns a sentence for each group of each scheme with flows whose sender gave up.
pub(super) fn aborted_flows_sentences(document: &Document, style: Style) -> Vec<String> {
    let sentences =
        document.runs_by_scheme().flat_map(|(scheme, runs)| of_scheme(scheme, runs, document, style));
    sentences.take(MAX_SENTENCES).collect()
}

fn of_scheme(scheme: Option<&str>, runs: &[Run], document: &Document, style: Style) -> Vec<String> {
    let groups = runs.first().map_or(&[][..], |run| run.groups.as_slice());
    let one = |group: &Group| {
        let flows = || runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.group == group.name);
        let ends = || flows().filter_map(|flow| flow.values.get(Metric::Failed));
        let first = ends().reduce(f64::min)?;
        Some(format!(
            "The sender of {} of {} of {} aborted, the first after {}: the receiver did not respond, or acknowledged unsent data.",
            ends().count(),
            format_count(flows().count() as u64, "flow"),
            group_label(group, document, scheme, style),
            format_seconds(first),
        ))
    };
    groups.iter().filter_map(one).collect()
}

/// Maximum number of groups named.
const MAX_SENTENCES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};
    use thalweg_proto::units::{Duration, Time};

    #[test]
    fn a_sender_that_gave_up_is_named_with_the_time() {
        let remarks = |result| {
            aborted_flows_sentences(
                &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
                Style::PLAIN,
            )
        };
        let mut result = run_result(1, 75);
        assert!(remarks(result.clone()).is_empty());
        result.flows.last_mut().unwrap().failed = Some(Time::ZERO + Duration::from_millis(6100));
        let expected = "The sender of 1 of 1 flow of `bold` (cubic) aborted, the first after 6.100 s: the receiver did not respond, or \
                        acknowledged unsent data.";
        assert_eq!(remarks(result), [expected]);
    }
}
