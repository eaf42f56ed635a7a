//! Weights of flows in fair queues.

use crate::{Entry, SpecError};

/// Weights of flows by their [priority](Entry::priority), the highest first. While both are backlogged, a flow of
/// weight 3 sends three times the bytes of one of weight 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights(pub [u32; Self::CLASSES]);

impl Default for Weights {
    fn default() -> Self {
        Self([1; Self::CLASSES])
    }
}

impl Weights {
    /// Number of priorities, from 1; flows beyond have the weight of the last.
    pub const CLASSES: usize = 6;
    /// Maximum weight.
    pub const MAX: u32 = 1000;

    /// Checks that each weight is from 1 to [`MAX`](Self::MAX).
    ///
    /// # Errors
    /// Returns the first one out of range as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        for weight in self.0 {
            crate::impairment_spec::above_zero("weight", f64::from(weight))?;
            if weight > Self::MAX {
                return Err(SpecError::TooMany { what: "weight", max: Self::MAX, found: weight });
            }
        }
        Ok(())
    }

    /// Returns the weight of a packet's flow, at least 1.
    pub(crate) fn weight_of(&self, entry: &Entry) -> u32 {
        let class = usize::from(entry.priority).saturating_sub(1).min(Self::CLASSES - 1);
        self.0[class].clamp(1, Self::MAX)
    }

    /// Returns true if the weights differ.
    pub(crate) fn differ(&self) -> bool {
        self.0.windows(2).any(|pair| pair[0] != pair[1])
    }
}

#[cfg(test)]
mod tests {
    //! Tests that flows share the link in proportion to their weights, in every discipline with weights.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use crate::{Any, Discipline, DisciplineSpec, DrrConfig, FairQueueingConfig, FqCoDelConfig, Limit};
    use thalweg_proto::random::RandomStream;
    use thalweg_proto::units::{Rate, Time};

    /// Returns the bytes sent by each of three backlogged flows with priorities 1, 2 and 6 and these packet sizes.
    fn bytes_sent(spec: &DisciplineSpec, sizes: [u32; 3]) -> [u64; 3] {
        let mut queue = Any::new(spec, |purpose| RandomStream::new(1, purpose, 0));
        queue.set_rate(Rate::from_mbits_per_sec(10));
        let (mut bytes_served, mut dropped) = ([0u64; 3], Vec::new());
        let entry = |flow: u32| {
            let priority = [1, 2, 6][flow as usize];
            Entry { size: sizes[flow as usize], flow, priority, ..ordinary_entry(0) }
        };
        for flow in (0..3).cycle().take(30) {
            queue.enqueue(Time::ZERO, entry(flow), &mut dropped);
        }
        for _ in 0..20_000 {
            let left = queue.dequeue(Time::ZERO, &mut dropped).unwrap();
            bytes_served[left.flow as usize] += u64::from(left.size);
            queue.enqueue(Time::ZERO, entry(left.flow), &mut dropped);
        }
        assert!(dropped.is_empty());
        bytes_served
    }

    #[test]
    fn flows_share_by_weight_within_two_percent() {
        let specs = |weights: Weights| {
            let fair = FairQueueingConfig { weights, ..FairQueueingConfig::default() };
            let drr = DrrConfig { weights, ..DrrConfig::default() };
            let codel = FqCoDelConfig { weights, ..FqCoDelConfig::default() };
            [
                DisciplineSpec::new(Limit::Unlimited, fair),
                DisciplineSpec::new(Limit::Unlimited, drr),
                DisciplineSpec::new(Limit::Unlimited, codel),
            ]
        };
        for (weights, expected) in
            [(Weights([4, 2, 9, 9, 9, 1]), [4.0, 2.0, 1.0]), (Weights::default(), [1.0; 3])]
        {
            for spec in specs(weights) {
                assert_eq!(spec.depends_on_priority(), weights.differ(), "{spec:?}");
                for sizes in [[1500, 1500, 1500], [1500, 500, 64]] {
                    let bytes_served = bytes_sent(&spec, sizes);
                    let (sum, shares) =
                        (bytes_served.iter().sum::<u64>() as f64, expected.iter().sum::<f64>());
                    for (bytes, weight) in bytes_served.iter().zip(expected) {
                        let found = *bytes as f64 / sum / (weight / shares);
                        assert!((found - 1.0).abs() < 0.02, "{spec:?}, {sizes:?}: {bytes_served:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn weights_out_of_range_are_refused() {
        for weight in [0, Weights::MAX + 1] {
            let weights = Weights([1, 1, weight, 1, 1, 1]);
            let config = DrrConfig { weights, ..DrrConfig::default() };
            assert!(DisciplineSpec::new(Limit::Unlimited, config).check().is_err(), "{weight}");
        }
        assert!(Weights([Weights::MAX; 6]).check().is_ok());
    }
}
