//! Warning about a comparison: unset options whose defaults differ between the compared schemes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_report::results::{self, DifferingDefault};
use thalweg_scenario::SchemeInUse;

/// Scheme of each group of flows in a scenario, by the position of the group.
type InUse = BTreeMap<usize, Arc<SchemeInUse>>;

/// Returns the options whose defaults differ. Each scheme comes with its use in the groups of the scenario; schemes are
/// compared group by group.
pub fn differing_defaults(schemes: &[(&str, InUse)]) -> Vec<DifferingDefault> {
    let mut all: Vec<DifferingDefault> = Vec::new();
    let groups: BTreeSet<usize> = schemes.iter().flat_map(|(_, in_use)| in_use.keys().copied()).collect();
    for group in groups {
        let compared = schemes.iter().filter_map(|(name, in_use)| Some((name, in_use.get(&group)?)));
        let compared: Vec<_> = compared.map(|(name, of)| results::compared_scheme(name, of)).collect();
        add_missing_entries(&mut all, results::differing_defaults(&compared));
    }
    all
}

/// Adds the entries of `more` that are not in `all` yet.
pub fn add_missing_entries(all: &mut Vec<DifferingDefault>, more: Vec<DifferingDefault>) {
    for found in more {
        if !all.contains(&found) {
            all.push(found);
        }
    }
}
