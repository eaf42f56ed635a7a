//! The packet table: one pool for all packets in the network avoids allocations.

use crate::Pdu;
use crate::prefetch_hints::prefetch_cache_line;
use thalweg_catalog::PackedBytes;
use thalweg_proto::payload::Length;
use thalweg_proto::units::Time;
use thalweg_proto::window::{self, Ack, Arrival, SackBlock, Segment};
use thalweg_proto::{Ecn, datagram};

/// Id of an endpoint, the same in all partitions: twice its connection's id, plus one for the receiver.
pub(crate) type EndpointId = u32;

/// Index of an endpoint in the tables of its partition: twice its connection's index, plus one for the receiver.
pub(crate) type EndpointIndex = u32;

/// Placeholder for no packet.
pub(crate) const NONE: u32 = u32::MAX;

/// A packet, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// Arrival time at the far end of its link.
    pub arrives_at: Time,
    /// Next packet on the same link or in the same FIFO.
    pub next: u32,
    /// Position of its next hop in the route table.
    pub hop: u32,
    /// Last hop, if the route leaves it to the packet.
    pub exit: u32,
    /// Its connection.
    pub connection: u32,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// Serial number among the packets of its endpoint.
    pub serial: u32,
    /// Time of its transmission by the endpoint.
    pub sent_at: Time,
    /// Number of uses of its connection slot.
    pub incarnation: u16,
    pub flags: Flags,
    pub(crate) cargo: PackedPdu,
}

/// A PDU packed into the rest of the cache line. The most frequent ones fit; others are stored separately.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PackedPdu {
    Segment {
        sequence: u64,
        length: u32,
        retransmission: bool,
        ack_now: bool,
    },
    Ack {
        cumulative: u64,
        window: u32,
        ce: u16,
    },
    /// A PDU of another protocol family.
    Packed(PackedBytes),
    Large(u32),
}

/// Class of an endpoint's packets: priority of the flow, and ECN codepoint of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketClass(u8);

impl PacketClass {
    /// Bit position of the codepoint, above the priority.
    const ECN: u32 = 6;

    pub const fn new(priority: u8, ecn: Ecn) -> Self {
        Self(priority & !(Ecn::Ce.bits() << Self::ECN) | ecn.bits() << Self::ECN)
    }

    pub const fn priority(self) -> u8 {
        self.0 & !(Ecn::Ce.bits() << Self::ECN)
    }
}

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    /// Precedes other packets.
    pub const ROUTER_FEEDBACK: Self = Self(1);
    /// Sent by its endpoint after the warm-up; cleared in copies made by duplication.
    pub const COUNTED: Self = Self(2);
    /// Damaged: its receiver drops it.
    pub const DAMAGED: Self = Self(8);
    /// Travels from the receiver to the sender of its connection.
    pub const TO_SENDER: Self = Self(16);
    /// A router's message.
    pub const ROUTER: Self = Self(32);
    /// Caused a router's message to its source.
    pub const NOTIFIED: Self = Self(64);
    /// Arrives out of order; only between partitions.
    pub const OUT_OF_ORDER: Self = Self(128);
    /// Arrives at the same time as an earlier packet of the same link; only in partitions of a recorded run.
    pub const TIED: Self = Self(4);

    /// Bit position of the codepoint.
    const ECN: u32 = 8 + PacketClass::ECN;

    /// Returns the flags common to all packets of a class, in the upper byte.
    pub const fn from_class(class: PacketClass) -> Self {
        Self((class.0 as u16) << 8)
    }

    /// Returns the priority of the packet's flow.
    pub const fn priority(self) -> u8 {
        PacketClass((self.0 >> 8) as u8).priority()
    }

    /// Returns the ECN codepoint.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits((self.0 >> Self::ECN) as u8)
    }

    /// Changes the ECN codepoint.
    #[inline]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.0 = self.0 & !((Ecn::Ce.bits() as u16) << Self::ECN) | (ecn.bits() as u16) << Self::ECN;
    }

    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub fn set(&mut self, flag: Self) {
        self.0 |= flag.0;
    }

    /// Clears a flag; returns true if it was set.
    pub fn clear(&mut self, flag: Self) -> bool {
        let was_set = self.has(flag);
        self.0 &= !flag.0;
        was_set
    }
}

/// All packets, by number. Numbers are reused last in, first out, to keep memory cached.
#[derive(Clone, Debug)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    free: u32,
    live: u64,
    large: Vec<LargeContent>,
    free_large: Vec<u32>,
}

/// Packet contents that do not fit into the packet.
#[derive(Clone, Debug)]
pub(crate) enum LargeContent {
    Pdu(Pdu),
    /// A real packet. Engines and traces treat it as a datagram.
    Bytes(Vec<u8>),
}

