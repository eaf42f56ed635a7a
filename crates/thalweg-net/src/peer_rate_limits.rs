//! Token bucket that limits the rate of work that peers can cause, such as handshakes and answers.

use thalweg_proto::units::Time;

/// Token bucket with a burst of one second's worth.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: u32,
    /// Tokens, in billionths.
    tokens: u64,
    last_refill: Time,
}

impl Bucket {
    /// Creates a full bucket at `now`, with `rate` tokens per second.
    pub fn new(now: Time, rate: u32) -> Self {
        Self { rate, tokens: u64::from(rate) * NANOS_PER_SECOND, last_refill: now }
    }

    fn fill(&mut self, now: Time) {
        let nanos = now.since(self.last_refill).as_picos() / 1000;
        let refill = nanos.saturating_mul(u64::from(self.rate));
        self.last_refill = now;
        self.tokens = self.tokens.saturating_add(refill).min(u64::from(self.rate) * NANOS_PER_SECOND);
    }

    /// Returns true if a token is available.
    pub fn has_one(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens >= NANOS_PER_SECOND
    }

    /// Returns true if the bucket is at least half full.
    pub fn is_half_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens * 2 >= u64::from(self.rate) * NANOS_PER_SECOND
    }

    /// Returns true if the bucket is full.
    pub fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens >= u64::from(self.rate) * NANOS_PER_SECOND
    }

    /// Takes one token, if available.
    pub fn take(&mut self, now: Time) -> bool {
        let has_one = self.has_one(now);
        if has_one {
            self.tokens -= NANOS_PER_SECOND;
        }
        has_one
    }
}

/// The unit of tokens.
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Duration;

    #[test]
    fn a_second_s_worth_at_once_and_then_the_rate() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut bucket = Bucket::new(at(0), 5);
        let mut taken = |now| (0..100).take_while(|_| bucket.take(now)).count();
        assert_eq!(
            [0, 199, 200, 400, 5000, u64::MAX / 2_000_000_000].map(|millis| taken(at(millis))),
            [5, 0, 1, 1, 5, 5]
        );
        let mut none = Bucket::new(at(0), 0);
        assert!(!none.take(at(1_000_000)) && none.is_full(at(0)));
    }
}
