//! Types of values: quantities with units, counts, names, and lists of them.

use super::diagnostic::Report;
use super::key_bindings::{FieldOf, plain};
pub use super::list_columns::MAX_LIST_LENGTH;
use super::parsed_tree::{Value, ValueKind};
use super::schema_definitions::Definitions;
use super::table_declarations::{Decode, Spanned, decode_entry, wrong_type};
use super::toml_writer::toml_string;
use super::unknown_unit::{has_unknown_unit, unknown_unit};
use serde_json::json;
use std::str::FromStr;
use std::sync::Arc;
use thalweg_proto::units::{self, Bytes, Duration, Rate, UnitError, split_number};
pub use thalweg_proto::units::{Packets, Segments, Share};

/// Returns the text of a possible quantity: a string as it is, a bare number as its digits.
fn quantity_text(kind: &ValueKind) -> Option<&str> {
    match kind {
        ValueKind::String(text) | ValueKind::Integer(text) | ValueKind::Float(text) => Some(text),
        _ => None,
    }
}

/// Decodes text in the form that `T` parses; reports `T`'s own errors.
pub(super) fn decode_quantity<T: Decode + FromStr<Err = UnitError>>(
    value: &Value,
    report: &mut Report,
) -> Option<T> {
    let Some(text) = quantity_text(&value.kind) else {
        wrong_type::<T>(value, report);
        return None;
    };
    let is_plain =
        !matches!(value.kind, ValueKind::String(_)) && report.registry().accepts_unitless_numbers();
    let parsed = match T::PLAIN_UNIT.filter(|_| is_plain) {
        Some(unit) => {
            report.note_unit(value.span, unit);
            parse_rounded(&format!("{text} {unit}"))
        }
        None => text.parse(),
    };
    match parsed {
        Ok(quantity) => Some(quantity),
        Err(error) => {
            unit_error::<T>(value, &error, report);
            None
        }
    }
}

/// Parses a quantity that a program has computed: digits beyond its resolution are rounded.
pub(super) fn parse_rounded<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, UnitError> {
    text.parse().or_else(|error| match error {
        UnitError::TooFine { .. } => {
            let (number, unit) = split_number(text);
            let number: f64 = number.replace('_', "").parse().map_err(|_| error.clone())?;
            let with_decimals = |decimals| format!("{number:.decimals$} {unit}").parse().ok();
            (0..MAX_DECIMALS).rev().find_map(with_decimals).ok_or(error)
        }
        _ => Err(error),
    })
}

/// Number of decimals from which no unit is that fine: an hour in picoseconds has 15.
const MAX_DECIMALS: usize = 16;

/// Minimum number that is likely meant in the base unit, without a prefix.
const MIN_BASE_UNIT_NUMBER: f64 = 1e5;

fn unit_error<T: Decode>(value: &Value, error: &UnitError, report: &mut Report) {
    match error {
        UnitError::NoUnit { number, suggestion } => {
            let message = format!("`{number}` has no unit");
            let is_large = number.parse().is_ok_and(|number: f64| number >= MIN_BASE_UNIT_NUMBER);
            let label = match (T::COMMON_UNITS, T::PLAIN_UNIT.filter(|_| is_large)) {
                (_, Some(unit)) => format!("did you mean \"{number} {unit}\"?"),
                ([], None) => format!("did you mean \"{suggestion}\"?"),
                (units, None) => {
                    let meant: Vec<String> =
                        units.iter().map(|unit| format!("\"{number} {unit}\"")).collect();
                    format!("did you mean {}?", meant.join(" or "))
                }
            };
            report.error("scenario.unit", value.span, message).label(label);
        }
        UnitError::UnknownUnit { unit, known } => {
            unknown_unit(value, unit, known, &known.join(", "), report);
        }
        UnitError::NotANumber { text, .. } => {
            let message = format!("expected {}, found \"{text}\"", T::expected());
            report.error("scenario.type", value.span, message);
        }
        other => {
            report.error("scenario.range", value.span, other.to_string());
        }
    }
}

/// Returns a schema of text with a number and one of these units.
fn unit_schema(units: &str, example: &str) -> serde_json::Value {
    json!({
        "anyOf": [
            { "type": "string", "pattern": format!("^\\s*[+]?[0-9._]+([eE][-+]?[0-9]+)?\\s*({units})\\s*$") },
            { "const": 0 },
            { "const": "0" }
        ],
        "examples": [example]
    })
}

/// Returns a pattern of text with a real number and this unit.
fn real_pattern(unit: &str) -> String {
    format!("^\\s*[+]?[0-9._]+([eE][-+]?[0-9]+)?\\s*{unit}\\s*$")
}

