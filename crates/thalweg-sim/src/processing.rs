//! The work of hosts on packets.

use thalweg_proto::units::Duration;

/// The time for which a host's one processor works on a packet that it sends or receives; both zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processing {
    /// For each packet.
    pub per_packet: Duration,
    /// For each byte of the packet.
    pub per_byte: Duration,
}

impl Processing {
    /// True when no time is needed.
    pub fn is_free(&self) -> bool {
        self.per_packet.is_zero() && self.per_byte.is_zero()
    }

    /// The time for a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        self.per_packet + self.per_byte * u64::from(size)
    }
}
