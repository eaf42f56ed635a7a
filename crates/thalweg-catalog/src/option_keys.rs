//! Keys: the elements of a description, and the kinds of their values.

use crate::option_values::{Range, Value};
use core::str::FromStr;
use std::collections::BTreeSet;
use thalweg_proto::units::{Bytes, Duration, Packets, Rate, Segments, Share, UnitError};

/// A key of a scheme or a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name. A dot separates the name of a key table from that of a key in it: `rto.floor`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// The description, in sentences.
    pub about: &'static str,
    /// The default, as text; empty if it is derived from something else, or if there is none.
    pub default: &'static str,
    /// The valid range, for simulated and live schemes.
    pub range: Range,
    /// A remedy for a value out of range; empty if the range is self-explanatory.
    pub help: &'static str,
    /// Required key.
    pub required: bool,
    /// The key's differences on real paths.
    pub live: LiveDifference,
    /// An additional range for live values, also those set locally: a peer must not make this end send without pause or
    /// exhaust its memory.
    pub peer: Range,
}

/// The differences of a key on real paths from the same key in simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveDifference {
    /// No difference.
    Same,
    /// Another default.
    Default {
        /// The default, as text.
        value: &'static str,
        /// The reason, phrased to follow "because".
        why: &'static str,
    },
    /// A default derived from path hints, as this text describes.
    Path(&'static str),
    /// No such option on real paths; the text is the reason.
    Absent(&'static str),
    /// An option only on real paths; the text describes its default.
    Only(&'static str),
}

/// A table of keys under one key of scenario files.
#[derive(Debug)]
pub struct Table {
    /// The title in references.
    pub title: &'static str,
    /// The description, in sentences.
    pub about: &'static str,
    /// The keys, with their full names.
    pub keys: &'static [Key],
    /// Switchable table: `true` stands for the table with its defaults, `false` for none.
    pub switch: bool,
}

/// The kind of values that a key takes. A [`Range`] of such values has the unit given here.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number of packets, fractions allowed, or `unlimited` (infinite). Range: packets.
    Packets,
    /// A number of segments, or a multiple of the segments sent in one round trip, which has no range. Range: segments.
    Segments,
    /// A real number without a unit. Range: the number.
    Number,
    /// A whole number from 0. Range: the number.
    Count,
    /// A time. Range: seconds.
    Time,
    /// A time, or `off`, which has no range. Range: seconds.
    Interval,
    /// A rate. Range: bit/s.
    Rate,
    /// An amount of data. Range: bytes.
    Size,
    /// A number of packets, or an amount of data. Range: packets or bytes, as the value has it.
    Length,
    /// A share of something; a percentage is converted. Range: 0 to 1.
    Share,
    /// A probability; a percentage is converted. Range: 0 to 1.
    Probability,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table of keys.
    Table(&'static Table),
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
            Self::Packets => parse_quantity(text).map(|Packets(packets)| Value::Packets(packets)),
            // On command lines a bare number counts segments.
            Self::Segments => match text.parse::<Segments>() {
                Err(UnitError::NoUnit { .. }) => parse_quantity(&format!("{text} seg")).map(Value::Segments),
                read => read.map(Value::Segments).map_err(|error| error.to_string()),
            },
            Self::Number => parse_number(text).map(Value::Number),
            Self::Count => text
                .replace('_', "")
                .parse()
                .map(Value::Count)
                .map_err(|_| format!("expected a whole number from 0 to {}", u32::MAX)),
            Self::Interval if text == "off" => Ok(Value::Off),
            Self::Time | Self::Interval => parse_quantity(text).map(Value::Time),
            Self::Rate => parse_quantity(text).map(Value::Rate),
            Self::Size => parse_quantity(text).map(Value::Size),
            Self::Length => match text.parse::<Packets>() {
                Ok(Packets(packets)) if packets.is_finite() => Ok(Value::Packets(packets)),
                _ => text.parse().map(Value::Size).map_err(|_: UnitError| {
                    "expected packets or bytes with their unit, such as 20pkt or 30kB".to_owned()
                }),
            },
            Self::Share | Self::Probability => parse_quantity(text).map(|Share(share)| Value::Share(share)),
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

    /// Returns true if a key of this kind may have this value, apart from its range.
    pub fn takes(&self, value: &Value) -> bool {
        match value {
            Value::Packets(_) => matches!(self, Self::Packets | Self::Length),
            Value::Segments(_) => matches!(self, Self::Segments),
            Value::Number(_) => matches!(self, Self::Number),
            Value::Count(_) => matches!(self, Self::Count),
            Value::Time(_) => matches!(self, Self::Time | Self::Interval),
            Value::Rate(_) => matches!(self, Self::Rate),
            Value::Size(_) => matches!(self, Self::Size | Self::Length),
            Value::Share(_) => matches!(self, Self::Share | Self::Probability),
            Value::Switch(_) => matches!(self, Self::Switch | Self::Table(_)),
            Value::Word(word) => self.word(word).is_some(),
            Value::Off => matches!(self, Self::Interval),
        }
    }

    /// Describes a range, phrased to follow the name of a key, in the unit of `like`.
    pub fn range_in_words(&self, range: &Range, like: &Value) -> String {
        range.in_words(|bound| self.format_bound(bound, like))
    }

    /// Formats a bound of a range in the unit of the kind.
    fn format_bound(&self, bound: f64, like: &Value) -> String {
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

fn parse_quantity<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

fn parse_number(text: &str) -> Result<f64, String> {
    let number = text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}

/// Creates a key without a range.
pub const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key {
        name,
        kind,
        about,
        default,
        range: Range::ANY,
        help: "",
        required: false,
        live: LiveDifference::Same,
        peer: Range::ANY,
    }
}

impl Key {
    /// Restricts values to `range`, with `help` for others if it is not empty.
    #[must_use]
    pub const fn within(self, range: Range, help: &'static str) -> Self {
        Self { range, help, ..self }
    }

    /// Makes the key required.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Sets another default on real paths, for the reason `why`.
    #[must_use]
    pub const fn live_default(self, value: &'static str, why: &'static str) -> Self {
        Self { live: LiveDifference::Default { value, why }, ..self }
    }

    /// Derives the default on real paths from the path, as `how` describes.
    #[must_use]
    pub const fn from_path(self, how: &'static str) -> Self {
        Self { live: LiveDifference::Path(how), ..self }
    }

    /// Removes the key on real paths, for the reason `why`.
    #[must_use]
    pub const fn not_live(self, why: &'static str) -> Self {
        Self { live: LiveDifference::Absent(why), ..self }
    }

    /// Restricts the key to real paths, with a default derived from the path as `how` describes.
    #[must_use]
    pub const fn only_live(self, how: &'static str) -> Self {
        Self { live: LiveDifference::Only(how), ..self }
    }

    /// Also restricts live values to `range`.
    #[must_use]
    pub const fn peer(self, range: Range) -> Self {
        Self { peer: range, ..self }
    }

    /// Returns true if scenario files have the key.
    pub const fn is_simulated(&self) -> bool {
        !matches!(self.live, LiveDifference::Only(_))
    }

    /// Returns true if real paths have the key.
    pub const fn is_live(&self) -> bool {
        !matches!(self.live, LiveDifference::Absent(_))
    }

    /// Returns the name within its key table.
    pub fn short_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, short)| short)
    }

    /// Checks that `value` is in range: in that of simulations, and for a live value also in that of peers.
    ///
    /// # Errors
    ///
    /// The range, phrased to follow the key's name.
    pub fn check(&self, value: &Value, place: Environment) -> Result<(), String> {
        let Some(measure) = value.measure() else { return Ok(()) };
        let ranges = [Some(&self.range), Some(&self.peer).filter(|_| place == Environment::Live)];
        match ranges.into_iter().flatten().find(|range| !range.contains(measure)) {
            Some(range) => Err(self.kind.range_in_words(range, value)),
            None => Ok(()),
        }
    }
}

