//! Catalogue description of the queue discipline: step marking.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Value, Values};
use thalweg_proto::units::Bytes;
use thalweg_queue::{StepConfig, Threshold};

/// Step marking (RFC 8257).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<StepConfig>(
    "First come, first served; marks arrivals above a threshold, as DCTCP expects (RFC 8257).",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[key(
    "threshold",
    Kind::Length,
    "65 pkt",
    "Queue length above which an ECN-capable arrival is marked, in packets or bytes.",
)];

impl KeyBoundConfig for StepConfig {
    fn from_values(values: &Values) -> Self {
        let threshold = match values.get("threshold") {
            Some(Value::Packets(packets)) => Threshold::Packets(packets as u64),
            Some(Value::Size(size)) => Threshold::Bytes(size.get()),
            _ => return Self::default(),
        };
        Self { threshold }
    }

    fn write_to(&self, values: &mut Values) {
        match self.threshold {
            Threshold::Packets(packets) => values.set_value("threshold", Value::Packets(packets as f64)),
            Threshold::Bytes(bytes) => values.set_value("threshold", Value::Size(Bytes::new(bytes))),
        }
    }
}
