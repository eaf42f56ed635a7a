//! Formats keys and values as TOML text.

use std::fmt::{Display, Write as _};
use thalweg_catalog::{Key, Value};

/// Keys with values in TOML, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries(Vec<(&'static str, String)>);

impl Entries {
    /// Adds a key with a value in TOML.
    pub fn put(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.push((key, value.into()));
    }

    /// Adds a key with a quantity, formatted with its unit.
    pub fn quantity(&mut self, key: &'static str, quantity: impl Display) {
        self.put(key, format!("\"{quantity}\""));
    }

    /// Adds a key with a number, formatted without loss.
    pub fn number(&mut self, key: &'static str, number: f64) {
        self.put(key, format!("{number:?}"));
    }

    /// Adds values of keys, with key tables as tables.
    pub fn values(&mut self, values: &[(&'static Key, Value)]) {
        let mut tables: Vec<(&'static str, Self)> = Vec::new();
        for (key, value) in values {
            match key.name.split_once('.') {
                None => self.put(key.name, value.to_toml()),
                Some((table, short)) => {
                    // The table takes the position of its first key, and replaces its switch.
                    if tables.iter().all(|(name, _)| *name != table) {
                        tables.push((table, Self::default()));
                        self.0.retain(|(name, _)| *name != table);
                        self.put(table, String::new());
                    }
                    if let Some((_, keys)) = tables.last_mut() {
                        keys.put(short, value.to_toml());
                    }
                }
            }
        }
        for (name, keys) in tables {
            if let Some((_, text)) = self.0.iter_mut().find(|(key, _)| *key == name) {
                *text = keys.inline();
            }
        }
    }

    /// Sorts the keys by their positions, those without one first.
    pub fn in_order(mut self, position: impl Fn(&str) -> Option<usize>) -> Self {
        self.0.sort_by_cached_key(|(key, _)| position(key));
        self
    }

    /// Appends all entries of `other`.
    pub fn append(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Formats the entries, one per line.
    pub fn lines(&self) -> String {
        self.0.iter().fold(String::new(), |mut out, (key, value)| {
            let _ = writeln!(out, "{key} = {value}");
            out
        })
    }

    /// Formats the entries as an inline table.
    pub fn inline(&self) -> String {
        let entries: Vec<String> = self.0.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", entries.join(", "))
    }
}

/// Formats a text as a TOML string.
pub fn toml_string(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Formats a key in TOML, quoted if necessary.
pub fn toml_key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { name.to_owned() } else { toml_string(name) }
}
