//! Deficit Round Robin.

use super::sfq::OVERFLOW_KEY;
use super::weights::WEIGHT_KEYS;
use crate::describe::key;
use crate::{Bound, DisciplineDescription, Key, Keys, Kind, Range, Values};
use thalweg_queue::{DrrConfig, Weights};

/// Deficit Round Robin (Shreedhar and Varghese 1995).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<DrrConfig>(
    "Deficit Round Robin (Shreedhar and Varghese 1995): flows send equal bytes in turn.",
    Keys { own: KEYS, shared: &[WEIGHT_KEYS], defaults: &[], presets: &[] },
);

const KEYS: &[Key] = &[
    key(
        "quantum",
        Kind::Size,
        "1500 B",
        "Bytes that a queue gains per round; at least the largest packet is best.",
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

impl Bound for DrrConfig {
    fn of(values: &Values) -> Self {
        Self {
            quantum: values.need("quantum"),
            buckets: values.need("buckets"),
            overflow: values.need("overflow"),
            weights: Weights::of(values),
        }
    }

    fn write(&self, values: &mut Values) {
        values.give("quantum", &self.quantum);
        values.give("buckets", &self.buckets);
        values.give("overflow", &self.overflow);
        self.weights.write(values);
    }
}
