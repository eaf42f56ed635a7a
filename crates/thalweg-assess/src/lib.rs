//! Assessments: the evaluation of a new congestion control before deployment (RFC 9743), in numbers and in text.
//!
//! - [`AssessmentPlan`]: the plan of an assessment as data: sections, experiments (each an independent sweep), and claims.
//! - [`Margins`]: the equivalence margins, in one file that users may edit.
//! - [`Files`]: the source of plan, margins and scenarios: built in, or a folder.
//! - [`claim_decisions`]: tests a claim point by point against the same runs with a standard scheme in place of the scheme under
//!   test.
//! - [`Assessment`]: executes the runs on all cores and saves them in a [`Store`](thalweg_sweep::Store).
//! - [`Document`]: the results as JSON, a page, Markdown for a draft's appendix, and JUnit.

mod assessment;
mod assessment_plan;
pub mod claim_decisions;
mod controller_state_measures;
mod equivalence_margins;
mod html_page;
mod junit;
mod live_sample;
mod markdown;
mod plan_files;
mod results_document;
mod run_measures;
mod svg_curves;
mod text_output;
mod transients;

pub use assessment::{AssessError, Assessment, Choice};
pub use assessment_plan::{AssessmentPlan, Claim, Experiment, Section};
pub use equivalence_margins::{Band, Margin, Margins};
pub use html_page::page;
pub use junit::junit;
pub use live_sample::LivePoint;
pub use markdown::{compare_assessments, markdown};
pub use plan_files::{BUILT_IN_PLANS, Files};
pub use results_document::{
    ClaimResults, Document, ExperimentResults, FailedPoint, PointResults, ReferenceResults, SectionResults,
    Verdict,
};
pub use text_output::{claim_line, format_assessment};
pub use transients::Transient;
