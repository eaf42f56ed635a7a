//! The JSON Schema accepts what the loader accepts, and rejects errors that an editor can mark.

use crate::random_scenarios::scenario;
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use thalweg_scenario::{Diagnostic, file_schema, keys_reference, load_text};
use toml::de::{DeTable, DeValue};

fn root() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(file_schema)
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text.as_ref()),
        DeValue::Integer(number) => serde_json::from_str(number.as_str()).unwrap_or(Value::Null),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(value) => json!(value),
        DeValue::Datetime(_) => json!(null),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_to_json(table),
    }
}

fn table_to_json(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn matches(pattern: &str, text: &str) -> bool {
    static PATTERNS: OnceLock<Mutex<HashMap<String, Regex>>> = OnceLock::new();
    let mut patterns = PATTERNS.get_or_init(Mutex::default).lock().unwrap();
    let pattern = patterns.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap());
    pattern.is_match(text)
}

/// Validates with the subset of JSON Schema in use; panics at other keywords, as they would remain unchecked.
fn valid(schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(key, rule)| match key.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "examples" => true,
        "$ref" => valid(root().pointer(&rule.as_str().unwrap()[1..]).unwrap(), value),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.is_u64() || value.is_i64(),
            other => panic!("type {other}"),
        },
        "const" => rule == value,
        "enum" => rule.as_array().unwrap().contains(value),
        "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        "maxLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap())
        }
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        "then" => true,
        "if" => !valid(rule, value) || schema.get("then").is_none_or(|then| valid(then, value)),
        "not" => !valid(rule, value),
        "anyOf" => rule.as_array().unwrap().iter().any(|one| valid(one, value)),
        "oneOf" => rule.as_array().unwrap().iter().filter(|one| valid(one, value)).count() == 1,
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(rule, item))),
        "prefixItems" => value.as_array().is_none_or(|items| {
            items.iter().zip(rule.as_array().unwrap()).all(|(item, rule)| valid(rule, item))
        }),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
        "properties" => value.as_object().is_none_or(|object| {
            object.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| valid(rule, value)))
        }),
        "required" => value.as_object().is_none_or(|object| {
            rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
        }),
        "additionalProperties" => value.as_object().is_none_or(|object| {
            let known = schema.get("properties").and_then(Value::as_object);
            let mut further =
                object.iter().filter(|(key, _)| known.is_none_or(|known| !known.contains_key(*key)));
            match rule {
                Value::Bool(allowed) => *allowed || further.next().is_none(),
                rule => further.all(|(_, value)| valid(rule, value)),
            }
        }),
        other => panic!("the test does not know the rule {other}"),
    })
}

fn takes(text: &str) -> bool {
    valid(root(), &table_to_json(DeTable::parse(text).unwrap().get_ref()))
}

#[test]
fn the_scenarios_of_the_repository_are_valid_as_written_and_in_full() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        assert!(takes(&std::fs::read_to_string(&path).unwrap()), "{}", path.display());
        let expanded = thalweg_scenario::load(&path, &[]).unwrap().expanded();
        assert!(takes(&expanded), "{expanded}");
    }
}

