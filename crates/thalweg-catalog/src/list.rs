//! The lists: every scheme and every discipline that there is, a line for each.

use crate::discipline::DisciplineDescription;
use crate::disciplines;

/// The disciplines of this project, in the order of references.
pub const DISCIPLINES: &[&DisciplineDescription] = &[
    &disciplines::fcfs::FCFS,
    &disciplines::random_drop::RANDOM_DROP,
    &disciplines::fair_queueing::FAIR_QUEUEING,
    &disciplines::sfq::SFQ,
    &disciplines::drr::DRR,
    &disciplines::red::RED,
    &disciplines::codel::CODEL,
    &disciplines::fq_codel::FQ_CODEL,
    &disciplines::pie::PIE,
    &disciplines::priority::PRIORITY,
];
