//! A sender's log, read from qlog.

use core::fmt;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Sender's log: its packets with their outcome, and its round-trip times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Scheme with its options.
    pub scheme: String,
    /// Packets in transmission order.
    pub packets: Vec<Packet>,
    /// Smoothed round-trip times of the sender: time and value, in seconds.
    pub smoothed: Vec<(f64, f64)>,
    /// Time from the first event to the last, in seconds.
    pub seconds: f64,
}

/// A data packet. Times are in seconds since the first event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// Transmission time.
    pub sent: f64,
    /// Bytes on the wire.
    pub size: u32,
    /// Bytes of payload.
    pub length: u32,
    /// Acknowledgement time; `None` if not acknowledged.
    pub acknowledged: Option<f64>,
    /// True if the sender declared it lost.
    pub lost: bool,
    /// True for a retransmission.
    pub again: bool,
}

/// Error of reading a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// Packet capture instead of a recording.
    Capture,
    /// Invalid JSON.
    Json(String),
    /// No trace of a sender.
    NoTrace,
    /// Event in another format than that of `--record`.
    Event(usize),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture => {
                write!(f, "it is a packet capture, which lacks the sender's loss detection; {WANTED}")
            }
            Self::Json(error) => write!(f, "it is no recording ({error}); {WANTED}"),
            Self::NoTrace => write!(f, "it has no trace of a sender; {WANTED}"),
            Self::Event(number) => write!(
                f,
                "event {number} is not as --record writes it: packets are numbered from 0 and acknowledged after they were sent, within seven days"
            ),
        }
    }
}

impl core::error::Error for RecordingError {}

/// Accepted files, and how to create them.
const WANTED: &str = "expected a recording: run `thalweg send` or `thalweg bench client` with --record FILE over the path, and give that file";

/// Magic numbers of packet captures: pcap in both byte orders, with micro- or nanoseconds, and pcapng.
const CAPTURES: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

impl Recording {
    /// Reads a qlog file of one sender, as `LiveLog` of `thalweg-capture` writes it.
    ///
    /// # Errors
    ///
    /// [`RecordingError`]
    pub fn read(bytes: &[u8]) -> Result<Self, RecordingError> {
        if CAPTURES.iter().any(|start| bytes.starts_with(start)) {
            return Err(RecordingError::Capture);
        }
        let file: File =
            serde_json::from_slice(bytes).map_err(|error| RecordingError::Json(error.to_string()))?;
        let Trace { description, events } = file.traces.into_iter().next().ok_or(RecordingError::NoTrace)?;
        let read = events.ok_or(RecordingError::NoTrace)?.0?;
        if read.packets.is_empty() {
            return Err(RecordingError::NoTrace);
        }
        Ok(Self { scheme: description.unwrap_or_default(), ..read })
    }

    /// Returns the acknowledged payload, each byte once, in bytes.
    pub fn delivered(&self) -> u64 {
        let acknowledged = self.packets.iter().filter(|packet| packet.acknowledged.is_some());
        acknowledged.map(|packet| u64::from(packet.length)).sum()
    }

    /// Returns the share of retransmissions among the packets sent.
    pub fn retransmitted(&self) -> f64 {
        let again = self.packets.iter().filter(|packet| packet.again).count();
        again as f64 / self.packets.len().max(1) as f64
    }

    /// Returns the round-trip times in the order of their acknowledgements: time and value, in seconds. Of the packets
    /// that one acknowledgement covers, the last one counts, as receivers may delay acknowledgements. Retransmitted
    /// data does not count.
    pub fn round_trips(&self) -> Vec<(f64, f64)> {
        let once = self.packets.iter().filter(|packet| !packet.again);
        let trips = once.filter_map(|packet| packet.acknowledged.map(|at| (at, at - packet.sent)));
        let mut trips: Vec<(f64, f64)> = trips.collect();
        trips.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        trips.dedup_by_key(|trip| trip.0);
        trips
    }
}

/// qlog file; fields not needed are not stored.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    description: Option<String>,
    events: Option<Events>,
}

