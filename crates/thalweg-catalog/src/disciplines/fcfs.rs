//! Catalogue description of the queue discipline: first come, first served.

use crate::{DisciplineDescription, Keys, bind};
use thalweg_queue::FcfsConfig;

/// First come, first served.
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FcfsConfig>(
    "A queue that serves first come first served and drops arrivals at a full buffer.",
    Keys::own(&[]),
);

bind!(FcfsConfig {});
