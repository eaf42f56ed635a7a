//! Catalogue description of the queue discipline DualPI2.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::DualPi2Config;

/// DualPI2 (RFC 9332).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<DualPi2Config>(
    "DualPI2 (RFC 9332): a queue of low latency for flows that send ECT(1), beside one for all others, coupled so that both \
     kinds get about the same rate.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key("target", Kind::Time, "15 ms", "The wait in the classic queue that is aimed at."),
    key(
        "max-rtt",
        Kind::Time,
        "100 ms",
        "The longest round trip that is expected; the controller answers the more slowly for it.",
    )
    .within(Range::between(1e-3, 100.0), "the RFC's is 100 ms"),
    key("update", Kind::Time, "15 ms", "How often the probability is computed anew.")
        .within(Range::between(1e-4, 10.0), "the RFC's is 15 ms"),
    key(
        "coupling",
        Kind::Number,
        "2",
        "Coupling factor: packets with ECT(1) are marked with this multiple of the square root of the classic drop probability.",
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
