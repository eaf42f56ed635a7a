//! Schemes: a transport with its congestion controller and their parameters.

use super::super::diagnostic::Report;
use super::super::explicit_options::ExplicitOptions;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::{Definitions, Field, TableDoc};
use super::super::table_declarations::{Decode, Spanned, as_table, decode_tag, wrong_type};
use super::super::value_types::{Name, scheme_name_fault};
use serde_json::json;
use std::sync::Arc;
use thalweg_catalog::{Keys, SchemeDescription};

/// The values of `[defaults.scheme]`: keys of all window schemes, and keys that these share with other schemes.
#[derive(Clone, Debug)]
pub struct Common(pub ExplicitOptions);

impl Common {
    /// The title of the table.
    pub const NAME: &'static str = "window scheme";
    /// The description of the table.
    pub const ABOUT: &'static str = "Options of all window schemes.";

    /// Returns the keys with their documentation.
    pub fn fields() -> Vec<Field> {
        COMMON.top().map(Field::described).collect()
    }

    /// Returns true if the table has `key`.
    pub fn has(key: &str) -> bool {
        COMMON.find(key).is_some()
    }
}

const COMMON: Keys = thalweg_catalog::schemes::window::window_keys(&[], &[]);

impl Decode for Common {
    fn expected() -> String {
        format!("a table ({})", Self::NAME)
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let table = as_table::<Self>(value, report)?;
        Some(Self(ExplicitOptions::decode(Self::NAME, COMMON, table, &[], report)))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (name, about) = (Self::NAME.to_owned(), Self::ABOUT.to_owned());
        definitions.define_table(TableDoc { name, about, tag: None, fields: Self::fields() })
    }
}

/// A scheme: a built-in one with its parameters.
#[derive(Clone, Debug)]
pub struct SchemeTable {
    /// The built-in scheme.
    pub description: &'static SchemeDescription,
    /// The values of its keys.
    pub explicit_options: ExplicitOptions,
}

impl SchemeTable {
    /// Returns a built-in scheme with its defaults.
    pub const fn builtin(description: &'static SchemeDescription) -> Self {
        Self { description, explicit_options: ExplicitOptions::new(description.keys) }
    }
}

