//! The connections of a run or partition: their ids, their state and their endpoints.

use super::connection_endpoint::{Counts, Endpoint, EndpointPath, Engine};
use super::connection_ids::ConnectionIds;
use super::flow_state::{Connection, Flow, Role};
use super::flows_and_groups::Traffic;
use super::packet_pool::{EndpointId, EndpointIndex, PacketClass};
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
    fn index(&self, index: u32) -> &Connection {
        &self.list[index as usize]
    }
}

impl IndexMut<u32> for Connections {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Connection {
        &mut self.list[index as usize]
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

    /// Returns the connection at an index, if there is one.
    pub fn get(&self, index: u32) -> Option<&Connection> {
        self.list.get(index as usize)
    }

    /// Returns an endpoint.
    #[inline]
    pub fn endpoint(&self, index: EndpointIndex) -> &Endpoint {
        &self.endpoints[index as usize]
    }

    /// Returns an endpoint, to be changed.
    #[inline]
    pub fn endpoint_mut(&mut self, index: EndpointIndex) -> &mut Endpoint {
        &mut self.endpoints[index as usize]
    }

    /// Returns all endpoints.
    #[inline]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns the engines of a connection's sender and receiver.
    pub fn engines(&self, index: u32) -> [&Engine; 2] {
        [index * 2, index * 2 + 1].map(|index| &self.endpoint(index).engine)
    }

    /// Returns the id of the connection at an index.
    #[inline]
    pub fn id(&self, index: u32) -> u32 {
        self.ids.endpoint_id(index * 2) / 2
    }

    /// Returns the current and past connections of a flow; closed ones have no engines. `opening_flow_index` is its index
    /// among the flows that open connections during the run, if it is one.
    pub fn of_flow(
        &self,
        flow: &Flow,
        opening_flow_index: Option<usize>,
    ) -> impl Iterator<Item = u32> + use<'_> {
        let opened = opening_flow_index.map_or(&[][..], |index| self.ids.indices(index));
        flow.initial_connections().chain(opened.iter().copied())
    }

    /// Returns the connections opened during the run that have not ended.
    pub fn open_transfers(&self) -> impl Iterator<Item = &Connection> {
        let indices = (0..self.ids.flows().len()).flat_map(|index| self.ids.indices(index));
        let is_open = |index: &&u32| {
            let engine = &self.endpoint(**index * 2).engine;
            !matches!(engine, Engine::Vacant) && !engine.is_closing()
        };
        indices.filter(is_open).map(|&index| &self[index])
    }

    /// Appends a connection with its endpoints; returns its index.
    pub fn push(&mut self, connection: Connection, endpoints: [Endpoint; 2]) -> u32 {
        self.list.push(connection);
        self.endpoints.extend(endpoints);
        self.list.len() as u32 - 1
    }

    /// Returns the index of a flow's next connection, from those that it has from its start or those that it opens
    /// during the run. `assigned_id` is the id assigned before the run, if any.
    pub fn next_index(&mut self, flow: u32, assigned_id: Option<u32>, traffic: &Traffic) -> u32 {
        let index = match traffic.opening_flow_index(flow) {
            Some(opening_flow_index) => {
                let vacant = self.ids.reuse_index(opening_flow_index);
                vacant.unwrap_or_else(|| self.add_entry(flow, opening_flow_index, traffic))
            }
            None => assigned_id.unwrap_or_else(|| self.ids.begin(self.list.len())),
        };
        if index as usize == self.list.len() {
            self.push(Connection::UNOPENED, [Endpoint::VACANT, Endpoint::VACANT]);
        }
        index
    }

    /// Allocates table entries for another connection of a flow that opens them during the run.
    fn add_entry(&mut self, flow: u32, opening_flow_index: usize, traffic: &Traffic) -> u32 {
        let paths = traffic.connection_paths(flow, Role::Transfer);
        let endpoints = paths.map(|path| Endpoint { path, flow, ..Endpoint::VACANT });
        let connection = Connection { flow, role: Role::Transfer, ..Connection::UNOPENED };
        let index = self.push(connection, endpoints);
        self.ids.add(opening_flow_index, index);
        index
    }

