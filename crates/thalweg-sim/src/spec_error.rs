//! Errors in specifications.

use crate::simulation_spec::LOWEST_PRIORITY;
use core::fmt;
use thalweg_proto::transport::ContractViolation;
use thalweg_proto::units::Time;

/// Reason why a simulation cannot be built or run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A link or group names a node that does not exist.
    NoNode {
        /// The link or group.
        of: String,
    },
    /// No path connects the endpoints of a group, or they are the same node.
    NoRoute {
        /// The group.
        group: String,
        /// Its source.
        from: String,
        /// Its sink.
        to: String,
    },
    /// A quantity that must be positive is zero.
    Zero {
        /// The link or group.
        of: String,
        /// The quantity.
        what: &'static str,
    },
    /// A priority is outside 1 to [`LOWEST_PRIORITY`].
    Priority {
        /// The group.
        of: String,
        /// The priority.
        found: u8,
    },
    /// The application at the sink cannot read at a configured rate.
    Reading {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The receivers of a group cannot misbehave as configured.
    Misbehaviour {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The hosts of a group are invalid.
    Host {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The impairments or capacity of a link are invalid.
    Link {
        /// The link or group.
        of: String,
        /// The reason.
        why: String,
    },
    /// The routing conflicts with another part of the specification.
    Routing {
        /// The link, node or group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The number of items exceeds its maximum.
    TooMany {
        /// The kind of item.
        what: &'static str,
        /// The maximum.
        max: u64,
    },
    /// A third-party transport violated its contract while the simulation ran.
    ContractViolation {
        /// The group of flows.
        of: String,
        /// The simulated time.
        at: Time,
        /// The component at fault and its violation.
        violation: ContractViolation,
    },
    /// A third-party queueing discipline violated its contract while the simulation ran.
    Discipline {
        /// The link and its two nodes.
        of: String,
        /// The simulated time.
        at: Time,
        /// The discipline at fault and its violation.
        violation: thalweg_queue::ContractViolation,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode { of } => write!(f, "`{of}` has an end at a node that does not exist"),
            Self::NoRoute { group, from, to } if from == to => {
                write!(f, "`{group}` has its source and sink at the same node `{from}`")
            }
            Self::NoRoute { group, from, to } => {
                write!(f, "`{group}` has no route from `{from}` to `{to}`")
            }
            Self::Zero { of, what } => write!(f, "`{of}`: the {what} must not be zero"),
            Self::Priority { of, found } => {
                write!(f, "`{of}` has a priority of {found}, but they go from 1 to {LOWEST_PRIORITY}")
            }
            Self::Reading { of, why }
            | Self::Misbehaviour { of, why }
            | Self::Host { of, why }
            | Self::Routing { of, why } => {
                write!(f, "`{of}`: {why}")
            }
            Self::Link { of, why } => write!(f, "`{of}`: {why}"),
            Self::ContractViolation { of, at, violation } => {
                write!(f, "`{of}` at {at}: {violation}")
            }
            Self::Discipline { of, at, violation } => write!(f, "`{of}` at {at}: {violation}"),
            Self::TooMany { what, max } => write!(f, "more than {max} {what}"),
        }
    }
}

impl core::error::Error for SpecError {}