impl LargeContent {
    fn pdu(&self) -> Pdu {
        match self {
            Self::Pdu(pdu) => copy_pdu(pdu),
            Self::Bytes(bytes) => Pdu::Datagram(datagram::Pdu(Length(bytes.len() as u32))),
        }
    }
}

impl PacketPool {
    pub fn new() -> Self {
        Self { packets: Vec::new(), free: NONE, live: 0, large: Vec::new(), free_large: Vec::new() }
    }

    /// Returns the number of packets.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Adds a packet with a PDU; `packet` provides all other fields.
    #[inline(always)]
    pub fn insert(&mut self, mut packet: Packet, pdu: &Pdu) -> u32 {
        packet.cargo = self.pack(pdu);
        self.add(packet)
    }

    /// Adds a packet with real content.
    pub fn insert_bytes(&mut self, mut packet: Packet, bytes: Vec<u8>) -> u32 {
        packet.cargo = self.keep(LargeContent::Bytes(bytes));
        self.add(packet)
    }

    /// Adds a copy of a packet, with a number of its own.
    #[cold]
    pub fn duplicate(&mut self, packet: u32) -> u32 {
        let mut copy = *self.get(packet);
        copy.flags.clear(Flags::COUNTED);
        if let PackedPdu::Large(index) = copy.cargo {
            copy.cargo = self.keep(self.large[index as usize].clone());
        }
        self.add(copy)
    }

