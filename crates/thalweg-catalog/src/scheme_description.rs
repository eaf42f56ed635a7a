//! The type of a transport scheme's description in the catalogue.

use crate::endpoint_configs::EndpointConfigs;
use crate::explicit_values::{KeyBoundConfig, Values};
use crate::external_family::{ExternalFamily, OpenFamily};
use crate::option_keys::{ConfigError, Environment, Keys};
use crate::option_values::Value;
use crate::path_hints::PathHints;
use core::fmt;
use thalweg_proto::units::Bytes;

/// Properties of a scheme that do not depend on its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeTraits {
    /// Reliable delivery: no loss and no duplicates.
    pub is_reliable: bool,
    /// Name of its transport, which several schemes may share: that of its loss repair and its PDUs.
    pub transport: &'static str,
    /// Fixed rate: both ends agree on a rate, and the scheme does not probe for one.
    pub has_fixed_rate: bool,
    /// Simulated configuration that also depends on the path.
    pub config_depends_on_path: bool,
    /// Overhead of a live packet beside its payload, in bytes.
    pub overhead: u32,
    /// Paths on which the scheme collapses.
    pub collapse: Collapse,
    /// Loss-based: every loss is congestion, and reduces the window (RFC 5681, section 3.1).
    pub is_loss_based: bool,
    /// Less than best effort: beside other traffic it carries little on purpose (RFC 6817, section 1).
    pub is_less_than_best_effort: bool,
}

/// The paths on which more than half of what a scheme sends may be lost or repeated (`hunt --goal collapse`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collapse {
    /// None of those in the tests.
    Never,
    /// Those whose rate falls at once to a fraction, for a while.
    RateFall,
    /// Those with short queues.
    ShortQueue,
    /// All that carry less than the scheme is set to send, as losses do not slow it down.
    Unresponsive,
}

impl Collapse {
    /// Returns a sentence for the description of a scheme, or an empty string.
    const fn sentence(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::RateFall => {
                " After a sudden drop of the path's rate, more than half of its packets may be retransmissions or lost."
            }
            Self::ShortQueue => " With short queues, most of its packets may be lost.",
            Self::Unresponsive => {
                " Losses do not reduce its rate: on a slower path, most of its packets may be lost."
            }
        }
    }
}

impl SchemeTraits {
    /// The window transport: it numbers the bytes of a stream and adapts its packet size to the path MTU.
    pub const WINDOW: &'static str = "window";

    /// Properties of a reliable scheme that finds its own rate and assumes only that the path may lose packets.
    pub const RELIABLE: Self = Self {
        is_reliable: true,
        transport: "",
        has_fixed_rate: false,
        config_depends_on_path: false,
        overhead: 0,
        collapse: Collapse::Never,
        is_loss_based: false,
        is_less_than_best_effort: false,
    };

    /// Returns true for a scheme of the window transport.
    pub fn is_window(&self) -> bool {
        self.transport == Self::WINDOW
    }
}

/// Builds both endpoint configurations from a scheme's values. In simulations the path holds the known hints of the
/// flow's path; it is empty before any are known.
pub type MakeEndpointConfigs =
    &'static (dyn Fn(&Values, &PathHints) -> Result<EndpointConfigs, ConfigError> + Send + Sync);
/// Writes the values of both endpoint configurations; returns false if they belong to another scheme.
pub type WriteValues = &'static (dyn Fn(&EndpointConfigs, &mut Values) -> bool + Send + Sync);

/// Finds conflicts between values that are each in range.
pub type CheckValues = &'static (dyn Fn(&Values) -> Vec<ConfigError> + Send + Sync);

/// A transport scheme: its name, its keys, and the constructor of its endpoint configurations.
pub struct SchemeDescription {
    /// The name in scenario files and on command lines.
    pub name: &'static str,
    /// The scheme under which references list the keys: this one, or another with the same keys.
    pub keys_listed_under: &'static str,
    /// A description, with its source, in sentences.
    pub about: &'static str,
    /// Its keys.
    pub keys: Keys,
    /// Properties that do not depend on the values.
    pub traits: SchemeTraits,
    /// Check for conflicts between values that are each in range, by the rules of the family.
    pub family_check: CheckValues,
    /// Check for conflicts by the rules of the scheme itself.
    pub scheme_check: fn(&Values) -> Vec<ConfigError>,
    /// Check for values that are probably unintended on a simulated path.
    pub warnings: fn(&Values, &PathHints) -> Vec<ConfigError>,
    /// Setter of the values that follow from a real path and on which both ends must agree.
    pub apply_path_hints: fn(&mut Values, &PathHints),
    /// Constructor of both endpoint configurations.
    pub make_endpoint_configs: MakeEndpointConfigs,
    /// Writer of the values of both endpoint configurations.
    pub write_values: WriteValues,
}

