//! The JSON Schema of scenario files, for editors, generated from the descriptions of their tables.

use super::table::{Decode, Field, Fields};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use thalweg_catalog::Registry;

/// A generator for the schema of one kind of a choice, from the tag key and its value.
pub type Variant = fn(&mut Definitions, &str, &str) -> Value;

/// The named definitions of a schema, and the tables described so far.
#[derive(Debug, Default)]
pub struct Definitions {
    parts: Map<String, Value>,
    tables: Vec<TableDoc>,
    registry: Arc<Registry>,
}

/// The documentation of a table for the reference.
#[derive(Clone, Debug)]
pub struct TableDoc {
    /// The name of the table.
    pub name: String,
    /// The purpose of the table, in sentences.
    pub about: String,
    /// The tag key and its value, for a table that is one kind of a choice.
    pub tag: Option<(String, String)>,
    /// The table's keys.
    pub fields: Vec<Field>,
}

impl Definitions {
    /// Returns the available schemes and disciplines.
    pub const fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns a reference to the definition `name`; creates it if it is missing.
    pub fn named(&mut self, name: &str, make: impl FnOnce() -> Value) -> Value {
        self.nested(name, |_| make())
    }

    /// Returns a reference to a definition that may need other definitions.
    pub fn nested(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        let name = part_name(name);
        if !self.parts.contains_key(&name) {
            self.parts.insert(name.clone(), Value::Null); // Ends the recursion of a definition that contains itself.
            let part = make(self);
            self.parts.insert(name.clone(), part);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// Returns the schema of a table.
    pub fn table<T: Fields>(&mut self) -> Value {
        self.nested(T::NAME, |definitions| object::<T>(None, definitions))
    }

    /// Returns the schema of a table with a description.
    pub fn described(&mut self, table: TableDoc) -> Value {
        let name = table.name.clone();
        self.nested(&name, |definitions| document(table, definitions))
    }

    /// Returns the schema of a choice of described tables.
    pub fn choice_of(&mut self, name: &str, about: &str, tables: Vec<TableDoc>) -> Value {
        self.nested(name, |definitions| {
            let kinds: Vec<Value> = tables.into_iter().map(|table| document(table, definitions)).collect();
            json!({ "description": about, "oneOf": kinds })
        })
    }

    /// Returns the schema of a choice with the tag key `tag`.
    pub fn choice(&mut self, name: &str, about: &str, tag: &str, variants: &[(&str, Variant)]) -> Value {
        self.nested(name, |definitions| {
            let kinds: Vec<Value> =
                variants.iter().map(|(value, variant)| variant(definitions, tag, value)).collect();
            json!({ "description": sentence(about), "oneOf": kinds })
        })
    }

    /// Copies the definition `of` under another name, and adds the key `name` to each of its kinds.
    pub fn with_name(&mut self, name: &str, of: &str) -> Value {
        let mut part = self.parts.get(of).cloned().unwrap_or(Value::Null);
        for kind in part["oneOf"].as_array_mut().into_iter().flatten() {
            kind["properties"]["name"] =
                json!({ "type": "string", "description": "The scheme's name in results." });
        }
        self.named(name, || part)
    }

    /// Returns the kind `kind` of the choice `of` with an optional tag key.
    pub fn without_tag(&self, kind: &str, of: &str, tag: &str) -> Value {
        let kinds = self.parts.get(of).and_then(|part| part["oneOf"].as_array());
        let mut found = kinds
            .into_iter()
            .flatten()
            .find(|one| one["properties"][tag]["const"] == kind)
            .cloned()
            .unwrap_or_default();
        if let Some(required) = found["required"].as_array_mut() {
            required.retain(|key| key != tag);
        }
        json!({ "anyOf": [{ "$ref": format!("#/$defs/{of}") }, found] })
    }
}

/// Replaces spaces: references are URIs.
fn part_name(name: &str) -> String {
    name.replace(' ', "-")
}

/// Returns the schema of one kind of a choice.
pub(super) fn variant<T: Fields>(definitions: &mut Definitions, tag: &str, value: &str) -> Value {
    object::<T>(Some((tag, value)), definitions)
}

fn object<T: Fields>(tag: Option<(&str, &str)>, definitions: &mut Definitions) -> Value {
    let table = TableDoc {
        name: T::NAME.to_owned(),
        about: T::ABOUT.to_owned(),
        tag: tag.map(|(tag, value)| (tag.to_owned(), value.to_owned())),
        fields: T::fields().to_vec(),
    };
    document(table, definitions)
}

/// Returns the schema of a table, and records the table for the reference.
fn document(table: TableDoc, definitions: &mut Definitions) -> Value {
    definitions.tables.push(table.clone());
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((tag, value)) = table.tag {
        properties.insert(tag.clone(), json!({ "const": value }));
        required.push(tag);
    }
    for field in &table.fields {
        let mut schema = field.schema(definitions);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), Value::from(sentence(field.about)));
            if let Some(default) = field.default.as_deref().and_then(default_value) {
                schema.insert("default".to_owned(), default);
            }
        }
        properties.insert(field.key.to_owned(), schema);
        if field.required {
            required.push(field.key.to_owned());
        }
    }
    json!({
        "description": sentence(&table.about),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// Joins a description into one line.
pub(super) fn sentence(about: &str) -> String {
    about.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Converts a default to JSON, if it is a plain value.
fn default_value(toml: &str) -> Option<Value> {
    serde_json::from_str(toml).ok()
}

/// Returns all tables of a scenario file, the top-level table first.
pub(super) fn tables() -> Vec<TableDoc> {
    let mut definitions = Definitions::default();
    let _ = super::keys::Document::schema(&mut definitions);
    definitions.tables
}

/// Returns the JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Value {
    schema_with(&Arc::default())
}

/// Returns the JSON Schema of scenario files with the schemes and disciplines of `registry`.
pub fn schema_with(registry: &Arc<Registry>) -> Value {
    let mut definitions = Definitions { registry: Arc::clone(registry), ..Definitions::default() };
    let top = super::keys::Document::schema(&mut definitions);
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Thalweg scenario",
    });
    let names: Vec<&str> = registry.schemes().iter().map(|scheme| scheme.name).collect();
    // A bare name, or a name with options: `cubic:beta=0.8`.
    let with_options = json!({ "type": "string", "pattern": format!("^({}):", names.join("|")) });
    let listed = json!({ "anyOf": [{ "enum": names }, with_options] });
    definitions.parts.insert("listed-scheme".to_owned(), listed);
    if let (Some(root), Some(top)) = (root.as_object_mut(), top.as_object()) {
        root.extend(top.clone());
        root.extend(listed_schemes().as_object().cloned().unwrap_or_default());
        root.insert("$defs".to_owned(), Value::Object(definitions.parts));
    }
    root
}

