//! Completion times of transfers by size, their list, and ideal completion times.

use crate::measure::{Histogram, Ratios};
use crate::run_result::{SizeClass, Transfer, Transfers};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_queue::TokenBucketSpec;

/// Upper bounds of the size classes, exclusive.
pub(crate) const CLASS_ENDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Maximum number of listed transfers of a run; more are only counted.
pub(crate) const MAX_TRANSFERS: usize = 1 << 20;

/// The ended transfers of a group, or of all groups, since the start of counting.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompletionTimes {
    /// Statistics by size class, up to the largest nonempty one.
    classes: Vec<ClassTimes>,
    /// Transfers whose sender gave up.
    pub given_up: u64,
}

/// The transfers of one size class.
#[derive(Clone, Debug, Default)]
struct ClassTimes {
    completion: Histogram,
    slowdown: Ratios,
}

impl ClassTimes {
    fn merge(&mut self, other: &Self) {
        self.completion.merge(&other.completion);
        self.slowdown.merge(&other.slowdown);
    }

    fn result(&self, unfinished: u64) -> Transfers {
        Transfers { completion: self.completion.summary(), slowdown: self.slowdown.summary(), unfinished }
    }
}

impl CompletionTimes {
    pub fn record(&mut self, transfer: &Transfer, took: Duration) {
        let class = CLASS_ENDS.partition_point(|&end| end <= transfer.size.get());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, ClassTimes::default);
        }
        self.classes[class].completion.record(took);
        if let Some(ideal) = transfer.ideal.filter(|ideal| !ideal.is_zero()) {
            self.classes[class].slowdown.record(took.as_secs_f64() / ideal.as_secs_f64());
        }
    }

    /// Adds the transfers of another group.
    pub fn merge(&mut self, other: &Self) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize_with(other.classes.len(), ClassTimes::default);
        }
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.merge(more);
        }
    }

    /// Transfers whose sender gave up.
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Returns the statistics of all transfers, with `unfinished` others.
    pub fn result(&self, unfinished: u64) -> Transfers {
        let mut all = ClassTimes::default();
        self.classes.iter().for_each(|class| all.merge(class));
        all.result(unfinished)
    }

    /// Returns the distribution of all completion times.
    pub fn curve(&self) -> Vec<Duration> {
        let mut all = Histogram::default();
        self.classes.iter().for_each(|class| all.merge(&class.completion));
        all.curve()
    }

    /// Returns the statistics of each nonempty size class.
    pub fn by_size(&self) -> Vec<SizeClass> {
        let class = |(number, class): (usize, &ClassTimes)| {
            let from = number.checked_sub(1).map_or(0, |before| CLASS_ENDS[before]);
            SizeClass {
                from: Bytes::new(from),
                below: CLASS_ENDS.get(number).copied().map(Bytes::new),
                transfers: class.result(0),
            }
        };
        let classes = self.classes.iter().enumerate().map(class);
        classes.filter(|class| class.transfers.completion.count > 0).collect()
    }
}

/// The list of a run's transfers.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferList {
    transfers: Vec<Transfer>,
    /// Number of unlisted transfers.
    left_out: u64,
}

impl TransferList {
    /// Adds a transfer; returns false if it was only counted.
    pub fn push(&mut self, transfer: Transfer) -> bool {
        let is_kept = self.transfers.len() < MAX_TRANSFERS;
        if is_kept {
            self.transfers.push(transfer);
        } else {
            self.left_out += 1;
        }
        is_kept
    }

    /// Adds transfers that are only counted.
    pub fn count_unlisted(&mut self, transfers: u64) {
        self.left_out += transfers;
    }

    /// Returns the list and the number of unlisted transfers.
    pub fn finish(self) -> (Vec<Transfer>, u64) {
        (self.transfers, self.left_out)
    }
}

/// A stage of a path that serves one packet at a time, with its parameters for one packet size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Service time of a packet.
    pub service: Duration,
    /// Delay to the next stage.
    pub delay: Duration,
    /// Token buckets in front of the stage, each with the bytes that it counts for a packet; initially full.
    pub buckets: [Option<(TokenBucketSpec, u64)>; 3],
}

impl Hop {
    /// Returns the time, after the arrival of the first packet, at which tokens suffice for the last of `full` packets
    /// and `last` one; zero if the bursts suffice. A packet larger than the bucket needs a full bucket.
    fn tokens(full: (u64, &Self), last: (u64, &Self)) -> Duration {
        let of = |(full_bucket, last_bucket): (&Option<_>, &Option<_>)| -> Option<Duration> {
            let ((bucket, of_full), (_, of_last)): (&(TokenBucketSpec, u64), &(_, u64)) =
                full_bucket.as_ref().zip(last_bucket.as_ref())?;
            let bytes = of_full.saturating_mul(full.0).saturating_add(of_last.saturating_mul(last.0));
            let final_packet = if last.0 > 0 { *of_last } else { *of_full };
            let at_first = bucket.burst.get().max(final_packet);
            Some(bucket.rate.transmission_time(Bytes::new(bytes.saturating_sub(at_first))))
        };
        let pairs = full.1.buckets.iter().zip(&last.1.buckets);
        pairs.filter_map(of).max().unwrap_or(Duration::ZERO)
    }
}

