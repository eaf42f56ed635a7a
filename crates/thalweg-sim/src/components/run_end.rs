//! The end of a run, regular or by an error.

use crate::spec_error::SpecError;

/// State of a run that may have ended.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    is_over: bool,
    /// First error, which ended the run early.
    error: Option<Box<SpecError>>,
}

impl RunEnd {
    /// Returns true once no more events are handled.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends the run.
    pub const fn end(&mut self) {
        self.is_over = true;
    }

    /// Ends the run by an error, unless an earlier one did.
    pub fn fail(&mut self, error: impl FnOnce() -> SpecError) {
        self.error.get_or_insert_with(|| Box::new(error()));
        self.is_over = true;
    }

    /// Returns the error that ended the run, if any.
    pub fn error(&self) -> Option<&SpecError> {
        self.error.as_deref()
    }

    /// Takes over the end of a partition; the first error remains.
    pub fn merge(&mut self, partition: Self) {
        self.is_over = partition.is_over;
        self.error = self.error.take().or(partition.error);
    }
}
