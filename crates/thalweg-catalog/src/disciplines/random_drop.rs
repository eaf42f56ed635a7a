//! Catalogue description of the queue discipline: Random Drop.

use crate::{DisciplineDescription, Keys, bind};
use thalweg_queue::RandomDropConfig;

/// Random Drop.
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<RandomDropConfig>(
    "A first-come-first-served queue that, when full, drops one packet drawn among those queued and the arrival, or the arrival if the \
     drawn packet is smaller.",
    Keys::own(&[]),
);

bind!(RandomDropConfig {});
