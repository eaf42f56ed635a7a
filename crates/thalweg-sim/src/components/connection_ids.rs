//! Connection ids, and their positions in tables.
//!
//! Connections open from the start are numbered in the order of their flows' start, and the number is their position.
//! Flows with random arrivals of transfers open connections during the run. The ids of each such flow are an arithmetic
//! progression: a first id, then steps of the number of such flows. An id therefore depends on its flow alone, in every
//! partition. Packets carry it, queues and ECMP groups distinguish connections by it, and ties are broken by it.
//! Positions are assigned on demand: tables are as long as the maximum number of simultaneous connections.

use crate::components::packet_pool::EndpointId;
use crate::event_queue::ENTITY_BITS;
use crate::spec::{GroupSpec, TransportSpec};
use std::sync::Arc;
use thalweg_catalog::EndpointConfigs;

/// Returns true for a group whose flows open connections during the run; datagrams have none to open and close.
pub(crate) fn opens(group: &GroupSpec) -> bool {
    group.workload.has_transfers() && group.transport.properties().is_reliable()
}

/// Returns true if the endpoints of such a connection interact by packets alone: its receiver is created by the first
/// packet that reaches it, and stays until the first packet of the next connection in its slot.
pub(crate) fn has_independent_ends(transport: &TransportSpec) -> bool {
    matches!(transport.ends, EndpointConfigs::Window(_)) && transport.ends.handshake().is_none()
}

/// Upper bound of connection ids: their endpoints are entities of events.
const MAX_CONNECTIONS: u32 = 1 << (ENTITY_BITS - 1);

/// The connections of one flow that opens them during the run.
#[derive(Clone, Debug, Default)]
struct Opened {
    /// Positions, in the order of their ids.
    places: Vec<u32>,
    /// Positions of closed connections, for reuse: a late packet then still belongs to this flow.
    vacant: Vec<u32>,
}

/// The ids of all connections of a run, and their positions in one partition.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionIds {
    /// Bound below which ids are positions; all ids are positions if no flow opens connections during the run.
    fixed: u32,
    /// Number of their endpoints.
    fixed_ends: u32,
    /// Number of them that have been opened.
    begun: u32,
    /// The flows that open connections during the run.
    flows: Arc<[u32]>,
    opened: Vec<Opened>,
    /// Ids of the positions from `fixed` on.
    numbers: Vec<u32>,
}

impl ConnectionIds {
    /// Builds the ids of `fixed` connections open from the start, and of the connections opened by `flows`.
    pub fn new(fixed: u32, flows: Vec<u32>) -> Self {
        let opened = vec![Opened::default(); flows.len()];
        let fixed = if flows.is_empty() { u32::MAX } else { fixed };
        Self {
            fixed,
            fixed_ends: fixed.saturating_mul(2),
            begun: 0,
            flows: flows.into(),
            opened,
            numbers: Vec::new(),
        }
    }

    /// Returns the same ids without any opened connection.
    pub fn fresh(&self) -> Self {
        let opened = vec![Opened::default(); self.opened.len()];
        Self { opened, begun: 0, numbers: Vec::new(), flows: Arc::clone(&self.flows), ..*self }
    }

    /// Returns the number of connections with reserved table entries.
    pub fn fixed(&self) -> u32 {
        if self.fixed == u32::MAX { 0 } else { self.fixed }
    }

    /// Returns the position of the next connection that a flow has from its start, in a table of `length` entries.
    pub fn begin(&mut self, length: usize) -> u32 {
        if self.fixed == u32::MAX {
            return length as u32;
        }
        self.begun += 1;
        self.begun - 1
    }

    /// Returns the id of the endpoint at this position.
    #[inline]
    pub fn of_end(&self, place: EndpointId) -> EndpointId {
        if place < self.fixed_ends { place } else { self.of_opened_end(place) }
    }

    #[inline(never)]
    fn of_opened_end(&self, place: EndpointId) -> EndpointId {
        self.numbers[(place / 2 - self.fixed) as usize] * 2 + place % 2
    }

    /// Returns the position of the endpoint with this id; `None` if it is in another partition or not open yet.
    #[inline]
    pub fn end(&self, number: EndpointId) -> Option<EndpointId> {
        if number < self.fixed_ends { Some(number) } else { self.opened_end(number) }
    }

    #[inline(never)]
    fn opened_end(&self, number: EndpointId) -> Option<EndpointId> {
        let (opener, turn) = self.turn(number / 2)?;
        self.opened[opener].places.get(turn).map(|place| place * 2 + number % 2)
    }

    /// Returns the position of the connection with this id.
    pub fn position(&self, number: u32) -> Option<u32> {
        self.end(number * 2).map(|end| end / 2)
    }

    /// Returns the index among the opening flows, and the index of the connection within that flow.
    fn turn(&self, number: u32) -> Option<(usize, usize)> {
        let behind = number.checked_sub(self.fixed)? as usize;
        Some((behind % self.flows.len(), behind / self.flows.len()))
    }

