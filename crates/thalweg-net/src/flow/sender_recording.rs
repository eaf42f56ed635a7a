//! Recordings of sender events, for `--record`.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_proto::data_unit_numbers::{merge_numbers, take_within};
use thalweg_proto::payload::Payload;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::SenderStats;
use thalweg_proto::units::{Duration, Rate, Time};

/// Recorder of the sending flow of a connection. Clones share one recording.
///
/// It treats all schemes alike, by the sequence numbers of their data ([`DataUnit`]). A packet whose data is
/// retransmitted counts as lost. If several packets carried the same data, an acknowledgement counts for the last one
/// sent.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Mutex<Recording>>);

/// Recording of the sending flow of a connection.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Negotiated scheme with its options; empty before the connection is established.
    pub scheme: String,
    /// Events in order of time.
    pub events: Vec<RecordedEvent>,
    /// End of the recording, once it is full; later events are missing. `None` while there is room.
    pub until: Option<Time>,
    max: usize,
    /// Overhead per datagram around a PDU, including IP and UDP headers, in bytes.
    overhead: u32,
    /// Number of the next data packet.
    next: u64,
    /// A recently used data number.
    recent_number: u64,
    /// Unacknowledged data, by its first number: its end, and the last packet that carried it.
    unacked: BTreeMap<u64, (u64, u64)>,
    /// Time of the last recorded estimates.
    believed: Option<Time>,
}

/// Recorded event.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// Time on the connection's clock.
    pub time: Time,
    /// Kind of event, with its numbers.
    pub what: EventKind,
}

/// Kind of sender event. Data packets are numbered from 0; each transmission has its own number.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// Data packet sent.
    Sent {
        /// Packet number.
        number: u64,
        /// Size on the wire, including IP and UDP headers, in bytes.
        size: u32,
        /// First number of its data, in the scheme's unit.
        data: u64,
        /// Payload length, in bytes.
        length: u32,
    },
    /// Packet declared lost: the sender retransmits its data.
    Lost {
        /// Packet number.
        number: u64,
    },
    /// Acknowledgement received.
    Acknowledged {
        /// Newly acknowledged packets, as inclusive ranges of packet numbers; may be empty.
        numbers: Box<[(u64, u64)]>,
    },
    /// Sample of the sender's path estimates.
    Estimated(SenderEstimates),
}

/// Path estimates of a sender, sampled on receipt of a packet, at most once per [`ESTIMATES_INTERVAL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderEstimates {
    /// Congestion window, in packets; `None` if unlimited.
    pub window: Option<f64>,
    /// Packets in flight.
    pub in_flight: u32,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Pacing rate, if the sender paces.
    pub pacing_rate: Option<Rate>,
}

/// Minimum interval between two samples of the estimates.
pub const ESTIMATES_INTERVAL: Duration = Duration::from_millis(10);

impl Recorder {
    /// Creates a recorder with room for at most `max` events.
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Mutex::new(Recording { max, ..Recording::default() })))
    }

    /// Takes out the recording so far.
    pub fn take(&self) -> Recording {
        let mut recording = self.lock();
        let max = recording.max;
        core::mem::replace(&mut *recording, Recording { max, ..Recording::default() })
    }

    /// Starts the recording of a new connection, and drops that of an earlier one.
    pub(crate) fn begin(&self, scheme: String, overhead: u32) {
        let mut recording = self.lock();
        let max = recording.max;
        *recording = Recording { scheme, max, overhead, ..Recording::default() };
    }

    /// Records a PDU sent in `size` bytes.
    pub(super) fn on_sent<P: Payload>(&self, now: Time, pdu: &impl DataUnit<P>, size: usize) {
        let mut recording = self.lock();
        let recording = &mut *recording;
        let Some(Range { start, end }) = pdu.data(recording.recent_number) else { return };
        recording.recent_number = start;
        let number = recording.next;
        recording.next += 1;
        if let Some((_, before)) = recording.unacked.insert(start, (end, number)) {
            recording.note(now, EventKind::Lost { number: before });
        }
        // No datagram is longer.
        let length = pdu.payload().map_or(0, Payload::len);
        let size = size as u32 + recording.overhead;
        recording.note(now, EventKind::Sent { number, size, data: start, length });
    }

    /// Records a received PDU.
    pub(super) fn on_received<P: Payload>(&self, now: Time, pdu: &impl DataUnit<P>) {
        let mut recording = self.lock();
        let Some(ranges) = pdu.acknowledged(recording.recent_number) else { return };
        let numbers = recording.close(&ranges);
        recording.note(now, EventKind::Acknowledged { numbers });
    }

    /// Records the sender's estimates after it has processed its input.
    pub(super) fn on_handled(&self, now: Time, stats: impl FnOnce() -> SenderStats) {
        let mut recording = self.lock();
        if recording.believed.is_some_and(|last| now.since(last) < ESTIMATES_INTERVAL) {
            return;
        }
        recording.believed = Some(now);
        let stats = stats();
        let SenderStats { window, in_flight, pacing_rate, .. } = stats;
        recording.note(
            now,
            EventKind::Estimated(SenderEstimates {
                window,
                in_flight,
                smoothed_rtt: stats.rtt(),
                pacing_rate,
            }),
        );
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recording> {
        // The recording is a plain list, and stays valid after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    fn note(&mut self, time: Time, what: EventKind) {
        if self.events.len() < self.max {
            self.events.push(RecordedEvent { time, what });
        } else {
            self.until.get_or_insert(time);
        }
    }

    /// Removes the data in `ranges`. Returns the numbers of the packets that delivered it.
    fn close(&mut self, ranges: &[Range<u64>]) -> Box<[(u64, u64)]> {
        let closed = take_within(&mut self.unacked, ranges, |(end, _)| *end);
        merge_numbers(closed.into_iter().map(|(_, number)| number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::adaptive_ack;
    use thalweg_proto::payload::Length;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn data(sequence: u64) -> adaptive_ack::Pdu<Length> {
        adaptive_ack::Pdu::Data(adaptive_ack::Data { sequence, payload: Length(100) })
    }

    #[test]
    fn retransmissions_record_losses_and_acknowledgements_count_once() {
        let recorder = Recorder::new(8);
        recorder.begin("adaptive-ack".into(), 40);
        for (time, sequence) in [(0, 0), (1, 1), (2, 2), (3, 1)] {
            recorder.on_sent(at(time), &data(sequence), 110);
        }
        let report = adaptive_ack::Pdu::<Length>::Ack(adaptive_ack::Report::plain(3));
        recorder.on_received(at(9), &report);
        recorder.on_handled(at(9), SenderStats::default);
        recorder.on_received(at(10), &report);
        recorder.on_handled(at(10), SenderStats::default);
        let recording = recorder.take();
        let what: Vec<EventKind> = recording.events.iter().map(|event| event.what.clone()).collect();
        let sent = |number, data| EventKind::Sent { number, size: 150, data, length: 100 };
        let acknowledged = |numbers: &[(u64, u64)]| EventKind::Acknowledged { numbers: numbers.into() };
        let expected = [
            sent(0, 0),
            sent(1, 1),
            sent(2, 2),
            EventKind::Lost { number: 1 },
            sent(3, 1),
            acknowledged(&[(0, 0), (2, 3)]),
            EventKind::Estimated(SenderEstimates::default()),
            acknowledged(&[]),
        ];
        assert_eq!(what, expected);
        assert_eq!((recording.scheme.as_str(), recording.until), ("adaptive-ack", None));
        // The recording holds eight events.
        recorder.on_sent(at(11), &data(4), 110);
        assert_eq!(recorder.take().events.len(), 1);
    }
}
