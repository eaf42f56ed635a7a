//! Catalogue description of the queue discipline: token-bucket policers.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::PolicerConfig;

/// A token-bucket policer (RFC 2697).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<PolicerConfig>(
    "First come, first served, behind a token bucket: an arrival without tokens is dropped, even if the buffer has space (RFC 2697; Flach et al. 2016). `shaper` of a link queues such packets instead.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("rate", Kind::Rate, "5 Mbit/s", "Long-term rate that is admitted.").within(Range::POSITIVE, ""),
    key(
        "burst",
        Kind::Size,
        "100 kB",
        "Burst after a pause: the size of the bucket, initially full. Larger packets never pass.",
    )
    .within(Range::POSITIVE, ""),
];

bind!(PolicerConfig { rate: "rate", burst: "burst" });
