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

pub mod lesson;
mod opened_traces;
mod packet_steps;
mod page_requests;
mod scenario_controls;
mod scenario_input;
mod script_controller;
mod sliced_run;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "wasm32")]
mod wasm_interface;

pub use opened_traces::{Files, LIMITS, view_traces};
pub use page_requests::Laboratory;
pub use scenario_input::MAX_MEMORY;
pub use script_controller::{ControllerInstance, Event, SAMPLE_NUMBERS, Script, State};
pub use sliced_run::Run;
