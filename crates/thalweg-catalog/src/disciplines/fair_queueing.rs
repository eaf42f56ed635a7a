//! Fair Queueing.

use super::weights::WEIGHT_KEYS;
use crate::describe::key;
use crate::{Bound, DisciplineDescription, Key, Keys, Kind, Range, Values};
use thalweg_queue::{FairQueueingConfig, Weights};

/// Fair Queueing (Demers, Keshav, Shenker 1989).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FairQueueingConfig>(
    "Fair Queueing (Demers, Keshav, Shenker 1989): flows are served as if bit by bit in turn, and the flow that uses \
     most of a full buffer loses its last packet.",
    Keys { own: KEYS, shared: &[WEIGHT_KEYS], defaults: &[], presets: &[] },
);

const KEYS: &[Key] = &[
    key(
        "promptness",
        Kind::Size,
        "0 B",
        "Promptness: a flow that has sent less than this in the current round is served earlier for it.",
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

impl Bound for FairQueueingConfig {
    fn of(values: &Values) -> Self {
        Self {
            promptness: values.need("promptness"),
            mark_above: values.need("mark-above"),
            weights: Weights::of(values),
        }
    }

    fn write(&self, values: &mut Values) {
        values.give("promptness", &self.promptness);
        values.give("mark-above", &self.mark_above);
        self.weights.write(values);
    }
}
