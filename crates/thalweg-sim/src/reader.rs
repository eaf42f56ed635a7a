//! Applications that read what is delivered to them at their own pace.

use crate::endpoint::Command;
use crate::event_loop::{EventLoop, Kind, MAX_ENTITIES};
use crate::flow::NO_CONNECTION;
use crate::spec::ReadingSpec;
use crate::tracing::Tracing;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// With this bit an application's event is for reading. No flow has such a number.
pub(crate) const READS: u32 = MAX_ENTITIES >> 1;

/// The application at the sink of a flow. It reads in order, piece by piece; a piece is read when it has been read whole.
#[derive(Debug)]
pub(crate) struct Reader {
    spec: Arc<ReadingSpec>,
    /// The change that comes next.
    next: usize,
    rate: Rate,
    /// The last rate that it told its receiver.
    announced: Option<Rate>,
    /// The largest piece in bytes.
    piece: u64,
    /// Delivered and not read, with the piece that is being read.
    unread: u64,
    unread_peak: u64,
    /// The piece that is being read; 0 when there is none.
    reading: u64,
    /// The part of it that was left at `since`, in bits times the picoseconds of a second.
    left: u128,
    since: Time,
    /// The time at which its event is due; [`Time::MAX`] when none is in the queue.
    armed: Time,
    /// Its steps are being taken.
    stepping: bool,
    /// The flow ends when everything has been read.
    ending: bool,
}

/// The next step of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStep {
    /// So many bytes have been read.
    Read(u64),
    /// It tells its receiver how fast it reads.
    Announce,
    /// Nothing before that time; [`Time::MAX`] when there is nothing to wait for.
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
            left: 0,
            since: Time::ZERO,
            armed: spec.changes.first().map_or(Time::MAX, |change| change.at),
            stepping: false,
            ending: false,
            spec,
        }
    }

    /// The time at which its event is due.
    pub fn armed(&self) -> Option<Time> {
        (self.armed < Time::MAX).then_some(self.armed)
    }

    /// The bytes that were delivered and are not read.
    pub fn unread(&self) -> Bytes {
        Bytes::new(self.unread)
    }

    /// The most that there was of that.
    pub fn unread_peak(&self) -> Bytes {
        Bytes::new(self.unread_peak)
    }

    /// The sender is done. True if everything has been read; otherwise the flow ends with the last piece.
    pub fn ends_now(&mut self) -> bool {
        self.ending = true;
        self.unread == 0
    }

    fn keep(&mut self, bytes: u64) {
        self.unread += bytes;
        self.unread_peak = self.unread_peak.max(self.unread);
    }

    fn step(&mut self, now: Time) -> ReadStep {
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
            self.left = u128::from(self.reading) * 8 * PICOS_PER_SECOND;
            self.since = now;
        }
        self.progress(now);
        if self.reading > 0 && self.left == 0 {
            self.unread -= self.reading;
            return ReadStep::Read(core::mem::take(&mut self.reading));
        }
        let change = self.spec.changes.get(self.next).map_or(Time::MAX, |change| change.at);
        ReadStep::Wait(change.min(self.read_at()))
    }

    /// Reads on up to now.
    fn progress(&mut self, now: Time) {
        let bits = u128::from(self.rate.as_bits_per_sec()) * u128::from(now.since(self.since).as_picos());
        self.left = if self.rate == Rate::MAX { 0 } else { self.left.saturating_sub(bits) };
        self.since = now;
    }

    /// The time at which the piece will have been read, as things are.
    fn read_at(&self) -> Time {
        if self.reading == 0 || self.rate.is_zero() {
            return Time::MAX;
        }
        let picos = self.left.div_ceil(u128::from(self.rate.as_bits_per_sec()));
        // A time beyond all runs is as good as never.
        let span = u64::try_from(picos).map_or(Duration::MAX, Duration::from_picos);
        self.since + span
    }
}

