//! Recordings of events at a sender, kept for `--record`.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_proto::numbers::{merged, take_within};
use thalweg_proto::payload::Payload;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::SenderStats;
use thalweg_proto::units::{Duration, Rate, Time};

/// Keeps what happens at the sending flow of a connection. Its clones share one recording.
///
/// It treats all schemes alike, by the numbers of their data ([`DataUnit`]): a packet whose data is sent again counts as
/// lost, and of several with the same data the last one sent is the one that was acknowledged.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Mutex<Recording>>);

/// A recording of the sending flow of a connection.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The scheme that the ends agreed on, with its options; empty before there was a connection.
    pub scheme: String,
    /// The events, in order of time.
    pub events: Vec<Recorded>,
    /// The time at which room ran out; what happened later is not among the events. `None` while there is room.
    pub until: Option<Time>,
    most: usize,
    /// Bytes that each datagram has around a PDU, headers of IP and UDP counted.
    overhead: u32,
    /// The number of the next data packet.
    next: u64,
    /// A number of data that was used lately.
    near: u64,
    /// Data that is not acknowledged, by its first number: its end, and the last packet that carried it.
    open: BTreeMap<u64, (u64, u64)>,
    /// The time at which beliefs were noted last.
    believed: Option<Time>,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The time, by the connection's clock.
    pub time: Time,
    /// The kind of event, with its numbers.
    pub what: Happened,
}

/// A kind of event at a sender. Data packets are counted from 0, each one once.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A data packet left.
    Sent {
        /// Its number.
        number: u64,
        /// Its size on the wire in bytes, headers of IP and UDP counted.
        size: u32,
        /// The first number of its data, by the scheme's own count.
        data: u64,
        /// Its payload in bytes.
        length: u32,
    },
    /// The sender took this packet for lost: it sends the same data again.
    Lost {
        /// Its number.
        number: u64,
    },
    /// An acknowledgement came.
    Acknowledged {
        /// Packets acknowledged for the first time, as ranges of their numbers, ends included; maybe none.
        numbers: Box<[(u64, u64)]>,
    },
    /// The sender's beliefs about the path were noted.
    Believed(Beliefs),
}

/// Beliefs of a sender about the path; noted when something came, at most once in [`BELIEFS_EVERY`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beliefs {
    /// Packets that may be outstanding; `None` where there is no bound.
    pub window: Option<f64>,
    /// Packets that are.
    pub in_flight: u32,
    /// The smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// The rate at which packets are spaced, where there is one.
    pub pacing_rate: Option<Rate>,
}

/// The least time between two notes of beliefs.
pub const BELIEFS_EVERY: Duration = Duration::from_millis(10);

impl Recorder {
    /// Keeps at most so many events.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Recording { most, ..Recording::default() })))
    }

    /// Takes what was recorded so far.
    pub fn take(&self) -> Recording {
        let mut recording = self.lock();
        let most = recording.most;
        core::mem::replace(&mut *recording, Recording { most, ..Recording::default() })
    }

    /// A connection is there. What was recorded of an earlier one is dropped.
    pub(crate) fn begin(&self, scheme: String, overhead: u32) {
        let mut recording = self.lock();
        let most = recording.most;
        *recording = Recording { scheme, most, overhead, ..Recording::default() };
    }

    /// A PDU leaves in `size` bytes.
    pub(super) fn on_sent<P: Payload>(&self, now: Time, pdu: &impl DataUnit<P>, size: usize) {
        let mut recording = self.lock();
        let recording = &mut *recording;
        let Some(Range { start, end }) = pdu.data(recording.near) else { return };
        recording.near = start;
        let number = recording.next;
        recording.next += 1;
        if let Some((_, before)) = recording.open.insert(start, (end, number)) {
            recording.note(now, Happened::Lost { number: before });
        }
        // No datagram is longer.
        let length = pdu.payload().map_or(0, Payload::len);
        let size = size as u32 + recording.overhead;
        recording.note(now, Happened::Sent { number, size, data: start, length });
    }

    /// A PDU came.
    pub(super) fn on_received<P: Payload>(&self, now: Time, pdu: &impl DataUnit<P>) {
        let mut recording = self.lock();
        let Some(ranges) = pdu.acknowledged(recording.near) else { return };
        let numbers = recording.close(&ranges);
        recording.note(now, Happened::Acknowledged { numbers });
    }

    /// The sender has handled what came, and this is what it believes then.
    pub(super) fn on_handled(&self, now: Time, stats: impl FnOnce() -> SenderStats) {
        let mut recording = self.lock();
        if recording.believed.is_some_and(|last| now.since(last) < BELIEFS_EVERY) {
            return;
        }
        recording.believed = Some(now);
        let stats = stats();
        let SenderStats { window, in_flight, pacing_rate, .. } = stats;
        recording.note(
            now,
            Happened::Believed(Beliefs { window, in_flight, smoothed_rtt: stats.rtt(), pacing_rate }),
        );
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recording> {
        // A recording is a list: it is as good as it was before a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    fn note(&mut self, time: Time, what: Happened) {
        if self.events.len() < self.most {
            self.events.push(Recorded { time, what });
        } else {
            self.until.get_or_insert(time);
        }
    }

    /// Takes away the data in `ranges`; gives the numbers of the packets that brought it.
    fn close(&mut self, ranges: &[Range<u64>]) -> Box<[(u64, u64)]> {
        let closed = take_within(&mut self.open, ranges, |(end, _)| *end);
        merged(closed.into_iter().map(|(_, number)| number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::aack;
    use thalweg_proto::payload::Length;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn data(sequence: u64) -> aack::Pdu<Length> {
        aack::Pdu::Data(aack::Data { sequence, payload: Length(100) })
    }

    #[test]
    fn what_is_sent_again_was_lost_and_what_is_acknowledged_is_so_once() {
        let recorder = Recorder::new(8);
        recorder.begin("adaptive-ack".into(), 40);
        for (time, sequence) in [(0, 0), (1, 1), (2, 2), (3, 1)] {
            recorder.on_sent(at(time), &data(sequence), 110);
        }
        let report = aack::Pdu::<Length>::Ack(aack::Report::plain(3));
        recorder.on_received(at(9), &report);
        recorder.on_handled(at(9), SenderStats::default);
        recorder.on_received(at(10), &report);
        recorder.on_handled(at(10), SenderStats::default);
        let recording = recorder.take();
        let what: Vec<Happened> = recording.events.iter().map(|event| event.what.clone()).collect();
        let sent = |number, data| Happened::Sent { number, size: 150, data, length: 100 };
        let acknowledged = |numbers: &[(u64, u64)]| Happened::Acknowledged { numbers: numbers.into() };
        let expected = [
            sent(0, 0),
            sent(1, 1),
            sent(2, 2),
            Happened::Lost { number: 1 },
            sent(3, 1),
            acknowledged(&[(0, 0), (2, 3)]),
            Happened::Believed(Beliefs::default()),
            acknowledged(&[]),
        ];
        assert_eq!(what, expected);
        assert_eq!((recording.scheme.as_str(), recording.until), ("adaptive-ack", None));
        // There was room for eight.
        recorder.on_sent(at(11), &data(4), 110);
        assert_eq!(recorder.take().events.len(), 1);
    }
}
