//! Queues and their capacities.

use super::super::diagnostic::Report;
use super::super::diagnostic::nearest_name;
use super::super::explicit_options::ExplicitOptions;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::{Definitions, Field, TableDoc};
use super::super::table_declarations::{
    Decode, Spanned, as_table, decode_entry, decode_tag, report_missing_key, wrong_type,
};
use super::super::unknown_unit::{has_unknown_unit, unknown_unit};
use super::super::value_types::{Packets, QUOTED_TABLE};
use super::router_feedback::FeedbackChoice;
use serde_json::json;
use std::sync::Arc;
use thalweg_catalog::{DisciplineDescription, Registry};
use thalweg_proto::units::{Bytes, Duration, split_number};

/// The capacity of a queue: `625 pkt`, `64 KiB`, `1 bdp`, `50 ms` or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// A number of packets of any size.
    Packets(u64),
    /// A size in bytes.
    Bytes(Bytes),
    /// A multiple of the bandwidth-delay product.
    Bdp(f64),
    /// The amount that the link transmits in this time.
    Time(Duration),
    /// No limit.
    Unlimited,
}

impl Decode for Capacity {
    fn expected() -> String {
        "a capacity, such as \"625 pkt\", \"64 KiB\", \"1 bdp\", \"50 ms\" or \"unlimited\"".to_owned()
    }

    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let (text, bare) = match &value.kind {
            ValueKind::String(text) => (text.trim(), false),
            ValueKind::Integer(text) | ValueKind::Float(text) => (text.as_str(), true),
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        let (number, unit) = split_number(text);
        if number.is_empty() {
            let message = format!("expected {}, found \"{text}\"", Self::expected());
            let draft = report.error("scenario.type", value.span, message);
            if text.starts_with('{') {
                draft.help(QUOTED_TABLE);
            }
            return None;
        }
        if bare || unit.is_empty() {
            let message = format!("`{number}` has no unit");
            // Packets are whole; fractions are those of a bandwidth-delay product.
            let unit = if number.contains(['.', 'e', 'E']) { "bdp" } else { "pkt" };
            report
                .error("scenario.unit", value.span, message)
                .label(format!("did you mean \"{number} {unit}\"?"));
            return None;
        }
        match unit {
            "pkt" => {
                let Packets(packets) = Packets::decode(value, report)?;
                if packets.fract() != 0.0 || packets > 1e15 {
                    report.error("scenario.range", value.span, "a queue holds a whole number of packets");
                    return None;
                }
                Some(Self::Packets(packets as u64))
            }
            "bdp" => match number.parse::<f64>() {
                Ok(multiple) if (0.0..=1e6).contains(&multiple) => Some(Self::Bdp(multiple)),
                _ => {
                    report.error("scenario.range", value.span, "expected a multiple from 0 to 1000000");
                    None
                }
            },
            // Only the size parser handles products and binary prefixes ("10 x 512 B", "64 KiB").
            _ if !has_unknown_unit::<Bytes>(text) => Bytes::decode(value, report).map(Self::Bytes),
            _ if !has_unknown_unit::<Duration>(text) => Duration::decode(value, report).map(Self::Time),
            _ => {
                let units = ["pkt", "B", "kB", "MB", "GB", "KiB", "MiB", "bdp", "us", "ms", "s", "min"];
                let all = format!("{}, or \"unlimited\"", units.join(", "));
                unknown_unit(value, unit, &units, &all, report);
                None
            }
        }
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (size, time) = (Bytes::schema(definitions), Duration::schema(definitions));
        definitions.define("capacity", || {
            json!({ "anyOf": [
                { "type": "string", "pattern": "^\\s*[0-9]+\\s*pkt\\s*$" },
                { "type": "string", "pattern": "^\\s*[0-9.]+\\s*bdp\\s*$" },
                size, time,
                { "const": "unlimited" }
            ], "examples": ["1 bdp", "625 pkt"] })
        })
    }
}

/// A queue with its discipline.
#[derive(Clone, Debug)]
pub struct QueueTable {
    /// The discipline.
    pub discipline: &'static DisciplineDescription,
    /// The capacity, if set.
    pub capacity: Option<Spanned<Capacity>>,
    /// The router's feedback to sources, if the table sets it.
    pub feedback: Option<Spanned<FeedbackChoice>>,
    /// The discipline's own keys.
    pub explicit_options: ExplicitOptions,
}

