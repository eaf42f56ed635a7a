//! The engine of the laboratory page: the simulator for a browser.
//!
//! The page sends requests as JSON to a worker that holds this crate, compiled to WebAssembly, and receives JSON:
//!
//! - [`Laboratory`]: the requests and their answers.
//! - [`Script`]: congestion controllers in the page's own language.
//! - [`Files`]: traces that the reader opens.
//! - [`lesson`]: lessons, their runs, and the check of answers by the results of the learner's runs.
//!
//! A run gives the same fingerprint as that of the command. `scripts/page` builds the page.

#[cfg(target_arch = "wasm32")]
mod abi;
mod controls;
pub mod lesson;
mod packet_steps;
mod requests;
mod run;
mod scenario_input;
mod script_controller;
#[cfg(test)]
mod tests;
mod traces;

pub use requests::Laboratory;
pub use run::Run;
pub use scenario_input::MAX_MEMORY;
pub use script_controller::{Event, Made, SAMPLE_NUMBERS, Script, State};
pub use traces::{Files, LIMITS, view};
