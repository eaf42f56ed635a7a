//! Sentences below the tables of a document, and on the first screen of its page.

use super::Style;
use super::aborted_flows_remark::aborted_flows_sentences;
use super::differing_defaults::{Remedy, differing_defaults_warning};
use super::queue_losses_remark::queue_losses_sentences;
use super::starvation_remark::starvation_sentences;
use super::unsettled_goodput_remark::unsettled_goodput_sentences;
use super::warmup_data_remark::early_arrivals;
use crate::results::{Body, Document};

/// Returns the remarks on defaults that differ between the groups of a scenario, flows that gave up or
/// starved, groups that lost much, goodput of data from the warm-up, and goodput that had not settled.
pub(crate) fn all_remarks(document: &Document, style: Style) -> impl Iterator<Item = String> {
    let unlike = match document.body {
        Body::Run { .. } | Body::Replications { .. } => {
            differing_defaults_warning(&document.unlike_defaults, Remedy::Groups)
        }
        // It precedes the verdicts.
        Body::Comparison { .. } => None,
    };
    let failures = aborted_flows_sentences(document, style).into_iter();
    let early = early_arrivals(document, style);
    unlike
        .into_iter()
        .chain(failures)
        .chain(starvation_sentences(document, style))
        .chain(queue_losses_sentences(document, style))
        .chain(early)
        .chain(unsettled_goodput_sentences(document, style))
}
