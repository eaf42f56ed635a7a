//! The laboratory around the simulator: scenario files, experiments, results.
//!
//! - [`scenario`]: reads a scenario file into what the simulator runs, and explains and checks it.

pub mod scenario;
