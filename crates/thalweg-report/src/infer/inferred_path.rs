//! Path inferred from a recording: its rate, round-trip time, queue and losses.

use super::busy_spans::{Spans, largest, sorted_acks};
use super::outages::{Outage, outages};
use super::path_change::{Base, Change, base_delay_change, margin};
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
    /// Rate of the inferred scenario: the estimate if the path was filled; otherwise an assumption, 1.5 times the lower bound. A
    /// sender of a fixed rate would fill a path that has no more than the lower bound.
    pub simulated_rate: Rate,
    /// Capacity over time, if it varies.
    pub trace: Option<CapacityTrace>,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Maximum bottleneck queue. If it was never full, what was seen waiting, a lower bound.
    pub queue: Bytes,
    /// Queue of the inferred scenario: the maximum if it was full; otherwise an assumption, at least a bandwidth-delay product at
    /// the simulated rate.
    pub simulated_queue: Bytes,
    /// True if packets were lost at long round trips: the queue was full. Always false for a path that was not filled:
    /// then the queue is a lower bound.
    pub queue_was_full: bool,
    /// Change of the shortest round trip during the recording, if there was a lasting one.
    pub change: Option<Change>,
    /// Pauses of the path, in order.
    pub outages: Vec<Outage>,
    /// Losses not caused by the full queue.
    pub losses: Losses,
    /// True if these came with a queueing delay only: active management of the queue may have dropped the packets.
    pub losses_need_queue: bool,
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
    /// Queue, in bytes: from the 98 % quantile of queueing delays to the longest, at the ends of the rate's interval; to infinity if it was
    /// never full.
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
/// Simulated rate of a path that was never filled, relative to the lower bound. Goodputs of senders limited by loss differ little with factors
/// from 1 to 3, and least with this one.
const RATE_HEADROOM: f64 = 1.5;
/// Maximum relative deviation from the median, in most busy spans, of a constant rate.
const STEADY_DEVIATION: f64 = 0.2;
/// Fraction of the longest queueing delay above which losses are attributed to the queue.
const FULL_QUEUE_SHARE: f64 = 0.7;
/// Minimum burst length relative to independent losses, and minimum number of bursts, for a Gilbert channel.
const MIN_LOSS_BURSTS: (f64, usize) = (1.2, 10);

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
        let (change, is_certain) = base_delay_change(recording, &trips).unzip();
        let base = Base { shortest, change };
        let acks = sorted_acks(recording);
        let spans = Spans::new(recording, &acks, &trips, &base);
        let busy = spans.busy_rates();
        let median = spans.busy_median();
        let was_filled = median.is_some();
        let lower_bound = || spans.highest_rate().max(rate_of_packets(recording, shortest));
        let rate = median.unwrap_or_else(lower_bound);
        if rate < 1.0 {
            return Err(NoPath);
        }
        let within = busy.iter().filter(|of| (*of / rate - 1.0).abs() <= STEADY_DEVIATION).count();
        let is_steady = !was_filled || within * 10 >= busy.len() * 8;
        let trace = (!is_steady).then(|| {
            let capacity = |number| spans.busy_rate(number).unwrap_or_else(|| spans.rate(number).max(rate));
            capacity_trace((0..spans.len()).map(capacity), spans.length)
        });
        // While a queue stays, the delay is above the shortest round trip of all.
        let is_delay = |change: &Change| is_certain == Some(true) || !was_filled || spans.had_pauses(change);
        let base = Base { shortest, change: change.filter(is_delay) };
        // A delay of the path that changed is not queueing delay, and where the rate varies a queueing delay is of other bytes.
        let local = if trace.is_some() { spans.nearest_rates() } else { Vec::new() };
        let waits: Vec<(f64, f64)> = trips
            .iter()
            .map(|&(at, trip)| {
                let factor = local.get((at / spans.length) as usize).map_or(1.0, |local| local / rate);
                (at, (trip - base.at(at)).max(0.0) * factor)
            })
            .collect();
        let mut sorted_waits: Vec<f64> = waits.iter().map(|wait| wait.1).collect();
        sorted_waits.sort_by(f64::total_cmp);
        // Late answers of hosts are not queueing delay: the longest hundredth of round trips is ignored.
        let longest = sorted_waits[(sorted_waits.len() - 1) * 99 / 100];
        let min = margin(shortest);
        let longest =
            delay_at_losses(recording, &waits, min, longest).map_or(longest, |full| longest.min(full));
        let is_full = |wait: f64| was_filled && longest > min && wait > FULL_QUEUE_SHARE * longest;
        let (random, overflows, loss) = link_losses(recording, &waits, &is_full);
        let losses_need_queue = was_filled && need_queue(recording, &waits, &is_full, min);
        // What a bucket drops is neither the queue's loss nor the link's.
        let policer = recording.policer.filter(|_| overflows == 0);
        let packet = largest(recording);
        let rate_interval = match was_filled {
            true => median_interval(busy, packet * 8.0 / spans.length),
            false => (rate, f64::INFINITY),
        };
        let (round_trip, round_trip_interval) = lower_end(&sorted);
        let full = (overflows > 0).then_some(longest);
        let (queue, queue_interval) = queue_capacity(&sorted_waits, rate, rate_interval, packet, full);
        let intervals = Intervals {
            rate: rate_interval,
            round_trip: round_trip_interval,
            queue: queue_interval,
            loss: if policer.is_some() { (0.0, 0.0) } else { loss },
        };
        let simulated_rate = if was_filled { rate } else { RATE_HEADROOM * rate };
        let assumed = if overflows > 0 { queue } else { queue.max(simulated_rate / 8.0 * round_trip) };
        Ok(Self {
            rate: Rate::from_bits_per_sec(rate.round() as u64),
            was_filled,
            simulated_rate: Rate::from_bits_per_sec(simulated_rate.round() as u64),
            trace: trace.flatten(),
            round_trip: Duration::from_secs_f64(round_trip),
            queue: Bytes::new(queue as u64),
            simulated_queue: Bytes::new((assumed as u64).max(3000)),
            queue_was_full: overflows > 0,
            change: base.change,
            outages: outages(recording, &acks, shortest),
            losses_need_queue,
            losses: if policer.is_some() { Losses::Independent(0.0) } else { random },
            overflows,
            policer,
            intervals,
        })
    }
}

