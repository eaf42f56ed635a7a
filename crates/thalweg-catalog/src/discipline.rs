//! Descriptions of queue disciplines.

use crate::describe::{Fault, Keys, Place};
use crate::values::{Bound, Values};
use core::fmt;
use thalweg_queue::{Configure, DisciplineSpec, Limit};

/// A queue discipline: its name, its keys, and how it is made of their values.
///
/// Descriptions are constants, one for each discipline; a crate of one's own may have more of them and add them to a
/// [`Registry`](crate::Registry).
pub struct DisciplineDescription {
    /// The name in scenario files and on command lines.
    pub name: &'static str,
    /// A description, with its source, in sentences.
    pub about: &'static str,
    /// Its keys, but for those of all queues: how much is held, and what routers tell.
    pub keys: Keys,
    /// The text for the key `capacity`.
    pub capacity: &'static str,
    /// A check of that which must hold between values.
    pub check: fn(&Values) -> Result<(), Fault>,
    make: fn(&Values, Limit) -> DisciplineSpec,
    write: fn(&DisciplineSpec, &mut Values) -> bool,
}

impl fmt::Debug for DisciplineDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisciplineDescription({})", self.name)
    }
}

impl DisciplineDescription {
    /// The description of the discipline with the configuration `C`, of which no two values depend on each other.
    pub const fn new<C: Configure + Bound>(about: &'static str, keys: Keys) -> Self {
        Self {
            name: C::NAME,
            about,
            keys,
            capacity: "How much it holds, without the packet in service.",
            check: |_| Ok(()),
            make: |values, limit| DisciplineSpec::new(limit, C::of(values)),
            write: |spec, values| spec.config::<C>().map(|config| config.write(values)).is_some(),
        }
    }

    /// The same with a check of what values have to do with each other.
    #[must_use]
    pub const fn checked(self, check: fn(&Values) -> Result<(), Fault>) -> Self {
        Self { check, ..self }
    }

    /// The same with another sentence on `capacity`.
    #[must_use]
    pub const fn capacity(self, capacity: &'static str) -> Self {
        Self { capacity, ..self }
    }

    /// The discipline with `values`.
    ///
    /// # Errors
    ///
    /// What is wrong between two values, or with one that its engine refuses.
    pub fn make(&self, values: &Values, limit: Limit) -> Result<DisciplineSpec, Fault> {
        (self.check)(values)?;
        Ok((self.make)(values, limit))
    }

    /// The discipline as it is without anything said.
    pub fn usual(&self, limit: Limit) -> DisciplineSpec {
        (self.make)(&Values::new(self.keys, Place::Simulated), limit)
    }

    /// The values of `spec`, if it is this discipline.
    pub fn values_of(&self, spec: &DisciplineSpec) -> Option<Values> {
        let mut values = Values::new(self.keys, Place::Simulated);
        (self.write)(spec, &mut values).then_some(values)
    }
}
