//! Keys of traffic matrices between many nodes.

use super::super::diagnostic::Report;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, wrong_type};
use super::super::value_types::{Name, name_fault};
use super::scheme::words;
use serde_json::json;

/// The traffic matrix between two sets of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The first to the first, the second to the second.
    Pairs,
    /// Each source to each sink.
    AllToAll,
    /// A random one-to-one mapping of sources to sinks.
    Permutation,
    /// Several sources to each sink.
    Incast,
    /// Each source to some random sinks.
    Random,
}

words! {
    /// The traffic matrix, by name.
    PatternName: Pattern {
        "pairs" => Pattern::Pairs,
        "all-to-all" => Pattern::AllToAll,
        "permutation" => Pattern::Permutation,
        "incast" => Pattern::Incast,
        "random" => Pattern::Random,
    }
}

/// Nodes by name; `*` matches any characters.
#[derive(Clone, Debug, Default)]
pub struct Nodes(pub Vec<Spanned<String>>);

impl Nodes {
    fn name(value: &Value, report: &mut Report) -> Option<Spanned<String>> {
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
        Some(Spanned { value: text, span: value.span })
    }
}

impl Decode for Nodes {
    fn expected() -> String {
        "a name, one with a `*` for several, or a list of them".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(_) => Self::name(value, report).map(|name| Self(vec![name])),
            ValueKind::Array(items) if !items.is_empty() => {
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
