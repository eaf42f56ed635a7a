//! Rates of what others may make this end do.

use thalweg_proto::units::Time;

/// A rate as a token bucket: it holds a second's worth.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: u32,
    /// In billionths.
    tokens: u64,
    at: Time,
}

impl Bucket {
    /// Full at `now`, for so many things a second.
    pub fn new(now: Time, rate: u32) -> Self {
        Self { rate, tokens: u64::from(rate) * BILLION, at: now }
    }

    fn fill(&mut self, now: Time) {
        let nanos = now.since(self.at).as_picos() / 1000;
        let come = nanos.saturating_mul(u64::from(self.rate));
        self.at = now;
        self.tokens = self.tokens.saturating_add(come).min(u64::from(self.rate) * BILLION);
    }

    /// True if there is a token to take.
    pub fn has_one(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens >= BILLION
    }

    /// True if at least half of a second's worth is there.
    pub fn is_half_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens * 2 >= u64::from(self.rate) * BILLION
    }

    /// True if a second's worth is there.
    pub fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens >= u64::from(self.rate) * BILLION
    }

    /// Takes one, if there is one.
    pub fn take(&mut self, now: Time) -> bool {
        let has_one = self.has_one(now);
        if has_one {
            self.tokens -= BILLION;
        }
        has_one
    }
}

/// The unit of tokens.
const BILLION: u64 = 1_000_000_000;

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
