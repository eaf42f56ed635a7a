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

mod defaults;
mod discipline;
pub mod disciplines;
mod endpoint_configs;
mod engine;
mod external;
mod families;
pub mod family;
pub mod key;
pub mod option_syntax;
pub mod path_hints;
mod pdu;
mod reference;
mod registry;
mod scheme;
pub mod schemes;
pub mod spelling_suggestions;
mod value;
mod values;

pub use defaults::{
    Compared, DefaultDifference, default_differences, defaults_reference, environment_differences,
};
pub use discipline::DisciplineDescription;
pub use disciplines::DISCIPLINES;
pub use endpoint_configs::EndpointConfigs;
pub use engine::{AnyEngine, AnyOutput, Visit};
pub use external::{Carries, ExternalEnd, ExternalFamily, ExternalPdu, Open};
pub use family::{Family, Properties};
pub use key::{ConfigError, Environment, Key, Keys, Kind, Live, Preset, Table};
pub use option_syntax::TextError;
pub use path_hints::PathHints;
pub use pdu::{AnyPdu, Packed};
pub use reference::live_reference;
pub use registry::Registry;
pub use scheme::{Collapse, MakeEnds, SchemeDescription, SchemeTraits, WriteEnds};
pub use schemes::SCHEMES;
pub use value::{Range, Value};
pub use values::{Bound, Field, Values};
