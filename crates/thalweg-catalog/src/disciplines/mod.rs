//! The descriptions of queue disciplines, one file each.

use crate::discipline_description::DisciplineDescription;

pub mod cake;
pub mod codel;
pub mod drr;
pub mod dualpi2;
pub mod fair_queueing;
pub mod fcfs;
mod flow_weights;
pub mod fq_codel;
pub mod hrr;
pub mod pie;
pub mod random_drop;
pub mod red;
pub mod sfq;
pub mod step_marking;
pub mod strict_priority;
pub mod token_bucket_policer;
pub mod virtual_clock;

/// Lists the description of each discipline in reference order.
macro_rules! declare {
    ($($file:ident,)+) => {
        /// The built-in disciplines, in reference order.
        pub const DISCIPLINES: &[&DisciplineDescription] = &[$(&$file::DISCIPLINE,)+];
    };
}
thalweg_queue::disciplines!(declare);
