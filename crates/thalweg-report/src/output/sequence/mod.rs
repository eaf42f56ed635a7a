//! Sequence diagrams of a run: which end of a flow sent what, and when and whether it arrived.

mod svg;
mod text;

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::units::Time;
use thalweg_sim::trace::{PacketId, Record, Step, Tracer};

/// So many packets fit into a picture in pixels, however far apart in time they are.
pub const MAX_IN_PIXELS: u32 = svg::MAX_IN_PIXELS;

/// The part of a run that a diagram shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The flow, by its number.
    pub flow: u32,
    /// Packets that were sent in this time.
    pub times: Range<Time>,
    /// So many of them at most.
    pub most: usize,
}

impl Default for View {
    fn default() -> Self {
        Self { flow: 0, times: Time::ZERO..Time::MAX, most: 200 }
    }
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    sent: Time,
    /// From the flow's source to its sink.
    forward: bool,
    label: String,
    /// It carries data.
    data: bool,
    /// The same data was sent before.
    again: bool,
    fate: Fate,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Not known yet.
    OnTheWay,
    Arrived(Time),
    /// A queue dropped it, or a wire lost or damaged it.
    Lost(Time),
}

/// Gathers the packets of a flow while a simulation runs.
#[derive(Clone, Debug)]
pub struct Sequence {
    view: View,
    messages: Vec<Message>,
    /// The positions in `messages` of those that have neither arrived nor been lost.
    open: BTreeMap<PacketId, usize>,
    /// Data that was sent, to tell repetitions.
    seen: BTreeSet<String>,
    /// Packets within the time that were too many.
    left_out: u64,
}

impl Sequence {
    /// Gathers what `view` shows.
    pub fn new(view: View) -> Self {
        Self { view, messages: Vec::new(), open: BTreeMap::new(), seen: BTreeSet::new(), left_out: 0 }
    }

    /// Packets that are drawn, and packets that would have been too many.
    pub fn counts(&self) -> (usize, u64) {
        (self.messages.len(), self.left_out)
    }

    /// The diagram as lines of text: time, sender, receiver.
    pub fn text(&self) -> String {
        text::text(&self.messages, self.left_out)
    }

    /// The diagram as a picture.
    pub fn svg(&self, title: &str) -> String {
        svg::svg(title, &self.messages, self.left_out)
    }

    fn on_sent(&mut self, record: &Record<'_>) {
        let data = record.pdu.payload_len().is_some();
        let label = record.pdu.label();
        let full = self.messages.len() >= self.view.most;
        let over = full || record.time >= self.view.times.end;
        let again = data
            && record.pdu.is_repeated().unwrap_or_else(|| {
                // What was sent before the view begins counts, or a repetition would look new.
                !over && !self.seen.insert(label.clone())
            });
        if !self.view.times.contains(&record.time) {
            return;
        }
        if full {
            self.left_out += 1;
            return;
        }
        self.open.insert(record.packet, self.messages.len());
        self.messages.push(Message {
            sent: record.time,
            forward: record.packet.backward == record.reply,
            label,
            data,
            again,
            fate: Fate::OnTheWay,
        });
    }

    fn on_end(&mut self, record: &Record<'_>, fate: Fate) {
        // Of a packet and its copies the first that arrives is drawn.
        if let Some(index) = self.open.remove(&record.packet) {
            self.messages[index].fate = fate;
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
            Step::Delivered => self.on_end(record, Fate::Arrived(record.time)),
            Step::Dropped | Step::Filtered | Step::Lost | Step::Corrupted => {
                self.on_end(record, Fate::Lost(record.time));
            }
            _ => {}
        }
    }
}

/// A time in milliseconds, to the microsecond.
fn millis(time: Time) -> String {
    let micros = (time.as_picos() + 500_000) / 1_000_000;
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests;
