//! Explicit values of a scheme or discipline in a file, with their positions.

use super::diagnostic::Report;
use super::parsed_tree::{self, Table, Value};
use super::schema_definitions::{Definitions, Field, TableDoc, ValueType};
use super::source_text::Span;
use super::table_declarations::{Decode, wrong_kind};
use super::value_types::{Interval, Number, Packets, Probability, Segments, Share, Threshold};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_catalog as catalog;
use thalweg_catalog::option_syntax::read_options;
use thalweg_catalog::{ConfigError, Environment, Key, Keys, Kind, TextError, Values};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// The explicit values of a table, with their positions.
#[derive(Clone, Debug)]
pub struct ExplicitOptions {
    /// The values.
    pub values: Values,
    /// The positions of the values, by key.
    pub spans: BTreeMap<&'static str, Span>,
    /// Keys inherited from the shared defaults of another table.
    pub shared: BTreeSet<&'static str>,
    /// Presence of a key with an invalid value; its absence from the values implies nothing then.
    pub broken: bool,
}

impl ExplicitOptions {
    /// Creates an empty set of values.
    pub const fn new(keys: Keys) -> Self {
        Self {
            values: Values::new(keys, Environment::Simulated),
            spans: BTreeMap::new(),
            shared: BTreeSet::new(),
            broken: false,
        }
    }

    /// Decodes the keys of a table named `title`, except those in `beside`.
    pub fn decode(title: &str, keys: Keys, table: &Table, beside: &[&str], report: &mut Report) -> Self {
        let mut explicit = Self::new(keys);
        let top: Vec<&Key> = keys.top().filter(|key| key.is_simulated()).collect();
        let entries = table.entries.iter().filter(|(key, _)| !beside.contains(&key.name.as_str()));
        for (name, value) in entries {
            match top.iter().find(|key| key.name == name.name) {
                Some(key) => explicit.accept(key, value, report),
                None => {
                    let offered = top.iter().filter(|key| keys.offers(key));
                    let valid = offered.map(|key| key.name).chain(beside.iter().copied());
                    let message = format!("{title} has no key `{}`", name.name);
                    report.error("scenario.unknown-key", name.span, message).names(&name.name, valid);
                }
            }
        }
        explicit
    }

    fn accept(&mut self, key: &'static Key, value: &Value, report: &mut Report) {
        if let (Kind::Table(of), parsed_tree::ValueKind::Table(table)) = (key.kind, &value.kind) {
            self.spans.insert(key.name, value.span);
            if of.switch {
                self.values.set_value(key.name, catalog::Value::Switch(true));
            }
            for (name, value) in &table.entries {
                match of.keys.iter().find(|key| key.is_simulated() && key.short_name() == name.name) {
                    Some(key) => self.accept(key, value, report),
                    None => {
                        let valid = of.keys.iter().map(Key::short_name);
                        let message = format!("{} has no key `{}`", of.title, name.name);
                        report.error("scenario.unknown-key", name.span, message).names(&name.name, valid);
                    }
                }
            }
            return;
        }
        let Some(decoded) = decode_option(&key.kind, value, report) else {
            self.broken = true;
            return;
        };
        if let Err(range) = key.check(&decoded, Environment::Simulated) {
            self.broken = true;
            let message = format!("`{}` {range}", key.short_name());
            let draft = report.error("scenario.range", value.span, message);
            if !key.help.is_empty() {
                draft.help(key.help);
            }
            return;
        }
        self.values.set_value(key.name, decoded);
        self.spans.insert(key.name, value.span);
    }

