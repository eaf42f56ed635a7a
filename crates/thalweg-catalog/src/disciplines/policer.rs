//! Token-bucket policers.

use crate::describe::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::PolicerConfig;

/// A token-bucket policer (RFC 2697).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<PolicerConfig>(
    "First come, first served, for what a token bucket lets in: an arrival without tokens is dropped, whatever room there is \
     (RFC 2697; Flach et al. 2016). `shaper` of a line keeps such packets waiting in place of that.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("rate", Kind::Rate, "5 Mbit/s", "The rate that passes in the long run.").within(Range::POSITIVE, ""),
    key(
        "burst",
        Kind::Size,
        "100 kB",
        "What passes at once after a pause: the size of the bucket, which is full at first.",
    )
    .within(Range::POSITIVE, ""),
];

bind!(PolicerConfig { rate: "rate", burst: "burst" });
