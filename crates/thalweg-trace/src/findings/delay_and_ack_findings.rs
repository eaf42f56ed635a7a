//! Findings about delays and acknowledgements.

use super::{Finding, FindingKind, MeasuredDirection, format_ms, format_percent};
use crate::sorted_quantile;
use crate::trace_model::{Ack, Connection, Limit, View};
use thalweg_units::{Duration, Time};

/// Minimum number of round-trip times.
const MIN_SAMPLES: usize = 50;
/// Minimum queueing delay.
const MIN_QUEUEING_DELAY: Duration = Duration::from_millis(30);

/// Finds round trips whose median is twice the shortest, by at least [`MIN_QUEUEING_DELAY`].
pub(super) fn find_bufferbloat(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let (min_rtt, median_rtt) = (measured.min_rtt?, measured.median_rtt?);
    if measured.rtt_samples.len() < MIN_SAMPLES
        || median_rtt < min_rtt * 2
        || median_rtt < min_rtt + MIN_QUEUEING_DELAY
    {
        return None;
    }
    let mut sorted: Vec<Duration> = measured.rtt_samples.iter().map(|trip| trip.1).collect();
    sorted.sort_unstable();
    let p99 = sorted_quantile(&sorted, 0.99)?;
    let limit = min_rtt * 2;
    let mut long = measured.rtt_samples.iter().filter(|trip| trip.1 >= limit);
    let (first, last) = (long.next()?.0, long.next_back()?.0);
    let count = measured.rtt_samples.iter().filter(|trip| trip.1 >= limit).count();
    Some(Finding {
        kind: FindingKind::Bufferbloat,
        start: first,
        end: last,
        occurrences: count as u64,
        evidence: format!(
            "round trips of {} at least, {} in the median and {} at 99 %: {} of queueing in the median",
            format_ms(min_rtt),
            format_ms(median_rtt),
            format_ms(p99),
            format_ms(median_rtt.saturating_sub(min_rtt))
        ),
    })
}

/// Minimum share of the time limited by the receive window.
const MIN_LIMITED_SHARE: f64 = 0.1;

/// Finds a receive window that is full for a tenth of the time.
pub(super) fn find_receiver_limits(
    measured: &MeasuredDirection<'_>,
    connection: &Connection,
) -> Option<Finding> {
    let full = || measured.direction.limits.iter().filter(|limit| limit.2 == Limit::Receiver);
    let total: f64 = full().map(|(from, until, _)| until.since(*from).as_secs_f64()).sum();
    let packets = &measured.direction.packets;
    let first = packets.first().map_or(connection.start, |packet| packet.time);
    let last = packets.last().map_or(connection.end, |packet| packet.time);
    let whole = last.since(first).as_secs_f64();
    if whole <= 0.0 || total < MIN_LIMITED_SHARE * whole {
        return None;
    }
    let window = measured
        .direction
        .acks
        .iter()
        .filter(|ack| ack.edge != u64::MAX)
        .map(|ack| ack.edge.saturating_sub(ack.position))
        .max();
    let window = window
        .map_or(String::new(), |window| format!("; the largest window was {:.1} kB", window as f64 / 1e3));
    let zero = match measured.direction.counts.zero_windows {
        0 => String::new(),
        count => format!(", {count} acknowledgements had an empty one"),
    };
    Some(Finding {
        kind: FindingKind::ReceiverLimited,
        start: full().next()?.0,
        end: full().next_back()?.1,
        occurrences: full().count() as u64,
        evidence: format!(
            "the receive window was full for {} ({}){window}{zero}",
            format_ms(Duration::from_secs_f64(total)),
            format_percent(total.min(whole), whole)
        ),
    })
}

/// Acknowledgements with new data: time, bytes, and the time since the one before.
fn acknowledgement_progress(measured: &MeasuredDirection<'_>) -> Vec<(Time, u64, Duration)> {
    // Without packets, these are samples of a counter.
    let acks: &[Ack] = if measured.direction.packets.is_empty() { &[] } else { &measured.direction.acks };
    let pairs = acks.windows(2).filter(|pair| pair[1].position > pair[0].position);
    pairs
        .map(|pair| (pair[1].time, pair[1].position - pair[0].position, pair[1].time.since(pair[0].time)))
        .collect()
}

