//! Connection ids, and the indices of connections in the tables of a partition.
//!
//! Connections open from the start are numbered in the order of their flows' start, and the id is their index.
//! Flows with random arrivals of transfers open connections during the run. The ids of each such flow are an arithmetic
//! progression: a first id, then steps of the number of such flows. An id therefore depends on its flow alone, in every
//! partition. Packets carry it, queues and ECMP groups distinguish connections by it, and ties are broken by it.
//! Indices are assigned on demand: tables are as long as the maximum number of simultaneous connections.

use crate::components::packet_pool::{EndpointId, EndpointIndex};
use crate::event_queue::ENTITY_BITS;
use crate::simulation_spec::{GroupSpec, TransportSpec};
use std::sync::Arc;
use thalweg_catalog::EndpointConfigs;

/// Returns true for a group whose flows open connections during the run; datagrams have none to open and close.
pub(crate) fn opens_connections(group: &GroupSpec) -> bool {
    group.workload.has_transfers() && group.transport.properties().is_reliable()
}

/// Returns true if the endpoints of such a connection interact by packets alone: its receiver is created by the first
/// packet that reaches it, and stays until the first packet of the next connection in its slot.
pub(crate) fn has_independent_ends(transport: &TransportSpec) -> bool {
    matches!(transport.endpoint_configs, EndpointConfigs::Window(_))
        && transport.endpoint_configs.handshake().is_none()
}

/// Upper bound of connection ids: their endpoints are entities of events.
const MAX_CONNECTIONS: u32 = 1 << (ENTITY_BITS - 1);

/// The connections of one flow that opens them during the run.
#[derive(Clone, Debug, Default)]
struct FlowConnections {
    /// Indices, in the order of their ids.
    indices: Vec<u32>,
    /// Indices of closed connections, for reuse: a late packet then still belongs to this flow.
    vacant: Vec<u32>,
}

/// The ids of all connections of a run, and their indices in one partition.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionIds {
    /// Bound below which ids are indices; all ids are indices if no flow opens connections during the run.
    fixed: u32,
    /// Number of their endpoints.
    fixed_endpoints: u32,
    /// Number of them that have been opened.
    opened_count: u32,
    /// The flows that open connections during the run.
    flows: Arc<[u32]>,
    opened_connections: Vec<FlowConnections>,
    /// Ids of the indices from `fixed` on.
    opened_ids: Vec<u32>,
}

impl ConnectionIds {
    /// Builds the ids of `fixed` connections open from the start, and of the connections opened by `flows`.
    pub fn new(fixed: u32, flows: Vec<u32>) -> Self {
        let opened = vec![FlowConnections::default(); flows.len()];
        let fixed = if flows.is_empty() { u32::MAX } else { fixed };
        Self {
            fixed,
            fixed_endpoints: fixed.saturating_mul(2),
            opened_count: 0,
            flows: flows.into(),
            opened_connections: opened,
            opened_ids: Vec::new(),
        }
    }

    /// Returns the same ids without any opened connection.
    pub fn fresh(&self) -> Self {
        let opened = vec![FlowConnections::default(); self.opened_connections.len()];
        Self {
            opened_connections: opened,
            opened_count: 0,
            opened_ids: Vec::new(),
            flows: Arc::clone(&self.flows),
            ..*self
        }
    }

    /// Returns the number of connections with reserved table entries.
    pub fn fixed(&self) -> u32 {
        if self.fixed == u32::MAX { 0 } else { self.fixed }
    }

    /// Returns the index of the next connection that a flow has from its start, in a table of `length` entries.
    pub fn begin(&mut self, length: usize) -> u32 {
        if self.fixed == u32::MAX {
            return length as u32;
        }
        self.opened_count += 1;
        self.opened_count - 1
    }

    /// Returns the id of the endpoint at this index.
    #[inline]
    pub fn endpoint_id(&self, index: EndpointIndex) -> EndpointId {
        if index < self.fixed_endpoints { index } else { self.opened_endpoint_id(index) }
    }

    #[inline(never)]
    fn opened_endpoint_id(&self, index: EndpointIndex) -> EndpointId {
        self.opened_ids[(index / 2 - self.fixed) as usize] * 2 + index % 2
    }

    /// Returns the index of the endpoint with this id; `None` if it is in another partition or not open yet.
    #[inline]
    pub fn endpoint_index(&self, id: EndpointId) -> Option<EndpointIndex> {
        if id < self.fixed_endpoints { Some(id) } else { self.opened_endpoint_index(id) }
    }

    #[inline(never)]
    fn opened_endpoint_index(&self, id: EndpointId) -> Option<EndpointIndex> {
        let (opening_flow_index, turn) = self.turn(id / 2)?;
        self.opened_connections[opening_flow_index].indices.get(turn).map(|index| index * 2 + id % 2)
    }

    /// Returns the index of the connection with this id.
    pub fn index_of(&self, id: u32) -> Option<u32> {
        self.endpoint_index(id * 2).map(|index| index / 2)
    }

    /// Returns the ordinal among the opening flows, and that of the connection within that flow.
    fn turn(&self, id: u32) -> Option<(usize, usize)> {
        let behind = id.checked_sub(self.fixed)? as usize;
        Some((behind % self.flows.len(), behind / self.flows.len()))
    }

