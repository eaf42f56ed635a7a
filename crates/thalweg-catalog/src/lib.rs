//! The list of transport schemes and of queue disciplines.
//!
//! Each is described once: its name, its keys with their kinds, ranges and usual values, what must hold between keys, and
//! how it is made from values. Scenario files, the text of the command line, the JSON Schema, the references, written-out
//! scenarios and what peers exchange are all read from these descriptions.
//!
//! - [`Key`], [`Keys`], [`Kind`], [`Range`]: what a description is made of.
//! - [`Values`]: what was said for keys, and what holds for those of which nothing was said.
//! - [`SchemeDescription`]: a transport scheme, and [`Ends`] the configurations that are made of its values.
//! - [`Family`]: a protocol family, and [`AnyEngine`] and [`AnyPdu`] the engines and PDUs of whichever it is; [`OwnFamily`] one of
//!   another crate.
//! - [`DisciplineDescription`]: a queue discipline. [`Registry`]: all there are, also those of other crates.

mod defaults;
pub mod describe;
mod discipline;
pub mod disciplines;
mod ends;
mod engine;
mod families;
pub mod family;
pub mod nearest;
mod own;
pub mod path;
mod pdu;
mod reference;
mod registry;
mod scheme;
pub mod schemes;
pub mod text;
mod value;
mod values;

pub use defaults::{Compared, DefaultDifference, default_differences, defaults_reference};
pub use describe::{Fault, Key, Keys, Live, Place, Preset, Table};
pub use discipline::DisciplineDescription;
pub use disciplines::DISCIPLINES;
pub use ends::Ends;
pub use engine::{AnyEngine, AnyOutput, Visit};
pub use family::{Family, Properties};
pub use own::{Carries, Open, OwnEnd, OwnFamily, OwnPdu};
pub use path::PathHints;
pub use pdu::{AnyPdu, Packed};
pub use reference::live_reference;
pub use registry::Registry;
pub use scheme::{MakeEnds, SchemeDescription, SchemeTraits, WriteEnds};
pub use schemes::SCHEMES;
pub use text::TextError;
pub use value::{Kind, Range, Value};
pub use values::{Bound, Field, Values};
