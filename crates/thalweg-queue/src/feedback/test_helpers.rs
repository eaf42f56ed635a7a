//! Helpers for tests of router feedback.

use super::{FlowId, Message, PassingPacket, Source, View};
use thalweg_proto::units::{Rate, Time};

/// Rate with a transmission time of a millisecond per byte.
pub(super) const RATE: Rate = Rate::from_bits_per_sec(8_000);

/// A packet without a source: it causes no messages.
pub(super) const ACK: PassingPacket =
    PassingPacket { source: None, size: 50, sequence: None, message: false };

pub(super) const fn at_millis(millis: u64) -> Time {
    Time::from_picos(millis * 1_000_000_000)
}

/// Returns a data packet of 100 bytes from a source at a distance of three links.
pub(super) const fn data_packet(flow: u64, sequence: u64) -> PassingPacket {
    let source = Some(Source { flow: FlowId(flow), hops: 3, is_notified: false });
    PassingPacket { source, size: 100, sequence: Some(sequence), message: false }
}

/// Returns the view of a queue with this length, and a line that is busy for 50 ms more.
pub(super) fn queue_view(millis: u64, packets: u64, bytes: u64) -> View {
    View { now: at_millis(millis), packets, bytes, rate: RATE, busy_until: at_millis(millis + 50) }
}

/// Returns the flows and sequence numbers of the messages that `act` sends.
pub(super) fn messages_of(act: impl FnOnce(&mut Vec<Message>) -> bool) -> Vec<(u64, Option<u64>)> {
    let mut messages = Vec::new();
    act(&mut messages);
    messages.iter().map(|message| (message.flow.0, message.dropped)).collect()
}
