//! Deficit Round Robin.

use super::sfq::OVERFLOW_KEY;
use crate::describe::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind};
use thalweg_queue::DrrConfig;

/// Deficit Round Robin (Shreedhar and Varghese 1995).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<DrrConfig>(
    "Deficit Round Robin (Shreedhar and Varghese 1995): flows send equal bytes in turn.",
    Keys::own(KEYS),
);

const KEYS: &[Key] = &[
    key(
        "quantum",
        Kind::Size,
        "1500 B",
        "What a queue may send more in each round; best the largest packet or more.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "buckets",
        Kind::Count,
        "",
        "How many queues flows are hashed to; without it every flow has one of its own.",
    )
    .within(Range::POSITIVE, ""),
    OVERFLOW_KEY,
];

bind!(DrrConfig { quantum: "quantum", buckets: "buckets", overflow: "overflow" });
