//! Gates of nodes: engines that pause and resume the flows which begin there.

use thalweg_proto::gate::{Gate, GateConfig};
use thalweg_proto::units::Time;

/// "No gate".
pub(crate) const NO_GATE: u16 = u16::MAX;

/// The gate of a node. It numbers flows by their connections.
#[derive(Clone, Debug)]
pub(crate) struct NodeGate {
    pub gate: Gate,
    /// The time at which its timer event is due; [`Time::MAX`] when none is in the queue.
    pub armed: Time,
    /// True while its wishes are being carried out: it acts afterwards on what it hears on the way.
    pub is_draining: bool,
}

impl NodeGate {
    pub fn new(config: &GateConfig) -> Self {
        Self { gate: Gate::new(config), armed: Time::MAX, is_draining: false }
    }
}