    /// Returns the flow with this id, if it opens connections during the run: its position among such flows, and its
    /// number.
    pub fn flow(&self, number: u32) -> Option<(usize, u32)> {
        let (opener, _) = self.turn(number)?;
        Some((opener, self.flows[opener]))
    }

    /// Returns the positions of the connections of such a flow.
    pub fn places(&self, opener: usize) -> &[u32] {
        &self.opened[opener].places
    }

    /// Returns all such flows, in order.
    pub fn flows(&self) -> &[u32] {
        &self.flows
    }

    /// Takes the position of a closed connection for a new one of its flow.
    pub fn reuse_position(&mut self, opener: usize) -> Option<u32> {
        self.opened[opener].vacant.pop()
    }

    /// Releases the position of this flow's closed connection.
    pub fn release_position(&mut self, opener: usize, place: u32) {
        self.opened[opener].vacant.push(place);
    }

    /// Returns the maximum number of simultaneous connections of one such flow.
    pub fn max(&self) -> u32 {
        (MAX_CONNECTIONS - self.fixed()) / self.flows.len().max(1) as u32
    }

    /// Returns true if such a flow may have one more connection.
    pub fn can_open(&self, opener: usize) -> bool {
        let Opened { places, vacant } = &self.opened[opener];
        !vacant.is_empty() || places.len() < self.max() as usize
    }

    /// Assigns the next position, `place`, to such a flow.
    pub fn add(&mut self, opener: usize, place: u32) {
        let places = &mut self.opened[opener].places;
        self.numbers.push(self.fixed + (places.len() * self.flows.len() + opener) as u32);
        places.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two partitions and an unpartitioned run assign positions in different orders: ids are the same, and map back to
    /// their positions.
    #[test]
    fn numbers_follow_from_the_flow() {
        let whole = ConnectionIds::new(3, vec![4, 7, 9]);
        // By position from 3 on: the index among the opening flows.
        let orders: [&[usize]; 3] = [&[0, 1, 2, 0, 0, 1], &[2, 1, 1, 0, 0, 0], &[1, 0, 1, 0, 0, 2]];
        let expected = [[4, 3], [4, 6], [7, 4], [7, 7], [9, 5], [4, 9]];
        for order in orders {
            let mut numbers = whole.fresh();
            for (place, &opener) in (3..).zip(order) {
                assert!(numbers.can_open(opener));
                numbers.add(opener, place);
            }
            let mut found: Vec<[u32; 2]> = Vec::new();
            for place in 3..9 {
                let number = numbers.of_end(place * 2) / 2;
                assert_eq!(numbers.of_end(place * 2 + 1), number * 2 + 1);
                assert_eq!(
                    (numbers.position(number), numbers.end(number * 2 + 1)),
                    (Some(place), Some(place * 2 + 1))
                );
                let (opener, flow) = numbers.flow(number).unwrap();
                assert_eq!((opener, flow), (order[place as usize - 3], whole.flows()[opener]));
                found.push([flow, number]);
            }
            let sorted = |mut list: Vec<[u32; 2]>| {
                list.sort_unstable();
                list
            };
            assert_eq!(sorted(found), sorted(expected.to_vec()));
            assert_eq!(numbers.position(12), None, "the fourth connection of the first");
            for fixed in 0..3 {
                assert_eq!(
                    (numbers.of_end(fixed), numbers.end(fixed), numbers.flow(fixed)),
                    (fixed, Some(fixed), None)
                );
            }
        }
    }

    /// The last id of every flow is still a valid entity; a released position counts as free.
    #[test]
    fn numbers_end_where_keys_do() {
        let mut numbers = ConnectionIds::new(3, (0..1 << 22).collect());
        let (last, max) = (numbers.flows().len() - 1, numbers.max());
        assert_eq!(max, 31);
        for place in 0..max {
            assert!(numbers.can_open(last));
            numbers.add(last, 3 + place);
        }
        assert!(!numbers.can_open(last) && numbers.can_open(0));
        assert!(numbers.of_end((2 + max) * 2 + 1) < 1 << ENTITY_BITS);
        numbers.release_position(last, 5);
        assert!(numbers.can_open(last));
        assert_eq!((numbers.reuse_position(last), numbers.reuse_position(last)), (Some(5), None));
    }

    /// Ids are positions if no flow opens connections during the run.
    #[test]
    fn connection_ids_opened_in_the_run_map_back_to_their_flow() {
        let mut numbers = ConnectionIds::new(3, Vec::new());
        assert_eq!((numbers.begin(0), numbers.begin(1), numbers.fixed()), (0, 1, 0));
        assert_eq!((numbers.of_end(5), numbers.end(5), numbers.flow(2)), (5, Some(5), None));
    }
}
