//! Experiments that were written for other simulators.

pub mod c4;
