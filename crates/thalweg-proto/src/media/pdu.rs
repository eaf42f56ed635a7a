//! The PDUs of a media connection.

use crate::Ecn;
use crate::units::{Duration, Time};

/// A PDU of a media connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// A piece of a frame, to the receiver.
    Data(Data<P>),
    /// A report on packets, to the sender.
    Report(Report),
}

/// A piece of a frame: what RTP (RFC 3550, section 5.1) and the descriptor of a video payload say of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// The number of the packet, modulo 2^32.
    pub sequence: u32,
    /// The number of its frame, modulo 2^32.
    pub frame: u32,
    /// The time of the frame's capture by the sender's clock, in ticks of 90 kHz modulo 2^32.
    pub timestamp: u32,
    /// It is the first packet of its frame.
    pub is_first: bool,
    /// It is the last one (RTP's marker).
    pub is_last: bool,
    /// The frame can be decoded without others.
    pub is_key: bool,
    /// The application data.
    pub payload: P,
}

/// A report on packets in the form of RFC 8888, section 3.1, for one source, and a picture loss indication (RFC 4585, section
/// 6.3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Report {
    /// The first packet that it tells of.
    pub begin: u32,
    /// The time of the report by the receiver's clock, in 1/65536 s modulo 2^32.
    pub at: u32,
    /// The receiver can decode nothing before the next key frame.
    pub wants_key: bool,
    /// The packets from `begin` on: those that came, and those that did not.
    pub packets: Vec<Option<Arrival>>,
}

/// The arrival of a packet, in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arrival {
    /// The codepoint with which it came.
    pub ecn: Ecn,
    /// The time from its arrival to the report in 1/1024 s, at most `OLDEST`.
    pub before: u16,
}

/// An arrival that is so long ago, or longer, in 1/1024 s (RFC 8888, section 3.1, 0x1FFE).
pub const OLDEST: u16 = 0x1FFE;

/// A report tells of no more packets.
pub const MOST_REPORTED: usize = 256;

impl Arrival {
    /// The arrival of a packet that came `ago`.
    pub fn new(ecn: Ecn, ago: Duration) -> Self {
        let units = u128::from(ago.as_picos()) * 1024 / PICOS;
        Self { ecn, before: u16::try_from(units).unwrap_or(OLDEST).min(OLDEST) }
    }
}

const PICOS: u128 = 1_000_000_000_000;

/// The clock of capture: 90 kHz, as video has it in RTP.
pub const TICKS: u64 = 90_000;

/// A time in ticks of 1/90000 s.
pub fn ticks(time: Time) -> u32 {
    (u128::from(time.as_picos()) * u128::from(TICKS) / PICOS) as u32
}

/// A time in units of 1/65536 s: the middle bits of NTP's.
pub fn stamp(time: Time) -> u32 {
    ((u128::from(time.as_picos()) << 16) / PICOS) as u32
}

/// The time of so many ticks.
pub fn from_ticks(ticks: u32) -> Duration {
    Duration::from_picos((u128::from(ticks) * PICOS / u128::from(TICKS)) as u64)
}
