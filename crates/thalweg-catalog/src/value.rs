//! Values of keys: their kinds, ranges and text.

use crate::describe::Table;
use core::fmt;
use core::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, Packets, Rate, Segments, Share, UnitError};

/// The kind of values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number of packets, fractions allowed, or `unlimited`.
    Packets,
    /// A number of segments, or a multiple of the segments sent in one round trip.
    Segments,
    /// A real number without a unit.
    Number,
    /// A whole number from 0.
    Count,
    /// A time.
    Time,
    /// A time, or `off`.
    Interval,
    /// A rate.
    Rate,
    /// An amount of data.
    Size,
    /// A number of packets, or an amount of data.
    Length,
    /// A share of something.
    Share,
    /// A probability.
    Probability,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table of keys.
    Table(&'static Table),
}

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

impl Kind {
    /// Parses a value.
    ///
    /// # Errors
    ///
    /// The mistake in the text, or the expected form.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match self {
            Self::Packets => quantity(text).map(|Packets(packets)| Value::Packets(packets)),
            // On command lines a bare number counts segments.
            Self::Segments => match text.parse::<Segments>() {
                Err(UnitError::NoUnit { .. }) => quantity(&format!("{text} seg")).map(Value::Segments),
                read => read.map(Value::Segments).map_err(|error| error.to_string()),
            },
            Self::Number => number(text).map(Value::Number),
            Self::Count => text
                .replace('_', "")
                .parse()
                .map(Value::Count)
                .map_err(|_| format!("expected a whole number from 0 to {}", u32::MAX)),
            Self::Interval if text == "off" => Ok(Value::Off),
            Self::Time | Self::Interval => quantity(text).map(Value::Time),
            Self::Rate => quantity(text).map(Value::Rate),
            Self::Size => quantity(text).map(Value::Size),
            Self::Length => match text.parse::<Packets>() {
                Ok(Packets(packets)) if packets.is_finite() => Ok(Value::Packets(packets)),
                _ => text.parse().map(Value::Size).map_err(|_: UnitError| {
                    "expected packets or bytes with their unit, such as 20pkt or 30kB".to_owned()
                }),
            },
            Self::Share | Self::Probability => quantity(text).map(|Share(share)| Value::Share(share)),
            Self::Switch => match text {
                "true" => Ok(Value::Switch(true)),
                "false" => Ok(Value::Switch(false)),
                _ => Err("expected `true` or `false`".to_owned()),
            },
            // A whole table can only be enabled or disabled.
            Self::Table(_) => Self::Switch.read(text),
            Self::Word(words) => self
                .word(text)
                .map(Value::Word)
                .ok_or_else(|| format!("expected one of {}", words.join(", "))),
        }
    }

    /// Returns the word equal to `text`, if the kind has it.
    pub fn word(&self, text: &str) -> Option<&'static str> {
        let Self::Word(words) = self else { return None };
        words.iter().find(|word| **word == text).copied()
    }

    /// Formats a bound of a range in the unit of the kind.
    fn bound(&self, bound: f64, like: &Value) -> String {
        match (self, like) {
            (Self::Time | Self::Interval, _) => Duration::from_secs_f64(bound).to_string(),
            (Self::Rate, _) => Rate::from_bits_per_sec(bound as u64).to_string(),
            (Self::Size, _) | (Self::Length, Value::Size(_)) => Bytes::new(bound as u64).to_string(),
            (Self::Packets | Self::Length, _) => Packets(bound).to_string(),
            (Self::Segments, _) => Segments::Count(bound).to_string(),
            _ => bound.to_string(),
        }
    }
}

fn quantity<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
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
    pub const fn is_bare(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Count(_) | Self::Share(_) | Self::Switch(_))
    }

    /// Formats the value for scenario files.
    pub fn to_toml(&self) -> String {
        if self.is_bare() { self.to_string() } else { format!("\"{self}\"") }
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

/// A range of values, in the base unit of their kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    least: f64,
    most: f64,
    /// Exclusive lower bound.
    above: bool,
    /// Exclusive upper bound.
    below: bool,
}

impl Range {
    /// The unbounded range.
    pub const ANY: Self = Self { least: f64::NEG_INFINITY, most: f64::INFINITY, above: false, below: false };
    /// All values above zero.
    pub const POSITIVE: Self = Self { least: 0.0, above: true, ..Self::ANY };

    /// Returns the range from `least`, inclusive, without an upper bound.
    pub const fn at_least(least: f64) -> Self {
        Self { least, ..Self::ANY }
    }

    /// Returns the range from `least` to `most`, both inclusive.
    pub const fn between(least: f64, most: f64) -> Self {
        Self { least, most, above: false, below: false }
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
        let low = if self.above { value > self.least } else { value >= self.least };
        let high = if self.below { value < self.most } else { value <= self.most };
        low && high
    }

    /// Describes the range, phrased to follow the name of a key, in the unit of `like`.
    pub fn in_words(&self, kind: &Kind, like: &Value) -> String {
        let (least, most) = (kind.bound(self.least, like), kind.bound(self.most, like));
        match (self.least.is_finite(), self.most.is_finite()) {
            (true, false) if self.above => format!("must be above {least}"),
            (true, false) => format!("must be at least {least}"),
            (false, true) if self.below => format!("must be below {most}"),
            (false, true) => format!("must be at most {most}"),
            _ => format!(
                "must lie {} {least} {} {most}",
                if self.above { "above" } else { "from" },
                match (self.above, self.below) {
                    (true, true) => "and below",
                    (true, false) => "up to",
                    (false, true) => "to below",
                    (false, false) => "to",
                },
            ),
        }
    }
}
