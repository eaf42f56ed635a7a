//! The search space of a hunt, and the operators that sample, mutate and cross candidates.

use crate::candidate::{Candidate, Change, CompetingFlow, Disturbance, DisturbanceKind, Kinds, Pulses};
use crate::failure_goals::Goal;
use core::f64::consts::LN_2;
use core::ops::RangeInclusive;
use thalweg_proto::random::RandomStream;

/// Search space of a hunt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Quantity that the hunt maximises.
    pub goal: Goal,
    /// Allowed kinds of disturbances.
    pub kinds: Kinds,
    /// Duration of a run, its warm-up, and the end of the disturbances, in milliseconds.
    pub(crate) times: [u32; 3],
    counts: [u32; 2],
}

/// Bottleneck rates, in kbit/s: enough packets to show a controller's behaviour, few enough for thousands of runs a
/// minute.
const RATE: RangeInclusive<u32> = 1_000..=8_000;
/// Bottleneck delays, in microseconds.
const DELAY: RangeInclusive<u32> = 5_000..=60_000;
/// Queue limits, in packets.
const QUEUE: RangeInclusive<u32> = 8..=250;
/// Random delays, in microseconds.
const JITTER: RangeInclusive<u32> = 500..=40_000;
/// Random loss rates, in millionths.
const LOSS: RangeInclusive<u32> = 100..=20_000;
/// Lengths of loss bursts, in packets.
const BURST: RangeInclusive<u32> = 1..=16;
/// Outages, in milliseconds.
const OUTAGE: RangeInclusive<u32> = 20..=1_000;
/// Rates after a change, in percent of the initial rate.
const SHARE: RangeInclusive<u32> = 2..=300;
/// Minimum rate after a change, in kbit/s: a handful of packets shows nothing.
const MIN_RATE: u32 = 200;
/// Bursts of datagrams: on and off times in milliseconds, and the rate in percent of the bottleneck rate.
const PULSE: [RangeInclusive<u32>; 3] = [10..=400, 50..=2_000, 50..=200];
/// Maximum load of all bursts, in percent of the bottleneck rate. With more, the bursts alone would explain any
/// failure.
const MAX_LOAD: u32 = 25;
/// Maximum number of disturbances of one kind.
const MAX_OF_A_KIND: usize = 3;
/// Maximum number of bottleneck changes.
const MAX_CHANGES: usize = 4;

impl Space {
    /// Creates the space of a goal, with the suitable ones of `kinds`.
    pub fn new(goal: Goal, kinds: Kinds) -> Self {
        Self { goal, kinds: kinds.and(goal.kinds()), times: goal.times(), counts: goal.counts() }
    }

    /// Returns the last start time of a disturbance, in milliseconds.
    fn last_start(&self) -> u32 {
        self.times[2] * 9 / 10
    }

    /// Samples a candidate.
    pub fn draw(&self, stream: &mut RandomStream) -> Candidate {
        let mut candidate = Candidate {
            rate: draw_log_uniform(stream, &RATE),
            delay: draw_log_uniform(stream, &DELAY),
            count: draw_uniform(stream, &(self.counts[0]..=self.counts[1])),
            ..Candidate::default()
        };
        // From a quarter of the bandwidth-delay product to eight times it.
        let products = libm::exp2(stream.unit() * 5.0 - 2.0);
        candidate.queue = (candidate.product() * products) as u32;
        let kinds: Vec<DisturbanceKind> = self.kinds.iter().collect();
        for _ in 0..stream.geometric(0.4).min(4) {
            if !kinds.is_empty() {
                self.add(&mut candidate, kinds[stream.below(kinds.len() as u64) as usize], stream);
            }
        }
        self.nearest_candidate(candidate)
    }

