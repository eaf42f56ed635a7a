//! Advice on how to speed up a transfer, as far as the sender can be sure.
//!
//! A loss-based sender is limited by the loss rate (Mathis et al. 1997), even if the wire causes the losses. Two signs
//! distinguish that from a capacity limit, and both are required:
//!
//! - The round-trip time is often at its minimum, except for delays of busy hosts, even around losses: there is no
//!   queue.
//! - Losses are as frequent at low rates as at high ones. Wald's sequential test decides (The Annals of Mathematical
//!   Statistics 16, 1945) between losses that hit each packet alike and losses that grow with the sending rate.
//!
//! There is no advice if one sign is missing, or if the highest rate that the path has carried is not much above the
//! mean, so there is little to gain. Losses at a queue too short to show in round-trip times, and filled by others,
//! look like losses of the wire. Limits of the application or the receiver count as no sign.

use crate::session::SessionStats;
use std::collections::VecDeque;
use thalweg_proto::transport::{Limit, SenderStats};
use thalweg_proto::units::{Duration, Rate, Time};

/// Advice of a sender to its user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Losses of the wire are mistaken for congestion.
    WireLosses {
        /// Highest rate that the path has carried for a moment, as far as tried.
        peak_carried: Rate,
        /// Mean sending rate.
        sent: Rate,
        /// Share of lost packets.
        share: f64,
    },
    /// A fixed-rate scheme sends faster than the path can carry.
    ExcessiveRate {
        /// Delivery rate.
        delivery_rate: Rate,
        /// Share of retransmitted packets.
        share: f64,
        /// True if packets were queued before they were lost: the rate is too high, rather than the wire lossy. This is
        /// not evidence against a sender that finds its own rate, as it may keep a short queue on purpose.
        was_queued: bool,
        /// True if that queue was long for the path nearly all the time, and so caused the losses.
        queue_was_long: bool,
        /// True if the path MTU shrank: datagrams above the new size were lost at any rate.
        mtu_reduced: bool,
    },
}

/// Scheme with the highest, or nearly the highest, throughput on lossy wires of all schemes that find their own rate.
/// Measured between live ends in simulated time, at 10 to 200 Mbit/s, 4 to 200 ms and 0.3 to 10 % of losses
/// (`tests/it/performance_advice.rs`).
pub const RECOMMENDED_SCHEME: &str = "thalweg";

/// Minimum interval between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum number of samples kept; the oldest are dropped.
const MAX_SAMPLES: usize = 4096;
/// Minimum number of relevant samples, and their minimum time span, before advice is given.
const MIN_SAMPLES: usize = 20;
const MIN_TIME: f64 = 3.0;
/// Minimum number of retransmissions before a configured rate is judged.
const MIN_LOST: u64 = 20;
/// Probability of mistaking a capacity limit for losses of the wire.
const ERROR_PROBABILITY: f64 = 0.01;
/// Exponent of the loss rate in the sending rate at a capacity limit: half the rate has a thirty-second of the losses.
/// This models a mild limit: at a real one all losses are near the highest rates, unlike those of a wire.
const CAPACITY_LIMIT_EXPONENT: i32 = 5;
/// Minimum number of losses after the first, each preceded by a sample without loss, for a decision.
const MIN_LOSS_EVENTS: usize = 4;
/// Maximum ratio of the mean rate to the highest one for advice; above it there is little to gain.
pub const MAX_MEAN_RATE_SHARE: f64 = 0.7;
/// Range of loss shares for advice: below it there is little to gain; above it the other scheme gains nothing either.
const LOSS_SHARES: [f64; 2] = [0.0003, 0.15];
/// Minimum queueing delay that counts as a queue: this share of the minimum round trip, or this time. CoDel keeps 5 ms.
const QUEUE_SHARE: f64 = 0.03;
const QUEUE_SECONDS: [f64; 2] = [0.001, 0.003];
/// Maximum delay of an acknowledgement until another packet arrives; it is a quarter of the packet interval if that is
/// less.
const MAX_ACK_DELAY: f64 = 0.01;
/// Apparent increase of round-trip times by late hosts: these multiples for the median and for the tail.
const LATE_HOST_MEDIAN_FACTOR: f64 = 2.0;
const LATE_HOST_TAIL_FACTOR: f64 = 4.0;
/// Minimum share of losses without a queue. Loss recovery also lengthens round-trip times.
const MIN_SHARE_WITHOUT_QUEUE: f64 = 0.7;
/// Minimum share of retransmissions for a configured rate to count as too high.
const EXCESSIVE_SHARE: f64 = 0.1;
/// Queueing delay, relative to the minimum round trip, that counts as excessive.
const LONG_QUEUE_SHARE: f64 = 0.5;

