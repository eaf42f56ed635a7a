//! The parsed tables and values of a scenario before decoding, with source positions.

use super::diagnostic::Report;
use super::source_text::Span;
use toml::de::{DeTable, DeValue};

/// Maximum nesting depth of tables and arrays; no description needs more than seven.
const MAX_NESTING: usize = 24;

/// Maximum size of a file, in bytes, for listing all syntax errors; parsing a larger one stops at the first.
const LISTS_ALL_ERRORS: usize = 256 << 10;

/// A value with its position.
#[derive(Clone, Debug)]
pub struct Value {
    /// The value.
    pub kind: ValueKind,
    /// The position; for a table with a header, that of the header.
    pub span: Span,
}

/// A value by its TOML type.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// A string.
    String(String),
    /// A whole number, as its decimal digits if it was written in decimal.
    Integer(String),
    /// A number with a decimal point or an exponent.
    Float(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time; not accepted by any key.
    Datetime,
    /// An array, including arrays of tables.
    Array(Vec<Value>),
    /// A table.
    Table(Table),
}

impl ValueKind {
    /// Returns the name of the type in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::String(_) => "text",
            Self::Integer(_) => "a whole number",
            // TOML accepts `nan` and `inf`.
            Self::Float(digits) if digits.ends_with(['n', 'f']) => "a number that is not finite",
            Self::Float(digits) if digits.starts_with('-') => "a number below zero",
            Self::Float(digits) if digits.contains('.') => "a number with a fraction",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Datetime => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// Converts the value to JSON. Numbers that do not fit, and dates, become null.
    pub fn into_json(self) -> serde_json::Value {
        match self {
            Self::String(text) => text.into(),
            Self::Integer(digits) => digits.parse::<i64>().ok().into(),
            Self::Float(digits) => digits.parse::<f64>().ok().into(),
            Self::Boolean(value) => value.into(),
            Self::Datetime => serde_json::Value::Null,
            Self::Array(values) => values.into_iter().map(|value| value.kind.into_json()).collect(),
            Self::Table(table) => {
                let entries = table.entries.into_iter();
                let entries: serde_json::Map<_, _> =
                    entries.map(|(key, value)| (key.name, value.kind.into_json())).collect();
                entries.into()
            }
        }
    }
}

/// A key with its position.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub name: String,
    /// The position.
    pub span: Span,
}

/// Keys with values, in file order.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The entries, without duplicate keys.
    pub entries: Vec<(Key, Value)>,
}

impl Table {
    /// Returns the value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    /// Returns the string value of a key.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.kind {
            ValueKind::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses source `source` as TOML; reports syntax errors and returns the valid remainder.
pub fn parse(source: u32, report: &mut Report) -> Table {
    let text = std::sync::Arc::clone(report.source(source));
    let text = text.text();
    if text.len() > LISTS_ALL_ERRORS {
        return match DeTable::parse(text) {
            Ok(table) => convert_table(table.into_inner(), source, 0, report),
            Err(error) => {
                syntax_error(&error, source, report);
                Table::default()
            }
        };
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        syntax_error(error, source, report);
    }
    convert_table(table.into_inner(), source, 0, report)
}

/// Parses source `source` as a single TOML value.
pub fn parse_value(source: u32, report: &mut Report) -> Option<Value> {
    let text = std::sync::Arc::clone(report.source(source));
    let value = DeValue::parse(text.text()).ok()?;
    let span = Span::new(source, value.span());
    Some(Value { kind: convert_value(value.into_inner(), span, 0, report)?, span })
}

fn syntax_error(error: &toml::de::Error, source: u32, report: &mut Report) {
    let span = error.span().map_or(Span::whole(source), |span| Span::new(source, span));
    report.error("scenario.syntax", span, error.message());
}

fn convert_table(table: DeTable<'_>, source: u32, depth: usize, report: &mut Report) -> Table {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let span = Span::new(source, value.span());
        let key = Key { span: Span::new(source, key.span()), name: key.into_inner().into_owned() };
        if depth >= MAX_NESTING {
            report.error(
                "scenario.depth",
                key.span,
                format!("tables are nested more than {MAX_NESTING} deep"),
            );
            break;
        }
        // The parser's error recovery may invent a value; its syntax error has already been reported.
        if let Some(kind) = convert_value(value.into_inner(), span, depth + 1, report) {
            entries.push((key, Value { kind, span }));
        }
    }
    Table { entries }
}

fn convert_value(value: DeValue<'_>, span: Span, depth: usize, report: &mut Report) -> Option<ValueKind> {
    let source = span.source;
    Some(match value {
        DeValue::String(text) => ValueKind::String(text.into_owned()),
        DeValue::Integer(number) => ValueKind::Integer(match number.radix() {
            10 => number.as_str().to_owned(),
            radix => u64::from_str_radix(number.as_str(), radix)
                .map_or_else(|_| number.to_string(), |n| n.to_string()),
        }),
        DeValue::Float(number) => ValueKind::Float(number.as_str().to_owned()),
        DeValue::Boolean(value) => ValueKind::Boolean(value),
        DeValue::Datetime(_) => ValueKind::Datetime,
        DeValue::Array(items) => {
            if depth >= MAX_NESTING {
                report.error(
                    "scenario.depth",
                    span,
                    format!("lists are nested more than {MAX_NESTING} deep"),
                );
                return None;
            }
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                let span = Span::new(source, item.span());
                values.push(Value { kind: convert_value(item.into_inner(), span, depth + 1, report)?, span });
            }
            ValueKind::Array(values)
        }
        DeValue::Table(table) => ValueKind::Table(convert_table(table, source, depth, report)),
    })
}
