//! A link's capacity as a trace for mahimahi's `mm-link`.

use core::fmt;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::CapacityTrace;
pub use thalweg_queue::TraceWriteError;
use thalweg_sim::spec::DirectionSpec;

/// Bytes of an opportunity of mahimahi.
const BYTES: u32 = 1500;

/// More lines than this are not written, nor read by us: ten minutes at 1 Gbit/s.
const MAX_LINES: u128 = 50_000_000;

const PICOS_PER_MILLI: u64 = 1_000_000_000;
const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// The reason for which a direction of a link has no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTrace {
    /// Not one packet of 1500 bytes could leave in this time.
    Nothing(Duration),
    /// The trace would have more lines than can be read again.
    TooLong {
        /// The number of lines that it would have.
        lines: u64,
    },
}

impl fmt::Display for NoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(duration) => {
                write!(f, "in {duration} the link could not send {BYTES} bytes, the unit of a trace")
            }
            Self::TooLong { lines } => write!(
                f,
                "the trace would have {lines} lines; {MAX_LINES} is the most: take a shorter duration"
            ),
        }
    }
}

impl core::error::Error for NoTrace {}

/// The times at which a direction of a link can send 1500 bytes from the start of a run for `duration`: an opportunity
/// stands at the first whole millisecond at which the link could have sent that much since the one before, so that the
/// trace never lets more go than the link.
///
/// The link's own trace comes out as it went in, if it is one of mahimahi's and no longer than `duration`. Otherwise the
/// rate and its scheduled changes count, outages included; what the line puts around packets does not. mahimahi repeats
/// a trace from its last opportunity on, so that a pause at the end is not told.
///
/// # Errors
///
/// [`NoTrace`]
pub fn opportunities(direction: &DirectionSpec, duration: Duration) -> Result<CapacityTrace, NoTrace> {
    if let Some(own) = &direction.capacity {
        let is_plain = own.bytes == BYTES
            && own.period <= duration
            && own.opportunities.last() == Some(&(Time::ZERO + own.period))
            && own.opportunities.iter().all(|at| at.as_picos() % PICOS_PER_MILLI == 0)
            && direction.schedule.is_empty();
        if is_plain {
            return Ok(CapacityTrace::clone(own));
        }
    }
    let end = Time::ZERO + duration;
    let mut found = Opportunities::default();
    match &direction.capacity {
        Some(own) => found.take(own, &outages(direction), end)?,
        None => {
            for (span, rate) in rates(direction, end) {
                found.send(span.start, span.end, rate)?;
            }
        }
    }
    let last = found.times.last().filter(|last| **last > Time::ZERO);
    let period = last.ok_or(NoTrace::Nothing(duration))?.since(Time::ZERO);
    Ok(CapacityTrace { opportunities: found.times, period, bytes: BYTES })
}

