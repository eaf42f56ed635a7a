//! Definitions of the JSON Schema of scenario files, generated from the descriptions of their tables.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use thalweg_catalog::{Kind, Registry};

/// A generator for the schema of one kind of a choice, from the tag key and its value.
pub type Variant = fn(&mut Definitions, &str, &str) -> Value;

/// The named definitions of a schema, and the tables described so far.
#[derive(Debug, Default)]
pub struct Definitions {
    schemas: Map<String, Value>,
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
    pub value_type: ValueType,
}

/// The values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// The values that a type decodes.
    Type {
        /// The description of the expected values: [`Decode::expected`](super::table_declarations::Decode::expected) of the type.
        expected: fn() -> String,
        /// The JSON Schema of the type.
        schema: fn(&mut Definitions) -> Value,
        /// A check that a TOML text decodes.
        #[cfg(test)]
        can_decode: fn(&str) -> bool,
    },
    /// The values of a kind in the catalog.
    OfKind {
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
        match &self.value_type {
            ValueType::Type { expected, .. } => expected(),
            ValueType::OfKind { kind, expected, .. } => expected(kind),
        }
    }

    /// Returns the JSON Schema of the values.
    pub fn schema(&self, definitions: &mut Definitions) -> Value {
        match &self.value_type {
            ValueType::Type { schema, .. } => schema(definitions),
            ValueType::OfKind { kind, schema, .. } => schema(kind, definitions),
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
    pub fn into_schemas(self) -> Map<String, Value> {
        self.schemas
    }

    /// Returns the available schemes and disciplines.
    pub const fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns a reference to the definition `name`; creates it if it is missing.
    pub fn define(&mut self, name: &str, build_schema: impl FnOnce() -> Value) -> Value {
        self.define_recursive(name, |_| build_schema())
    }

    /// Returns a reference to a definition that may need other definitions.
    pub fn define_recursive(&mut self, name: &str, build_schema: impl FnOnce(&mut Self) -> Value) -> Value {
        let name = definition_name(name);
        if !self.schemas.contains_key(&name) {
            self.schemas.insert(name.clone(), Value::Null); // Ends the recursion of a definition that contains itself.
            let schema = build_schema(self);
            self.schemas.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// Returns the schema of a table with a description.
    pub fn define_table(&mut self, table: TableDoc) -> Value {
        let name = table.name.clone();
        self.define_recursive(&name, |definitions| table_schema(table, definitions))
    }

    /// Returns the schema of a choice of described tables.
    pub fn define_union_of_tables(&mut self, name: &str, description: &str, tables: Vec<TableDoc>) -> Value {
        self.define_recursive(name, |definitions| {
            let variant_schemas: Vec<Value> =
                tables.into_iter().map(|table| table_schema(table, definitions)).collect();
            json!({ "description": description, "oneOf": variant_schemas })
        })
    }

    /// Returns the schema of a choice with the tag key `tag`.
    pub fn define_tagged_union(
        &mut self,
        name: &str,
        description: &str,
        tag: &str,
        variants: &[(&str, Variant)],
    ) -> Value {
        self.define_recursive(name, |definitions| {
            let variant_schemas: Vec<Value> =
                variants.iter().map(|(value, variant)| variant(definitions, tag, value)).collect();
            json!({ "description": join_lines(description), "oneOf": variant_schemas })
        })
    }

    /// Copies the definition `base_name` under another name, and adds the key `name` to each of its kinds.
    pub fn define_with_name_property(&mut self, name: &str, base_name: &str) -> Value {
        let mut schema = self.schemas.get(base_name).cloned().unwrap_or(Value::Null);
        for variant in schema["oneOf"].as_array_mut().into_iter().flatten() {
            variant["properties"]["name"] =
                json!({ "type": "string", "description": "The scheme's name in results." });
        }
        self.define(name, || schema)
    }

    /// Returns the variant `tag_value` of the union `base_name` with an optional tag key.
    pub fn with_optional_tag(&self, tag_value: &str, base_name: &str, tag: &str) -> Value {
        let variants = self.schemas.get(base_name).and_then(|schema| schema["oneOf"].as_array());
        let mut variant = variants
            .into_iter()
            .flatten()
            .find(|candidate| candidate["properties"][tag]["const"] == tag_value)
            .cloned()
            .unwrap_or_default();
        if let Some(required) = variant["required"].as_array_mut() {
            required.retain(|key| key != tag);
        }
        json!({ "anyOf": [{ "$ref": format!("#/$defs/{base_name}") }, variant] })
    }
}

/// Replaces spaces: references are URIs.
fn definition_name(name: &str) -> String {
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
pub(super) fn join_lines(description: &str) -> String {
    description.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Converts a default to JSON, if it is a plain value.
fn default_value(toml: &str) -> Option<Value> {
    serde_json::from_str(toml).ok()
}
