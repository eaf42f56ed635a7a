//! The rule for whose packet is lost when flows share a buffer that is full.

use crate::lanes::Lanes;
use crate::room::Room;
use crate::{Entry, Limit};

/// The rule for whose packet is lost when a buffer that several queues share is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The longest queue loses its last packet (McKenney 1991).
    #[default]
    LongestTail,
    /// The longest queue loses its first packet, which tells its sender earlier.
    LongestHead,
    /// The arrival is lost once its queue holds the limit divided by the number of queues with packets, even if there
    /// is room; otherwise the longest queue loses its last packet.
    Share,
}

impl Overflow {
    /// True if an arrival for the lane of `key` is dropped without regard to how much room there is.
    pub(crate) fn refuses<S: Default, T>(
        self,
        lanes: &Lanes<S, T>,
        key: u32,
        entry: &Entry,
        room: &Room,
    ) -> bool {
        let (Self::Share, Limit::Packets(limit) | Limit::Bytes(limit)) = (self, room.limit()) else {
            return false;
        };
        let (used, others) = match lanes.find(key) {
            Some(lane) if !lanes.get(lane).is_empty() => (lanes.get(lane).used(), lanes.busy() - 1),
            _ => return false,
        };
        (used + room.cost(entry)).saturating_mul(others as u64 + 1) > limit
    }

    /// Takes out the packet that is to go, and tells its lane. Among lanes that use equally much it is `mine`.
    pub(crate) fn victim<S: Default, T>(
        self,
        lanes: &mut Lanes<S, T>,
        mine: u32,
        room: &Room,
    ) -> Option<(u32, Entry)> {
        let lane = lanes.longest(mine)?;
        let cost = |entry: &Entry| room.cost(entry);
        let (entry, _) = match self {
            Self::LongestTail | Self::Share => lanes.pop_back(lane, cost)?,
            Self::LongestHead => lanes.pop_front(lane, cost)?,
        };
        Some((lane, entry))
    }
}