/// Sample over a time interval.
#[derive(Clone, Copy, Debug)]
struct Sample {
    seconds: f64,
    packets: u64,
    lost: u64,
    /// Packets that may have been among the lost ones.
    exposed: f64,
    /// Their highest sending rate, in packets per second.
    peak: f64,
    /// Rate of new data, in bytes per second.
    rate: f64,
    /// Queueing delay over the minimum round trip, in seconds, if known.
    queue: Option<f64>,
    /// True if the sender was limited by the congestion window.
    is_window_limited: bool,
    /// Acknowledged bytes, assuming equal packets; negative if some were taken back.
    acked_bytes: f64,
}

impl Sample {
    /// Returns the sending rate, in packets per second.
    fn speed(&self) -> f64 {
        self.packets as f64 / self.seconds
    }
}

/// Observes a sender.
#[derive(Debug, Default)]
pub struct Advisor {
    last: Option<(Time, SenderStats)>,
    /// Bytes sent until then, and the datagram size.
    bytes: u64,
    datagram: u16,
    /// True if the datagram size shrank.
    mtu_reduced: bool,
    samples: VecDeque<Sample>,
    /// Highest delivery rate of all samples, in bytes per second.
    fastest: f64,
}

impl Advisor {
    /// Takes the counters of a session at `now`. It may be called at any frequency.
    pub fn observe(&mut self, now: Time, stats: &SessionStats) {
        let sender = &stats.sending.sender;
        let Some((then, before)) = self.last else {
            self.last = Some((now, *sender));
            self.bytes = stats.bytes_sent;
            self.datagram = stats.datagram;
            return;
        };
        let span = now.since(then);
        if span < sender.smoothed_rtt.unwrap_or(SAMPLE_INTERVAL).max(SAMPLE_INTERVAL) {
            return;
        }
        self.last = Some((now, *sender));
        self.mtu_reduced |= stats.datagram < self.datagram;
        self.datagram = stats.datagram;
        let in_flight = before.in_flight;
        let sent = sender.sent.saturating_sub(before.sent);
        let lost = sender.retransmissions.saturating_sub(before.retransmissions);
        let round_trips = sender.smoothed_rtt.zip(sender.min_rtt);
        let spent = |limit: Limit| {
            sender.limits[limit.index()].as_secs_f64() - before.limits[limit.index()].as_secs_f64()
        };
        // During loss recovery the congestion window limits new data.
        let window_limited_time =
            spent(Limit::CongestionWindow) + spent(Limit::Network) + spent(Limit::RetransmissionTimer);
        let seconds = span.as_secs_f64();
        // Datagrams may be smaller than the path MTU, and probes are larger.
        let bytes = stats.bytes_sent.saturating_sub(self.bytes) as f64;
        let bytes = bytes.min(sent as f64 * f64::from(stats.datagram));
        let rate = bytes * sent.saturating_sub(lost) as f64 / sent.max(1) as f64 / seconds;
        // A loss shows at its retransmission, up to one round trip after it was sent.
        let (before, speed) =
            self.samples.back().map_or((sent, 0.0), |sample| (sample.packets, sample.speed()));
        // Data that fills the path or a queue has not been delivered yet.
        let more = f64::from(sender.in_flight) - f64::from(in_flight);
        self.fastest =
            self.fastest.max(rate * (1.0 - more.max(0.0) / sent.saturating_sub(lost).max(1) as f64));
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.bytes = stats.bytes_sent;
        self.samples.push_back(Sample {
            seconds,
            packets: sent,
            lost,
            exposed: f64::midpoint(before as f64, sent as f64),
            peak: speed.max(sent as f64 / seconds),
            rate,
            queue: round_trips.map(|(smoothed, shortest)| smoothed.as_secs_f64() - shortest.as_secs_f64()),
            is_window_limited: window_limited_time >= 0.5 * seconds,
            acked_bytes: bytes / sent.max(1) as f64 * (sent.saturating_sub(lost) as f64 - more),
        });
    }

