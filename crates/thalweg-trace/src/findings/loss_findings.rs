//! Findings about losses and their repair.

use super::token_bucket_fit::{TokenBucket, token_bucket_fit};
use super::{Finding, FindingKind, MeasuredDirection, format_ms, format_percent};
use crate::trace_model::{Direction, Packet, View};
use thalweg_units::{Bytes, Duration, Rate, Time};

/// Minimum number of packets in flight of a busy flow: with fewer, no acknowledgement reports a loss in time.
const MIN_BUSY_PACKETS: usize = 4;
/// Maximum number of packets in flight that are counted.
const MAX_COUNTED_PACKETS: usize = 64;

/// Finds timers that expired while at least [`MIN_BUSY_PACKETS`] packets were in flight.
pub(super) fn find_timeouts(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let packets = &measured.direction.packets;
    let flight = |time: Time| {
        let end = packets.partition_point(|packet| packet.time < time);
        // Farther back all is acknowledged, or lost for long.
        let recent = packets[..end].iter().rev().take(MAX_COUNTED_PACKETS);
        recent.filter(|packet| packet.acked_at >= time).count()
    };
    let has_packets = !packets.is_empty();
    let busy: Vec<_> = measured
        .direction
        .timeouts
        .iter()
        .map(|timeout| (timeout, flight(timeout.time)))
        .filter(|(_, flight)| !has_packets || *flight >= MIN_BUSY_PACKETS)
        .collect();
    let (first, last) = (busy.first()?.0, busy.last()?.0);
    let longest = busy.iter().map(|(timeout, _)| timeout.silence).max()?;
    let total: f64 = busy.iter().map(|(timeout, _)| timeout.silence.as_secs_f64()).sum();
    let max = busy.iter().map(|(_, flight)| *flight).max().unwrap_or(0);
    let flight = match (has_packets, max) {
        (false, _) => String::new(),
        (true, MAX_COUNTED_PACKETS) => format!(", with {max} or more packets in flight"),
        (true, _) => format!(", with up to {max} packets in flight"),
    };
    Some(Finding {
        kind: FindingKind::Timeout,
        start: first.time,
        end: last.time,
        occurrences: busy.len() as u64,
        evidence: format!(
            "{} timeouts{flight}; silence of {} at most, {} in all",
            busy.len(),
            format_ms(longest),
            format_ms(Duration::from_secs_f64(total))
        ),
    })
}

/// Finds retransmissions of data that had arrived.
pub(super) fn find_spurious_retransmissions(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let counts = measured.direction.counts;
    let mut times = measured
        .direction
        .packets
        .iter()
        .filter(|packet| packet.is(Packet::SPURIOUS))
        .map(|packet| packet.time);
    let first = times.next();
    let last = times.next_back().or(first);
    let reported =
        measured.direction.sacks.iter().filter(|sack| sack.is_duplicate).map(|sack| sack.time).next();
    let count = counts.spurious;
    if count == 0 {
        return None;
    }
    let again = counts.retransmitted.max(counts.lost).max(count);
    Some(Finding {
        kind: FindingKind::SpuriousRetransmissions,
        start: first.or(reported).unwrap_or(Time::ZERO),
        end: last.or(reported).unwrap_or(Time::ZERO),
        occurrences: count,
        evidence: format!(
            "{count} of {again} retransmissions ({}) repeated data that had arrived",
            format_percent(count as f64, again as f64)
        ),
    })
}

/// Number of intervals that losses are counted in.
const LOSS_INTERVALS: usize = 10;
/// Minimum share of lost packets, and minimum number of intervals with losses.
const PERSISTENT_LOSS: (f64, usize) = (0.005, 6);
/// Minimum share of the losses that occur without a queue, in tenths.
const MIN_TENTHS_WITHOUT_QUEUE: u64 = 7;

/// Returns the packets lost on the path, not by mistake of the sender.
fn packets_lost_on_path<'a>(measured: &MeasuredDirection<'a>) -> impl Iterator<Item = &'a Packet> {
    measured.direction.packets.iter().filter(|packet| packet.is_lost_on_path())
}

