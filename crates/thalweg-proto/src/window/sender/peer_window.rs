//! The part of the stream that the peer has acknowledged and accepts.

/// Edges of the peer's receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PeerWindow {
    /// First byte not cumulatively acknowledged.
    unacknowledged: u64,
    /// First byte beyond the window.
    limit: u64,
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

    /// Advances to `cumulative`; returns true if it acknowledges new data.
    #[inline(always)]
    pub const fn advance(&mut self, cumulative: u64) -> bool {
        let advanced = cumulative > self.unacknowledged;
        if advanced {
            self.unacknowledged = cumulative;
        }
        advanced
    }

    /// Returns true if the peer has trimmed, at its window's edge, a segment of which an acknowledgement of `cumulative`
    /// with a window of `bytes` covers only part. It will not receive the rest without a retransmission.
    ///
    /// To be called before [`PeerWindow::update`]. Any other acknowledgement within a segment, such as those of ACK
    /// division (Savage et al. 1999), carries no information about the rest of it.
    #[cold]
    pub const fn has_cut_segment_at_edge(&self, cumulative: u64, bytes: u64) -> bool {
        if self.limit == u64::MAX {
            // The first window: the peer accepted at least as much from byte 0 on.
            return cumulative >= bytes;
        }
        // The peer has accepted everything up to its window's edge, or withdraws that edge.
        cumulative >= self.limit || cumulative.saturating_add(bytes) < self.limit
    }

    /// Applies the window of `bytes` of an acknowledgement of everything below `cumulative`; returns true if it
    /// increases the limit. The window of an older acknowledgement is ignored. To be called after
    /// [`PeerWindow::advance`].
    #[inline(always)]
    pub const fn update(&mut self, cumulative: u64, bytes: u64) -> bool {
        let limit = cumulative.saturating_add(bytes);
        let opened = limit > self.limit;
        if cumulative >= self.unacknowledged {
            self.limit = limit;
        }
        opened
    }
}
