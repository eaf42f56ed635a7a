//! Wires that deliver packets in batches, like Wi-Fi and cable.

use crate::SpecError;
use crate::impairment_spec::above_zero;
use thalweg_proto::units::{Duration, Time};

/// Frame aggregation of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregationSpec {
    /// Interval between batches.
    pub every: Duration,
    /// Maximum number of packets per batch.
    pub packets: Option<u64>,
}

impl AggregationSpec {
    /// Checks that interval and batch size are above zero.
    ///
    /// # Errors
    /// Returns [`SpecError::NotAboveZero`].
    pub fn check(&self) -> Result<(), SpecError> {
        above_zero("every", self.every.as_secs_f64())?;
        above_zero("packets", self.packets.map_or(1.0, |packets| packets as f64))
    }
}

/// Delays packets to the next batch, at a multiple of the interval, or to a later one if that is full.
#[derive(Clone, Copy, Debug)]
pub struct Aggregation {
    spec: AggregationSpec,
    /// Time of the current batch, and number of packets in it.
    batch: Time,
    count: u64,
}

impl Aggregation {
    /// Creates a wire with batches at multiples of the interval.
    pub const fn new(spec: AggregationSpec) -> Self {
        Self { spec, batch: Time::ZERO, count: 0 }
    }

    /// Returns the arrival time of a packet that would arrive at `arrives` without aggregation.
    pub fn delayed_arrival(&mut self, arrives: Time) -> Time {
        let next = Time::ZERO + arrives.since(Time::ZERO).round_up_to(self.spec.every);
        // If the wire's delay has shrunk, packets may overtake packets of a later batch.
        let Some(packets) = self.spec.packets else { return next };
        if next > self.batch {
            (self.batch, self.count) = (next, 0);
        } else if self.count >= packets {
            (self.batch, self.count) = (self.batch + self.spec.every, 0);
        }
        self.count += 1;
        self.batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// The upstream of cable by the request-grant cycle (draft-white-tsvwg-lld): what came within one interval leaves
    /// together.
    #[test]
    fn packets_of_an_interval_arrive_together() {
        let mut wire = Aggregation::new(AggregationSpec { every: Duration::from_millis(2), packets: None });
        let arrive = [1, 1999, 2000, 2001, 9500].map(|micros| wire.delayed_arrival(at(micros)));
        assert_eq!(arrive, [2000, 2000, 2000, 4000, 10_000].map(at));
    }

    /// IEEE 802.11-2020, section 9.3.1.8: a block acknowledgement, and so an aggregate, has at most 64 frames. A hundred that wait
    /// take two.
    #[test]
    fn a_batch_holds_so_many() {
        let mut wire =
            Aggregation::new(AggregationSpec { every: Duration::from_millis(4), packets: Some(64) });
        let arrive: Vec<Time> = (0..100).map(|_| wire.delayed_arrival(at(100))).collect();
        assert_eq!((arrive[63], arrive[64], arrive[99]), (at(4000), at(8000), at(8000)));
        // Later packets do not overtake them.
        assert_eq!(wire.delayed_arrival(at(5000)), at(8000));
        assert_eq!(wire.delayed_arrival(at(8001)), at(12_000));
    }
}
