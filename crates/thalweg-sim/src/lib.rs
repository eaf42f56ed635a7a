//! A deterministic packet-level simulator for the engines of `thalweg-proto`.

pub mod spec;
