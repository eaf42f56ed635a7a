//! Descriptions of transport schemes.

use crate::describe::{Fault, Keys, Place};
use crate::ends::Ends;
use crate::own::{Open, OwnFamily};
use crate::path::PathHints;
use crate::value::Value;
use crate::values::{Bound, Values};
use core::fmt;
use thalweg_proto::units::Bytes;

/// Properties of a scheme that others rely on, whatever its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeTraits {
    /// Nothing is lost, and nothing comes twice.
    pub is_reliable: bool,
    /// It numbers the bytes of a stream, and its packets follow the largest that the path takes.
    pub is_window: bool,
    /// It keeps to a rate that both ends agree on, and does not look for one.
    pub keeps_rate: bool,
    /// Its simulated configuration depends on the path too.
    pub follows_path: bool,
    /// Bytes that a live packet has beside its payload.
    pub overhead: u32,
}

impl SchemeTraits {
    /// Those of a reliable scheme that finds its own rate, and assumes no more of a path than that it may lose.
    pub const RELIABLE: Self =
        Self { is_reliable: true, is_window: false, keeps_rate: false, follows_path: false, overhead: 0 };
}

/// Makes both ends of a scheme of its values. In simulations the path is what is known of the flow's, or nothing before that is known.
pub type MakeEnds = &'static (dyn Fn(&Values, &PathHints) -> Result<Ends, Fault> + Send + Sync);
/// Says the values of both ends; false where they are another scheme's.
pub type WriteEnds = &'static (dyn Fn(&Ends, &mut Values) -> bool + Send + Sync);

/// Finds faults between values that are each in range.
pub type CheckValues = &'static (dyn Fn(&Values) -> Vec<Fault> + Send + Sync);

/// A transport scheme: its name, its keys, and how both ends are made of their values.
pub struct SchemeDescription {
    /// The name in scenario files and on command lines.
    pub name: &'static str,
    /// The name of the scheme under which references have its keys: its own, or that of another with the same keys.
    pub keys_of: &'static str,
    /// A description, with its source, in sentences.
    pub about: &'static str,
    /// Its keys.
    pub keys: Keys,
    /// Properties that others rely on.
    pub traits: SchemeTraits,
    /// Finds faults between values that are each in range, by the rules of its family.
    pub check: CheckValues,
    /// The same by rules of its own.
    pub own_check: fn(&Values) -> Vec<Fault>,
    /// Finds values that are probably not meant on a simulated path.
    pub doubts: fn(&Values, &PathHints) -> Vec<Fault>,
    /// Says what follows from a real path, and on which both ends must agree.
    pub settle: fn(&mut Values, &PathHints),
    /// Makes both ends.
    pub ends: MakeEnds,
    /// Says the values of both ends.
    pub write: WriteEnds,
}

impl fmt::Debug for SchemeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemeDescription({})", self.name)
    }
}

impl SchemeDescription {
    /// The title of the table of its keys in references.
    pub fn title(&self) -> String {
        format!("{} scheme", self.keys_of)
    }

    /// The scheme of a family of another crate: its configuration is bound to the keys. Its name is that of the family. What both
    /// live ends must agree on, beside the keys, is the size of packets.
    pub const fn of_family<F>(about: &'static str, keys: Keys, traits: SchemeTraits) -> Self
    where
        F: Open + Bound,
    {
        Self {
            name: F::NAME,
            keys_of: F::NAME,
            about,
            keys,
            traits: SchemeTraits { overhead: F::OVERHEAD, ..traits },
            check: &|_| Vec::new(),
            own_check: |_| Vec::new(),
            doubts: |_, _| Vec::new(),
            settle: settle_own::<F>,
            ends: &|values, path| {
                let mut values = values.clone();
                if values.place() == Place::Live {
                    settle_own::<F>(&mut values, path);
                }
                Ok(OwnFamily::new(F::of(&values)).into())
            },
            write: &|ends, values| {
                let Ends::Own(family) = ends else { return false };
                let Some(config) = family.config::<F>() else { return false };
                config.write(values);
                true
            },
        }
    }

    /// The same with a check of its own before that of its family.
    #[must_use]
    pub const fn checked(self, own: fn(&Values) -> Vec<Fault>) -> Self {
        Self { own_check: own, ..self }
    }

    /// The faults between values that are each in range.
    pub fn faults(&self, values: &Values) -> Vec<Fault> {
        let mut faults = (self.own_check)(values);
        faults.extend((self.check)(values));
        faults
    }

    /// The scheme with nothing said.
    pub const fn values(&self, place: Place) -> Values {
        Values::new(self.keys, place)
    }

    /// Live values as a simulation can be told them, in full: those said, and what real ends make of the rest. What
    /// they take from a path that nobody tells of is left out.
    pub fn simulated(&self, live: &Values) -> Values {
        let path = PathHints { maximum: 65_535, memory: u64::MAX, ..PathHints::default() };
        let mut made = self.values(Place::Simulated);
        let is_made = (self.ends)(live, &path).is_ok_and(|ends| (self.write)(&ends, &mut made));
        let mut values = self.values(Place::Simulated);
        for key in self.keys.flat().filter(|key| key.is_simulated() && key.is_live()) {
            let known = live.get(key.name);
            let value = if is_made { known.and(made.said_for(key.name)) } else { known };
            if let Some(value) = value {
                values.say(key.name, value);
            }
        }
        values
    }
}

/// Says the size of the packets of a family of another crate, which both ends must agree on.
fn settle_own<F: Open>(values: &mut Values, path: &PathHints) {
    if values.keys().find("segment").is_some() {
        settle_segment(values, path, F::OVERHEAD);
    }
}

/// Says the payload of live packets, in whole words where there is room, as SSCOP pads to them.
pub(crate) fn settle_segment(values: &mut Values, path: &PathHints, overhead: u32) {
    let segment = path.segment(overhead);
    let segment = if segment > 4 { segment & !3 } else { segment };
    values.suggest("segment", Value::Size(Bytes::new(u64::from(segment))));
}