/// The units of time, as a regular expression.
const TIME_UNITS: &str = "ps|ns|us|µs|ms|s|min|h|d";
/// The units of data amounts, as a regular expression.
const SIZE_UNITS: &str = "[kMGT]?B|[KMGT]iB";

impl Decode for Duration {
    const COMMON_UNITS: &'static [&'static str] = &["ms", "s"];
    const PLAIN_UNIT: Option<&'static str> = Some("s");

    fn expected() -> String {
        "a time, such as \"50 ms\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_quantity(value, report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("time", || unit_schema(TIME_UNITS, "50 ms"))
    }
}

impl Decode for Rate {
    const PLAIN_UNIT: Option<&'static str> = Some("bit/s");

    fn expected() -> String {
        "a rate, such as \"100 Mbit/s\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_quantity(value, report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("rate", || unit_schema("[kMGT]?bit/s|[kMG]?B/s", "100 Mbit/s"))
    }
}

impl Decode for Bytes {
    const COMMON_UNITS: &'static [&'static str] = &["B", "kB"];
    const PLAIN_UNIT: Option<&'static str> = Some("B");

    fn expected() -> String {
        "a size, such as \"64 kB\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_quantity(value, report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("size", || {
            let mut schema = unit_schema(SIZE_UNITS, "64 kB");
            if let Some(any) = schema["anyOf"].as_array_mut() {
                let product = format!("^\\s*[0-9]+\\s*x\\s*[0-9._]+\\s*({SIZE_UNITS})\\s*$");
                any.push(json!({ "type": "string", "pattern": product }));
            }
            schema
        })
    }
}

impl Decode for Packets {
    fn expected() -> String {
        "a number of packets, such as \"30 pkt\", or \"unlimited\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_quantity(value, report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("packets", || {
            json!({ "anyOf": [
                { "type": "string", "pattern": real_pattern("pkt") },
                { "const": "unlimited" }
            ], "examples": ["30 pkt"] })
        })
    }
}

impl Decode for Segments {
    const COMMON_UNITS: &'static [&'static str] = &["seg", "wa"];

    fn expected() -> String {
        "a number of segments, such as \"58 seg\" or \"2.5 wa\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_quantity(value, report)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define(
            "segments",
            || json!({ "type": "string", "pattern": real_pattern("(seg|wa)"), "examples": ["2.5 wa"] }),
        )
    }
}

/// A probability: `0.0001`, or `"0.01 %"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(pub f64);

/// Decodes a number from 0 to 1 or a percentage; `what` names it in messages.
fn decode_part<T: Decode>(value: &Value, what: &str, report: &mut Report) -> Option<f64> {
    let (parsed, bare) = match &value.kind {
        ValueKind::Integer(text) | ValueKind::Float(text) => (Some(text.parse::<units::Share>()), true),
        // Other strings are not numbers in TOML.
        ValueKind::String(text) if text.trim().ends_with('%') => (Some(text.parse()), false),
        _ => (None, false),
    };
    let p = match (parsed, &value.kind) {
        (Some(Ok(share)), _) => share.0,
        (Some(Err(UnitError::NoShare)), kind) => {
            let message = format!("a {what} must lie between 0 and 1, or 0 % and 100 %");
            let found = report.error("scenario.range", value.span, message);
            let percent = quantity_text(kind).and_then(|text| text.replace('_', "").parse::<f64>().ok());
            if let Some(p) = percent.filter(|p| bare && (1.0..=100.0).contains(p)) {
                found.label(format!("did you mean \"{p} %\"?"));
            }
            return None;
        }
        (_, ValueKind::String(text)) => {
            let message = format!("expected {}, found \"{text}\"", T::expected());
            let found = report.error("scenario.type", value.span, message);
            if let Some(p) = text.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)) {
                found.label(if p < 1.0 {
                    format!("did you mean {p:?}?")
                } else {
                    format!("did you mean \"{p} %\"?")
                });
            }
            return None;
        }
        _ => {
            wrong_type::<T>(value, report);
            return None;
        }
    };
    Some(p)
}

fn part_schema(example: &str) -> serde_json::Value {
    json!({ "anyOf": [
        { "type": "number", "minimum": 0, "maximum": 1 },
        { "type": "string", "pattern": "^\\s*[0-9.]+\\s*%\\s*$" }
    ], "examples": [example] })
}

impl Decode for Probability {
    fn expected() -> String {
        "a probability, such as 0.001 or \"0.1 %\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_part::<Self>(value, "probability", report).map(Self)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("probability", || part_schema("0.1 %"))
    }
}