    /// Returns the advice for a loss-based sender, if certain.
    pub fn advice_on_wire_losses(&self) -> Option<Advice> {
        let samples = self.window_limited_samples()?;
        let sum = |samples: &[Sample], of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let lost = |samples: &[Sample]| samples.iter().map(|sample| sample.lost).sum::<u64>();
        let share = |samples: &[Sample]| {
            lost(samples) as f64 / sum(samples, &|sample| sample.packets as f64).max(1.0)
        };
        let all = share(&samples);
        if !(LOSS_SHARES[0]..=LOSS_SHARES[1]).contains(&all) {
            return None;
        }
        let gap =
            sum(&samples, &|sample| sample.seconds) / sum(&samples, &|sample| sample.packets as f64).max(1.0);
        let negligible = self.negligible_queueing_delay()? + (gap / 4.0).min(MAX_ACK_DELAY);
        let mut queues: Vec<f64> = samples.iter().filter_map(|sample| sample.queue).collect();
        queues.sort_by(f64::total_cmp);
        // Busy hosts delay answers randomly, independent of losses; an overflowing queue is seldom empty.
        let is_within = |part: usize, max: f64| queues.get(part).is_some_and(|queue| *queue <= max);
        if !is_within(queues.len() / 4, negligible)
            || !is_within(queues.len() / 2, LATE_HOST_MEDIAN_FACTOR * negligible)
        {
            return None;
        }
        let is_empty =
            |sample: &Sample| sample.queue.is_some_and(|queue| queue <= LATE_HOST_TAIL_FACTOR * negligible);
        let unseen: Vec<Sample> = samples.iter().copied().filter(is_empty).collect();
        if (lost(&unseen) as f64) < MIN_SHARE_WITHOUT_QUEUE * lost(&samples) as f64 {
            return None;
        }
        if log_likelihood_ratio_of_wire_losses(&samples)
            < ((1.0 - ERROR_PROBABILITY) / ERROR_PROBABILITY).ln()
        {
            return None;
        }
        let seconds = sum(&samples, &|sample| sample.seconds);
        let sent = sum(&samples, &|sample| sample.rate * sample.seconds) / seconds;
        let is_worth_it = sent <= MAX_MEAN_RATE_SHARE * self.fastest;
        is_worth_it.then(|| Advice::WireLosses {
            peak_carried: bytes_per_second_to_rate(self.fastest),
            sent: bytes_per_second_to_rate(sent),
            share: all,
        })
    }

    /// Returns the advice for a fixed-rate sender, if certain. Its whole time counts.
    pub fn advice_on_excessive_rate(&self) -> Option<Advice> {
        let mut samples: Vec<_> = self.samples.iter().filter(|sample| sample.packets > 0).collect();
        // A dead path is not evidence about the rate.
        let last = samples.iter().rposition(|sample| sample.acked_bytes > 0.0);
        samples.truncate(last.map_or(0, |last| last + 1));
        let (packets, lost) = samples
            .iter()
            .fold((0, 0), |(packets, lost), sample| (packets + sample.packets, lost + sample.lost));
        let share = lost as f64 / packets.max(1) as f64;
        if samples.len() < MIN_SAMPLES / 4 || lost < MIN_LOST || share < EXCESSIVE_SHARE {
            return None;
        }
        // The path carries less until it is full.
        let later = samples.get(samples.len() / 4..).unwrap_or_default();
        let sum = |of: fn(&Sample) -> f64| later.iter().map(|sample| of(sample)).sum::<f64>();
        let delivery_rate = (sum(|sample| sample.acked_bytes) / sum(|sample| sample.seconds)).max(0.0);
        let negligible = self.negligible_queueing_delay().unwrap_or(f64::MAX);
        let longer = |than: f64| {
            samples.iter().filter(|sample| sample.queue.is_some_and(|queue| queue > than)).count()
        };
        let shortest = self.last.and_then(|(_, last)| last.min_rtt).map_or(f64::MAX, Duration::as_secs_f64);
        let queue_was_long =
            4 * longer((LONG_QUEUE_SHARE * shortest).max(LATE_HOST_TAIL_FACTOR * negligible))
                > 3 * samples.len();
        let was_queued = longer(negligible) * 2 > samples.len();
        Some(Advice::ExcessiveRate {
            delivery_rate: bytes_per_second_to_rate(delivery_rate),
            share,
            was_queued,
            queue_was_long,
            mtu_reduced: self.mtu_reduced,
        })
    }

