//! The descriptions of queue disciplines, a file for each.

pub mod codel;
pub mod drr;
pub mod fair_queueing;
pub mod fcfs;
pub mod fq_codel;
pub mod pie;
pub mod priority;
pub mod random_drop;
pub mod red;
pub mod sfq;