    /// Applies options of the scheme `of`, each written as `KEY=VALUE` at its span.
    ///
    /// # Errors
    ///
    /// Those that are unknown, duplicate or invalid; the other options are applied.
    pub fn change(
        &mut self,
        of: &'static str,
        options: &[(&str, Span)],
    ) -> Result<(), Vec<(TextError, Span)>> {
        let keys = self.values.keys();
        let (mut given, mut errors) = (Self::new(keys), Vec::new());
        for &(option, span) in options {
            match read_options(of, keys, Environment::Simulated, Some(option)) {
                Ok(one) => {
                    for (key, value) in one.explicit_values() {
                        if given.spans.insert(key.name, span).is_some() {
                            errors.push((TextError::Twice(key.name), span));
                        }
                        given.values.set_value(key.name, *value);
                    }
                }
                Err(error) => errors.push((error, span)),
            }
        }
        let Self { values: options, spans, .. } = given;
        for (key, value) in options.explicit_values() {
            let span = spans[key.name];
            // A key of a switchable table enables it, as the table in a file does.
            let table = key.name.split_once('.').and_then(|(table, _)| keys.find(table));
            let switched = table.filter(|table| options.explicit_value(table.name).is_none());
            let switched = switched.map(|table| (table, catalog::Value::Switch(true)));
            for (key, value) in switched.into_iter().chain([(*key, *value)]) {
                self.values.set_value(key.name, value);
                self.spans.insert(key.name, span);
                self.shared.remove(key.name);
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Inherits from `other` the values that are not set here. A switchable table is inherited as a whole.
    pub fn inherit(&mut self, other: &Self) {
        let own: Vec<&str> = self.spans.keys().copied().collect();
        for (key, value) in other.values.explicit_values() {
            let switch = key.name.split_once('.').map_or(key.name, |(table, _)| table);
            let is_set =
                own.contains(&key.name) || own.contains(&switch) && self.values.keys().find(switch).is_some();
            // A scheme of another family may have a key of this name with other values.
            if !is_set && self.values.accepts(key.name, value) {
                self.values.set_value(key.name, *value);
                self.shared.insert(key.name);
                if let Some(span) = other.spans.get(key.name) {
                    self.spans.insert(key.name, *span);
                }
            }
        }
        self.broken |= other.broken;
    }

    /// Reports a fault at its key's position, or else at `span`.
    pub fn report(&self, fault: &ConfigError, span: Span, report: &mut Report) {
        // Consequences of an invalid value are not reported.
        if self.broken && !self.spans.contains_key(fault.key) {
            return;
        }
        // Shared defaults apply only to schemes that support them.
        if fault.is_scheme_rule && self.shared.contains(fault.key) {
            return;
        }
        let table = fault.key.split_once('.').map_or(fault.key, |(table, _)| table);
        let span = [fault.key, table].iter().find_map(|key| self.spans.get(key)).copied().unwrap_or(span);
        let draft = if fault.is_warning {
            report.warn("scenario.unused", span, fault.what.as_str())
        } else {
            report.error("scenario.range", span, fault.what.as_str())
        };
        if !fault.help.is_empty() {
            draft.help(fault.help);
        }
    }
}

impl Field {
    /// Creates a key from its description in the catalog.
    pub fn described(key: &Key) -> Self {
        let default = if key.default.is_empty() { None } else { key.kind.read(key.default).ok() };
        // The default as written in the catalog: `1514 B`, not `1.514 kB`.
        let text = |value: catalog::Value| {
            if value.is_unquoted() { key.default.to_owned() } else { format!("\"{}\"", key.default) }
        };
        Self {
            key: key.short_name(),
            about: key.about,
            default: default.map(text),
            required: key.required,
            value_type: ValueType::OfKind { kind: key.kind, expected: expected_values, schema: kind_schema },
        }
    }
}

/// Describes the values that a kind of key accepts, for messages and the reference.
pub fn expected_values(kind: &Kind) -> String {
    match kind {
        Kind::Packets => Packets::expected(),
        Kind::Segments => Segments::expected(),
        Kind::Number => Number::expected(),
        Kind::Count => u32::expected(),
        Kind::Time => Duration::expected(),
        Kind::Interval => Interval::expected(),
        Kind::Rate => Rate::expected(),
        Kind::Size => Bytes::expected(),
        Kind::Length => Threshold::expected(),
        Kind::Share => Share::expected(),
        Kind::Probability => Probability::expected(),
        Kind::Switch => bool::expected(),
        Kind::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
        Kind::Table(table) if table.switch => {
            let keys: Vec<String> = table.keys.iter().map(|key| format!("`{}`", key.short_name())).collect();
            format!("true, false or a table with {}", keys.join(" and "))
        }
        Kind::Table(table) => format!("a table ({})", table.title),
    }
}

/// Returns the JSON Schema of a kind.
pub fn kind_schema(kind: &Kind, definitions: &mut Definitions) -> serde_json::Value {
    match kind {
        Kind::Packets => Packets::schema(definitions),
        Kind::Segments => Segments::schema(definitions),
        Kind::Number => Number::schema(definitions),
        Kind::Count => u32::schema(definitions),
        Kind::Time => Duration::schema(definitions),
        Kind::Interval => Interval::schema(definitions),
        Kind::Rate => Rate::schema(definitions),
        Kind::Size => Bytes::schema(definitions),
        Kind::Length => Threshold::schema(definitions),
        Kind::Share => Share::schema(definitions),
        Kind::Probability => Probability::schema(definitions),
        Kind::Switch => bool::schema(definitions),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Table(table) => {
            let keys = definitions.define_table(TableDoc {
                name: table.title.to_owned(),
                about: table.about.to_owned(),
                tag: None,
                fields: table.keys.iter().filter(|key| key.is_simulated()).map(Field::described).collect(),
            });
            if table.switch { json!({ "anyOf": [{ "type": "boolean" }, keys] }) } else { keys }
        }
    }
}

/// Decodes a value of a kind.
pub fn decode_option(kind: &Kind, value: &Value, report: &mut Report) -> Option<catalog::Value> {
    use catalog::Value as Of;
    Some(match kind {
        Kind::Packets => Of::Packets(Packets::decode(value, report)?.0),
        Kind::Segments => Of::Segments(Segments::decode(value, report)?),
        Kind::Number => Of::Number(Number::decode(value, report)?.0),
        Kind::Count => Of::Count(u32::decode(value, report)?),
        Kind::Time => Of::Time(Duration::decode(value, report)?),
        Kind::Interval => Interval::decode(value, report)?.0.map_or(Of::Off, Of::Time),
        Kind::Rate => Of::Rate(Rate::decode(value, report)?),
        Kind::Size => Of::Size(Bytes::decode(value, report)?),
        Kind::Length => match Threshold::decode(value, report)? {
            Threshold::Packets(packets) => Of::Packets(packets),
            Threshold::Bytes(bytes) => Of::Size(bytes),
        },
        Kind::Share => Of::Share(Share::decode(value, report)?.0),
        Kind::Probability => Of::Share(Probability::decode(value, report)?.0),
        Kind::Switch => Of::Switch(bool::decode(value, report)?),
        Kind::Table(table) if table.switch && matches!(value.kind, parsed_tree::ValueKind::Boolean(_)) => {
            Of::Switch(bool::decode(value, report)?)
        }
        Kind::Table(_) => {
            wrong_kind(&expected_values(kind), value, report);
            return None;
        }
        Kind::Word(words) => {
            let parsed_tree::ValueKind::String(text) = &value.kind else {
                wrong_kind(&expected_values(kind), value, report);
                return None;
            };
            let Some(word) = kind.word(text) else {
                let message = format!("expected {}, found \"{text}\"", expected_values(kind));
                report.error("scenario.unknown-name", value.span, message).names(text, words.iter().copied());
                return None;
            };
            Of::Word(word)
        }
    })
}
