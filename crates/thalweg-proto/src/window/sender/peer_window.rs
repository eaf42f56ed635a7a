//! The part of the stream that the peer has acknowledged and accepts.

/// Edges of the peer's receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PeerWindow {
    /// First byte not cumulatively acknowledged.
    unacknowledged: u64,
    /// First byte beyond the window.
    limit: u64,
}

/// Changes of the edges by an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowChange {
    /// New data is cumulatively acknowledged.
    pub advanced: bool,
    /// The limit increases.
    pub opened: bool,
}

impl PeerWindow {
    /// Creates a window at byte 0, which counts as open until the peer reports one.
    pub const fn new() -> Self {
        Self { unacknowledged: 0, limit: u64::MAX }
    }

    /// Returns the first byte not cumulatively acknowledged.
    #[inline(always)]
    pub const fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// Returns the number of bytes that the peer accepts from byte `next` on.
    #[inline(always)]
    pub const fn room(&self, next: u64) -> u64 {
        self.limit.saturating_sub(next)
    }

    /// Returns true if the window excludes the first unacknowledged byte.
    #[inline(always)]
    pub const fn is_closed(&self) -> bool {
        self.unacknowledged >= self.limit
    }

    /// Applies an acknowledgement of everything below `cumulative` and its window of `bytes`. The window of an older
    /// acknowledgement is ignored.
    #[inline(always)]
    pub const fn on_ack(&mut self, cumulative: u64, bytes: u64) -> WindowChange {
        let limit = cumulative.saturating_add(bytes);
        let change = WindowChange { advanced: cumulative > self.unacknowledged, opened: limit > self.limit };
        if cumulative >= self.unacknowledged {
            self.limit = limit;
        }
        if change.advanced {
            self.unacknowledged = cumulative;
        }
        change
    }
}
