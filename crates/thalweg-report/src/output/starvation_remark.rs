//! Remarks on flows that carried a small part of their share.

use super::Style;
use super::group_label::group_label;
use super::number_format::{Scale, format_count, format_rate, join_listed};
use crate::results::{Document, Metric, StarvedFlows};

/// Returns a sentence for each group of each scheme with starved flows, the least part of its share first.
pub(super) fn starvation_sentences(document: &Document, style: Style) -> Vec<String> {
    let mut all: Vec<&StarvedFlows> = document.starved.iter().collect();
    all.sort_by(|a, b| fraction_of_share(a).total_cmp(&fraction_of_share(b)));
    all.into_iter().take(MAX_SENTENCES).map(|starved| starvation_sentence(starved, document, style)).collect()
}

fn fraction_of_share(of: &StarvedFlows) -> f64 {
    of.goodput_bps / of.share_bps
}

fn starvation_sentence(of: &StarvedFlows, document: &Document, style: Style) -> String {
    let compared = of.scheme.as_deref();
    let own = document
        .runs()
        .filter(|(scheme, _)| *scheme == compared)
        .find_map(|(_, run)| run.groups.iter().find(|group| group.name == of.group));
    let scheme = own.map_or(compared.unwrap_or_default(), |own| own.scheme.as_str());
    let label = match own {
        Some(own) => group_label(own, document, compared, style),
        None => format!("`{}` ({})", style.clean(&of.group), style.clean(scheme)),
    };
    let subject = match of.of {
        1 => format!("{label} starved: it"),
        all => format!("{} of {} of {label} starved: one", of.flows, format_count(u64::from(all), "flow")),
    };
    let percent = fraction_of_share(of);
    let decimals = if percent >= 0.01 { 0 } else { 1 };
    let percent = match percent {
        none if none < 0.0005 => "less than 0.1 %".to_owned(),
        some => Scale::PERCENT.fixed(some, decimals),
    };
    let cause = match of.timeouts == 0.0 && of.loss == 0.0 {
        true => ", and lost nothing: others fill the queue".to_owned(),
        false => format!(
            ", with {} and {} of its packets lost",
            format_count(of.timeouts as u64, "timeout"),
            Scale::PERCENT.fixed(of.loss, 1)
        ),
    };
    let unmarked = schemes_without_ecn(&of.group, scheme, document).map_or(String::new(), |schemes| {
        format!(": queues mark its packets, and not those of {}, which are Not-ECT", style.clean(&schemes))
    });
    format!(
        "{subject} carried {}, {percent} of its max-min share of {}{cause}{unmarked}.",
        format_rate(of.goodput_bps),
        format_rate(of.share_bps)
    )
}

/// Returns the schemes of other groups without ECN, if queues marked packets of this group.
fn schemes_without_ecn(group: &str, scheme: &str, document: &Document) -> Option<String> {
    let groups = || document.runs().flat_map(|(_, run)| &run.groups);
    let is_marked = groups().any(|of| of.name == group && of.or_zero(Metric::Marked) > 0.0);
    let ecn = document.unlike_defaults.iter().find(|of| of.option == "ecn").filter(|_| is_marked)?;
    let with = |on: &str| {
        let on = on.to_owned();
        ecn.values.iter().filter(move |of| of.value.as_ref() == Some(&on)).map(|of| of.scheme.as_str())
    };
    let without: Vec<&str> = with("false").collect();
    (with("true").any(|other| other == scheme) && !without.is_empty()).then(|| join_listed(&without))
}

/// Maximum number of groups named.
const MAX_SENTENCES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};
    use crate::results::{DifferingDefault, Run, SchemeDefault};

    #[test]
    fn starved_flows_are_named_with_their_share() {
        let remarks = |starved: &[(u32, u32, f64)]| {
            let mut document =
                Document::from_runs(test_header(&[1]), vec![Run::from_result(&run_result(1, 75))]);
            let one = |&(flows, of, goodput_bps): &(u32, u32, f64)| StarvedFlows {
                scheme: None,
                group: "bold".to_owned(),
                flows,
                of,
                goodput_bps,
                share_bps: 3.87e6,
                timeouts: 7.0,
                loss: 0.123,
            };
            document.starved = starved.iter().map(one).collect();
            starvation_sentences(&document, Style::PLAIN)
        };
        assert!(remarks(&[]).is_empty());
        let expected = "`bold` (cubic) starved: it carried 9.000 kbit/s, 0.2 % of its max-min share of 3.870 Mbit/s, with 7 timeouts and \
                        12.3 % of its packets lost.";
        assert_eq!(remarks(&[(1, 1, 9e3)]), [expected]);
        let found = remarks(&[(2, 30, 200e3), (1, 1, 0.0)]);
        assert!(found[0].contains("less than 0.1 % of its"), "{found:?}");
        assert!(
            found[1].starts_with("2 of 30 flows of `bold` (cubic) starved: one carried 200.0 kbit/s, 5 % of"),
            "{found:?}"
        );
    }

    /// At a queue that marks, flows without ECN fill the queue and others yield.
    #[test]
    fn marks_that_others_do_not_get_are_a_cause() {
        let mut run = Run::from_result(&run_result(1, 75));
        run.groups[1].values.set(Metric::Marked, Some(55.0));
        let own = run.groups[1].clone();
        let mut document = Document::from_runs(test_header(&[1]), vec![run]);
        let value = |scheme: &str, value: &str| SchemeDefault {
            scheme: scheme.to_owned(),
            value: Some(value.to_owned()),
        };
        document.unlike_defaults = vec![DifferingDefault {
            option: "ecn".to_owned(),
            values: vec![value("newreno", "false"), value(&own.scheme, "true")],
            set: None,
            schemes: Vec::new(),
        }];
        let schemes = schemes_without_ecn(&own.name, &own.scheme, &document);
        assert_eq!(schemes.as_deref(), Some("newreno"));
        assert_eq!(schemes_without_ecn(&own.name, "newreno", &document), None, "it has no ECN itself");
        document.starved = vec![StarvedFlows {
            scheme: None,
            group: own.name,
            flows: 1,
            of: 1,
            goodput_bps: 40e3,
            share_bps: 5e6,
            timeouts: 1.0,
            loss: 0.0,
        }];
        let found = starvation_sentences(&document, Style::PLAIN);
        let end = "0.0 % of its packets lost: queues mark its packets, and not those of newreno, which are Not-ECT.";
        assert!(found[0].ends_with(end), "{found:?}");
    }
}
