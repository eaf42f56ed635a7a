//! The knowledge from elsewhere that the simulator is compared with.
//!
//! - [`paper`]: published studies, reproduced.
//! - [`model`]: closed formulas, and simulations that are only as large as their model.

pub mod model;
pub mod paper;
