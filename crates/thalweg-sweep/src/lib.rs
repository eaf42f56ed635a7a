//! Sweeps: one scenario over many values, schemes and seeds.
//!
//! - [`Plan`]: the points of a sweep file, each with one value per factor.
//! - [`Store`]: the folder of completed runs. A run is saved on completion, under a name derived from its input.
//! - [`Sweep`]: executes the runs missing from the store, on all cores or through an [`Engine`] that calls [`run_batch`].
//! - [`Document`]: means of each point, share of variance explained by each factor, and tables for other programs.
//! - [`page()`]: heat maps and scatter plots for the browser.

mod batch_codec;
mod differing_defaults;
mod factor_importance;
mod html_page;
mod program_identity;
mod remote_client;
mod remote_worker;
mod results_document;
mod run_catching_failures;
mod run_store;
#[cfg(test)]
mod source_hash;
pub mod svg_charts;
mod sweep_execution;
mod sweep_points;

pub use batch_codec::Task;
pub use differing_defaults::{add_missing_entries, differing_defaults};
pub use html_page::page;
pub use program_identity::{Program, SOURCES, build_of_file};
pub use remote_client::{Engine, EngineError};
pub use remote_worker::run_batch;
pub use results_document::{Document, FactorResults, FailedPoint, Importance, PointResults};
pub use run_store::{Purpose, Store, StoreError};
pub use sweep_execution::{
    Budget, Failure, Load, LoadError, PointResult, Status, Sweep, SweepError, Unfinished,
};
pub use sweep_points::{Factor, FactorKind, Level, Plan, PlanError, Point, ShardState};
