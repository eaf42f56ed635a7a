//! Reads a sender's recording from a trace, for inference.

use core::fmt;
use thalweg_proto::units::{Bytes, Rate, Time};
use thalweg_trace::findings::fit_token_bucket;
use thalweg_trace::{Connection, Limits, Metric, Point, Protocol, ReadError, Trace, View};

/// Sender's log: its packets with their outcome, and its round-trip times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Scheme with its options; empty if the trace does not name it.
    pub scheme: String,
    /// Scheme with all options of a simulated sender; then `scheme` has only its name.
    pub simulated_scheme: Option<String>,
    /// Packets in transmission order.
    pub packets: Vec<Packet>,
    /// Smoothed round-trip times of the sender: time and value, in seconds.
    pub smoothed: Vec<(f64, f64)>,
    /// Time from the first event to the last, in seconds.
    pub seconds: f64,
    /// Round-trip times of a capture: time of the acknowledgement, and value, in seconds. Empty for logs of the sender, whose
    /// packets have numbers of their own: there they follow from the packets.
    pub trips: Vec<(f64, f64)>,
    /// Token bucket that explains the losses, if one does.
    pub policer: Option<(Rate, Bytes)>,
}

/// A data packet. Times are in seconds since the first event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// Transmission time.
    pub sent_at: f64,
    /// Bytes on the wire.
    pub size: u32,
    /// Bytes of payload.
    pub length: u32,
    /// Acknowledgement time; `None` if not acknowledged.
    pub acknowledged: Option<f64>,
    /// True if the sender declared it lost.
    pub is_lost: bool,
    /// True for a retransmission.
    pub is_retransmission: bool,
}

/// Error of taking a recording from a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// No trace.
    Trace(ReadError),
    /// No such connection: the requested number, and the number of connections.
    NoConnection(usize, usize),
    /// Trace recorded at the receiver of the data.
    Receiver(Protocol),
    /// No packet with data, such as in a log of estimates.
    NoPackets,
    /// Packets without acknowledgements.
    NoAcknowledgements(Protocol),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => write!(f, "{error}"),
            Self::NoConnection(number, count) => {
                write!(
                    f,
                    "there is no connection {number}; there are {count}, numbered from 1 (`thalweg view`)"
                )
            }
            Self::Receiver(Protocol::Tcp) => write!(
                f,
                "it was captured at the receiver of the data, where round trips and losses are not visible; capture at the sender"
            ),
            Self::Receiver(_) => write!(
                f,
                "it was recorded at the receiver of the data, where round trips and losses are not visible; give the log of the sender"
            ),
            Self::NoPackets => {
                write!(
                    f,
                    "it has no packets with data; expected a packet capture, a qlog, or a recording by --record"
                )
            }
            Self::NoAcknowledgements(Protocol::EncryptedQuic) => {
                write!(
                    f,
                    "QUIC is encrypted in a capture, and its acknowledgements are not visible; give a qlog of the sender"
                )
            }
            Self::NoAcknowledgements(_) => {
                write!(
                    f,
                    "no packet is acknowledged; expected a transfer over TCP or QUIC, or a recording by --record"
                )
            }
        }
    }
}

impl core::error::Error for RecordingError {}

/// Size of the headers of IPv4 and UDP, in bytes, which QUIC's logs leave out.
const UDP_HEADERS: u32 = 28;
/// Size of the headers of IPv6 and UDP, in bytes.
const UDP6_HEADERS: u32 = 48;

impl Recording {
    /// Reads a trace, and takes the direction with most data.
    ///
    /// # Errors
    ///
    /// [`RecordingError`]
    pub fn read(mut bytes: &[u8]) -> Result<Self, RecordingError> {
        let trace = thalweg_trace::read(&mut bytes, &Limits::default()).map_err(RecordingError::Trace)?;
        Self::of_trace(&trace, None).map(|found| found.0)
    }

    /// Takes the direction with most data of a connection: that of this number from 1, or of all the one with most data.
    /// Returns the connection and the direction as well.
    ///
    /// # Errors
    ///
    /// [`RecordingError`]
    pub fn of_trace(
        trace: &Trace,
        number: Option<usize>,
    ) -> Result<(Self, &Connection, usize), RecordingError> {
        let count = trace.connections.len();
        let volume = |connection: &&Connection| {
            let direction = &connection.directions[connection.main_direction()];
            let volume = direction.counts.payload.max(direction.counts.delivered);
            (direction.packets.iter().any(thalweg_trace::Packet::is_acked), volume)
        };
        let connection = match number {
            Some(number) => number.checked_sub(1).and_then(|index| trace.connections.get(index)),
            None => trace.connections.iter().rev().max_by_key(volume),
        };
        let connection = connection.ok_or(RecordingError::NoConnection(number.unwrap_or(1), count))?;
        let direction = connection.main_direction();
        Ok((Self::from_connection(connection, direction)?, connection, direction))
    }

