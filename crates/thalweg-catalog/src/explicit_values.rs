//! Explicit values of keys, and configurations built from them.

use crate::option_keys::{Environment, Key, Keys, Kind, PRESET};
use crate::option_values::Value;
use thalweg_proto::units::{Bytes, Duration, Rate};

/// The values of a scheme or a discipline: the explicit ones, and the defaults of all others.
#[derive(Clone, Debug)]
pub struct Values {
    keys: Keys,
    environment: Environment,
    /// Explicit values in key order, without duplicates.
    explicit_values: Vec<(&'static Key, Value)>,
    /// Positions of the explicit values among all keys.
    positions: Vec<usize>,
}

impl PartialEq for Values {
    /// Compares the explicit values. Keys are identified by name.
    fn eq(&self, other: &Self) -> bool {
        let explicit_values = |values: &Self| {
            values.explicit_values.iter().map(|(key, value)| (key.name, *value)).collect::<Vec<_>>()
        };
        self.environment == other.environment && explicit_values(self) == explicit_values(other)
    }
}

impl Values {
    /// Creates values with no key set.
    pub const fn new(keys: Keys, environment: Environment) -> Self {
        Self { keys, environment, explicit_values: Vec::new(), positions: Vec::new() }
    }

    /// Returns the keys.
    pub const fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the target: a simulation, or a real path.
    pub const fn environment(&self) -> Environment {
        self.environment
    }

    /// Returns the explicit values, in key order.
    pub fn explicit_values(&self) -> &[(&'static Key, Value)] {
        &self.explicit_values
    }

    /// Returns the explicit value of a key, if it is set.
    pub fn explicit_value(&self, name: &str) -> Option<Value> {
        self.explicit_values.iter().find(|(key, _)| key.name == name).map(|(_, value)| *value)
    }

    /// Returns true if there is a key with this name, and its kind has this value. Ranges are not checked.
    pub fn accepts(&self, name: &str, value: &Value) -> bool {
        self.keys.find(name).is_some_and(|key| key.kind.takes(value))
    }

    /// Sets a value. Ignores an unknown key.
    pub fn set_value(&mut self, name: &str, value: Value) {
        if let Some((position, key)) = self.keys.position_of(name) {
            self.put(position, key, value);
        }
    }

    /// Removes the explicit value of a key.
    pub fn clear_value(&mut self, name: &str) {
        if let Some(at) = self.explicit_values.iter().position(|(key, _)| key.name == name) {
            self.explicit_values.remove(at);
            self.positions.remove(at);
        }
    }

    fn put(&mut self, position: usize, key: &'static Key, value: Value) {
        let at = self.positions.partition_point(|other| *other < position);
        if self.positions.get(at) == Some(&position) {
            self.explicit_values[at] = (key, value);
        } else {
            self.positions.insert(at, position);
            self.explicit_values.insert(at, (key, value));
        }
    }

    /// Sets a value if the key is unset and the value is in range.
    pub fn suggest(&mut self, name: &str, value: Value) {
        let fits = self.keys.find(name).is_some_and(|key| key.check(&value, self.environment).is_ok());
        if fits && self.explicit_value(name).is_none() && self.preset_value(name).is_none() {
            self.set_value(name, value);
        }
    }

    /// Returns the preset's value of a key; `None` without a preset, or if the preset leaves it open.
    pub fn preset_value(&self, name: &str) -> Option<Value> {
        if self.keys.presets.is_empty() {
            return None;
        }
        let Some(Value::Word(chosen)) = self.explicit_value(PRESET) else { return None };
        let preset = self.keys.presets.iter().find(|preset| preset.name == chosen)?;
        let (text, key) = (preset.text(name)?, self.keys.find(name)?);
        key.kind.read(text).ok()
    }

    /// Returns the [only value](Keys::fixed_value) of a key, else the explicit one, else that of the preset, else the
    /// default; `None` if the default is derived from something else, or if the key is unknown.
    pub fn get(&self, name: &str) -> Option<Value> {
        let is_fixed = (self.keys.fixed_value)(name).is_some();
        let explicit =
            if is_fixed { None } else { self.explicit_value(name).or_else(|| self.preset_value(name)) };
        explicit.or_else(|| self.keys.default_of(self.keys.find(name)?, self.environment))
    }

    /// Returns the value of a key converted to a configuration type, if there is one.
    pub fn optional<T: Field>(&self, name: &str) -> Option<T> {
        self.get(name).map_or_else(T::if_missing, T::from_value)
    }

    /// Returns the value of a key that always has one by its description.
    ///
    /// # Panics
    ///
    /// If the description has no such key, no default for it or one that is not a value of its kind, or if the type cannot
    /// represent values of that kind.
    pub fn required<T: Field>(&self, name: &str) -> T {
        self.optional(name).unwrap_or_else(|| {
            let of = core::any::type_name::<T>();
            // A bug in the description; no file and no peer can cause it.
            let Some(key) = self.keys.find(name) else {
                panic!("the description has no key `{name}` for a field")
            };
            match (self.get(name), self.keys.default_text(key, self.environment)) {
                (Some(_), _) => {
                    panic!("`{name}` is {:?} in the description, and `{of}` in the configuration", key.kind)
                }
                (None, "") => {
                    panic!("`{name}` has no default, and its field must be an `Option`, not `{of}`")
                }
                (None, text) => panic!(
                    "the default `{text}` of `{name}` is not a value of its kind: {}",
                    key.kind.read(text).err().unwrap_or_default()
                ),
            }
        })
    }

    /// Sets a key from a configuration value; leaves it unset if the value has no textual form or the scheme only has
    /// [one](Keys::fixed_value).
    pub fn set_from<T: Field>(&mut self, name: &str, value: &T) {
        if (self.keys.fixed_value)(name).is_none()
            && let Some((position, key)) = self.keys.position_of(name)
            && let Some(value) = value.to_value(&key.kind)
        {
            self.put(position, key, value);
        }
    }
}

/// A configuration type that can be the value of a key.
#[diagnostic::on_unimplemented(
    message = "no value of a key is a `{Self}`",
    note = "a word of several is bound by `words!`; numbers, times, rates and sizes have types of their own"
)]
pub trait Field: Sized {
    /// Converts the value; returns `None` for another kind.
    fn from_value(value: Value) -> Option<Self>;

