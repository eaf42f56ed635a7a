//! Sweeps: a scenario over many values, schemes and seeds.
//!
//! - [`Plan`]: the points of a sweep file, each a value for every factor.
//! - [`Store`]: the folder in which each run is kept as soon as it is over, under a name that follows from what was simulated.
//! - [`Sweep`]: makes the runs that the store has not, on all cores, or where an [`Engine`] has them made by [`work`].
//! - [`Document`]: the means of each point, and how much of the variance each factor explains; tables for other programs.
//! - [`page()`]: the same as heat maps and scatter plots for the browser.

mod document;
mod engine;
mod importance;
mod page;
mod parcel;
pub mod picture;
mod plan;
mod program;
mod simulate;
#[cfg(test)]
mod sources;
mod store;
mod sweep;
mod unlike;
mod worker;

pub use document::{Document, FactorResults, FailedPoint, Importance, PointResults};
pub use engine::{Engine, Lost};
pub use page::page;
pub use parcel::Task;
pub use plan::{Factor, Level, Plan, PlanError, Point};
pub use program::{Program, SOURCES, build_of_file};
pub use store::{Purpose, Store, StoreError};
pub use sweep::{Budget, Failure, Load, LoadError, Made, Status, Sweep, SweepError, Unfinished};
pub use unlike::{join, unlike};
pub use worker::work;
