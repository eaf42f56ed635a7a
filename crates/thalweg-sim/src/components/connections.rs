//! The connections of a run or partition: their ids, their state and their endpoints.

use super::connection_endpoint::{Counts, Endpoint, EndpointPath, Engine};
use super::connection_ids::ConnectionIds;
use super::flow_state::{Connection, Flow, Role};
use super::flows_and_groups::Traffic;
use super::packet_pool::{Class, EndpointId};
use core::ops::{Index, IndexMut};
use thalweg_proto::Ecn;
use thalweg_proto::Output;
use thalweg_proto::endpoint::Notice;
use thalweg_proto::units::Time;

/// Connections by position; connection `n` has the endpoints `2 * n` and `2 * n + 1`.
#[derive(Debug)]
pub(crate) struct Connections {
    pub ids: ConnectionIds,
    list: Vec<Connection>,
    endpoints: Vec<Endpoint>,
}

impl Index<u32> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, place: u32) -> &Connection {
        &self.list[place as usize]
    }
}

impl IndexMut<u32> for Connections {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut Connection {
        &mut self.list[place as usize]
    }
}

impl Connections {
    /// Creates `count` unopened connections, with room for `capacity`.
    pub fn new(ids: ConnectionIds, count: usize, capacity: usize) -> Self {
        let (mut list, mut endpoints) = (Vec::with_capacity(capacity), Vec::with_capacity(2 * capacity));
        list.resize(count, Connection::UNOPENED);
        endpoints.resize_with(2 * count, || Endpoint::VACANT);
        Self { ids, list, endpoints }
    }

    /// Returns the connection at a position, if there is one.
    pub fn get(&self, place: u32) -> Option<&Connection> {
        self.list.get(place as usize)
    }

    /// Returns an endpoint.
    #[inline]
    pub fn endpoint(&self, id: EndpointId) -> &Endpoint {
        &self.endpoints[id as usize]
    }

    /// Returns an endpoint, to be changed.
    #[inline]
    pub fn endpoint_mut(&mut self, id: EndpointId) -> &mut Endpoint {
        &mut self.endpoints[id as usize]
    }

    /// Returns all endpoints.
    #[inline]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns the engines of a connection's sender and receiver.
    pub fn engines(&self, place: u32) -> [&Engine; 2] {
        [place * 2, place * 2 + 1].map(|id| &self.endpoint(id).engine)
    }

    /// Returns the id of the connection at a position.
    #[inline]
    pub fn id(&self, place: u32) -> u32 {
        self.ids.of_end(place * 2) / 2
    }

