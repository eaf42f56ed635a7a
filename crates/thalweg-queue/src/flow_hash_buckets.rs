//! Flows hashed to buckets.

use thalweg_proto::random::RandomStream;

/// Random hash of flows to a fixed number of buckets; it can be perturbed.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    count: u32,
    salt: u64,
    stream: RandomStream,
}

impl Buckets {
    /// Creates a hash with `count` buckets, at least one.
    pub(crate) fn new(count: u32, mut stream: RandomStream) -> Self {
        Self { count: count.max(1), salt: stream.next_u64(), stream }
    }

    /// Perturbs the hash.
    pub(crate) fn perturb(&mut self) {
        self.salt = self.stream.next_u64();
    }

    /// Returns the bucket of `flow`.
    pub(crate) fn bucket_of(&self, flow: u32) -> u32 {
        // The finalizer of splitmix64 (Steele, Lea, Flood 2014) spreads neighbours all over the range.
        let mut hash = (self.salt ^ u64::from(flow)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        ((u128::from(hash) * u128::from(self.count)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    //! Tests that buckets are used evenly, and anew after a perturbation.
    use super::*;

    #[test]
    fn neighbours_spread_evenly() {
        // 100 000 flows in 100 buckets: each has 1000 of them, within 5 standard deviations (158).
        let buckets = Buckets::new(100, RandomStream::new(1, "test", 0));
        let mut counts = [0i32; 100];
        (0..100_000).for_each(|flow| counts[buckets.bucket_of(flow) as usize] += 1);
        assert!(counts.iter().all(|count| (count - 1000).abs() < 158), "{counts:?}");
    }

    #[test]
    fn a_perturbation_separates_flows_in_one_bucket() {
        // Of 1000 flows in 10 buckets, about 100 share the first flow's bucket; after a perturbation they share it
        // again one time in ten.
        let mut buckets = Buckets::new(10, RandomStream::new(1, "test", 0));
        let together = |buckets: &Buckets| -> Vec<u32> {
            (1..1000).filter(|&flow| buckets.bucket_of(flow) == buckets.bucket_of(0)).collect()
        };
        let before = together(&buckets);
        buckets.perturb();
        let still = before.iter().filter(|&&flow| buckets.bucket_of(flow) == buckets.bucket_of(0)).count();
        assert!((60..140).contains(&before.len()) && still < 30, "{} {still}", before.len());
    }
}
