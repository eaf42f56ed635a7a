//! Independent random trials that take a draw per success only.

use thalweg_proto::random::RandomStream;

/// Independent trials with one probability of success.
///
/// The distance to the next success is drawn from the geometric distribution, so a failure costs a decrement and no
/// draw. That distribution is memoryless, so trials may be replaced at any point without bias.
#[derive(Clone, Debug)]
pub(crate) struct Trials {
    probability: f64,
    /// Failures before the next success.
    failures: u64,
}

impl Trials {
    /// Creates trials of this probability. At or below 0 they never succeed and never draw; at or above 1 they always
    /// succeed.
    pub(crate) fn new(probability: f64, stream: &mut RandomStream) -> Self {
        Self { probability, failures: stream.geometric(probability) }
    }

    /// Returns the probability.
    pub(crate) const fn probability(&self) -> f64 {
        self.probability
    }

    /// Performs the next trial.
    #[inline]
    pub(crate) fn succeeds(&mut self, stream: &mut RandomStream) -> bool {
        if self.failures > 0 {
            self.failures -= 1;
            return false;
        }
        self.failures = stream.geometric(self.probability);
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests that skipping is equivalent to a draw per trial, and its cost.
    use super::*;

    #[test]
    fn successes_have_their_probability_and_no_memory() {
        // 400 000 trials at 0.05: the rate is within 5 standard deviations, and so is the rate right after a success.
        let mut stream = RandomStream::new(1, "test", 0);
        let mut trials = Trials::new(0.05, &mut stream);
        let (mut successes, mut pairs, mut last) = (0, 0, false);
        for _ in 0..400_000 {
            let now = trials.succeeds(&mut stream);
            successes += i32::from(now);
            pairs += i32::from(now && last);
            last = now;
        }
        assert!((successes - 20_000).abs() < 690, "{successes}");
        assert!((pairs - 1_000).abs() < 160, "{pairs}");
    }

    #[test]
    fn the_extremes_never_draw() {
        // Probability 0 never succeeds, 1 always does, and the stream does not move for either.
        let mut stream = RandomStream::new(1, "test", 0);
        let before = stream.clone().next_u64();
        for (probability, expected) in [(0.0, false), (-1.0, false), (1.0, true), (2.0, true)] {
            let mut trials = Trials::new(probability, &mut stream);
            assert!((0..1000).all(|_| trials.succeeds(&mut stream) == expected));
        }
        assert_eq!(stream.next_u64(), before);
    }
}
