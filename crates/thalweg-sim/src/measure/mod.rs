//! Measurement: distributions of delay, occupancy of queues, bounded series.

mod histogram;
mod occupancy;
mod series;

pub(crate) use histogram::{Histogram, Ratios};
pub(crate) use occupancy::Occupancy;
pub(crate) use series::Recorder;
