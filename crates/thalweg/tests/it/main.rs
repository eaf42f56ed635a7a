//! Integration tests of `thalweg`, in one program: it is linked once.

mod answer_relevance;
mod assess_scheme_by_rfc9743;
mod child_processes;
mod command_outputs;
mod command_runs;
mod example_crates;
mod hunt;
mod names_beyond_ascii;
mod paper;
mod rejected_calls;
mod relay_matches_simulated_link;
mod report;
mod sweep;
mod view_and_infer;