/// The target of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// A simulation.
    Simulated,
    /// A real path.
    Live,
}

/// All keys of a scheme or a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Keys of its own.
    pub own_keys: &'static [Key],
    /// Keys shared with other schemes or disciplines.
    pub shared: &'static [&'static [Key]],
    /// Overridden defaults of shared keys, by name.
    pub defaults: &'static [(&'static str, &'static str)],
    /// The presets selected by the key [`PRESET`].
    pub presets: &'static [Preset],
    /// Returns the only value of a key if the scheme lacks the rule that the key controls. Other values are refused, and
    /// have no effect in defaults for many schemes and in presets.
    pub fixed_value: fn(&str) -> Option<FixedValue>,
}

/// The only value of a key of a scheme without the rule that the key controls.
#[derive(Clone, Copy, Debug)]
pub struct FixedValue {
    /// The value, as text.
    pub text: &'static str,
    /// The behaviour of a scheme without the rule: "it continues after idle times".
    pub behaviour: &'static str,
}

/// The key that selects a preset.
pub const PRESET: &str = "preset";

/// A named set of values that replaces the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The values by key, as text, in lists that presets may share.
    pub values: &'static [&'static [(&'static str, &'static str)]],
}

impl Preset {
    /// Returns the preset's value of a key, as text.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        let mut values = self.values.iter().flat_map(|list| list.iter());
        values.find(|(key, _)| *key == name).map(|(_, text)| *text)
    }
}