/// Returns a lower bound of the rate in bit/s from the packets, for recordings shorter than a span too. It is the highest of three: no packet took
/// longer for its transmission than the shortest round trip; the packets of a flight, sent within a shortest round trip, took no longer than from the
/// first one to the last acknowledgement, and so did those of the whole recording. The first one of several may have passed the bottleneck before it
/// was recorded, and the original of a retransmission before the retransmission.
fn rate_of_packets(recording: &Recording, shortest: f64) -> f64 {
    let acknowledged = recording.packets.iter().filter_map(|packet| Some((packet, packet.acknowledged?)));
    let smallest = acknowledged.clone().map(|(packet, _)| packet.size).min().unwrap_or(0);
    let of_one = (shortest > 0.0).then(|| f64::from(smallest) * 8.0 / shortest);
    let originals = acknowledged.filter(|(packet, _)| !packet.is_retransmission);
    let mut originals: Vec<(f64, f64, u32)> =
        originals.map(|(packet, at)| (packet.sent_at, at, packet.size)).collect();
    originals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_several = |packets: &[(f64, f64, u32)]| {
        let (first, others) = packets.split_first()?;
        let bytes: u64 = others.iter().map(|of| u64::from(of.2)).sum();
        let last = others.iter().map(|of| of.1).fold(first.0, f64::max);
        (last > first.0).then(|| bytes as f64 * 8.0 / (last - first.0))
    };
    let flight = |packet: &(f64, f64, u32)| (packet.0 / shortest.max(1e-6)) as u64;
    let flights = originals.chunk_by(|a, b| flight(a) == flight(b)).chain([&originals[..]]);
    flights.filter_map(of_several).chain(of_one).fold(0.0, f64::max)
}

/// Returns opportunities of 1500 bytes at these rates, each for `length` seconds, at whole milliseconds as in mahimahi.
fn capacity_trace(rates: impl Iterator<Item = f64>, length: f64) -> Option<CapacityTrace> {
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
    Some(CapacityTrace { opportunities, period, bytes_per_opportunity: BYTES })
}

