//! Path inferred from a recording: its rate, round-trip time, queue and losses.

use super::{Packet, Recording};
use core::fmt;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::CapacityTrace;

/// Path as inferred from a sender's recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Bottleneck rate; if it varies, the median of the busy spans.
    pub rate: Rate,
    /// True if the bottleneck was busy in some spans. Otherwise the rate is the highest observed, a lower bound.
    pub was_filled: bool,
    /// Capacity over time, if it varies.
    pub trace: Option<CapacityTrace>,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Maximum bottleneck queue.
    pub queue: Bytes,
    /// True if packets were lost at long round trips: the queue was full. Always false for a path that was not filled:
    /// then the queue is a lower bound.
    pub queue_was_full: bool,
    /// Losses not caused by the queue.
    pub losses: Losses,
    /// Packets dropped by the queue.
    pub overflows: u64,
    /// Token bucket that drops, if one explains the losses: rate and depth.
    pub policer: Option<(Rate, Bytes)>,
    /// Intervals of the estimates.
    pub intervals: Intervals,
}

/// Lower and upper end of an interval.
pub type Interval = (f64, f64);

/// Intervals that contain the true values with 95 % confidence, if the model of the path is right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Rate, in bit/s: of the median of busy spans, by order statistics; without busy spans from the estimate to infinity.
    pub rate: Interval,
    /// Shortest round trip, in seconds: of the lower end of a distribution (Robson and Whitlock 1964).
    pub round_trip: Interval,
    /// Queue, in bytes: from the 98 % quantile of queueing delays to the longest, at the ends of the rate's interval.
    pub queue: Interval,
    /// Share of lost packets: Wilson's interval.
    pub loss: Interval,
}

/// Loss pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses {
    /// Independent losses with this probability; may be 0.
    Independent(f64),
    /// Bursty losses (Gilbert 1960): everything is lost in the bad state, nothing in the good one.
    Gilbert {
        /// Transition probability from the good to the bad state.
        good_to_bad: f64,
        /// Transition probability from the bad to the good state.
        bad_to_good: f64,
    },
}

/// Error of a recording with too few acknowledged packets for inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPath;

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too little was acknowledged: the minimum is {MIN_ACKNOWLEDGED} packets")
    }
}

impl core::error::Error for NoPath {}

/// Minimum number of acknowledged packets.
const MIN_ACKNOWLEDGED: usize = 20;
/// Minimum length of the spans that the rate is measured over, in seconds.
const SPAN: f64 = 0.1;
/// Maximum number of spans, however long the recording is.
const MAX_SPANS: f64 = 1e6;
/// Margins over the shortest round trip that indicate a queue: relative, and in seconds. The second allows for late
/// answers of hosts.
const QUEUE_MARGINS: (f64, f64) = (0.05, 0.002);
/// Maximum relative deviation from the median, in most busy spans, of a constant rate.
const STEADY: f64 = 0.2;
/// Fraction of the longest queueing delay above which losses are attributed to the queue.
const FULL: f64 = 0.7;
/// Minimum burst length relative to independent losses, and minimum number of bursts, for a Gilbert channel.
const RUNS: (f64, usize) = (1.2, 10);

/// Data acknowledged within a time span.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    bytes: u64,
    /// Shortest round trip that ended in the span.
    round_trip: Option<f64>,
}

