//! A distribution of durations in logarithmic buckets.

use crate::units::Duration;

/// A distribution of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: u64,
    /// The smallest.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The median, within 1.6 %.
    pub p50: Duration,
    /// The 95th percentile, within 1.6 %.
    pub p95: Duration,
    /// The 99th percentile, within 1.6 %.
    pub p99: Duration,
    /// The 99.9th percentile, within 1.6 %.
    pub p999: Duration,
    /// The largest.
    pub max: Duration,
}

/// The shares of [`Histogram::curve`]: every fortieth, and more of the tail.
pub const SHARES: [f64; 43] = {
    let mut shares = [1.0; 43];
    let mut at = 0;
    while at < 40 {
        shares[at] = at as f64 / 40.0;
        at += 1;
    }
    (shares[40], shares[41]) = (0.99, 0.999);
    shares
};

/// Buckets per octave, as a power of two: 2^5 buckets are at most 3 % wide, and their midpoints are within 1.6 %.
const BITS: u32 = 5;

/// Counts durations in buckets. Only the buckets between the smallest and the largest value are stored: a flow with
/// delays within a factor of four needs some 64 counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// The bucket of `counts[0]`.
    first: u32,
    counts: Vec<u32>,
}

/// Returns the bucket of a value. Values below 2^BITS have a bucket each; above, the exponent and the BITS bits after
/// the leading one select it.
fn bucket_of(value: u64) -> u32 {
    if value < 1 << BITS {
        return value as u32;
    }
    let exponent = 63 - value.leading_zeros() - BITS;
    (exponent << BITS) + (value >> exponent) as u32
}

/// Returns the first value of a bucket and the number of its values.
fn bucket_range(bucket: u32) -> (u64, u64) {
    if bucket < 1 << BITS {
        return (u64::from(bucket), 1);
    }
    let exponent = (bucket >> BITS) - 1;
    let leading = u64::from(bucket - (exponent << BITS));
    (leading << exponent, 1 << exponent)
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let value = value.as_picos();
        let bucket = bucket_of(value);
        if self.count == 0 {
            (self.min, self.first) = (value, bucket);
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match self.counts.get_mut(bucket.wrapping_sub(self.first) as usize) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(bucket),
        }
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        let last = other.first + other.counts.len() as u32 - 1;
        self.extend_to(other.first);
        self.extend_to(last);
        let offset = (other.first - self.first) as usize;
        for (count, more) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Makes room for `bucket` and counts one in it.
    #[cold]
    fn grow(&mut self, bucket: u32) {
        self.extend_to(bucket);
        let index = (bucket - self.first) as usize;
        self.counts[index] = self.counts[index].saturating_add(1);
    }

    fn extend_to(&mut self, bucket: u32) {
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(0..0, core::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let index = (bucket - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
    }

    /// Returns the quantiles of these shares, interpolated within buckets and limited to the extremes. The shares must
    /// ascend: one pass over the buckets serves all.
    fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Duration; N] {
        let (mut seen, mut next) = (0, 0);
        shares.map(|share| {
            let rank = ((self.count as f64 * share).ceil() as u64).max(1);
            while seen < rank {
                let Some(&count) = self.counts.get(next) else { return Duration::from_picos(self.max) };
                seen += u64::from(count);
                next += 1;
            }
            self.at_rank(rank, next - 1, seen)
        })
    }

    /// Returns the value of this rank in the bucket at `index`; `seen` counts all values up to the end of that bucket.
    fn at_rank(&self, rank: u64, index: usize, seen: u64) -> Duration {
        // Values lie evenly in a bucket, as far as it is known: the first of n is at the middle of its first nth.
        let count = self.counts[index];
        let (start, width) = bucket_range(self.first + index as u32);
        let place = (rank - (seen - u64::from(count))) as f64 - 0.5;
        let (start, end) = (start.max(self.min), (start + (width - 1)).min(self.max));
        let within = (end.saturating_sub(start) as f64 * place / f64::from(count)) as u64;
        Duration::from_picos((start + within).clamp(self.min, self.max))
    }

    /// Returns the values that the shares of [`SHARES`] do not exceed, from the smallest value to the largest; none where nothing was
    /// counted.
    pub fn curve(&self) -> Vec<Duration> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut curve = self.quantiles(SHARES);
        (curve[0], curve[SHARES.len() - 1]) =
            (Duration::from_picos(self.min), Duration::from_picos(self.max));
        curve.to_vec()
    }

    /// Returns the summary; zeros for an empty histogram.
    pub fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        let [p50, p95, p99, p999] = self.quantiles([0.5, 0.95, 0.99, 0.999]);
        Summary {
            count: self.count,
            min: Duration::from_picos(self.min),
            mean: Duration::from_picos((self.sum / u128::from(self.count)) as u64),
            p50,
            p95,
            p99,
            p999,
            max: Duration::from_picos(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_numbers() {
        let mut end = 0;
        for b in 0..(65 - BITS) << BITS {
            let (start, width) = bucket_range(b);
            assert_eq!(start, end, "bucket {b}");
            assert_eq!((bucket_of(start), bucket_of(start + (width - 1))), (b, b));
            match start.checked_add(width) {
                Some(next) => end = next,
                None => return assert_eq!(b, bucket_of(u64::MAX)),
            }
        }
    }

    #[test]
    fn a_curve_is_the_distribution_function() {
        let mut histogram = Histogram::default();
        assert!(histogram.curve().is_empty());
        for value in 1..=10_000 {
            histogram.record(Duration::from_millis(value));
        }
        let curve = histogram.curve();
        assert_eq!((curve[0], curve[42]), (Duration::from_millis(1), Duration::from_secs(10)));
        for (found, share) in curve.iter().zip(SHARES).skip(1) {
            assert!((found.as_secs_f64() / (10.0 * share) - 1.0).abs() < 0.016, "{share}: {found}");
        }
        assert!(SHARES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// Quantiles of 1 to 10 000 ms are within half a bucket, the rest is exact.
    #[test]
    fn quantiles_of_a_uniform_distribution() {
        let mut histogram = Histogram::default();
        for value in (1..=10_000).rev() {
            histogram.record(Duration::from_millis(value));
        }
        let summary = histogram.summary();
        assert_eq!(summary.count, 10_000);
        assert_eq!((summary.min, summary.max), (Duration::from_millis(1), Duration::from_secs(10)));
        assert_eq!(summary.mean, Duration::from_picos(5_000_500_000_000));
        assert!((summary.p50.as_secs_f64() / 5.0 - 1.0).abs() < 0.016);
        for (found, exact) in [(summary.p95, 9.5), (summary.p99, 9.9), (summary.p999, 9.99)] {
            assert!((found.as_secs_f64() / exact - 1.0).abs() < 0.016);
        }
    }

    /// Interpolation of evenly spread values resolves more than the bucket width: runs that differ a little give
    /// different quantiles.
    #[test]
    fn quantiles_follow_values_within_a_bucket() {
        let p99 = |offset: u64| {
            let mut histogram = Histogram::default();
            (0..100_000).for_each(|i| histogram.record(Duration::from_nanos(1_000_000 + offset + i * 10)));
            histogram.summary().p99.as_secs_f64()
        };
        for offset in [0, 3_000, 6_000, 9_000] {
            let exact = (1_990_000 + offset) as f64 * 1e-9;
            assert!((p99(offset) / exact - 1.0).abs() < 2e-4, "{offset}: {}", p99(offset));
        }
        assert!(p99(0) < p99(3_000) && p99(3_000) < p99(6_000));
    }
}
