//! Catalogue description of the queue discipline PIE.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::PieConfig;

/// PIE (RFC 8033).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<PieConfig>(
    "PIE (RFC 8033): arrivals are dropped at random such that packets wait for about a target.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("target", Kind::Time, "15 ms", "The wait that is aimed at."),
    key("update", Kind::Time, "15 ms", "How often the probability is computed anew.")
        .within(Range::between(1e-4, 10.0), "the RFC's is 15 ms"),
    key(
        "alpha",
        Kind::Number,
        "0.125",
        "How much a second above the target adds to the probability at each update.",
    )
    .within(Range::POSITIVE, ""),
    key("beta", Kind::Number, "1.25", "How much a second more than at the last update adds to it.")
        .within(Range::POSITIVE, ""),
    key("max-burst", Kind::Time, "150 ms", "A burst as long as this passes a queue that was short before."),
    key(
        "ecn-threshold",
        Kind::Probability,
        "0.1",
        "Marks packets that may be marked while the probability is at most this; 0 never marks.",
    ),
    key("mean-packet", Kind::Size, "1000 B", "A queue of two such packets or less is left alone."),
];

bind!(PieConfig {
    target: "target",
    update: "update",
    alpha: "alpha",
    beta: "beta",
    max_burst: "max-burst",
    ecn_threshold: "ecn-threshold",
    mean_packet: "mean-packet",
});
