//! The settings of a handshake.

use super::Protocol;
use crate::units::Duration;

/// The ways to open and close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SYN, SYN-ACK, ACK; FIN each way (RFC 9293, sections 3.5 and 3.6).
    Tcp,
    /// QUIC with one round trip before the first data (RFC 9001, section 4).
    Quic,
    /// QUIC with a session that is resumed: data goes with the first packet (RFC 9001, section 4.6).
    QuicZeroRtt,
}

impl Kind {
    /// The protocol.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Tcp => Protocol::Tcp,
            Self::Quic | Self::QuicZeroRtt => Protocol::Quic,
        }
    }

    /// True if data goes before the server has answered.
    pub const fn is_early(self) -> bool {
        matches!(self, Self::QuicZeroRtt)
    }
}

/// The settings of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The way to open and close.
    pub kind: Kind,
    /// The time-out of a packet of the handshake before the first measurement (1 s in RFC 6298, section 2.1), above zero.
    pub initial: Duration,
    /// The shortest time-out after it.
    pub floor: Duration,
    /// The longest time-out, also of the doubling back-off.
    pub ceiling: Duration,
    /// Give up after the first packet was sent this many times more; `None` never does.
    pub retries: Option<u32>,
}

impl Config {
    /// The settings that the RFCs ask for.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            initial: Duration::from_secs(1),
            floor: Duration::from_millis(200),
            ceiling: Duration::from_secs(60),
            retries: None,
        }
    }
}