#[derive(Deserialize)]
struct Event {
    /// Time in milliseconds.
    time: f64,
    name: String,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    header: Header,
    raw: Raw,
    frames: First,
    smoothed_rtt: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    packet_number: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw {
    length: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Frame {
    length: Option<u32>,
    acked_ranges: Option<Vec<(u64, u64)>>,
}

/// First of a list of frames; the others are skipped.
#[derive(Default)]
struct First(Option<Frame>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Frames;
        impl<'de> Visitor<'de> for Frames {
            type Value = First;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of frames")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        from.deserialize_seq(Frames)
    }
}

/// Events of a trace, processed one by one.
struct Events(Result<Recording, RecordingError>);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Events;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Events, A::Error> {
                let mut taker = EventReader::default();
                let mut number = 0;
                while let Some(event) = list.next_element::<Event>()? {
                    if taker.take(&event).is_none() {
                        while list.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(Events(Err(RecordingError::Event(number))));
                    }
                    number += 1;
                }
                Ok(Events(Ok(taker.recording)))
            }
        }
        from.deserialize_seq(List)
    }
}

/// State of the event reader.
#[derive(Default)]
struct EventReader {
    recording: Recording,
    /// Time of the first event, in milliseconds.
    first: Option<f64>,
    /// Time of the previous event, if that was a loss.
    loss: Option<f64>,
    /// Forest for finding unacknowledged packets: an unacknowledged packet points to itself, others to a later packet
    /// to continue at.
    open: Vec<usize>,
}

impl EventReader {
    /// Processes an event; `None` if it is invalid.
    fn take(&mut self, event: &Event) -> Option<()> {
        let time = (event.time - *self.first.get_or_insert(event.time)) / 1e3;
        if !(0.0..=MAX_SECONDS).contains(&time) {
            return None;
        }
        // A packet sent at the moment of a loss is its retransmission.
        let again = self.loss.take() == Some(event.time);
        let recording = &mut self.recording;
        recording.seconds = recording.seconds.max(time);
        let Data { header, raw, frames, smoothed_rtt } = &event.data;
        let frame = frames.0.as_ref();
        let number = header.packet_number.map(usize::try_from);
        match event.name.as_str() {
            "transport:packet_sent" => {
                if number?.ok()? != recording.packets.len() {
                    return None;
                }
                self.open.push(recording.packets.len());
                let (size, length) = (raw.length?, frame?.length?);
                recording.packets.push(Packet { sent: time, size, length, again, ..Packet::default() });
            }
            "recovery:packet_lost" => {
                recording.packets.get_mut(number?.ok()?)?.lost = true;
                self.loss = Some(event.time);
            }
            "transport:packet_received" => {
                for &(from, to) in frame?.acked_ranges.as_ref()? {
                    self.acknowledge(usize::try_from(from).ok()?, usize::try_from(to).ok()?, time)?;
                }
            }
            "recovery:metrics_updated" => {
                if let Some(millis) = *smoothed_rtt {
                    let smoothed = Some(millis / 1e3).filter(|rtt| (0.0..=MAX_SECONDS).contains(rtt))?;
                    recording.smoothed.push((time, smoothed));
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Acknowledges a range of packets, each only once. Packets acknowledged before are skipped, however often a range
    /// covers them.
    fn acknowledge(&mut self, from: usize, to: usize, time: f64) -> Option<()> {
        if from > to || to >= self.open.len() {
            return None;
        }
        let mut at = self.next_unacknowledged(from);
        while at <= to {
            let packet = &mut self.recording.packets[at];
            if time < packet.sent {
                return None;
            }
            packet.acknowledged = Some(time);
            self.open[at] = at + 1;
            at = self.next_unacknowledged(at + 1);
        }
        Some(())
    }

    /// Returns the first unacknowledged packet at or after `from`.
    fn next_unacknowledged(&mut self, from: usize) -> usize {
        let mut at = from;
        while at < self.open.len() && self.open[at] != at {
            // Path halving: the next search skips half of the way.
            let next = self.open[at];
            self.open[at] = self.open.get(next).copied().unwrap_or(next);
            at = next;
        }
        at
    }
}

/// Maximum duration of a recording, in seconds: seven days.
const MAX_SECONDS: f64 = 7.0 * 86_400.0;
