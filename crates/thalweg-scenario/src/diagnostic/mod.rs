//! An error, warning or note about a scenario, with its position: plain data, drawn by [`render`](Diagnostic::render).

mod diagnostic_collector;
mod terminal_rendering;

pub(crate) use diagnostic_collector::Report;
pub use terminal_rendering::RenderedDiagnostic;
pub use thalweg_catalog::spelling_suggestions::{equivalent_elsewhere, is_known_elsewhere, nearest_name};

use super::source_text::Source;
use std::ops::Range;
use std::sync::Arc;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Additional information.
    Note,
    /// The scenario runs, but is probably not as intended.
    Warning,
    /// The scenario cannot run.
    Error,
}

impl Severity {
    /// Returns the printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// An error, warning or note about a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity: note, warning or error.
    pub severity: Severity,
    /// A stable name such as `scenario.unit`, for scripts and searches.
    pub code: &'static str,
    /// The file or command-line argument concerned.
    pub source: Arc<Source>,
    /// The byte range in the source; empty at 0 for the whole source.
    pub span: Range<usize>,
    /// The message, in one line.
    pub message: String,
    /// A short label for the position.
    pub label: Option<String>,
    /// A suggested fix, if any.
    pub help: Option<String>,
    /// True if there is nothing of a given name, such as a key or a scheme.
    pub is_unknown_name: bool,
}

impl Diagnostic {
    /// Creates a diagnostic without label and help.
    pub fn new(
        severity: Severity,
        code: &'static str,
        source: Arc<Source>,
        span: Range<usize>,
        message: String,
    ) -> Self {
        let (label, help) = (None, None);
        Self { severity, code, source, span, message, label, help, is_unknown_name: false }
    }

    /// Returns the name of the file or argument.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// Returns the line of the first byte, from 1.
    pub fn line(&self) -> usize {
        self.source.position(self.span.start).line
    }

    /// Returns the column of the first byte, from 1, in characters.
    pub fn column(&self) -> usize {
        self.source.position(self.span.start).column
    }
}
