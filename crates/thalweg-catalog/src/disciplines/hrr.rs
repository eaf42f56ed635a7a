//! Catalogue description of the queue discipline Hierarchical Round Robin.

use super::flow_weights::WEIGHT_KEYS;
use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Values};
use thalweg_queue::{HrrConfig, Weights};

/// Hierarchical Round Robin (Kalmanek, Kanakia and Keshav 1990).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<HrrConfig>(
    "Hierarchical Round Robin (Kalmanek, Kanakia and Keshav 1990): flows of a level share the slots of its frame, and \
     a part of each frame belongs to the level below. The level of a flow is its `priority`, and its weight the \
     number of its slots in a frame.",
    Keys { shared: &[WEIGHT_KEYS], ..Keys::own(KEYS) },
);

const KEYS: &[Key] = &[
    key("slot", Kind::Size, "1500 B", "Size of a slot. A packet takes as many slots as it needs.")
        .within(Range::POSITIVE, ""),
    key("frame-slots", Kind::Count, "10", "Slots in a frame of each level.")
        .within(Range::between(1.0, HrrConfig::MAX_FRAME as f64), ""),
    key(
        "lower-slots",
        Kind::Count,
        "5",
        "Slots of each frame that belong to the level below; less than `frame-slots`.",
    )
    .within(Range::between(0.0, HrrConfig::MAX_FRAME as f64 - 1.0), ""),
    key(
        "levels",
        Kind::Count,
        "2",
        "Number of levels. Flows with a lower priority than this number are on the last level.",
    )
    .within(Range::between(1.0, Weights::CLASSES as f64), ""),
];

impl KeyBoundConfig for HrrConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            slot: values.required("slot"),
            frame_slots: values.required("frame-slots"),
            lower_slots: values.required("lower-slots"),
            levels: values.required("levels"),
            weights: Weights::from_values(values),
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("slot", &self.slot);
        values.set_from("frame-slots", &self.frame_slots);
        values.set_from("lower-slots", &self.lower_slots);
        values.set_from("levels", &self.levels);
        self.weights.write_to(values);
    }
}
