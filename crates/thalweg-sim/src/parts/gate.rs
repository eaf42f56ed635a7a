//! Gates of nodes: engines that pause and resume the flows that start there.

use thalweg_proto::gate::{Gate, GateConfig};
use thalweg_proto::units::Time;

/// Placeholder for no gate.
pub(crate) const NO_GATE: u16 = u16::MAX;

/// The gate of a node. It identifies flows by their connections.
#[derive(Clone, Debug)]
pub(crate) struct NodeGate {
    pub gate: Gate,
    /// Time of its pending timer event; [`Time::MAX`] if none is queued.
    pub armed: Time,
    /// True while its outputs are being processed; inputs received meanwhile are handled afterwards.
    pub is_draining: bool,
}

impl NodeGate {
    pub fn new(config: &GateConfig) -> Self {
        Self { gate: Gate::new(config), armed: Time::MAX, is_draining: false }
    }
}