    /// Returns the current and past connections of a flow; closed ones have no engines.
    pub fn of_flow(&self, flow: &Flow, opener: Option<usize>) -> impl Iterator<Item = u32> + use<'_> {
        let opened = opener.map_or(&[][..], |opener| self.ids.places(opener));
        flow.initial_connections().chain(opened.iter().copied())
    }

    /// Returns the connections opened during the run that have not ended.
    pub fn open_transfers(&self) -> impl Iterator<Item = &Connection> {
        let places = (0..self.ids.flows().len()).flat_map(|opener| self.ids.places(opener));
        let is_open = |place: &&u32| {
            let engine = &self.endpoint(**place * 2).engine;
            !matches!(engine, Engine::Vacant) && !engine.is_closing()
        };
        places.filter(is_open).map(|&place| &self[place])
    }

    /// Appends a connection with its endpoints; returns its position.
    pub fn push(&mut self, connection: Connection, endpoints: [Endpoint; 2]) -> u32 {
        self.list.push(connection);
        self.endpoints.extend(endpoints);
        self.list.len() as u32 - 1
    }

    /// Returns the position of a flow's next connection, from those that it has from its start or those that it opens
    /// during the run. `given` is the id assigned before the run, if any.
    pub fn next_place(&mut self, flow: u32, given: Option<u32>, traffic: &Traffic) -> u32 {
        let place = match traffic.opener(flow) {
            Some(opener) => {
                let vacant = self.ids.reuse_position(opener);
                vacant.unwrap_or_else(|| self.add_place(flow, opener, traffic))
            }
            None => given.unwrap_or_else(|| self.ids.begin(self.list.len())),
        };
        if place as usize == self.list.len() {
            self.push(Connection::UNOPENED, [Endpoint::VACANT, Endpoint::VACANT]);
        }
        place
    }

    /// Allocates table entries for another connection of a flow that opens them during the run.
    fn add_place(&mut self, flow: u32, opener: usize, traffic: &Traffic) -> u32 {
        let paths = traffic.connection_paths(flow, Role::Transfer);
        let endpoints = paths.map(|path| Endpoint { path, flow, ..Endpoint::VACANT });
        let connection = Connection { flow, role: Role::Transfer, ..Connection::UNOPENED };
        let place = self.push(connection, endpoints);
        self.ids.add(opener, place);
        place
    }

    /// Allocates the entry of an endpoint, by its id, whose peer was opened in another partition.
    #[cold]
    #[inline(never)]
    pub fn add_endpoint(&mut self, number: EndpointId, traffic: &Traffic) -> EndpointId {
        loop {
            if let Some(id) = self.ids.end(number) {
                return id;
            }
            let Some((opener, flow)) = self.ids.flow(number / 2) else { return number };
            self.add_place(flow, opener, traffic);
        }
    }

    /// Initialises an endpoint of a flow's connection.
    pub fn begin_endpoint(
        &mut self,
        id: EndpointId,
        flow: u32,
        engine: Engine,
        path: EndpointPath,
        traffic: &Traffic,
    ) {
        let group = traffic.group_of(flow);
        let transport = traffic.transport(group);
        // A receiver's acknowledgements are never ECN-capable (RFC 3168, section 6.1.4).
        let ecn = if id.is_multiple_of(2) { transport.properties().ecn() } else { Ecn::NotEct };
        let slot = self.endpoint_mut(id);
        // The serial continues, hence packet identities are unique within the run. The incarnation distinguishes late
        // packets of the slot's last connection from packets of this one.
        let (serial, incarnation) = (slot.serial, slot.incarnation.wrapping_add(1));
        *slot = Endpoint {
            engine,
            path,
            flow,
            header: transport.header,
            control: transport.control,
            serial,
            incarnation,
            class: Class::new(group.priority, ecn),
            ..Endpoint::VACANT
        };
    }

    /// Ends one endpoint of a connection; returns its flow and its counts.
    pub fn end_endpoint(&mut self, id: EndpointId, now: Time) -> (u32, Counts) {
        let slot = self.endpoint_mut(id);
        let engine = core::mem::replace(&mut slot.engine, Engine::Vacant);
        slot.armed = Time::MAX;
        let ends = if id.is_multiple_of(2) { [&engine, &Engine::Vacant] } else { [&Engine::Vacant, &engine] };
        (slot.flow, Counts::from_engines(ends, None, now))
    }

    /// Drops the engines of a connection.
    pub fn drop_engines(&mut self, place: u32) {
        for id in [place * 2, place * 2 + 1] {
            let slot = self.endpoint_mut(id);
            slot.engine = Engine::Vacant;
            slot.armed = Time::MAX;
        }
    }

    /// Applies a route change to the packets sent from now on.
    pub fn reroute(&mut self, traffic: &Traffic) {
        for (connection, endpoints) in self.list.iter().zip(self.endpoints.chunks_exact_mut(2)) {
            if connection.flow as usize >= traffic.flows.len() {
                continue;
            }
            let [mut there, mut back] = traffic.paths(connection.flow);
            if connection.role == Role::Reply {
                core::mem::swap(&mut there, &mut back);
            }
            endpoints[0].path.route = there.route;
            if traffic.group_of(connection.flow).control.is_none() {
                endpoints[1].path.route = back.route;
            }
        }
    }

    /// Attributes the wait of senders without packets in flight to their retransmission timer, which expires after the
    /// end. `in_flight` are the ids of connections with packets in flight.
    pub fn attribute_timer_waits(&mut self, in_flight: impl Iterator<Item = u32>, now: Time) {
        // One byte each: the memory of a run peaks here.
        let mut has_packets = vec![false; self.list.len()];
        for number in in_flight {
            let place = self.ids.position(number).unwrap_or(u32::MAX);
            if let Some(has) = has_packets.get_mut(place as usize) {
                *has = true;
            }
        }
        for (ends, _) in self.endpoints.chunks_exact_mut(2).zip(has_packets).filter(|(_, has)| !has) {
            let [sender, receiver] = ends else { continue };
            // An acknowledgement may be delayed.
            let is_over =
                !sender.waiting && !receiver.waiting && matches!(receiver.engine.poll(now), Output::Idle);
            if let Some(end) = sender.engine.end_mut().filter(|_| is_over) {
                end.notify(Notice::Silence(now));
            }
        }
    }

    /// Takes the tables of the connections from position `first` on.
    pub fn split_off(&mut self, first: usize) -> (Vec<Connection>, Vec<Endpoint>) {
        // A partition without flows has no connections.
        let first = first.min(self.list.len());
        (self.list.split_off(first), self.endpoints.split_off(2 * first))
    }

    /// Returns the connections and their endpoints, to merge those of partitions.
    pub fn tables_mut(&mut self) -> (&mut Vec<Connection>, &mut Vec<Endpoint>) {
        (&mut self.list, &mut self.endpoints)
    }
}
