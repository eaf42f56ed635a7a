//! Event log of a live sender.

use super::{Event, EventKind, Frame, begin_trace, json_string, write_events};
use std::io::{self, Write};
use thalweg_proto::units::{Duration, Rate, Time};

/// Events of a sender, for a qlog file.
///
/// Data packets are numbered from 0 in [sending](LiveLog::sent) order; other packets have no number.
#[derive(Clone, Debug, Default)]
pub struct LiveLog {
    events: Vec<Event>,
    metrics: Vec<(Time, String)>,
    /// Sizes and contents of sent packets, by number.
    sent: Vec<(u32, Frame)>,
}

/// Path estimates of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Congestion window, in payload bytes; `None` if unlimited.
    pub window: Option<f64>,
    /// Payload bytes in flight.
    pub in_flight: f64,
    /// Smoothed round-trip time, once measured.
    pub smoothed_rtt: Option<Duration>,
    /// Pacing rate, if any.
    pub pacing_rate: Option<Rate>,
}

impl LiveLog {
    /// Records the next sent packet, of `size` bytes on the wire with `length` payload bytes; `offset` is the stream
    /// offset, for schemes with a byte stream.
    pub fn sent(&mut self, time: Time, size: u32, offset: Option<u64>, length: u32) {
        let frame = match offset {
            Some(offset) => Frame::Stream { offset, length },
            None => Frame::Datagram { length },
        };
        self.sent.push((size, frame.clone()));
        let number = Some(self.sent.len() as u64 - 1);
        self.events.push(Event { time, kind: EventKind::Sent, number, size, frame });
    }

    /// Records a sent packet as lost.
    pub fn lost(&mut self, time: Time, number: u64) {
        let sent = usize::try_from(number).ok().and_then(|number| self.sent.get(number)).cloned();
        if let Some((size, frame)) = sent {
            self.events.push(Event { time, kind: EventKind::Lost, number: Some(number), size, frame });
        }
    }

    /// Records an acknowledgement with the newly acknowledged packets, as inclusive ranges of their numbers.
    pub fn acknowledged(&mut self, time: Time, ranges: Box<[(u64, u64)]>) {
        let frame = Frame::Ack { ranges };
        self.events.push(Event { time, kind: EventKind::Received, number: None, size: 0, frame });
    }

    /// Records the sender's path estimates at `time`.
    pub fn metrics(&mut self, time: Time, metrics: &Metrics) {
        let mut text = format!("\"bytes_in_flight\":{:.0}", metrics.in_flight);
        if let Some(window) = metrics.window {
            text.push_str(&format!(",\"congestion_window\":{window:.0}"));
        }
        if let Some(rtt) = metrics.smoothed_rtt {
            text.push_str(&format!(",\"smoothed_rtt\":{}", rtt.as_millis_f64()));
        }
        if let Some(rate) = metrics.pacing_rate {
            text.push_str(&format!(",\"pacing_rate\":{}", rate.as_bits_per_sec()));
        }
        self.metrics.push((time, text));
    }

    /// Writes the log of a sender with `scheme` as a qlog file titled `title`.
    ///
    /// # Errors
    ///
    /// The I/O errors of `to`.
    pub fn write<W: Write>(&self, mut to: W, title: &str, scheme: &str) -> io::Result<()> {
        write!(to, "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{},", json_string(title)?)?;
        to.write_all(b"\"description\":\"thalweg, recorded live\",\"traces\":[\n")?;
        begin_trace(&mut to, "flow", scheme, "", false)?;
        write_events(&mut to, &self.events, &self.metrics)?;
        to.write_all(b"]}]}\n")?;
        to.flush()
    }
}
