//! A deterministic packet-level simulator for the engines of `thalweg-proto`.

mod pdu;
mod result;
pub mod spec;
pub mod trace;

pub use pdu::Pdu;
pub use result::{
    Conservation, FlowResult, GroupResult, LinkResult, Quantity, QueueResult, RunResult, Series, Summary,
};
