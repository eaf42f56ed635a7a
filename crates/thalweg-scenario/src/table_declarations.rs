//! Declarations of the tables of a scenario file.
//!
//! [`table!`](crate::table_declarations::table) lists a table's keys once, with their types, defaults and documentation. Decoding,
//! key validation, inheritance of defaults, the JSON Schema and the reference derive from this list.
//! [`choice!`](crate::table_declarations::choice) does the same for tagged unions of tables.

use super::diagnostic::Report;
use super::parsed_tree::{Key, Table, Value, ValueKind};
use super::schema_definitions::{Definitions, Field, TableDoc, ValueType, table_schema};
use super::source_text::Span;
use std::ops::Deref;

/// A decoded value with its source position.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The source position.
    pub span: Span,
}

impl<T> Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A type of values in scenario files.
pub trait Decode: Sized {
    /// Suggested units for a bare number, for types with several equally common ones.
    const COMMON_UNITS: &'static [&'static str] = &[];

    /// The implied unit of bare numbers that programs write, if they are accepted.
    const PLAIN_UNIT: Option<&'static str> = None;

    /// Describes the expected values, for messages and the reference, in the form `a duration, such as "50 ms"`.
    fn expected() -> String;

    /// Decodes a value; reports errors and then returns `None`.
    fn decode(value: &Value, report: &mut Report) -> Option<Self>;

    /// Returns the JSON Schema of the type.
    fn schema(definitions: &mut Definitions) -> serde_json::Value;
}

impl ValueType {
    /// Returns the values that `T` decodes.
    pub const fn new<T: Decode>() -> Self {
        Self::Type {
            expected: T::expected,
            schema: T::schema,
            #[cfg(test)]
            can_decode: |text| decode_default::<T>(text).is_some(),
        }
    }
}

impl Field {
    /// Creates a key without a default.
    pub const fn new<T: Decode>(key: &'static str, about: &'static str, required: bool) -> Self {
        Self { key, about, default: None, required, value_type: ValueType::new::<T>() }
    }
}

/// The keys of a table, or a group of keys shared by several tables.
pub trait Fields: Sized + Default + 'static {
    /// The table's name in the schema and the reference.
    const NAME: &'static str;
    /// The purpose of the table, in sentences.
    const ABOUT: &'static str;

    /// Appends all keys.
    fn list(fields: &mut Vec<Field>);

    /// Decodes one entry; returns false for an unknown key.
    fn accept(&mut self, key: &Key, value: &Value, report: &mut Report) -> bool;

    /// Inherits from `other` all keys that are not set here.
    fn inherit(&mut self, other: &Self);

    /// Inherits from `other` the keys that are not set here, except shared groups.
    fn inherit_fields(&mut self, other: &Self);

    /// Returns the defaults.
    fn defaults() -> &'static Self;

    /// Returns all keys; created once.
    fn fields() -> &'static [Field];

    /// Returns the position of a key in the table.
    fn position(key: &str) -> Option<usize> {
        Self::fields().iter().position(|field| field.key == key)
    }
}

/// Decodes a table with the keys of `T`, except those in `beside`. Returns `None` if a required key is missing.
pub fn decode_fields<T: Fields>(
    table: &Table,
    span: Span,
    beside: &[&str],
    report: &mut Report,
) -> Option<T> {
    let mut decoded = T::default();
    for (key, value) in &table.entries {
        if !beside.contains(&key.name.as_str()) && !decoded.accept(key, value, report) {
            let fields = T::fields();
            let valid = fields.iter().map(|field| field.key).chain(beside.iter().copied());
            let message = format!("{} has no key `{}`", T::NAME, key.name);
            report.error("scenario.unknown-key", key.span, message).names(&key.name, valid);
        }
    }
    let mut complete = true;
    for field in T::fields().iter().filter(|field| field.required) {
        if table.get(field.key).is_none() {
            report_missing_key(T::NAME, field.key, &field.expected(), span, report);
            complete = false;
        }
    }
    complete.then_some(decoded)
}

