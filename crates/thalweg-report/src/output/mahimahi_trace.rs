//! Link capacity as a trace for mahimahi's `mm-link`.

use core::fmt;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::CapacityTrace;
pub use thalweg_queue::TraceWriteError;
use thalweg_sim::simulation_spec::DirectionSpec;

/// Size of a mahimahi delivery opportunity, in bytes.
const BYTES: u32 = 1500;

/// Maximum number of lines written or read: ten minutes at 1 Gbit/s.
const MAX_LINES: u128 = 50_000_000;

const PICOS_PER_MILLI: u64 = 1_000_000_000;
const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// Reason why a link direction has no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTrace {
    /// The link cannot send one packet of 1500 bytes in this time.
    Nothing(Duration),
    /// The link sends by a rule that a trace does not have: the key of the scenario.
    Unsupported(&'static str),
    /// The trace would exceed the maximum number of lines.
    TooLong {
        /// Number of lines that it would have.
        lines: u64,
    },
}

impl fmt::Display for NoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(duration) => {
                write!(f, "in {duration} the link could not send {BYTES} bytes, the unit of a trace")
            }
            Self::Unsupported(key) => write!(
                f,
                "mahimahi has no `{key}`: a trace would have the rate without it; export the link without this key"
            ),
            Self::TooLong { lines } => write!(
                f,
                "the trace would have {lines} lines; the maximum is {MAX_LINES}: use a shorter duration"
            ),
        }
    }
}

impl core::error::Error for NoTrace {}

/// Returns the times of opportunities of a link direction to send 1500 bytes, from the start of a run for `duration`. An
/// opportunity lies at the first whole millisecond by which the link could have sent that much since the previous one;
/// the trace never exceeds the link's capacity.
///
/// A mahimahi trace configured for the link comes out unchanged if it is no longer than `duration`. Otherwise the rate
/// and its scheduled changes count, outages included; link-layer framing overhead does not. mahimahi repeats a trace
/// from its last opportunity on, and a pause at the end is lost.
///
/// # Errors
///
/// [`NoTrace`]
pub fn delivery_opportunities(
    direction: &DirectionSpec,
    duration: Duration,
) -> Result<CapacityTrace, NoTrace> {
    let unsupported = [
        ("shaper", direction.start_delay.shaper.is_some()),
        ("sleep", !direction.start_delay.sleep.is_empty()),
        ("aggregation", direction.aggregation.is_some_and(|batches| batches.packets.is_some())),
        ("periodic-variation", direction.periodic_variation.is_some()),
        ("policer", direction.queue.policer().is_some()),
    ];
    if let Some((key, _)) = unsupported.into_iter().find(|(_, is_set)| *is_set) {
        return Err(NoTrace::Unsupported(key));
    }
    if let Some(capacity_trace) = &direction.capacity {
        let is_plain = capacity_trace.bytes_per_opportunity == BYTES
            && capacity_trace.period <= duration
            && capacity_trace.opportunities.last() == Some(&(Time::ZERO + capacity_trace.period))
            && capacity_trace.opportunities.iter().all(|at| at.as_picos() % PICOS_PER_MILLI == 0)
            && direction.schedule.is_empty();
        if is_plain {
            return Ok(CapacityTrace::clone(capacity_trace));
        }
    }
    let end = Time::ZERO + duration;
    let mut found = Opportunities::default();
    match &direction.capacity {
        Some(capacity_trace) => found.take(capacity_trace, &trace_outages(direction), end)?,
        None => {
            for (span, rate) in rates_until(direction, end) {
                found.send(span.start, span.end, rate)?;
            }
        }
    }
    let last = found.times.last().filter(|last| **last > Time::ZERO);
    let period = last.ok_or(NoTrace::Nothing(duration))?.since(Time::ZERO);
    Ok(CapacityTrace { opportunities: found.times, period, bytes_per_opportunity: BYTES })
}

