//! Integration tests of `thalweg-queue`, in one program: it is linked once.

mod capacity_trace_replay;
mod disciplines;
mod loss_processes;
