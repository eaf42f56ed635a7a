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

/// Returns the error of a netlink reply by its code, a negative error number; a protocol error for any other.
pub(super) fn of_reply(code: i32) -> Errno {
    let number = code.checked_neg().filter(|number| (1..MAX_ERROR).contains(number));
    number.map_or(Errno::PROTO, Errno::from_raw_os_error)
}

/// Error numbers of the system are below.
const MAX_ERROR: i32 = 4096;

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for HostError {}