impl fmt::Debug for SchemeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemeDescription({})", self.name)
    }
}

impl SchemeDescription {
    /// Returns the description, with the paths on which the scheme collapses.
    pub fn text(&self) -> String {
        format!("{}{}", self.about, self.traits.collapse.sentence())
    }

    /// Sets the paths on which the scheme collapses.
    #[must_use]
    pub const fn with_collapse(self, collapse: Collapse) -> Self {
        Self { traits: SchemeTraits { collapse, ..self.traits }, ..self }
    }

    /// Declares the scheme as loss-based.
    #[must_use]
    pub const fn with_loss_based(self) -> Self {
        Self { traits: SchemeTraits { is_loss_based: true, ..self.traits }, ..self }
    }

    /// Declares the scheme as less than best effort.
    #[must_use]
    pub const fn with_less_than_best_effort(self) -> Self {
        Self { traits: SchemeTraits { is_less_than_best_effort: true, ..self.traits }, ..self }
    }

    /// Returns the title of its key table in references.
    pub fn title(&self) -> String {
        format!("{} scheme", self.keys_listed_under)
    }

    /// Describes the scheme of a family of another crate, whose configuration is bound to the keys. The scheme takes
    /// the name of the family. Beside the keys, both live ends must agree on the packet size.
    pub const fn for_family<F>(about: &'static str, keys: Keys, traits: SchemeTraits) -> Self
    where
        F: OpenFamily + KeyBoundConfig,
    {
        Self {
            name: F::NAME,
            keys_listed_under: F::NAME,
            about,
            keys,
            traits: SchemeTraits { transport: F::NAME, overhead: F::OVERHEAD, ..traits },
            family_check: &|_| Vec::new(),
            scheme_check: |_| Vec::new(),
            warnings: |_, _| Vec::new(),
            apply_path_hints: suggest_external_segment::<F>,
            make_endpoint_configs: &|values, path_hints| {
                let mut values = values.clone();
                if values.environment() == Environment::Live {
                    suggest_external_segment::<F>(&mut values, path_hints);
                }
                Ok(ExternalFamily::new(F::from_values(&values)).into())
            },
            write_values: &|endpoint_configs, values| {
                let EndpointConfigs::External(family) = endpoint_configs else { return false };
                let Some(config) = family.config::<F>() else { return false };
                config.write_to(values);
                true
            },
        }
    }

    /// Adds a check of the scheme's own, run before that of its family.
    #[must_use]
    pub const fn with_scheme_check(self, check: fn(&Values) -> Vec<ConfigError>) -> Self {
        Self { scheme_check: check, ..self }
    }

    /// Returns the conflicts between values that are each in range.
    pub fn conflicts(&self, values: &Values) -> Vec<ConfigError> {
        let mut conflicts = (self.scheme_check)(values);
        conflicts.extend((self.family_check)(values));
        conflicts
    }

    /// Returns the scheme's values with no key set.
    pub const fn empty_values(&self, environment: Environment) -> Values {
        Values::new(self.keys, environment)
    }

    /// Converts live values into complete simulated values: the explicit ones, and the live defaults of the rest. Omits
    /// values that depend on an unknown path.
    pub fn to_simulated_values(&self, live_values: &Values) -> Values {
        let path_hints = PathHints { max_datagram: 65_535, memory: u64::MAX, ..PathHints::default() };
        let mut effective_values = self.empty_values(Environment::Simulated);
        let has_effective_values = (self.make_endpoint_configs)(live_values, &path_hints)
            .is_ok_and(|ends| (self.write_values)(&ends, &mut effective_values));
        let mut values = self.empty_values(Environment::Simulated);
        for key in self.keys.flat().filter(|key| key.is_simulated() && key.is_live()) {
            let live_value = live_values.get(key.name);
            let value = if has_effective_values {
                live_value.and(effective_values.explicit_value(key.name))
            } else {
                live_value
            };
            if let Some(value) = value {
                values.set_value(key.name, value);
            }
        }
        values
    }
}

/// Suggests the packet size of a family of another crate, on which both ends must agree.
fn suggest_external_segment<F: OpenFamily>(values: &mut Values, path_hints: &PathHints) {
    if values.keys().find("segment").is_some() {
        suggest_live_segment(values, path_hints, F::OVERHEAD);
    }
}

/// Suggests the payload of live packets, in whole words where it is large enough, because SSCOP pads to words.
pub(crate) fn suggest_live_segment(values: &mut Values, path_hints: &PathHints, overhead: u32) {
    let segment = path_hints.max_payload(overhead);
    let segment = if segment > 4 { segment & !3 } else { segment };
    values.suggest("segment", Value::Size(Bytes::new(u64::from(segment))));
}