impl Path {
    /// Infers the path from `recording`.
    ///
    /// # Errors
    ///
    /// [`NoPath`] if too few packets were acknowledged.
    pub fn infer(recording: &Recording) -> Result<Self, NoPath> {
        let trips = recording.round_trips();
        if trips.len() < MIN_ACKNOWLEDGED {
            return Err(NoPath);
        }
        let mut sorted: Vec<f64> = trips.iter().map(|trip| trip.1).collect();
        sorted.sort_by(f64::total_cmp);
        let shortest = sorted[0];
        let length = SPAN.max(2.0 * shortest).max(recording.seconds / MAX_SPANS);
        let spans = spans(recording, &trips, length);
        let has_queue = |span: &Span| {
            span.round_trip.is_some_and(|trip| trip > shortest * (1.0 + QUEUE_MARGINS.0) + QUEUE_MARGINS.1)
        };
        // A queue that starts or ends within a span did not last for all of it.
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
        // Late answers of hosts are no queueing delay: the longest hundredth of round trips is ignored.
        let longest = sorted[(sorted.len() - 1) * 99 / 100] - shortest;
        let longest = plateau(recording, &trips).map_or(longest, |full| longest.min(full - shortest));
        let is_long = longest > shortest * QUEUE_MARGINS.0 + QUEUE_MARGINS.1;
        let (random, overflows, loss) =
            losses(recording, &trips, |trip| was_filled && is_long && trip - shortest > FULL * longest);
        let waiting = rate / 8.0 * longest;
        // What a bucket drops is neither the queue's loss nor the link's.
        let policer = recording.policer.filter(|_| overflows == 0);
        let rate_interval = match was_filled {
            true => median_interval(&busy),
            false => (rate, f64::INFINITY),
        };
        let intervals = Intervals {
            rate: rate_interval,
            round_trip: lower_end(&sorted),
            queue: queue_interval(&sorted, rate_interval, overflows > 0),
            loss: if policer.is_some() { (0.0, 0.0) } else { loss },
        };
        let product = rate / 8.0 * shortest;
        let queue = if overflows > 0 { waiting } else { waiting.max(product) };
        Ok(Self {
            rate: Rate::from_bits_per_sec(rate as u64),
            was_filled,
            trace: trace.flatten(),
            round_trip: Duration::from_secs_f64(shortest),
            queue: Bytes::new((queue as u64).max(3000)),
            queue_was_full: overflows > 0,
            losses: if policer.is_some() { Losses::Independent(0.0) } else { random },
            overflows,
            policer,
            intervals,
        })
    }
}

