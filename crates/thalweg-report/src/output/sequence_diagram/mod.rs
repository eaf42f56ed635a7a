//! Sequence diagrams of a run: the packets sent by each endpoint of a flow, with arrival times and losses.

mod svg;
mod text;

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::units::Time;
use thalweg_sim::packet_trace::{PacketId, Record, Step, Tracer};

/// Maximum number of packets that fit into a PNG picture, however far apart in time they are.
pub const MAX_IN_PIXELS: u32 = svg::MAX_IN_PIXELS;

/// Part of a run shown by a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Flow number.
    pub flow: u32,
    /// Time range: packets sent within it are shown.
    pub times: Range<Time>,
    /// Maximum number of packets.
    pub max: usize,
}

impl Default for View {
    fn default() -> Self {
        Self { flow: 0, times: Time::ZERO..Time::MAX, max: 200 }
    }
}

/// Packet in transit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    sent_at: Time,
    /// True from the flow's source to its sink.
    forward: bool,
    label: String,
    /// True if it carries data.
    data: bool,
    /// True if the same data was sent before.
    is_retransmission: bool,
    outcome: PacketOutcome,
}

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketOutcome {
    /// Not known yet.
    InTransit,
    Arrived(Time),
    /// Dropped by a queue, or lost or corrupted on a link.
    Lost(Time),
}

/// Recorder of a flow's packets during a simulation.
#[derive(Clone, Debug)]
pub struct Sequence {
    view: View,
    messages: Vec<Message>,
    /// Positions in `messages` of packets that have neither arrived nor been lost.
    in_flight: BTreeMap<PacketId, usize>,
    /// Data sent so far, to detect retransmissions.
    sent_data: BTreeSet<String>,
    /// Packets in the time range beyond the maximum number.
    left_out: u64,
}

impl Sequence {
    /// Creates a recorder for `view`.
    pub fn new(view: View) -> Self {
        Self {
            view,
            messages: Vec::new(),
            in_flight: BTreeMap::new(),
            sent_data: BTreeSet::new(),
            left_out: 0,
        }
    }

    /// Returns the number of packets drawn and the number left out beyond the maximum.
    pub fn counts(&self) -> (usize, u64) {
        (self.messages.len(), self.left_out)
    }

    /// Returns the diagram as lines of text: time, sender, receiver.
    pub fn text(&self) -> String {
        text::sequence_text(&self.messages, self.left_out)
    }

    /// Returns the diagram as a picture.
    pub fn svg(&self, title: &str) -> String {
        svg::sequence_svg(title, &self.messages, self.left_out)
    }

    fn on_sent(&mut self, record: &Record<'_>) {
        let data = record.pdu.payload_len().is_some();
        let label = record.pdu.label();
        let full = self.messages.len() >= self.view.max;
        let over = full || record.time >= self.view.times.end;
        let again = data
            && record.pdu.is_repeated().unwrap_or_else(|| {
                // Data sent before the view begins counts, or its retransmission would look new.
                !over && !self.sent_data.insert(label.clone())
            });
        if !self.view.times.contains(&record.time) {
            return;
        }
        if full {
            self.left_out += 1;
            return;
        }
        self.in_flight.insert(record.packet, self.messages.len());
        self.messages.push(Message {
            sent_at: record.time,
            forward: record.packet.backward == record.reply,
            label,
            data,
            is_retransmission: again,
            outcome: PacketOutcome::InTransit,
        });
    }

    fn on_end(&mut self, record: &Record<'_>, outcome: PacketOutcome) {
        // Of a packet and its duplicates, the first to arrive is drawn.
        if let Some(index) = self.in_flight.remove(&record.packet) {
            self.messages[index].outcome = outcome;
        }
    }
}

impl Tracer for Sequence {
    fn record(&mut self, record: &Record<'_>) {
        if record.flow != self.view.flow {
            return;
        }
        match record.step {
            Step::Sent => self.on_sent(record),
            Step::Delivered => self.on_end(record, PacketOutcome::Arrived(record.time)),
            Step::Dropped | Step::Filtered | Step::Lost | Step::Corrupted => {
                self.on_end(record, PacketOutcome::Lost(record.time));
            }
            _ => {}
        }
    }
}

/// Formats a time in milliseconds, to the microsecond.
fn format_millis(time: Time) -> String {
    let micros = (time.as_picos() + 500_000) / 1_000_000;
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests;
