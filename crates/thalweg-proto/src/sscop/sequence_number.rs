//! Sequence numbers modulo 2^24.

/// Sequence number of 24 bits.
///
/// Numbers have no absolute order: two numbers are compared by their distances from a common base, modulo 2^24. A
/// number below the base then looks like a very large one, and the upper bound of every test catches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u32);

impl SequenceNumber {
    /// Size of the number space, 2^24.
    pub const MODULUS: u32 = 1 << 24;
    /// Half of the number space: a smaller difference means "later", a larger one "earlier".
    pub const HALF_MODULUS: u32 = Self::MODULUS / 2;
    /// Number 0.
    pub const ZERO: Self = Self(0);

    /// Creates a number from the low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Self(value % Self::MODULUS)
    }

    /// Returns the value, 0 to 2^24 - 1.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number `count` later.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Returns the next number.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Returns the distance from `base` up to this number, 0 to 2^24 - 1.
    pub const fn distance_from(self, base: Self) -> u32 {
        Self::new(self.0.wrapping_sub(base.0)).0
    }

    /// Returns true if this number is later than `other` by less than half of the number space.
    pub const fn is_later_than(self, other: Self) -> bool {
        let difference = self.distance_from(other);
        difference > 0 && difference < Self::HALF_MODULUS
    }
}

impl From<u32> for SequenceNumber {
    fn from(value: u32) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        let last = SequenceNumber::new(0xff_ffff);
        assert_eq!(last.next(), SequenceNumber::ZERO);
        assert_eq!(SequenceNumber::new(0x0100_0005), SequenceNumber::new(5));
        assert_eq!(SequenceNumber::new(2).distance_from(last), 3);
        assert_eq!(last.distance_from(SequenceNumber::new(2)), 0xff_fffd);
        assert!(SequenceNumber::ZERO.is_later_than(last) && !last.is_later_than(SequenceNumber::ZERO));
        assert!(!last.is_later_than(last));
    }
}
