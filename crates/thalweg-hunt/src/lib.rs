//! Hunts: searches for the scenarios with the worst behaviour of a congestion control.
//!
//! - [`Candidate`]: a candidate: a path with disturbances. [`Space`] samples, mutates and crosses candidates.
//! - [`candidate_scenario()`]: the candidate's scenario file of at most 20 lines, the input of the simulation.
//! - [`Goal`]: the score of a run: starvation, a stall, a standing queue, unfairness, collapse.
//! - [`Search`]: an archive of the worst candidate per combination of disturbances, and the source of new candidates.
//! - [`simpler_candidates`]: minimises a finding: removes everything it does not need.
//! - [`Hunt`]: the whole search on all cores. It saves scores, and interrupted hunts resume.
//! - [`read_cases()`]: findings as regression tests.

mod candidate;
mod candidate_scenario;
mod candidate_score;
mod failure_goals;
mod hunt;
mod map_elites_search;
mod minimise;
mod regression_cases;
mod search_space;

pub use candidate::{Candidate, Change, CompetingFlow, Disturbance, DisturbanceKind, Kinds, Pulses};
pub use candidate_scenario::{MAX_LINES, Schemes, candidate_scenario};
pub use candidate_score::{Evaluator, NoScore};
pub use failure_goals::{GROUP_UNDER_TEST, Goal};
#[doc(hidden)]
pub use hunt::parse_saved_scores;
pub use hunt::{Finding, Hunt, HuntError, SEEDS};
pub use map_elites_search::{FAULT_SCORE, GENERATION, MAX_SCORE, Score, Search};
pub use minimise::simpler_candidates;
pub use regression_cases::{
    Case, CheckedCase, LIST_FILE, check_case, format_case_entry, read_cases, score_of,
};
pub use search_space::Space;

/// Default scheme of competing flows.
pub const DEFAULT_COMPETING_SCHEME: &str = "cubic";