/// Returns true if data was selectively acknowledged or retransmitted within a round trip before `time`: a repair moves the
/// acknowledgement by much.
fn is_repair(measured: &MeasuredDirection<'_>, time: Time) -> bool {
    let trip = measured.median_rtt.unwrap_or(Duration::ZERO);
    let sacks = &measured.direction.sacks;
    let last = sacks.partition_point(|sack| sack.time <= time);
    last.checked_sub(1).is_some_and(|at| time.since(sacks[at].time) <= trip)
}

/// Minimum number of acknowledgements, and minimum share of stretched ones.
const MIN_STRETCHED: (usize, f64) = (20, 0.3);

/// Finds acknowledgements of more than two full segments each.
pub(super) fn find_stretch_acks(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    let acks: Vec<_> =
        acknowledgement_progress(measured).into_iter().filter(|ack| !is_repair(measured, ack.0)).collect();
    // A half more allows for segments that are not full.
    let limit = measured.segment_bytes * 5 / 2;
    let long = || acks.iter().filter(|ack| ack.1 > limit);
    let count = long().count();
    if acks.len() < MIN_STRETCHED.0 || (count as f64) < MIN_STRETCHED.1 * acks.len() as f64 {
        return None;
    }
    let mut sizes: Vec<u64> = acks.iter().map(|ack| ack.1).collect();
    sizes.sort_unstable();
    let segments = |bytes: u64| bytes as f64 / measured.segment_bytes as f64;
    Some(Finding {
        kind: FindingKind::StretchAcks,
        start: long().next()?.0,
        end: long().next_back()?.0,
        occurrences: count as u64,
        evidence: format!(
            "{} of acknowledgements cover more than two segments; {:.1} in the median, {:.0} at most",
            format_percent(count as f64, acks.len() as f64),
            segments(sorted_quantile(&sizes, 0.5)?),
            segments(*sizes.last()?)
        ),
    })
}

/// Minimum gap, and minimum number of segments acknowledged after it.
const MIN_GAP: (Duration, u64) = (Duration::from_millis(20), 8);

/// Finds silences of the receiver between acknowledgements that come at a steady pace, without a loss.
pub(super) fn find_ack_gaps(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    if measured.direction.view == View::Receiver {
        return None;
    }
    let acks = acknowledgement_progress(measured);
    let mut gaps: Vec<Duration> = acks.iter().map(|ack| ack.2).collect();
    gaps.sort_unstable();
    let (typical, trip) = (sorted_quantile(&gaps, 0.5)?, measured.median_rtt?);
    let limit = MIN_GAP.0.max(typical * 4).max(trip / 2);
    let packets = &measured.direction.packets;
    // In flight before the gap, and sent while the receiver would have answered.
    let has_sent_during = |time: Time, gap: Duration| {
        let begin = time
            .since(Time::ZERO)
            .saturating_sub(gap)
            .saturating_sub(measured.min_rtt.unwrap_or(Duration::ZERO));
        let begin = Time::ZERO + begin;
        let middle = begin + gap / 2;
        let sent = packets.partition_point(|packet| packet.time <= middle);
        let before = packets.partition_point(|packet| packet.time <= begin);
        sent > before + 2
    };
    // A receiver that reports data behind a hole acknowledges, while the cumulative number waits for a retransmission.
    let has_reports_during = |time: Time, gap: Duration| {
        let begin = Time::ZERO + time.since(Time::ZERO).saturating_sub(gap);
        measured.direction.sacks.iter().any(|sack| sack.time > begin && sack.time < time)
    };
    let found: Vec<_> = acks
        .iter()
        .filter(|(time, bytes, gap)| {
            *gap > limit
                && !has_reports_during(*time, *gap)
                && *bytes >= MIN_GAP.1 * measured.segment_bytes
                && !is_repair(measured, *time)
                && has_sent_during(*time, *gap)
        })
        .collect();
    let (first, last) = (found.first()?, found.last()?);
    let longest = found.iter().map(|ack| ack.2).max()?;
    let max = found.iter().map(|ack| ack.1).max()?;
    Some(Finding {
        kind: FindingKind::AckGaps,
        start: first.0,
        end: last.0,
        occurrences: found.len() as u64,
        evidence: format!(
            "{} {} of up to {}; the median is {}; up to {} segments acknowledged at once",
            found.len(),
            if found.len() == 1 { "gap" } else { "gaps" },
            format_ms(longest),
            format_ms(typical),
            max / measured.segment_bytes
        ),
    })
}
