//! Catalogue description of the queue discipline CoDel.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::CoDelConfig;

/// CoDel (RFC 8289).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<CoDelConfig>(
    "CoDel (RFC 8289): packets are dropped as they leave, ever more often, while all wait for longer than a target.",
    Keys::own(CODEL_KEYS),
);

/// The parameters of CoDel, alone and within other disciplines.
pub(crate) const CODEL_KEYS: &[Key] = &[
    key("target", Kind::Time, "5 ms", "The wait that is acceptable."),
    key(
        "interval",
        Kind::Time,
        "100 ms",
        "Interval for which queueing delay must exceed the target: a typical round-trip time.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "max-packet",
        Kind::Size,
        "1514 B",
        "A queue of no more than this is never too long: the largest packet.",
    ),
    key("ecn", Kind::Switch, "true", "Marks packets that may be marked in place of dropping them."),
];

bind!(CoDelConfig { target: "target", interval: "interval", max_packet: "max-packet", ecn: "ecn" });
