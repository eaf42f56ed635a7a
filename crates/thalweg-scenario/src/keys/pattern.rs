//! Keys of flows between many nodes.

use super::super::diagnostic::Report;
use super::super::quantity::{Name, name_fault};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, wrong_type};
use super::super::tree::{Kind, Value};
use super::scheme::words;
use serde_json::json;

/// The rule by which flows are made between nodes of two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// From the first to the first, from the second to the second.
    Pairs,
    /// From each to each.
    AllToAll,
    /// From each to one, and to each from one.
    Permutation,
    /// To each from some.
    Incast,
    /// From each to some.
    Random,
}

words! {
    /// The rule, by its word.
    PatternName: Pattern {
        "pairs" => Pattern::Pairs,
        "all-to-all" => Pattern::AllToAll,
        "permutation" => Pattern::Permutation,
        "incast" => Pattern::Incast,
        "random" => Pattern::Random,
    }
}

/// Nodes by their names, of which a `*` stands for any characters.
#[derive(Clone, Debug, Default)]
pub struct Nodes(pub Vec<At<String>>);

impl Nodes {
    fn name(value: &Value, report: &mut Report) -> Option<At<String>> {
        let text = String::decode(value, report)?;
        let fault = match text.matches('*').count() {
            0 => name_fault(&text),
            1 => name_fault(&text.replace('*', "x")),
            _ => Some("of several names there is one `*`"),
        };
        if let Some(fault) = fault {
            report.error("scenario.name", value.span, fault);
            return None;
        }
        Some(At { value: text, span: value.span })
    }
}

impl Decode for Nodes {
    fn expected() -> String {
        "a name, one with a `*` for several, or a list of them".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::String(_) => Self::name(value, report).map(|name| Self(vec![name])),
            Kind::Array(items) if !items.is_empty() => {
                let names: Vec<_> = items.iter().map(|item| Self::name(item, report)).collect();
                names.into_iter().collect::<Option<_>>().map(Self)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let name = Name::schema(definitions);
        let several = json!({ "type": "string", "pattern": r"^[^*]*\*[^*]*$", "examples": ["h*"] });
        let one = json!({ "anyOf": [name, several] });
        json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