    /// Takes the content of a real packet.
    pub fn take_bytes(&mut self, packet: u32) -> Option<Vec<u8>> {
        let PackedPdu::Large(index) = self.get(packet).cargo else { return None };
        match self.large.get_mut(index as usize)? {
            LargeContent::Bytes(bytes) => Some(core::mem::take(bytes)),
            LargeContent::Pdu(_) => None,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let number = self.free;
        let slot = &mut self.packets[number as usize];
        self.free = slot.next;
        *slot = packet;
        number
    }

    #[inline]
    fn pack(&mut self, pdu: &Pdu) -> PackedPdu {
        match *pdu {
            Pdu::Window(window::Pdu::Segment(Segment {
                sequence,
                payload: Length(length),
                retransmission,
                sent_at: None,
                ack_now,
                not_ect: _,
            })) => PackedPdu::Segment { sequence, length, retransmission, ack_now },
            Pdu::Window(window::Pdu::Ack(Ack {
                cumulative,
                window,
                ref sack,
                ce,
                arrival: Arrival::Plain,
                delay: None,
                ..
            })) if sack[0].is_empty() && window <= u64::from(u32::MAX) => {
                PackedPdu::Ack { cumulative, window: window as u32, ce }
            }
            _ => self.pack_other(pdu),
        }
    }

    // Kept out of line: most packets are of the window transport.
    #[inline(never)]
    fn pack_other(&mut self, pdu: &Pdu) -> PackedPdu {
        // Window-transport PDUs that reach this point do not fit.
        let packed = if matches!(pdu, Pdu::Window(_)) { None } else { pdu.pack() };
        packed.map_or_else(|| self.pack_large(pdu), PackedPdu::Packed)
    }

    #[cold]
    fn pack_large(&mut self, pdu: &Pdu) -> PackedPdu {
        self.keep(LargeContent::Pdu(copy_pdu(pdu)))
    }

    fn keep(&mut self, large: LargeContent) -> PackedPdu {
        if let Some(index) = self.free_large.pop() {
            self.large[index as usize] = large;
            return PackedPdu::Large(index);
        }
        self.large.push(large);
        PackedPdu::Large(self.large.len() as u32 - 1)
    }

    /// Returns the PDU of a packet.
    #[inline]
    pub fn pdu(&self, packet: u32) -> Pdu {
        self.unpack(self.packets[packet as usize].cargo)
    }

    /// Returns the packed PDU of a packet, which must exist or be the last discarded one.
    #[inline(always)]
    pub fn unpack(&self, cargo: PackedPdu) -> Pdu {
        match cargo {
            PackedPdu::Segment { sequence, length, retransmission, ack_now } => {
                Pdu::Window(window::Pdu::Segment(Segment {
                    sequence,
                    payload: Length(length),
                    retransmission,
                    sent_at: None,
                    ack_now,
                    not_ect: false,
                }))
            }
            PackedPdu::Ack { cumulative, window, ce } => Pdu::Window(window::Pdu::Ack(Ack {
                cumulative,
                window: u64::from(window),
                sack: [SackBlock::default(); 3],
                ce,
                arrival: Arrival::Plain,
                arrival_at: 0,
                delay: None,
            })),
            PackedPdu::Packed(packed) => Pdu::unpack(packed),
            PackedPdu::Large(index) => self.large_pdu(index),
        }
    }

    /// Returns true if a PDU carries application data.
    #[inline]
    pub fn has_payload(&self, cargo: PackedPdu) -> bool {
        match cargo {
            PackedPdu::Segment { .. } => true,
            PackedPdu::Ack { .. } => false,
            other => self.other_has_payload(other),
        }
    }

    #[inline(never)]
    fn other_has_payload(&self, cargo: PackedPdu) -> bool {
        self.unpack(cargo).payload_len().is_some()
    }

    #[cold]
    fn large_pdu(&self, index: u32) -> Pdu {
        self.large[index as usize].pdu()
    }

    #[inline]
    pub fn get(&self, packet: u32) -> &Packet {
        &self.packets[packet as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, packet: u32) -> &mut Packet {
        &mut self.packets[packet as usize]
    }

    /// Returns the packet of that number, if any.
    #[inline]
    pub fn find(&self, packet: u32) -> Option<&Packet> {
        self.packets.get(packet as usize)
    }

    /// Prefetches a packet, if there is one of that number.
    #[inline]
    pub fn prefetch(&self, packet: u32) {
        if let Some(packet) = self.packets.get(packet as usize) {
            prefetch_cache_line(packet);
        }
    }

    /// Removes a packet for transfer to another table; contents that do not fit are appended to `large`.
    pub fn take(&mut self, packet: u32, large: &mut Vec<LargeContent>) -> Packet {
        let mut taken = *self.get(packet);
        if let PackedPdu::Large(index) = taken.cargo {
            taken.cargo = PackedPdu::Large(large.len() as u32);
            large.push(core::mem::replace(&mut self.large[index as usize], LargeContent::Bytes(Vec::new())));
        }
        self.discard(packet);
        taken
    }

    /// Adds a packet of another table.
    pub fn admit(&mut self, mut packet: Packet, large: &mut [LargeContent]) -> u32 {
        if let PackedPdu::Large(index) = packet.cargo {
            packet.cargo =
                self.keep(core::mem::replace(&mut large[index as usize], LargeContent::Bytes(Vec::new())));
        }
        let number = self.add(packet);
        // Packets arrive in bursts: prefetches the next free slot.
        self.prefetch(self.free);
        number
    }

    /// Adds all packets of another table, without their contents or positions.
    pub fn absorb(&mut self, other: &Self) {
        for packet in other.packets() {
            self.add(Packet { cargo: PackedPdu::Ack { cumulative: 0, window: 0, ce: 0 }, ..*packet });
        }
    }

    /// Returns the connection of each packet.
    pub fn connections(&self) -> impl Iterator<Item = u32> {
        self.packets().map(|packet| packet.connection)
    }

    fn packets(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.packets.len()];
        let mut free = self.free;
        while let Some(slot) = self.packets.get(free as usize) {
            is_free[free as usize] = true;
            free = slot.next;
        }
        let live = self.packets.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        live.map(|(packet, _)| packet)
    }

    /// Removes a packet.
    #[inline]
    pub fn discard(&mut self, packet: u32) {
        self.live -= 1;
        let slot = &mut self.packets[packet as usize];
        if let PackedPdu::Large(index) = slot.cargo {
            self.free_large.push(index);
        }
        slot.next = self.free;
        self.free = packet;
    }
}

impl Packet {
    /// Returns its destination endpoint.
    #[inline]
    pub fn destination(&self) -> EndpointId {
        self.connection * 2 + u32::from(!self.flags.has(Flags::TO_SENDER))
    }

