//! The path that a recording tells of: its rate, round trip, queue and losses.

use super::{Packet, Recording};
use core::fmt;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::CapacityTrace;

/// A path, as far as a sender can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The rate of its bottleneck; of one that varies, the middle of what was seen.
    pub rate: Rate,
    /// There were spans in which the bottleneck was busy. Without, the rate is the highest that was seen.
    pub was_filled: bool,
    /// The capacity over time, if it varies.
    pub trace: Option<CapacityTrace>,
    /// The shortest round trip.
    pub round_trip: Duration,
    /// The most that waits at the bottleneck.
    pub queue: Bytes,
    /// Packets were lost while round trips were long: the queue was full. Never where the path was not filled: then nothing is
    /// known of the queue but that it was no shorter.
    pub queue_was_full: bool,
    /// Losses that were not the queue's.
    pub losses: Losses,
    /// Packets that the queue dropped.
    pub overflows: u64,
}

/// The pattern in which packets were lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses {
    /// Each by itself, with this probability; maybe 0.
    Independent(f64),
    /// In runs (Gilbert 1960): all is lost in the bad state, nothing in the good one.
    Gilbert {
        /// The probability to go from the good to the bad state.
        good_to_bad: f64,
        /// The probability to go back.
        bad_to_good: f64,
    },
}

/// The error of a recording from which nothing can be told, because too little was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPath;

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too little was acknowledged to tell anything: {LEAST} packets are the least")
    }
}

impl core::error::Error for NoPath {}

/// Acknowledged packets without which nothing is told.
const LEAST: usize = 20;
/// The rate is measured over spans of at least so many seconds.
const SPAN: f64 = 0.1;
/// No more spans than this, however long the recording is.
const MAX_SPANS: f64 = 1e6;
/// Round trips longer than the shortest by this share of it, and by this many seconds, show that there is a queue. Hosts
/// answer late, too.
const LONGER: (f64, f64) = (0.05, 0.002);
/// A rate that was within this share of its middle in most busy spans is one rate.
const STEADY: f64 = 0.2;
/// Losses above this share of the longest queue are the queue's.
const FULL: f64 = 0.7;
/// Runs that are so much longer than by chance make a Gilbert channel, if there are enough of them.
const RUNS: (f64, usize) = (1.2, 10);

/// The data acknowledged within a span of time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    bytes: u64,
    /// The shortest round trip that ended in it.
    round_trip: Option<f64>,
}

impl Path {
    /// The path that `recording` tells of.
    ///
    /// # Errors
    ///
    /// [`NoPath`] if too few of its packets were acknowledged.
    pub fn infer(recording: &Recording) -> Result<Self, NoPath> {
        let trips = recording.round_trips();
        if trips.len() < LEAST {
            return Err(NoPath);
        }
        let mut sorted: Vec<f64> = trips.iter().map(|trip| trip.1).collect();
        sorted.sort_by(f64::total_cmp);
        let shortest = sorted[0];
        let length = SPAN.max(2.0 * shortest).max(recording.seconds / MAX_SPANS);
        let spans = spans(recording, &trips, length);
        let has_queue =
            |span: &Span| span.round_trip.is_some_and(|trip| trip > shortest * (1.0 + LONGER.0) + LONGER.1);
        // A queue that comes or goes within a span was not there for all of it.
        let is_busy = |number: usize| {
            let around = spans.get(number.saturating_sub(1)..number + 2);
            around.is_some_and(|around| around.iter().all(has_queue))
        };
        let rate_of = |span: &Span| span.bytes as f64 * 8.0 / length;
        let all = || spans.iter().enumerate();
        let mut busy: Vec<f64> =
            all().filter(|(number, _)| is_busy(*number)).map(|(_, span)| rate_of(span)).collect();
        busy.sort_by(f64::total_cmp);
        let was_filled = busy.len() >= 3;
        let rate = match was_filled {
            true => busy[busy.len() / 2],
            false => spans.iter().map(rate_of).fold(0.0, f64::max),
        };
        if rate < 1.0 {
            return Err(NoPath);
        }
        let within = busy.iter().filter(|of| (*of / rate - 1.0).abs() <= STEADY).count();
        let is_steady = !was_filled || within * 10 >= busy.len() * 8;
        let trace = (!is_steady).then(|| {
            let capacity = |(number, span): (usize, &Span)| match is_busy(number) {
                true => rate_of(span),
                false => rate_of(span).max(rate),
            };
            trace(all().map(capacity), length)
        });
        // Round trips that ended with a late answer are not the queue's: the longest hundredth does not count.
        let longest = sorted[(sorted.len() - 1) * 99 / 100] - shortest;
        let is_long = longest > shortest * LONGER.0 + LONGER.1;
        let (random, overflows) =
            losses(recording, &trips, |trip| was_filled && is_long && trip - shortest > FULL * longest);
        let waiting = rate / 8.0 * longest;
        let product = rate / 8.0 * shortest;
        let queue = if overflows > 0 { waiting } else { waiting.max(product) };
        Ok(Self {
            rate: Rate::from_bits_per_sec(rate as u64),
            was_filled,
            trace: trace.flatten(),
            round_trip: Duration::from_secs_f64(shortest),
            queue: Bytes::new((queue as u64).max(3000)),
            queue_was_full: overflows > 0,
            losses: random,
            overflows,
        })
    }
}

