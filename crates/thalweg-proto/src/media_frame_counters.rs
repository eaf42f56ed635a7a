//! Frame counters of live media.

use crate::histogram::Histogram;
use crate::units::{Duration, Rate};

/// Frame counters of a call. An endpoint leaves the counters of the other endpoint at zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Counters of the encoder.
    pub encoded: EncoderCounters,
    /// Counters of the receiver.
    pub shown: PlayoutCounters,
    /// Time from the capture of a frame to the arrival of its last packet.
    pub delay: Histogram,
}

/// Counters of an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncoderCounters {
    /// Encoded frames.
    pub frames: u64,
    /// Encoded bytes.
    pub bytes: u64,
    /// Frames skipped because of the send backlog.
    pub skipped: u64,
    /// Encoding duration.
    pub time: Duration,
}

/// Outcome of frames at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayoutCounters {
    /// Frames shown.
    pub frames: u64,
    /// Incomplete frames.
    pub lost: u64,
    /// Complete frames that could not be decoded because an earlier frame was missing.
    pub undecodable: u64,
    /// Complete frames that took longer than [`late_delay`](crate::media::Config::late_delay).
    pub late: u64,
    /// Number of freezes of the picture.
    pub freezes: u64,
    /// Total duration of the freezes.
    pub frozen: Duration,
}

impl EncoderCounters {
    /// Returns the encoder's mean rate; `None` before the first frame.
    pub fn rate(&self) -> Option<Rate> {
        (!self.time.is_zero()).then(|| Rate::from_transfer(crate::units::Bytes::new(self.bytes), self.time))
    }
}

impl MediaCounts {
    /// Adds the counters of another endpoint.
    pub fn add(&mut self, other: &Self) {
        let (to, of) = (&mut self.encoded, &other.encoded);
        to.frames += of.frames;
        to.bytes += of.bytes;
        to.skipped += of.skipped;
        to.time += of.time;
        let (to, of) = (&mut self.shown, &other.shown);
        to.frames += of.frames;
        to.lost += of.lost;
        to.undecodable += of.undecodable;
        to.late += of.late;
        to.freezes += of.freezes;
        to.frozen += of.frozen;
        self.delay.merge(&other.delay);
    }
}
