//! Analytical models, and minimal simulations of the same models.

pub mod black_box;
pub mod gong92;