    /// Takes the log of a direction (0: data of the client, 1: of the server).
    ///
    /// # Errors
    ///
    /// [`RecordingError`]
    pub fn from_connection(connection: &Connection, direction: usize) -> Result<Self, RecordingError> {
        let data = &connection.directions[direction & 1];
        if data.packets.is_empty() {
            return Err(RecordingError::NoPackets);
        }
        if data.view == View::Receiver {
            return Err(RecordingError::Receiver(connection.protocol));
        }
        if !data.packets.iter().any(thalweg_trace::Packet::is_acked) {
            return Err(RecordingError::NoAcknowledgements(connection.protocol));
        }
        // Recordings of this project have sizes on the wire.
        let is_ours = connection.writer.as_deref().is_some_and(|writer| writer.starts_with("sender"));
        let headers = match connection.protocol {
            Protocol::Quic if !is_ours && data.from.contains('[') => UDP6_HEADERS,
            Protocol::Quic if !is_ours => UDP_HEADERS,
            _ => 0,
        };
        let at = |time: Time| time.since(connection.start).as_secs_f64();
        let packets = data.packets.iter().map(|packet| Packet {
            sent_at: at(packet.time),
            size: packet.size.saturating_add(headers),
            length: packet.length,
            acknowledged: packet.is_acked().then(|| at(packet.acked_at)),
            is_lost: packet.is_lost_on_path(),
            is_retransmission: packet.is(thalweg_trace::Packet::RETRANSMISSION),
        });
        let smoothed = data.metrics.get(&Metric::SmoothedRtt).into_iter().flatten();
        Ok(Self {
            scheme: connection.scheme.clone().unwrap_or_default(),
            simulated_scheme: connection.simulated_scheme.clone(),
            packets: packets.collect(),
            smoothed: smoothed.map(|(time, value)| (at(*time), *value)).collect(),
            seconds: connection.duration().as_secs_f64(),
            trips: match connection.protocol {
                Protocol::Tcp => {
                    data.round_trips.iter().map(|(time, trip)| (at(*time), trip.as_secs_f64())).collect()
                }
                _ => Vec::new(),
            },
            policer: fit_token_bucket(data),
        })
    }

    /// Returns the acknowledged payload, each byte once, in bytes.
    pub fn delivered(&self) -> u64 {
        let acknowledged = self.packets.iter().filter(|packet| packet.acknowledged.is_some());
        acknowledged.map(|packet| u64::from(packet.length)).sum()
    }

    /// Returns the share of retransmissions among the packets sent.
    pub fn retransmitted(&self) -> f64 {
        let again = self.packets.iter().filter(|packet| packet.is_retransmission).count();
        again as f64 / self.packets.len().max(1) as f64
    }

    /// Returns the round-trip times in the order of their acknowledgements: time and value, in seconds. Of the packets
    /// that one acknowledgement covers, the last one counts, as receivers may delay acknowledgements. Retransmitted
    /// data does not count.
    pub fn round_trips(&self) -> Vec<(f64, f64)> {
        if !self.trips.is_empty() {
            return self.trips.clone();
        }
        // Karn's rule: what an acknowledgement covers beside repeated data may have waited for it (RFC 6298, section 3).
        let repeated = self.packets.iter().filter(|packet| packet.is_retransmission);
        let mut ambiguous: Vec<f64> = repeated.filter_map(|packet| packet.acknowledged).collect();
        ambiguous.sort_by(f64::total_cmp);
        let is_ambiguous = |at: f64| ambiguous.binary_search_by(|other| other.total_cmp(&at)).is_ok();
        let once = self.packets.iter().filter(|packet| {
            !packet.is_retransmission && packet.acknowledged.is_none_or(|at| !is_ambiguous(at))
        });
        let trips = once.filter_map(|packet| packet.acknowledged.map(|at| (at, at - packet.sent_at)));
        let mut trips: Vec<(f64, f64)> = trips.collect();
        trips.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        trips.dedup_by_key(|trip| trip.0);
        trips
    }

    /// Returns the mean smoothed round-trip time, in seconds: of the sender's own, or else computed from its round trips by
    /// RFC 6298.
    pub fn mean_smoothed(&self) -> f64 {
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
            sum / f64::from(count.max(1))
        };
        if !self.smoothed.is_empty() {
            return mean(&mut self.smoothed.iter().map(|(_, rtt)| *rtt));
        }
        let mut smoothed: Option<f64> = None;
        mean(&mut self.round_trips().iter().map(|(_, trip)| {
            let next = smoothed.map_or(*trip, |before| before + (trip - before) / 8.0);
            smoothed = Some(next);
            next
        }))
    }
}

/// Returns how a capture between the ends limits the estimates, if it was made there.
pub fn capture_limitation(connection: &Connection) -> Option<&'static str> {
    let is_between = connection.point == Point::Between;
    is_between.then_some(
        "it was recorded between the ends, or at an unknown place: the delay from the sender to there is not included",
    )
}
