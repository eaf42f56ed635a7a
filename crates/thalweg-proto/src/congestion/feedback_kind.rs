//! Kinds of feedback messages from routers to sources.

/// Kind of router feedback, named after its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedbackKind {
    /// Warnings to all sources at once, and sequence numbers of dropped packets to their sources (Liang 1991).
    Seif,
    /// Message to the source of a packet that arrived at a half-full queue (RFC 792; Nagle 1984).
    SourceQuench,
    /// Mark on packets that met a queue, echoed by the receiver (Ramakrishnan and Jain 1988).
    DecBit,
    /// Rate for each flow, at intervals (Robinson, Friedman and Steenstrup 1990).
    Rations,
}

impl FeedbackKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Seif, Self::SourceQuench, Self::DecBit, Self::Rations];

    /// Returns the name used in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seif => "seif",
            Self::SourceQuench => "source-quench",
            Self::DecBit => "dec-bit",
            Self::Rations => "bbn",
        }
    }
}