/// Maximum number of opportunities: an hour at 100 Mbit/s.
const MAX_OPPORTUNITIES: usize = 30_000_000;

/// Minimum number of losses, and maximum spread of the middle half of their queueing delays relative to the median, of a plateau.
const PLATEAU_LOSSES: (usize, f64) = (10, 0.2);

/// Returns the queueing delay at losses, if most losses have the same, more than `min`, and hardly any packet waited longer: the queue was
/// full then. Stalls of a host make longer ones; `longest` is the delay that a hundredth of the packets exceeds.
fn delay_at_losses(recording: &Recording, waits: &[(f64, f64)], min: f64, longest: f64) -> Option<f64> {
    let mut at_losses = Vec::new();
    let mut wait = None;
    for packet in &recording.packets {
        match packet.acknowledged {
            Some(at) => {
                wait = waits.get(waits.partition_point(|wait| wait.0 < at)).map(|wait| wait.1).or(wait);
            }
            None if packet.is_lost => at_losses.extend(wait),
            None => {}
        }
    }
    at_losses.sort_by(f64::total_cmp);
    let at = |share: f64| at_losses.get((at_losses.len() as f64 * share) as usize).copied();
    let [low, middle, high] = [at(0.25)?, at(0.5)?, at(0.75)?];
    let beyond = waits.iter().filter(|wait| wait.1 > high * (1.0 + PLATEAU_LOSSES.1)).count();
    let is_longest = longest <= high * (1.0 + PLATEAU_LOSSES.1) || beyond * 50 <= waits.len();
    (at_losses.len() >= PLATEAU_LOSSES.0
        && middle > min
        && high - low <= PLATEAU_LOSSES.1 * middle
        && is_longest)
        .then_some(high)
}

/// Minimum number of losses that are expected without a queue for others to be no chance, and their maximum share then.
const WITHOUT_QUEUE: (f64, f64) = (7.0, 0.1);

/// Returns true if the losses while the queue was not full came with queueing delays of more than `min`, beyond chance.
fn need_queue(recording: &Recording, waits: &[(f64, f64)], is_full: &dyn Fn(f64) -> bool, min: f64) -> bool {
    let (mut lost, mut lost_without, mut sent, mut sent_without) = (0u64, 0u64, 0u64, 0u64);
    let mut wait = 0.0;
    for packet in &recording.packets {
        let found = packet.acknowledged.map(|at| waits.partition_point(|wait| wait.0 < at));
        if let Some(found) = found.and_then(|found| waits.get(found)) {
            wait = found.1;
        }
        if is_full(wait) || !packet.is_lost && packet.acknowledged.is_none() {
            continue;
        }
        let is_without = u64::from(wait <= min);
        (sent, sent_without) = (sent + 1, sent_without + is_without);
        if packet.is_lost {
            (lost, lost_without) = (lost + 1, lost_without + is_without);
        }
    }
    let expected = lost as f64 * sent_without as f64 / (sent.max(1)) as f64;
    expected >= WITHOUT_QUEUE.0 && lost_without as f64 <= WITHOUT_QUEUE.1 * expected
}

