//! Descriptions of the transport schemes and queue disciplines.
//!
//! Each scheme and discipline has one description: its name, its keys with their kinds, ranges and defaults, the
//! constraints between keys, and its constructor. Scenario files, command-line text, the JSON Schema, the references,
//! expanded scenarios and the parameters exchanged by peers all derive from these descriptions.
//!
//! - [`Key`], [`Keys`], [`Kind`], [`Range`]: the elements of a description.
//! - [`Values`]: explicit values of keys, and the defaults of all others.
//! - [`SchemeDescription`]: a transport scheme; [`EndpointConfigs`]: the endpoint configurations built from its values.
//! - [`Family`]: a protocol family; [`AnyEngine`] and [`AnyPdu`]: engines and PDUs of any family; [`ExternalFamily`]: a
//!   family of another crate.
//! - [`DisciplineDescription`]: a queue discipline. [`Registry`]: all schemes and disciplines, also of other crates.

mod any_engine;
mod any_pdu;
mod default_differences;
mod default_reasons;
mod discipline_description;
pub mod disciplines;
mod endpoint_configs;
mod explicit_values;
mod external_family;
mod family_list;
mod live_option_reference;
pub mod option_keys;
pub mod option_syntax;
mod option_values;
pub mod path_hints;
pub mod protocol_family;
mod registry;
mod scheme_description;
pub mod schemes;
pub mod spelling_suggestions;

pub use any_engine::{AnyEngine, AnyOutput, Visit};
pub use any_pdu::{AnyPdu, PackedBytes};
pub use default_differences::{
    ComparedScheme, DefaultDifference, default_differences, environment_differences, repair_differences,
};
pub use default_reasons::defaults_reference;
pub use discipline_description::DisciplineDescription;
pub use disciplines::DISCIPLINES;
pub use endpoint_configs::EndpointConfigs;
pub use explicit_values::{Field, KeyBoundConfig, Values};
pub use external_family::{ExternalEnd, ExternalFamily, ExternalPayload, ExternalPdu, OpenFamily};
pub use live_option_reference::live_reference;
pub use option_keys::{ConfigError, Environment, FixedValue, Key, Keys, Kind, LiveDifference, Preset, Table};
pub use option_syntax::TextError;
pub use option_values::{Range, Value};
pub use path_hints::PathHints;
pub use protocol_family::{Family, Properties};
pub use registry::Registry;
pub use scheme_description::{Collapse, MakeEndpointConfigs, SchemeDescription, SchemeTraits, WriteValues};
pub use schemes::{SCHEMES, built_in_traits};
