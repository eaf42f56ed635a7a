//! The numbers of connections, and their places in tables.
//!
//! What a flow has from its start is numbered in the order in which flows start, and that is its place. Flows whose transfers arrive
//! at random open connections as the run goes on. Each has numbers of its own: the first, and from there in steps of as many as
//! there are such flows. So a number follows from its flow alone, in whatever part of a run. It is what packets carry, what queues
//! and forks tell connections apart by, and what ties go by. Places are given as they are needed, so that tables are as long as there
//! were connections at a time.

use crate::parts::packet::EndpointId;
use crate::spec::{GroupSpec, TransportSpec};
use crate::wheel::ENTITY_BITS;
use std::sync::Arc;
use thalweg_catalog::Ends;

/// True for a group whose flows open connections as the run goes on: datagrams have none to open and close.
pub(crate) fn opens(group: &GroupSpec) -> bool {
    group.workload.has_transfers() && group.transport.properties().is_reliable()
}

/// True if the ends of such a connection know no more of each other than packets tell: its receiver begins with the first packet that
/// reaches it, and stays until the first of the next connection in its place.
pub(crate) fn has_ends_apart(transport: &TransportSpec) -> bool {
    matches!(transport.ends, Ends::Window(_)) && transport.ends.handshake().is_none()
}

/// Connections are numbered below this: their ends are entities of events.
const MOST_CONNECTIONS: u32 = 1 << (ENTITY_BITS - 1);

/// The connections of one flow that opens them as the run goes on.
#[derive(Clone, Debug, Default)]
struct Opened {
    /// By the order of their numbers.
    places: Vec<u32>,
    /// Places whose connections have ended, for the next ones: a late packet is then still one of this flow.
    vacant: Vec<u32>,
}

/// The numbers of all connections of a run, and their places in one part of it.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// Connections below this are where their number says. All are where no flow opens any as the run goes on.
    fixed: u32,
    /// The ends of these.
    fixed_ends: u32,
    /// So many of these have been opened.
    begun: u32,
    /// The flows that open connections as the run goes on.
    flows: Arc<[u32]>,
    opened: Vec<Opened>,
    /// The numbers of the places from `fixed` on.
    numbers: Vec<u32>,
}

impl Numbers {
    /// Numbers of `fixed` connections that flows have from their start, and of those that `flows` open.
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

    /// The same numbers where nothing has been opened.
    pub fn fresh(&self) -> Self {
        let opened = vec![Opened::default(); self.opened.len()];
        Self { opened, begun: 0, numbers: Vec::new(), flows: Arc::clone(&self.flows), ..*self }
    }

    /// The connections that tables have room for from the beginning.
    pub fn fixed(&self) -> u32 {
        if self.fixed == u32::MAX { 0 } else { self.fixed }
    }

    /// The place of the next connection that a flow has from its start, in a table of so many.
    pub fn begin(&mut self, length: usize) -> u32 {
        if self.fixed == u32::MAX {
            return length as u32;
        }
        self.begun += 1;
        self.begun - 1
    }

    /// The number of the end at this place.
    #[inline]
    pub fn of_end(&self, place: EndpointId) -> EndpointId {
        if place < self.fixed_ends { place } else { self.of_opened_end(place) }
    }

    #[inline(never)]
    fn of_opened_end(&self, place: EndpointId) -> EndpointId {
        self.numbers[(place / 2 - self.fixed) as usize] * 2 + place % 2
    }

    /// The place of the end of this number; none where it is not here, or was not opened yet.
    #[inline]
    pub fn end(&self, number: EndpointId) -> Option<EndpointId> {
        if number < self.fixed_ends { Some(number) } else { self.opened_end(number) }
    }

    #[inline(never)]
    fn opened_end(&self, number: EndpointId) -> Option<EndpointId> {
        let (opener, turn) = self.turn(number / 2)?;
        self.opened[opener].places.get(turn).map(|place| place * 2 + number % 2)
    }

    /// The place of the connection of this number.
    pub fn place(&self, number: u32) -> Option<u32> {
        self.end(number * 2).map(|end| end / 2)
    }

    /// The flow, by its place among those that open connections, and which of its connections this is.
    fn turn(&self, number: u32) -> Option<(usize, usize)> {
        let behind = number.checked_sub(self.fixed)? as usize;
        Some((behind % self.flows.len(), behind / self.flows.len()))
    }

