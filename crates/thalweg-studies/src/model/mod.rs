//! Analytical models, and minimal simulations of the same models.

pub mod black_box_connection;
pub mod gong92;
