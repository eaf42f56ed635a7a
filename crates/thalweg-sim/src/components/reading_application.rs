//! State of applications with a configured read rate.

use crate::event_kinds::MAX_ENTITIES;
use crate::simulation_spec::ReadingSpec;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Flag of an application event for reading; flow numbers never contain it.
pub(crate) const READ_FLAG: u32 = MAX_ENTITIES >> 1;

/// The application at the sink of a flow. It reads in order, piece by piece; a piece counts as read when complete.
#[derive(Debug)]
pub(crate) struct Reader {
    spec: Arc<ReadingSpec>,
    /// The next change.
    next: usize,
    rate: Rate,
    /// The last rate announced to its receiver.
    pub announced: Option<Rate>,
    /// Maximum piece size in bytes.
    piece: u64,
    /// Bytes delivered but not read, including the current piece.
    pub unread: u64,
    unread_peak: u64,
    /// Size of the current piece; 0 if none.
    reading: u64,
    /// Rest of the current piece at `since`, in bits times the picoseconds of a second.
    bits_left: u128,
    since: Time,
    /// Time of its pending event; [`Time::MAX`] if none is queued.
    pub timer_at: Time,
    /// True while its steps are being processed.
    pub is_stepping: bool,
    /// True if the flow ends when everything has been read.
    pub is_ending: bool,
}

/// The next step of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStep {
    /// This many bytes have been read.
    Read(u64),
    /// Announces its read rate to its receiver.
    Announce,
    /// Waits until that time; [`Time::MAX`] if there is nothing to wait for.
    Wait(Time),
}

impl Reader {
    pub fn new(spec: Arc<ReadingSpec>, piece: u64) -> Self {
        Self {
            next: 0,
            rate: spec.rate,
            announced: None,
            piece: piece.max(1),
            unread: 0,
            unread_peak: 0,
            reading: 0,
            bits_left: 0,
            since: Time::ZERO,
            timer_at: spec.changes.first().map_or(Time::MAX, |change| change.at),
            is_stepping: false,
            is_ending: false,
            spec,
        }
    }

    /// Returns the time of its pending event.
    pub fn next_timer(&self) -> Option<Time> {
        (self.timer_at < Time::MAX).then_some(self.timer_at)
    }

    /// Returns the bytes delivered but not read.
    pub fn unread(&self) -> Bytes {
        Bytes::new(self.unread)
    }

    /// Returns the peak of the unread bytes.
    pub fn unread_peak(&self) -> Bytes {
        Bytes::new(self.unread_peak)
    }

    /// Handles the end of the sender: returns true if everything has been read; otherwise the flow ends with the last
    /// piece.
    pub fn ends_now(&mut self) -> bool {
        self.is_ending = true;
        self.unread == 0
    }

    /// Adds delivered bytes to those that wait to be read.
    pub fn on_delivered(&mut self, bytes: u64) {
        self.unread += bytes;
        self.unread_peak = self.unread_peak.max(self.unread);
    }

    pub fn step(&mut self, now: Time) -> ReadStep {
        while let Some(change) = self.spec.changes.get(self.next).filter(|change| change.at <= now) {
            let change = *change;
            self.next += 1;
            self.progress(now);
            self.rate = change.rate;
            if change.announced {
                self.announced = Some(change.rate);
                return ReadStep::Announce;
            }
        }
        if self.reading == 0 && self.unread > 0 {
            self.reading = self.unread.min(self.piece);
            self.bits_left = u128::from(self.reading) * 8 * PICOS_PER_SECOND;
            self.since = now;
        }
        self.progress(now);
        if self.reading > 0 && self.bits_left == 0 {
            self.unread -= self.reading;
            return ReadStep::Read(core::mem::take(&mut self.reading));
        }
        let change = self.spec.changes.get(self.next).map_or(Time::MAX, |change| change.at);
        ReadStep::Wait(change.min(self.read_at()))
    }

