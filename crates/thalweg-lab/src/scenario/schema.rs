//! The JSON Schema of scenario files, for editors, made from the descriptions of their tables.

use super::table::{Decode, Field, Fields};
use serde_json::{Map, Value, json};

/// The parts of a schema that are referred to by name.
#[derive(Debug, Default)]
pub struct Definitions {
    parts: Map<String, Value>,
}

impl Definitions {
    /// Refers to the part `name`, which is made if it is not there yet.
    pub fn named(&mut self, name: &str, make: impl FnOnce() -> Value) -> Value {
        if !self.parts.contains_key(name) {
            self.parts.insert(name.to_owned(), make());
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// The same, for a part that needs other parts.
    pub fn nested(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.parts.contains_key(name) {
            self.parts.insert(name.to_owned(), Value::Null); // A part that contains itself ends here.
            let part = make(self);
            self.parts.insert(name.to_owned(), part);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// The schema of a table.
    pub fn table<T: Fields>(&mut self) -> Value {
        self.nested(T::NAME, |definitions| object(T::ABOUT, &T::fields(), None, definitions))
    }

    /// The schema of a table whose key `tag` tells its kind.
    pub fn choice(
        &mut self,
        name: &str,
        about: &str,
        tag: &str,
        variants: &[(&str, fn(&mut Self, &str, &str) -> Value)],
    ) -> Value {
        self.nested(name, |definitions| {
            let kinds: Vec<Value> =
                variants.iter().map(|(value, variant)| variant(definitions, tag, value)).collect();
            json!({ "description": about.trim(), "oneOf": kinds })
        })
    }

    /// The part `of` under another name, with a key `name` more in each of its kinds.
    pub fn with_name(&mut self, name: &str, of: &str) -> Value {
        let mut part = self.parts.get(of).cloned().unwrap_or(Value::Null);
        for kind in part["oneOf"].as_array_mut().into_iter().flatten() {
            kind["properties"]["name"] =
                json!({ "type": "string", "description": "The scheme's name in results." });
        }
        self.named(name, || part)
    }
}

/// One kind of a choice.
pub(super) fn variant<T: Fields>(definitions: &mut Definitions, tag: &str, value: &str) -> Value {
    object(T::ABOUT, &T::fields(), Some((tag, value)), definitions)
}

fn object(about: &str, fields: &[Field], tag: Option<(&str, &str)>, definitions: &mut Definitions) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((tag, value)) = tag {
        properties.insert(tag.to_owned(), json!({ "const": value }));
        required.push(tag.to_owned());
    }
    for field in fields {
        let mut schema = (field.schema)(definitions);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), Value::from(field.about.trim()));
            if let Some(default) = field.default.and_then(default_value) {
                schema.insert("default".to_owned(), default);
            }
        }
        properties.insert(field.key.to_owned(), schema);
        if field.required {
            required.push(field.key.to_owned());
        }
    }
    json!({
        "description": about.trim(),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// A default as JSON, where it is a plain value.
fn default_value(toml: &str) -> Option<Value> {
    serde_json::from_str(toml).ok()
}

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Value {
    let mut definitions = Definitions::default();
    let top = super::keys::Document::schema(&mut definitions);
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Thalweg scenario",
    });
    if let (Some(root), Some(top)) = (root.as_object_mut(), top.as_object()) {
        root.extend(top.clone());
        root.insert("$defs".to_owned(), Value::Object(definitions.parts));
    }
    root
}
