//! A policer that drops packets beyond a token bucket (RFC 2697).

use crate::token_bucket::TokenBucket;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Fcfs, Limit, RandomStreams, SpecError,
    TokenBucketSpec, Traits,
};
use thalweg_proto::units::{Bytes, Rate, Time};

/// Parameters of [`Policer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerConfig {
    /// Long-term rate.
    pub rate: Rate,
    /// Burst after a pause, in bytes.
    pub burst: Bytes,
}

impl PolicerConfig {
    /// Returns the token bucket.
    pub const fn bucket(&self) -> TokenBucketSpec {
        TokenBucketSpec { rate: self.rate, burst: self.burst }
    }
}

/// FIFO behind a token-bucket policer: an arrival without tokens for all of its bytes is dropped, even below the limit
/// (the red packets of RFC 2697 with an excess burst of 0; Flach et al. 2016).
///
/// Admitted arrivals take tokens even if the queue is full. Urgent packets need no tokens.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: TokenBucket,
    queue: Fcfs,
}

impl Policer {
    /// Creates an empty queue with this limit, behind a full bucket.
    pub fn new(limit: Limit, config: PolicerConfig) -> Self {
        Self { bucket: TokenBucket::new(&config.bucket()), queue: Fcfs::new(limit) }
    }
}

impl Discipline for Policer {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if !entry.is_feedback {
            let size = u64::from(entry.size);
            // RFC 2697, section 3: a red packet takes no tokens, or a flow far above the rate would get none
            // of it.
            if !self.bucket.conforms(now, size) {
                dropped.push(DroppedPacket { entry, reason: DropReason::Early });
                return;
            }
            self.bucket.take(now, size);
        }
        self.queue.enqueue(now, entry, dropped);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.queue.dequeue(now, dropped)
    }

    fn peek(&self) -> Option<&Entry> {
        self.queue.peek()
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(now, limit, dropped);
    }
}

impl DisciplineConfig for PolicerConfig {
    type Queue = Policer;
    const NAME: &'static str = "policer";

    fn check(&self) -> Result<(), SpecError> {
        self.bucket().check()
    }

    fn make(&self, limit: Limit, _streams: RandomStreams<'_>) -> Policer {
        Policer::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        // Packets that find the line idle take tokens too.
        Traits { marks_ecn: false, is_random: false, ..Traits::RANDOM_EARLY_DETECTION }
    }

    fn description(&self) -> String {
        format!("policer of {} with a burst of {}, and a queue", self.rate, self.burst)
    }

    fn policer(&self) -> Option<TokenBucketSpec> {
        Some(self.bucket())
    }
}

#[cfg(test)]
mod tests {
    //! Tests that passed traffic equals the bucket for any arrivals, and that packets with tokens are not dropped.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};
    use proptest::prelude::*;
    use thalweg_proto::units::Duration;

    const CONFIG: PolicerConfig =
        PolicerConfig { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(3000) };

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// RFC 2697, section 3: a packet conforms if there are tokens for all of it; a non-conforming packet takes none.
    #[test]
    fn the_burst_passes_and_then_the_rate() {
        let mut queue = Policer::new(Limit::Unlimited, CONFIG);
        let dropped: Vec<u32> = (0..6)
            .flat_map(|packet| enqueue_and_list_drops(&mut queue, at(0), ordinary_entry(packet)))
            .collect();
        assert_eq!((dequeue_all(&mut queue, at(0)), dropped), (vec![0, 1, 2], vec![3, 4, 5]));
        // A byte early is too early.
        assert_eq!(enqueue_and_list_drops(&mut queue, at(999), ordinary_entry(6)), [6]);
        assert_eq!(enqueue_and_list_drops(&mut queue, at(1000), ordinary_entry(7)), []);
        assert_eq!(enqueue_and_list_drops(&mut queue, at(1001), Entry { size: 2, ..ordinary_entry(8) }), [8]);
    }

    /// Twice the rate is offered for ten seconds: the rate times ten seconds and the burst pass (Flach et al. 2016).
    #[test]
    fn in_the_long_run_the_rate_passes() {
        let mut queue = Policer::new(Limit::Unlimited, CONFIG);
        let mut passed = 0;
        for packet in 0..20_000 {
            passed += u64::from(
                enqueue_and_list_drops(&mut queue, at(500 * u64::from(packet)), ordinary_entry(packet))
                    .is_empty(),
            );
        }
        assert_eq!(passed, 10_000 + 3 - 1);
    }

    #[test]
    fn urgent_packets_need_no_tokens() {
        let mut queue = Policer::new(Limit::Unlimited, CONFIG);
        for packet in 0..9 {
            assert_eq!(
                enqueue_and_list_drops(
                    &mut queue,
                    at(0),
                    Entry { is_feedback: true, ..ordinary_entry(packet) }
                ),
                []
            );
        }
    }

    proptest! {
        /// The token bucket's bound: in any span at most rate times span plus burst passes.
        #[test]
        fn no_span_has_more_than_the_bucket_allows(
            arrivals in prop::collection::vec((0u64..3000, 1u32..2000), 1..200),
        ) {
            let mut queue = Policer::new(Limit::Unlimited, CONFIG);
            let (mut now, mut passed) = (0, Vec::new());
            for (number, (gap, size)) in arrivals.into_iter().enumerate() {
                now += gap;
                if enqueue_and_list_drops(&mut queue, at(now), Entry { size, ..ordinary_entry(number as u32) }).is_empty() {
                    passed.push((now, u64::from(size)));
                }
            }
            for (first, (from, _)) in passed.iter().enumerate() {
                let mut sum = 0;
                for (to, size) in &passed[first..] {
                    sum += size;
                    let allowed = CONFIG.bucket().admitted_from_full_bucket(Duration::from_micros(to - from));
                    prop_assert!(sum <= allowed.get(), "{sum} in {} us", to - from);
                }
            }
        }
    }
}
