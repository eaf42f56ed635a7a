//! Helpers for tests of policies.

use super::{FlowId, Message, Passing, Source, View};
use thalweg_proto::units::{Rate, Time};

/// A rate at which a byte takes a millisecond.
pub(super) const RATE: Rate = Rate::from_bits_per_sec(8_000);

/// A packet that nobody is told about.
pub(super) const ACK: Passing = Passing { source: None, size: 50, sequence: None, message: false };

pub(super) const fn at(millis: u64) -> Time {
    Time::from_picos(millis * 1_000_000_000)
}

/// A data packet of 100 bytes whose source is three links away.
pub(super) const fn data(flow: u64, sequence: u64) -> Passing {
    let source = Some(Source { flow: FlowId(flow), hops: 3, told: false });
    Passing { source, size: 100, sequence: Some(sequence), message: false }
}

/// At this time so many packets wait, and the line is busy for 50 ms more.
pub(super) fn view(millis: u64, packets: u64, bytes: u64) -> View {
    View { now: at(millis), packets, bytes, rate: RATE, busy_until: at(millis + 50) }
}

/// The flows and sequence numbers of the messages that a policy sends.
pub(super) fn told(act: impl FnOnce(&mut Vec<Message>) -> bool) -> Vec<(u64, Option<u64>)> {
    let mut messages = Vec::new();
    act(&mut messages);
    messages.iter().map(|message| (message.flow.0, message.dropped)).collect()
}
