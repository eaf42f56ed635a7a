//! One demand of a traffic matrix: source, sink and rate.

use super::source_text::Span;

/// Maximum rate of a demand, in bit/s.
pub const MAX_BITS: f64 = 1e15;

/// A demand, in bit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Source and sink.
    pub ends: [String; 2],
    /// The mean rate in bit/s.
    pub bits: f64,
    /// The position in the file.
    pub span: Span,
}
