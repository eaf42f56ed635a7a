//! Sweeps: one scenario over many values, schemes and seeds.
//!
//! - [`Plan`]: the points of a sweep file, each with one value per factor.
//! - [`Store`]: the folder of completed runs. A run is saved on completion, under a name derived from its input.
//! - [`Sweep`]: executes the runs missing from the store, on all cores or through an [`Engine`] that calls [`run_batch`].
//! - [`Document`]: means of each point, share of variance explained by each factor, and tables for other programs.
//! - [`page()`]: heat maps and scatter plots for the browser.

mod batch_codec;
mod differing_defaults;
mod document;
mod engine;
mod importance;
mod page;
pub mod picture;
mod plan;
mod program;
mod simulate;
#[cfg(test)]
mod sources;
mod store;
mod sweep;
mod worker;

pub use batch_codec::Task;
pub use differing_defaults::{differing_defaults, join};
pub use document::{Document, FactorResults, FailedPoint, Importance, PointResults};
pub use engine::{Engine, Lost};
pub use page::page;
pub use plan::{Factor, Level, Plan, PlanError, Point};
pub use program::{Program, SOURCES, build_of_file};
pub use store::{Purpose, Store, StoreError};
pub use sweep::{Budget, Failure, Load, LoadError, Made, Status, Sweep, SweepError, Unfinished};
pub use worker::run_batch;
