//! A fault of a scenario, or a remark on it, with its place: plain data, drawn by [`render`](Diagnostic::render).

mod render;
mod report;

pub(crate) use report::Report;
pub use thalweg_catalog::nearest::{is_known_elsewhere, nearest};

use super::source::Source;
use std::ops::Range;
use std::sync::Arc;

/// The weight of a diagnostic, from a note to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The scenario runs, but probably not as meant.
    Warning,
    /// The scenario cannot run.
    Error,
}

impl Severity {
    /// The word that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that is wrong with a scenario, or worth knowing about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its weight: note, warning or error.
    pub severity: Severity,
    /// A stable name such as `scenario.unit`, for scripts and searches.
    pub code: &'static str,
    /// The file or command-line argument that it is about.
    pub source: Arc<Source>,
    /// The bytes of the source that it is about; empty at 0 where it is about the whole.
    pub span: Range<usize>,
    /// The fault or the remark, in one line.
    pub message: String,
    /// A few words for the place itself.
    pub label: Option<String>,
    /// A proposal for a remedy, where there is one.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without label and help.
    pub fn new(
        severity: Severity,
        code: &'static str,
        source: Arc<Source>,
        span: Range<usize>,
        message: String,
    ) -> Self {
        Self { severity, code, source, span, message, label: None, help: None }
    }

    /// The name of the file or argument.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// The line of the first byte, from 1.
    pub fn line(&self) -> usize {
        self.source.position(self.span.start).line
    }

    /// The column of the first byte, from 1, in characters.
    pub fn column(&self) -> usize {
        self.source.position(self.span.start).column
    }
}