    /// Returns the flow with this id, if it opens connections during the run: its ordinal among such flows, and its
    /// id.
    pub fn flow(&self, id: u32) -> Option<(usize, u32)> {
        let (opening_flow_index, _) = self.turn(id)?;
        Some((opening_flow_index, self.flows[opening_flow_index]))
    }

    /// Returns the indices of the connections of such a flow.
    pub fn indices(&self, opening_flow_index: usize) -> &[u32] {
        &self.opened_connections[opening_flow_index].indices
    }

    /// Returns all such flows, in order.
    pub fn flows(&self) -> &[u32] {
        &self.flows
    }

    /// Takes the index of a closed connection for a new one of its flow.
    pub fn reuse_index(&mut self, opening_flow_index: usize) -> Option<u32> {
        self.opened_connections[opening_flow_index].vacant.pop()
    }

    /// Releases the index of this flow's closed connection.
    pub fn release_index(&mut self, opening_flow_index: usize, index: u32) {
        self.opened_connections[opening_flow_index].vacant.push(index);
    }

    /// Returns the maximum number of simultaneous connections of one such flow.
    pub fn max(&self) -> u32 {
        (MAX_CONNECTIONS - self.fixed()) / self.flows.len().max(1) as u32
    }

    /// Returns true if such a flow may have one more connection.
    pub fn can_open(&self, opening_flow_index: usize) -> bool {
        let FlowConnections { indices, vacant } = &self.opened_connections[opening_flow_index];
        !vacant.is_empty() || indices.len() < self.max() as usize
    }

    /// Assigns the next index to such a flow.
    pub fn add(&mut self, opening_flow_index: usize, index: u32) {
        let indices = &mut self.opened_connections[opening_flow_index].indices;
        self.opened_ids.push(self.fixed + (indices.len() * self.flows.len() + opening_flow_index) as u32);
        indices.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two partitions and an unpartitioned run assign indices in different orders: ids are the same, and map back to
    /// their indices.
    #[test]
    fn ids_follow_from_the_flow() {
        let whole = ConnectionIds::new(3, vec![4, 7, 9]);
        // By index from 3 on: the ordinal among the opening flows.
        let orders: [&[usize]; 3] = [&[0, 1, 2, 0, 0, 1], &[2, 1, 1, 0, 0, 0], &[1, 0, 1, 0, 0, 2]];
        let expected = [[4, 3], [4, 6], [7, 4], [7, 7], [9, 5], [4, 9]];
        for order in orders {
            let mut ids = whole.fresh();
            for (index, &opening_flow_index) in (3..).zip(order) {
                assert!(ids.can_open(opening_flow_index));
                ids.add(opening_flow_index, index);
            }
            let mut found: Vec<[u32; 2]> = Vec::new();
            for index in 3..9 {
                let number = ids.endpoint_id(index * 2) / 2;
                assert_eq!(ids.endpoint_id(index * 2 + 1), number * 2 + 1);
                assert_eq!(
                    (ids.index_of(number), ids.endpoint_index(number * 2 + 1)),
                    (Some(index), Some(index * 2 + 1))
                );
                let (opening_flow_index, flow) = ids.flow(number).unwrap();
                assert_eq!(
                    (opening_flow_index, flow),
                    (order[index as usize - 3], whole.flows()[opening_flow_index])
                );
                found.push([flow, number]);
            }
            let sorted = |mut list: Vec<[u32; 2]>| {
                list.sort_unstable();
                list
            };
            assert_eq!(sorted(found), sorted(expected.to_vec()));
            assert_eq!(ids.index_of(12), None, "the fourth connection of the first");
            for fixed in 0..3 {
                assert_eq!(
                    (ids.endpoint_id(fixed), ids.endpoint_index(fixed), ids.flow(fixed)),
                    (fixed, Some(fixed), None)
                );
            }
        }
    }

    /// The last id of every flow is still a valid entity; a released index counts as free.
    #[test]
    fn ids_end_where_keys_do() {
        let mut ids = ConnectionIds::new(3, (0..1 << 22).collect());
        let (last, max) = (ids.flows().len() - 1, ids.max());
        assert_eq!(max, 31);
        for index in 0..max {
            assert!(ids.can_open(last));
            ids.add(last, 3 + index);
        }
        assert!(!ids.can_open(last) && ids.can_open(0));
        assert!(ids.endpoint_id((2 + max) * 2 + 1) < 1 << ENTITY_BITS);
        ids.release_index(last, 5);
        assert!(ids.can_open(last));
        assert_eq!((ids.reuse_index(last), ids.reuse_index(last)), (Some(5), None));
    }

    /// Ids are indices if no flow opens connections during the run.
    #[test]
    fn connection_ids_opened_in_the_run_map_back_to_their_flow() {
        let mut ids = ConnectionIds::new(3, Vec::new());
        assert_eq!((ids.begin(0), ids.begin(1), ids.fixed()), (0, 1, 0));
        assert_eq!((ids.endpoint_id(5), ids.endpoint_index(5), ids.flow(2)), (5, Some(5), None));
    }
}
