//! Integration tests of `thalweg-queue`, in one program: it is linked once.

mod capacity_clock;
mod disciplines;
mod loss_processes;
