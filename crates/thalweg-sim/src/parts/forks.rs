//! Places on routes at which packets go on by one of several links.

use crate::event::MAX_ENTITIES;
use crate::parts::packet::{Flags, Packet};
use std::sync::Arc;

/// Entries of the table of routes from here on are no links: forks up to the two ends of a route.
pub(crate) const FORK: u32 = MAX_ENTITIES;

/// A way to go on: a link, and the position in the table of routes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub link: u32,
    pub next: u32,
}

/// All forks of a run. Which branch a packet takes is a function of the packet and of the fork's node alone, and so the same in
/// whatever part of a run the packet is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forks {
    pub seed: u64,
    /// Each packet goes its own way; those of a connection stay together otherwise.
    pub by_packet: bool,
    /// The node of each fork, and the position behind its last branch.
    forks: Arc<[(u32, u32)]>,
    branches: Arc<[Branch]>,
}

impl Forks {
    /// Forks, each with its node and the end of its branches.
    pub fn new(seed: u64, by_packet: bool, forks: Vec<(u32, u32)>, branches: Vec<Branch>) -> Self {
        Self { seed, by_packet, forks: forks.into(), branches: branches.into() }
    }

    /// The branches of the fork at an entry of the table of routes.
    pub fn branches(&self, entry: u32) -> &[Branch] {
        let fork = (entry - FORK) as usize;
        let first = fork.checked_sub(1).map_or(0, |before| self.forks[before].1);
        &self.branches[first as usize..self.forks[fork].1 as usize]
    }

    /// The branch that a packet takes at an entry of the table.
    #[cold]
    #[inline(never)]
    pub fn choose(&self, packet: &Packet, entry: u32) -> Branch {
        let branches = self.branches(entry);
        let node = self.forks[(entry - FORK) as usize].0;
        let side = u64::from(packet.flags.has(Flags::BACKWARD));
        let connection = u64::from(packet.connection) << 17 | u64::from(packet.incarnation) << 1 | side;
        let of_packet = if self.by_packet { u64::from(packet.serial) } else { 0 };
        let hash = mix(mix(mix(self.seed ^ u64::from(node) << 32) ^ connection) ^ of_packet);
        let place = (u128::from(hash) * branches.len() as u128) >> 64;
        branches[place as usize]
    }
}

/// A permutation of all numbers in which each bit depends on each (the finaliser of splitmix64).
fn mix(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections spread evenly over branches: with n of them and m branches each gets n / m with a variance of n / m (1 - 1 / m), and
    /// the sum of squares is distributed as chi squared with m - 1 degrees of freedom, of which 99.99 % are below 35 for m = 9.
    #[test]
    fn branches_are_taken_evenly() {
        let branches: Vec<Branch> = (0..9).map(|link| Branch { link, next: 0 }).collect();
        for (by_packet, seed) in [(false, 1), (true, 1), (true, 2)] {
            let forks = Forks::new(seed, by_packet, vec![(7, 9)], branches.clone());
            let mut taken = [0_u32; 9];
            for number in 0..90_000 {
                let (connection, serial) = if by_packet { (3, number) } else { (number, 5) };
                let packet = Packet { connection, serial, ..Packet::EMPTY };
                taken[forks.choose(&packet, FORK).link as usize] += 1;
            }
            let chi: f64 = taken.iter().map(|&of| (f64::from(of) - 10_000.0).powi(2) / 10_000.0).sum();
            assert!(chi < 35.0, "{taken:?}");
        }
    }

    /// Packets of a connection stay together unless they are sprayed, and its answers have a way of their own.
    #[test]
    fn connections_stay_together() {
        let branches: Vec<Branch> = (0..64).map(|link| Branch { link, next: 0 }).collect();
        let forks = Forks::new(1, false, vec![(0, 64)], branches);
        let of = |connection, serial| Packet { connection, serial, ..Packet::EMPTY };
        let first = forks.choose(&of(9, 0), FORK);
        assert!((1..100).all(|serial| forks.choose(&of(9, serial), FORK) == first));
        let mut back = of(9, 0);
        back.flags.set(Flags::BACKWARD);
        assert_ne!(forks.choose(&back, FORK), first);
    }
}
