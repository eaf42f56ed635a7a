//! The counts of live media.

use crate::histogram::Histogram;
use crate::units::{Duration, Rate};

/// The frames of a call, and their fates. An end has zero for what only the other counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Those of the encoder.
    pub encoded: Encoded,
    /// Those of the receiver.
    pub shown: Shown,
    /// The time from the capture of frames to their whole arrival.
    pub delay: Histogram,
}

/// The counts of an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Frames that it encoded.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that it left out, as too much waited to be sent.
    pub skipped: u64,
    /// The time for which it encoded.
    pub time: Duration,
}

/// The fates of frames at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Frames that were shown.
    pub frames: u64,
    /// Frames that never were whole.
    pub lost: u64,
    /// Whole frames that could not be decoded for want of one before.
    pub undecodable: u64,
    /// Whole frames that took longer than [`late`](crate::media::Config::late).
    pub late: u64,
    /// Times that the picture froze.
    pub freezes: u64,
    /// The time for which it was frozen.
    pub frozen: Duration,
}

impl Encoded {
    /// The mean rate of the encoder; `None` before it began.
    pub fn rate(&self) -> Option<Rate> {
        (!self.time.is_zero()).then(|| Rate::from_transfer(crate::units::Bytes::new(self.bytes), self.time))
    }
}

impl MediaCounts {
    /// Adds the counts of another end.
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
