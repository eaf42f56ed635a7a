//! Keys: what a description is made of.

use crate::value::{Kind, Range, Value};

/// A key of a scheme or a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name. A dot stands between the name of a table of keys and that of a key in it: `rto.floor`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// The meaning, in sentences.
    pub about: &'static str,
    /// The value that holds without it, as text; empty where that follows from something else, or there is nothing.
    pub usual: &'static str,
    /// Values lie in it, of simulated schemes and live ones.
    pub range: Range,
    /// A remedy for a value beyond the range; empty where the range says all.
    pub help: &'static str,
    /// The key must be given.
    pub required: bool,
    /// The difference of the key on real paths.
    pub live: Live,
    /// Live values lie in it too, whoever chose them: a peer must not make this end send without pause or fill its memory.
    pub peer: Range,
}

/// The difference of a key on real paths from the same key in simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// The same as in simulations.
    Same,
    /// Another usual value.
    Usual {
        /// The value as text.
        value: &'static str,
        /// The reason, in words that follow "because".
        why: &'static str,
    },
    /// Without it the value follows from what is known of the path, as these words say.
    Path(&'static str),
    /// There is no such option, for the reason in these words.
    Absent(&'static str),
    /// There is such an option only on real paths.
    Only(&'static str),
}

/// A table of keys under one key of scenario files.
#[derive(Debug)]
pub struct Table {
    /// The title in references.
    pub title: &'static str,
    /// The meaning, in sentences.
    pub about: &'static str,
    /// The keys, with their full names.
    pub keys: &'static [Key],
    /// `true` stands for the table with its usual values, and `false` for none.
    pub switch: bool,
}

/// A key without a range.
pub const fn key(name: &'static str, kind: Kind, usual: &'static str, about: &'static str) -> Key {
    Key {
        name,
        kind,
        about,
        usual,
        range: Range::ANY,
        help: "",
        required: false,
        live: Live::Same,
        peer: Range::ANY,
    }
}

impl Key {
    /// The same with values in `range`, for which `help` is given where it is not empty.
    #[must_use]
    pub const fn within(self, range: Range, help: &'static str) -> Self {
        Self { range, help, ..self }
    }

    /// The same, which must be given.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same with another usual value on real paths, because of `why`.
    #[must_use]
    pub const fn usual_live(self, value: &'static str, why: &'static str) -> Self {
        Self { live: Live::Usual { value, why }, ..self }
    }

    /// The same, following on real paths from the path as `how` tells.
    #[must_use]
    pub const fn from_path(self, how: &'static str) -> Self {
        Self { live: Live::Path(how), ..self }
    }

    /// The same, which real paths do not have because of `why`.
    #[must_use]
    pub const fn not_live(self, why: &'static str) -> Self {
        Self { live: Live::Absent(why), ..self }
    }

    /// The same, which only real paths have, following from the path as `how` tells.
    #[must_use]
    pub const fn only_live(self, how: &'static str) -> Self {
        Self { live: Live::Only(how), ..self }
    }

    /// The same with live values in `range` too.
    #[must_use]
    pub const fn peer(self, range: Range) -> Self {
        Self { peer: range, ..self }
    }

    /// True if scenario files have it.
    pub const fn is_simulated(&self) -> bool {
        !matches!(self.live, Live::Only(_))
    }

    /// True if real paths have it.
    pub const fn is_live(&self) -> bool {
        !matches!(self.live, Live::Absent(_))
    }

    /// The name within its table of keys.
    pub fn short_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, short)| short)
    }

    /// Checks that `value` is in range: that of simulations, and for a live one that of peers too.
    ///
    /// # Errors
    ///
    /// The range, in words that follow the key's name.
    pub fn check(&self, value: &Value, place: Place) -> Result<(), String> {
        let Some(measure) = value.measure() else { return Ok(()) };
        let ranges = [Some(&self.range), Some(&self.peer).filter(|_| place == Place::Live)];
        match ranges.into_iter().flatten().find(|range| !range.contains(measure)) {
            Some(range) => Err(range.in_words(&self.kind, value)),
            None => Ok(()),
        }
    }
}

/// The place where a scheme is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a simulation.
    Simulated,
    /// On a real path.
    Live,
}

/// All keys of a scheme or a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Its own.
    pub own: &'static [Key],
    /// Those that it shares with others.
    pub shared: &'static [&'static [Key]],
    /// Usual values of shared keys that are its own, by name.
    pub usual: &'static [(&'static str, &'static str)],
    /// Sets of values of which the key [`PRESET`] chooses one.
    pub presets: &'static [Preset],
}

/// The key that chooses a preset.
pub const PRESET: &str = "preset";

/// A named set of values, which hold in place of the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The values by key, as text, in lists of which several presets may have the same.
    pub values: &'static [&'static [(&'static str, &'static str)]],
}

impl Preset {
    /// The value that the preset has for a key of that name, as text.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        let mut values = self.values.iter().flat_map(|list| list.iter());
        values.find(|(key, _)| *key == name).map(|(_, text)| *text)
    }
}

impl Keys {
    /// Keys that are shared with none.
    pub const fn own(own: &'static [Key]) -> Self {
        Self { own, shared: &[], usual: &[], presets: &[] }
    }

    /// The same with presets.
    #[must_use]
    pub const fn with_presets(self, presets: &'static [Preset]) -> Self {
        Self { presets, ..self }
    }

    /// All, tables of keys as one.
    pub fn top(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let (own, shared) = (self.own, self.shared);
        own.iter().chain(shared.iter().flat_map(|keys| keys.iter()))
    }

    /// All that have a value: of tables of keys their keys, and the switch before them where there is one.
    pub fn flat(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.top().flat_map(|key| match key.kind {
            Kind::Table(table) => table.switch.then_some(key).into_iter().chain(table.keys),
            _ => Some(key).into_iter().chain(&[]),
        })
    }

    /// The key of that name, of a table of keys too.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.place(name).map(|(_, key)| key)
    }

    /// The key of that name, with its place among [`Keys::flat`]. Every key of every scheme is looked for so when a scenario is
    /// written out, which is why these are loops.
    pub(crate) fn place(&self, name: &str) -> Option<(usize, &'static Key)> {
        let mut place = 0;
        for keys in core::iter::once(&self.own).chain(self.shared) {
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

    /// The value that holds without the key; `None` where that follows from something else, or there is nothing.
    pub fn usual(&self, key: &'static Key, place: Place) -> Option<Value> {
        let own = self.usual.iter().find(|(name, _)| *name == key.name).map(|(_, text)| *text);
        let text = match (place, key.live) {
            (Place::Live, Live::Usual { value, .. }) => own.unwrap_or(value),
            (Place::Live, Live::Path(_) | Live::Only(_)) => "",
            (Place::Simulated, Live::Only(_)) => "",
            _ => own.unwrap_or(key.usual),
        };
        if text.is_empty() { None } else { key.kind.read(text).ok() }
    }
}

/// A fault of values that are each in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key that it is told of.
    pub key: &'static str,
    /// The fault, in words.
    pub what: String,
    /// A remedy; may be empty.
    pub help: &'static str,
    /// It can be as it is, but is probably not meant.
    pub is_doubt: bool,
    /// It is none where the value is one for many schemes, of which this one has no use for it.
    pub is_scheme_rule: bool,
}

impl Fault {
    /// A fault without help.
    pub fn new(key: &'static str, what: impl Into<String>) -> Self {
        Self { key, what: what.into(), help: "", is_doubt: false, is_scheme_rule: false }
    }

    /// The same with help.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}
