//! `quinn-proto` in the simulator: a QUIC stack (RFC 9000) with three congestion controllers.
//!
//! All settings have their defaults, with these exceptions: the buffers follow the scheme's key `buffer`, keys and
//! connection ids come from the random numbers of the connection, and no connection depends on earlier ones (no tokens,
//! no resumption).
//!
//! `quinn-proto` takes time as an argument. It draws random numbers by itself in one place: BBR draws a seed from
//! `rand::rng`, whose seed comes from the random numbers of the connection in this workspace.

mod connection;
mod fork_specific_api;
#[macro_use]
mod schemes;

pub use connection::End;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack_contract::{Config, Side, Stack, Time, scheme};

schemes! {
    CUBIC, QuinnCubic: "quinn-cubic", CubicConfig, "QUIC by quinn-proto 0.11.19, with its CUBIC (RFC 9438).";
    NEW_RENO, QuinnNewReno: "quinn-newreno", NewRenoConfig, "QUIC by quinn-proto 0.11.19, with its NewReno (RFC 9002).";
    BBR, QuinnBbr: "quinn-bbr", BbrConfig, "QUIC by quinn-proto 0.11.19, with its experimental BBR (version 1).";
}
