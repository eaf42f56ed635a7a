//! Catalogue description of the queue discipline Deficit Round Robin.

use super::flow_weights::WEIGHT_KEYS;
use super::sfq::OVERFLOW_KEY;
use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Values};
use thalweg_queue::{DrrConfig, Weights};

/// Deficit Round Robin (Shreedhar and Varghese 1995).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<DrrConfig>(
    "Deficit Round Robin (Shreedhar and Varghese 1995): flows send equal bytes in turn.",
    Keys { shared: &[WEIGHT_KEYS], ..Keys::own(KEYS) },
);

const KEYS: &[Key] = &[
    key(
        "quantum",
        Kind::Size,
        "1500 B",
        "Bytes that a queue may send per round; use at least the size of the largest packet.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "buckets",
        Kind::Count,
        "",
        "Number of queues to which flows are hashed; without it every flow has its own queue.",
    )
    .within(Range::POSITIVE, ""),
    OVERFLOW_KEY,
];

impl KeyBoundConfig for DrrConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            quantum: values.required("quantum"),
            buckets: values.required("buckets"),
            overflow: values.required("overflow"),
            weights: Weights::from_values(values),
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("quantum", &self.quantum);
        values.set_from("buckets", &self.buckets);
        values.set_from("overflow", &self.overflow);
        self.weights.write_to(values);
    }
}