/// Returns the successive rates of a direction until `end`.
fn rates_until(direction: &DirectionSpec, end: Time) -> Vec<(core::ops::Range<Time>, Rate)> {
    let mut rates = Vec::new();
    let (mut from, mut rate) = (Time::ZERO, direction.rate);
    let changes = direction.schedule.iter().filter_map(|change| Some((change.at, change.rate?)));
    for (at, next) in changes.filter(|(at, _)| *at < end) {
        rates.push((from..at, rate));
        (from, rate) = (at, next);
    }
    rates.push((from..end, rate));
    rates
}

/// Returns the outages of a direction whose rate follows a trace.
fn trace_outages(direction: &DirectionSpec) -> Vec<core::ops::Range<Time>> {
    let stopped = rates_until(direction, Time::MAX).into_iter().filter(|(_, rate)| rate.is_zero());
    stopped.map(|(span, _)| span).collect()
}

/// Opportunities found so far, and the remainder for the next.
#[derive(Debug, Default)]
struct Opportunities {
    times: Vec<Time>,
    /// Remainder in units of 1/(8 x 10^12) bytes, in which rates times picoseconds are integers.
    remainder: u128,
}

/// One opportunity in these units.
const UNIT: u128 = BYTES as u128 * 8 * PICOS_PER_SECOND;

impl Opportunities {
    /// Sends at `rate` from `from` to `until`.
    fn send(&mut self, from: Time, until: Time, rate: Rate) -> Result<(), NoTrace> {
        let bits = u128::from(rate.as_bits_per_sec());
        let sent = self.remainder + bits * u128::from(until.since(from).as_picos());
        let count = sent / UNIT;
        self.check(count)?;
        for number in 1..=count {
            let needed = (number * UNIT - self.remainder).div_ceil(bits.max(1));
            // Cannot overflow: the time lies within the span.
            let at = from.as_picos() + needed as u64;
            self.times.push(next_millisecond(at));
        }
        self.remainder = sent - count * UNIT;
        Ok(())
    }

    /// Follows the link's trace, except during outages.
    fn take(
        &mut self,
        capacity_trace: &CapacityTrace,
        still: &[core::ops::Range<Time>],
        end: Time,
    ) -> Result<(), NoTrace> {
        let period = capacity_trace.period.as_picos();
        let all = u128::from(end.as_picos() / period + 1) * capacity_trace.opportunities.len() as u128;
        self.check(all)?;
        let each = u128::from(capacity_trace.bytes_per_opportunity) * 8 * PICOS_PER_SECOND;
        for repetition in 0..=end.as_picos() / period {
            for at in &capacity_trace.opportunities {
                let at = (repetition * period).saturating_add(at.as_picos());
                let time = Time::from_picos(at);
                if time > end {
                    return Ok(());
                }
                if still.iter().any(|span| span.contains(&time)) {
                    continue;
                }
                self.remainder += each;
                let count = self.remainder / UNIT;
                self.check(count)?;
                let time = next_millisecond(at);
                self.times.extend(core::iter::repeat_n(time, count as usize));
                self.remainder -= count * UNIT;
            }
        }
        Ok(())
    }

    /// Checks that `more` opportunities stay within the limit on writing and processing.
    fn check(&self, more: u128) -> Result<(), NoTrace> {
        let lines = self.times.len() as u128 + more;
        if lines > MAX_LINES {
            return Err(NoTrace::TooLong { lines: u64::try_from(lines).unwrap_or(u64::MAX) });
        }
        Ok(())
    }
}