/// The description of the key `feedback`, common to all queues.
const FEEDBACK: &str = "Router feedback to sources: \"none\", a kind of feedback, or a table; default: the kind that the schemes of the flows accept.";

impl Decode for QueueTable {
    fn expected() -> String {
        "a table with `discipline` (queue)".to_owned()
    }

    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let table = as_table::<Self>(value, report)?;
        let registry = Arc::clone(report.registry());
        let names: Vec<&str> = registry.disciplines().iter().map(|of| of.name).collect();
        let name = decode_tag(table, value.span, "queue", "discipline", &names, report)?;
        let discipline = registry.discipline(name)?;
        let title = format!("{name} queue");
        let beside = ["discipline", "capacity", "feedback"];
        let keys = discipline.keys;
        let explicit_options = ExplicitOptions::decode(&title, keys, table, &beside, report);
        let capacity = table.get("capacity");
        if capacity.is_none() {
            report_missing_key(&title, "capacity", &Capacity::expected(), value.span, report);
        }
        // Decode both before returning, to report all errors.
        let (capacity, feedback) = (
            capacity.map(|value| decode_entry(value, report)),
            table.get("feedback").and_then(|value| decode_entry(value, report)),
        );
        Some(Self { discipline, capacity: capacity?, feedback, explicit_options })
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let registry = Arc::clone(definitions.registry());
        let tables = registry.disciplines().iter().map(|of| {
            let mut fields = vec![Field::new::<Capacity>("capacity", of.capacity, true)];
            fields.extend(of.keys.top().map(Field::described));
            fields.push(Field::new::<FeedbackChoice>("feedback", FEEDBACK, false));
            TableDoc {
                name: format!("{} queue", of.name),
                about: of.about.to_owned(),
                tag: Some(("discipline".to_owned(), of.name.to_owned())),
                fields,
            }
        });
        definitions.define_union_of_tables("queue", "A queue with its discipline.", tables.collect())
    }
}

/// A queue: a capacity, which implies `fcfs`, or a table with its discipline.
#[derive(Clone, Debug)]
pub enum Queue {
    /// A first-come, first-served queue of this capacity.
    Capacity(Capacity),
    /// A table.
    Table(Box<QueueTable>),
}

impl Queue {
    /// Returns the router's feedback to sources, if the queue sets it.
    pub fn feedback(&self) -> Option<&Spanned<FeedbackChoice>> {
        match self {
            Self::Capacity(_) => None,
            Self::Table(table) => table.feedback.as_ref(),
        }
    }

    /// Returns the capacity, if set.
    pub fn capacity(&self) -> Option<Capacity> {
        match self {
            Self::Capacity(capacity) => Some(*capacity),
            Self::Table(table) => table.capacity.as_ref().map(|at| at.value),
        }
    }
}

/// Finds the discipline whose name or alias is given in place of a capacity.
fn discipline_meant(text: &str, registry: &Registry) -> Option<&'static str> {
    // Nearly all capacities start with a digit, and need no comparison with names.
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then(|| nearest_name(text, registry.disciplines().iter().map(|of| of.name))).flatten()
}

impl Decode for Queue {
    fn expected() -> String {
        format!("{}, or a table with `discipline`", Capacity::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => {
                QueueTable::decode(value, report).map(|table| Self::Table(Box::new(table)))
            }
            ValueKind::String(text) if discipline_meant(text, report.registry()).is_some() => {
                let meant = discipline_meant(text, report.registry()).unwrap_or_default();
                let message = format!("expected {}, found \"{text}\"", Self::expected());
                let draft = report.error("scenario.type", value.span, message);
                let draft =
                    if text == meant { draft } else { draft.label(format!("did you mean `{meant}`?")) };
                draft.help(match meant {
                    "fcfs" => "a capacity alone is first come, first served: queue = \"1 bdp\"".to_owned(),
                    _ => format!(
                        "a discipline has a table: {{ discipline = \"{meant}\", capacity = \"1 bdp\" }}"
                    ),
                });
                None
            }
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Capacity::decode(value, report).map(Self::Capacity)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (capacity, table) = (Capacity::schema(definitions), QueueTable::schema(definitions));
        json!({ "anyOf": [capacity, table] })
    }
}
