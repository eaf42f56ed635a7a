//! Service-start delay of a free transmitter: shapers and sleeping radios.

use crate::token_bucket::TokenBucket;
use crate::{SpecError, TokenBucketSpec};
use std::sync::Arc;
use thalweg_proto::units::{Duration, Time};

/// Sleep state of an idle transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SleepSpec {
    /// Idle time before the transmitter enters the state.
    pub idle_time: Duration,
    /// Wake-up time before the next packet.
    pub wake: Duration,
}

/// Causes of service-start delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartDelaySpec {
    /// Token bucket of the shaper; packets wait for its tokens.
    pub shaper: Option<TokenBucketSpec>,
    /// Sleep states, from the lightest to the deepest.
    pub sleep: Arc<[SleepSpec]>,
}

impl StartDelaySpec {
    /// Returns true if a free transmitter starts at once.
    pub fn is_none(&self) -> bool {
        self.shaper.is_none() && self.sleep.is_empty()
    }

    /// Checks that the bucket has a rate and a size, and that sleep states are ordered by time and depth.
    ///
    /// # Errors
    /// Returns the first error as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(shaper) = &self.shaper {
            shaper.check()?;
        }
        let deeper =
            |pair: &[SleepSpec]| pair[0].idle_time < pair[1].idle_time && pair[0].wake < pair[1].wake;
        if self.sleep.windows(2).all(deeper) { Ok(()) } else { Err(SpecError::Sleep) }
    }
}

/// State of an [`StartDelaySpec`].
#[derive(Clone, Debug)]
pub struct StartDelay {
    bucket: Option<TokenBucket>,
    sleep: Arc<[SleepSpec]>,
}

impl StartDelay {
    /// Creates the state with a full bucket.
    pub fn new(spec: &StartDelaySpec) -> Self {
        Self { bucket: spec.shaper.as_ref().map(TokenBucket::new), sleep: Arc::clone(&spec.sleep) }
    }

    /// Returns the start time of a packet of `size` bytes that is next at `now`; the transmitter has been idle since
    /// `idle`.
    pub fn begin(&mut self, now: Time, idle: Time, size: u64) -> Time {
        let asleep = self.sleep.iter().rev().find(|state| now.since(idle) >= state.idle_time);
        let awake = now + asleep.map_or(Duration::ZERO, |state| state.wake);
        let Some(bucket) = &mut self.bucket else { return awake };
        let begins = bucket.earliest(awake, size);
        bucket.take(begins, size);
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::{Bytes, Rate};

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// A shaper delays what a policer drops: the burst leaves at once, the rest at the bucket's rate.
    #[test]
    fn a_shaper_lets_the_burst_go_and_then_the_rate() {
        let shaper = TokenBucketSpec { rate: Rate::from_mbits_per_sec(8), burst: Bytes::new(3000) };
        let mut start_delay =
            StartDelay::new(&StartDelaySpec { shaper: Some(shaper), ..StartDelaySpec::default() });
        let begins: Vec<Time> = (0..6).map(|_| start_delay.begin(at(0), at(0), 1000)).collect();
        assert_eq!(begins, [0, 0, 0, 1000, 2000, 3000].map(at));
    }

    /// LTE states as measured by Huang et al. (MobiSys 2012): promotion from idle takes 260.1 ms, and idle begins 11.6
    /// s after the last packet.
    #[test]
    fn a_sleeping_transmitter_wakes_up_first() {
        let state = |after, wake| SleepSpec {
            idle_time: Duration::from_millis(after),
            wake: Duration::from_millis(wake),
        };
        let sleep: Arc<[SleepSpec]> = Arc::new([state(100, 20), state(11_600, 260)]);
        let spec = StartDelaySpec { sleep, ..StartDelaySpec::default() };
        assert_eq!(spec.check(), Ok(()));
        let mut start_delay = StartDelay::new(&spec);
        let begins =
            [99_999, 100_000, 11_599_999, 11_600_000].map(|now| start_delay.begin(at(now), at(0), 1000));
        assert_eq!(begins, [99_999, 120_000, 11_619_999, 11_860_000].map(at));
        let sleep: Arc<[SleepSpec]> = Arc::new([state(100, 20), state(11_600, 20)]);
        assert_eq!(StartDelaySpec { sleep, ..StartDelaySpec::default() }.check(), Err(SpecError::Sleep));
    }
}
