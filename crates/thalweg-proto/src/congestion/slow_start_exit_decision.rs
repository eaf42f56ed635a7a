//! The response of a slow-start exit detector to an acknowledgement: growth or exit.

/// Response to an acknowledgement in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Window growth, in segments.
    Grow(f64),
    /// Slow start ends; the window is reduced by the overshoot, in segments.
    Leave {
        /// Segments of the window beyond what the path holds; may be zero.
        overshoot: f64,
    },
}