    /// Adds a disturbance of a kind, or samples it anew if at most one is allowed.
    fn add(&self, candidate: &mut Candidate, kind: DisturbanceKind, stream: &mut RandomStream) {
        let at = stream.below(u64::from(self.last_start())) as u32;
        let change = |what| Change { at, what };
        match kind {
            DisturbanceKind::Rates => {
                candidate.changes.push(change(Disturbance::Rate(draw_log_uniform(stream, &SHARE))));
            }
            DisturbanceKind::Outages => {
                candidate.changes.push(change(Disturbance::Outage(draw_log_uniform(stream, &OUTAGE))));
            }
            DisturbanceKind::Delays => {
                candidate.changes.push(change(Disturbance::Delay(draw_log_uniform(stream, &DELAY))));
            }
            DisturbanceKind::Jitter => candidate.jitter = draw_log_uniform(stream, &JITTER),
            DisturbanceKind::Losses if self.goal == Goal::Starvation && stream.chance(0.3) => {
                candidate.loss = draw_log_uniform(stream, &LOSS);
            }
            DisturbanceKind::Losses if stream.chance(0.5) => {
                candidate.changes.push(change(Disturbance::Blackout(draw_log_uniform(stream, &OUTAGE))));
            }
            DisturbanceKind::Losses => {
                candidate.bursts.push((self.packet(candidate, at), draw_log_uniform(stream, &BURST)));
            }
            DisturbanceKind::Pulses => candidate.pulses.push(Pulses {
                start: at / 2,
                burst_length: draw_log_uniform(stream, &PULSE[0]),
                off: draw_log_uniform(stream, &PULSE[1]),
                percent: draw_log_uniform(stream, &PULSE[2]),
            }),
            DisturbanceKind::Flows => candidate.competing_flows.push(CompetingFlow {
                start: stream.below(u64::from(self.times[1])) as u32,
                extra_delay: if self.goal == Goal::Unfairness { draw_log_uniform(stream, &DELAY) } else { 0 },
            }),
            DisturbanceKind::Starts if candidate.count > 1 => {
                candidate.stagger = stream.below(u64::from(self.times[1] / candidate.count)) as u32;
            }
            DisturbanceKind::Starts => candidate.start = stream.below(u64::from(self.times[1])) as u32,
        }
    }

    /// Returns the index of the packet that a saturated bottleneck sends at about this time.
    fn packet(&self, candidate: &Candidate, at: u32) -> u32 {
        (u64::from(candidate.rate) * u64::from(at) / 12_000) as u32
    }

    /// Returns a candidate with one or a few changes.
    pub fn mutate(&self, of: &Candidate, stream: &mut RandomStream) -> Candidate {
        let mut candidate = of.clone();
        for _ in 0..=stream.geometric(0.5).min(4) {
            self.change(&mut candidate, stream);
        }
        self.nearest_candidate(candidate)
    }

    fn change(&self, candidate: &mut Candidate, stream: &mut RandomStream) {
        let kinds: Vec<DisturbanceKind> = self.kinds.iter().collect();
        match stream.below(10) {
            0 => candidate.rate = scale_randomly(candidate.rate, stream),
            1 => candidate.delay = scale_randomly(candidate.delay, stream),
            2 => candidate.queue = scale_randomly(candidate.queue, stream),
            3 => candidate.count = draw_uniform(stream, &(self.counts[0]..=self.counts[1])),
            4 | 5 if !kinds.is_empty() => {
                self.add(candidate, kinds[stream.below(kinds.len() as u64) as usize], stream);
            }
            6 => drop_one(candidate, stream),
            _ => vary_one_value(candidate, stream),
        }
    }

    /// Returns a candidate with each part from one of two parents.
    pub fn cross(&self, one: &Candidate, other: &Candidate, stream: &mut RandomStream) -> Candidate {
        let mut pick = || if stream.chance(0.5) { one } else { other };
        // Keep these together: the queue limit is relative to the bandwidth-delay product.
        let path = pick();
        self.nearest_candidate(Candidate {
            rate: path.rate,
            delay: path.delay,
            queue: path.queue,
            count: pick().count,
            start: pick().start,
            stagger: pick().stagger,
            jitter: pick().jitter,
            loss: pick().loss,
            bursts: pick().bursts.clone(),
            changes: pick().changes.clone(),
            pulses: pick().pulses.clone(),
            competing_flows: pick().competing_flows.clone(),
        })
    }

