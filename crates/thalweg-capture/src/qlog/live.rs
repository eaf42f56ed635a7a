//! The log of a sender that was not simulated.

use super::{Act, Event, Frame, begin_trace, quoted, write_events};
use std::io::{self, Write};
use thalweg_proto::units::{Duration, Rate, Time};

/// The events of a sender, one by one, to be written as qlog.
///
/// Packets are numbered from 0 in the order in which they are [sent](LiveLog::sent), data packets only.
#[derive(Clone, Debug, Default)]
pub struct LiveLog {
    events: Vec<Event>,
    metrics: Vec<(Time, String)>,
    /// Sizes and contents of the packets sent, by number.
    sent: Vec<(u32, Frame)>,
}

/// The state of the path as a sender believes it to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Bytes of payload that may be outstanding; `None` where there is no bound.
    pub window: Option<f64>,
    /// Bytes of payload that are.
    pub in_flight: f64,
    /// The smoothed round-trip time, once it is known.
    pub smoothed_rtt: Option<Duration>,
    /// The rate at which packets are spaced, where there is one.
    pub pacing_rate: Option<Rate>,
}

impl LiveLog {
    /// The next packet leaves, of `size` bytes on the wire with so much payload; `offset` is that in the stream, for
    /// schemes that count so.
    pub fn sent(&mut self, time: Time, size: u32, offset: Option<u64>, length: u32) {
        let frame = match offset {
            Some(offset) => Frame::Stream { offset, length },
            None => Frame::Datagram { length },
        };
        self.sent.push((size, frame.clone()));
        let number = Some(self.sent.len() as u64 - 1);
        self.events.push(Event { time, act: Act::Sent, number, size, frame });
    }

    /// A packet that was sent counts as lost.
    pub fn lost(&mut self, time: Time, number: u64) {
        let sent = usize::try_from(number).ok().and_then(|number| self.sent.get(number)).cloned();
        if let Some((size, frame)) = sent {
            self.events.push(Event { time, act: Act::Lost, number: Some(number), size, frame });
        }
    }

    /// An acknowledgement comes, with the packets that it acknowledges for the first time, as ranges of their numbers, ends
    /// included.
    pub fn acknowledged(&mut self, time: Time, ranges: Box<[(u64, u64)]>) {
        let frame = Frame::Ack { ranges };
        self.events.push(Event { time, act: Act::Received, number: None, size: 0, frame });
    }

    /// Adds the sender's beliefs about the path at `time`.
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

    /// Writes the log of a sender that used `scheme`, as a qlog file titled `title`.
    ///
    /// # Errors
    ///
    /// The I/O errors of `to`.
    pub fn write<W: Write>(&self, mut to: W, title: &str, scheme: &str) -> io::Result<()> {
        write!(to, "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{},", quoted(title)?)?;
        to.write_all(b"\"description\":\"thalweg, recorded live\",\"traces\":[\n")?;
        begin_trace(&mut to, "flow", scheme, false)?;
        write_events(&mut to, &self.events, &self.metrics)?;
        to.write_all(b"]}]}\n")?;
        to.flush()
    }
}
