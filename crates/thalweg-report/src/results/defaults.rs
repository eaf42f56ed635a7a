//! Options that compared schemes do not have alike, because nobody set them and their defaults differ.

use serde::{Deserialize, Serialize};
use thalweg_catalog::{Compared, SchemeDescription, Values, default_differences};

/// An option that compared schemes do not have alike, because their defaults differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlikeDefault {
    /// The option.
    pub option: String,
    /// The schemes that take their default, with its value.
    pub values: Vec<SchemeDefault>,
    /// The change of the scenario that makes it the same for all (`--set`); missing where no one change does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The schemes to name in place of these for that, where `set` is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<[String; 2]>,
}

/// A scheme with the default that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemeDefault {
    /// The scheme.
    pub scheme: String,
    /// The value; missing where it follows from something else.
    pub value: Option<String>,
}

/// Finds the options that these schemes do not have alike by default: each by its name, with its description and values.
pub fn unlike_defaults(schemes: &[(&str, &'static SchemeDescription, &Values)]) -> Vec<UnlikeDefault> {
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
        UnlikeDefault {
            option: found.option.to_owned(),
            values: found.values.iter().map(value).collect(),
            set,
            schemes,
        }
    };
    default_differences(&schemes.collect::<Vec<_>>()).into_iter().map(of).collect()
}