/// Decodes the value of an entry, with its position.
pub fn decode_entry<T: Decode>(value: &Value, report: &mut Report) -> Option<Spanned<T>> {
    T::decode(value, report).map(|decoded| Spanned { value: decoded, span: value.span })
}

/// Reports a missing key of the table `title`.
pub fn report_missing_key(title: &str, key: &str, expected: &str, span: Span, report: &mut Report) {
    let message = format!("{title} needs `{key}`");
    report.error("scenario.missing", span, message).help(format!("`{key}`: {expected}"));
}

/// Reports a value of the wrong type.
pub fn wrong_type<T: Decode>(value: &Value, report: &mut Report) {
    wrong_kind(&T::expected(), value, report);
}

/// Reports a value of the wrong type, from a description of the expected values.
pub fn wrong_kind(expected: &str, value: &Value, report: &mut Report) {
    let message = format!("expected {expected}, found {}", value.kind.name());
    report.error("scenario.type", value.span, message);
}

/// Decodes a default. A test checks all defaults.
pub fn decode_default<T: Decode>(text: &str) -> Option<Spanned<T>> {
    let mut report = Report::default();
    let source = report.add_source(super::source_text::Source::new("default", text));
    let value = super::parsed_tree::parse_value(source, &mut report)?;
    let decoded = T::decode(&value, &mut report);
    decoded.map(|value| Spanned { value, span: Span::OF_DEFAULT_VALUE })
}

/// Returns the table of a value; reports an error if it is not a table.
pub fn as_table<'v, T: Decode>(value: &'v Value, report: &mut Report) -> Option<&'v Table> {
    match &value.kind {
        ValueKind::Table(table) => Some(table),
        _ => {
            wrong_type::<T>(value, report);
            None
        }
    }
}

