//! Measurement: distributions of delay, occupancy of queues, bounded series, states of controllers.

mod occupancy;
mod ratios;
mod series;
mod states;

pub(crate) use occupancy::Occupancy;
pub(crate) use ratios::Ratios;
pub(crate) use series::Recorder;
pub(crate) use states::Visits;
pub(crate) use thalweg_proto::histogram::Histogram;
