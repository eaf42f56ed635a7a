//! Drop rule for a full buffer shared by several flows.

use crate::flow_queues::Lanes;
use crate::queue_occupancy::Occupancy;
use crate::{Entry, Limit};

/// Drop rule for a full buffer shared by several queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedBufferDrop {
    /// The longest queue drops its last packet (McKenney 1991).
    #[default]
    LongestTail,
    /// The longest queue drops its first packet, which notifies its sender earlier.
    LongestHead,
    /// An arrival is dropped once its queue holds the limit divided by the number of backlogged queues, even if there
    /// is room; otherwise the longest queue drops its last packet.
    Share,
}

impl SharedBufferDrop {
    /// Returns true if an arrival for the lane of `key` is dropped regardless of room.
    pub(crate) fn refuses<S: Default, T>(
        self,
        lanes: &Lanes<S, T>,
        key: u32,
        entry: &Entry,
        occupancy: &Occupancy,
    ) -> bool {
        let (Self::Share, Limit::Packets(limit) | Limit::Bytes(limit)) = (self, occupancy.limit()) else {
            return false;
        };
        let (used, others) = match lanes.find(key) {
            Some(lane) if !lanes.get(lane).is_empty() => (lanes.get(lane).used(), lanes.busy() - 1),
            _ => return false,
        };
        (used + occupancy.size_in_limit_units(entry)).saturating_mul(others as u64 + 1) > limit
    }

    /// Removes the packet to drop, and returns its lane. On a tie the lane is `mine`.
    pub(crate) fn victim<S: Default, T>(
        self,
        lanes: &mut Lanes<S, T>,
        mine: u32,
        occupancy: &Occupancy,
    ) -> Option<(u32, Entry)> {
        let lane = lanes.longest(mine)?;
        let cost = |entry: &Entry| occupancy.size_in_limit_units(entry);
        let (entry, _) = match self {
            Self::LongestTail | Self::Share => lanes.pop_back(lane, cost)?,
            Self::LongestHead => lanes.pop_front(lane, cost)?,
        };
        Some((lane, entry))
    }
}
