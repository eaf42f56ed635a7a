//! Findings about how packets are sent.

use super::{Finding, FindingKind, MeasuredDirection, format_ms};
use crate::trace_model::View;
use thalweg_units::{Duration, Time};

/// Largest burst that is allowed: the initial window (RFC 6928), in packets.
const MAX_BURST_PACKETS: usize = 10;
/// Largest time between packets of a burst.
const MAX_BURST_GAP: Duration = Duration::from_micros(100);
/// Minimum number of bursts, or of packets in one of them.
const MIN_BURSTS: (usize, usize) = (3, 40);

/// Finds more than ten packets sent at once, several times or very many.
pub(super) fn find_bursts(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    if measured.direction.view == View::Receiver {
        return None;
    }
    let packets = &measured.direction.packets;
    let min_rtt = measured.min_rtt.unwrap_or(Duration::from_millis(10));
    // On paths of less than some milliseconds, packets are always close.
    let close = MAX_BURST_GAP.min(min_rtt / 100);
    let mut found: Vec<(Time, usize)> = Vec::new();
    let (mut begin, mut count) = (Time::ZERO, 0);
    let mut before: Option<Time> = None;
    for packet in packets {
        if before.is_some_and(|before| packet.time.since(before) <= close) {
            count += 1;
        } else {
            if count > MAX_BURST_PACKETS {
                found.push((begin, count));
            }
            (begin, count) = (packet.time, 1);
        }
        before = Some(packet.time);
    }
    if count > MAX_BURST_PACKETS {
        found.push((begin, count));
    }
    let max = found.iter().map(|burst| burst.1).max()?;
    if found.len() < MIN_BURSTS.0 && max < MIN_BURSTS.1 {
        return None;
    }
    Some(Finding {
        kind: FindingKind::Bursts,
        start: found.first()?.0,
        end: found.last()?.0,
        occurrences: found.len() as u64,
        evidence: format!(
            "{} of more than {MAX_BURST_PACKETS} packets, of up to {max} packets ({:.0} kB)",
            if found.len() == 1 { "a burst".to_owned() } else { format!("{} bursts", found.len()) },
            max as f64 * measured.segment_bytes as f64 / 1e3
        ),
    })
}

/// Finds pauses of the sender, with nothing in flight, after which it sends more than the initial window within a quarter of a
/// round trip.
pub(super) fn find_idle_restarts(measured: &MeasuredDirection<'_>) -> Option<Finding> {
    if measured.direction.view == View::Receiver {
        return None;
    }
    let packets = &measured.direction.packets;
    let trip = measured.median_rtt?;
    // RFC 6298 with the kernel's minimum.
    let timeout = (trip * 2).max(Duration::from_millis(200));
    let mut found: Vec<(Time, Duration, usize)> = Vec::new();
    for (at, pair) in packets.windows(2).enumerate() {
        let [before, next] = [pair[0], pair[1]];
        let pause = next.time.since(before.time);
        // All was acknowledged: the end of the pause is not that of a repair.
        if pause < timeout
            || before.acked_at > next.time
            || next.is(crate::trace_model::Packet::RETRANSMISSION)
        {
            continue;
        }
        let burst = packets[at + 1..]
            .iter()
            .take(1000)
            .take_while(|packet| packet.time.since(next.time) <= trip / 4)
            .count();
        if burst > MAX_BURST_PACKETS {
            found.push((next.time, pause, burst));
        }
    }
    let max = found.iter().map(|restart| restart.2).max()?;
    let longest = found.iter().map(|restart| restart.1).max()?;
    Some(Finding {
        kind: FindingKind::IdleRestart,
        start: found.first()?.0,
        end: found.last()?.0,
        occurrences: found.len() as u64,
        evidence: format!(
            "{} pauses of up to {} were followed by bursts of up to {max} packets within a quarter of a round trip ({})",
            found.len(),
            format_ms(longest),
            format_ms(trip / 4)
        ),
    })
}
