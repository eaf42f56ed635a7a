//! Fit of a token bucket to the losses of a flow.
//!
//! A bucket of rate r and depth b drops a packet exactly when its tokens do not suffice. With D the tokens missing from a full bucket, of a
//! full bucket at the start, D grows by each delivered packet and falls by r per second, to 0 at least; a packet of size s is dropped when
//! D + s > b. D does not depend on b: for each candidate of r, one pass gives D + s of all packets, and b is the threshold that separates
//! the lost from the delivered best. Candidates of r are the delivered rates between pairs of losses: the bucket was empty at both.
//!
//! The fit is compared with losses at random, each by itself or in runs (a two-state Markov chain), by the Bayesian information criterion
//! (Schwarz 1978), and has to predict nearly every loss and contradict hardly any delivery.

use super::MeasuredDirection;
use crate::sorted_quantile;
use crate::trace_model::Packet;
use thalweg_units::Time;

/// Token bucket that explains losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenBucket {
    /// Rate, in bytes per second.
    pub(super) rate: f64,
    /// Depth, in bytes.
    pub(super) burst: f64,
    /// Times of the first and the last loss.
    pub(super) first: Time,
    pub(super) last: Time,
    /// Number of losses.
    pub(super) count: u64,
}

/// Minimum number of losses of a fit.
const MIN_LOSSES: usize = 10;
/// Minimum share of the losses that the bucket predicts, and minimum share of predicted losses that happened. Of losses at random, a bucket
/// that predicts the first share predicts several times as many that did not happen; captures that do not show each loss of a repair
/// shift the prediction.
const MIN_SHARES: (f64, f64) = (0.8, 0.6);
/// Minimum depth of a bucket, in packets: nearly any loss follows a few packets sent at once.
const MIN_DEPTH: f64 = 4.0;
/// Minimum gain over random losses, by the Bayesian information criterion.
const MIN_GAIN: f64 = 20.0;
/// Maximum number of packets that candidates are compared on.
const MAX_COMPARED: usize = 100_000;
/// Number of pairs of losses of each distance that give candidates.
const PAIRS: usize = 10;
/// Relative changes by which the best rate is improved. The first also finds rates that no pair of losses shows, as the bucket was full
/// between them.
const RATE_CHANGES: [f64; 8] = [5e-2, 2e-2, 5e-3, 2e-3, 5e-4, 2e-4, 5e-5, 2e-5];
/// Maximum number of steps of each change.
const MAX_STEPS: usize = 8;
/// Shares of the losses that a threshold may leave unexplained.
const UNEXPLAINED_SHARES: [f64; 6] = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2];

/// A packet with a known outcome.
#[derive(Clone, Copy)]
struct Arrival {
    /// Time since the first packet, in seconds.
    time: f64,
    size: f64,
    /// Time until its acknowledgement, in seconds; `None` if it was lost.
    rtt: Option<f64>,
}

impl Arrival {
    /// Returns the arrival of a packet since `start`; `None` without an outcome, as for one more copy of data.
    fn of_packet(packet: &Packet, start: Time) -> Option<Self> {
        let is_lost = packet.is_lost_on_path();
        (is_lost || packet.is_acked()).then(|| Self {
            time: packet.time.since(start).as_secs_f64(),
            size: f64::from(packet.size),
            rtt: (!is_lost).then(|| packet.acked_at.since(packet.time).as_secs_f64()),
        })
    }

    const fn is_lost(&self) -> bool {
        self.rtt.is_none()
    }
}

/// Outcomes against the predictions of a bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Losses that are predicted, and not.
    lost: [u64; 2],
    /// Deliveries that contradict the bucket, and not.
    delivered: [u64; 2],
}

/// A candidate with its threshold and its counts.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    rate: f64,
    burst: f64,
    counts: Counts,
}

/// Returns the log-likelihood of `yes` outcomes against `no` others, with their own share.
fn log_likelihood(yes: u64, no: u64) -> f64 {
    let (yes, no) = (yes as f64, no as f64);
    let of = |count: f64| if count > 0.0 { count * (count / (yes + no)).ln() } else { 0.0 };
    of(yes) + of(no)
}