    /// Updates the read progress up to `now`.
    fn progress(&mut self, now: Time) {
        let bits = u128::from(self.rate.as_bits_per_sec()) * u128::from(now.since(self.since).as_picos());
        self.bits_left = if self.rate == Rate::MAX { 0 } else { self.bits_left.saturating_sub(bits) };
        self.since = now;
    }

    /// Returns the completion time of the current piece at the current rate.
    fn read_at(&self) -> Time {
        if self.reading == 0 || self.rate.is_zero() {
            return Time::MAX;
        }
        let picos = self.bits_left.div_ceil(u128::from(self.rate.as_bits_per_sec()));
        // A time beyond all runs counts as never.
        let span = u64::try_from(picos).map_or(Duration::MAX, Duration::from_picos);
        self.since + span
    }
}

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    //! Tests when a reader has read how much, from its rates alone.
    use super::*;
    use crate::simulation_spec::ReadingChange;

    fn millis(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn reader(rate: Rate, changes: &[(u64, Rate, bool)]) -> Reader {
        let change = |&(at, rate, announced)| ReadingChange { at: millis(at), rate, announced };
        let changes = changes.iter().map(change).collect();
        Reader::new(Arc::new(ReadingSpec { rate, changes }), 1000)
    }

    /// 8 kbit/s are a byte a millisecond.
    const SLOW_RATE: Rate = Rate::from_bits_per_sec(8000);

    #[test]
    fn reading_a_piece_takes_its_size_over_the_rate() {
        let mut reader = reader(SLOW_RATE, &[]);
        assert_eq!((reader.next_timer(), reader.step(millis(0))), (None, ReadStep::Wait(Time::MAX)));
        reader.on_delivered(1500);
        assert_eq!(reader.step(millis(10)), ReadStep::Wait(millis(1010)));
        // A spurious step changes nothing.
        assert_eq!(reader.step(millis(500)), ReadStep::Wait(millis(1010)));
        assert_eq!(reader.step(millis(1010)), ReadStep::Read(1000));
        assert_eq!(reader.step(millis(1010)), ReadStep::Wait(millis(1510)));
        assert!(!reader.ends_now());
        assert_eq!(reader.step(millis(1510)), ReadStep::Read(500));
        assert!(reader.ends_now());
        assert_eq!((reader.unread(), reader.unread_peak()), (Bytes::ZERO, Bytes::new(1500)));
    }

    #[test]
    fn a_change_holds_from_its_time_on() {
        let twice = Rate::from_bits_per_sec(16_000);
        let mut reader =
            reader(SLOW_RATE, &[(400, Rate::ZERO, false), (600, twice, true), (2000, Rate::MAX, false)]);
        reader.on_delivered(10_000);
        assert_eq!(
            (reader.next_timer(), reader.step(millis(0))),
            (Some(millis(400)), ReadStep::Wait(millis(400)))
        );
        // 600 bytes are left and the rate is zero; then they take 300 ms.
        assert_eq!(reader.step(millis(400)), ReadStep::Wait(millis(600)));
        assert_eq!(reader.step(millis(600)), ReadStep::Announce);
        assert_eq!(reader.announced, Some(twice));
        assert_eq!(reader.step(millis(600)), ReadStep::Wait(millis(900)));
        assert_eq!(reader.step(millis(900)), ReadStep::Read(1000));
        assert_eq!(reader.step(millis(900)), ReadStep::Wait(millis(1400)));
        assert_eq!(reader.step(millis(1400)), ReadStep::Read(1000));
        assert_eq!(reader.step(millis(1400)), ReadStep::Wait(millis(1900)));
        assert_eq!(reader.step(millis(1900)), ReadStep::Read(1000));
        assert_eq!(reader.step(millis(1900)), ReadStep::Wait(millis(2000)));
        // An unlimited rate reads any amount at once.
        let rest: Vec<ReadStep> = (0..8).map(|_| reader.step(millis(2000))).collect();
        assert_eq!(rest[..7], [ReadStep::Read(1000); 7]);
        assert_eq!(rest[7], ReadStep::Wait(Time::MAX));
    }
}