impl Decode for SchemeTable {
    fn expected() -> String {
        "a table with `base` (scheme)".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_scheme(value, None, &[], report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let registry = Arc::clone(definitions.registry());
        let tables = registry.schemes().iter().map(|of| TableDoc {
            name: of.title(),
            about: of.text(),
            tag: Some(("base".to_owned(), of.name.to_owned())),
            fields: of.keys.top().filter(|key| key.is_simulated()).map(Field::described).collect(),
        });
        definitions.define_union_of_tables(
            "scheme",
            "A scheme: a built-in one with parameters.",
            tables.collect(),
        )
    }
}

/// The tables `[scheme.NAME]`. A table with the name of a built-in scheme needs no `base` and replaces that scheme.
#[derive(Clone, Debug, Default)]
pub struct Schemes(pub Vec<(Spanned<Name>, Option<Spanned<SchemeTable>>)>);

impl Decode for Schemes {
    fn expected() -> String {
        "tables by name, each a scheme".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::Table(table) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let mut schemes = Vec::with_capacity(table.entries.len());
        for (key, value) in &table.entries {
            if let Some(fault) = scheme_name_fault(&key.name) {
                report.error("scenario.name", key.span, fault);
                continue;
            }
            // Keep the name of an invalid scheme, to avoid follow-up errors at the flows that use it.
            let scheme = decode_scheme(value, Some(&key.name), &[], report);
            schemes.push((
                Spanned { value: Name(key.name.clone()), span: key.span },
                scheme.map(|scheme| Spanned { value: scheme, span: value.span }),
            ));
        }
        Some(Self(schemes))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let each = SchemeTable::schema(definitions);
        let mut own = serde_json::Map::new();
        for of in Arc::clone(definitions.registry()).schemes() {
            own.insert(of.name.to_owned(), definitions.with_optional_tag(of.name, "scheme", "base"));
        }
        json!({ "type": "object", "properties": own, "additionalProperties": each })
    }
}

fn decode_scheme(
    value: &Value,
    name: Option<&str>,
    skip: &[&str],
    report: &mut Report,
) -> Option<SchemeTable> {
    let ValueKind::Table(table) = &value.kind else {
        wrong_type::<SchemeTable>(value, report);
        return None;
    };
    let registry = Arc::clone(report.registry());
    let names: Vec<&str> = registry.schemes().iter().map(|of| of.name).collect();
    let base = match name.filter(|name| table.get("base").is_none() && names.contains(name)) {
        Some(name) => name,
        None => decode_tag(table, value.span, "scheme", "base", &names, report)?,
    };
    let description = registry.scheme(base)?;
    let beside = [&["base"], skip].concat();
    let explicit_options =
        ExplicitOptions::decode(&description.title(), description.keys, table, &beside, report);
    Some(SchemeTable { description, explicit_options })
}

/// A flow's scheme: a name, or an inline table.
#[derive(Clone, Debug)]
pub enum SchemeRef {
    /// A built-in scheme or one of `[scheme.NAME]`, optionally with options: `cubic:beta=0.5`.
    Name(Name),
    /// A table, under its explicit name or that of its base.
    Table(Name, SchemeTable),
}

impl Decode for SchemeRef {
    fn expected() -> String {
        "the name of a scheme, perhaps with options (\"cubic:beta=0.5\"), or a table with `base`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(_) => scheme_name(value, report).map(Self::Name),
            ValueKind::Table(table) => {
                let name = match table.get("name").or_else(|| table.get("base")) {
                    Some(name) => scheme_name(name, report)?,
                    None => Name(String::new()), // A missing base is reported below.
                };
                let scheme = decode_scheme(value, None, &["name"], report)?;
                Some(Self::Table(name, scheme))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let name = Name::schema(definitions);
        let with_options = json!({ "type": "string", "maxLength": 256, "pattern": "^[^:]+:[^=]+=" });
        // An inline table may have a name beside its parameters.
        let table = SchemeTable::schema(definitions);
        let named = definitions.define_with_name_property("inline scheme", "scheme");
        json!({ "anyOf": [name, with_options, table, named] })
    }
}

fn scheme_name(value: &Value, report: &mut Report) -> Option<Name> {
    let text = String::decode(value, report)?;
    if let Some(fault) = scheme_name_fault(&text) {
        report.error("scenario.name", value.span, fault);
        return None;
    }
    Some(Name(text))
}

/// Declares an enumeration of keywords.
macro_rules! words {
    ($(#[doc = $about:literal])+ $Name:ident: $Type:ty { $($word:literal => $value:expr,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name(pub $Type);

        impl $Name {
            /// Returns the keyword.
            pub fn word(self) -> &'static str {
                $(if self.0 == $value {
                    return $word;
                })+
                ""
            }
        }

        impl $crate::key_bindings::FieldOf<$Name> for $Type {
            fn from_key(given: Option<&$Name>) -> Option<Self> {
                given.map(|name| name.0)
            }
            fn toml(&self) -> Option<String> {
                Some($crate::toml_writer::toml_string($Name(*self).word()))
            }
        }

        impl $crate::table_declarations::Decode for $Name {
            fn expected() -> String {
                [$(concat!("\"", $word, "\"")),+].join(" or ")
            }
            fn decode(value: &$crate::parsed_tree::Value, report: &mut $crate::diagnostic::Report) -> Option<Self> {
                let $crate::parsed_tree::ValueKind::String(text) = &value.kind else {
                    $crate::table_declarations::wrong_type::<Self>(value, report);
                    return None;
                };
                match text.as_str() {
                    $($word => Some(Self($value)),)+
                    _ => {
                        let message = format!("expected {}, found \"{text}\"", Self::expected());
                        report.error("scenario.unknown-name", value.span, message).names(text, [$($word),+]);
                        None
                    }
                }
            }
            fn schema(_: &mut $crate::schema_definitions::Definitions) -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}
pub(super) use words;
