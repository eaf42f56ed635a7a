//! Assessments: what a new congestion control must show before it is deployed (RFC 9743), in numbers and in words.
//!
//! - [`Pack`]: the plan of an assessment as data: sections, experiments, each a sweep that runs alone, and claims.
//! - [`Margins`]: the distances that matter, in one file that users change.
//! - [`Files`]: where both, and the scenarios, come from: the program, or a folder.
//! - [`decide`]: tests of a claim, point by point, against the same runs with a standard scheme in the place of the one under test.
//! - [`Assessment`]: makes the runs, on all cores, into a [`Store`](thalweg_sweep::Store) that keeps them.
//! - [`Document`]: what came out, as JSON, a page, Markdown for a draft's appendix, and JUnit.

mod assessment;
mod curves;
pub mod decide;
mod document;
mod files;
mod junit;
mod margins;
mod markdown;
mod measure;
mod pack;
mod page;
mod sample;
mod states;
mod transients;
mod words;

pub use assessment::{AssessError, Assessment, Choice};
pub use document::{
    ClaimResults, Document, ExperimentResults, FailedPoint, PointResults, ReferenceResults, SectionResults,
    Verdict,
};
pub use files::{Files, PACKS};
pub use junit::junit;
pub use margins::{Band, Margin, Margins};
pub use markdown::{comparison, markdown};
pub use pack::{Claim, Experiment, Pack, Section};
pub use page::page;
pub use sample::Sampled;
pub use transients::Transient;
pub use words::{claim_line, summary};
