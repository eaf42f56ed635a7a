//! Events of the gates of nodes: pauses and resumptions of flows.

use super::EventLoop;
use crate::components::connection_endpoint::Command;
use crate::components::flow_pausing_gates::{GateOutput, NO_GATE};
use crate::components::host_processor::Host;
use crate::components::packet_pool::{EndpointIndex, NONE};
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;
use thalweg_proto::gate::GateInput;
use thalweg_proto::transport::Signal;

impl<T: Tracing> EventLoop<T> {
    /// Registers a connection at its sender's gate, if any.
    pub(crate) fn join_gate(&mut self, connection: u32) {
        let endpoint = self.connections.endpoint(connection * 2);
        let input = GateInput::Join { flow: connection, priority: endpoint.class.priority() };
        self.notify_gate(endpoint.gate, input);
    }

    /// Unregisters a connection that has ended or has nothing more to send.
    pub(crate) fn leave_gate(&mut self, connection: u32) {
        let gate = core::mem::replace(&mut self.connections.endpoint_mut(connection * 2).gate, NO_GATE);
        if gate == NO_GATE {
            return;
        }
        if T::ENABLED {
            self.trace_gate(connection, false);
        }
        self.notify_gate(gate, GateInput::Leave { flow: connection });
    }

    /// Reports a congestion signal of a sender to its gate.
    pub(crate) fn notify_gate_of_congestion(&mut self, index: EndpointIndex, signal: Signal) {
        let gate = self.connections.endpoint(index).gate;
        self.notify_gate(gate, GateInput::Congestion { flow: index / 2, signal });
    }

    /// Reports a dropped packet to the gate of the queue's node.
    pub(crate) fn notify_gate_of_drop(&mut self, link: u32) {
        if let Some(gate) = self.gates.gate_at_start_of_link(link) {
            self.notify_gate(gate, GateInput::LocalDrop);
        }
    }

    /// Reports a packet of a sender to its gate.
    #[cold]
    pub(crate) fn notify_gate_of_data(&mut self, index: EndpointIndex) {
        self.gates.on_packet_sent(self.connections.endpoint(index).gate, self.now, index / 2);
    }

    fn notify_gate(&mut self, gate: u16, input: GateInput) {
        if self.gates.handle_input(gate, self.now, input) {
            self.execute_gate_outputs(gate);
        }
    }

    /// Handles a gate's timer.
    pub(crate) fn on_gate(&mut self, gate: u32) {
        if self.gates.take_expired_timer(gate as u16, self.now) {
            self.execute_gate_outputs(gate as u16);
        }
    }

    /// Executes a gate's outputs until there are none.
    fn execute_gate_outputs(&mut self, gate: u16) {
        if !self.gates.begin_processing_outputs(gate) {
            return;
        }
        loop {
            match self.gates.next_output(gate, self.now) {
                GateOutput::Pause { connection, paused } => self.pause(connection, paused),
                GateOutput::SetTimer(at) => {
                    self.wheel.push(at, EventKind::Gate.key(u32::from(gate)));
                    break;
                }
                GateOutput::Idle => break,
            }
        }
        self.gates.end_processing_outputs(gate);
    }

    fn pause(&mut self, connection: u32, paused: bool) {
        if T::ENABLED {
            self.trace_gate(connection, paused);
        }
        let host = self.connections.endpoint(connection * 2).path.host;
        if host != NONE && matches!(self.hosts[host as usize], Host::Outside) {
            return self.pause_outside(connection, paused);
        }
        self.command(connection * 2, if paused { Command::Pause } else { Command::Resume });
    }

    /// Records that a connection's sender is paused or resumed. As for packets, the merger assigns connections their
    /// positions.
    fn trace_gate(&mut self, connection: u32, paused: bool) {
        let connection = if T::BUFFERS { self.connections.id(connection) } else { connection };
        self.tracing.gate(self.wheel.order_now(), connection, paused);
    }
}