    /// Returns the configuration for a missing value; `None` if a value is required.
    fn if_missing() -> Option<Self> {
        None
    }

    /// Returns the value for a key of this kind; `None` to leave the key out.
    fn to_value(&self, kind: &Kind) -> Option<Value>;
}

impl Field for f64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Packets(number) | Value::Number(number) | Value::Share(number) => Some(number),
            _ => None,
        }
    }
    fn to_value(&self, kind: &Kind) -> Option<Value> {
        match kind {
            Kind::Packets => Some(Value::Packets(*self)),
            Kind::Share | Kind::Probability => Some(Value::Share(*self)),
            _ => Some(Value::Number(*self)),
        }
    }
}

impl Field for u32 {
    /// Packets saturate: no window is larger.
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Count(count) => Some(count),
            Value::Packets(packets) => Some(packets as Self),
            Value::Size(size) => Some(Self::try_from(size.get()).unwrap_or(Self::MAX)),
            _ => None,
        }
    }
    fn to_value(&self, kind: &Kind) -> Option<Value> {
        match kind {
            Kind::Packets if *self == Self::MAX => Some(Value::Packets(f64::INFINITY)),
            Kind::Packets => Some(Value::Packets(f64::from(*self))),
            Kind::Size => Some(Value::Size(Bytes::new(u64::from(*self)))),
            _ => Some(Value::Count(*self)),
        }
    }
}

impl Field for u16 {
    /// Larger numbers saturate.
    fn from_value(value: Value) -> Option<Self> {
        u32::from_value(value).map(|number| Self::try_from(number).unwrap_or(Self::MAX))
    }
    fn to_value(&self, kind: &Kind) -> Option<Value> {
        u32::from(*self).to_value(kind)
    }
}

impl Field for u64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Size(size) => Some(size.get()),
            other => u32::from_value(other).map(Self::from),
        }
    }
    /// Counts and packets saturate.
    fn to_value(&self, kind: &Kind) -> Option<Value> {
        match kind {
            Kind::Size => Some(Value::Size(Bytes::new(*self))),
            kind => u32::try_from(*self).unwrap_or(u32::MAX).to_value(kind),
        }
    }
}

