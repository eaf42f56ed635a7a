//! Counts of duplicate acknowledgements, and what they allow.

/// Number of acknowledgements of new data after a retransmission at which the fine-grained timeout is checked (Brakmo and
/// Peterson 1995, section 3.1).
const FINE_GRAINED_CHECKS: u8 = 2;

/// Duplicate acknowledgements since the last loss or acknowledgement of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Dupacks {
    count: u32,
    /// New segments sent since the first duplicate acknowledgement: limited transmit (RFC 3042).
    sent_by_limited: u32,
    /// Dupack credit: segments that have left the network by duplicate acknowledgements, where the peer does not name
    /// them (the window inflation of RFC 5681, as a reduction of the pipe estimate). With fast retransmit alone the
    /// credit allows retransmissions, not new segments.
    credit: u32,
    /// Further acknowledgements of new data at which the fine-grained timeout is checked.
    fine_grained_checks: u8,
}

impl Dupacks {
    /// Returns the number of duplicates.
    #[inline(always)]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the dupack credit, in segments.
    #[inline(always)]
    pub const fn credit(&self) -> u32 {
        self.credit
    }

    /// Returns the number of new segments that limited transmit has sent, of those that duplicates allow.
    pub const fn sent_by_limited_transmit(&self) -> u32 {
        if self.sent_by_limited < self.count { self.sent_by_limited } else { self.count }
    }

    /// Returns true if acknowledgements of new data check the fine-grained timeout.
    #[inline(always)]
    pub const fn is_fine_grained_check_active(&self) -> bool {
        self.fine_grained_checks > 0
    }

    /// Counts a duplicate.
    #[inline(always)]
    pub const fn add(&mut self, duplicates: u32) {
        self.count += duplicates;
    }

    /// Adds segments to the credit.
    #[inline(always)]
    pub const fn add_credit(&mut self, segments: u32) {
        self.credit += segments;
    }

    /// Takes segments from the credit.
    #[inline(always)]
    pub const fn take_credit(&mut self, segments: u32) {
        self.credit = self.credit.saturating_sub(segments);
    }

    /// Limits the credit.
    #[inline(always)]
    pub const fn bound_credit(&mut self, segments: u32) {
        if self.credit > segments {
            self.credit = segments;
        }
    }

    /// Counts a new segment sent after a duplicate and before a loss.
    #[inline(always)]
    pub const fn note_sent(&mut self) {
        self.sent_by_limited += (self.count > 0) as u32;
    }

    /// Starts the checks of the fine-grained timeout at the next acknowledgements of new data, after a retransmission.
    #[inline(always)]
    pub const fn note_retransmission(&mut self) {
        self.fine_grained_checks = FINE_GRAINED_CHECKS;
    }

    /// Ends one of these checks, at an acknowledgement of new data.
    #[inline(always)]
    pub const fn end_fine_grained_check(&mut self) {
        self.fine_grained_checks = self.fine_grained_checks.saturating_sub(1);
    }

    /// Forgets the duplicates, limited transmit and the credit.
    #[inline(always)]
    pub const fn reset(&mut self) {
        (self.count, self.sent_by_limited, self.credit) = (0, 0, 0);
    }

    /// Forgets the duplicates; limited transmit and credit remain.
    #[inline(always)]
    pub const fn reset_count(&mut self) {
        self.count = 0;
    }

    /// Forgets the segments sent by limited transmit.
    #[inline(always)]
    pub const fn reset_limited_transmit(&mut self) {
        self.sent_by_limited = 0;
    }
}
