//! Options that differ between compared schemes because of their defaults.

use serde::{Deserialize, Serialize};
use thalweg_catalog::{ComparedScheme, default_differences, repair_differences};
use thalweg_scenario::{LoadedScenario, SchemeInUse};

/// Option that differs between compared schemes because of their defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingDefault {
    /// Option.
    pub option: String,
    /// Schemes that use their default, with its value.
    pub values: Vec<SchemeDefault>,
    /// Change of the scenario that makes the values equal (`--set`); missing where no single change does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Alternative scheme names that achieve this, where `set` is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<[String; 2]>,
}

/// Scheme with its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemeDefault {
    /// Scheme.
    pub scheme: String,
    /// Value; missing where it is derived from other values.
    pub value: Option<String>,
}

impl DifferingDefault {
    /// Returns the loss repair of each scheme, where their transports differ.
    pub(crate) fn of_loss_repair(repair: Vec<(String, String)>) -> Self {
        let values = repair.into_iter().map(|(scheme, repair)| SchemeDefault { scheme, value: Some(repair) });
        Self { option: LOSS_REPAIR.to_owned(), values: values.collect(), set: None, schemes: Vec::new() }
    }

    /// Returns true for an option, false for the schemes' loss repair, which no option equalises.
    pub fn is_option(&self) -> bool {
        self.option != LOSS_REPAIR
    }

    /// Returns the schemes whose value is not the common one of `set`, each with its name that has this value; those of
    /// `schemes` where there is no `set`.
    pub fn by_name(&self) -> Vec<[String; 2]> {
        let Some(level) = self.set.as_deref().and_then(|set| set.split_once('=')).map(|(_, level)| level)
        else {
            return self.schemes.clone();
        };
        let text = |of: &SchemeDefault| of.value.as_ref().map(|value| value.replace(' ', ""));
        let others = self.values.iter().filter(|of| text(of).as_deref() != Some(level));
        let renamed = others.map(|of| [of.scheme.clone(), with_option(&of.scheme, &self.option, level)]);
        renamed.collect()
    }
}

/// Returns a scheme's name with another option.
fn with_option(scheme: &str, option: &str, value: &str) -> String {
    let separator = if scheme.contains(':') { "," } else { ":" };
    format!("{scheme}{separator}{option}={value}")
}

/// Returns the options whose defaults differ between these schemes.
pub fn differing_defaults(schemes: &[ComparedScheme<'_>]) -> Vec<DifferingDefault> {
    let of = |found: thalweg_catalog::DefaultDifference| {
        let level = found.level.map(|level| level.to_string().replace(' ', ""));
        let set = level.as_ref().filter(|_| found.is_common());
        let set = set.map(|level| format!("defaults.scheme.{}={level}", found.option));
        let others = found.values.iter().filter(|(_, value)| *value != found.level);
        let others = others.filter_map(|(scheme, _)| {
            Some([scheme.clone(), with_option(scheme, found.option, level.as_ref()?)])
        });
        let schemes = if set.is_some() { Vec::new() } else { others.collect() };
        let value = |(scheme, value): &(String, Option<thalweg_catalog::Value>)| SchemeDefault {
            scheme: scheme.clone(),
            value: value.map(|value| value.to_string()),
        };
        DifferingDefault {
            option: found.option.to_owned(),
            values: found.values.iter().map(value).collect(),
            set,
            schemes,
        }
    };
    let mut all: Vec<DifferingDefault> = default_differences(schemes).into_iter().map(of).collect();
    let repair = repair_differences(schemes);
    if !repair.is_empty() {
        all.push(DifferingDefault::of_loss_repair(repair));
    }
    all
}

/// Name of the entry for schemes with different transports on a path that reorders packets.
const LOSS_REPAIR: &str = "loss repair";

/// Returns the scheme of a group for a comparison, under this name.
pub fn compared_scheme<'a>(name: &'a str, of: &'a SchemeInUse) -> ComparedScheme<'a> {
    ComparedScheme {
        name,
        description: of.description,
        values: &of.values,
        pauses: of.pauses,
        reorders: of.reorders,
    }
}

/// Returns the options whose defaults differ between the groups of one scenario that send reliably.
pub fn differing_defaults_within(loaded: &LoadedScenario) -> Vec<DifferingDefault> {
    let groups = loaded.compared_flows();
    let in_use = groups.iter().filter_map(|position| loaded.schemes.get(&(position - 1)));
    let compared: Vec<_> = in_use.map(|of| compared_scheme(of.description.name, of)).collect();
    let mut all = differing_defaults(&compared);
    for found in &mut all {
        // Groups with the same scheme and the same value are one entry.
        let mut seen = Vec::new();
        found.values.retain(|of| !seen.contains(of) && (seen.push(of.clone()), true).1);
        found.schemes.dedup();
    }
    all
}
