//! Slow-start decisions of an exit detector.

/// Response to an acknowledgement in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Window growth, in segments.
    Grow(f64),
    /// Slow start ends; the window is reduced by the overshoot, in segments.
    Leave { overshoot: f64 },
}
