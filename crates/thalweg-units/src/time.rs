//! Points in time and durations in whole picoseconds.

use super::quantity_parser::{Kind, Unit, UnitError, parse_quantity, write_quantity};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

const PICOS_PER_SEC: u64 = 1_000_000_000_000;

const KIND: Kind = Kind {
    units: &[
        ("ms", PICOS_PER_SEC / 1_000),
        ("s", PICOS_PER_SEC),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
        ("min", 60 * PICOS_PER_SEC),
        ("h", 3600 * PICOS_PER_SEC),
        ("d", 86_400 * PICOS_PER_SEC),
    ],
    base: "picosecond",
    example: "50 ms",
};

const PRINT: [Unit; 5] =
    [("s", PICOS_PER_SEC), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];

/// A point in time: picoseconds since the driver's epoch (the start of a simulation, or of a process).
///
/// The range is 213 days. Arithmetic saturates at [`Time::MAX`], which means "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A duration in picoseconds, 0 to 213 days. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The maximum; used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates the time `picos` picoseconds after the epoch.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Returns the picoseconds since the epoch.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the epoch, rounded to the nearest double.
    pub fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }

    /// Returns the duration from `earlier` to this time; zero if it is not later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Zero duration.
    pub const ZERO: Self = Self(0);
    /// The maximum duration.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a duration of `picos` picoseconds.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Creates a duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1_000))
    }

    /// Creates a duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000_000))
    }

    /// Creates a duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000_000))
    }

    /// Creates a duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(PICOS_PER_SEC))
    }

    /// Creates a duration of `secs` seconds, rounded down to a picosecond; negative values and NaN give zero, too large
    /// ones the maximum.
    pub fn from_secs_f64(secs: f64) -> Self {
        // `as` saturates and maps NaN to zero, as documented.
        Self((secs * PICOS_PER_SEC as f64) as u64)
    }

    /// Returns the picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Returns the seconds, rounded to the nearest double.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PICOS_PER_SEC as f64
    }

    /// Returns the milliseconds, rounded to the nearest double.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns true for a zero duration.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self - other`, or zero if that is negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the absolute difference.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns `self * factor`, rounded down to a picosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }

    /// Returns the smallest multiple of `granularity` that is not below `self`; `self` for a zero granularity.
    pub const fn round_up_to(self, granularity: Self) -> Self {
        if granularity.0 == 0 {
            self
        } else {
            Self(self.0.div_ceil(granularity.0).saturating_mul(granularity.0))
        }
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    /// Divides; division by zero returns the maximum.
    fn div(self, divisor: u64) -> Self {
        Self(self.0.checked_div(divisor).unwrap_or(u64::MAX))
    }
}

impl core::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_quantity(text, &KIND, || Self::MAX.to_string()).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.pad("0 s") } else { write_quantity(f, self.0, &PRINT) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX { f.pad("never") } else { fmt::Display::fmt(&Duration(self.0), f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_units_is_read_exactly() {
        for (text, picos) in [
            ("50 ms", 50_000_000_000),
            ("1.5us", 1_500_000),
            ("0.081 us", 81_000),
            ("30 s", 30 * PICOS_PER_SEC),
            ("1e-3 s", 1_000_000_000),
            ("2 min", 120 * PICOS_PER_SEC),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Duration(picos)), "{text}");
        }
    }

    #[test]
    fn each_parse_error_has_its_own_variant() {
        assert!(matches!("100".parse::<Duration>(), Err(UnitError::NoUnit { .. })));
        assert!(matches!("5 parsec".parse::<Duration>(), Err(UnitError::UnknownUnit { .. })));
        assert!(matches!("-1 s".parse::<Duration>(), Err(UnitError::Negative)));
        assert!(matches!("soon".parse::<Duration>(), Err(UnitError::NotANumber { .. })));
        assert!(matches!("1e30 s".parse::<Duration>(), Err(UnitError::TooLarge { .. })));
        assert!(matches!("1e999999999 s".parse::<Duration>(), Err(UnitError::TooLarge { .. })));
        assert!(matches!("0.5 ps".parse::<Duration>(), Err(UnitError::TooFine { .. })));
    }

    #[test]
    fn printed_text_reads_back_as_the_same_value() {
        for picos in [0, 1, 999, 1_000, 81_920_000, 1_500_000_000_000, u64::MAX] {
            let span = Duration(picos);
            assert_eq!(span.to_string().parse(), Ok(span), "{span}");
        }
    }
}