    /// Returns the nearest candidate of this space: values in range and with two digits, changes ordered and
    /// non-overlapping.
    pub fn nearest_candidate(&self, mut candidate: Candidate) -> Candidate {
        let [counted, disturbances_end] = [self.times[1], self.last_start()];
        candidate.rate = round_to_digits::<2>(clamp_to_range(candidate.rate, &RATE));
        candidate.delay = round_to_digits::<2>(clamp_to_range(candidate.delay, &DELAY));
        candidate.queue = round_to_digits::<2>(clamp_to_range(candidate.queue, &QUEUE));
        candidate.count = candidate.count.clamp(self.counts[0], self.counts[1]);
        candidate.start = round_to_digits::<2>(candidate.start.min(counted * 9 / 10));
        candidate.stagger = if candidate.count > 1 {
            round_to_digits::<2>(candidate.stagger.min(counted * 9 / 10 / (candidate.count - 1)))
        } else {
            0
        };
        candidate.jitter = if candidate.jitter > 0 {
            round_to_digits::<2>(clamp_to_range(candidate.jitter, &JITTER))
        } else {
            0
        };
        candidate.loss =
            if candidate.loss > 0 { round_to_digits::<2>(clamp_to_range(candidate.loss, &LOSS)) } else { 0 };
        if !self.kinds.has(DisturbanceKind::Starts) {
            (candidate.start, candidate.stagger) = (0, 0);
        }
        candidate.bursts.truncate(MAX_OF_A_KIND);
        candidate.bursts.sort_unstable();
        for burst in &mut candidate.bursts {
            *burst = (burst.0.clamp(1, 50_000), clamp_to_range(burst.1, &BURST));
        }
        for pulses in &mut candidate.pulses {
            pulses.start = round_to_digits::<2>(pulses.start.min(counted));
            pulses.burst_length = round_to_digits::<2>(clamp_to_range(pulses.burst_length, &PULSE[0]));
            pulses.off = round_to_digits::<2>(clamp_to_range(pulses.off, &PULSE[1]));
            pulses.percent = round_to_digits::<2>(clamp_to_range(pulses.percent, &PULSE[2]));
        }
        let mut load = 0;
        candidate.pulses.truncate(MAX_OF_A_KIND);
        candidate.pulses.retain(|pulses| {
            load += pulses.load();
            load <= MAX_LOAD
        });
        candidate.competing_flows.truncate(MAX_OF_A_KIND);
        for other in &mut candidate.competing_flows {
            other.start = round_to_digits::<2>(other.start.min(counted * 9 / 10));
            other.extra_delay = if self.goal == Goal::Unfairness {
                round_to_digits::<2>(clamp_to_range(other.extra_delay, &DELAY))
            } else {
                0
            };
        }
        candidate.competing_flows.sort_unstable();
        for change in &mut candidate.changes {
            change.at = round_to_digits::<2>(change.at.clamp(100, disturbances_end));
            change.what = match change.what {
                Disturbance::Outage(long) => {
                    Disturbance::Outage(round_to_digits::<2>(clamp_to_range(long, &OUTAGE)))
                }
                Disturbance::Blackout(long) => {
                    Disturbance::Blackout(round_to_digits::<2>(clamp_to_range(long, &OUTAGE)))
                }
                Disturbance::Rate(share) => {
                    let min = (MIN_RATE * 100).div_ceil(candidate.rate);
                    Disturbance::Rate(round_to_digits::<2>(clamp_to_range(share, &SHARE)).max(min))
                }
                Disturbance::Delay(delay) => {
                    Disturbance::Delay(round_to_digits::<2>(clamp_to_range(delay, &DELAY)))
                }
            };
        }
        candidate.changes.sort_unstable();
        candidate.changes.truncate(MAX_CHANGES);
        // No change during an outage, and no two changes at a time.
        let mut free = 0;
        candidate.changes.retain(|change| {
            let is_separate = change.at >= free;
            if is_separate {
                let long = match change.what {
                    Disturbance::Outage(long) | Disturbance::Blackout(long) => long,
                    Disturbance::Rate(_) | Disturbance::Delay(_) => 0,
                };
                free = change.at + long + 1;
            }
            is_separate
        });
        candidate
    }
}

