//! Measurement: distributions of delay, occupancy of queues, bounded series, states of controllers.

mod bounded_series;
mod controller_states;
mod queue_occupancy;
mod ratio_distribution;

pub(crate) use bounded_series::Recorder;
pub(crate) use controller_states::Visits;
pub(crate) use queue_occupancy::Occupancy;
pub(crate) use ratio_distribution::Ratios;
pub(crate) use thalweg_proto::histogram::Histogram;
