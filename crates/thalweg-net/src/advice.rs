//! Advice on how a transfer could be faster, as far as its sender can be sure.
//!
//! A sender that takes each loss for congestion sends no faster than losses let it (Mathis et al. 1997), also where they come
//! from the wire. That is told from a limit that is reached by two signs, both of which must be there:
//!
//! - the round trip often is no longer than the shortest, but for hosts that are busy, also when packets are lost: there is no queue;
//! - losses come as often when little is sent as when much is. Wald's sequential test decides that (The Annals of Mathematical
//!   Statistics 16, 1945), between losses that meet each packet alike and losses that come with the rate at which it is sent.
//!
//! Where one of them is missing nothing is said, nor where the highest rate that the path has carried is not much above the
//! mean: there is little to gain. Losses at a queue that is too short to be seen in round trips, and that others fill, look like
//! those of a wire. What an application or a receiver holds back is no sign of anything.

use crate::session::SessionStats;
use std::collections::VecDeque;
use thalweg_proto::transport::{Limit, SenderStats};
use thalweg_proto::units::{Duration, Rate, Time};

/// Something that a sender can tell its user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Losses of the wire are taken for congestion.
    Losses {
        /// The highest rate that the path has carried for a moment, as far as it was tried.
        carried: Rate,
        /// The rate at which data was sent, on average.
        sent: Rate,
        /// The share of packets that was lost.
        share: f64,
    },
    /// More was sent than the path carries, by a scheme that keeps to the rate that it was told.
    TooFast {
        /// The rate at which data went through.
        carried: Rate,
        /// The share of packets that was sent again.
        share: f64,
        /// They waited in a queue before: it is the rate that is too high, and not the wire that loses so much. Of a sender that finds
        /// its rate by itself this says little, as it may have a short queue on purpose.
        queued: bool,
        /// That queue was long nearly always, for the path: whoever keeps it so loses packets to it.
        full: bool,
        /// The path stopped carrying datagrams as large as before: what was sent in such was lost, whatever the rate.
        narrowed: bool,
    },
}

/// The scheme that carries most, or nearly, on paths whose wire loses packets, of those that find their rate by themselves: measured
/// between live ends in simulated time, at 10 to 200 Mbit/s, 4 to 200 ms and 0.3 to 20 % of losses (`tests/advice.rs`).
pub const BETTER: &str = "thalweg";

/// The shortest time between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// Looks that are kept; older ones are forgotten.
const MOST: usize = 4096;
/// Nothing is said before there are so many looks of the kind, over so long a time.
const LEAST_LOOKS: usize = 20;
const LEAST_TIME: f64 = 3.0;
/// Packets sent again, below which a rate that was told is not judged.
const LEAST_LOST: u64 = 20;
/// The chance that a limit that is reached is taken for losses of the wire.
const MISTAKEN: f64 = 0.01;
/// The power of its rate by which a sender at a limit loses more packets: at half the rate a thirty-second of them. It is a mild
/// limit: at a real one all losses are near the highest rates, and look less like those of a wire.
const STEEP: i32 = 5;
/// Losses after the first, each with nothing lost just before, without which nothing can be told of how they come.
const LEAST_TIMES: usize = 4;
/// Advice is given where the mean rate is at most this share of the highest: above it there is little to gain.
pub const WORTH: f64 = 0.7;
/// Below that share of losses there is little to gain; above, something else is wrong.
const SHARES: [f64; 2] = [0.0003, 0.3];
/// A round trip that is longer by more than this share of the shortest, or this, is one with a queue. CoDel keeps 5 ms.
const QUEUE_SHARE: f64 = 0.03;
const QUEUE_SECONDS: [f64; 2] = [0.001, 0.003];
/// An acknowledgement is held back until another packet comes: a quarter of the time between two, but not more than this.
const HELD: f64 = 0.01;
/// Late answers of hosts make round trips seem longer, by so many times as much in the middle, and some by so many times.
const LATE: f64 = 2.0;
const LATER: f64 = 4.0;
/// The least share of losses that come where there is no queue. Repairs make round trips seem long, too.
const UNSEEN: f64 = 0.7;
/// The share of packets sent again from which on a rate that was told is too high.
const TOO_MUCH: f64 = 0.1;
/// A queue that takes more than this share of the shortest round trip is longer than anybody needs.
const FULL: f64 = 0.5;

/// A span of time.
#[derive(Clone, Copy, Debug)]
struct Look {
    seconds: f64,
    packets: u64,
    lost: u64,
    /// Packets that may have been those that were lost.
    exposed: f64,
    /// The highest rate at which they were sent, in packets a second.
    peak: f64,
    /// New data in bytes a second.
    rate: f64,
    /// By how much the round trip is longer than the shortest, in seconds, where that is known.
    queue: Option<f64>,
    /// The congestion window held the sender back.
    is_held: bool,
    /// Bytes that were acknowledged, as far as packets are alike; those that were given back are less than none.
    carried: f64,
}