impl Counts {
    fn log_likelihood(&self) -> f64 {
        let [[hit, miss], [wrong, right]] = [self.lost, self.delivered];
        log_likelihood(hit, wrong) + log_likelihood(miss, right)
    }

    /// Returns true if the bucket predicts nearly all losses, and nearly all predicted losses happened.
    fn is_explained(&self) -> bool {
        let [[hit, miss], [wrong, _]] = [self.lost, self.delivered].map(|of| of.map(|count| count as f64));
        hit >= MIN_SHARES.0 * (hit + miss) && hit >= MIN_SHARES.1 * (hit + wrong)
    }
}

/// Returns the token bucket that explains the losses of a direction, if one does.
pub(super) fn token_bucket_fit(measured: &MeasuredDirection<'_>) -> Option<TokenBucket> {
    let packets = &measured.direction.packets;
    let first = packets.iter().position(Packet::is_lost_on_path)?;
    let last = packets.iter().rposition(Packet::is_lost_on_path)?;
    let start = packets[0].time;
    let arrivals: Vec<Arrival> =
        packets[..=last].iter().filter_map(|packet| Arrival::of_packet(packet, start)).collect();
    let count = arrivals.iter().filter(|arrival| arrival.is_lost()).count();
    if count < MIN_LOSSES || count * 2 > arrivals.len() {
        return None;
    }
    let compared = &arrivals[..arrivals.len().min(MAX_COMPARED.max(first * 2))];
    let best = best_candidate(compared)?;
    let best = if compared.len() < arrivals.len() {
        candidate(&arrivals, best.rate, &mut Vec::new())?
    } else {
        best
    };
    let gain = 2.0 * (best.counts.log_likelihood() - random_log_likelihood(&arrivals))
        // Two parameters more than those of a Markov chain.
        - 2.0 * (arrivals.len() as f64).ln();
    let is_fit = best.counts.is_explained()
        && gain >= MIN_GAIN
        && best.burst >= MIN_DEPTH * measured.segment_bytes as f64;
    let found = TokenBucket {
        rate: best.rate,
        burst: best.burst,
        first: packets[first].time,
        last: packets[last].time,
        count: count as u64,
    };
    (is_fit && !is_queue(measured, &arrivals, &best)).then_some(found)
}

/// Returns the log-likelihood of losses at random: each by itself, or depending on the outcome of the packet before.
fn random_log_likelihood(arrivals: &[Arrival]) -> f64 {
    let mut after = [[0; 2]; 2];
    let mut before = false;
    for arrival in arrivals {
        after[usize::from(before)][usize::from(arrival.is_lost())] += 1;
        before = arrival.is_lost();
    }
    after.map(|[delivered, lost]| log_likelihood(lost, delivered)).iter().sum()
}

/// Returns the candidate of the highest likelihood.
fn best_candidate(arrivals: &[Arrival]) -> Option<Candidate> {
    let mut memory = Vec::with_capacity(arrivals.len());
    let mut best: Option<Candidate> = None;
    let mut is_better = |rate: f64| {
        let of = candidate(arrivals, rate, &mut memory);
        let likelihood =
            |of: Option<Candidate>| of.map_or(f64::NEG_INFINITY, |of| of.counts.log_likelihood());
        let is_better = likelihood(of) > likelihood(best);
        if is_better {
            best = of;
        }
        is_better
    };
    let mut rate = 0.0;
    for other in candidate_rates(arrivals) {
        if is_better(other) {
            rate = other;
        }
    }
    for change in RATE_CHANGES {
        for factor in [1.0 + change, 1.0 - change] {
            for _ in 0..MAX_STEPS {
                if !is_better(rate * factor) {
                    break;
                }
                rate *= factor;
            }
        }
    }
    best
}

/// Returns delivered rates between pairs of losses, in bytes per second.
fn candidate_rates(arrivals: &[Arrival]) -> Vec<f64> {
    // Time of each loss, and the bytes delivered before.
    let mut losses = Vec::new();
    let mut delivered = 0.0;
    for arrival in arrivals {
        match arrival.is_lost() {
            true => losses.push((arrival.time, delivered)),
            false => delivered += arrival.size,
        }
    }
    let mut rates = Vec::new();
    let mut distance = 1;
    while distance < losses.len() {
        let starts = losses.len() - distance;
        for number in 0..PAIRS.min(starts) {
            let from = number * starts / PAIRS.min(starts);
            let ((begin, before), (end, after)) = (losses[from], losses[from + distance]);
            if end > begin && after > before {
                rates.push((after - before) / (end - begin));
            }
        }
        distance = if distance * 2 < losses.len() || distance + 1 >= losses.len() {
            distance * 2
        } else {
            losses.len() - 1
        };
    }
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|later, rate| *later < *rate * (1.0 + RATE_CHANGES[RATE_CHANGES.len() - 1]));
    rates
}

