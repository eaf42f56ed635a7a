//! Values of keys: their ranges and text.

use core::fmt;
use thalweg_proto::units::{Bytes, Duration, Packets, Rate, Segments};

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of packets.
    Packets(f64),
    /// A number of segments.
    Segments(Segments),
    /// A real number.
    Number(f64),
    /// A whole number.
    Count(u32),
    /// A time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// An amount of data.
    Size(Bytes),
    /// A share or a probability.
    Share(f64),
    /// True or false.
    Switch(bool),
    /// A word.
    Word(&'static str),
    /// No interval.
    Off,
}

impl Value {
    /// Returns the magnitude in the base unit of the kind (packets, seconds, bit/s, bytes), for range checks; `None` if
    /// it has none.
    pub fn measure(&self) -> Option<f64> {
        match self {
            Self::Packets(number) | Self::Number(number) | Self::Share(number) => Some(*number),
            Self::Segments(Segments::Count(number)) => Some(*number),
            Self::Count(count) => Some(f64::from(*count)),
            Self::Time(time) => Some(time.as_secs_f64()),
            Self::Rate(rate) => Some(rate.as_f64()),
            Self::Size(size) => Some(size.get() as f64),
            Self::Segments(Segments::RoundTrips(_)) | Self::Switch(_) | Self::Word(_) | Self::Off => None,
        }
    }

    /// Returns true if scenario files write the value without quotation marks.
    pub const fn is_unquoted(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Count(_) | Self::Share(_) | Self::Switch(_))
    }

    /// Formats the value for scenario files.
    pub fn to_toml(&self) -> String {
        if self.is_unquoted() { self.to_string() } else { format!("\"{self}\"") }
    }
}

impl fmt::Display for Value {
    /// Lossless: the text parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => Packets(*packets).fmt(f),
            Self::Segments(segments) => segments.fmt(f),
            Self::Number(number) | Self::Share(number) => write!(f, "{number:?}"),
            Self::Count(count) => count.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Size(size) => size.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Off => f.write_str("off"),
        }
    }
}

/// A range of values, in the base unit of their [kind](crate::Kind): seconds, bit/s, bytes, packets, segments, or the
/// number itself. Shares and probabilities lie from 0 to 1, not to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    min: f64,
    max: f64,
    /// Exclusive lower bound.
    above: bool,
    /// Exclusive upper bound.
    below: bool,
}

impl Range {
    /// The unbounded range.
    pub const ANY: Self = Self { min: f64::NEG_INFINITY, max: f64::INFINITY, above: false, below: false };
    /// All values above zero.
    pub const POSITIVE: Self = Self { min: 0.0, above: true, ..Self::ANY };

    /// Returns the range from `min`, inclusive, without an upper bound.
    pub const fn at_least(min: f64) -> Self {
        Self { min, ..Self::ANY }
    }

    /// Returns the range from `min` to `max`, both inclusive.
    ///
    /// # Panics
    ///
    /// If `min` is above `max`, or one is not a number: no value would be in range. In a constant this is a compile error.
    pub const fn between(min: f64, max: f64) -> Self {
        assert!(min <= max, "the lower bound of a range must not be above the upper one");
        Self { min, max, above: false, below: false }
    }

    /// Makes the lower bound exclusive.
    #[must_use]
    pub const fn above(self) -> Self {
        Self { above: true, ..self }
    }

    /// Makes the upper bound exclusive.
    #[must_use]
    pub const fn below(self) -> Self {
        Self { below: true, ..self }
    }

    /// Returns true if the range contains the value.
    pub fn contains(&self, value: f64) -> bool {
        let low = if self.above { value > self.min } else { value >= self.min };
        let high = if self.below { value < self.max } else { value <= self.max };
        low && high
    }

    /// Describes the range, phrased to follow the name of a key; `bound` formats its bounds.
    pub fn in_words(&self, bound: impl Fn(f64) -> String) -> String {
        let (min, max) = (bound(self.min), bound(self.max));
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, false) if self.above => format!("must be above {min}"),
            (true, false) => format!("must be at least {min}"),
            (false, true) if self.below => format!("must be below {max}"),
            (false, true) => format!("must be at most {max}"),
            _ => match (self.above, self.below) {
                (true, true) => format!("must be above {min} and below {max}"),
                (true, false) => format!("must be above {min} and at most {max}"),
                (false, true) => format!("must be at least {min} and below {max}"),
                (false, false) => format!("must lie from {min} to {max}"),
            },
        }
    }
}
