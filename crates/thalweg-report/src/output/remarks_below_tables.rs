//! Sentences below the tables of a document, and on the first screen of its page.

use super::Style;
use super::aborted_flows_remark::failures;
use super::differing_defaults::{Remedy, differing_defaults_warning};
use super::queue_losses_remark::losses;
use super::starvation_remark::starvation;
use super::unsettled_goodput_remark::settling;
use super::warmup_data_remark::early_arrivals;
use crate::results::{Body, Document};

/// Returns the remarks on defaults that differ between the groups of a scenario, flows that gave up or
/// starved, groups that lost much, goodput of data from the warm-up, and goodput that had not settled.
pub(crate) fn remarks(document: &Document, style: Style) -> impl Iterator<Item = String> {
    let unlike = match document.body {
        Body::Run { .. } | Body::Replications { .. } => {
            differing_defaults_warning(&document.unlike_defaults, Remedy::Groups)
        }
        // It precedes the verdicts.
        Body::Comparison { .. } => None,
    };
    let failures = failures(document, style).into_iter();
    let early = early_arrivals(document, style);
    unlike
        .into_iter()
        .chain(failures)
        .chain(starvation(document, style))
        .chain(losses(document, style))
        .chain(early)
        .chain(settling(document, style))
}
