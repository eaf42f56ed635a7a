//! Which scheme, with which options.

use super::catalogue::{Entry, SCHEMES};
use super::options::{Key, Value};
use std::fmt;
use std::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, Rate};

/// The longest encoding of a scheme in bytes: all options of the one that has most, and room for more.
pub const MAX_ENCODING: usize = 1024;

/// A scheme by its name, with what was said for its options: `cubic`, or `sstp:rate=20Mbit/s,window=12`.
///
/// Names and options are those of scenario files. Both ends of a connection must use the same scheme with the same options:
/// one settles it with what it knows of the path ([`Scheme::on_path`]) and sends the [encoding](Scheme::encode), which the
/// other reads.
#[derive(Clone)]
pub struct Scheme {
    entry: &'static Entry,
    /// In the order of the entry's keys, each key once.
    said: Vec<(&'static Key, Value)>,
}

/// Why text is not a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// There is no scheme of that name.
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The scheme has no such option.
    Option {
        /// The scheme.
        scheme: &'static str,
        /// What was given in place of `KEY=VALUE`, or the key.
        given: String,
    },
    /// An option is given twice.
    Twice(&'static str),
    /// An option cannot have that value.
    Value {
        /// The option.
        key: &'static str,
        /// The value as given.
        given: String,
        /// What is expected.
        expected: String,
    },
    /// Two options do not go together.
    Together(&'static str),
    /// The scheme keeps to a rate that both ends agree on, and nobody said which.
    NoRate(&'static str),
    /// Bytes that are no text, or too many.
    Encoding,
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names: Vec<_> = SCHEMES.iter().map(|entry| entry.name).collect();
                write!(f, "there is no scheme `{name}`; there are {}", names.join(", "))
            }
            Self::Option { scheme, given } => {
                let keys = SCHEMES.iter().filter(|entry| entry.name == *scheme).flat_map(Entry::keys);
                let keys: Vec<_> = keys.map(|key| key.name).collect();
                write!(f, "`{given}` is no option of {scheme}, which has {} (as KEY=VALUE)", keys.join(", "))
            }
            Self::Twice(key) => write!(f, "{key} is given twice"),
            Self::Value { key, given, expected } => {
                write!(f, "{key} cannot be `{given}`; expected: {expected}")
            }
            Self::Together(what) => f.write_str(what),
            Self::NoRate(scheme) => write!(
                f,
                "{scheme} keeps to an agreed rate and does not look for one: say which, as in {scheme}:rate=100Mbit/s"
            ),
            Self::Encoding => f.write_str("bytes that describe no scheme"),
        }
    }
}

impl std::error::Error for SchemeError {}

impl FromStr for Scheme {
    type Err = SchemeError;

    /// Reads `NAME`, or `NAME:KEY=VALUE,KEY=VALUE ...`.
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let (name, options) =
            text.split_once(':').map_or((text, None), |(name, options)| (name, Some(options)));
        let entry = SCHEMES
            .iter()
            .find(|entry| entry.name == name.trim())
            .ok_or_else(|| SchemeError::Unknown { name: name.trim().to_owned() })?;
        let mut scheme = Self { entry, said: Vec::new() };
        for option in options.iter().flat_map(|options| options.split(',')) {
            let wrong =
                |given: &str| SchemeError::Option { scheme: entry.name, given: given.trim().to_owned() };
            let (name, value) = option.split_once('=').ok_or_else(|| wrong(option))?;
            let key = entry.keys().find(|key| key.name == name.trim()).ok_or_else(|| wrong(name))?;
            if scheme.value(key.name).is_some() {
                return Err(SchemeError::Twice(key.name));
            }
            let value = key.read(value).map_err(|expected| SchemeError::Value {
                key: key.name,
                given: value.trim().to_owned(),
                expected,
            })?;
            scheme.said.push((key, value));
        }
        scheme.in_order();
        scheme.check()?;
        Ok(scheme)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for (index, (key, value)) in self.said.iter().enumerate() {
            write!(f, "{}{}={value}", if index == 0 { ':' } else { ',' }, key.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        let said =
            |scheme: &Self| scheme.said.iter().map(|(key, value)| (key.name, *value)).collect::<Vec<_>>();
        self.entry.name == other.entry.name && said(self) == said(other)
    }
}

impl Scheme {
    /// The names of all schemes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|entry| entry.name)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// True for an option that was given, not taken from the usual values.
    pub(super) fn says(&self, option: &str) -> bool {
        self.said.iter().any(|(key, _)| key.name == option)
    }

    /// The bytes that tell the other end, at most [`MAX_ENCODING`].
    pub fn encode(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }

