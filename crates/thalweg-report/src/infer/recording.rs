//! A sender's log, read from qlog.

use core::fmt;
use core::ops::RangeInclusive;
use serde_json::Value;

/// A sender's packets with what became of them, and its round-trip times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The scheme with its options.
    pub scheme: String,
    /// Its packets, in the order in which they were sent.
    pub packets: Vec<Packet>,
    /// Smoothed round-trip times of the sender: when, in seconds, and how long.
    pub smoothed: Vec<(f64, f64)>,
    /// From the first event to the last, in seconds.
    pub seconds: f64,
}

/// A data packet. Times are in seconds since the first event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// The time at which the packet was sent.
    pub sent: f64,
    /// Bytes on the wire.
    pub size: u32,
    /// Bytes of payload.
    pub length: u32,
    /// The time at which the packet was acknowledged; `None` if it was not.
    pub acknowledged: Option<f64>,
    /// The sender counted it as lost.
    pub lost: bool,
    /// Its data had been sent before.
    pub again: bool,
}

/// The reason for which a file is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// It is not JSON.
    Json(String),
    /// It has no trace of a sender.
    NoTrace,
    /// An event is not as `--record` writes it.
    Event(usize),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "it is not a qlog file: {error}"),
            Self::NoTrace => f.write_str("it has no trace of a sender; expected a file that --record wrote"),
            Self::Event(number) => write!(f, "event {number} is not as --record writes it"),
        }
    }
}

impl core::error::Error for RecordingError {}

impl Recording {
    /// Reads a qlog file of one sender, as `LiveLog` of `thalweg-capture` writes it.
    ///
    /// # Errors
    ///
    /// [`RecordingError`]
    pub fn read(text: &str) -> Result<Self, RecordingError> {
        let file: Value =
            serde_json::from_str(text).map_err(|error| RecordingError::Json(error.to_string()))?;
        let trace = &file["traces"][0];
        let events = trace["events"].as_array().ok_or(RecordingError::NoTrace)?;
        let mut recording =
            Self { scheme: trace["description"].as_str().unwrap_or("").to_owned(), ..Self::default() };
        let first = events.first().and_then(|event| event["time"].as_f64()).unwrap_or(0.0);
        let mut after_loss = None;
        for (number, event) in events.iter().enumerate() {
            let millis = event["time"].as_f64().ok_or(RecordingError::Event(number))?;
            let time = (millis - first) / 1e3;
            recording.seconds = recording.seconds.max(time);
            let taken = recording.take(time, event, after_loss == Some(millis));
            taken.ok_or(RecordingError::Event(number))?;
            // What is sent at the moment of a loss is sent for it.
            let is_loss = event["name"] == "recovery:packet_lost";
            after_loss = is_loss.then_some(millis);
        }
        if recording.packets.is_empty() { Err(RecordingError::NoTrace) } else { Ok(recording) }
    }

    /// Takes an event; `None` where it makes no sense.
    fn take(&mut self, time: f64, event: &Value, again: bool) -> Option<()> {
        let data = &event["data"];
        let number = || data["header"]["packet_number"].as_u64();
        let small = |value: &Value| u32::try_from(value.as_u64()?).ok();
        match event["name"].as_str()? {
            "transport:packet_sent" => {
                if number()? != self.packets.len() as u64 {
                    return None;
                }
                let size = small(&data["raw"]["length"])?;
                let length = small(&data["frames"][0]["length"])?;
                self.packets.push(Packet { sent: time, size, length, again, ..Packet::default() });
            }
            "recovery:packet_lost" => self.packet(number()?)?.lost = true,
            "transport:packet_received" => {
                for range in data["frames"][0]["acked_ranges"].as_array()? {
                    for number in numbers(range, self.packets.len())? {
                        self.packet(number)?.acknowledged.get_or_insert(time);
                    }
                }
            }
            "recovery:metrics_updated" => {
                if let Some(millis) = data["smoothed_rtt"].as_f64() {
                    self.smoothed.push((time, millis / 1e3));
                }
            }
            _ => {}
        }
        Some(())
    }

    fn packet(&mut self, number: u64) -> Option<&mut Packet> {
        self.packets.get_mut(usize::try_from(number).ok()?)
    }

    /// Payload that was acknowledged, each byte once, in bytes.
    pub fn delivered(&self) -> u64 {
        let acknowledged = self.packets.iter().filter(|packet| packet.acknowledged.is_some());
        acknowledged.map(|packet| u64::from(packet.length)).sum()
    }

    /// Of the packets sent the share that carried data again.
    pub fn resent(&self) -> f64 {
        let again = self.packets.iter().filter(|packet| packet.again).count();
        again as f64 / self.packets.len().max(1) as f64
    }

    /// Round trips in order of the acknowledgements that ended them: when, and how long, in seconds. Of the packets that one
    /// acknowledges the last one counts, as receivers may wait before they answer, and only packets whose data was sent
    /// once.
    pub fn round_trips(&self) -> Vec<(f64, f64)> {
        let once = self.packets.iter().filter(|packet| !packet.again);
        let trips = once.filter_map(|packet| packet.acknowledged.map(|at| (at, at - packet.sent)));
        let mut trips: Vec<(f64, f64)> = trips.collect();
        trips.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        trips.dedup_by_key(|trip| trip.0);
        trips
    }
}

/// A range of packets that have been sent.
fn numbers(range: &Value, sent: usize) -> Option<RangeInclusive<u64>> {
    let (from, to) = (range[0].as_u64()?, range[1].as_u64()?);
    (from <= to && to < sent as u64).then_some(from..=to)
}
