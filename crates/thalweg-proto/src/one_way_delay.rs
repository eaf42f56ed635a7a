//! One-way delays between unsynchronised clocks (RFC 6817, section 2.3, and appendix A).

use crate::units::{Duration, Time};

const PICOS_PER_MICRO: u64 = 1_000_000;

/// A time in microseconds by its owner's clock, modulo 2^32: a wrap takes 71 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp(u32);

impl Timestamp {
    /// Returns the timestamp at `now`.
    pub const fn at(now: Time) -> Self {
        Self((now.as_picos() / PICOS_PER_MICRO) as u32)
    }

    /// Creates a timestamp from its bits.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the relative delay of a packet that left at this time of the sender's clock and arrived at `now` of the
    /// local clock.
    pub const fn until(self, now: Time) -> RelativeDelay {
        RelativeDelay(Self::at(now).0.wrapping_sub(self.0))
    }
}

/// A one-way delay plus the unknown offset between the receiver's clock and the sender's, in microseconds modulo 2^32.
///
/// A single value has no meaning. The difference of two values is the difference of the delays, plus the clock drift in
/// between: base delays should expire after minutes (RFC 6817, section 2.5, and appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelativeDelay(u32);

impl RelativeDelay {
    /// Creates a delay from its bits.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the excess of this delay over `base`, zero where there is none; less than 36 minutes.
    pub const fn above(self, base: Self) -> Duration {
        let micros = self.0.wrapping_sub(base.0).cast_signed();
        Duration::from_micros(if micros > 0 { micros as u64 } else { 0 })
    }

    /// Returns the shorter of two delays.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.0.wrapping_sub(other.0).cast_signed() < 0 { self } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// RFC 6817, appendix A: differences of delays depend neither on clock offsets nor on wraps.
    #[test]
    fn differences_need_no_common_clock() {
        for offset in [0u64, 5, 1 << 31, (1 << 32) - 10_020, (1 << 32) - 1, 1 << 40] {
            for start in [0u64, (1 << 32) - 700, 3 << 33] {
                let delay =
                    |sent, micros| Timestamp::at(at(start + sent)).until(at(start + offset + sent + micros));
                let (base, later) = (delay(0, 10_000), delay(500, 10_025));
                assert_eq!(later.above(base), Duration::from_micros(25));
                assert_eq!(base.above(later), Duration::ZERO);
                assert_eq!((base.min(later), later.min(base)), (base, base));
            }
        }
    }
}