impl Decode for Share {
    fn expected() -> String {
        "a share, such as 0.8 or \"80 %\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_part::<Self>(value, "share", report).map(Self)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define("share", || part_schema("80 %"))
    }
}

/// A number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl Decode for Number {
    fn expected() -> String {
        "a number".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let parsed = match &value.kind {
            ValueKind::Integer(text) | ValueKind::Float(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        match parsed.filter(|number| number.is_finite()) {
            Some(number) => Some(Self(number)),
            // TOML accepts `nan` and `inf` as numbers.
            None if parsed.is_some() => {
                report.error("scenario.range", value.span, "expected a finite number");
                None
            }
            None => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "number" })
    }
}

plain! {
    Number, f64: |number| number.0, |number| format!("{number:?}");
    Probability, f64: |probability| probability.0, |number| format!("{number:?}");
    Share, f64: |share| share.0, |number| format!("{number:?}");
}

/// Decodes a whole number from 0 to `max`.
fn decode_integer<T: Decode + FromStr + std::fmt::Display>(
    value: &Value,
    max: &T,
    report: &mut Report,
) -> Option<T> {
    let ValueKind::Integer(text) = &value.kind else {
        wrong_type::<T>(value, report);
        return None;
    };
    let number = text.strip_prefix('+').unwrap_or(text).replace('_', "").parse().ok();
    if number.is_none() {
        let message = format!("expected a whole number from 0 to {max}");
        report.error("scenario.range", value.span, message);
    }
    number
}

impl Decode for u64 {
    fn expected() -> String {
        "a whole number from 0".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_integer(value, &Self::MAX, report)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "integer", "minimum": 0 })
    }
}

impl Decode for u32 {
    fn expected() -> String {
        u64::expected()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        decode_integer(value, &Self::MAX, report)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "integer", "minimum": 0, "maximum": Self::MAX })
    }
}

impl Decode for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::Boolean(value) = value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        Some(value)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

impl Decode for String {
    fn expected() -> String {
        "text".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::String(text) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        Some(text.clone())
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

/// The name of a node, link, scheme or flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub String);

/// Maximum length of a name, in characters.
pub(super) const MAX_NAME_LENGTH: usize = 64;

/// Returns the error in a name, if it is invalid. Names are used in file names and `--set` paths, so they have no dots.
pub(super) fn name_fault(text: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ' ' | '+' | ':' | '#');
    if text.is_empty() {
        Some("a name is empty")
    } else if text.chars().count() > MAX_NAME_LENGTH {
        Some("a name has more than 64 characters")
    } else if !text.chars().all(fits) {
        Some("a name has only letters, digits, spaces and - _ / + : #")
    } else if text.starts_with([' ', '-']) || text.ends_with(' ') {
        Some("a name does not begin with a space or `-`, nor end with a space")
    } else if text.bytes().all(|b| b.is_ascii_digit()) && text.len() > 1 && text.starts_with('0') {
        Some("a name that is a number has no leading zero")
    } else {
        None
    }
}

/// Returns the error in a scheme's name, if it is invalid: a name, or one with options, as in `cubic:beta=0.5`.
pub(super) fn scheme_name_fault(text: &str) -> Option<&'static str> {
    match split_options(text) {
        Some(_) if text.chars().count() > MAX_OPTIONS_LENGTH => {
            Some("a scheme with options has more than 256 characters")
        }
        Some(_) if text.chars().any(char::is_control) => Some("a scheme with options has control characters"),
        _ if text.starts_with('{') => Some(QUOTED_TABLE),
        Some((name, _)) => name_fault(name),
        None => name_fault(text),
    }
}

/// The error in a table between quotes, as in `"{ base = \"cubic\" }"`.
pub(super) const QUOTED_TABLE: &str = "a table is written without quotes: { KEY = VALUE, ... }";

/// Splits a text into a scheme's name and its options, if it has options.
pub fn split_options(text: &str) -> Option<(&str, &str)> {
    text.split_once(':')
        .filter(|(_, options)| options.contains('='))
        .map(|(name, options)| (name.trim(), options))
}

/// Maximum length of a scheme's name with options.
const MAX_OPTIONS_LENGTH: usize = 256;

impl Decode for Name {
    fn expected() -> String {
        "a name".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let text = String::decode(value, report)?;
        if let Some(fault) = name_fault(&text) {
            report.error("scenario.name", value.span, fault);
            return None;
        }
        Some(Self(text))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        definitions.define(
            "name",
            || json!({ "type": "string", "maxLength": MAX_NAME_LENGTH, "pattern": NAME_PATTERN }),
        )
    }
}