/// Implements the field type for types with a kind of value of their own.
macro_rules! plain {
    ($($Type:ty: $Variant:ident),+) => {
        $(impl Field for $Type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$Variant(value) => Some(value),
                    _ => None,
                }
            }
            fn to_value(&self, _: &Kind) -> Option<Value> {
                Some(Value::$Variant(*self))
            }
        })+
    };
}
plain!(bool: Switch, Duration: Time, Rate: Rate, Bytes: Size);

impl<T: Field> Field for Option<T> {
    /// `off` is `None`.
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Off => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
    fn if_missing() -> Option<Self> {
        Some(None)
    }
    fn to_value(&self, kind: &Kind) -> Option<Value> {
        match (self, kind) {
            (Some(value), kind) => value.to_value(kind),
            (None, Kind::Interval) => Some(Value::Off),
            (None, _) => None,
        }
    }
}

/// A configuration whose fields are values of keys.
pub trait KeyBoundConfig: Sized {
    /// Returns the configuration of these values.
    fn from_values(values: &Values) -> Self;

    /// Writes the values of the configuration.
    fn write_to(&self, values: &mut Values);
}

/// Binds the fields of a configuration to keys, both ways: `Config { field: "key", ... }`.
///
/// | kind of the key | type of the field |
/// | --- | --- |
/// | `Packets` | `f64`, or `u16`, `u32`, `u64` for whole numbers (saturating: `unlimited` is the maximum) |
/// | `Number`, `Share`, `Probability` | `f64` |
/// | `Count` | `u16`, `u32`, `u64` |
/// | `Size` | `Bytes`, or `u16`, `u32`, `u64` in bytes |
/// | `Time` | `Duration` |
/// | `Interval` | `Option<Duration>`; `off` is `None` |
/// | `Rate` | `Rate` |
/// | `Switch` | `bool` |
/// | `Word` | a type bound by [`words!`](crate::words) |
/// | any of these, without a default | `Option` of the type; `None` if the key is unset |
///
/// `Segments` and `Length` have no field type: implement [`KeyBoundConfig`](crate::KeyBoundConfig) by hand for them.
///
/// # Panics
///
/// The first use of the configuration panics, with the name of the key, if no key has the name, or if the type and the
/// kind differ. Test a description by building its default configuration.
#[macro_export]
macro_rules! bind {
    ($Config:ty { $($field:ident: $key:literal),* $(,)? }) => {
        impl $crate::KeyBoundConfig for $Config {
            fn from_values(values: &$crate::Values) -> Self {
                let _ = values;
                Self { $($field: values.required($key)),* }
            }
            fn write_to(&self, values: &mut $crate::Values) {
                $(values.set_from($key, &self.$field);)*
                let _ = values;
            }
        }
    };
}

/// Binds the values of a type to keywords, both ways, and lists the keywords.
#[macro_export]
macro_rules! words {
    ($WORDS:ident: $Type:ty { $($word:literal => $value:expr),+ $(,)? }) => {
        /// The keywords of the values.
        pub const $WORDS: $crate::Kind = $crate::Kind::Word(&[$($word),+]);

        impl $crate::Field for $Type {
            fn from_value(value: $crate::Value) -> Option<Self> {
                match value {
                    $($crate::Value::Word($word) => Some($value),)+
                    _ => None,
                }
            }
            fn to_value(&self, _: &$crate::Kind) -> Option<$crate::Value> {
                $(if *self == $value {
                    return Some($crate::Value::Word($word));
                })+
                None
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_width_are_counts_packets_and_sizes() {
        for (kind, value) in [
            (Kind::Count, Value::Count(7)),
            (Kind::Packets, Value::Packets(7.0)),
            (Kind::Size, Value::Size(Bytes::new(7))),
        ] {
            assert_eq!((7_u64.to_value(&kind), u64::from_value(value)), (Some(value), Some(7)));
            assert_eq!((7_u32.to_value(&kind), u32::from_value(value)), (Some(value), Some(7)));
            assert_eq!((7_u16.to_value(&kind), u16::from_value(value)), (Some(value), Some(7)));
        }
        assert_eq!(u64::from_value(Value::Share(0.5)), None);
    }
}
