//! Two-way bindings between keys and fields of a specification: decoding sets the field from the key, expansion writes
//! the key from the field.
//!
//! `table!` binds a key by `=> field` behind it, in a table that is `for` a structure or for one variant of an
//! enumeration. A key without further logic needs no other line in this crate.

use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// A field of a specification that a key with values of the type `K` is bound to.
#[diagnostic::on_unimplemented(
    message = "a key with values of the type `{K}` cannot be bound to a field of the type `{Self}`",
    note = "a line of `plain!` in `key_bindings.rs`, or an `impl FieldOf<{K}> for {Self}`, binds them"
)]
pub trait FieldOf<K>: Sized {
    /// Returns the field's value from an optional key; `None` if the key is absent and the field is mandatory.
    fn from_key(given: Option<&K>) -> Option<Self>;

    /// Returns the key's value in TOML, which parses back to the same value; `None` if the scenario omits the key.
    fn toml(&self) -> Option<String>;
}

impl<T: FieldOf<K>, K> FieldOf<K> for Option<T> {
    fn from_key(given: Option<&K>) -> Option<Self> {
        Some(given.and_then(|given| T::from_key(Some(given))))
    }
    fn toml(&self) -> Option<String> {
        self.as_ref().and_then(T::toml)
    }
}

/// Binds keys whose values equal those of the fields, or convert in one step each way.
macro_rules! plain {
    ($($Key:ty, $Field:ty: $of:expr, $toml:expr;)+) => {$(
        impl $crate::key_bindings::FieldOf<$Key> for $Field {
            fn from_key(given: Option<&$Key>) -> Option<Self> {
                given.copied().map($of)
            }
            fn toml(&self) -> Option<String> {
                Some($toml(self))
            }
        }
    )+};
}
pub(crate) use plain;

plain! {
    Duration, Duration: |time| time, |time| format!("\"{time}\"");
    Duration, Time: |time| Self::ZERO + time, |time: &Self| format!("\"{}\"", time.since(Self::ZERO));
    Rate, Rate: |rate| rate, |rate| format!("\"{rate}\"");
    Bytes, Bytes: |size| size, |size| format!("\"{size}\"");
    bool, bool: |is| is, |is: &Self| is.to_string();
    u32, u32: |count| count, |count: &Self| count.to_string();
    u64, u64: |count| count, |count: &Self| count.to_string();
}
