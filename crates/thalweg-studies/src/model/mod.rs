//! Models of what is simulated: closed formulas, and simulations that are only as large as the model.

pub mod black_box;
pub mod gong92;
