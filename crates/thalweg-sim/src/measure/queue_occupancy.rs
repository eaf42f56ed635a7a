//! The time that a queue spent at each length.

use crate::run_result::QueueResult;
use thalweg_proto::units::{Duration, Time};

/// Number of lengths with a bucket each; above, there are eight buckets per octave.
const EXACT_LENGTHS: u64 = 64;

/// Time-weighted occupancy of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    packets: u64,
    bytes: u64,
    since: Time,
    packet_time: u128,
    byte_time: u128,
    max_packets: u64,
    /// Picoseconds at each length.
    weights: Vec<u64>,
}

fn bucket_of(packets: u64) -> usize {
    if packets < EXACT_LENGTHS {
        return packets as usize;
    }
    let octave = u64::from(63 - packets.leading_zeros());
    (EXACT_LENGTHS + (octave - 6) * 8 + ((packets >> (octave - 3)) & 7)) as usize
}

/// Returns the largest length in a bucket.
fn bucket_maximum(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT_LENGTHS {
        return bucket;
    }
    let (octave, part) = ((bucket - EXACT_LENGTHS) / 8 + 6, (bucket - EXACT_LENGTHS) % 8);
    ((8 + part + 1) << (octave - 3)) - 1
}

impl Occupancy {
    /// Records that the queue has this length from `now` on.
    #[inline(always)]
    pub fn change(&mut self, now: Time, packets: u64, bytes: u64) {
        self.add_elapsed(now);
        self.packets = packets;
        self.bytes = bytes;
        self.max_packets = self.max_packets.max(packets);
    }

    #[inline(always)]
    fn add_elapsed(&mut self, now: Time) {
        let span = now.since(self.since).as_picos();
        self.since = now;
        if span == 0 || self.packets == 0 {
            // An empty queue adds nothing to the sums; its time is the remainder.
            return;
        }
        self.packet_time += u128::from(self.packets) * u128::from(span);
        self.byte_time += u128::from(self.bytes) * u128::from(span);
        let bucket = bucket_of(self.packets);
        if bucket >= self.weights.len() {
            self.weights.resize(bucket + 1, 0);
        }
        self.weights[bucket] += span;
    }

    /// Discards the measurements before `now` and keeps the current length.
    pub fn restart(&mut self, now: Time) {
        *self = Self {
            packets: self.packets,
            bytes: self.bytes,
            since: now,
            max_packets: self.packets,
            ..Self::default()
        };
    }

    /// Returns the result over `counted`, which ends at `now`.
    pub fn result(&self, now: Time, counted: Duration) -> QueueResult {
        let mut last = self.clone();
        last.add_elapsed(now);
        if counted.is_zero() {
            return QueueResult { max_packets: last.max_packets, ..QueueResult::default() };
        }
        let span = counted.as_picos() as f64;
        QueueResult {
            mean_packets: last.packet_time as f64 / span,
            mean_bytes: last.byte_time as f64 / span,
            p99_packets: last.p99(counted),
            max_packets: last.max_packets,
        }
    }

    fn p99(&self, counted: Duration) -> u64 {
        let above = counted.as_picos() / 100;
        let mut longer = 0u64;
        for (bucket, &weight) in self.weights.iter().enumerate().rev() {
            longer += weight;
            if longer > above {
                return bucket_maximum(bucket).min(self.max_packets);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Time {
        Time::from_picos(millis * 1_000_000_000)
    }

    #[test]
    fn buckets_are_ordered_and_upper_is_their_end() {
        for packets in 0..100_000 {
            let b = bucket_of(packets);
            assert!(packets <= bucket_maximum(b));
            assert!(b == 0 || packets > bucket_maximum(b - 1));
        }
    }

    /// 10 ms empty, 20 ms of 3 packets, 70 ms of 1 packet; then again, from a restart in the middle.
    #[test]
    fn means_are_weighted_by_time() {
        let mut queue = Occupancy::default();
        queue.change(at(10), 3, 300);
        queue.change(at(30), 1, 100);
        let all = queue.result(at(100), Duration::from_millis(100));
        assert!((all.mean_packets - 1.3).abs() < 1e-12);
        assert!((all.mean_bytes - 130.0).abs() < 1e-9);
        assert_eq!((all.p99_packets, all.max_packets), (3, 3));
        queue.restart(at(50));
        let rest = queue.result(at(100), Duration::from_millis(50));
        assert_eq!((rest.mean_packets, rest.max_packets, rest.p99_packets), (1.0, 1, 1));
    }
}
