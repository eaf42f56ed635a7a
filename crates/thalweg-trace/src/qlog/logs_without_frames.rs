//! Logs without frames, as quinn writes them: sizes, losses, and the bytes in flight.

use super::qlog_events::Data;
use crate::trace_model::{Direction, Metric};

/// Initial round-trip time (RFC 9002, section 6.2.2), in seconds.
const INITIAL_RTT: f64 = 0.333;

/// Returns true if estimates are in seconds and not in milliseconds: their values before the first sample are the initial round-trip
/// time, and have to be 333.
pub(super) fn is_in_seconds(data: &Data<'_>) -> bool {
    [data.smoothed_rtt, data.min_rtt, data.latest_rtt].into_iter().all(|value| value == Some(INITIAL_RTT))
}

/// Returns the bytes that left the network otherwise than by loss: those sent, less those lost and those in flight at the end. `None`
/// if the log has acknowledgements, or no bytes in flight.
pub(super) fn arrived_bytes(direction: &Direction) -> Option<u64> {
    let in_flight = direction.metrics.get(&Metric::InFlight)?.last()?.1;
    if direction.counts.acks > 0 || direction.counts.payload == 0 {
        return None;
    }
    let lost =
        direction.packets.iter().filter(|packet| packet.is_lost()).map(|packet| u64::from(packet.length));
    Some(direction.counts.payload.saturating_sub(lost.sum()).saturating_sub(in_flight as u64))
}

/// Note of a connection whose delivered bytes are those of [`arrived_bytes`].
pub(super) const NOTE: &str = "The log has no acknowledgements: delivered are the bytes of packets sent, less those lost and those in flight at the end.";
