//! Packets in the network: one store for all, so that none is allocated on its way.

use crate::pdu::Pdu;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::Time;

/// "No packet".
pub(crate) const NONE: u32 = u32::MAX;

/// What links need to know of a packet. Its PDU lies elsewhere, as only endpoints look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// When it reaches the far end of the link that it is on.
    pub arrives_at: Time,
    /// When its endpoint sent it.
    pub sent_at: Time,
    /// The packet behind it on the same wire.
    pub next: u32,
    /// The position of its next hop in the table of routes.
    pub hop: u32,
    /// The connection that it belongs to.
    pub connection: u32,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// Counts what its endpoint has sent.
    pub serial: u32,
    /// Which use of the connection's slot it belongs to.
    pub incarnation: u16,
    /// It travels from the receiver to the sender of its connection.
    pub backward: bool,
    /// It goes ahead of others, may be marked, has been marked, is damaged.
    pub flags: Flags,
}

/// A header's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    pub const URGENT: Self = Self(1);
    pub const MARKABLE: Self = Self(2);
    pub const MARKED: Self = Self(4);
    pub const DAMAGED: Self = Self(8);

    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub fn set(&mut self, flag: Self) {
        self.0 |= flag.0;
    }
}

/// All packets, by number. Numbers are used again, the one freed last first, so that memory stays warm.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    headers: Vec<Header>,
    pdus: Vec<Pdu>,
    free: u32,
    live: u64,
}

impl Packets {
    pub fn new() -> Self {
        Self { headers: Vec::new(), pdus: Vec::new(), free: NONE, live: 0 }
    }

    /// How many packets there are.
    pub fn live(&self) -> u64 {
        self.live
    }

    #[inline]
    pub fn insert(&mut self, header: Header, pdu: Pdu) -> u32 {
        self.live += 1;
        if self.free == NONE {
            let number = self.headers.len() as u32;
            self.headers.push(header);
            self.pdus.push(pdu);
            return number;
        }
        let number = self.free;
        let slot = &mut self.headers[number as usize];
        self.free = slot.next;
        *slot = header;
        self.pdus[number as usize] = pdu;
        number
    }

    #[inline]
    pub fn header(&self, packet: u32) -> &Header {
        &self.headers[packet as usize]
    }

    #[inline]
    pub fn header_mut(&mut self, packet: u32) -> &mut Header {
        &mut self.headers[packet as usize]
    }

    pub fn pdu(&self, packet: u32) -> &Pdu {
        &self.pdus[packet as usize]
    }

    /// Removes a packet and gives what it carried.
    #[inline]
    pub fn remove(&mut self, packet: u32) -> Pdu {
        self.live -= 1;
        self.headers[packet as usize].next = self.free;
        self.free = packet;
        // Something that needs no memory of its own takes the place of what is taken out.
        let nothing = Pdu::Feedback(Feedback { dropped: None, rate: None });
        core::mem::replace(&mut self.pdus[packet as usize], nothing)
    }
}