/// The data acknowledged in each span of `length` seconds.
fn spans(recording: &Recording, trips: &[(f64, f64)], length: f64) -> Vec<Span> {
    // The last, which is not complete, does not count.
    let mut spans = vec![Span::default(); (recording.seconds / length) as usize];
    for packet in &recording.packets {
        let Some(at) = packet.acknowledged else { continue };
        let Some(span) = spans.get_mut((at / length) as usize) else { continue };
        span.bytes += u64::from(packet.size);
    }
    for &(at, trip) in trips {
        if let Some(span) = spans.get_mut((at / length) as usize) {
            span.round_trip = Some(span.round_trip.map_or(trip, |shortest| shortest.min(trip)));
        }
    }
    spans
}

/// Opportunities of 1500 bytes at these rates, each for `length` seconds, at whole milliseconds as mahimahi has them.
fn trace(rates: impl Iterator<Item = f64>, length: f64) -> Option<CapacityTrace> {
    const BYTES: u32 = 1500;
    let mut opportunities = Vec::new();
    // Bits that have become possible and are not in an opportunity yet.
    let (mut credit, mut end) = (0.0, 0.0);
    for rate in rates {
        let begin = (end * 1e3) as u64;
        end += length;
        for millis in begin..(end * 1e3) as u64 {
            if opportunities.len() == MAX_OPPORTUNITIES {
                break;
            }
            credit += rate / 1e3;
            while credit >= f64::from(BYTES) * 8.0 && opportunities.len() < MAX_OPPORTUNITIES {
                credit -= f64::from(BYTES) * 8.0;
                opportunities.push(Time::ZERO + Duration::from_millis(millis + 1));
            }
        }
    }
    let period = opportunities.last()?.since(Time::ZERO);
    Some(CapacityTrace { opportunities, period, bytes: BYTES })
}

/// An hour at 100 Mbit/s.
const MAX_OPPORTUNITIES: usize = 30_000_000;

/// Losses on the wire, and how many were the queue's: those at round trips of which `is_full` holds.
fn losses(recording: &Recording, trips: &[(f64, f64)], is_full: impl Fn(f64) -> bool) -> (Losses, u64) {
    let (mut overflows, mut lost, mut sent, mut runs) = (0u64, 0u64, 0u64, 0usize);
    let mut trip = 0.0;
    let mut in_run = false;
    for &Packet { lost: is_lost, acknowledged, .. } in &recording.packets {
        let found = acknowledged.map(|at| trips.partition_point(|trip| trip.0 < at));
        if let Some(found) = found.and_then(|found| trips.get(found)) {
            // What a packet met shows best at the one before it that came through.
            trip = found.1;
        }
        let is_random = is_lost && !is_full(trip);
        if is_lost && !is_random {
            overflows += 1;
            in_run = false;
            continue;
        }
        // What is still on its way says nothing.
        if !is_lost && acknowledged.is_none() {
            continue;
        }
        sent += 1;
        lost += u64::from(is_random);
        runs += usize::from(is_random && !in_run);
        in_run = is_random;
    }
    let share = lost as f64 / (sent.max(1)) as f64;
    let run = lost as f64 / (runs.max(1)) as f64;
    let by_chance = 1.0 / (1.0 - share).max(1e-9);
    let losses = if runs >= RUNS.1 && run > RUNS.0 * by_chance && share < 1.0 {
        Losses::Gilbert { good_to_bad: (share / (run * (1.0 - share))).min(1.0), bad_to_good: 1.0 / run }
    } else {
        Losses::Independent(share)
    };
    (losses, overflows)
}
