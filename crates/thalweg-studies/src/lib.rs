//! What is known from elsewhere, beside what the simulator says.
//!
//! - [`paper`]: published studies, reproduced.
//! - [`model`]: closed formulas, and simulations that are only as large as their model.

pub mod model;
pub mod paper;