/// Returns the data acknowledged in each span of `length` seconds.
fn spans(recording: &Recording, trips: &[(f64, f64)], length: f64) -> Vec<Span> {
    // The last, incomplete span is left out.
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

/// Returns opportunities of 1500 bytes at these rates, each for `length` seconds, at whole milliseconds as in mahimahi.
fn trace(rates: impl Iterator<Item = f64>, length: f64) -> Option<CapacityTrace> {
    const BYTES: u32 = 1500;
    let mut opportunities = Vec::new();
    // Capacity in bits not yet used by an opportunity.
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

/// Maximum number of opportunities: an hour at 100 Mbit/s.
const MAX_OPPORTUNITIES: usize = 30_000_000;

/// Minimum number of losses, and maximum spread of the middle half of their round trips relative to the median queueing delay, of a
/// plateau.
const PLATEAU: (usize, f64) = (10, 0.2);

/// Returns the round trip at losses, if most losses have the same: the queue was full then. Stalls of a host make longer ones.
fn plateau(recording: &Recording, trips: &[(f64, f64)]) -> Option<f64> {
    let mut at_losses = Vec::new();
    let mut trip = None;
    for packet in &recording.packets {
        match packet.acknowledged {
            Some(at) => {
                trip = trips.get(trips.partition_point(|trip| trip.0 < at)).map(|trip| trip.1).or(trip);
            }
            None if packet.lost => at_losses.extend(trip),
            None => {}
        }
    }
    at_losses.sort_by(f64::total_cmp);
    let shortest = trips.iter().map(|trip| trip.1).fold(f64::INFINITY, f64::min);
    let at = |share: f64| at_losses.get((at_losses.len() as f64 * share) as usize).copied();
    let [low, middle, high] = [at(0.25)?, at(0.5)?, at(0.75)?];
    let delay = middle - shortest;
    let is_queue = delay > shortest * QUEUE_MARGINS.0 + QUEUE_MARGINS.1;
    (at_losses.len() >= PLATEAU.0 && is_queue && high - low <= PLATEAU.1 * delay).then_some(high)
}

/// Returns the losses of the link, the number of losses at round trips with `is_full`, attributed to the queue, and the interval
/// of the link's share.
fn losses(
    recording: &Recording,
    trips: &[(f64, f64)],
    is_full: impl Fn(f64) -> bool,
) -> (Losses, u64, Interval) {
    // Losses and packets while the queue was full, and otherwise.
    let (mut full_lost, mut full_sent, mut lost, mut sent, mut runs) = (0u64, 0u64, 0u64, 0u64, 0usize);
    let mut trip = 0.0;
    let mut in_run = false;
    for &Packet { lost: is_lost, acknowledged, .. } in &recording.packets {
        let found = acknowledged.map(|at| trips.partition_point(|trip| trip.0 < at));
        if let Some(found) = found.and_then(|found| trips.get(found)) {
            // The best estimate of a lost packet's round trip is that of the preceding acknowledged packet.
            trip = found.1;
        }
        // Packets in flight carry no information yet.
        if !is_lost && acknowledged.is_none() {
            continue;
        }
        if is_full(trip) {
            full_sent += 1;
            full_lost += u64::from(is_lost);
            in_run = false;
            continue;
        }
        sent += 1;
        lost += u64::from(is_lost);
        runs += usize::from(is_lost && !in_run);
        in_run = is_lost;
    }
    let share = lost as f64 / (sent.max(1)) as f64;
    // The link also loses packets while the queue is full.
    let overflows = full_lost.saturating_sub((share * full_sent as f64) as u64);
    let run = lost as f64 / (runs.max(1)) as f64;
    let by_chance = 1.0 / (1.0 - share).max(1e-9);
    let losses = if runs >= RUNS.1 && run > RUNS.0 * by_chance && share < 1.0 {
        Losses::Gilbert { good_to_bad: (share / (run * (1.0 - share))).min(1.0), bad_to_good: 1.0 / run }
    } else {
        Losses::Independent(share)
    };
    (losses, overflows, wilson(lost, sent))
}

/// Normal quantile of a two-sided interval of 95 %.
const Z: f64 = 1.96;

/// Returns the interval of the median of sorted values: the order statistics at its rank and the binomial deviation.
fn median_interval(sorted: &[f64]) -> Interval {
    let count = sorted.len() as f64;
    let (middle, half) = (count / 2.0, Z * count.sqrt() / 2.0);
    let at = |rank: f64| sorted[(rank.max(0.0) as usize).min(sorted.len() - 1)];
    (at((middle - half).floor()), at((middle + half).ceil()))
}

/// Returns the interval of the lower end of a distribution, from its sorted sample: it is at most 19 times the first gap below the
/// smallest value (Robson and Whitlock 1964).
fn lower_end(sorted: &[f64]) -> Interval {
    let (first, second) = (sorted[0], sorted.get(1).copied().unwrap_or(sorted[0]));
    ((first - 19.0 * (second - first)).max(first / 2.0), first)
}

/// Returns the interval of the queue from sorted round trips and the interval of the rate.
fn queue_interval(sorted: &[f64], rate: Interval, was_full: bool) -> Interval {
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize] - sorted[0];
    let high = rate.1 / 8.0 * at(1.0);
    (rate.0 / 8.0 * at(0.98), if was_full { high } else { f64::INFINITY })
}

/// Returns Wilson's interval of a share.
fn wilson(count: u64, of: u64) -> Interval {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (total, share) = (of as f64, count as f64 / of as f64);
    let spread = Z * Z / total;
    let middle = (share + spread / 2.0) / (1.0 + spread);
    let half = Z / (1.0 + spread) * (share * (1.0 - share) / total + spread / (4.0 * total)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
