//! FIFO drop-tail queues, the most common ones: linked lists of packets that need no memory of their own.

use crate::components::packet_pool::{NONE, PacketPool};
use thalweg_queue::{DropReason, DroppedPacket, Entry, Limit};

/// A FIFO queue with tail drop. Urgent packets precede all others and are FIFO among themselves. The rules are those of
/// [`thalweg_queue::Fcfs`], which identifies packets by number.
#[derive(Debug)]
pub(crate) struct DropTail {
    /// The packets, starting with the next to leave.
    first: u32,
    last: u32,
    /// The last urgent one.
    urgent: u32,
    packets: u64,
    bytes: u64,
    limit: Limit,
}

impl DropTail {
    pub const fn new(limit: Limit) -> Self {
        Self { first: NONE, last: NONE, urgent: NONE, packets: 0, bytes: 0, limit }
    }

    pub const fn packets(&self) -> u64 {
        self.packets
    }

    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next packet to leave, or [`NONE`].
    pub const fn first(&self) -> u32 {
        self.first
    }

    #[inline]
    fn fits(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => u64::from(size) <= limit.saturating_sub(self.bytes),
            Limit::Unlimited => true,
        }
    }

    /// Enqueues or drops an arriving packet.
    #[inline]
    pub fn enqueue(&mut self, packets: &mut PacketPool, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if !self.fits(entry.size) {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
            return;
        }
        self.packets += 1;
        self.bytes += u64::from(entry.size);
        let before = if entry.is_feedback { self.urgent } else { self.last };
        let place = match before {
            NONE => &mut self.first,
            before => &mut packets.get_mut(before).next,
        };
        let behind = core::mem::replace(place, entry.packet);
        packets.get_mut(entry.packet).next = behind;
        if behind == NONE {
            self.last = entry.packet;
        }
        if entry.is_feedback {
            self.urgent = entry.packet;
        }
    }

    /// Applies a new `limit`: drops packets from the tail until the rest fits. `entry` gives a packet as disciplines
    /// see it.
    pub fn set_limit(
        &mut self,
        packets: &mut PacketPool,
        limit: Limit,
        entry: impl Fn(&PacketPool, u32) -> Entry,
        dropped: &mut Vec<DroppedPacket>,
    ) {
        let (mut kept, mut next) = (Self::new(limit), self.first);
        kept.first = self.first;
        while next != NONE {
            let of = entry(packets, next);
            if !kept.fits(of.size) {
                break;
            }
            kept.packets += 1;
            kept.bytes += u64::from(of.size);
            kept.last = next;
            if of.is_feedback {
                kept.urgent = next;
            }
            next = packets.get(next).next;
        }
        match kept.last {
            NONE => kept.first = NONE,
            last => packets.get_mut(last).next = NONE,
        }
        *self = kept;
        let before = dropped.len();
        while next != NONE {
            dropped.push(DroppedPacket { entry: entry(packets, next), reason: DropReason::Full });
            next = packets.get(next).next;
        }
        dropped[before..].reverse();
    }

    /// Dequeues the next packet.
    #[inline]
    pub fn dequeue(&mut self, packets: &PacketPool) -> Option<u32> {
        let packet = self.first;
        if packet == NONE {
            return None;
        }
        let header = packets.get(packet);
        self.first = header.next;
        if self.first == NONE {
            self.last = NONE;
        }
        if self.urgent == packet {
            self.urgent = NONE;
        }
        self.packets -= 1;
        self.bytes -= u64::from(header.size);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::packet_pool::{Flags, PackedPdu, Packet};
    use proptest::prelude::*;
    use thalweg_proto::Ecn;
    use thalweg_proto::units::Time;
    use thalweg_queue::{Discipline, Fcfs};

    fn entry(packets: &mut PacketPool, size: u32, urgent: bool) -> Entry {
        let mut flags = Flags::default();
        if urgent {
            flags.set(Flags::ROUTER_FEEDBACK);
        }
        let cargo = PackedPdu::Ack { cumulative: 0, window: 0, ce: 0 };
        let packet = packets.add(Packet { size, flags, cargo, ..Packet::EMPTY });
        Entry { packet, size, flow: 0, priority: 0, is_feedback: urgent, ecn: Ecn::NotEct, marked: false }
    }

    fn entry_of(packets: &PacketPool, packet: u32) -> Entry {
        let header = packets.get(packet);
        let urgent = header.flags.has(Flags::ROUTER_FEEDBACK);
        Entry {
            packet,
            size: header.size,
            flow: 0,
            priority: 0,
            is_feedback: urgent,
            ecn: Ecn::NotEct,
            marked: false,
        }
    }

    proptest! {
        /// For any arrivals, departures and limits, the same packets wait, leave and are dropped as with the discipline
        /// of that name.
        #[test]
        fn drop_tail_matches_the_fcfs_discipline(
            limit in prop_oneof![
                (0u64..9).prop_map(Limit::Packets),
                (0u64..9000).prop_map(Limit::Bytes),
                Just(Limit::Unlimited),
            ],
            steps in prop::collection::vec((0u32..6, 0u32..1500, 0u32..4), 1..200),
        ) {
            let (mut packets, mut line, mut model) = (PacketPool::new(), DropTail::new(limit), Fcfs::new(limit));
            for (step, size, kind) in steps {
                if step < 3 {
                    let entry = entry(&mut packets, size, kind == 0);
                    let (mut dropped, mut expected) = (Vec::new(), Vec::new());
                    line.enqueue(&mut packets, entry, &mut dropped);
                    model.enqueue(Time::ZERO, entry, &mut expected);
                    prop_assert_eq!(&dropped, &expected);
                    for victim in dropped {
                        packets.discard(victim.entry.packet);
                    }
                } else if step == 5 {
                    let limit = match kind {
                        0 => Limit::Packets(u64::from(size % 9)),
                        1 => Limit::Unlimited,
                        _ => Limit::Bytes(u64::from(size) * 4),
                    };
                    let (mut dropped, mut expected) = (Vec::new(), Vec::new());
                    line.set_limit(&mut packets, limit, entry_of, &mut dropped);
                    model.set_limit(Time::ZERO, limit, &mut expected);
                    prop_assert_eq!(&dropped, &expected);
                    for victim in dropped {
                        packets.discard(victim.entry.packet);
                    }
                } else {
                    let taken = line.dequeue(&packets);
                    let expected = model.dequeue(Time::ZERO, &mut Vec::new());
                    prop_assert_eq!(taken, expected.map(|entry| entry.packet));
                    if let Some(packet) = taken {
                        packets.discard(packet);
                    }
                }
                prop_assert_eq!((line.packets(), line.bytes()), (model.packets(), model.bytes()));
                prop_assert_eq!(line.first(), model.peek().map_or(NONE, |entry| entry.packet));
            }
        }
    }
}
