//! Pauses of a path.

use super::Recording;
use super::busy_spans::Ack;

/// Time without an acknowledgement although packets had been sent: an outage, or the loss of all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// Time of the acknowledgement before it, in seconds since the first event.
    pub from: f64,
    /// Time of the acknowledgement after it.
    pub until: f64,
}

/// Minimum length of an outage, in seconds and in shortest round trips.
const OUTAGE_LENGTH: (f64, f64) = (1.0, 10.0);

/// Returns the outages of a recording with these acknowledgements, in order, and this shortest round trip.
pub(super) fn outages(recording: &Recording, acks: &[Ack], shortest: f64) -> Vec<Outage> {
    let min = OUTAGE_LENGTH.0.max(OUTAGE_LENGTH.1 * shortest);
    let gaps = acks.windows(2).map(|pair| Outage { from: pair[0].0, until: pair[1].0 });
    let long = gaps.filter(|gap| gap.until - gap.from > min);
    // The answer to a packet that was sent in time would have come before: otherwise the sender paused.
    let is_due = |gap: &Outage| {
        let begin = recording.packets.partition_point(|packet| packet.sent_at < gap.from - shortest);
        let sent = recording.packets[begin..].iter().take_while(|packet| packet.sent_at < gap.until - min);
        sent.into_iter().any(|packet| packet.acknowledged.is_none_or(|at| at >= gap.until))
    };
    long.filter(is_due).collect()
}
