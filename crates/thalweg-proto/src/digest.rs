//! Digests that tell states of an engine apart, for those that explore them all.

use crate::units::{Duration, Time};
use core::fmt::{self, Debug, Write as _};
use core::hash::{Hash, Hasher};

/// An engine whose states can be told apart.
///
/// Two engines of the same configuration that feed a hasher alike at their own `now` do the same from there on: what they
/// answer to the same inputs after the same times differs in nothing but the time on the clock. So a digest has all that
/// decides what an engine does, times as spans from or to `now`, and nothing else: no counters, no configuration.
pub trait Digest {
    /// Feeds `into` with the state at `now`.
    fn digest<H: Hasher>(&self, now: Time, into: &mut H);
}

/// The time from `now` until `at`: nothing for a time that has come, [`Duration::MAX`] for never.
pub(crate) fn until(at: Time, now: Time) -> Duration {
    if at == Time::MAX { Duration::MAX } else { at.since(now) }
}

/// Feeds several values.
pub(crate) fn feed<H: Hasher>(into: &mut H, values: impl Hash) {
    values.hash(into);
}

/// Feeds all that a value shows of itself, and the time, from which the times in it count: for values with times of their own of which
/// few states have the same but for the clock.
pub(crate) fn feed_shown<H: Hasher>(now: Time, value: &impl Debug, into: &mut H) {
    struct Text<'a, H>(&'a mut H);
    impl<H: Hasher> fmt::Write for Text<'_, H> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    feed(into, now);
    // A hasher takes any text.
    let _ = write!(Text(into), "{value:?}");
}