    /// A packet without content.
    pub const EMPTY: Self = Self {
        arrives_at: Time::ZERO,
        next: NONE,
        hop: 0,
        exit: NONE,
        connection: 0,
        size: 0,
        serial: 0,
        sent_at: Time::ZERO,
        incarnation: 0,
        flags: Flags(0),
        cargo: PackedPdu::Large(NONE),
    };
}

/// Copies a PDU; fast for acknowledgements with SACK blocks, the most common case.
#[inline]
pub(crate) fn copy_pdu(pdu: &Pdu) -> Pdu {
    match pdu {
        Pdu::Window(pdu) => Pdu::Window(pdu.clone()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::adaptive_ack::{self, Report};
    use thalweg_proto::handshake::{Control, HandshakeStep, Protocol};
    use thalweg_proto::sscop::rate::RateField;
    use thalweg_proto::sscop::{self, SequenceNumber, Stat};
    use thalweg_proto::sstp;
    use thalweg_proto::transport::Feedback;
    use thalweg_proto::window::{RelativeDelay, Timestamp};

    /// The packet size determines the memory and time of large simulations; increases must be deliberate.
    #[test]
    fn a_packet_is_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    /// Every PDU is recovered unchanged, small or large, and numbers are reused.
    #[test]
    fn pdus_survive_packing() {
        let top = SequenceNumber::new(0xff_ffff);
        let stat = |list: &[u32], bits| {
            let list = list.iter().copied().map(SequenceNumber::new).collect();
            let rate = RateField::from_bits(bits);
            Pdu::Sscop(sscop::Pdu::Stat(Stat {
                ps: top,
                mr: SequenceNumber::new(0x01_0203),
                r: top,
                list,
                rate,
            }))
        };
        let ack = |window, end| Ack {
            cumulative: u64::MAX,
            window,
            sack: [SackBlock { start: 0, end }, SackBlock::default(), SackBlock::default()],
            ce: u16::MAX,
            arrival: Arrival::Plain,
            arrival_at: 0,
            delay: None,
        };
        let late = Ack { arrival: Arrival::Late, arrival_at: -1000, ..ack(7, 0) };
        let pdus = [
            Pdu::Window(window::Pdu::Segment(Segment {
                sequence: u64::MAX,
                payload: Length(u32::MAX),
                retransmission: true,
                sent_at: None,
                ack_now: true,
                not_ect: false,
            })),
            Pdu::Window(window::Pdu::Segment(Segment {
                sequence: 7,
                payload: Length(9),
                retransmission: false,
                sent_at: Some(Timestamp::from_bits(u32::MAX)),
                ack_now: false,
                not_ect: false,
            })),
            Pdu::Window(window::Pdu::Ack(ack(7, 0))),
            Pdu::Window(window::Pdu::Ack(ack(u64::MAX, 0))),
            Pdu::Window(window::Pdu::Ack(ack(7, 9))),
            Pdu::Window(window::Pdu::Ack(late)),
            Pdu::Window(window::Pdu::Ack(Ack { delay: Some(RelativeDelay::from_bits(0)), ..ack(7, 0) })),
            Pdu::Datagram(datagram::Pdu(Length(3))),
            Pdu::Feedback(Feedback { dropped: Some(u64::MAX), rate: None, growth: None, queue: 0 }),
            Pdu::Handshake(Control { protocol: Protocol::Quic, step: HandshakeStep::Syn }),
            Pdu::Handshake(Control { protocol: Protocol::Tcp, step: HandshakeStep::FinAck(u64::MAX) }),
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Data(adaptive_ack::Data {
                sequence: u64::MAX,
                payload: Length(u32::MAX),
            })),
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Ack(Report { gap_in: 9, gap_out: 9, cumulative: 9 })),
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Ack(Report {
                gap_in: 1 << 32,
                gap_out: (1 << 32) + 65_534,
                cumulative: 2,
            })),
            Pdu::AdaptiveAck(adaptive_ack::Pdu::Ack(Report { gap_in: 1, gap_out: u64::MAX, cumulative: 1 })),
            Pdu::Sscop(sscop::Pdu::Sd { s: top, mu: Length(u32::MAX) }),
            Pdu::Sscop(sscop::Pdu::Poll { ps: top, s: SequenceNumber::new(0x03_0201) }),
            stat(&[], 0),
            stat(&[], 0xfffe),
            stat(&[1, 2], 7),
            Pdu::Sscop(sscop::Pdu::Bgn { sq: 1, mr: top, uu: Some(Length(3)) }),
            Pdu::Sstp(sstp::Pdu::Data(sstp::Data {
                shipment: u32::MAX,
                segment: 1,
                packet: 2,
                last: true,
                is_full: true,
                resent: false,
                payload: Length(u32::MAX),
            })),
            Pdu::Sstp(sstp::Pdu::Pack(sstp::Report { control: 1, accepted: 2, cumulative: 3, limit: 4 })),
            Pdu::Sstp(sstp::Pdu::KeepAlive(sstp::Position { shipment: 1, segment: 2, packet: 3 })),
        ];
        let mut packets = PacketPool::new();
        for round in 0..3 {
            let numbers: Vec<u32> = pdus.iter().map(|pdu| packets.insert(Packet::EMPTY, pdu)).collect();
            assert!(numbers.iter().all(|&number| (number as usize) < pdus.len()), "round {round}");
            for (number, pdu) in numbers.iter().zip(&pdus) {
                let cargo = packets.get(*number).cargo;
                packets.discard(*number);
                assert_eq!(
                    (packets.unpack(cargo), packets.has_payload(cargo)),
                    (pdu.clone(), pdu.payload_len().is_some())
                );
            }
            assert_eq!((packets.live(), packets.large.len()), (0, 10));
        }
    }
}