/// Returns the rule that a flow's scheme must be listed, unless the file defines schemes or has includes.
fn listed_schemes() -> Value {
    let scheme = json!({
        "description": "A listed scheme, or a table with `base`.",
        "anyOf": [{ "type": "object" }, { "$ref": "#/$defs/listed-scheme" }]
    });
    let flow = json!({ "properties": { "scheme": scheme } });
    let described = |about: &str, part: Value| {
        let mut part = part;
        part["description"] = Value::from(about);
        part
    };
    json!({
        "if": { "not": { "anyOf": [{ "required": ["scheme"] }, { "required": ["include"] }] } },
        "then": {
            "properties": {
                "flow": described("Flows of listed schemes.", json!({ "items": flow })),
                "defaults": described("Defaults with a listed scheme.", json!({
                    "properties": { "flow": described("What flows share.", flow) }
                })),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::Takes;
    use super::*;

    #[test]
    fn no_two_tables_have_the_same_name() {
        let mut names: Vec<String> =
            tables().iter().map(|table| format!("{} {:?}", table.name, table.tag)).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_default_decodes() {
        for table in tables() {
            for field in table.fields {
                if let (Some(default), Takes::Type { decodes, .. }) = (field.default, field.takes) {
                    assert!(decodes(&default), "{} {} = {default}", table.name, field.key);
                }
            }
        }
    }
}
