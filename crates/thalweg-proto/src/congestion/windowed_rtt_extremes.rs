//! Windowed minimum or maximum of round-trip times.

use crate::units::{Duration, Time};

/// Number of pieces of the time window.
const WINDOW_PIECES: usize = 8;

/// Windowed minimum or maximum filter of round-trip times.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedExtreme<const IS_MAX: bool> {
    /// Start of each piece, and the extreme of its samples.
    pieces: [(Time, Duration); WINDOW_PIECES],
    newest: usize,
    extreme: Duration,
}

/// Windowed minimum.
pub(super) type WindowedMin = WindowedExtreme<false>;

/// Windowed maximum.
pub(super) type WindowedMax = WindowedExtreme<true>;

impl<const IS_MAX: bool> Default for WindowedExtreme<IS_MAX> {
    fn default() -> Self {
        Self { pieces: [(Time::ZERO, Self::NONE); WINDOW_PIECES], newest: 0, extreme: Self::NONE }
    }
}

impl<const IS_MAX: bool> WindowedExtreme<IS_MAX> {
    /// Extreme without samples.
    const NONE: Duration = if IS_MAX { Duration::ZERO } else { Duration::MAX };

    fn extreme_of(one: Duration, other: Duration) -> Duration {
        if IS_MAX { one.max(other) } else { one.min(other) }
    }

    /// Returns the extreme in the window; before the first sample, [`Duration::MAX`] for the minimum, and zero for the
    /// maximum.
    pub fn get(&self) -> Duration {
        self.extreme
    }

    /// Adds a sample at `now`; samples expire after `window`, or up to an eighth later.
    pub fn sample(&mut self, now: Time, rtt: Duration, window: Duration) {
        let piece = &mut self.pieces[self.newest];
        if now.since(piece.0) < window / WINDOW_PIECES as u64 {
            piece.1 = Self::extreme_of(piece.1, rtt);
            self.extreme = Self::extreme_of(self.extreme, rtt);
            return;
        }
        self.newest = (self.newest + 1) % WINDOW_PIECES;
        self.pieces[self.newest] = (now, rtt);
        let live = self.pieces.iter().filter(|(start, _)| now.since(*start) <= window);
        self.extreme = live.fold(Self::NONE, |extreme, (_, rtt)| Self::extreme_of(extreme, *rtt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    /// Compared with the samples: none older than nine eighths of the window counts, and all younger than seven eighths
    /// do.
    #[test]
    fn counts_the_window_to_an_eighth() {
        let mut stream = RandomStream::new(3, "recent", 0);
        let (mut min_rtt, mut max_rtt) = (WindowedMin::default(), WindowedMax::default());
        let mut all: Vec<(u64, u64)> = Vec::new();
        let mut now = 0;
        for _ in 0..4000 {
            now += stream.below(20);
            let rtt = 50 + stream.below(1000);
            all.push((now, rtt));
            min_rtt.sample(at(now), MS(rtt), MS(800));
            max_rtt.sample(at(now), MS(rtt), MS(800));
            let since = |age: u64| {
                let samples = all.iter().filter(move |(time, _)| now - time <= age).map(|(_, rtt)| MS(*rtt));
                samples
                    .fold((Duration::MAX, Duration::ZERO), |(low, high), rtt| (low.min(rtt), high.max(rtt)))
            };
            let (inner, outer) = (since(680), since(900));
            assert!((outer.0..=inner.0).contains(&min_rtt.get()));
            assert!((inner.1..=outer.1).contains(&max_rtt.get()));
        }
    }

    #[test]
    fn all_but_the_newest_sample_expire_after_a_gap() {
        let mut min_rtt = WindowedMin::default();
        assert_eq!(min_rtt.get(), Duration::MAX);
        min_rtt.sample(at(5), MS(40), MS(800));
        min_rtt.sample(at(2000), MS(90), MS(800));
        assert_eq!(min_rtt.get(), MS(90));
        // A shorter window expires samples too.
        min_rtt.sample(at(2400), MS(95), MS(100));
        assert_eq!(min_rtt.get(), MS(95));
    }
}
