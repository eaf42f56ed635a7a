//! Errors of namespace and device setup, with remedies.

use rustix::io::Errno;
use std::fmt;

/// A setup step that this host refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// The step.
    pub what: String,
    /// The system's reason.
    pub why: Errno,
    /// Setting that may be missing.
    pub help: Option<String>,
}

impl HostError {
    pub(crate) fn new(what: impl Into<String>, why: Errno) -> Self {
        Self { what: what.into(), why, help: None }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for HostError {}
