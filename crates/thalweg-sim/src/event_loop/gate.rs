//! Gates of nodes: engines that pause and resume the flows that start there.

use super::EventLoop;
use crate::event::Kind;
use crate::parts::endpoint::Command;
use crate::parts::gate::NO_GATE;
use crate::parts::host::Host;
use crate::parts::packet::{EndpointId, NONE};
use crate::tracing::Tracing;
use thalweg_proto::gate::{GateEvent, GateInput};
use thalweg_proto::transport::Signal;
use thalweg_proto::units::Time;
use thalweg_proto::{Engine, Output};

impl<T: Tracing> EventLoop<T> {
    /// Registers a connection at its sender's gate, if any.
    pub(crate) fn join_gate(&mut self, connection: u32) {
        let endpoint = &self.endpoints[connection as usize * 2];
        let input = GateInput::Join { flow: connection, priority: endpoint.class.priority() };
        self.notify_gate(endpoint.gate, input);
    }

    /// Unregisters a connection that has ended or has nothing more to send.
    pub(crate) fn leave_gate(&mut self, connection: u32) {
        let gate = core::mem::replace(&mut self.endpoints[connection as usize * 2].gate, NO_GATE);
        if gate == NO_GATE {
            return;
        }
        if T::ENABLED {
            self.trace_gate(connection, false);
        }
        self.notify_gate(gate, GateInput::Leave { flow: connection });
    }

    /// Reports a congestion signal of a sender to its gate.
    pub(crate) fn notify_gate_of_congestion(&mut self, id: EndpointId, signal: Signal) {
        let gate = self.endpoints[id as usize].gate;
        self.notify_gate(gate, GateInput::Congestion { flow: id / 2, signal });
    }

    /// Reports a dropped packet to the gate of the queue's node.
    pub(crate) fn notify_gate_of_drop(&mut self, link: u32) {
        if let Some(&gate) = self.link_gates.get(link as usize) {
            self.notify_gate(gate, GateInput::LocalDrop);
        }
    }

    /// Reports a packet of a sender to its gate.
    #[cold]
    pub(crate) fn notify_gate_of_data(&mut self, id: EndpointId) {
        let gate = self.endpoints[id as usize].gate;
        if let Some(node) = self.gates.get_mut(gate as usize)
            && node.gate.follows_data()
        {
            // The gate does not react before the end of the slot.
            node.gate.handle(self.now, GateInput::Sent { flow: id / 2 });
        }
    }

    fn notify_gate(&mut self, gate: u16, input: GateInput) {
        if let Some(node) = self.gates.get_mut(gate as usize) {
            node.gate.handle(self.now, input);
            self.drain_gate(gate);
        }
    }

    /// Handles a gate's timer.
    pub(crate) fn on_gate(&mut self, gate: u32) {
        let node = &mut self.gates[gate as usize];
        if node.armed == self.now {
            node.armed = Time::MAX;
            self.drain_gate(gate as u16);
        }
    }

    /// Executes a gate's outputs until there are none.
    fn drain_gate(&mut self, gate: u16) {
        if core::mem::replace(&mut self.gates[gate as usize].is_draining, true) {
            return;
        }
        loop {
            let node = &mut self.gates[gate as usize];
            match node.gate.poll(self.now) {
                Output::Event(GateEvent::Pause(connection)) => self.pause(connection, true),
                Output::Event(GateEvent::Resume(connection)) => self.pause(connection, false),
                Output::Timeout { at, .. } => {
                    if at < node.armed {
                        node.armed = at;
                        self.wheel.push(at, Kind::Gate.key(u32::from(gate)));
                    }
                    break;
                }
                Output::Idle => break,
                Output::Transmit(never) => match never {},
            }
        }
        self.gates[gate as usize].is_draining = false;
    }

    fn pause(&mut self, connection: u32, paused: bool) {
        if T::ENABLED {
            self.trace_gate(connection, paused);
        }
        let host = self.endpoints[connection as usize * 2].path.host;
        if host != NONE && matches!(self.hosts[host as usize], Host::Outside) {
            return self.pause_outside(connection, paused);
        }
        self.command(connection * 2, if paused { Command::Pause } else { Command::Resume });
    }

    /// Records that a connection's sender is paused or resumed. As for packets, the merger assigns connections their
    /// positions.
    fn trace_gate(&mut self, connection: u32, paused: bool) {
        let connection = if T::BUFFERS { self.numbers.of_end(connection * 2) / 2 } else { connection };
        self.tracing.gate(self.wheel.order_now(), connection, paused);
    }
}
