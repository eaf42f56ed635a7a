//! The settings of both ends.

use crate::Ecn;
use crate::units::{Duration, Rate};

/// The settings of a media connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The largest payload of a packet in bytes, at least 1. SCReAMv2's MSS is this and [the header](super::DATA_HEADER).
    pub segment: u32,
    /// The encoder.
    pub encoder: EncoderConfig,
    /// The codepoint of packets, and the answer to CE.
    pub ecn: Response,
    /// The target of the queue delay rises where loss-based flows fill the queue (section 4.2.1.4.1).
    pub competes: bool,
    /// A frame that takes longer from its capture to its arrival is late.
    pub late: Duration,
}

/// The settings of the model of an encoder (RFC 8593).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames in a second, more than zero.
    pub fps: f64,
    /// The lowest rate that it can be asked for.
    pub min_rate: Rate,
    /// The highest.
    pub max_rate: Rate,
    /// The time from one transition of its rate to the next, in which other requests are ignored (tau_v).
    pub reaction: Duration,
    /// The scale of the Laplacian distribution of frame sizes around their mean, as a share of it (SCALE_B).
    pub spread: f64,
    /// A key frame is so many times as large as others, at least 1.
    pub key_size: f64,
    /// The time from one key frame to the next; without it they come first and when a receiver asks for one.
    pub key_interval: Option<Duration>,
}

/// The answer to CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// Packets are not ECN-capable.
    None,
    /// ECT(0), and a fixed cut as for a loss, but smaller (section 4.2.1.2).
    Classic,
    /// ECT(1), and a cut by the share of marked packets (section 4.2.1.3).
    #[default]
    L4s,
}

impl Response {
    /// The codepoint of data.
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
            late: Duration::from_millis(400),
        }
    }
}
