//! The messages that routers can send to sources.

/// A kind of feedback from routers, by the scheme that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedbackKind {
    /// Warnings to all sources at once, and the numbers of dropped packets to their owners (Liang 1991).
    Seif,
    /// A message to the source of a packet that found the queue half full (RFC 792; Nagle 1984).
    SourceQuench,
    /// A mark on packets that found a queue, which the receiver returns (Ramakrishnan and Jain 1988).
    DecBit,
    /// A rate for each flow, at intervals (Robinson, Friedman and Steenstrup 1990).
    Rations,
}

impl FeedbackKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Seif, Self::SourceQuench, Self::DecBit, Self::Rations];

    /// The name used in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seif => "seif",
            Self::SourceQuench => "source-quench",
            Self::DecBit => "dec-bit",
            Self::Rations => "bbn",
        }
    }
}