    /// Returns the index of an endpoint, by its id, whose peer was opened in another partition; allocates it if missing.
    #[cold]
    #[inline(never)]
    pub fn ensure_endpoint(&mut self, id: EndpointId, traffic: &Traffic) -> EndpointIndex {
        loop {
            if let Some(index) = self.ids.endpoint_index(id) {
                return index;
            }
            let Some((opening_flow_index, flow)) = self.ids.flow(id / 2) else { return id };
            self.add_entry(flow, opening_flow_index, traffic);
        }
    }

    /// Initialises an endpoint of a flow's connection.
    pub fn begin_endpoint(
        &mut self,
        index: EndpointIndex,
        flow: u32,
        engine: Engine,
        path: EndpointPath,
        traffic: &Traffic,
    ) {
        let group = traffic.group_of(flow);
        let transport = traffic.transport(group);
        // A receiver's acknowledgements are never ECN-capable (RFC 3168, section 6.1.4).
        let ecn = if index.is_multiple_of(2) { transport.properties().ecn() } else { Ecn::NotEct };
        let endpoint = self.endpoint_mut(index);
        // The serial continues, hence packet identities are unique within the run. The incarnation distinguishes late
        // packets of the slot's last connection from packets of this one.
        let (serial, incarnation) = (endpoint.serial, endpoint.incarnation.wrapping_add(1));
        *endpoint = Endpoint {
            engine,
            path,
            flow,
            header: transport.header,
            control: transport.control,
            serial,
            incarnation,
            class: PacketClass::new(group.priority, ecn),
            ..Endpoint::VACANT
        };
    }

    /// Ends one endpoint of a connection; returns its flow and its counts.
    pub fn end_endpoint(&mut self, index: EndpointIndex, now: Time) -> (u32, Counts) {
        let endpoint = self.endpoint_mut(index);
        let engine = core::mem::replace(&mut endpoint.engine, Engine::Vacant);
        endpoint.timer_at = Time::MAX;
        let ends =
            if index.is_multiple_of(2) { [&engine, &Engine::Vacant] } else { [&Engine::Vacant, &engine] };
        (endpoint.flow, Counts::from_engines(ends, None, now))
    }

    /// Drops the engines of a connection.
    pub fn drop_engines(&mut self, index: u32) {
        for index in [index * 2, index * 2 + 1] {
            let endpoint = self.endpoint_mut(index);
            endpoint.engine = Engine::Vacant;
            endpoint.timer_at = Time::MAX;
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

    /// Notifies senders without packets in flight, which count their wait as one for the retransmission timer: it expires
    /// after the end. `in_flight` are the ids of connections with packets in flight.
    pub fn notify_senders_of_silence(&mut self, in_flight: impl Iterator<Item = u32>, now: Time) {
        // One byte each: the memory of a run peaks here.
        let mut has_packets = vec![false; self.list.len()];
        for number in in_flight {
            let index = self.ids.index_of(number).unwrap_or(u32::MAX);
            if let Some(has) = has_packets.get_mut(index as usize) {
                *has = true;
            }
        }
        for (ends, _) in self.endpoints.chunks_exact_mut(2).zip(has_packets).filter(|(_, has)| !has) {
            let [sender, receiver] = ends else { continue };
            // An acknowledgement may be delayed.
            let is_over = !sender.awaits_host
                && !receiver.awaits_host
                && matches!(receiver.engine.poll(now), Output::Idle);
            if let Some(end) = sender.engine.end_mut().filter(|_| is_over) {
                end.notify(Notice::Silence(now));
            }
        }
    }

    /// Takes the tables of the connections from index `first` on.
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
