//! Catalogue description of the queue discipline Stochastic Fairness Queueing.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind, words};
use thalweg_queue::{SfqConfig, SharedBufferDrop};

/// Stochastic Fairness Queueing (McKenney 1991).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<SfqConfig>(
    "Stochastic Fairness Queueing (McKenney 1991): flows are hashed to queues that send one packet each in turn.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key(
        "buckets",
        Kind::Count,
        "1024",
        "Number of queues to which flows are hashed; use several times the number of flows.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "perturbation",
        Kind::Interval,
        "10 s",
        "Interval at which the hash function is drawn anew; \"off\" for never.",
    )
    .within(Range::POSITIVE, "to disable it, write \"off\""),
    OVERFLOW_KEY,
];

/// The key that selects the flow to drop from on overflow, for all disciplines with per-flow queues.
pub(crate) const OVERFLOW_KEY: Key = key(
    "overflow",
    OVERFLOW,
    "longest-tail",
    "Victim of a full buffer: the last (\"longest-tail\") or first (\"longest-head\") packet of the longest queue. \"share\": as \
     \"longest-tail\", but an arrival beyond its queue's share is dropped even if the buffer has space.",
);

words!(OVERFLOW: SharedBufferDrop {
    "longest-tail" => SharedBufferDrop::LongestTail,
    "longest-head" => SharedBufferDrop::LongestHead,
    "share" => SharedBufferDrop::Share,
});

bind!(SfqConfig { buckets: "buckets", perturbation: "perturbation", overflow: "overflow" });
