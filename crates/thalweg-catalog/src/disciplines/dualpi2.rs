//! Catalogue description of the queue discipline DualPI2.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::DualPi2Config;

/// DualPI2 (RFC 9332).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<DualPi2Config>(
    "DualPI2 (RFC 9332): a low-latency queue for packets with ECT(1) or CE and a classic queue for all others, coupled to give flows of \
     both kinds about the same rate.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("target", Kind::Time, "15 ms", "Target queueing delay of the classic queue."),
    key(
        "max-rtt",
        Kind::Time,
        "100 ms",
        "Longest expected round-trip time; a larger value makes the controller slower.",
    )
    .within(Range::between(1e-3, 100.0), "the RFC's is 100 ms"),
    key("update", Kind::Time, "15 ms", "Interval at which the drop probability is updated.")
        .within(Range::between(1e-4, 10.0), "the RFC's is 15 ms"),
    key(
        "coupling",
        Kind::Number,
        "2",
        "Coupling factor: packets with ECT(1) are marked with at least this multiple of the square root of the classic drop probability.",
    )
    .within(Range::between(0.01, 100.0), "the RFC's is 2"),
    key("threshold", Kind::Time, "800 us", "Packets with ECT(1) that wait for longer than this may be marked."),
    key("range", Kind::Time, "400 us", "Time above the threshold over which the marking probability rises to 1."),
    key(
        "classic-share",
        Kind::Probability,
        "0.1",
        "Minimum share of the link for classic packets while others are queued.",
    ),
];

bind!(DualPi2Config {
    target: "target",
    max_rtt: "max-rtt",
    update: "update",
    coupling: "coupling",
    threshold: "threshold",
    range: "range",
    classic_share: "classic-share",
});