/// Finds losses in most parts of the connection while there was no queue.
pub(super) fn find_persistent_loss(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let packets = &measured.direction.packets;
    let (first, last) = (packets.first()?.time, packets.last()?.time);
    let whole = last.since(first).as_secs_f64();
    let mut by_interval = [0u64; LOSS_INTERVALS];
    let (mut count, mut without_queue) = (0u64, 0u64);
    for packet in packets_lost_on_path(measured) {
        count += 1;
        without_queue += u64::from(measured.is_queue_empty_at(packet.time));
        let interval_position =
            packet.time.since(first).as_secs_f64() / whole.max(1e-12) * LOSS_INTERVALS as f64;
        by_interval[(interval_position as usize).min(LOSS_INTERVALS - 1)] += 1;
    }
    let share = count as f64 / packets.len() as f64;
    let intervals = by_interval.iter().filter(|count| **count > 0).count();
    if share < PERSISTENT_LOSS.0
        || intervals < PERSISTENT_LOSS.1
        || without_queue * 10 < count * MIN_TENTHS_WITHOUT_QUEUE
    {
        return None;
    }
    Some(Finding {
        kind: FindingKind::PersistentLoss,
        start: packets_lost_on_path(measured).next()?.time,
        end: packets_lost_on_path(measured).last()?.time,
        occurrences: count,
        evidence: format!(
            "{count} of {} packets lost ({}), in {intervals} of {LOSS_INTERVALS} parts of the time; {} of them while the round trip was near its minimum",
            packets.len(),
            format_percent(count as f64, packets.len() as f64),
            format_percent(without_queue as f64, count as f64)
        ),
    })
}

/// Finds losses that a token bucket explains (Flach et al. 2016), without a queue.
pub(super) fn find_policer(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let TokenBucket { rate, burst, first, last, count } = token_bucket_fit(measured)?;
    Some(Finding {
        kind: FindingKind::Policer,
        start: first,
        end: last,
        occurrences: count,
        evidence: format!(
            "{count} losses without a queue, as of a token bucket of {:.2} Mbit/s and about {:.0} kB",
            rate * 8.0 / 1e6,
            burst / 1e3
        ),
    })
}

/// Minimum number of late packets or of losses undone.
const MIN_REORDERED: u64 = 3;

/// Finds packets that overtook others.
pub(super) fn find_reordering(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let packets = &measured.direction.packets;
    let late = || packets.iter().filter(|packet| packet.is(Packet::ARRIVED_LATE));
    let count = measured.direction.counts.late;
    if count >= MIN_REORDERED {
        return Some(Finding {
            kind: FindingKind::Reordering,
            start: late().next().map_or(Time::ZERO, |packet| packet.time),
            end: late().next_back().map_or(Time::ZERO, |packet| packet.time),
            occurrences: count,
            evidence: format!(
                "{count} packets ({}) came after packets that were sent later",
                format_percent(count as f64, packets.len().max(1) as f64)
            ),
        });
    }
    // At the sender: packets taken for lost, and acknowledged within a round trip.
    if measured.direction.view == View::Receiver {
        return None;
    }
    let limit = measured.median_rtt.unwrap_or(Duration::from_secs(1));
    let undone = || {
        packets.iter().filter(move |packet| {
            let is_late = packet.is_lost() && packet.is_acked() && packet.acked_at >= packet.lost_at;
            is_late && packet.acked_at.since(packet.lost_at) <= limit && !packet.is(Packet::RETRANSMISSION)
        })
    };
    let count = undone().count() as u64;
    if count < MIN_REORDERED {
        return None;
    }
    let longest = undone().map(|packet| packet.acked_at.since(packet.lost_at)).max()?;
    Some(Finding {
        kind: FindingKind::Reordering,
        start: undone().next()?.time,
        end: undone().next_back()?.time,
        occurrences: count,
        evidence: format!(
            "{count} packets were taken for lost and acknowledged up to {} later",
            format_ms(longest)
        ),
    })
}

/// Returns the token bucket that explains the losses of a direction, if one does.
pub fn fit_token_bucket(direction: &Direction) -> Option<(Rate, Bytes)> {
    let found = token_bucket_fit(&MeasuredDirection::new(direction))?;
    Some((Rate::from_bits_per_sec((found.rate * 8.0) as u64), Bytes::new(found.burst as u64)))
}
