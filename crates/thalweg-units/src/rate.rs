//! Bit rates in whole bits per second.

use super::quantity_parser::{Kind, Unit, UnitError, parse_quantity, write_quantity};
use super::{Bytes, Duration};
use core::fmt;
use core::str::FromStr;

const KIND: Kind = Kind {
    units: &[
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("bit/s", 1),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
    base: "bit per second",
    example: "100 Mbit/s",
};

const PRINT: [Unit; 5] = [
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
];

/// A bit rate in bits per second, 0 to 1.8e19.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Zero rate.
    pub const ZERO: Self = Self(0);
    /// The maximum rate; used for "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a rate of `bits` bits per second.
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// Creates a rate of `megabits` million bits per second.
    pub const fn from_mbits_per_sec(megabits: u64) -> Self {
        Self(megabits.saturating_mul(1_000_000))
    }

    /// Returns the rate that transfers `size` in `span`, rounded down; the maximum for an empty span.
    pub fn from_transfer(size: Bytes, span: Duration) -> Self {
        let bits = u128::from(size.get()) * 8 * 1_000_000_000_000;
        let rate = bits.checked_div(u128::from(span.as_picos()));
        Self(rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(u64::MAX))
    }

    /// Returns the rate in bits per second.
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }

    /// Returns the rate in bits per second as a double.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns true for a zero rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the transmission time of `size` at this rate, rounded up to a whole picosecond: a link is never faster
    /// than its rate. The maximum for a zero rate.
    pub fn transmission_time(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let picos = (u128::from(size.get()) * 8_000_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
    }

    /// Returns the amount of data transferred in `span`, rounded down to whole bytes.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_picos()) / 8_000_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns `self * factor`, rounded down.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_quantity(text, &KIND, || Self::MAX.to_string()).map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, &PRINT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_at_a_hundred_megabit_takes_eighty_microseconds() {
        let rate: Rate = "100 Mbit/s".parse().unwrap();
        assert_eq!(rate.transmission_time(Bytes::new(1000)), Duration::from_micros(80));
        assert_eq!(rate.bytes_in(Duration::from_micros(80)), Bytes::new(1000));
    }

    #[test]
    fn an_uneven_time_is_rounded_up() {
        assert_eq!(
            Rate::from_bits_per_sec(3).transmission_time(Bytes::new(1)),
            Duration::from_picos(2_666_666_666_667)
        );
    }

    #[test]
    fn zero_never_ends() {
        assert_eq!(Rate::ZERO.transmission_time(Bytes::new(1)), Duration::MAX);
        assert_eq!(Rate::from_transfer(Bytes::new(1), Duration::ZERO), Rate::MAX);
    }

    #[test]
    fn text_round_trips() {
        for text in ["64 kbit/s", "1.5 Mbit/s", "10 Gbit/s", "0 bit/s"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        assert_eq!("10 kB/s".parse(), Ok(Rate(80_000)));
    }
}