/// The pattern of names in the regular-expression dialect shared by JavaScript and Python, without character classes
/// for letters: all non-ASCII characters pass, and are checked when the file is read.
const NAME_PATTERN: &str = concat!(
    r#"^[^\x00-"$-*,-.;-@\[-^`{-\x9f]"#,
    r#"([^\x00-\x1f!-"$-*,.;-@\[-^`{-\x9f]*[^\x00-"$-*,.;-@\[-^`{-\x9f])?$"#
);

/// Returns the name in a table header written as `[name]`.
fn single_header(value: &Value, report: &Report) -> Option<String> {
    let ValueKind::Table(_) = value.kind else { return None };
    let text = report.source(value.span.source).text();
    let header = text.get(value.span.start as usize..)?.strip_prefix('[')?;
    let (name, _) = header.split_once(']')?;
    let name = name.trim();
    (!name.is_empty() && !name.contains(['\n', '['])).then(|| name.to_owned())
}

impl<T: FieldOf<K>, K> FieldOf<Vec<Spanned<K>>> for Arc<[T]> {
    fn from_key(given: Option<&Vec<Spanned<K>>>) -> Option<Self> {
        given?.iter().map(|at| T::from_key(Some(&at.value))).collect()
    }
    fn toml(&self) -> Option<String> {
        let elements: Option<Vec<String>> = self.iter().map(T::toml).collect();
        Some(format!("[{}]", elements?.join(", ")))
    }
}

impl<T: Decode> Decode for Vec<Spanned<T>> {
    fn expected() -> String {
        format!("a list, each element {}", T::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::Array(items) = &value.kind else {
            match single_header(value, report) {
                Some(name) => {
                    let message =
                        format!("there may be several `{name}`: each has two brackets on both sides");
                    report.error("scenario.type", value.span, message).help(format!("write [[{name}]]"));
                }
                None => wrong_type::<Self>(value, report),
            }
            return None;
        };
        if items.len() > MAX_LIST_LENGTH {
            report.error(
                "scenario.range",
                value.span,
                format!("the list has more than {MAX_LIST_LENGTH} elements"),
            );
            return None;
        }
        // Invalid elements are reported; the others are still decoded.
        Some(items.iter().filter_map(|item| decode_entry(item, report)).collect())
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let items = T::schema(definitions);
        json!({ "type": "array", "items": items })
    }
}

/// A sampling interval, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

impl FieldOf<Interval> for Option<Duration> {
    fn from_key(given: Option<&Interval>) -> Option<Self> {
        given.map(|interval| interval.0)
    }
    fn toml(&self) -> Option<String> {
        Some(self.map_or_else(|| toml_string("off"), |interval| format!("\"{interval}\"")))
    }
}

impl Decode for Interval {
    fn expected() -> String {
        "a time, such as \"100 ms\", or \"off\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(text) if text == "off" => Some(Self(None)),
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                let interval = Duration::decode(value, report)?;
                if interval.is_zero() {
                    report
                        .error("scenario.range", value.span, "this time must be above zero")
                        .help("to disable it, write \"off\"");
                    return None;
                }
                Some(Self(Some(interval)))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let time = Duration::schema(definitions);
        json!({ "anyOf": [time, { "const": "off" }] })
    }
}

/// A length of a queue: `5 pkt` or `7500 B`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A number of packets of any size.
    Packets(f64),
    /// A size in bytes.
    Bytes(Bytes),
}

impl Decode for Threshold {
    fn expected() -> String {
        "a length, such as \"5 pkt\" or \"7500 B\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let text = match &value.kind {
            ValueKind::String(text) | ValueKind::Integer(text) | ValueKind::Float(text) => text.trim(),
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        let (number, unit) = split_number(text);
        if !number.is_empty() && unit.is_empty() {
            report
                .error("scenario.unit", value.span, format!("`{number}` has no unit"))
                .label(format!("did you mean \"{number} pkt\"?"))
                .help(format!("expected {}", Self::expected()));
            return None;
        }
        if unit != "pkt" && !has_unknown_unit::<Bytes>(text) {
            return Bytes::decode(value, report).map(Self::Bytes);
        }
        if unit != "pkt" {
            let units = ["pkt", "B", "kB", "MB", "GB", "KiB", "MiB"];
            unknown_unit(value, unit, &units, &units.join(", "), report);
            return None;
        }
        let Packets(packets) = Packets::decode(value, report)?;
        if packets.is_infinite() {
            report.error("scenario.range", value.span, format!("expected {}", Self::expected()));
            return None;
        }
        Some(Self::Packets(packets))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let size = Bytes::schema(definitions);
        json!({ "anyOf": [{ "type": "string", "pattern": "^\\s*[0-9.]+\\s*pkt\\s*$" }, size] })
    }
}
