//! External results that the simulator is compared with.
//!
//! - [`paper`]: reproductions of published studies.
//! - [`model`]: analytical models, and minimal simulations of the same models.

pub mod model;
pub mod paper;
