//! State of the gates of nodes, which pause and resume the flows that start there.

use crate::simulation_spec::GateSpec;
use thalweg_proto::gate::{Gate, GateConfig, GateEvent, GateInput, Marking};
use thalweg_proto::units::Time;
use thalweg_proto::window::PauseConfig;
use thalweg_proto::{Engine as _, Output};

/// Placeholder for no gate.
pub(crate) const NO_GATE: u16 = u16::MAX;

/// The gate of a node. It identifies flows by their connections.
#[derive(Clone, Debug)]
pub(crate) struct NodeGate {
    gate: Gate,
    /// Time of its pending timer event; [`Time::MAX`] if none is queued.
    timer_at: Time,
    /// True while its outputs are processed; inputs received meanwhile are handled afterwards.
    is_processing_outputs: bool,
}

impl NodeGate {
    pub fn new(config: &GateConfig) -> Self {
        Self { gate: Gate::new(config), timer_at: Time::MAX, is_processing_outputs: false }
    }
}

impl GateSpec {
    /// Creates the specification of a gate with the defaults of everything else.
    pub fn new(config: GateConfig) -> Self {
        Self { config, pause: PauseConfig::default(), marking: Marking::default() }
    }
}

/// Next output of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateOutput {
    /// Pause or resume a connection.
    Pause {
        /// Position of the connection.
        connection: u32,
        /// False to resume.
        paused: bool,
    },
    /// Nothing until this time, for which an event must be queued.
    SetTimer(Time),
    /// Nothing until the next input, or until a time for which an event is queued.
    Idle,
}

/// The gates of all nodes.
#[derive(Debug, Default)]
pub(crate) struct FlowGates {
    nodes: Vec<NodeGate>,
    /// Gate at the source node of each direction of each link of the specification; empty without gates.
    gate_by_link: Vec<u16>,
}

impl FlowGates {
    /// Creates the gates of nodes, and of the nodes at which link directions begin.
    pub const fn new(nodes: Vec<NodeGate>, gate_by_link: Vec<u16>) -> Self {
        Self { nodes, gate_by_link }
    }

    /// Returns the gate of the node at which a link begins; [`NO_GATE`] at a node without one.
    pub fn gate_at_start_of_link(&self, link: u32) -> Option<u16> {
        self.gate_by_link.get(link as usize).copied()
    }

    /// Returns the gates of the nodes at which links begin.
    pub fn gate_by_link(&self) -> &[u16] {
        &self.gate_by_link
    }

    /// Returns the gates of nodes, to distribute them among partitions.
    pub const fn nodes_mut(&mut self) -> &mut Vec<NodeGate> {
        &mut self.nodes
    }

    /// Passes an input to a gate. Returns false if there is no such gate.
    pub fn handle_input(&mut self, gate: u16, now: Time, input: GateInput) -> bool {
        let node = self.nodes.get_mut(usize::from(gate));
        node.map(|node| node.gate.handle(now, input)).is_some()
    }

    /// Reports a packet of a connection to a gate that follows data. It does not react before the end of its slot.
    pub fn on_packet_sent(&mut self, gate: u16, now: Time, connection: u32) {
        if let Some(node) = self.nodes.get_mut(usize::from(gate)).filter(|node| node.gate.follows_data()) {
            node.gate.handle(now, GateInput::Sent { flow: connection });
        }
    }

    /// Returns true if a gate's timer expires now, rather than being replaced by an earlier one.
    pub fn take_expired_timer(&mut self, gate: u16, now: Time) -> bool {
        let node = &mut self.nodes[usize::from(gate)];
        let expires = node.timer_at == now;
        if expires {
            node.timer_at = Time::MAX;
        }
        expires
    }

    /// Begins to process a gate's outputs. Returns false if that is in progress already.
    pub fn begin_processing_outputs(&mut self, gate: u16) -> bool {
        !core::mem::replace(&mut self.nodes[usize::from(gate)].is_processing_outputs, true)
    }

    /// Ends the processing of a gate's outputs.
    pub fn end_processing_outputs(&mut self, gate: u16) {
        self.nodes[usize::from(gate)].is_processing_outputs = false;
    }

    /// Returns the next output of a gate.
    pub fn next_output(&mut self, gate: u16, now: Time) -> GateOutput {
        let node = &mut self.nodes[usize::from(gate)];
        match node.gate.poll(now) {
            Output::Event(GateEvent::Pause(connection)) => GateOutput::Pause { connection, paused: true },
            Output::Event(GateEvent::Resume(connection)) => GateOutput::Pause { connection, paused: false },
            Output::Timeout { at, .. } if at < node.timer_at => {
                node.timer_at = at;
                GateOutput::SetTimer(at)
            }
            Output::Timeout { .. } | Output::Idle => GateOutput::Idle,
            Output::Transmit(never) => match never {},
        }
    }
}