impl Look {
    /// In packets a second.
    fn speed(&self) -> f64 {
        self.packets as f64 / self.seconds
    }
}

/// Watches a sender.
#[derive(Debug, Default)]
pub struct Advisor {
    last: Option<(Time, SenderStats)>,
    /// Bytes sent by then, and the size of datagrams.
    bytes: u64,
    datagram: u16,
    /// Datagrams became smaller.
    narrowed: bool,
    looks: VecDeque<Look>,
    /// The highest rate of all looks that the path has carried, in bytes a second.
    fastest: f64,
}

impl Advisor {
    /// Takes the counters of a session at `now`. It may be asked to as often as is convenient.
    pub fn observe(&mut self, now: Time, stats: &SessionStats) {
        let sender = &stats.sending.sender;
        let Some((then, before)) = self.last else {
            self.last = Some((now, *sender));
            self.bytes = stats.bytes_sent;
            self.datagram = stats.datagram;
            return;
        };
        let span = now.since(then);
        if span < sender.smoothed_rtt.unwrap_or(LOOK).max(LOOK) {
            return;
        }
        self.last = Some((now, *sender));
        self.narrowed |= stats.datagram < self.datagram;
        self.datagram = stats.datagram;
        let in_flight = before.in_flight;
        let sent = sender.sent.saturating_sub(before.sent);
        let lost = sender.retransmissions.saturating_sub(before.retransmissions);
        let round_trips = sender.smoothed_rtt.zip(sender.min_rtt);
        let spent = |limit: Limit| {
            sender.limits[limit.index()].as_secs_f64() - before.limits[limit.index()].as_secs_f64()
        };
        // While losses are repaired it is the congestion window that holds back what is new.
        let held = spent(Limit::CongestionWindow) + spent(Limit::Network) + spent(Limit::RetransmissionTimer);
        let seconds = span.as_secs_f64();
        // Datagrams may be smaller than the path takes, and those that try it are larger.
        let bytes = stats.bytes_sent.saturating_sub(self.bytes) as f64;
        let bytes = bytes.min(sent as f64 * f64::from(stats.datagram));
        let rate = bytes * sent.saturating_sub(lost) as f64 / sent.max(1) as f64 / seconds;
        // A loss is seen where it is repaired, up to a round trip after it was sent.
        let (before, speed) = self.looks.back().map_or((sent, 0.0), |look| (look.packets, look.speed()));
        // What fills the path or a queue has not been carried yet.
        let more = f64::from(sender.in_flight) - f64::from(in_flight);
        self.fastest =
            self.fastest.max(rate * (1.0 - more.max(0.0) / sent.saturating_sub(lost).max(1) as f64));
        if self.looks.len() == MOST {
            self.looks.pop_front();
        }
        self.bytes = stats.bytes_sent;
        self.looks.push_back(Look {
            seconds,
            packets: sent,
            lost,
            exposed: f64::midpoint(before as f64, sent as f64),
            peak: speed.max(sent as f64 / seconds),
            rate,
            queue: round_trips.map(|(smoothed, shortest)| smoothed.as_secs_f64() - shortest.as_secs_f64()),
            is_held: held >= 0.5 * seconds,
            carried: bytes / sent.max(1) as f64 * (sent.saturating_sub(lost) as f64 - more),
        });
    }

    /// The advice for a sender that takes losses for congestion, if it is sure.
    pub fn of_losses(&self) -> Option<Advice> {
        let looks = self.held()?;
        let sum = |looks: &[Look], of: &dyn Fn(&Look) -> f64| looks.iter().map(of).sum::<f64>();
        let lost = |looks: &[Look]| looks.iter().map(|look| look.lost).sum::<u64>();
        let share = |looks: &[Look]| lost(looks) as f64 / sum(looks, &|look| look.packets as f64).max(1.0);
        let all = share(&looks);
        if !(SHARES[0]..=SHARES[1]).contains(&all) {
            return None;
        }
        let gap = sum(&looks, &|look| look.seconds) / sum(&looks, &|look| look.packets as f64).max(1.0);
        let short = self.short()? + (gap / 4.0).min(HELD);
        let mut queues: Vec<f64> = looks.iter().filter_map(|look| look.queue).collect();
        queues.sort_by(f64::total_cmp);
        // Busy hosts answer late, now more and now less, whatever is lost; a queue that overflows seldom is empty.
        let is_within = |part: usize, most: f64| queues.get(part).is_some_and(|queue| *queue <= most);
        if !is_within(queues.len() / 4, short) || !is_within(queues.len() / 2, LATE * short) {
            return None;
        }
        let is_empty = |look: &Look| look.queue.is_some_and(|queue| queue <= LATER * short);
        let unseen: Vec<Look> = looks.iter().copied().filter(is_empty).collect();
        if (lost(&unseen) as f64) < UNSEEN * lost(&looks) as f64 {
            return None;
        }
        if evidence(&looks) < ((1.0 - MISTAKEN) / MISTAKEN).ln() {
            return None;
        }
        let seconds = sum(&looks, &|look| look.seconds);
        let sent = sum(&looks, &|look| look.rate * look.seconds) / seconds;
        let is_worth_it = sent <= WORTH * self.fastest;
        is_worth_it.then(|| Advice::Losses { carried: rate(self.fastest), sent: rate(sent), share: all })
    }

