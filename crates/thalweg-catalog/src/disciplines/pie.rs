//! Catalogue description of the queue discipline PIE.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::PieConfig;

/// PIE (RFC 8033).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<PieConfig>(
    "PIE (RFC 8033): arrivals are dropped at random, to keep the queueing delay near a target.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("target", Kind::Time, "15 ms", "Target queueing delay."),
    key("update", Kind::Time, "15 ms", "Interval at which the drop probability is updated.")
        .within(Range::between(1e-4, 10.0), "the RFC's is 15 ms"),
    key(
        "alpha",
        Kind::Number,
        "0.125",
        "Increase of the drop probability per update and per second of delay above the target; this and `beta` are \
         scaled down at low probabilities (RFC 8033, section 4.2).",
    )
    .within(Range::POSITIVE, ""),
    key("beta", Kind::Number, "1.25", "Increase of the drop probability per update and per second of delay growth since the previous update.")
        .within(Range::POSITIVE, ""),
    key("max-burst", Kind::Time, "150 ms", "Length of a burst that passes without drops after the queue was short."),
    key(
        "ecn-threshold",
        Kind::Probability,
        "0.1",
        "Maximum drop probability at which ECN-capable packets are marked instead of dropped; 0 for never.",
    ),
    key("mean-packet", Kind::Size, "1000 B", "Typical packet size; a queue of at most two such packets causes no drop."),
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
