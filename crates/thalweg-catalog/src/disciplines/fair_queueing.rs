//! Catalogue description of the queue discipline Fair Queueing.

use super::flow_weights::WEIGHT_KEYS;
use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Values};
use thalweg_queue::{FairQueueingConfig, Weights};

/// Fair Queueing (Demers, Keshav, Shenker 1989).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FairQueueingConfig>(
    "Fair Queueing (Demers, Keshav, Shenker 1989): emulates bit-by-bit round robin among flows. The flow \
     that uses most of a full buffer loses its last packet.",
    Keys { shared: &[WEIGHT_KEYS], ..Keys::own(KEYS) },
);

const KEYS: &[Key] = &[
    key(
        "promptness",
        Kind::Size,
        "0 B",
        "Promptness: a flow that has sent less than this in the current round is served earlier.",
    ),
    key(
        "mark-above",
        Kind::Number,
        "",
        "Sets the congestion bit on packets of a flow that holds more than this many times its fair share, which is the \
         capacity divided by the number of flows with packets waiting. Without it no bits are set.",
    )
    .within(Range::POSITIVE, ""),
];

impl KeyBoundConfig for FairQueueingConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            promptness: values.required("promptness"),
            mark_above: values.required("mark-above"),
            weights: Weights::from_values(values),
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("promptness", &self.promptness);
        values.set_from("mark-above", &self.mark_above);
        self.weights.write_to(values);
    }
}
