//! The key of weights by priority in fair queues.

use crate::option_keys::key;
use crate::{Key, KeyBoundConfig, Kind, Range, Values};
use thalweg_queue::Weights;

/// The weights by priority.
pub(crate) const WEIGHT_KEYS: &[Key] = &[
    weight_key(
        "weight-1",
        "Weight of flows with priority 1, the highest: each has this multiple of the bytes (virtual-clock: reserved rate; \
         hrr: slots) of a backlogged flow with weight 1.",
    ),
    weight_key("weight-2", "Weight of flows with priority 2."),
    weight_key("weight-3", "Weight of flows with priority 3."),
    weight_key("weight-4", "Weight of flows with priority 4."),
    weight_key("weight-5", "Weight of flows with priority 5."),
    weight_key("weight-6", "Weight of flows with priority 6."),
];

const NAMES: [&str; Weights::CLASSES] =
    ["weight-1", "weight-2", "weight-3", "weight-4", "weight-5", "weight-6"];

const fn weight_key(name: &'static str, about: &'static str) -> Key {
    key(name, Kind::Count, "1", about).within(Range::between(1.0, Weights::MAX as f64), "")
}

impl KeyBoundConfig for Weights {
    fn from_values(values: &Values) -> Self {
        Self(NAMES.map(|name| values.required(name)))
    }

    fn write_to(&self, values: &mut Values) {
        for (name, weight_key) in NAMES.into_iter().zip(&self.0) {
            values.set_from(name, weight_key);
        }
    }
}
