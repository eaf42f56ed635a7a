//! The steps of a slow start that is watched over.

/// The answer to an acknowledgement in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The window grows by so many segments.
    Grow(f64),
    /// Slow start ends with the window that there is, less so many segments.
    Leave { overshoot: f64 },
}
