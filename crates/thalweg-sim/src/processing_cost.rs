//! Processing costs of hosts.

use thalweg_proto::units::Duration;

/// Processing time of a host's single processor for a packet sent or received; zero by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processing {
    /// Time per packet.
    pub per_packet: Duration,
    /// Time per byte of the packet.
    pub per_byte: Duration,
}

impl Processing {
    /// Returns true if processing takes no time.
    pub fn is_free(&self) -> bool {
        self.per_packet.is_zero() && self.per_byte.is_zero()
    }

    /// Returns the time for a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        self.per_packet + self.per_byte * u64::from(size)
    }
}
