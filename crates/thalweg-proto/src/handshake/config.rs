//! Configuration of a simulated handshake.

use super::Protocol;
use crate::units::Duration;

/// Handshake type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeKind {
    /// SYN, SYN-ACK, ACK; FIN each way (RFC 9293, sections 3.5 and 3.6).
    Tcp,
    /// QUIC with one round trip before the first data (RFC 9001, section 4).
    Quic,
    /// QUIC with session resumption: 0-RTT data follows the first packet (RFC 9001, section 4.6).
    QuicZeroRtt,
}

impl HandshakeKind {
    /// Returns the protocol.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Tcp => Protocol::Tcp,
            Self::Quic | Self::QuicZeroRtt => Protocol::Quic,
        }
    }

    /// Returns true if data is sent before the server's answer.
    pub const fn is_early(self) -> bool {
        matches!(self, Self::QuicZeroRtt)
    }
}

/// Handshake settings of both endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Handshake type.
    pub kind: HandshakeKind,
    /// Timeout of a handshake packet before the first measurement (1 s in RFC 6298, section 2.1), above zero.
    pub initial: Duration,
    /// Minimum timeout after it.
    pub floor: Duration,
    /// Maximum timeout, including exponential back-off.
    pub ceiling: Duration,
    /// Maximum retransmissions of the first packet; `None` for no limit.
    pub retries: Option<u32>,
}

impl Config {
    /// Creates the settings that the RFCs recommend.
    pub const fn new(kind: HandshakeKind) -> Self {
        Self {
            kind,
            initial: Duration::from_secs(1),
            floor: Duration::from_millis(200),
            ceiling: Duration::from_secs(60),
            retries: None,
        }
    }
}
