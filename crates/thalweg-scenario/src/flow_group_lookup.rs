//! Finds flow groups of a scenario by name.

use crate::nearest_name;
use thalweg_sim::simulation_spec::Spec;

/// Maximum number of group names in a message.
const MAX_NAMES: usize = 20;

/// Returns the position (from 1) of the flow group with this name.
///
/// # Errors
///
/// An unknown name: a sentence with the most similar one and the names of at most 20 groups.
pub fn group_named(spec: &Spec, name: &str) -> Result<usize, String> {
    let known = || spec.groups.iter().map(|group| group.name.as_str());
    known().position(|known| known == name).map(|position| position + 1).ok_or_else(|| {
        let quoted: Vec<String> = known().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
        let more = if spec.groups.len() > MAX_NAMES { ", ..." } else { "" };
        let similar = nearest_name(name, known())
            .map(|similar| format!("did you mean `{similar}`? "))
            .unwrap_or_default();
        format!("the scenario has no flows `{name}`; {similar}its groups are {}{more}", quoted.join(", "))
    })
}