/// Declares a table: `field: Type = "key"`, then `or "TOML"` for a default or `(required)`; after the keys,
/// `..part: Type` for shared groups of keys, which are separate structures in the code only. A table may be `for` a
/// structure or a variant of a specification; `=> field` [binds](super::key_bindings) a key to one of its fields.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $Name:ident $title:literal $(for $Spec:ident $(:: $Variant:ident $(($one:ident))?)?)? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $Type:ty = $key:literal $(or $default:literal)? $(($required:ident))?
                    $(=> $($place:ident).+)?;
            )*
            $(..$part:ident: $Part:ty;)*
        }
    ) => {
        $crate::table_declarations::bind! {
            $Name [$($Spec $(:: $Variant $(($one))?)?)?] [$({ $field $Type = $key [$($($place).+)?] })*]
        }

        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                pub $field: Option<$crate::table_declarations::Spanned<$Type>>,
            )*
            $(
                /// Keys shared with other tables.
                pub $part: $Part,
            )*
            /// A key has an invalid value; its absence implies nothing then.
            pub broken: bool,
        }

        impl $crate::table_declarations::Fields for $Name {
            const NAME: &'static str = $title;
            const ABOUT: &'static str = concat!($($about, "\n"),+);

            fn list(fields: &mut Vec<$crate::schema_definitions::Field>) {
                $(fields.push($crate::schema_definitions::Field {
                    key: $key,
                    about: concat!($($doc, "\n"),+),
                    default: $crate::table_declarations::first_of_list(&[$($default)?]).map(str::to_owned),
                    required: !$crate::table_declarations::is_empty(&[$(stringify!($required))?]),
                    value_type: $crate::schema_definitions::ValueType::new::<$Type>(),
                });)*
                $(<$Part as $crate::table_declarations::Fields>::list(fields);)*
                let _ = fields;
            }

            fn fields() -> &'static [$crate::schema_definitions::Field] {
                static FIELDS: std::sync::OnceLock<Vec<$crate::schema_definitions::Field>> = std::sync::OnceLock::new();
                FIELDS.get_or_init(|| {
                    let mut fields = Vec::new();
                    <Self as $crate::table_declarations::Fields>::list(&mut fields);
                    fields
                })
            }

            fn accept(
                &mut self,
                key: &$crate::parsed_tree::Key,
                value: &$crate::parsed_tree::Value,
                report: &mut $crate::diagnostic::Report,
            ) -> bool {
                match key.name.as_str() {
                    $($key => {
                        self.$field = $crate::table_declarations::decode_entry(value, report);
                        self.broken |= self.$field.is_none();
                        true
                    })*
                    _ => {
                        let _ = (value, &report);
                        false $(|| self.$part.accept(key, value, report))*
                    }
                }
            }

            fn inherit(&mut self, other: &Self) {
                self.inherit_fields(other);
                $(self.$part.inherit(&other.$part);)*
            }

            fn inherit_fields(&mut self, other: &Self) {
                $(if self.$field.is_none() {
                    self.$field.clone_from(&other.$field);
                })*
                self.broken |= other.broken;
            }

            fn defaults() -> &'static Self {
                static DEFAULTS: std::sync::OnceLock<$Name> = std::sync::OnceLock::new();
                DEFAULTS.get_or_init(|| Self {
                    $($field: $crate::table_declarations::first_of_list(&[$($default)?])
                        .and_then($crate::table_declarations::decode_default),)*
                    $($part: <$Part as $crate::table_declarations::Fields>::defaults().clone(),)*
                    broken: false,
                })
            }
        }

        impl $crate::table_declarations::Decode for $Name {
            fn expected() -> String {
                concat!("a table (", $title, ")").to_owned()
            }

            fn decode(
                value: &$crate::parsed_tree::Value,
                report: &mut $crate::diagnostic::Report,
            ) -> Option<Self> {
                let table = $crate::table_declarations::as_table::<Self>(value, report)?;
                $crate::table_declarations::decode_fields(table, value.span, &[], report)
            }

            fn schema(definitions: &mut $crate::schema_definitions::Definitions) -> serde_json::Value {
                definitions.table::<Self>()
            }
        }
    };
}
pub(crate) use table;