impl Keys {
    /// Creates keys without shared ones.
    pub const fn own(own: &'static [Key]) -> Self {
        Self { own_keys: own, shared: &[], defaults: &[], presets: &[], fixed_value: |_| None }
    }

    /// Sets the presets.
    #[must_use]
    pub const fn with_presets(self, presets: &'static [Preset]) -> Self {
        Self { presets, ..self }
    }

    /// Returns all top-level keys; a key table counts as one.
    pub fn top(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let (own, shared) = (self.own_keys, self.shared);
        own.iter().chain(shared.iter().flat_map(|keys| keys.iter()))
    }

    /// Returns all keys that have a value: for a key table its switch, if any, and its keys.
    pub fn flat(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.top().flat_map(|key| match key.kind {
            Kind::Table(table) => table.switch.then_some(key).into_iter().chain(table.keys),
            _ => Some(key).into_iter().chain(&[]),
        })
    }

    /// Returns true if errors list the key as valid: [`PRESET`] only where there are presets.
    pub fn offers(&self, key: &Key) -> bool {
        key.name != PRESET || !self.presets.is_empty()
    }

    /// Finds a key by name, also within key tables.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.position_of(name).map(|(_, key)| key)
    }

    /// Finds a key by name, with its position in [`Keys::flat`]. Writing a scenario looks up every key of every scheme,
    /// hence the explicit loops.
    pub(crate) fn position_of(&self, name: &str) -> Option<(usize, &'static Key)> {
        let mut place = 0;
        for keys in core::iter::once(&self.own_keys).chain(self.shared) {
            for key in *keys {
                let Kind::Table(table) = key.kind else {
                    if key.name == name {
                        return Some((place, key));
                    }
                    place += 1;
                    continue;
                };
                if table.switch {
                    if key.name == name {
                        return Some((place, key));
                    }
                    place += 1;
                }
                for key in table.keys {
                    if key.name == name {
                        return Some((place, key));
                    }
                    place += 1;
                }
            }
        }
        None
    }

    /// Returns the default of a key; `None` if it is derived from something else, or if there is none.
    pub fn default_of(&self, key: &'static Key, place: Environment) -> Option<Value> {
        let text = self.default_text(key, place);
        if text.is_empty() { None } else { key.kind.read(text).ok() }
    }

    /// Returns the default of a key as text; empty if it is derived from something else, or if there is none.
    pub(crate) fn default_text(&self, key: &'static Key, place: Environment) -> &'static str {
        if let Some(fixed) = (self.fixed_value)(key.name) {
            return fixed.text;
        }
        let own = self.defaults.iter().find(|(name, _)| *name == key.name).map(|(_, text)| *text);
        match (place, key.live) {
            (Environment::Live, LiveDifference::Default { value, .. }) => own.unwrap_or(value),
            (Environment::Live, LiveDifference::Path(_) | LiveDifference::Only(_)) => "",
            (Environment::Simulated, LiveDifference::Only(_)) => "",
            _ => own.unwrap_or(key.default),
        }
    }

    /// Returns the mistakes in names and defaults, which the compiler cannot find: names that scenario files or command lines
    /// could not contain, keys that are there twice, overridden defaults without a key, and defaults that are not values of
    /// their keys or out of their ranges.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = BTreeSet::new();
        for key in self.top().chain(self.flat().filter(|key| key.name.contains('.'))) {
            if !is_key_name(key.name) {
                faults.push(format!(
                    "`{}` is not a name of a key, which has only letters, digits, - and _",
                    key.name
                ));
            }
            if !seen.insert(key.name) {
                let shared = self.shared.iter().any(|keys| keys.iter().any(|other| other.name == key.name));
                let also = if shared { ", once among the shared keys" } else { "" };
                faults.push(format!("there are two keys `{}`{also}: rename one", key.name));
            }
        }
        let unknown = self.defaults.iter().filter(|(name, _)| self.find(name).is_none());
        faults.extend(unknown.map(|(name, _)| format!("`{name}` has a default, but there is no such key")));
        for key in self.flat() {
            for place in [Environment::Simulated, Environment::Live] {
                let text = self.default_text(key, place);
                if text.is_empty() || place == Environment::Live && !key.is_live() {
                    continue;
                }
                let value = key.kind.read(text);
                let checked =
                    value.and_then(|value| key.check(&value, place).map_err(|range| format!("it {range}")));
                faults.extend(
                    checked.err().map(|why| format!("the default `{text}` of `{}`: {why}", key.name)),
                );
            }
        }
        // Most defaults are those of both environments.
        faults.dedup();
        faults
    }
}

