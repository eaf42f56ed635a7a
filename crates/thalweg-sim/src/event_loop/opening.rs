//! Connections that flows open during the run, one for each transfer with random arrival.
//!
//! Over the window transport, the endpoints of such a connection interact by packets alone. Its receiver is created by
//! the first packet that reaches it, as by a listening socket. It stays until the first packet of the next connection
//! in its slot, as in TIME-WAIT: spurious retransmissions are answered. Endpoints of other families, and of connections
//! with handshakes, start and end together.

use super::EventLoop;
use crate::error::SpecError;
use crate::parts::connection_ids::has_independent_ends;
use crate::parts::endpoint::{Counts, Endpoint, Engine};
use crate::parts::flow::{Connection, Role};
use crate::parts::packet::{EndpointId, Flags};
use crate::tracing::Tracing;
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// Returns the index of a flow among the flows that open connections during the run, if it is one.
    #[inline]
    pub(crate) fn opener(&self, flow: u32) -> Option<usize> {
        self.traffic.group_of(flow).opener(flow)
    }

    /// Returns the current and past connections of a flow; closed ones have no engines.
    pub(crate) fn connections_of(&self, flow: usize) -> impl Iterator<Item = u32> + '_ {
        let opened = self.opener(flow as u32).map_or(&[][..], |opener| self.numbers.places(opener));
        self.traffic.flows[flow].initial_connections().chain(opened.iter().copied())
    }

    /// Returns the flow of the connection with this id, as carried by packets.
    pub(crate) fn flow_of(&self, number: u32) -> u32 {
        match (self.numbers.flow(number), &self.boundary) {
            (Some((_, flow)), _) => flow,
            (None, Some(boundary)) => boundary.owners.flows[number as usize],
            (None, None) => self.connections[number as usize].flow,
        }
    }

    /// Returns true if the receivers of a flow's transfers are created by their first packet.
    pub(crate) fn begins_late(&self, flow: u32) -> bool {
        let group = self.traffic.group_of(flow);
        group.opening.is_some() && has_independent_ends(self.traffic.transport_of(flow))
    }

    /// Allocates table entries for another connection of a flow.
    pub(crate) fn make_place(&mut self, flow: u32, opener: usize) -> u32 {
        let place = self.connections.len() as u32;
        self.connections.push(Connection { flow, role: Role::Transfer, ..Connection::UNOPENED });
        let ends = self.paths(flow, Role::Transfer).map(|path| Endpoint { path, flow, ..Endpoint::VACANT });
        self.endpoints.extend(ends);
        self.numbers.add(opener, place);
        place
    }

    /// Allocates the entry of an endpoint whose peer was opened in another partition.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_end(&mut self, number: EndpointId) -> EndpointId {
        loop {
            if let Some(id) = self.numbers.end(number) {
                return id;
            }
            let Some((opener, flow)) = self.numbers.flow(number / 2) else { return number };
            self.make_place(flow, opener);
        }
    }

    /// Handles a packet that reached an endpoint of another connection. Returns true if it is the first of the next
    /// connection, which creates the receiver.
    #[cold]
    #[inline(never)]
    pub(crate) fn begins(&mut self, id: EndpointId, incarnation: u16, flags: Flags) -> bool {
        let Endpoint { incarnation: current, flow, waiting, .. } = self.endpoints[id as usize];
        // Incarnations wrap.
        let is_next = incarnation.wrapping_sub(current).cast_signed() > 0;
        let is_for_receiver = !flags.has(Flags::BACKWARD) && !flags.has(Flags::ROUTER);
        if !is_next || !is_for_receiver || !self.begins_late(flow) {
            return false;
        }
        self.end(id);
        let engine = Engine::receiver(&self.traffic.transport_of(flow).ends, None);
        let [_, path] = self.paths(flow, Role::Transfer);
        self.begin_end(id, flow, engine, path);
        let endpoint = &mut self.endpoints[id as usize];
        // It is still queued at its host.
        (endpoint.incarnation, endpoint.waiting) = (incarnation, waiting);
        true
    }

    /// Ends one endpoint of a connection: adds its counts to the flow.
    pub(crate) fn end(&mut self, id: EndpointId) {
        let slot = &mut self.endpoints[id as usize];
        let flow = slot.flow;
        let engine = core::mem::replace(&mut slot.engine, Engine::Vacant);
        slot.armed = Time::MAX;
        let ends = if id.is_multiple_of(2) { [&engine, &Engine::Vacant] } else { [&Engine::Vacant, &engine] };
        let counts = Counts::of(ends, None, self.now);
        self.traffic.flows[flow as usize].ended().add(&counts);
    }

    /// Handles a flow that would exceed the maximum number of simultaneous connections.
    #[cold]
    pub(crate) fn end_full(&mut self) {
        let max = self.numbers.max().into();
        self.ending.fail(|| SpecError::TooMany {
            what: "concurrent transfers of a flow, with this number of flows",
            max,
        });
    }
}
