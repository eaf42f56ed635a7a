//! Definitions of the JSON Schema of scenario files, generated from the descriptions of their tables.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use thalweg_catalog::{Kind, Registry};

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

/// The documentation of one key of a table.
#[derive(Clone, Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// The description, in sentences.
    pub about: &'static str,
    /// The default, in TOML.
    pub default: Option<String>,
    /// Required key.
    pub required: bool,
    /// The accepted values.
    pub takes: Takes,
}

/// The values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// The values that a type decodes.
    Type {
        /// The description of the expected values: [`Decode::expected`](super::table_declarations::Decode::expected) of the type.
        expected: fn() -> String,
        /// The JSON Schema of the type.
        schema: fn(&mut Definitions) -> Value,
        /// A check that a TOML text decodes.
        #[cfg(test)]
        decodes: fn(&str) -> bool,
    },
    /// The values of a kind in the catalog.
    Described {
        /// The kind.
        kind: Kind,
        /// The description of the expected values.
        expected: fn(&Kind) -> String,
        /// The JSON Schema of the kind.
        schema: fn(&Kind, &mut Definitions) -> Value,
    },
}

impl Field {
    /// Describes the expected values.
    pub fn expected(&self) -> String {
        match &self.takes {
            Takes::Type { expected, .. } => expected(),
            Takes::Described { kind, expected, .. } => expected(kind),
        }
    }

    /// Returns the JSON Schema of the values.
    pub fn schema(&self, definitions: &mut Definitions) -> Value {
        match &self.takes {
            Takes::Type { schema, .. } => schema(definitions),
            Takes::Described { kind, schema, .. } => schema(kind, definitions),
        }
    }
}

impl Definitions {
    /// Creates an empty schema of files with the schemes and disciplines of `registry`.
    pub fn new(registry: &Arc<Registry>) -> Self {
        Self { registry: Arc::clone(registry), ..Self::default() }
    }

    /// Returns the tables described so far.
    pub fn into_tables(self) -> Vec<TableDoc> {
        self.tables
    }

    /// Returns the named definitions.
    pub fn into_parts(self) -> Map<String, Value> {
        self.parts
    }

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

    /// Returns the schema of a table with a description.
    pub fn described(&mut self, table: TableDoc) -> Value {
        let name = table.name.clone();
        self.nested(&name, |definitions| table_schema(table, definitions))
    }

    /// Returns the schema of a choice of described tables.
    pub fn choice_of(&mut self, name: &str, about: &str, tables: Vec<TableDoc>) -> Value {
        self.nested(name, |definitions| {
            let kinds: Vec<Value> =
                tables.into_iter().map(|table| table_schema(table, definitions)).collect();
            json!({ "description": about, "oneOf": kinds })
        })
    }

    /// Returns the schema of a choice with the tag key `tag`.
    pub fn choice(&mut self, name: &str, about: &str, tag: &str, variants: &[(&str, Variant)]) -> Value {
        self.nested(name, |definitions| {
            let kinds: Vec<Value> =
                variants.iter().map(|(value, variant)| variant(definitions, tag, value)).collect();
            json!({ "description": join_lines(about), "oneOf": kinds })
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

/// Returns the schema of a table, and records the table for the reference.
pub(super) fn table_schema(table: TableDoc, definitions: &mut Definitions) -> Value {
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
            schema.insert("description".to_owned(), Value::from(join_lines(field.about)));
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
        "description": join_lines(&table.about),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// Joins a description into one line.
pub(super) fn join_lines(about: &str) -> String {
    about.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Converts a default to JSON, if it is a plain value.
fn default_value(toml: &str) -> Option<Value> {
    serde_json::from_str(toml).ok()
}