impl<T: Tracing> EventLoop<T> {
    /// The sink of a flow got data that its application reads at its own pace.
    pub(crate) fn keep_for_reader(&mut self, flow: u32, bytes: u64) {
        let Some(reader) = self.flows[flow as usize].reader.as_deref_mut() else { return };
        reader.keep(bytes);
        // What reading leads to at once is for the loop that runs already.
        if !reader.stepping {
            self.go_on_reading(flow);
        }
    }

    /// The time has come for an application to read.
    pub(crate) fn on_reading(&mut self, flow: u32) {
        let Some(reader) = self.flows[flow as usize].reader.as_deref_mut() else { return };
        // An earlier event may have replaced this one.
        if reader.armed == self.now {
            reader.armed = Time::MAX;
            self.go_on_reading(flow);
        }
    }

    fn go_on_reading(&mut self, flow: u32) {
        loop {
            let main = self.flows[flow as usize].main;
            let Some(reader) = self.flows[flow as usize].reader.as_deref_mut() else { return };
            let step = reader.step(self.now);
            reader.stepping = !matches!(step, ReadStep::Wait(_));
            let is_last = reader.ending && reader.unread == 0;
            match step {
                ReadStep::Read(bytes) => {
                    self.command(main * 2 + 1, Command::Consumed(bytes));
                    self.on_read(main, bytes);
                    if is_last {
                        self.end_main(main);
                    }
                }
                ReadStep::Announce => self.announce_reading(flow),
                ReadStep::Wait(at) => {
                    if at < reader.armed {
                        reader.armed = at;
                        self.wheel.push(at, Kind::Application.key(flow | READS));
                    }
                    break;
                }
            }
        }
        if self.is_watched(flow) {
            self.record_flow_change(flow);
        }
    }

    /// An application tells its receiver how fast it reads, if it has anything to say.
    pub(crate) fn announce_reading(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let announced = state.reader.as_ref().and_then(|reader| reader.announced);
        let transport = &self.transports[self.groups[state.group as usize].transport as usize];
        let share = announced.and_then(|rate| transport.reading_share(rate));
        if let Some(share) = share.filter(|_| state.main != NO_CONNECTION) {
            let id = state.main * 2 + 1;
            if let Some(end) = self.endpoints[id as usize].engine.end_mut() {
                end.set_reading_share(share);
            }
            self.drain(id);
        }
    }
}

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    //! Proves when a reader has read what, from its rates alone.
    use super::*;
    use crate::spec::ReadingChange;

    fn millis(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn reader(rate: Rate, changes: &[(u64, Rate, bool)]) -> Reader {
        let change = |&(at, rate, announced)| ReadingChange { at: millis(at), rate, announced };
        let changes = changes.iter().map(change).collect();
        Reader::new(Arc::new(ReadingSpec { rate, changes }), 1000)
    }

    /// 8 kbit/s are a byte a millisecond.
    const SLOW: Rate = Rate::from_bits_per_sec(8000);

    #[test]
    fn a_piece_takes_its_time() {
        let mut reader = reader(SLOW, &[]);
        assert_eq!((reader.armed(), reader.step(millis(0))), (None, ReadStep::Wait(Time::MAX)));
        reader.keep(1500);
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
            reader(SLOW, &[(400, Rate::ZERO, false), (600, twice, true), (2000, Rate::MAX, false)]);
        reader.keep(10_000);
        assert_eq!(
            (reader.armed(), reader.step(millis(0))),
            (Some(millis(400)), ReadStep::Wait(millis(400)))
        );
        // 600 bytes are left and nobody reads; then they take 300 ms.
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
        // At once is at once, whatever there is.
        let rest: Vec<ReadStep> = (0..8).map(|_| reader.step(millis(2000))).collect();
        assert_eq!(rest[..7], [ReadStep::Read(1000); 7]);
        assert_eq!(rest[7], ReadStep::Wait(Time::MAX));
    }
}