    /// Returns the longest queueing delay that counts as no queue, in seconds.
    fn negligible_queueing_delay(&self) -> Option<f64> {
        let shortest = self.last?.1.min_rtt?.as_secs_f64();
        Some((QUEUE_SHARE * shortest).clamp(QUEUE_SECONDS[0], QUEUE_SECONDS[1]))
    }

    /// Returns the samples limited by the congestion window, if that was so most of the time and for long enough.
    fn window_limited_samples(&self) -> Option<Vec<Sample>> {
        let time =
            |samples: &mut dyn Iterator<Item = &Sample>| samples.map(|sample| sample.seconds).sum::<f64>();
        let all = time(&mut self.samples.iter());
        let samples: Vec<Sample> =
            self.samples.iter().copied().filter(|sample| sample.is_window_limited).collect();
        let window_limited_time = time(&mut samples.iter());
        (samples.len() >= MIN_SAMPLES && window_limited_time >= MIN_TIME && window_limited_time >= 0.5 * all)
            .then_some(samples)
    }
}

/// Returns the log-likelihood ratio of the losses after the first: constant loss probability per packet against a
/// probability that grows with the sending rate. The former is typical of a wire; the latter of a capacity limit that
/// the sender reaches again and again.
fn log_likelihood_ratio_of_wire_losses(samples: &[Sample]) -> f64 {
    // Retransmissions take a while. Packets before the first loss may have met another limit, such as a traffic
    // allowance.
    let is_isolated = |pair: &[Sample]| pair[0].lost == 0 || pair[1].lost == 0;
    let pairs = samples.windows(2).skip_while(|pair| pair[0].lost == 0);
    let after: Vec<Sample> = pairs.filter(|pair| is_isolated(pair)).map(|pair| pair[1]).collect();
    if after.iter().filter(|sample| sample.lost > 0).count() < MIN_LOSS_EVENTS {
        return 0.0;
    }
    let fastest = after.iter().map(|sample| sample.peak).fold(f64::MIN_POSITIVE, f64::max);
    let wire = log_likelihood_of_losses(&after, |sample| sample.exposed);
    let limit = log_likelihood_of_losses(&after, |sample| {
        sample.exposed * (sample.peak / fastest).powi(CAPACITY_LIMIT_EXPONENT)
    });
    wire - limit
}

/// Returns the log-likelihood that exactly these samples have losses, if the probability of a sample grows with its
/// `weight` and the expected number of samples with losses is the observed one.
fn log_likelihood_of_losses(samples: &[Sample], weight: impl Fn(&Sample) -> f64) -> f64 {
    let lossy = samples.iter().filter(|sample| sample.lost > 0).count();
    if lossy == samples.len() {
        return 0.0;
    }
    let chance = |sample: &Sample, scale: f64| -(-scale * weight(sample)).exp_m1();
    let expected = |scale: f64| samples.iter().map(|sample| chance(sample, scale)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while expected(high) < lossy as f64 && high < 1e15 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < lossy as f64 { low = middle } else { high = middle }
    }
    let of =
        |sample: &Sample| if sample.lost > 0 { chance(sample, high).ln() } else { -high * weight(sample) };
    samples.iter().map(of).sum()
}

fn bytes_per_second_to_rate(bytes_per_second: f64) -> Rate {
    Rate::from_bits_per_sec((bytes_per_second * 8.0) as u64)
}
