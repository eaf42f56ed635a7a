//! `noq-proto` in the simulator: a QUIC stack (RFC 9000) with three congestion controllers, a fork of `quinn-proto`.
//!
//! As in `thalweg-quinn`, all settings except the buffers have their defaults, and random numbers come from the
//! connection.

#[path = "../../quinn/src/connection.rs"]
mod connection;
mod fork_specific_api;
#[macro_use]
#[path = "../../quinn/src/schemes.rs"]
mod schemes;

pub use connection::End;

use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack_contract::{Config, Side, Stack, Time, scheme};

schemes! {
    CUBIC, NoqCubic: "noq-cubic", CubicConfig, "QUIC by noq-proto 1.4.0, with its CUBIC (RFC 9438).";
    NEW_RENO, NoqNewReno: "noq-newreno", NewRenoConfig, "QUIC by noq-proto 1.4.0, with its NewReno (RFC 9002).";
    BBR3, NoqBbr3: "noq-bbr3", Bbr3Config, "QUIC by noq-proto 1.4.0, with its BBR (version 3).";
}