/// Checks the name of a scheme or a discipline, as scenario files and command lines contain it.
///
/// # Errors
///
/// The rule that it breaks.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    let fits = |c: char| c.is_alphanumeric() || "-_/ +#".contains(c);
    if name.is_empty() {
        Err("its name is empty")
    } else if !name.chars().all(fits) {
        Err("a name has only letters, digits, spaces and - _ / + #")
    } else if name.starts_with([' ', '-']) || name.ends_with(' ') {
        Err("a name does not begin with a space or `-`, nor end with a space")
    } else if name.chars().count() > MAX_NAME_LENGTH {
        Err("its name has more than 64 characters")
    } else {
        Ok(())
    }
}

/// Maximum length of a name, in characters.
const MAX_NAME_LENGTH: usize = 64;

/// Returns true for the name of a key: `min-interval`, or with its table `rto.floor`.
fn is_key_name(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    name.split('.').all(is_part)
}

/// An error in values that are each in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key that the error is reported at.
    pub key: &'static str,
    /// The message.
    pub what: String,
    /// A remedy; may be empty.
    pub help: &'static str,
    /// Warning: the value is valid but probably unintended.
    pub is_warning: bool,
    /// Ignored where the value comes from defaults for many schemes and does not apply to this one.
    pub is_scheme_rule: bool,
}

impl ConfigError {
    /// Creates an error without help.
    pub fn new(key: &'static str, what: impl Into<String>) -> Self {
        Self { key, what: what.into(), help: "", is_warning: false, is_scheme_rule: false }
    }

    /// Sets the help.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}
