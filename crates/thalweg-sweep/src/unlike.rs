//! Options that differ between compared schemes because of their defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_report::results::{UnlikeDefault, unlike_defaults};
use thalweg_scenario::SchemeInUse;

/// Schemes of a scenario's groups, by position.
type InUse = BTreeMap<usize, Arc<SchemeInUse>>;

/// Returns the options that differ between these schemes, each with the scenario's groups that use it.
pub fn unlike(schemes: &[(&str, InUse)]) -> Vec<UnlikeDefault> {
    let mut all: Vec<UnlikeDefault> = Vec::new();
    let groups: BTreeSet<usize> = schemes.iter().flat_map(|(_, in_use)| in_use.keys().copied()).collect();
    for group in groups {
        let of = schemes.iter().filter_map(|(name, in_use)| Some((name, in_use.get(&group)?)));
        let of: Vec<_> = of.map(|(name, of)| (*name, of.description, &of.values)).collect();
        join(&mut all, unlike_defaults(&of));
    }
    all
}

/// Adds the entries of `more` that are not in `all` yet.
pub fn join(all: &mut Vec<UnlikeDefault>, more: Vec<UnlikeDefault>) {
    for found in more {
        if !all.contains(&found) {
            all.push(found);
        }
    }
}
