//! The laboratory around the simulator: what a run is described by, what comes out of it, and how it is told.
//!
//! - [`batch`]: runs simulations on several threads.
//! - [`statistics`]: means, intervals, fairness.
//! - [`results`]: the results document.
//! - [`output`]: tables for people, folders, series and packet captures.

pub mod batch;
pub mod output;
pub mod results;
pub mod statistics;
