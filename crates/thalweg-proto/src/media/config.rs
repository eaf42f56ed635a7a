//! Configuration of a media connection: encoder, rates, packets.

use crate::Ecn;
use crate::units::{Duration, Rate};

/// Settings of a media connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Maximum payload of a packet in bytes, at least 1. SCReAMv2's MSS is this plus [the header](super::DATA_HEADER).
    pub segment: u32,
    /// The encoder.
    pub encoder: EncoderConfig,
    /// ECN codepoint of packets, and response to CE.
    pub ecn: Response,
    /// Raise the queue-delay target when loss-based flows fill the queue (section 4.2.1.4.1).
    pub competes: bool,
    /// Delay from capture to arrival beyond which a frame is late.
    pub late_delay: Duration,
}

/// Settings of the encoder model (RFC 8593).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames per second, above zero.
    pub fps: f64,
    /// Minimum target rate.
    pub min_rate: Rate,
    /// Maximum target rate.
    pub max_rate: Rate,
    /// Minimum time between rate changes, during which other requests are ignored (tau_v).
    pub reaction: Duration,
    /// Scale of the Laplacian distribution of frame sizes, as a share of the mean size (SCALE_B).
    pub spread: f64,
    /// Size of a key frame relative to other frames, at least 1.
    pub key_size: f64,
    /// Interval between key frames; `None` for key frames only at the start and on request.
    pub key_interval: Option<Duration>,
}

/// ECN codepoint and response to CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// Packets are not ECN-capable.
    None,
    /// ECT(0), and a fixed reduction, smaller than for a loss (section 4.2.1.2).
    Classic,
    /// ECT(1), and a reduction by the share of marked packets (section 4.2.1.3).
    #[default]
    L4s,
}

impl Response {
    /// Returns the codepoint of data packets.
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::None => Ecn::NotEct,
            Self::Classic => Ecn::Ect0,
            Self::L4s => Ecn::Ect1,
        }
    }
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            fps: 25.0,
            min_rate: Rate::from_bits_per_sec(150_000),
            max_rate: Rate::from_mbits_per_sec(5),
            reaction: Duration::from_millis(200),
            spread: 0.15,
            key_size: 4.0,
            key_interval: None,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            segment: 1200,
            encoder: EncoderConfig::default(),
            ecn: Response::L4s,
            competes: true,
            late_delay: Duration::from_millis(400),
        }
    }
}