#[test]
fn the_schema_rejects_invalid_scenarios() {
    for text in [
        "durration = \"1 s\"",
        "duration = 30",
        "duration = \"30 parsec\"",
        "seed = -1",
        "[[link]]\nrate = \"1 Mbit/s\"",
        "[[link]]\nbetween = [\"a\", \"b\"]\nqueue = \"fast\"",
        "[[link]]\nbetween = [\"a\", \"b\"]\nloss = 2",
        "[[link]]\nbetween = [\"a\", \"b\"]\nloss = { model = \"gilbert-elliott\" }",
        "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = { base = \"newreno\", alpha = \"1 pkt\" }",
        "[[flow]]\nfrom = \"a\"\nto = \"b\"\nworkload = \"talk\"",
        "[scheme.mine]\nalpha = \"1 pkt\"",
        "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubik\"",
        "[defaults.flow]\nscheme = \"cubik\"",
        "[[link]]\nbetween = [\"a\", \"b\"]\nqueue = { discipline = \"fq-kodel\", capacity = \"9 pkt\" }",
        "[scheme.mine]\nbase = \"cubik\"",
        "[measure]\ninterval = \"never\"",
    ] {
        assert!(!takes(text), "{text}");
    }
    // User-defined names are accepted at keys that allow them.
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"mine\"";
    assert!(takes(&format!("[scheme.mine]\nbase = \"cubic\"\n{flow}")));
    assert!(takes(&format!("include = [\"mine.toml\"]\n{flow}")) && !takes(flow));
    assert!(takes("[scheme.vegas]\nalpha = \"1 pkt\""));
    assert!(takes("[[link]]\nbetween = [\"a\", \"b\"]\nloss = { packets = [1, 5] }\nqueue = \"10 x 512 B\""));
}

#[test]
fn everything_in_the_schema_is_described() {
    fn check_described(value: &Value, path: &str) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                let is_described = property.get("description").is_some() || property.get("const").is_some();
                assert!(is_described || path.ends_with("/scheme"), "{path}: {key} has no description");
            }
        }
        if let Some(parts) = value.as_object() {
            parts.iter().for_each(|(key, part)| check_described(part, &format!("{path}/{key}")));
        }
    }
    check_described(root(), "");
    assert!(keys_reference().contains("| `receive-window` | a size, such as \"64 kB\" | `\"1 GiB\"` |"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Scenarios with all kinds of keys are read, are valid, and read back unchanged from their expanded form.
    #[test]
    fn generated_scenarios_are_read_valid_and_stable(text in scenario()) {
        let loaded = load_text("generated.toml", &text, Path::new(""), &[]).unwrap_or_else(|found| {
            panic!("{}\n{text}", found.iter().map(Diagnostic::render).collect::<String>())
        });
        prop_assert!(takes(&text), "{}", text);
        let expanded = loaded.expanded();
        prop_assert!(takes(&expanded), "{}", expanded);
        let again = load_text("expanded.toml", &expanded, Path::new("/nowhere"), &[]).unwrap_or_else(|found| {
            panic!("{}\n{expanded}", found.iter().map(Diagnostic::render).collect::<String>())
        });
        prop_assert_eq!(format!("{:?}", loaded.spec()), format!("{:?}", again.spec()));
        prop_assert_eq!(&again.expanded(), &expanded);
        prop_assert!(thalweg_sim::Simulation::new(loaded.spec(), thalweg_sim::packet_trace::NoTrace).is_ok());
    }
}

/// Python's `re` has no Unicode letter classes, and rejects schemas with them; lookaround is not portable either.
#[test]
fn schema_patterns_use_the_portable_regex_dialect() {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                found.extend(entries.get("pattern").and_then(Value::as_str).map(str::to_owned));
                entries.values().for_each(|value| walk(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let mut patterns = Vec::new();
    walk(root(), &mut patterns);
    assert!(patterns.len() > 10);
    for pattern in patterns {
        for special in ["\\p", "\\P", "(?", "\\u", "[:"] {
            assert!(!pattern.contains(special), "{special} in {pattern}");
        }
    }
    let name = root()["$defs"]["name"]["pattern"].as_str().unwrap();
    for good in ["core", "a b", "l-1", "größe", "链路", "x_/+:#9", "é", "a-"] {
        assert!(matches(name, good), "{good}");
    }
    for bad in ["", " a", "a ", "-a", "a.b", "a,b", "a\"b", "a[b", "a\\b", "a\nb", "a{b", "a\u{7f}"] {
        assert!(!matches(name, bad), "{bad:?}");
    }
}

/// A link with one end is invalid.
#[test]
fn a_link_has_two_ends() {
    let between = &root()["$defs"]["link"]["properties"]["between"];
    assert_eq!((&between["minItems"], &between["maxItems"]), (&json!(2), &json!(2)));
}
