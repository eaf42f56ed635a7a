//! Specifications that make no sense.

use crate::spec::LOWEST_PRIORITY;
use core::fmt;
use thalweg_proto::transport::Breach;
use thalweg_proto::units::Time;

/// The reasons for which a simulation cannot be built, or not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A link or group names a node that does not exist.
    NoNode {
        /// The link or group.
        of: String,
    },
    /// There is no path between the ends of a group, or they are the same node.
    NoRoute {
        /// The group.
        group: String,
        /// Its source.
        from: String,
        /// Its sink.
        to: String,
    },
    /// A quantity that must not be zero is.
    Zero {
        /// The link or group.
        of: String,
        /// The quantity.
        what: &'static str,
    },
    /// A priority is not one from 1 to [`LOWEST_PRIORITY`].
    Priority {
        /// The group.
        of: String,
        /// The priority.
        found: u8,
    },
    /// The application at the sink cannot read at a pace of its own.
    Reading {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The receivers of a group cannot misbehave as they are said to.
    Misbehaviour {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// The hosts of a group make no sense.
    Host {
        /// The group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// A link's impairments or capacity are not valid.
    Link {
        /// The link or group.
        of: String,
        /// The reason.
        why: String,
    },
    /// Routes that something of the specification cannot go together with.
    Routing {
        /// The link, node or group.
        of: String,
        /// The reason.
        why: &'static str,
    },
    /// More of something than can be numbered.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most there may be.
        most: u64,
    },
    /// A part that is not of this project broke its contract while the simulation ran.
    Breach {
        /// The group of flows.
        of: String,
        /// The simulated time.
        at: Time,
        /// The part at fault and what it did.
        breach: Breach,
    },
    /// A discipline that is not of this project broke its contract while the simulation ran.
    Discipline {
        /// The link, and the nodes that it leads from and to.
        of: String,
        /// The simulated time.
        at: Time,
        /// The discipline at fault and what it did.
        breach: thalweg_queue::Breach,
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
            Self::Breach { of, at, breach } => {
                write!(f, "`{of}` at {at}: {breach}")
            }
            Self::Discipline { of, at, breach } => write!(f, "`{of}` at {at}: {breach}"),
            Self::TooMany { what, most } => write!(f, "more than {most} {what}"),
        }
    }
}

impl core::error::Error for SpecError {}