    /// The advice for a sender that keeps to a rate that it was told, if it is sure. All of its time counts.
    pub fn of_rate(&self) -> Option<Advice> {
        let mut looks: Vec<_> = self.looks.iter().filter(|look| look.packets > 0).collect();
        // A path that lets nothing through any more is no sign of a rate.
        let last = looks.iter().rposition(|look| look.carried > 0.0);
        looks.truncate(last.map_or(0, |last| last + 1));
        let (packets, lost) =
            looks.iter().fold((0, 0), |(packets, lost), look| (packets + look.packets, lost + look.lost));
        let share = lost as f64 / packets.max(1) as f64;
        if looks.len() < LEAST_LOOKS / 4 || lost < LEAST_LOST || share < TOO_MUCH {
            return None;
        }
        // Until the path is full it carries less.
        let full = looks.get(looks.len() / 4..).unwrap_or_default();
        let sum = |of: fn(&Look) -> f64| full.iter().map(|look| of(look)).sum::<f64>();
        let carried = (sum(|look| look.carried) / sum(|look| look.seconds)).max(0.0);
        let short = self.short().unwrap_or(f64::MAX);
        let longer =
            |than: f64| looks.iter().filter(|look| look.queue.is_some_and(|queue| queue > than)).count();
        let shortest = self.last.and_then(|(_, last)| last.min_rtt).map_or(f64::MAX, Duration::as_secs_f64);
        let full = 4 * longer((FULL * shortest).max(LATER * short)) > 3 * looks.len();
        let queued = longer(short) * 2 > looks.len();
        Some(Advice::TooFast { carried: rate(carried), share, queued, full, narrowed: self.narrowed })
    }

    /// The longest time in a queue, in seconds, that counts as none.
    fn short(&self) -> Option<f64> {
        let shortest = self.last?.1.min_rtt?.as_secs_f64();
        Some((QUEUE_SHARE * shortest).clamp(QUEUE_SECONDS[0], QUEUE_SECONDS[1]))
    }

    /// The looks in which the congestion window held the sender back, if that was so most of the time and for long enough.
    fn held(&self) -> Option<Vec<Look>> {
        let time = |looks: &mut dyn Iterator<Item = &Look>| looks.map(|look| look.seconds).sum::<f64>();
        let all = time(&mut self.looks.iter());
        let looks: Vec<Look> = self.looks.iter().copied().filter(|look| look.is_held).collect();
        let held = time(&mut looks.iter());
        (looks.len() >= LEAST_LOOKS && held >= LEAST_TIME && held >= 0.5 * all).then_some(looks)
    }
}

/// The logarithm of how much more probable the losses after the first are if each packet is lost with one probability than if
/// with one that grows with the rate at which it was sent. The former is that of a wire, the latter that of a limit, to which a
/// sender comes again and again.
fn evidence(looks: &[Look]) -> f64 {
    // Repairs go on for a while. And what was sent before the first loss may have met another limit, such as an allowance that
    // was used up then.
    let is_own = |pair: &[Look]| pair[0].lost == 0 || pair[1].lost == 0;
    let pairs = looks.windows(2).skip_while(|pair| pair[0].lost == 0);
    let after: Vec<Look> = pairs.filter(|pair| is_own(pair)).map(|pair| pair[1]).collect();
    if after.iter().filter(|look| look.lost > 0).count() < LEAST_TIMES {
        return 0.0;
    }
    let fastest = after.iter().map(|look| look.peak).fold(f64::MIN_POSITIVE, f64::max);
    let wire = likelihood(&after, |look| look.exposed);
    let limit = likelihood(&after, |look| look.exposed * (look.peak / fastest).powi(STEEP));
    wire - limit
}

/// The logarithm of the probability that just these looks have losses, if the chance of a look grows with its `weight` and as many
/// are expected to have some as there were.
fn likelihood(looks: &[Look], weight: impl Fn(&Look) -> f64) -> f64 {
    let met = looks.iter().filter(|look| look.lost > 0).count();
    if met == looks.len() {
        return 0.0;
    }
    let chance = |look: &Look, scale: f64| -(-scale * weight(look)).exp_m1();
    let expected = |scale: f64| looks.iter().map(|look| chance(look, scale)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while expected(high) < met as f64 && high < 1e15 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < met as f64 { low = middle } else { high = middle }
    }
    let of = |look: &Look| if look.lost > 0 { chance(look, high).ln() } else { -high * weight(look) };
    looks.iter().map(of).sum()
}

fn rate(bytes_per_second: f64) -> Rate {
    Rate::from_bits_per_sec((bytes_per_second * 8.0) as u64)
}