    /// Reads an encoding.
    ///
    /// # Errors
    ///
    /// When the bytes are not one, or describe a scheme that this version does not have.
    pub fn decode(bytes: &[u8]) -> Result<Self, SchemeError> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_ENCODING);
        text.ok_or(SchemeError::Encoding)?.parse()
    }

    /// True for schemes of which nothing is lost and nothing comes twice.
    pub fn is_reliable(&self) -> bool {
        self.name() != "udp" && self.number("loss-tolerance").unwrap_or(0.0) == 0.0
    }

    /// The same, sending at `rate` where it keeps to an agreed one and none was said. Other schemes find theirs.
    ///
    /// # Errors
    /// [`SchemeError::NoRate`] where there is none at all.
    pub fn at_rate(mut self, rate: Option<Rate>) -> Result<Self, SchemeError> {
        if self.name() == "sstp" && self.rate("rate").is_none() {
            let rate = rate.or(self.rate("average-rate")).ok_or(SchemeError::NoRate(self.entry.name))?;
            self.suggest("rate", Value::Rate(rate));
        }
        Ok(self)
    }

    /// True for schemes that assume a path that keeps order: a [resequencer](crate::resequence) belongs beneath them.
    pub fn needs_order(&self) -> bool {
        matches!(self.name(), "adaptive-ack" | "sscop" | "sscop-rate" | "sscop-rate-literal" | "sstp")
    }

    /// True for schemes that learn of the network from the spacing of the packets that come.
    pub fn times_packets(&self) -> bool {
        matches!(self.name(), "sscop-rate" | "sscop-rate-literal")
    }

    /// True for schemes whose senders do something about the network's congestion marks: their data is sent as capable of
    /// ECN. That of others would be marked where it ought to be dropped.
    pub fn heeds_marks(&self) -> bool {
        self.name() == "dec-bit" || self.switch("ecn") == Some(true)
    }

    /// Sets an option for which nothing was said. Nothing happens where the scheme has no such option.
    pub(super) fn suggest(&mut self, name: &str, value: Value) {
        let Some(key) = self.entry.keys().find(|key| key.name == name) else { return };
        if self.value(name).is_none() {
            // Through its own text, so that it is in range and both ends read the same; what is not is left out.
            if let Ok(value) = key.read(&value.to_string()) {
                self.said.push((key, value));
                self.in_order();
            }
        }
    }

    fn in_order(&mut self) {
        let place = |name: &str| self.entry.keys().position(|key| key.name == name);
        self.said.sort_by_key(|(key, _)| place(key.name));
    }

    /// What two options have to do with each other.
    fn check(&self) -> Result<(), SchemeError> {
        let together = |holds: bool, what| if holds { Ok(()) } else { Err(SchemeError::Together(what)) };
        let rto = (self.time("rto.floor"), self.time("rto.ceiling"));
        together(rto.0 <= rto.1, "rto.floor is above rto.ceiling")?;
        together(self.packets("alpha") <= self.packets("beta").or(Some(f64::MAX)), "alpha is above beta")?;
        together(
            self.rate("start-rate") <= self.rate("max-rate").or(Some(Rate::MAX)),
            "start-rate is above max-rate",
        )?;
        together(
            self.rate("average-rate") <= self.rate("rate").or(Some(Rate::MAX)),
            "average-rate is above rate",
        )?;
        let by_time = super::window::rack(self).is_some();
        together(by_time || self.switch("rack") != Some(true), "rack needs recovery=sack")?;
        let parts = ["undo", "tail-probe"];
        let has_part = parts.iter().any(|part| self.value(part).is_some());
        together(by_time || !has_part, "undo and tail-probe are parts of rack, which is off")?;
        let silence = self.time("timer-no-response");
        together(
            silence.is_none() || silence > self.time("timer-poll").max(self.time("timer-keep-alive")),
            "timer-no-response is not longer than timer-poll and timer-keep-alive",
        )?;
        together(self.count("max-stat").is_none_or(|count| count % 2 == 1), "max-stat is not odd")
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.said.iter().find(|(key, _)| key.name == name).map(|(_, value)| *value)
    }

    /// What was said of an option, or else what is usual; `None` where the path decides or the scheme has no such option.
    fn option(&self, name: &str) -> Option<Value> {
        self.value(name).or_else(|| {
            let key = self.entry.keys().find(|key| key.name == name && !key.usual.is_empty())?;
            key.read(key.usual).ok()
        })
    }

    /// A number of packets.
    pub(super) fn packets(&self, name: &str) -> Option<f64> {
        match self.option(name)? {
            Value::Packets(packets) => Some(packets),
            _ => None,
        }
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match self.option(name)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn count(&self, name: &str) -> Option<u32> {
        match self.option(name)? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    pub(super) fn time(&self, name: &str) -> Option<Duration> {
        match self.option(name)? {
            Value::Time(time) => Some(time),
            _ => None,
        }
    }

    pub(super) fn rate(&self, name: &str) -> Option<Rate> {
        match self.option(name)? {
            Value::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    pub(super) fn size(&self, name: &str) -> Option<Bytes> {
        match self.option(name)? {
            Value::Size(size) => Some(size),
            _ => None,
        }
    }

    pub(super) fn switch(&self, name: &str) -> Option<bool> {
        match self.option(name)? {
            Value::Switch(on) => Some(on),
            _ => None,
        }
    }

    pub(super) fn word(&self, name: &str) -> &'static str {
        match self.option(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }
}
