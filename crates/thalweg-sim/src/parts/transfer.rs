//! Transfers: how long they took, and how long they would have taken with the network to themselves.

use crate::measure::{Histogram, Ratios};
use crate::result::{SizeClass, Transfer, Transfers};
use thalweg_proto::units::{Bytes, Duration};

/// The ends of size classes: a transfer of exactly so many bytes is in the next one.
pub(crate) const CLASS_ENDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Transfers of a run that are kept one by one; further ones are only counted.
const MOST_TRANSFERS: usize = 1 << 20;

/// The transfers of a group, or of all groups, that have ended since counting began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completions {
    /// By size class, up to the largest that has any.
    classes: Vec<Class>,
    /// Transfers whose sender gave up.
    pub given_up: u64,
}

/// Those of one size class.
#[derive(Clone, Debug, Default)]
struct Class {
    completion: Histogram,
    slowdown: Ratios,
}

impl Class {
    fn merge(&mut self, other: &Self) {
        self.completion.merge(&other.completion);
        self.slowdown.merge(&other.slowdown);
    }

    fn result(&self, unfinished: u64) -> Transfers {
        Transfers { completion: self.completion.summary(), slowdown: self.slowdown.summary(), unfinished }
    }
}

impl Completions {
    pub fn record(&mut self, transfer: &Transfer, took: Duration) {
        let class = CLASS_ENDS.partition_point(|&end| end <= transfer.size.get());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::default);
        }
        self.classes[class].completion.record(took);
        if let Some(ideal) = transfer.ideal.filter(|ideal| !ideal.is_zero()) {
            self.classes[class].slowdown.record(took.as_secs_f64() / ideal.as_secs_f64());
        }
    }

    /// Adds those of another group.
    pub fn merge(&mut self, other: &Self) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize_with(other.classes.len(), Class::default);
        }
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.merge(more);
        }
    }

    /// Transfers whose sender gave up.
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// All together, beside `unfinished` others.
    pub fn result(&self, unfinished: u64) -> Transfers {
        let mut all = Class::default();
        self.classes.iter().for_each(|class| all.merge(class));
        all.result(unfinished)
    }

    /// Those of each size class that has any.
    pub fn by_size(&self) -> Vec<SizeClass> {
        let class = |(number, class): (usize, &Class)| {
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

/// The transfers of a run one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferList {
    kept: Vec<Transfer>,
    /// The number of transfers that were not kept.
    left_out: u64,
}

impl TransferList {
    pub fn push(&mut self, transfer: Transfer) {
        if self.kept.len() < MOST_TRANSFERS {
            self.kept.push(transfer);
        } else {
            self.left_out += 1;
        }
    }

    /// The transfers, and how many there were beside them.
    pub fn finish(self) -> (Vec<Transfer>, u64) {
        (self.kept, self.left_out)
    }
}

/// The time that packets take through stages that each work on one at a time: `full` ones that are alike, and one
/// behind them that is not. Of packets that are alike the last leaves the slowest stage last, and waits nowhere behind
/// it.
pub(crate) fn one_way(
    full: u64,
    has_last: bool,
    of_full: &[(Duration, Duration)],
    of_last: &[(Duration, Duration)],
) -> Duration {
    let (mut slowest, mut sum) = (Duration::ZERO, Duration::ZERO);
    let mut last_at = Duration::ZERO;
    for ((service, delay), (last_service, _)) in of_full.iter().zip(of_last) {
        slowest = slowest.max(*service);
        // When the last full packet has left the stage.
        let left = if full > 0 { sum + *service + slowest * (full - 1) } else { Duration::ZERO };
        last_at = last_at.max(left) + *last_service + *delay;
        sum += *service + *delay;
    }
    if has_last { last_at } else { sum + slowest * full.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(list: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
        list.iter().map(|&(a, b)| (Duration::from_micros(a), Duration::from_micros(b))).collect()
    }

    /// Packet by packet: a stage begins with one when it has it and is done with the one before.
    fn by_hand(packets: &[&[(Duration, Duration)]]) -> Duration {
        let mut free = vec![Duration::ZERO; packets[0].len()];
        let mut at = Duration::ZERO;
        for packet in packets {
            at = Duration::ZERO;
            for (free, (service, delay)) in free.iter_mut().zip(*packet) {
                *free = at.max(*free) + *service;
                at = *free + *delay;
            }
        }
        at
    }

    #[test]
    fn the_ideal_time_is_that_of_packets_one_by_one() {
        let paths = [
            (stages(&[(12, 100)]), stages(&[(3, 100)])),
            (stages(&[(1, 5), (12, 100), (2, 7)]), stages(&[(1, 5), (4, 100), (1, 7)])),
            (stages(&[(12, 5), (3, 100), (8, 7), (8, 0)]), stages(&[(2, 5), (1, 100), (2, 7), (2, 0)])),
            (stages(&[(0, 50), (9, 0)]), stages(&[(0, 50), (9, 0)])),
        ];
        for (full, last) in &paths {
            for count in [0, 1, 2, 5, 40] {
                let mut packets = vec![full.as_slice(); count];
                if count > 0 {
                    assert_eq!(one_way(count as u64, false, full, last), by_hand(&packets), "{count}");
                }
                packets.push(last);
                assert_eq!(one_way(count as u64, true, full, last), by_hand(&packets), "{count} and a last");
            }
        }
    }
}
