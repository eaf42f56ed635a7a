//! The JSON Schema of scenario files, for editors.

use super::keys::Document;
use super::schema_definitions::{Definitions, TableDoc};
use super::table_declarations::Decode;
use serde_json::{Value, json};
use std::sync::Arc;
use thalweg_catalog::Registry;

/// Returns all tables of a scenario file, the top-level table first.
pub(super) fn all_tables() -> Vec<TableDoc> {
    let mut definitions = Definitions::default();
    let _ = Document::schema(&mut definitions);
    definitions.into_tables()
}

/// Returns the JSON Schema (draft 2020-12) of a scenario file.
pub fn file_schema() -> Value {
    schema_with(&Arc::default())
}

/// Returns the JSON Schema of scenario files with the schemes and disciplines of `registry`.
pub fn schema_with(registry: &Arc<Registry>) -> Value {
    let mut definitions = Definitions::new(registry);
    let top = Document::schema(&mut definitions);
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Thalweg scenario",
    });
    let names: Vec<&str> = registry.schemes().iter().map(|scheme| scheme.name).collect();
    // A bare name, or a name with options: `cubic:beta=0.8`.
    let with_options = json!({ "type": "string", "pattern": format!("^({}):", names.join("|")) });
    let listed = json!({ "anyOf": [{ "enum": names }, with_options] });
    let mut parts = definitions.into_schemas();
    parts.insert("listed-scheme".to_owned(), listed);
    if let (Some(root), Some(top)) = (root.as_object_mut(), top.as_object()) {
        root.extend(top.clone());
        root.extend(listed_schemes().as_object().cloned().unwrap_or_default());
        root.insert("$defs".to_owned(), Value::Object(parts));
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
    use super::super::schema_definitions::ValueType;
    use super::*;

    #[test]
    fn no_two_tables_have_the_same_name() {
        let mut names: Vec<String> =
            all_tables().iter().map(|table| format!("{} {:?}", table.name, table.tag)).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_default_decodes() {
        for table in all_tables() {
            for field in table.fields {
                if let (Some(default), ValueType::Type { can_decode, .. }) = (field.default, field.value_type)
                {
                    assert!(can_decode(&default), "{} {} = {default}", table.name, field.key);
                }
            }
        }
    }
}