/// Returns the losses of the link, the number of losses at queueing delays with `is_full`, attributed to the queue, and the interval
/// of the link's share.
fn link_losses(
    recording: &Recording,
    waits: &[(f64, f64)],
    is_full: &dyn Fn(f64) -> bool,
) -> (Losses, u64, Interval) {
    // Losses and packets while the queue was full, and otherwise.
    let (mut full_lost, mut full_sent, mut lost, mut sent, mut runs) = (0u64, 0u64, 0u64, 0u64, 0usize);
    let mut wait = 0.0;
    let mut in_run = false;
    for &Packet { is_lost, acknowledged, .. } in &recording.packets {
        let found = acknowledged.map(|at| waits.partition_point(|wait| wait.0 < at));
        if let Some(found) = found.and_then(|found| waits.get(found)) {
            // The best estimate of a lost packet's queueing delay is that of the preceding acknowledged packet.
            wait = found.1;
        }
        // Packets in flight carry no information yet.
        if !is_lost && acknowledged.is_none() {
            continue;
        }
        if is_full(wait) {
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
    let expected = share * full_sent as f64;
    let overflows = full_lost.saturating_sub(expected as u64);
    if overflows > 0 && overflows as f64 <= CHANCE_DEVIATIONS * expected.sqrt() {
        // As many as by chance: the queue dropped none.
        return link_losses(recording, waits, &|_| false);
    }
    let run = lost as f64 / (runs.max(1)) as f64;
    let by_chance = 1.0 / (1.0 - share).max(1e-9);
    let losses = if runs >= MIN_LOSS_BURSTS.1 && run > MIN_LOSS_BURSTS.0 * by_chance && share < 1.0 {
        Losses::Gilbert { good_to_bad: (share / (run * (1.0 - share))).min(1.0), bad_to_good: 1.0 / run }
    } else {
        Losses::Independent(share)
    };
    (losses, overflows, wilson_interval(lost, sent))
}

/// Losses at a full queue beyond those that are expected of the link, in standard deviations, that are more than chance.
const CHANCE_DEVIATIONS: f64 = 4.0;
/// Normal quantile of a two-sided interval of 95 %.
const NORMAL_QUANTILE: f64 = 1.96;

/// Returns the interval of the median of sorted values: the order statistics at its rank and the binomial deviation. It is no narrower than the
/// resolution of the values allows.
fn median_interval(sorted: &[f64], resolution: f64) -> Interval {
    let count = sorted.len() as f64;
    let (middle, half) = (count / 2.0, NORMAL_QUANTILE * count.sqrt() / 2.0);
    let at = |rank: f64| sorted[(rank.max(0.0) as usize).min(sorted.len() - 1)];
    let (median, error) = (sorted[sorted.len() / 2], resolution / count.sqrt());
    (at((middle - half).floor()).min(median - error).max(0.0), at((middle + half).ceil()).max(median + error))
}

/// Returns the lower end of a distribution from its sorted sample, and the interval: with the density at the end constant, the distance
/// of the smallest value from the end relative to that of the tenth from the smallest is at most t / (1 - t) with (1 - t)^9 = 0.05
/// (Robson and Whitlock 1964; Cooke 1979).
fn lower_end(sorted: &[f64]) -> (f64, Interval) {
    let (first, tenth) = (sorted[0], sorted[9.min(sorted.len() - 1)]);
    let not = 0.05f64.powf(1.0 / 9.0);
    (first, ((first - (1.0 - not) / not * (tenth - first)).max(first / 2.0), first))
}

/// Returns the queue and its interval, from sorted queueing delays at `rate` and the interval of the rate. `full` is the delay of the full
/// queue, if it was full; otherwise the lower end is the estimate. A full queue is known to a `packet` or two, in bytes: the rest of one in
/// transmission counts, and the last one that fits does not wait for itself.
fn queue_capacity(
    sorted: &[f64],
    rate: f64,
    rates: Interval,
    packet: f64,
    full: Option<f64>,
) -> (f64, Interval) {
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let seen = rates.0 / 8.0 * at(0.98);
    match full {
        Some(delay) => {
            let queue = rate / 8.0 * delay;
            (queue, (seen.min(queue - packet).max(0.0), (rates.1 / 8.0 * at(1.0)).max(queue + 2.0 * packet)))
        }
        None => (seen, (seen, f64::INFINITY)),
    }
}

/// Returns Wilson's interval of a share.
fn wilson_interval(count: u64, of: u64) -> Interval {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (total, share) = (of as f64, count as f64 / of as f64);
    let spread = NORMAL_QUANTILE * NORMAL_QUANTILE / total;
    let middle = (share + spread / 2.0) / (1.0 + spread);
    let half =
        NORMAL_QUANTILE / (1.0 + spread) * (share * (1.0 - share) / total + spread / (4.0 * total)).sqrt();
    // Without rounding.
    let low = if count == 0 { 0.0 } else { (middle - half).max(0.0) };
    (low, if count == of { 1.0 } else { (middle + half).min(1.0) })
}
