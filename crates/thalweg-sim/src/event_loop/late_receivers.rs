//! Connections that flows open during the run, one for each transfer with random arrival.
//!
//! Over the window transport, the endpoints of such a connection interact by packets alone. Its receiver is created by
//! the first packet that reaches it, as by a listening socket. It stays until the first packet of the next connection
//! in its slot, as in TIME-WAIT: spurious retransmissions are answered. Endpoints of other families, and of connections
//! with handshakes, start and end together.

use super::EventLoop;
use crate::components::connection_endpoint::{Endpoint, Engine};
use crate::components::flow_state::Role;
use crate::components::packet_pool::{EndpointIndex, Flags};
use crate::packet_tracing::Tracing;
use crate::spec_error::SpecError;

impl<T: Tracing> EventLoop<T> {
    /// Returns the flow of the connection with this id, as carried by packets.
    pub(crate) fn flow_of(&self, number: u32) -> u32 {
        match (self.connections.ids.flow(number), &self.boundary) {
            (Some((_, flow)), _) => flow,
            (None, Some(boundary)) => boundary.owners.flows[number as usize],
            (None, None) => self.connections[number].flow,
        }
    }

    /// Handles a packet that reached an endpoint of another connection. Returns true if it is the first of the next
    /// connection, which creates the receiver.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_receiver(&mut self, index: EndpointIndex, incarnation: u16, flags: Flags) -> bool {
        let &Endpoint { incarnation: current, flow, awaits_host: waiting, .. } =
            self.connections.endpoint(index);
        // Incarnations wrap.
        let is_next = incarnation.wrapping_sub(current).cast_signed() > 0;
        let is_for_receiver = !flags.has(Flags::TO_SENDER) && !flags.has(Flags::ROUTER);
        if !is_next || !is_for_receiver || !self.traffic.begins_late(flow) {
            return false;
        }
        self.end(index);
        let engine = Engine::receiver(&self.traffic.transport_of(flow).endpoint_configs, None);
        let [_, path] = self.traffic.connection_paths(flow, Role::Transfer);
        self.connections.begin_endpoint(index, flow, engine, path, &self.traffic);
        // In another partition than the sender's, the entry still has what arrived of the last transfer.
        self.connections[index / 2].delivered = 0;
        let endpoint = self.connections.endpoint_mut(index);
        // It is still queued at its host.
        (endpoint.incarnation, endpoint.awaits_host) = (incarnation, waiting);
        true
    }

    /// Ends one endpoint of a connection: adds its counts to the flow.
    pub(crate) fn end(&mut self, index: EndpointIndex) {
        let (flow, counts) = self.connections.end_endpoint(index, self.now);
        self.traffic.flows[flow as usize].closed_counts_mut().add(&counts);
    }

    /// Handles a flow that would exceed the maximum number of simultaneous connections.
    #[cold]
    pub(crate) fn fail_on_too_many_connections(&mut self) {
        let max = self.connections.ids.max().into();
        self.ending.fail(|| SpecError::TooMany {
            what: "concurrent transfers of a flow, with this number of flows",
            max,
        });
    }
}