/// The part of [`table!`] that binds keys.
macro_rules! bind {
    // A table without a specification.
    ($Name:ident [] $fields:tt) => {};

    // A table for a structure, with some of its fields.
    ($Name:ident [$Spec:ident] [$({ $field:ident $Type:ty = $key:literal [$($place:ident).*] })*]) => {
        impl $Name {
            /// Sets the bound fields from the keys.
            pub fn fill(&self, spec: &mut $Spec) {
                $($crate::table_declarations::bind!(@fill (self) spec $field $Type [$($place).*]);)*
            }

            /// Returns true if a bound key is set.
            #[allow(dead_code, reason = "few tables are asked")]
            pub fn sets_any(&self) -> bool {
                [$($crate::table_declarations::bind!(@is_set (self) $field [$($place).*])),*].contains(&true)
            }

            /// Writes the bound fields under their keys.
            pub fn write(spec: &$Spec, entries: &mut $crate::toml_writer::Entries) {
                $($crate::table_declarations::bind!(@write (spec.$($place).*) entries $Type, $key, [$($place).*]);)*
            }
        }
    };

    // A table for a variant of an enumeration, with all its fields.
    ($Name:ident [$Spec:ident :: $Variant:ident] [$({ $field:ident $Type:ty = $key:literal [$($place:ident)?] })*]) => {
        $crate::table_declarations::bind! {
            @variant $Name $Spec { $Spec::$Variant { $($($place,)?)* } }
            [$($({ $place $field $Type = $key })?)*]
        }
    };
    ($Name:ident [$Spec:ident :: $Variant:ident ($one:ident)] [$({ $field:ident $Type:ty = $key:literal [$($place:ident)?] })*]) => {
        $crate::table_declarations::bind! {
            @variant $Name $Spec { $Spec::$Variant($one) }
            [$($({ $place $field $Type = $key })?)*]
        }
    };
    (@variant $Name:ident $Spec:ident { $($variant:tt)+ } [$({ $place:ident $field:ident $Type:ty = $key:literal })*]) => {
        impl $Name {
            /// Returns the variant, with defaults for unset keys; `None` if a field is missing.
            pub fn spec(&self) -> Option<$Spec> {
                let default = <Self as $crate::table_declarations::Fields>::defaults();
                $(
                    let given = self.$field.as_deref().or(default.$field.as_deref());
                    let $place = $crate::key_bindings::FieldOf::<$Type>::from_key(given)?;
                )*
                let _ = default;
                Some($($variant)+)
            }

            /// Writes the fields of this variant under their keys; returns false for another variant.
            pub fn write(spec: &$Spec, entries: &mut $crate::toml_writer::Entries) -> bool {
                let $($variant)+ = spec else { return false };
                $($crate::table_declarations::bind!(@write (*$place) entries $Type, $key, [$place]);)*
                true
            }
        }
    };

    (@is_set ($this:expr) $field:ident []) => { false };
    (@is_set ($this:expr) $field:ident [$($place:ident).+]) => { $this.$field.is_some() };
    (@fill ($this:expr) $spec:ident $field:ident $Type:ty []) => {};
    (@fill ($this:expr) $spec:ident $field:ident $Type:ty [$($place:ident).+]) => {
        if let Some(value) = $crate::key_bindings::FieldOf::<$Type>::from_key($this.$field.as_deref()) {
            $spec.$($place).+ = value;
        }
    };
    (@write $at:tt $entries:ident $Type:ty, $key:literal, []) => {};
    (@write ($at:expr) $entries:ident $Type:ty, $key:literal, [$($place:ident).+]) => {
        if let Some(text) = $crate::key_bindings::FieldOf::<$Type>::toml(&$at) {
            $entries.put($key, text);
        }
    };
}
pub(crate) use bind;

/// The part of [`choice!`] that binds an enumeration: one kind per variant.
macro_rules! bind_kinds {
    ($Name:ident $tag:literal [] $kinds:tt) => {};
    ($Name:ident $tag:literal [$Spec:ident] [$($value:literal => $Variant:ident($Table:ty),)+]) => {
        impl $Name {
            /// Returns the variant, with defaults for unset keys; `None` if a field is missing.
            pub fn spec(&self) -> Option<$Spec> {
                match self {
                    $(Self::$Variant(table) => table.spec(),)+
                }
            }

            /// Writes a variant under the keys of its kind; returns no entries if there is no such kind.
            pub fn write(spec: &$Spec) -> $crate::toml_writer::Entries {
                $(
                    let mut entries = $crate::toml_writer::Entries::default();
                    entries.put($tag, $crate::toml_writer::toml_string($value));
                    if <$Table>::write(spec, &mut entries) {
                        return entries;
                    }
                )+
                $crate::toml_writer::Entries::default()
            }
        }
    };
}
pub(crate) use bind_kinds;

