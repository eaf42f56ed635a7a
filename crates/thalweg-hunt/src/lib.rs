//! Hunts: searches for the scenarios in which a congestion control does worst.
//!
//! - [`Genes`]: a candidate, a path with what disturbs it, and [`Space`], which draws, changes and crosses them.
//! - [`scenario()`]: its scenario file of at most 20 lines, which is what is simulated.
//! - [`Goal`]: the score of a run: starvation, a stall, a standing queue, unfairness, collapse.
//! - [`Search`]: an archive of the worst for each combination of disturbances, out of which candidates are made.
//! - [`simpler`]: what is left of a finding when all is taken away that it does not need.
//! - [`Hunt`]: all of it on all cores, with scores that are kept, so that what was interrupted goes on.
//! - [`cases()`]: findings as regression tests.

mod cases;
mod evaluate;
mod genes;
mod goal;
mod hunt;
mod minimise;
mod scenario;
mod search;
mod space;

pub use cases::{Case, LIST, Looked, cases, entry, look, score_of};
pub use evaluate::{Evaluator, NoScore};
pub use genes::{Change, Genes, Kind, Kinds, Other, Pulses, What};
pub use goal::{Goal, TESTED};
#[doc(hidden)]
pub use hunt::kept_scores;
pub use hunt::{Finding, Hunt, HuntError, SEEDS};
pub use minimise::simpler;
pub use scenario::{MOST_LINES, Schemes, scenario};
pub use search::{FAULT, GENERATION, Score, Search, WORST};
pub use space::Space;

/// The scheme of other flows where none is named.
pub const BESIDE: &str = "cubic";
