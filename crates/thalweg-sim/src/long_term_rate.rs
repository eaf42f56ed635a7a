//! Long-term rate of a link direction: of its transmitter, shaper or full batches.

use crate::simulation_spec::DirectionSpec;
use thalweg_proto::units::{Bytes, Rate};

/// Size of a full-sized packet, in bytes: the MTU of Ethernet. A maximum number of packets per batch limits packets, not bytes;
/// its rate is stated for this size.
const FULL_PACKET: u32 = 1500;

impl DirectionSpec {
    /// Returns the long-term rate: for a link that starts stopped, the highest scheduled rate.
    pub fn nominal_rate(&self) -> Rate {
        let rate = if self.rate.is_zero() {
            self.schedule.iter().filter_map(|change| change.rate).max().unwrap_or(Rate::ZERO)
        } else {
            self.rate
        };
        self.sustained_rate(rate)
    }

    /// Returns the rate at which the queue is served in the long run, at this rate of the transmitter: the shaper's or that
    /// of full batches of full-sized packets, if lower.
    pub fn sustained_rate(&self, rate: Rate) -> Rate {
        let shaped = self.start_delay.shaper.map_or(rate, |shaper| rate.min(shaper.rate));
        self.rate_of_full_batches().map_or(shaped, |batches| shaped.min(batches))
    }

    /// Returns the rate of full batches of packets of 1500 bytes, on the wire; `None` without a maximum number of
    /// packets per batch.
    pub fn rate_of_full_batches(&self) -> Option<Rate> {
        self.aggregation?.rate_of_full_batches(Bytes::new(self.framing.on_wire(FULL_PACKET)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation_spec::Framing;
    use thalweg_proto::units::Duration;
    use thalweg_queue::{AggregationSpec, TokenBucketSpec};

    #[test]
    fn full_batches_and_shapers_limit_the_rate() {
        let mut line = DirectionSpec::unlimited_rate(Duration::ZERO);
        line.rate = Rate::from_mbits_per_sec(100);
        let batches = |packets| AggregationSpec { every: Duration::from_millis(4), packets };
        line.aggregation = Some(batches(None));
        assert_eq!((line.nominal_rate(), line.rate_of_full_batches()), (line.rate, None));
        line.aggregation = Some(batches(Some(64)));
        assert_eq!(line.nominal_rate(), line.rate);
        line.aggregation = Some(batches(Some(4)));
        assert_eq!(line.nominal_rate(), Rate::from_mbits_per_sec(12));
        assert_eq!(line.sustained_rate(Rate::from_mbits_per_sec(5)), Rate::from_mbits_per_sec(5));
        line.start_delay.shaper =
            Some(TokenBucketSpec { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(3000) });
        assert_eq!(line.nominal_rate(), Rate::from_mbits_per_sec(8));
        line.start_delay.shaper = None;
        // 32 cells of 53 bytes.
        line.framing = Framing::AtmAal5;
        assert_eq!(line.nominal_rate(), Rate::from_bits_per_sec(4 * 32 * 53 * 8 * 250));
    }
}
