//! PDUs of a media connection.

use crate::Ecn;
use crate::units::{Duration, Time};

/// A PDU of a media connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// Part of a frame, to the receiver.
    Data(Data<P>),
    /// Packet report, to the sender.
    Report(Report),
}

/// Part of a frame, with the header fields of RTP (RFC 3550, section 5.1) and of a video payload descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// Packet number, modulo 2^32.
    pub sequence: u32,
    /// Frame number, modulo 2^32.
    pub frame: u32,
    /// Capture time of the frame by the sender's clock, in ticks of 90 kHz modulo 2^32.
    pub timestamp: u32,
    /// True for the first packet of a frame.
    pub is_first: bool,
    /// True for the last packet of a frame (RTP's marker).
    pub is_last: bool,
    /// True for a key frame, decodable without others.
    pub is_key: bool,
    /// The application data.
    pub payload: P,
}

/// A packet report in the form of RFC 8888, section 3.1, for one source, with a picture loss indication (RFC 4585,
/// section 6.3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Report {
    /// First packet of the report.
    pub begin: u32,
    /// Report time by the receiver's clock, in 1/65536 s modulo 2^32.
    pub report_time: u32,
    /// Picture loss indication: the receiver cannot decode before the next key frame.
    pub wants_key: bool,
    /// Packets from `begin` on; `None` for a missing one.
    pub packets: Vec<Option<Arrival>>,
}

/// The arrival of a packet, in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arrival {
    /// ECN codepoint on arrival.
    pub ecn: Ecn,
    /// Time from the arrival to the report in 1/1024 s, at most `MAX_TIME_OFFSET`.
    pub time_offset: u16,
}

/// Largest arrival time offset, in 1/1024 s; older arrivals use it too (RFC 8888, section 3.1, 0x1FFE).
pub const MAX_TIME_OFFSET: u16 = 0x1FFE;

/// Maximum number of packets in a report.
pub const MAX_REPORTED: usize = 256;

impl Arrival {
    /// Creates the report of a packet that arrived `ago`.
    pub fn new(ecn: Ecn, ago: Duration) -> Self {
        let units = u128::from(ago.as_picos()) * 1024 / PICOS_PER_SECOND;
        Self { ecn, time_offset: u16::try_from(units).unwrap_or(MAX_TIME_OFFSET).min(MAX_TIME_OFFSET) }
    }
}

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// Capture clock in Hz: 90 kHz, as for video in RTP.
pub const CLOCK_HZ: u64 = 90_000;

/// Converts a time to ticks of 1/90000 s.
pub fn to_rtp_ticks(time: Time) -> u32 {
    (u128::from(time.as_picos()) * u128::from(CLOCK_HZ) / PICOS_PER_SECOND) as u32
}

/// Converts a time to units of 1/65536 s: the middle bits of NTP's.
pub fn to_ntp_middle_bits(time: Time) -> u32 {
    ((u128::from(time.as_picos()) << 16) / PICOS_PER_SECOND) as u32
}

/// Converts ticks to a duration.
pub fn from_ticks(ticks: u32) -> Duration {
    Duration::from_picos((u128::from(ticks) * PICOS_PER_SECOND / u128::from(CLOCK_HZ)) as u64)
}
