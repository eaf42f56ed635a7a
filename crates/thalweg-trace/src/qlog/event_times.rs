//! Times of a trace: units, formats, and the wall clock.

use super::Head;
use crate::trace_model::{Connection, Direction};
use serde_json::Value;
use thalweg_units::{Duration, Time};

/// Conversion of a trace's times.
pub(super) struct Clock {
    /// Times by event, from the earliest one.
    times: Vec<Time>,
    /// Unit of times and round-trip times, in seconds.
    pub(super) unit: f64,
    /// Wall-clock time of [`Time::ZERO`], in seconds since 1970.
    pub(super) epoch: Option<f64>,
    /// Events before the time of their predecessor.
    pub(super) jumps: u64,
}

impl Clock {
    pub(super) fn new(head: &Head, times: &[f64]) -> Self {
        let field = |key: &str| match &head.common_fields[key] {
            Value::Null => &head.configuration[key],
            value => value,
        };
        let unit = match field("time_units").as_str() {
            Some("us") => 1e-6,
            Some("ns") => 1e-9,
            Some("s") => 1.0,
            _ => 1e-3,
        };
        let is_delta = matches!(field("time_format").as_str(), Some("delta" | "relative_to_previous_event"));
        let mut sum = 0.0;
        let written: Vec<f64> = times
            .iter()
            .map(|time| {
                sum += time;
                if is_delta { sum } else { *time }
            })
            .collect();
        let first = written.iter().copied().fold(f64::INFINITY, f64::min);
        let (mut before, mut jumps) = (Time::ZERO, 0);
        let times = written.iter().map(|time| {
            let seconds = ((time - first) * unit).min(MAX_SECONDS);
            let time = Time::ZERO + Duration::from_secs_f64(seconds);
            jumps += u64::from(before.since(time) > Duration::from_millis(1));
            before = before.max(time);
            before
        });
        let times: Vec<Time> = times.collect();
        let reference = field("reference_time");
        let named = reference["wall_clock_time"].as_str().and_then(crate::date_parsing::rfc3339);
        let number = reference.as_f64().or_else(|| reference.as_str().and_then(|text| text.parse().ok()));
        let reference = named.or(number.map(wall_clock).filter(|seconds| *seconds > YEAR_2001));
        let is_absolute = first * unit > YEAR_2001;
        let epoch = match is_absolute {
            true => Some(first * unit),
            false => reference.map(|reference| reference + first * unit),
        };
        Self { times, unit, epoch: epoch.filter(|epoch| epoch.is_finite()), jumps }
    }

    /// Returns the time of an event by its index; [`Time::MAX`] stays.
    pub(super) fn time(&self, index: Time) -> Time {
        let at = usize::try_from(index.as_picos()).ok();
        at.and_then(|at| self.times.get(at)).copied().unwrap_or(Time::MAX)
    }
}

/// Returns a wall-clock time of unknown unit in seconds: the unit of a date in this century.
fn wall_clock(number: f64) -> f64 {
    match number.abs() {
        ..1e11 => number,
        ..1e14 => number / 1e3,
        ..1e17 => number / 1e6,
        _ => number / 1e9,
    }
}

/// Maximum duration of a trace, in seconds: 200 days.
pub(super) const MAX_SECONDS: f64 = 200.0 * 86_400.0;
/// A wall-clock time before all logs of this kind, in seconds since 1970.
const YEAR_2001: f64 = 1e9;

impl Connection {
    /// Moves all times by `shift`.
    pub(crate) fn shift(&mut self, shift: Duration) {
        let moved = |time: &mut Time| {
            if *time != Time::MAX {
                *time += shift;
            }
        };
        moved(&mut self.start);
        moved(&mut self.end);
        self.directions.iter_mut().for_each(|direction| direction.each_time(moved));
    }
}

impl Direction {
    /// Calls `each` with all times.
    pub(super) fn each_time(&mut self, each: impl Fn(&mut Time)) {
        for packet in &mut self.packets {
            each(&mut packet.time);
            each(&mut packet.acked_at);
            each(&mut packet.lost_at);
        }
        self.acks.iter_mut().for_each(|ack| each(&mut ack.time));
        self.sacks.iter_mut().for_each(|sack| each(&mut sack.time));
        self.round_trips.iter_mut().chain(&mut self.echoed).for_each(|sample| each(&mut sample.0));
        self.metrics.values_mut().flatten().for_each(|point| each(&mut point.0));
        self.timeouts.iter_mut().for_each(|timeout| each(&mut timeout.time));
        for (from, until, _) in &mut self.limits {
            each(from);
            each(until);
        }
    }
}
