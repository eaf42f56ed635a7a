//! Connections that flows open as the run goes on, one for each transfer that arrives at random.
//!
//! Over the window transport each end of one knows no more of the other than packets tell. Its receiver begins with the first packet that
//! reaches it, as from a socket that listens, and stays until the first packet of the next connection in its place, as in TIME-WAIT:
//! what the sender sends again for nothing is answered. Ends of other families, and of connections that are opened and closed by
//! handshakes, begin and end together.

use super::EventLoop;
use crate::error::SpecError;
use crate::parts::endpoint::{Counts, Endpoint, Engine};
use crate::parts::flow::{Connection, Role};
use crate::parts::numbers::has_ends_apart;
use crate::parts::packet::{EndpointId, Flags};
use crate::tracing::Tracing;
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// The place of a flow among those that open connections as the run goes on, if it does.
    #[inline]
    pub(crate) fn opener(&self, flow: u32) -> Option<usize> {
        self.groups[self.flows[flow as usize].group as usize].opener(flow)
    }

    /// The connections that a flow has or had; those that have ended have no engines any more.
    pub(crate) fn connections_of(&self, flow: usize) -> impl Iterator<Item = u32> + '_ {
        let opened = self.opener(flow as u32).map_or(&[][..], |opener| self.numbers.places(opener));
        self.flows[flow].own_connections().chain(opened.iter().copied())
    }

    /// The flow of the connection that has this number, which packets of it carry.
    pub(crate) fn flow_of(&self, number: u32) -> u32 {
        match (self.numbers.flow(number), &self.border) {
            (Some((_, flow)), _) => flow,
            (None, Some(border)) => border.owners.flows[number as usize],
            (None, None) => self.connections[number as usize].flow,
        }
    }

    /// True if the receivers of a flow's transfers begin with their first packet.
    pub(crate) fn begins_late(&self, flow: u32) -> bool {
        let group = &self.groups[self.flows[flow as usize].group as usize];
        group.opening.is_some() && has_ends_apart(&self.transports[group.transport as usize])
    }

    /// Makes room for another connection of a flow.
    pub(crate) fn make_place(&mut self, flow: u32, opener: usize) -> u32 {
        let place = self.connections.len() as u32;
        self.connections.push(Connection { flow, role: Role::Transfer, ..Connection::UNOPENED });
        let ends = self.ways(flow, Role::Transfer).map(|way| Endpoint { way, flow, ..Endpoint::VACANT });
        self.endpoints.extend(ends);
        self.numbers.add(opener, place);
        place
    }

    /// Makes room for the end of this number, which another part of the run has opened the other end of.
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

    /// A packet reached an end that is of another connection than the packet is. True if it is the first of the next one: a receiver
    /// begins with it.
    #[cold]
    #[inline(never)]
    pub(crate) fn begins(&mut self, id: EndpointId, incarnation: u16, flags: Flags) -> bool {
        let Endpoint { incarnation: current, flow, waiting, .. } = self.endpoints[id as usize];
        // Incarnations go round.
        let is_next = incarnation.wrapping_sub(current).cast_signed() > 0;
        let is_for_receiver = !flags.has(Flags::BACKWARD) && !flags.has(Flags::ROUTER);
        if !is_next || !is_for_receiver || !self.begins_late(flow) {
            return false;
        }
        self.end(id);
        let group = &self.groups[self.flows[flow as usize].group as usize];
        let engine = Engine::receiver(&self.transports[group.transport as usize].ends);
        let [_, way] = self.ways(flow, Role::Transfer);
        self.begin_end(id, flow, engine, way);
        let endpoint = &mut self.endpoints[id as usize];
        // Its host still has it on its list.
        (endpoint.incarnation, endpoint.waiting) = (incarnation, waiting);
        true
    }

    /// One end of a connection has nothing more to do: its counts become the flow's.
    pub(crate) fn end(&mut self, id: EndpointId) {
        let slot = &mut self.endpoints[id as usize];
        let flow = slot.flow;
        let engine = core::mem::replace(&mut slot.engine, Engine::Vacant);
        slot.armed = Time::MAX;
        let ends = if id.is_multiple_of(2) { [&engine, &Engine::Vacant] } else { [&Engine::Vacant, &engine] };
        let counts = Counts::of(ends, None, self.now);
        self.flows[flow as usize].ended().add(&counts);
    }

    /// A flow has as many connections at a time as can be numbered, and would open another.
    #[cold]
    pub(crate) fn end_full(&mut self) {
        let most = self.numbers.most().into();
        self.error.get_or_insert_with(|| {
            Box::new(SpecError::TooMany { what: "transfers at a time of one of so many flows", most })
        });
        self.finished = true;
    }
}
