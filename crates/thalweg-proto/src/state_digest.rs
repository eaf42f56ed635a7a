//! Digests of engine states, for state-space exploration.

use crate::units::{Duration, Time};
use core::fmt::{self, Debug, Write as _};
use core::hash::{Hash, Hasher};

/// An engine whose states can be distinguished by a digest.
///
/// Two engines of the same configuration whose digests are equal at their own `now` behave alike from there on: the
/// same inputs after the same intervals give the same outputs, apart from absolute times. A digest therefore covers all
/// state that determines behaviour, with times as spans relative to `now`. It excludes counters and configuration.
pub trait Digest {
    /// Feeds `into` with the state at `now`.
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H);
}

/// Returns the time from `now` until `at`: zero for a time in the past, [`Duration::MAX`] for never.
pub(crate) fn time_until(at: Time, now: Time) -> Duration {
    if at == Time::MAX { Duration::MAX } else { at.since(now) }
}

/// Feeds several values.
pub(crate) fn hash_all<H: Hasher>(into: &mut H, values: impl Hash) {
    values.hash(into);
}

/// Feeds the `Debug` output of a value and the time `now`, to which the times in it relate. For values with internal
/// times, few of whose states are equal up to a shift of the clock.
pub(crate) fn feed_debug<H: Hasher>(now: Time, value: &impl Debug, into: &mut H) {
    struct Text<'a, H>(&'a mut H);
    impl<H: Hasher> fmt::Write for Text<'_, H> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    hash_all(into, now);
    // Hashing text cannot fail.
    let _ = write!(Text(into), "{value:?}");
}
