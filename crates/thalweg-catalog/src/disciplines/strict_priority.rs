//! Catalogue description of the queue discipline: strict priority.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, bind};
use thalweg_queue::PriorityConfig;

/// Strict priority.
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<PriorityConfig>(
    "Strict priority: a packet leaves only when no packet of a higher `priority` waits.",
    Keys::own(KEYS),
)
.with_capacity_help("Capacity over all priorities, without the packet in service.");

const KEYS: &[Key] = &[key(
    "push-out",
    Kind::Switch,
    "true",
    "An arrival at a full buffer evicts the last packets of lower priorities.",
)];

bind!(PriorityConfig { push_out: "push-out" });
