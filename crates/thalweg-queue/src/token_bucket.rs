//! Token bucket of policers and shapers.

use crate::SpecError;
use crate::impairment_spec::above_zero;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Parameters of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenBucketSpec {
    /// Token rate, one token per byte.
    pub rate: Rate,
    /// Bucket size in bytes: the maximum burst.
    pub burst: Bytes,
}

impl TokenBucketSpec {
    /// Checks that rate and size are above zero.
    ///
    /// # Errors
    /// Returns [`SpecError::NotAboveZero`].
    pub fn check(&self) -> Result<(), SpecError> {
        above_zero("rate", self.rate.as_f64())?;
        above_zero("burst", self.burst.get() as f64)
    }

    /// Returns the bytes that the rate admits in `span`, without the burst.
    pub fn admitted_by_rate(&self, span: Duration) -> f64 {
        self.rate.as_f64() * span.as_secs_f64() / 8.0
    }

    /// Returns the maximum number of bytes that pass in `span`, from a full bucket.
    pub fn admitted_from_full_bucket(&self, span: Duration) -> Bytes {
        Bytes::new(self.rate.bytes_in(span).get().saturating_add(self.burst.get()))
    }
}

/// Token bucket, initially full.
///
/// Its state is the time when it is full if nothing is taken: exact, and without a timer. A packet larger than the bucket
/// takes more tokens than there are, and the next one waits for them: the long-run rate is that of the tokens for packets
/// of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenBucket {
    rate: Rate,
    /// Time to fill an empty bucket.
    depth: Duration,
    full_at: Time,
}

impl TokenBucket {
    pub fn new(spec: &TokenBucketSpec) -> Self {
        Self { rate: spec.rate, depth: spec.rate.transmission_time(spec.burst), full_at: Time::ZERO }
    }

    fn worth(&self, size: u64) -> Duration {
        self.rate.transmission_time(Bytes::new(size))
    }

    /// Returns the earliest time, from `now` on, with tokens for `size` bytes, or with a full bucket for a larger packet.
    pub fn earliest(&self, now: Time, size: u64) -> Time {
        let empty_enough = self.full_at.max(now) + self.worth(size).min(self.depth);
        now.max(Time::ZERO + empty_enough.since(Time::ZERO + self.depth))
    }

    /// Returns true if there are tokens for all of `size` bytes at `now`: never for more than the bucket.
    pub fn conforms(&self, now: Time, size: u64) -> bool {
        self.worth(size) <= self.depth && self.earliest(now, size) <= now
    }

    /// Takes the tokens for `size` bytes at `at`.
    pub fn take(&mut self, at: Time, size: u64) {
        self.full_at = self.full_at.max(at) + self.worth(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> TokenBucket {
        // 1000 bytes a millisecond, and a bucket of 3000.
        TokenBucket::new(&TokenBucketSpec { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(3000) })
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// RFC 2697, section 3: the bucket begins full, and gains a token for each byte of the rate until it is full.
    #[test]
    fn tokens_accumulate_at_the_rate_up_to_the_bucket() {
        let mut bucket = bucket();
        for _ in 0..3 {
            assert_eq!(bucket.earliest(at(0), 1000), at(0));
            bucket.take(at(0), 1000);
        }
        assert_eq!(bucket.earliest(at(0), 1000), at(1000));
        assert_eq!(bucket.earliest(at(400), 500), at(500));
        bucket.take(at(500), 500);
        // Empty at 0.5 ms: 1000 tokens at 1.5 ms, and never more than 3000.
        assert_eq!(bucket.earliest(at(500), 1000), at(1500));
        assert_eq!(bucket.earliest(at(9000), 3000), at(9000));
        bucket.take(at(9000), 3000);
        assert_eq!(bucket.earliest(at(9000), 3000), at(12_000));
    }

    /// A larger packet begins with a full bucket, and the next one when the tokens that it took have come: 4000 bytes
    /// take 4 ms, and the bucket is full again at 11 ms.
    #[test]
    fn the_rate_holds_for_packets_larger_than_the_bucket() {
        let mut one = bucket();
        assert_eq!(one.earliest(at(7000), 4000), at(7000));
        one.take(at(7000), 4000);
        assert_eq!(
            [1000, 3000, 4000].map(|size| one.earliest(at(7000), size)),
            [9000, 11_000, 11_000].map(at)
        );
        for burst in [1, 100, 500, 999, 1000, 1001, 1500, 3000] {
            let spec = TokenBucketSpec { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(burst) };
            // The transmitter needs a tenth of the time of the tokens for a packet.
            let (mut bucket, mut now, mut begins) = (TokenBucket::new(&spec), at(0), Vec::new());
            for _ in 0..1000 {
                let begin = bucket.earliest(now, 1000);
                bucket.take(begin, 1000);
                begins.push(begin);
                now = begin + Duration::from_micros(100);
            }
            let span = begins[999].since(begins[0]);
            let spared = Duration::from_micros(burst.max(1000) - 1000);
            assert_eq!(span, Duration::from_millis(999) - spared, "{burst}");
        }
    }

    #[test]
    fn only_packets_up_to_the_bucket_conform() {
        assert!(bucket().conforms(at(0), 3000) && !bucket().conforms(at(9000), 3001));
        let mut empty = bucket();
        empty.take(at(0), 3000);
        assert!(!empty.conforms(at(999), 1000) && empty.conforms(at(1000), 1000));
    }

    #[test]
    fn times_saturate_at_the_maximum() {
        let slow = TokenBucketSpec { rate: Rate::from_bits_per_sec(1), burst: Bytes::new(u64::MAX) };
        let mut bucket = TokenBucket::new(&slow);
        bucket.take(Time::MAX, u64::MAX);
        assert_eq!(bucket.earliest(Time::MAX, u64::MAX), Time::MAX);
    }
}