/// Removes one disturbance.
fn drop_one(candidate: &mut Candidate, stream: &mut RandomStream) {
    let lists = [
        candidate.bursts.len(),
        candidate.changes.len(),
        candidate.pulses.len(),
        candidate.competing_flows.len(),
    ];
    let mut chosen = stream.below(lists.iter().sum::<usize>() as u64 + 4) as usize;
    for (list, count) in lists.into_iter().enumerate() {
        if chosen < count {
            match list {
                0 => {
                    candidate.bursts.remove(chosen);
                }
                1 => {
                    candidate.changes.remove(chosen);
                }
                2 => {
                    candidate.pulses.remove(chosen);
                }
                _ => {
                    candidate.competing_flows.remove(chosen);
                }
            }
            return;
        }
        chosen -= count;
    }
    match chosen {
        0 => candidate.start = 0,
        1 => candidate.stagger = 0,
        2 => candidate.jitter = 0,
        _ => candidate.loss = 0,
    }
}

/// Changes one value of one disturbance.
fn vary_one_value(candidate: &mut Candidate, stream: &mut RandomStream) {
    let (_, singles, others) = candidate.values();
    let mut values: Vec<&mut u32> = singles.into_iter().filter(|single| **single > 0).chain(others).collect();
    if values.is_empty() {
        candidate.queue = scale_randomly(candidate.queue, stream);
        return;
    }
    let chosen = stream.below(values.len() as u64) as usize;
    *values[chosen] = scale_randomly(*values[chosen], stream);
}

/// Returns a slightly larger or smaller value.
fn scale_randomly(value: u32, stream: &mut RandomStream) -> u32 {
    (f64::from(value.max(1)) * libm::exp(stream.normal() * LN_2 / 2.0)).round() as u32
}

fn draw_log_uniform(stream: &mut RandomStream, range: &RangeInclusive<u32>) -> u32 {
    let [low, high] = [range.start(), range.end()].map(|end| libm::log(f64::from(*end)));
    libm::exp(low + stream.unit() * (high - low)) as u32
}

fn draw_uniform(stream: &mut RandomStream, range: &RangeInclusive<u32>) -> u32 {
    range.start() + stream.below(u64::from(range.end() - range.start()) + 1) as u32
}

fn clamp_to_range(value: u32, range: &RangeInclusive<u32>) -> u32 {
    value.clamp(*range.start(), *range.end())
}

/// Rounds down to `DIGITS` significant digits.
pub(crate) fn round_to_digits<const DIGITS: u32>(value: u32) -> u32 {
    let mut unit = 1;
    while value / unit >= 10_u32.pow(DIGITS) {
        unit *= 10;
    }
    value / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any sequence of changes stays in the space: changes do not overlap, pulses stay within their load, and no
    /// disturbance is without effect.
    #[test]
    fn every_candidate_is_of_the_space() {
        for goal in Goal::ALL {
            let space = Space::new(goal, Kinds::all());
            let mut stream = RandomStream::new(7, goal.name(), 0);
            let mut before = space.draw(&mut stream);
            for _ in 0..2000 {
                let drawn = space.draw(&mut stream);
                let crossed = space.cross(&before, &drawn, &mut stream);
                before = space.mutate(&crossed, &mut stream);
                for candidate in [&drawn, &before] {
                    assert_eq!(space.nearest_candidate(candidate.clone()), *candidate);
                    assert_eq!(candidate.kinds().and(space.kinds), candidate.kinds(), "{candidate:?}");
                    assert!(candidate.pulses.iter().map(Pulses::load).sum::<u32>() <= MAX_LOAD);
                    assert!(candidate.changes.windows(2).all(|pair| pair[0].at < pair[1].at));
                    assert!(candidate.disturbances() <= 4 + 3 * MAX_OF_A_KIND + MAX_CHANGES);
                }
            }
        }
    }

    #[test]
    fn values_have_two_digits() {
        assert_eq!([0, 7, 99, 100, 1234, 99_999].map(round_to_digits::<2>), [0, 7, 99, 100, 1200, 99_000]);
    }
}