/// Returns D + s of each arrival, in bytes: the tokens that would be missing from a full bucket of this rate after the packet.
fn missing_tokens(arrivals: &[Arrival], rate: f64) -> impl Iterator<Item = (&Arrival, f64)> {
    let (mut missing, mut time) = (0.0, 0.0);
    arrivals.iter().map(move |arrival| {
        missing = f64::max(missing - rate * (arrival.time - time), 0.0);
        time = arrival.time;
        let after = missing + arrival.size;
        if !arrival.is_lost() {
            missing = after;
        }
        (arrival, after)
    })
}

/// Returns a rate's candidate: its threshold is the one of the highest likelihood.
fn candidate(arrivals: &[Arrival], rate: f64, missing: &mut Vec<f64>) -> Option<Candidate> {
    missing.clear();
    missing.extend(missing_tokens(arrivals, rate).map(|(_, missing)| missing));
    let pairs = || arrivals.iter().zip(&*missing);
    let mut at_losses: Vec<f64> =
        pairs().filter(|(of, _)| of.is_lost()).map(|(_, missing)| *missing).collect();
    at_losses.sort_unstable_by(f64::total_cmp);
    let mut best: Option<Candidate> = None;
    for share in UNEXPLAINED_SHARES {
        let number = (share * at_losses.len() as f64) as usize;
        let threshold = *at_losses.get(number)?;
        let hit = at_losses.partition_point(|missing| *missing < threshold);
        let (mut wrong, mut right, mut highest) = (0, 0, 0.0);
        for (_, &missing) in pairs().filter(|(of, _)| !of.is_lost()) {
            if missing >= threshold {
                wrong += 1;
            } else {
                right += 1;
                highest = f64::max(highest, missing);
            }
        }
        let all = at_losses.len() as u64;
        let counts = Counts { lost: [all - hit as u64, hit as u64], delivered: [wrong, right] };
        let of = Candidate { rate, burst: (highest + threshold) / 2.0, counts };
        if best.is_none_or(|best| best.counts.log_likelihood() < counts.log_likelihood()) {
            best = Some(of);
        }
    }
    best
}

/// Returns true if the losses are those of a queue that the bucket describes as well: packets waited for the time that the missing tokens
/// take. Where bursts are short, their rate hardly matters, and the bucket's is not that of the queue: then the one that explains how
/// long packets waited explains the losses, too.
fn is_queue(measured: &MeasuredDirection<'_>, arrivals: &[Arrival], bucket: &Candidate) -> bool {
    let Some(min_rtt) = measured.min_rtt else { return false };
    let min_rtt = min_rtt.as_secs_f64();
    let mut shares: Vec<f64> = missing_tokens(arrivals, bucket.rate)
        .filter(|(_, missing)| *missing > bucket.burst / 2.0)
        .filter_map(|(arrival, missing)| {
            arrival.rtt.map(|rtt| (rtt - min_rtt).max(0.0) / (missing / bucket.rate))
        })
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    let share = sorted_quantile(&shares, 0.5).unwrap_or(0.0);
    if !(MIN_WAIT..=MAX_WAIT).contains(&share) {
        return share > MAX_WAIT;
    }
    let random = random_log_likelihood(arrivals);
    let gain = |of: &Candidate| of.counts.log_likelihood() - random;
    let queue = candidate(arrivals, bucket.rate / share, &mut Vec::new());
    queue.is_some_and(|queue| gain(&queue) > gain(bucket) / 2.0)
}

/// Median of the packets' waiting time relative to that of a queue of the bucket's rate: below the first there is no queue, and above the
/// second there is.
const MIN_WAIT: f64 = 0.02;
const MAX_WAIT: f64 = 0.5;
