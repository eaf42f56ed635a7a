//! Wires that deliver packets in batches, like Wi-Fi and cable.

use crate::impairment_spec::above_zero;
use crate::{SpecError, TokenBucketSpec};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

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

    /// Returns full batches of packets of `size` bytes as a token bucket: its burst is a batch, and its rate is that of the
    /// batches. `None` without a maximum number.
    fn bucket_of_full_batches(&self, size: Bytes) -> Option<TokenBucketSpec> {
        let burst = Bytes::new(self.packets?.saturating_mul(size.get()));
        Some(TokenBucketSpec { rate: Rate::from_transfer(burst, self.every), burst })
    }

    /// Returns the rate of full batches of packets of `size` bytes; `None` without a maximum number.
    pub fn rate_of_full_batches(&self, size: Bytes) -> Option<Rate> {
        self.bucket_of_full_batches(size).map(|bucket| bucket.rate)
    }

    /// Returns the full batches as a token bucket, and the tokens of a packet of any size; `None` without a maximum number.
    pub fn as_token_bucket(&self) -> Option<(TokenBucketSpec, u64)> {
        self.bucket_of_full_batches(PACKET_TOKENS).map(|bucket| (bucket, PACKET_TOKENS.get()))
    }

    /// Returns the number of packets that full batches carry in `span`; `None` without a maximum number. A rate has whole bits
    /// per second, and this number is not rounded.
    pub fn carried_in(&self, span: Duration) -> Option<f64> {
        self.packets.map(|packets| packets as f64 * (span.as_secs_f64() / self.every.as_secs_f64()))
    }
}

/// Tokens of a packet in [`AggregationSpec::as_token_bucket`]: many, as rates are whole bits per second.
const PACKET_TOKENS: Bytes = Bytes::new(10_000_000);

/// Delays packets to the next batch, at a multiple of the interval.
///
/// While a batch is full, [`Self::begin`] delays the transmitter, and packets wait in its queue: the wire holds the batches
/// of its propagation delay, and no more.
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

    /// Returns the start of a transmission that is possible from `ready` on, over a wire with this delay: later if the packet
    /// would arrive with a full batch. `departure` returns its end for a start.
    pub fn begin(&self, ready: Time, delay: Duration, departure: impl FnOnce(Time) -> Time) -> Time {
        let is_full = self.spec.packets.is_some_and(|packets| self.count >= packets);
        if is_full && departure(ready) + delay <= self.batch {
            ready.max(Time::ZERO + self.batch.since(Time::ZERO + delay))
        } else {
            ready
        }
    }

    /// Returns the arrival time of a packet that would arrive at `arrives` without aggregation, and counts the packet.
    pub fn delayed_arrival(&mut self, arrives: Time) -> Time {
        let next = Time::ZERO + arrives.since(Time::ZERO).round_up_to(self.spec.every);
        // If the wire's delay has shrunk, packets may overtake packets of a later batch.
        let Some(packets) = self.spec.packets else { return next };
        if next > self.batch {
            (self.batch, self.count) = (next, 0);
        } else if self.count >= packets {
            // Only without a transmission time: the batch ends when the transmission begins.
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
    /// take two, and the transmitter sends the sixty-fifth when the first batch has ended.
    #[test]
    fn a_transmitter_waits_while_the_batch_is_full() {
        let (micro, delay) = (Duration::from_micros(1), Duration::from_micros(1500));
        for takes in [Duration::ZERO, micro, micro * 50] {
            let mut wire =
                Aggregation::new(AggregationSpec { every: Duration::from_millis(4), packets: Some(64) });
            let mut free = at(100);
            let mut send = |ready: Time| {
                let begins = wire.begin(ready.max(free), delay, |begins| begins + takes);
                free = begins + takes;
                (begins, wire.delayed_arrival(free + delay))
            };
            let sent: Vec<(Time, Time)> = (0..100).map(|_| send(at(100))).collect();
            let full = if takes == micro * 50 { 48 } else { 64 };
            assert_eq!(sent[full - 1].1, at(4000), "{takes}");
            // Fifty microseconds each: 48 leave before the end of the batch, and the next without a pause.
            let next = if full == 64 { at(2500) } else { at(100) + takes * 48 };
            assert_eq!(sent[full], (next, at(8000)), "{takes}");
            assert_eq!(sent[99].1, at(8000), "{takes}");
            // Later packets do not overtake them; after a pause, the next batch has space.
            assert_eq!(send(at(20_000)), (at(20_000), at(24_000)), "{takes}");
        }
    }

    /// Full batches carry the lower of their rate and the transmitter's, whatever the start.
    #[test]
    fn batches_and_transmitter_limit_the_rate() {
        for (takes, expected) in
            [(100, 4000), (249, 4000), (250, 4000), (251, 3984), (300, 3333), (999, 1001)]
        {
            for start in [0, 1, 130, 999] {
                let mut wire =
                    Aggregation::new(AggregationSpec { every: Duration::from_millis(1), packets: Some(4) });
                let takes = Duration::from_micros(takes);
                let (mut free, mut count) = (at(start), 0_u64);
                while wire.delayed_arrival(free) <= at(1_000_000) {
                    free = wire.begin(free, Duration::ZERO, |begins| begins + takes) + takes;
                    count += 1;
                }
                assert!(count.abs_diff(expected) <= 4, "{takes}, {start}: {count}");
            }
        }
    }

    #[test]
    fn the_rate_of_full_batches_depends_on_the_size() {
        let spec = AggregationSpec { every: Duration::from_millis(4), packets: Some(4) };
        assert_eq!(spec.rate_of_full_batches(Bytes::new(1500)), Some(Rate::from_mbits_per_sec(12)));
        assert_eq!(spec.carried_in(Duration::from_secs(2)), Some(2000.0));
        let unlimited = AggregationSpec { packets: None, ..spec };
        assert_eq!(unlimited.rate_of_full_batches(Bytes::new(1500)), None);
        assert_eq!(unlimited.carried_in(Duration::from_secs(2)), None);
    }
}