    /// The flow that has this number, where it opens connections as the run goes on: its place among such flows, and its number.
    pub fn flow(&self, number: u32) -> Option<(usize, u32)> {
        let (opener, _) = self.turn(number)?;
        Some((opener, self.flows[opener]))
    }

    /// The places of the connections of such a flow.
    pub fn places(&self, opener: usize) -> &[u32] {
        &self.opened[opener].places
    }

    /// All such flows, in order.
    pub fn flows(&self) -> &[u32] {
        &self.flows
    }

    /// A place whose connection has ended, taken for another of its flow.
    pub fn take_vacant(&mut self, opener: usize) -> Option<u32> {
        self.opened[opener].vacant.pop()
    }

    /// The connection at a place of this flow has ended.
    pub fn vacate(&mut self, opener: usize, place: u32) {
        self.opened[opener].vacant.push(place);
    }

    /// The connections that one such flow may have at a time.
    pub fn most(&self) -> u32 {
        (MOST_CONNECTIONS - self.fixed()) / self.flows.len().max(1) as u32
    }

    /// True if such a flow may have one connection more.
    pub fn has_room(&self, opener: usize) -> bool {
        let Opened { places, vacant } = &self.opened[opener];
        !vacant.is_empty() || places.len() < self.most() as usize
    }

    /// The next place, which is this one, is such a flow's.
    pub fn add(&mut self, opener: usize, place: u32) {
        let places = &mut self.opened[opener].places;
        self.numbers.push(self.fixed + (places.len() * self.flows.len() + opener) as u32);
        places.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parts, and one that has all, give places in different orders: numbers are the same, and lead back to their places.
    #[test]
    fn numbers_follow_from_the_flow() {
        let whole = Numbers::new(3, vec![4, 7, 9]);
        // By place from 3 on: the flow's place among those that open connections.
        let orders: [&[usize]; 3] = [&[0, 1, 2, 0, 0, 1], &[2, 1, 1, 0, 0, 0], &[1, 0, 1, 0, 0, 2]];
        let expected = [[4, 3], [4, 6], [7, 4], [7, 7], [9, 5], [4, 9]];
        for order in orders {
            let mut numbers = whole.fresh();
            for (place, &opener) in (3..).zip(order) {
                assert!(numbers.has_room(opener));
                numbers.add(opener, place);
            }
            let mut found: Vec<[u32; 2]> = Vec::new();
            for place in 3..9 {
                let number = numbers.of_end(place * 2) / 2;
                assert_eq!(numbers.of_end(place * 2 + 1), number * 2 + 1);
                assert_eq!(
                    (numbers.place(number), numbers.end(number * 2 + 1)),
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
            assert_eq!(numbers.place(12), None, "the fourth connection of the first");
            for fixed in 0..3 {
                assert_eq!(
                    (numbers.of_end(fixed), numbers.end(fixed), numbers.flow(fixed)),
                    (fixed, Some(fixed), None)
                );
            }
        }
    }

    /// The last number of every flow is still one of an entity; a place that is vacant is room.
    #[test]
    fn numbers_end_where_keys_do() {
        let mut numbers = Numbers::new(3, (0..1 << 22).collect());
        let (last, most) = (numbers.flows().len() - 1, numbers.most());
        assert_eq!(most, 31);
        for place in 0..most {
            assert!(numbers.has_room(last));
            numbers.add(last, 3 + place);
        }
        assert!(!numbers.has_room(last) && numbers.has_room(0));
        assert!(numbers.of_end((2 + most) * 2 + 1) < 1 << ENTITY_BITS);
        numbers.vacate(last, 5);
        assert!(numbers.has_room(last));
        assert_eq!((numbers.take_vacant(last), numbers.take_vacant(last)), (Some(5), None));
    }

    /// Numbers are places where no flow opens connections as the run goes on.
    #[test]
    fn others_are_where_their_number_says() {
        let mut numbers = Numbers::new(3, Vec::new());
        assert_eq!((numbers.begin(0), numbers.begin(1), numbers.fixed()), (0, 1, 0));
        assert_eq!((numbers.of_end(5), numbers.end(5), numbers.flow(2)), (5, Some(5), None));
    }
}
