//! Options of schemes: what each key takes, read from text and written back.

use std::fmt;
use std::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, Packets, Rate};

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// A number of packets, such as `32pkt`, between the two; `unlimited` where the larger is infinite.
    Packets(f64, f64),
    /// A real number between the two.
    Number(f64, f64),
    /// A whole number between the two.
    Count(u32, u32),
    /// A time above zero.
    Time,
    /// A rate above zero.
    Rate,
    /// An amount of data between the two, in bytes.
    Size(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A key of a scheme.
#[derive(Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub takes: Takes,
    /// What it is where nothing is said; empty where the path decides.
    pub usual: &'static str,
}

/// What was said for a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Packets(f64),
    Number(f64),
    Count(u32),
    Time(Duration),
    Rate(Rate),
    Size(Bytes),
    Switch(bool),
    Word(&'static str),
}

impl Key {
    /// Reads what `text` says.
    ///
    /// # Errors
    ///
    /// What is expected in place of it, in words.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let unit = |error: thalweg_proto::units::UnitError| error.to_string();
        match self.takes {
            Takes::Packets(least, most) => {
                let range = || format!("a number of packets from {least} to {most}, such as `{least}pkt`");
                let Packets(packets) = text.parse().map_err(unit)?;
                Some(packets)
                    .filter(|packets| (least..=most).contains(packets))
                    .map(Value::Packets)
                    .ok_or_else(range)
            }
            Takes::Number(least, most) => f64::from_str(text)
                .ok()
                .filter(|number| number.is_finite() && (least..=most).contains(number))
                .map(Value::Number)
                .ok_or_else(|| format!("a number from {least} to {most}")),
            Takes::Count(least, most) => u32::from_str(text)
                .ok()
                .filter(|count| (least..=most).contains(count))
                .map(Value::Count)
                .ok_or_else(|| format!("a whole number from {least} to {most}")),
            Takes::Time => match Duration::from_str(text).map_err(unit)? {
                Duration::ZERO => Err("a time above zero".to_owned()),
                time => Ok(Value::Time(time)),
            },
            Takes::Rate => match Rate::from_str(text).map_err(unit)? {
                Rate::ZERO => Err("a rate above zero".to_owned()),
                rate => Ok(Value::Rate(rate)),
            },
            Takes::Size(least, most) => {
                let size = Bytes::from_str(text).map_err(unit)?;
                let (least, most) = (Bytes::new(least), Bytes::new(most));
                if (least..=most).contains(&size) {
                    Ok(Value::Size(size))
                } else {
                    Err(format!("{least} to {most}"))
                }
            }
            Takes::Switch => match text {
                "true" => Ok(Value::Switch(true)),
                "false" => Ok(Value::Switch(false)),
                _ => Err("`true` or `false`".to_owned()),
            },
            Takes::Word(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Word(word))
                .ok_or_else(|| format!("one of {}", words.join(", "))),
        }
    }
}

impl fmt::Display for Value {
    /// Without spaces, and exact: what is written is read back as the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Packets(packets) => Packets(*packets).to_string(),
            Self::Number(number) => number.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Time(time) => time.to_string(),
            Self::Rate(rate) => rate.to_string(),
            Self::Size(size) => size.to_string(),
            Self::Switch(on) => on.to_string(),
            Self::Word(word) => (*word).to_owned(),
        };
        text.split(' ').try_for_each(|part| f.write_str(part))
    }
}
