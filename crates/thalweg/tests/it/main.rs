//! Integration tests of `thalweg`, in one program: it is linked once.

mod answers;
mod assess;
mod child_processes;
mod command;
mod command_runs;
mod example_crates;
mod hunt;
mod impairments;
mod paper;
mod report;
mod sweep;
mod view;
