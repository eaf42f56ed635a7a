//! Queues and how much they hold.

use super::super::diagnostic::Report;
use super::super::quantity::{Packets, split};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::super::unknown_unit::unknown_unit;
use super::feedback::FeedbackChoice;
use serde_json::json;
use std::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, UnitError};

/// How much a queue holds: `625 pkt`, `64 KiB`, `1 bdp`, `50 ms` or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// Packets of any size.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
    /// Multiples of the bandwidth-delay product.
    Bdp(f64),
    /// What the link sends in this time.
    Time(Duration),
    /// Everything.
    Unlimited,
}

/// True if nothing but its unit keeps `text` from being a `T`.
fn has_unknown_unit<T: FromStr<Err = UnitError>>(text: &str) -> bool {
    matches!(text.parse::<T>(), Err(UnitError::UnknownUnit { .. }))
}

impl Decode for Capacity {
    fn expected() -> String {
        "a capacity, such as \"625 pkt\", \"64 KiB\", \"1 bdp\", \"50 ms\" or \"unlimited\"".to_owned()
    }

    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let (text, bare) = match &value.kind {
            Kind::String(text) => (text.trim(), false),
            Kind::Integer(text) | Kind::Float(text) => (text.as_str(), true),
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        let (number, unit) = split(text);
        if number.is_empty() {
            let message = format!("expected {}, found \"{text}\"", Self::expected());
            report.error("scenario.type", value.span, message);
            return None;
        }
        if bare || unit.is_empty() {
            let message = format!("`{number}` has no unit");
            report
                .error("scenario.unit", value.span, message)
                .label(format!("did you mean \"{number} pkt\"?"));
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
            // Products and binary prefixes ("10 x 512 B", "64 KiB") are told by the size's own parser.
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
        definitions.named("capacity", || {
            json!({ "anyOf": [
                { "type": "string", "pattern": "^\\s*[0-9]+\\s*pkt\\s*$" },
                { "type": "string", "pattern": "^\\s*[0-9.]+\\s*bdp\\s*$" },
                size, time,
                { "const": "unlimited" }
            ], "examples": ["1 bdp", "625 pkt"] })
        })
    }
}

table! {
    /// What all queues have.
    Watching "queue" {
        /// What the router tells sources: "none", a kind of feedback, or a table; without it, what the schemes of the flows want.
        feedback: FeedbackChoice = "feedback";
    }
}

table! {
    /// A queue that serves first come first served and drops what finds no room.
    FcfsQueue "fcfs queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        ..watching: Watching;
    }
}

table! {
    /// A first-come-first-served queue that, when full, drops one packet drawn among those queued and the arrival.
    RandomDropQueue "random-drop queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        ..watching: Watching;
    }
}

choice! {
    /// A queue with its discipline.
    QueueTable "queue" by "discipline" {
        "fcfs" => Fcfs(FcfsQueue),
        "random-drop" => RandomDrop(RandomDropQueue),
    }
}

/// A queue: its capacity alone, which means `fcfs`, or a table with its discipline.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First come, first served.
    Capacity(Capacity),
    /// A table.
    Table(QueueTable),
}

impl Queue {
    /// What its router tells sources, where it says so.
    pub fn feedback(&self) -> Option<&At<FeedbackChoice>> {
        let watching = match self {
            Self::Capacity(_) => return None,
            Self::Table(QueueTable::Fcfs(table)) => &table.watching,
            Self::Table(QueueTable::RandomDrop(table)) => &table.watching,
        };
        watching.feedback.as_ref()
    }

    /// How much it holds.
    pub fn capacity(&self) -> Option<Capacity> {
        let capacity = match self {
            Self::Capacity(capacity) => return Some(*capacity),
            Self::Table(QueueTable::Fcfs(table)) => &table.capacity,
            Self::Table(QueueTable::RandomDrop(table)) => &table.capacity,
        };
        capacity.as_ref().map(|At { value, .. }| *value)
    }
}

impl Decode for Queue {
    fn expected() -> String {
        format!("{}, or a table with `discipline`", Capacity::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::Table(_) => QueueTable::decode(value, report).map(Self::Table),
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
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
