//! Compared schemes whose runs are identical.

use super::number_format::join_listed;
use crate::results::{Run, SchemeResults};

/// The remark on a single run of each scheme without random events.
pub(crate) const DETERMINISTIC: &str =
    "Nothing in the scenario is random: every replication gives the same results.";

/// Returns the sentences on schemes with identical runs, one for each set of such schemes.
pub(crate) fn identical_runs_sentences(schemes: &[SchemeResults]) -> Vec<String> {
    let sentence = |names: Vec<&str>| {
        format!("{} gave identical runs: what differs between them had no effect.", join_listed(&names))
    };
    identical_schemes(schemes).into_iter().filter(|names| names.len() > 1).map(sentence).collect()
}

/// Returns true if there are several schemes, and the runs of all are identical: there is nothing to compare.
pub(crate) fn are_all_identical(schemes: &[SchemeResults]) -> bool {
    schemes.len() > 1 && identical_schemes(schemes).iter().any(|names| names.len() == schemes.len())
}

/// Divides the schemes that have complete runs into sets with identical runs.
fn identical_schemes(schemes: &[SchemeResults]) -> Vec<Vec<&str>> {
    let mut sets: Vec<(Vec<&Run>, Vec<&str>)> = Vec::new();
    for of in schemes {
        let runs: Vec<&Run> = of.runs.iter().filter(|run| run.complete).collect();
        let same = |(others, _): &&mut (Vec<&Run>, Vec<&str>)| {
            others.len() == runs.len() && others.iter().zip(&runs).all(|(a, b)| are_same(a, b))
        };
        match sets.iter_mut().find(same) {
            _ if runs.is_empty() => {}
            Some((_, names)) => names.push(&of.scheme),
            None => sets.push((runs, vec![&of.scheme])),
        }
    }
    sets.into_iter().map(|(_, names)| names).collect()
}

/// Returns true if both runs have the same seed, packets and measurements.
fn are_same(a: &Run, b: &Run) -> bool {
    let groups = || a.groups.iter().map(|group| &group.values).eq(b.groups.iter().map(|group| &group.values));
    (a.seed, &a.fingerprint) == (b.seed, &b.fingerprint) && a.totals == b.totals && groups()
}