/// Declares a tagged union of tables: `"kind" => Variant(Table)`. It may be `for` an enumeration of a specification,
/// with one table per variant.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        $Name:ident $title:literal by $tag:literal $(for $Spec:ident)? {
            $($value:literal => $Variant:ident($Table:ty),)+
        }
    ) => {
        $crate::table_declarations::bind_kinds!($Name $tag [$($Spec)?] [$($value => $Variant($Table),)+]);

        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub enum $Name {
            $(
                #[doc = concat!("`", $tag, " = \"", $value, "\"`.")]
                $Variant(Box<$Table>),
            )+
        }

        impl $Name {
            /// The values of the tag key.
            pub const KINDS: &'static [&'static str] = &[$($value),+];

            /// Decodes a table of the kind `kind`; returns `None` also for an unknown kind.
            pub fn decode_kind(
                kind: &str,
                table: &$crate::parsed_tree::Table,
                span: $crate::source_text::Span,
                report: &mut $crate::diagnostic::Report,
            ) -> Option<Self> {
                match kind {
                    $($value => $crate::table_declarations::decode_fields(table, span, &[$tag], report)
                        .map(|decoded| Self::$Variant(Box::new(decoded))),)+
                    _ => None,
                }
            }
        }

        impl $crate::table_declarations::Decode for $Name {
            fn expected() -> String {
                concat!("a table with `", $tag, "` (", $title, ")").to_owned()
            }

            fn decode(
                value: &$crate::parsed_tree::Value,
                report: &mut $crate::diagnostic::Report,
            ) -> Option<Self> {
                let table = $crate::table_declarations::as_table::<Self>(value, report)?;
                let kind = $crate::table_declarations::decode_tag(table, value.span, $title, $tag, Self::KINDS, report)?;
                Self::decode_kind(kind, table, value.span, report)
            }

            fn schema(definitions: &mut $crate::schema_definitions::Definitions) -> serde_json::Value {
                definitions.define_tagged_union($title, concat!($($about, "\n"),+), $tag, &[$(
                    ($value, $crate::table_declarations::variant_schema::<$Table>),
                )+])
            }
        }
    };
}
pub(crate) use choice;

impl Definitions {
    /// Returns the schema of a table.
    pub fn table<T: Fields>(&mut self) -> serde_json::Value {
        self.define_recursive(T::NAME, |definitions| object_schema::<T>(None, definitions))
    }
}

/// Returns the schema of one kind of a choice.
pub fn variant_schema<T: Fields>(definitions: &mut Definitions, tag: &str, value: &str) -> serde_json::Value {
    object_schema::<T>(Some((tag, value)), definitions)
}

fn object_schema<T: Fields>(tag: Option<(&str, &str)>, definitions: &mut Definitions) -> serde_json::Value {
    let table = TableDoc {
        name: T::NAME.to_owned(),
        about: T::ABOUT.to_owned(),
        tag: tag.map(|(tag, value)| (tag.to_owned(), value.to_owned())),
        fields: T::fields().to_vec(),
    };
    table_schema(table, definitions)
}

/// Decodes the tag key of a table.
pub fn decode_tag<'v>(
    table: &'v Table,
    span: Span,
    name: &str,
    tag: &str,
    kinds: &[&str],
    report: &mut Report,
) -> Option<&'v str> {
    let Some(value) = table.get(tag) else {
        let meant = |name: &str| super::diagnostic::nearest_name(name, [tag]).is_some();
        if let Some((key, _)) = table.entries.iter().find(|(key, _)| meant(&key.name)) {
            let message = format!("{name} has no key `{}`", key.name);
            report.error("scenario.unknown-key", key.span, message).names(&key.name, [tag]);
            return None;
        }
        report
            .error("scenario.missing", span, format!("{name} needs `{tag}`"))
            .suggest("", kinds.iter().copied());
        return None;
    };
    let ValueKind::String(kind) = &value.kind else {
        let message = format!("expected a name, found {}", value.kind.name());
        report.error("scenario.type", value.span, message).suggest("", kinds.iter().copied());
        return None;
    };
    if !kinds.contains(&kind.as_str()) {
        let message = format!("there is no {name} `{kind}`");
        report.error("scenario.unknown-name", value.span, message).names(kind, kinds.iter().copied());
        return None;
    }
    Some(kind)
}

/// Returns the only element of a list with at most one.
pub const fn first_of_list(list: &[&'static str]) -> Option<&'static str> {
    if list.is_empty() { None } else { Some(list[0]) }
}

/// Returns true for an empty list.
pub const fn is_empty(list: &[&'static str]) -> bool {
    list.is_empty()
}