/// Returns the first whole millisecond at or after `picos`; the last representable one if there is none.
fn next_millisecond(picos: u64) -> Time {
    let next = picos.checked_next_multiple_of(PICOS_PER_MILLI);
    Time::from_picos(next.unwrap_or(picos - picos % PICOS_PER_MILLI))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::test_spec;
    use std::sync::Arc;
    use thalweg_proto::units::Bytes;
    use thalweg_queue::TokenBucketSpec;
    use thalweg_sim::simulation_spec::Change;

    fn direction(rate: Rate) -> DirectionSpec {
        DirectionSpec { rate, ..test_spec().links[0].forward.clone() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn change(millis: u64, rate: Rate) -> Change {
        Change { rate: Some(rate), ..Change::at(at(millis)) }
    }

    /// Returns the trace after a round trip through its text form.
    fn trace(direction: &DirectionSpec, millis: u64) -> CapacityTrace {
        let trace = delivery_opportunities(direction, Duration::from_millis(millis)).unwrap();
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(CapacityTrace::read(&text[..]).unwrap(), trace);
        trace
    }

    #[test]
    fn a_rate_gives_its_opportunities() {
        // 12 Mbit/s is 1500 bytes per millisecond; at 18 Mbit/s every second millisecond has two opportunities.
        assert_eq!(trace(&direction(Rate::from_mbits_per_sec(12)), 3).opportunities, [at(1), at(2), at(3)]);
        let faster = trace(&direction(Rate::from_mbits_per_sec(18)), 4).opportunities;
        assert_eq!(faster, [1, 2, 2, 3, 4, 4].map(at));
        let slow = trace(&direction(Rate::from_bits_per_sec(64_000)), 750).opportunities;
        assert_eq!(slow, [188, 375, 563, 750].map(at));
    }

    #[test]
    fn changes_and_outages_count() {
        let mut direction = direction(Rate::from_mbits_per_sec(12));
        direction.schedule = vec![change(2, Rate::ZERO), change(5, Rate::from_mbits_per_sec(6))];
        assert_eq!(trace(&direction, 9).opportunities, [1, 2, 7, 9].map(at));
        // Half a packet before a rate change is carried over.
        direction.schedule[0].at = Time::from_picos(2_500_000_000);
        assert_eq!(trace(&direction, 9).opportunities, [1, 2, 6, 8].map(at));
    }

    #[test]
    fn a_plain_trace_is_exported_unchanged() {
        let capacity_trace = CapacityTrace::parse("0\n3\n3\n10\n").unwrap();
        let mut direction = direction(Rate::from_mbits_per_sec(1));
        direction.capacity = Some(Arc::new(capacity_trace.clone()));
        assert_eq!(trace(&direction, 100), capacity_trace);
        // Truncated traces, or traces with another opportunity size, are converted to mahimahi opportunities.
        assert_eq!(trace(&direction, 5).opportunities, [0, 3, 3].map(at));
        direction.capacity = Some(Arc::new(CapacityTrace { bytes_per_opportunity: 750, ..capacity_trace }));
        assert_eq!(trace(&direction, 25).opportunities, [3, 10, 13, 20, 23].map(at));
        direction.schedule = vec![change(12, Rate::ZERO), change(14, Rate::from_mbits_per_sec(1))];
        assert_eq!(trace(&direction, 25).opportunities, [3, 10, 20, 23].map(at));
    }

    #[test]
    fn links_without_a_trace_representation_are_rejected() {
        let second = Duration::from_secs(1);
        let slow = delivery_opportunities(&direction(Rate::from_bits_per_sec(8000)), second);
        assert_eq!(slow, Err(NoTrace::Nothing(second)));
        let fast = delivery_opportunities(&direction(Rate::from_mbits_per_sec(1_000_000)), second);
        assert_eq!(fast, Err(NoTrace::TooLong { lines: 83_333_333 }));
        let mut shaped = direction(Rate::from_mbits_per_sec(12));
        shaped.start_delay.shaper =
            Some(TokenBucketSpec { rate: Rate::from_mbits_per_sec(3), burst: Bytes::new(10_000) });
        assert_eq!(delivery_opportunities(&shaped, second), Err(NoTrace::Unsupported("shaper")));
    }
}
