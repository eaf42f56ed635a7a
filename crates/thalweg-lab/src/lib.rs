//! The laboratory around the simulator: scenario files, experiments, results.
//!
//! - [`scenario`]: reads a scenario file into what the simulator runs, and explains and checks it.
//! - [`batch`]: runs simulations on several threads.
//! - [`statistics`]: means, intervals, fairness.
//! - [`explore`]: visits every state of a pair of engines.
//! - [`infer`]: the path that a recording was made on.
//! - [`model`]: closed formulas, and simulations that are only as large as their model.
//! - [`results`]: the results document.
//! - [`output`]: tables for people, folders, series and packet captures.
//! - [`paper`]: published studies, reproduced.
//! - [`report`]: pages to look at.

pub mod batch;
pub mod explore;
pub mod infer;
pub mod model;
pub mod output;
pub mod paper;
pub mod report;
pub mod results;
pub mod scenario;
pub mod statistics;
