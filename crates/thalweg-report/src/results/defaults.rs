//! Options that differ between compared schemes because of their defaults.

use serde::{Deserialize, Serialize};
use thalweg_catalog::{Compared, SchemeDescription, Values, default_differences};

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

/// Returns the options whose defaults differ between these schemes: each by its name, with its description and values.
pub fn differing_defaults(schemes: &[(&str, &'static SchemeDescription, &Values)]) -> Vec<DifferingDefault> {
    let schemes = schemes.iter().map(|&(name, description, values)| Compared { name, description, values });
    let of = |found: thalweg_catalog::DefaultDifference| {
        let level = found.level.map(|level| level.to_string().replace(' ', ""));
        let set = level.as_ref().filter(|_| found.is_common());
        let set = set.map(|level| format!("defaults.scheme.{}={level}", found.option));
        let others = found.values.iter().filter(|(_, value)| *value != found.level);
        let others = others.filter_map(|(scheme, _)| {
            let separator = if scheme.contains(':') { "," } else { ":" };
            Some([scheme.clone(), format!("{scheme}{separator}{}={}", found.option, level.as_ref()?)])
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
    default_differences(&schemes.collect::<Vec<_>>()).into_iter().map(of).collect()
}
