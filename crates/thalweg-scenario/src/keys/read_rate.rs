//! Keys of the rate at which the application at a sink reads.

use super::super::diagnostic::Report;
use super::super::key_bindings::FieldOf;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, table, wrong_type};
use super::super::toml_writer::toml_string;
use serde_json::json;
use thalweg_proto::units::{Duration, Rate};
use thalweg_sim::simulation_spec::{ReadingChange, ReadingSpec};

table! {
    /// The read rate of the application at the sink. Unread data occupies the receive buffer and closes the receive
    /// window.
    ReadingTable "reading" for ReadingSpec {
        /// The initial rate of payload; "0 bit/s" stops reading.
        rate: ReadRate = "rate" or r#""unlimited""# => rate;
        /// Changes during the run.
        schedule: Vec<Spanned<ReadingEntry>> = "schedule";
    }
}

table! {
    /// A change of an application's read rate.
    ReadingEntry "reading entry" for ReadingChange {
        /// The time of the change.
        at: Duration = "at" (required) => at;
        /// The new rate of payload; "0 bit/s" stops reading.
        rate: ReadRate = "rate" (required) => rate;
        /// Announces the change to the receiver (sstp only), which multiplies the agreed window by F1/F, the share of the
        /// agreed rate that the application reads. After an unannounced change it only withholds the window.
        announced: bool = "announced" or "false" => announced;
    }
}

/// A rate, or unlimited: [`Rate::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRate(pub Rate);

impl FieldOf<ReadRate> for Rate {
    fn from_key(given: Option<&ReadRate>) -> Option<Self> {
        given.map(|rate| rate.0)
    }
    fn toml(&self) -> Option<String> {
        if *self == Self::MAX { Some(toml_string("unlimited")) } else { Some(format!("\"{self}\"")) }
    }
}

impl Decode for ReadRate {
    fn expected() -> String {
        "a rate, such as \"10 Mbit/s\", or \"unlimited\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(text) if text == "unlimited" => Some(Self(Rate::MAX)),
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Rate::decode(value, report).map(Self)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let rate = Rate::schema(definitions);
        json!({ "anyOf": [rate, { "const": "unlimited" }] })
    }
}

/// An application's read rate: a rate, or a table.
#[derive(Clone, Debug)]
pub enum Reading {
    /// A constant rate.
    Steady(ReadRate),
    /// A table.
    Table(ReadingTable),
}

impl Decode for Reading {
    fn expected() -> String {
        "a rate, such as \"10 Mbit/s\", \"unlimited\", or a table".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => ReadingTable::decode(value, report).map(Self::Table),
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                ReadRate::decode(value, report).map(Self::Steady)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (rate, table) = (ReadRate::schema(definitions), ReadingTable::schema(definitions));
        json!({ "anyOf": [rate, table] })
    }
}
