//! ECMP groups: positions on routes with a choice of next links.

use crate::components::packet_pool::{Flags, Packet};
use crate::event_kinds::MAX_ENTITIES;
use std::sync::Arc;

/// Smallest entry of the route table that is not a link: ECMP groups, up to the two end markers of a route.
pub(crate) const FIRST_ECMP_GROUP: u32 = MAX_ENTITIES;

/// A next hop: a link, and the position after it in the route table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub link: u32,
    pub next: u32,
}

/// All ECMP groups of a run. The choice is a function of the packet and of the group's node alone, hence the same in
/// every partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcmpGroups {
    pub seed: u64,
    /// True if each packet is hashed; otherwise the connection is.
    pub by_packet: bool,
    /// Node of each group, and end position of its branches.
    ecmp_groups: Arc<[(u32, u32)]>,
    branches: Arc<[Branch]>,
}

impl EcmpGroups {
    /// Builds ECMP groups, each from its node and the end of its branches.
    pub fn new(seed: u64, by_packet: bool, ecmp_groups: Vec<(u32, u32)>, branches: Vec<Branch>) -> Self {
        Self { seed, by_packet, ecmp_groups: ecmp_groups.into(), branches: branches.into() }
    }

    /// Returns the branches of the group at an entry of the route table.
    pub fn branches(&self, entry: u32) -> &[Branch] {
        let fork = (entry - FIRST_ECMP_GROUP) as usize;
        let first = fork.checked_sub(1).map_or(0, |before| self.ecmp_groups[before].1);
        &self.branches[first as usize..self.ecmp_groups[fork].1 as usize]
    }

    /// Returns the branch of a packet at an entry of the route table.
    #[cold]
    #[inline(never)]
    pub fn choose(&self, packet: &Packet, entry: u32) -> Branch {
        let branches = self.branches(entry);
        let node = self.ecmp_groups[(entry - FIRST_ECMP_GROUP) as usize].0;
        let side = u64::from(packet.flags.has(Flags::TO_SENDER));
        let connection = u64::from(packet.connection) << 17 | u64::from(packet.incarnation) << 1 | side;
        let of_packet = if self.by_packet { u64::from(packet.serial) } else { 0 };
        let hash = mix_bits(mix_bits(mix_bits(self.seed ^ u64::from(node) << 32) ^ connection) ^ of_packet);
        let place = (u128::from(hash) * branches.len() as u128) >> 64;
        branches[place as usize]
    }
}

/// Permutes 64-bit numbers; each output bit depends on each input bit (the finaliser of splitmix64).
fn mix_bits(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections spread evenly over branches: of n connections each of m branches gets n / m, with variance
    /// n (m - 1) / m². The sum of squares is chi-squared with m - 1 degrees of freedom: for m = 9, 99.99 % of values
    /// are below 35.
    #[test]
    fn branches_are_taken_evenly() {
        let branches: Vec<Branch> = (0..9).map(|link| Branch { link, next: 0 }).collect();
        for (by_packet, seed) in [(false, 1), (true, 1), (true, 2)] {
            let ecmp_groups = EcmpGroups::new(seed, by_packet, vec![(7, 9)], branches.clone());
            let mut taken = [0_u32; 9];
            for number in 0..90_000 {
                let (connection, serial) = if by_packet { (3, number) } else { (number, 5) };
                let packet = Packet { connection, serial, ..Packet::EMPTY };
                taken[ecmp_groups.choose(&packet, FIRST_ECMP_GROUP).link as usize] += 1;
            }
            let chi: f64 = taken.iter().map(|&of| (f64::from(of) - 10_000.0).powi(2) / 10_000.0).sum();
            assert!(chi < 35.0, "{taken:?}");
        }
    }

    /// Packets of a connection take the same path unless they are sprayed; its answers are hashed separately.
    #[test]
    fn connections_stay_together() {
        let branches: Vec<Branch> = (0..64).map(|link| Branch { link, next: 0 }).collect();
        let ecmp_groups = EcmpGroups::new(1, false, vec![(0, 64)], branches);
        let of = |connection, serial| Packet { connection, serial, ..Packet::EMPTY };
        let first = ecmp_groups.choose(&of(9, 0), FIRST_ECMP_GROUP);
        assert!((1..100).all(|serial| ecmp_groups.choose(&of(9, serial), FIRST_ECMP_GROUP) == first));
        let mut back = of(9, 0);
        back.flags.set(Flags::TO_SENDER);
        assert_ne!(ecmp_groups.choose(&back, FIRST_ECMP_GROUP), first);
    }
}
