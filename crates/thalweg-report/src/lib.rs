//! From simulations to answers: runs on several threads, statistics over them, and all forms in which results are kept
//! and shown.
//!
//! - [`batch`]: runs simulations on several threads.
//! - [`statistics`]: means, intervals, fairness.
//! - [`results`]: the results document.
//! - [`output`]: tables for people, folders, series and packet captures.
//! - [`report`]: pages to look at.
//! - [`infer`]: the path that a recording was made on.

pub mod batch;
pub mod infer;
pub mod output;
pub mod report;
pub mod results;
pub mod statistics;
