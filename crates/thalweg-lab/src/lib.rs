//! The laboratory around the simulator: scenario files, experiments, results.
//!
//! - [`scenario`]: reads a scenario file into what the simulator runs, and explains and checks it.
//! - [`batch`]: runs simulations on several threads.
//! - [`statistics`]: means, intervals, fairness.
//! - [`results`]: the results document.
//! - [`output`]: tables for people, folders, series and packet captures.

pub mod batch;
pub mod model;
pub mod output;
pub mod results;
pub mod scenario;
pub mod statistics;
