//! Integration tests of `thalweg-explore`, in one program: it is linked once.

mod explore;
mod explore_controllers;
mod explore_livelock;
mod explore_sscop;
mod explore_sstp;
mod explore_zero_window;
mod fault_injection;
