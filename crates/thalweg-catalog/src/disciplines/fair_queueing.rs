//! Fair Queueing.

use crate::describe::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::FairQueueingConfig;

/// Fair Queueing (Demers, Keshav, Shenker 1989).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FairQueueingConfig>(
    "Fair Queueing (Demers, Keshav, Shenker 1989): flows are served as if bit by bit in turn, and the flow that uses \
     most of a full buffer loses its last packet.",
    Keys::own(KEYS),
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

bind!(FairQueueingConfig { promptness: "promptness", mark_above: "mark-above" });
