//! Amounts of data in whole bytes.

use super::quantity_parser::{Kind, Unit, UnitError, parse_quantity, write_quantity};
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use core::str::FromStr;

const KIND: Kind = Kind {
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    base: "byte",
    example: "64 kB",
};

const PRINT: [Unit; 5] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

/// An amount of data in bytes, 0 to 1.8e19. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);
    /// The maximum amount; used for "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates an amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bits as a double.
    pub const fn as_bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    /// Parses `64 kB`, `1 MiB`, or a product such as `10 x 512 B`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let max = || Self::MAX.to_string();
        if let Some((count, size)) = text.split_once('x')
            && let Ok(count) = count.trim().parse::<u64>()
        {
            let size = parse_quantity(size, &KIND, max)?;
            return count.checked_mul(size).map(Self).ok_or(UnitError::TooLarge { max: max() });
        }
        parse_quantity(text, &KIND, max).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, &PRINT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_binary_units() {
        assert_eq!("10 x 512 B".parse(), Ok(Bytes(5120)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1.5 kB".parse(), Ok(Bytes(1500)));
        assert!(matches!("99999999999 x 999999999999 B".parse::<Bytes>(), Err(UnitError::TooLarge { .. })));
        assert!(matches!("x 512 B".parse::<Bytes>(), Err(UnitError::NotANumber { .. })));
    }
}
