//! Parallel batch runs, statistics, and every output format of simulation results.
//!
//! - [`parallel_batch`]: runs simulations on several threads.
//! - [`statistics`]: means, confidence intervals, fairness indices.
//! - [`results`]: the results document.
//! - [`output`]: text tables, result folders, time series and packet captures.
//! - [`report`]: HTML reports.
//! - [`infer`]: infers the path from a recording.

pub mod infer;
pub mod output;
pub mod parallel_batch;
pub mod report;
pub mod results;
pub mod statistics;