/// The rates of a direction one after the other, until `end`.
fn rates(direction: &DirectionSpec, end: Time) -> Vec<(core::ops::Range<Time>, Rate)> {
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

/// The spans in which a direction that a trace rules stands still all the same.
fn outages(direction: &DirectionSpec) -> Vec<core::ops::Range<Time>> {
    let stopped = rates(direction, Time::MAX).into_iter().filter(|(_, rate)| rate.is_zero());
    stopped.map(|(span, _)| span).collect()
}

/// Opportunities found so far, and what is left over for the next.
#[derive(Debug, Default)]
struct Opportunities {
    times: Vec<Time>,
    /// In units of 1/(8 x 10^12) bytes, so that rates times picoseconds are whole.
    rest: u128,
}

/// An opportunity in these units.
const UNIT: u128 = BYTES as u128 * 8 * PICOS_PER_SECOND;

impl Opportunities {
    /// The link sends at `rate` from `from` to `until`.
    fn send(&mut self, from: Time, until: Time, rate: Rate) -> Result<(), NoTrace> {
        let bits = u128::from(rate.as_bits_per_sec());
        let sent = self.rest + bits * u128::from(until.since(from).as_picos());
        let count = sent / UNIT;
        self.check(count)?;
        for number in 1..=count {
            let needed = (number * UNIT - self.rest).div_ceil(bits.max(1));
            // Within the span, so that it fits.
            let at = from.as_picos() + needed as u64;
            self.times.push(whole(at));
        }
        self.rest = sent - count * UNIT;
        Ok(())
    }

    /// The link follows a trace, but for times in which it stands still.
    fn take(
        &mut self,
        own: &CapacityTrace,
        still: &[core::ops::Range<Time>],
        end: Time,
    ) -> Result<(), NoTrace> {
        let period = own.period.as_picos();
        let all = u128::from(end.as_picos() / period + 1) * own.opportunities.len() as u128;
        self.check(all)?;
        let each = u128::from(own.bytes) * 8 * PICOS_PER_SECOND;
        for repetition in 0..=end.as_picos() / period {
            for at in &own.opportunities {
                let at = (repetition * period).saturating_add(at.as_picos());
                let time = Time::from_picos(at);
                if time > end {
                    return Ok(());
                }
                if still.iter().any(|span| span.contains(&time)) {
                    continue;
                }
                self.rest += each;
                let count = self.rest / UNIT;
                self.check(count)?;
                let time = whole(at);
                self.times.extend(core::iter::repeat_n(time, count as usize));
                self.rest -= count * UNIT;
            }
        }
        Ok(())
    }

    /// So many more are not too many, to write or to go through.
    fn check(&self, more: u128) -> Result<(), NoTrace> {
        let lines = self.times.len() as u128 + more;
        if lines > MAX_LINES {
            return Err(NoTrace::TooLong { lines: u64::try_from(lines).unwrap_or(u64::MAX) });
        }
        Ok(())
    }
}

/// The first whole millisecond from `picos` on; the last one there is where there is none.
fn whole(picos: u64) -> Time {
    let next = picos.checked_next_multiple_of(PICOS_PER_MILLI);
    Time::from_picos(next.unwrap_or(picos - picos % PICOS_PER_MILLI))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::spec;
    use std::sync::Arc;
    use thalweg_sim::spec::Change;

    fn direction(rate: Rate) -> DirectionSpec {
        DirectionSpec { rate, ..spec().links[0].forward.clone() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn change(millis: u64, rate: Rate) -> Change {
        Change { rate: Some(rate), ..Change::at(at(millis)) }
    }

    /// The trace, which reads back as what it is.
    fn trace(direction: &DirectionSpec, millis: u64) -> CapacityTrace {
        let trace = opportunities(direction, Duration::from_millis(millis)).unwrap();
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(CapacityTrace::read(&text[..]).unwrap(), trace);
        trace
    }

    #[test]
    fn a_rate_gives_its_opportunities() {
        // 12 Mbit/s is 1500 bytes a millisecond; of 18 Mbit/s every second millisecond has two.
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
        // Half a packet before a change is not lost.
        direction.schedule[0].at = Time::from_picos(2_500_000_000);
        assert_eq!(trace(&direction, 9).opportunities, [1, 2, 6, 8].map(at));
    }

    #[test]
    fn a_trace_comes_out_as_it_went_in() {
        let own = CapacityTrace::parse("0\n3\n3\n10\n").unwrap();
        let mut direction = direction(Rate::from_mbits_per_sec(1));
        direction.capacity = Some(Arc::new(own.clone()));
        assert_eq!(trace(&direction, 100), own);
        // Cut, or with opportunities of another size, it is told in mahimahi's terms.
        assert_eq!(trace(&direction, 5).opportunities, [0, 3, 3].map(at));
        direction.capacity = Some(Arc::new(CapacityTrace { bytes: 750, ..own }));
        assert_eq!(trace(&direction, 25).opportunities, [3, 10, 13, 20, 23].map(at));
        direction.schedule = vec![change(12, Rate::ZERO), change(14, Rate::from_mbits_per_sec(1))];
        assert_eq!(trace(&direction, 25).opportunities, [3, 10, 20, 23].map(at));
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let second = Duration::from_secs(1);
        let slow = opportunities(&direction(Rate::from_bits_per_sec(8000)), second);
        assert_eq!(slow, Err(NoTrace::Nothing(second)));
        let fast = opportunities(&direction(Rate::from_mbits_per_sec(1_000_000)), second);
        assert_eq!(fast, Err(NoTrace::TooLong { lines: 83_333_333 }));
    }
}