/// Returns the time of packets through stages that each serve one at a time: `full` equal packets, followed by a
/// different one. A packet waits for its predecessor and for tokens. As buckets start full, tokens are scarcest for the
/// last packet: the slowest stage or bucket determines its arrival.
pub(crate) fn ideal_one_way_time(full: u64, has_last: bool, of_full: &[Hop], of_last: &[Hop]) -> Duration {
    let (mut first, mut last_full, mut last) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for (stage, last_stage) in of_full.iter().zip(of_last) {
        let tokens = |full, last| Hop::tokens((full, stage), (last, last_stage));
        let arrival = if full > 0 { first } else { last };
        if full > 0 {
            let begins = first + tokens(1, 0);
            let left =
                (last_full.max(first + tokens(full, 0)) + stage.service).max(begins + stage.service * full);
            last = last.max(left);
            first = begins + stage.service + stage.delay;
            last_full = left + stage.delay;
        }
        last = last.max(arrival + tokens(full, 1)) + last_stage.service + last_stage.delay;
    }
    if has_last { last } else { last_full }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Rate;

    fn stages(list: &[(u64, u64)]) -> Vec<Hop> {
        let stage = |&(service, delay): &(u64, u64)| Hop {
            service: Duration::from_micros(service),
            delay: Duration::from_micros(delay),
            buckets: [None; 3],
        };
        list.iter().map(stage).collect()
    }

    /// Returns the stages with a bucket in front of one; each packet takes `size` tokens, and one token arrives per
    /// microsecond.
    fn with_bucket(mut stages: Vec<Hop>, place: usize, burst: u64, size: u64) -> Vec<Hop> {
        let bucket = TokenBucketSpec { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(burst) };
        let free = stages[place].buckets.iter_mut().find(|bucket| bucket.is_none()).unwrap();
        *free = Some((bucket, size));
        stages
    }

    /// Computes the time packet by packet: a stage starts a packet when it has arrived, the previous one is done, and
    /// tokens suffice.
    fn by_hand(packets: &[&[Hop]]) -> Duration {
        let mut free = vec![Duration::ZERO; packets[0].len()];
        let full = |stage: &Hop| stage.buckets.map(|bucket| bucket.map(|_| Duration::ZERO));
        // Refill time of each bucket.
        let mut full_at: Vec<_> = packets[0].iter().map(full).collect();
        let mut at = Duration::ZERO;
        for packet in packets {
            at = Duration::ZERO;
            for ((free, full_at), stage) in free.iter_mut().zip(&mut full_at).zip(*packet) {
                let arrival = at.max(*free);
                let mut begins = arrival;
                for (full_at, bucket) in full_at.iter_mut().zip(&stage.buckets) {
                    let (Some(full_at), Some((spec, size))) = (full_at, bucket) else { continue };
                    let depth = spec.rate.transmission_time(spec.burst);
                    let worth = spec.rate.transmission_time(Bytes::new(*size));
                    *full_at = (*full_at).max(at);
                    begins = begins.max((*full_at + worth.min(depth)).saturating_sub(depth));
                    *full_at += worth;
                }
                *free = begins + stage.service;
                at = *free + stage.delay;
            }
        }
        at
    }

    /// Stages with buckets: place, burst, and the sizes of full and last packets.
    fn bucket(
        full: &[(u64, u64)],
        last: &[(u64, u64)],
        buckets: &[(usize, u64, u64, u64)],
    ) -> (Vec<Hop>, Vec<Hop>) {
        let begin = (stages(full), stages(last));
        buckets.iter().fold(begin, |(full, last), &(place, burst, size, of_last)| {
            (with_bucket(full, place, burst, size), with_bucket(last, place, burst, of_last))
        })
    }

    #[test]
    fn the_ideal_time_is_that_of_packets_one_by_one() {
        let paths = [
            (stages(&[(12, 100)]), stages(&[(3, 100)])),
            (stages(&[(1, 5), (12, 100), (2, 7)]), stages(&[(1, 5), (4, 100), (1, 7)])),
            (stages(&[(12, 5), (3, 100), (8, 7), (8, 0)]), stages(&[(2, 5), (1, 100), (2, 7), (2, 0)])),
            (stages(&[(0, 50), (9, 0)]), stages(&[(0, 50), (9, 0)])),
            // A bucket slower than all stages, with a burst of zero, one or several packets.
            bucket(&[(1, 5), (12, 100), (2, 7)], &[(1, 5), (4, 100), (1, 7)], &[(0, 20, 20, 7)]),
            bucket(&[(1, 5), (12, 100), (2, 7)], &[(1, 5), (4, 100), (1, 7)], &[(1, 19, 20, 7)]),
            bucket(&[(1, 5), (12, 100), (2, 7)], &[(1, 5), (4, 100), (1, 7)], &[(2, 190, 20, 7)]),
            // A bucket faster than a stage; and two, the second of which limits late.
            bucket(&[(9, 5), (3, 100)], &[(2, 5), (1, 100)], &[(1, 30, 6, 2)]),
            bucket(&[(1, 5), (3, 100)], &[(1, 5), (1, 100)], &[(0, 30, 6, 2), (1, 300, 15, 5)]),
            bucket(&[(1, 5), (3, 100)], &[(1, 5), (1, 100)], &[(1, 30, 6, 2), (1, 300, 15, 5)]),
        ];
        for (full, last) in &paths {
            for count in [0, 1, 2, 5, 40] {
                let mut packets = vec![full.as_slice(); count];
                if count > 0 {
                    assert_eq!(
                        ideal_one_way_time(count as u64, false, full, last),
                        by_hand(&packets),
                        "{count}"
                    );
                }
                packets.push(last);
                assert_eq!(
                    ideal_one_way_time(count as u64, true, full, last),
                    by_hand(&packets),
                    "{count} and a last"
                );
            }
        }
    }
}
