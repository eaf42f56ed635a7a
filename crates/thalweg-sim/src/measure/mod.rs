//! Measurement: distributions of delay, occupancy of queues, bounded series.

mod occupancy;
mod ratios;
mod series;

pub(crate) use occupancy::Occupancy;
pub(crate) use ratios::Ratios;
pub(crate) use series::Recorder;
pub(crate) use thalweg_proto::histogram::Histogram;
