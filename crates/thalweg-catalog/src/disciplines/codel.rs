//! Catalogue description of the queue discipline CoDel.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::CoDelConfig;

/// CoDel (RFC 8289).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<CoDelConfig>(
    "CoDel (RFC 8289): departing packets are dropped, at increasing frequency, while all packets wait for longer than a target.",
    Keys::own(CODEL_KEYS),
);

/// The parameters of CoDel, alone and within other disciplines.
pub(crate) const CODEL_KEYS: &[Key] = &[
    key("target", Kind::Time, "5 ms", "Acceptable standing queueing delay."),
    key(
        "interval",
        Kind::Time,
        "100 ms",
        "Time for which the queueing delay must exceed the target before the first drop; a typical round-trip time.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "max-packet",
        Kind::Size,
        "1514 B",
        "Size of the largest packet; a queue of at most this size causes no drop.",
    ),
    key("ecn", Kind::Switch, "true", "Marks ECN-capable packets instead of dropping them, unless the buffer is full."),
];

bind!(CoDelConfig { target: "target", interval: "interval", max_packet: "max-packet", ecn: "ecn" });
