//! The type of a queue discipline's description in the catalogue.

use crate::explicit_values::{KeyBoundConfig, Values};
use crate::option_keys::{ConfigError, Environment, Keys};
use core::fmt;
use thalweg_queue::{DisciplineConfig, DisciplineSpec, Limit};

/// A queue discipline: its name, its keys, and its constructor.
///
/// Descriptions are constants, one for each discipline. Another crate can add its own to a
/// [`Registry`](crate::Registry).
pub struct DisciplineDescription {
    /// The name in scenario files and on command lines.
    pub name: &'static str,
    /// A description, with its source, in sentences.
    pub about: &'static str,
    /// Its keys, except those common to all queues: capacity and router feedback.
    pub keys: Keys,
    /// The text for the key `capacity`.
    pub capacity: &'static str,
    /// Check of the constraints between values.
    pub check: fn(&Values) -> Result<(), ConfigError>,
    make: fn(&Values, Limit) -> DisciplineSpec,
    write: fn(&DisciplineSpec, &mut Values) -> bool,
}

impl fmt::Debug for DisciplineDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisciplineDescription({})", self.name)
    }
}

impl DisciplineDescription {
    /// Describes the discipline with the configuration `C`, without constraints between values.
    pub const fn new<C: DisciplineConfig + KeyBoundConfig>(about: &'static str, keys: Keys) -> Self {
        Self {
            name: C::NAME,
            about,
            keys,
            capacity: "Capacity of the queue, without the packet in service.",
            check: |_| Ok(()),
            make: |values, limit| DisciplineSpec::new(limit, C::from_values(values)),
            write: |spec, values| spec.config::<C>().map(|config| config.write_to(values)).is_some(),
        }
    }

    /// Sets the check of the constraints between values.
    #[must_use]
    pub const fn with_check(self, check: fn(&Values) -> Result<(), ConfigError>) -> Self {
        Self { check, ..self }
    }

    /// Replaces the text for the key `capacity`.
    #[must_use]
    pub const fn with_capacity_help(self, capacity: &'static str) -> Self {
        Self { capacity, ..self }
    }

    /// Builds the discipline with `values`.
    ///
    /// # Errors
    ///
    /// A conflict between two values, or a value that the engine rejects.
    pub fn make(&self, values: &Values, limit: Limit) -> Result<DisciplineSpec, ConfigError> {
        (self.check)(values)?;
        Ok((self.make)(values, limit))
    }

    /// Returns the discipline with all defaults.
    pub fn default_spec(&self, limit: Limit) -> DisciplineSpec {
        (self.make)(&Values::new(self.keys, Environment::Simulated), limit)
    }

    /// Returns the values of `spec`, if it is this discipline.
    pub fn values_of(&self, spec: &DisciplineSpec) -> Option<Values> {
        let mut values = Values::new(self.keys, Environment::Simulated);
        (self.write)(spec, &mut values).then_some(values)
    }
}
