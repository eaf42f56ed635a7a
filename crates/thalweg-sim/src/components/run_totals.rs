//! Totals of a run: events, outcomes of packets, and the fingerprint.

use super::packet_pool::{Flags, Packet};
use crate::run_result::Conservation;
use thalweg_proto::units::Time;

/// Outcome of a packet in the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketOutcome {
    /// It reached its endpoint.
    Arrived = 1,
    /// It was dropped or lost.
    Discarded = 2,
}

/// Totals of a run, or of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunTotals {
    /// True after the warm-up.
    counting: bool,
    events: u64,
    fingerprint: u64,
    conservation: Conservation,
}

impl RunTotals {
    /// Creates the totals at the start; `counting` is true without a warm-up.
    pub fn new(counting: bool) -> Self {
        Self { counting, ..Self::default() }
    }

    /// Returns true after the warm-up.
    #[inline]
    pub const fn is_counting(&self) -> bool {
        self.counting
    }

    /// Ends the warm-up.
    pub const fn begin_counting(&mut self) {
        self.counting = true;
    }

    /// Returns the number of events handled.
    #[inline]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Counts an event.
    #[inline]
    pub const fn add_event(&mut self) {
        self.events += 1;
    }

    /// Counts a packet sent by an endpoint or a router.
    #[inline]
    pub const fn add_sent(&mut self) {
        self.conservation.sent += 1;
    }

    /// Counts a packet sent by an endpoint, and marks it in its flags if it is sent after the warm-up.
    #[inline]
    pub fn add_sent_by_endpoint(&mut self, flags: &mut Flags) {
        self.add_sent();
        if self.counting {
            flags.set(Flags::COUNTED);
        }
    }

    /// Counts a packet created by duplication.
    pub const fn add_duplicated(&mut self) {
        self.conservation.duplicated += 1;
    }

    /// Counts a packet delivered to its endpoint.
    #[inline]
    pub const fn add_delivered(&mut self) {
        self.conservation.delivered += 1;
    }

    /// Counts a packet dropped by a queue.
    pub const fn add_dropped(&mut self) {
        self.conservation.dropped += 1;
    }

    /// Counts a packet lost or damaged in propagation.
    pub const fn add_lost(&mut self) {
        self.conservation.lost += 1;
    }

    /// Adds the outcome of a packet to the fingerprint. The sum over a run does not depend on the order of simultaneous
    /// events.
    #[inline]
    pub fn note(&mut self, now: Time, packet: &Packet, outcome: PacketOutcome) {
        self.fingerprint = self.fingerprint.wrapping_add(hash_packet_step(now, packet, outcome as u64));
    }

    /// Returns the fingerprint.
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the outcomes of all packets, with the number still in the network.
    pub fn conservation(&self, in_network: u64) -> Conservation {
        Conservation { in_network, ..self.conservation }
    }

    /// Adds the totals of another partition, which handled `doubled` events that others handled too.
    pub fn add(&mut self, other: &Self, doubled: u64) {
        self.counting |= other.counting;
        self.events += other.events - doubled;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.conservation.add(&other.conservation);
    }
}

/// Hashes a step of a packet.
#[inline]
fn hash_packet_step(time: Time, packet: &Packet, outcome: u64) -> u64 {
    let backward = u64::from(packet.flags.has(Flags::TO_SENDER));
    let who = u64::from(packet.connection) << 33 | u64::from(packet.serial) << 1 | backward;
    let mut hash = time.as_picos() ^ who.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (outcome << 62);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
