//! Import of experiments written for other simulators.

pub mod c4;
