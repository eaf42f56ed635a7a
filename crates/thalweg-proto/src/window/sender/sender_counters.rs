//! Counters of a sender, over its lifetime.

/// Numbers of transmissions and events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    sent: u64,
    retransmissions: u64,
    timeouts: u32,
    recoveries: u32,
    invalid_acks: u32,
}

impl Counters {
    /// Returns the number of transmitted segments.
    #[inline(always)]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of retransmitted segments.
    #[inline(always)]
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Returns the number of timeouts.
    pub const fn timeouts(&self) -> u64 {
        self.timeouts as u64
    }

    /// Returns the number of recovery episodes started by acknowledgements.
    pub const fn recoveries(&self) -> u64 {
        self.recoveries as u64
    }

    /// Returns the number of dropped invalid acknowledgements.
    pub const fn invalid_acks(&self) -> u64 {
        self.invalid_acks as u64
    }

    /// Counts a transmission.
    #[inline(always)]
    pub const fn add_sent(&mut self) {
        self.sent += 1;
    }

    /// Counts retransmissions.
    #[inline(always)]
    pub const fn add_retransmissions(&mut self, segments: u64) {
        self.retransmissions += segments;
    }

    /// Counts a timeout.
    pub const fn add_timeout(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// Counts a recovery episode.
    pub const fn add_recovery(&mut self) {
        self.recoveries = self.recoveries.saturating_add(1);
    }

    /// Counts an invalid acknowledgement.
    #[cold]
    pub const fn add_invalid_ack(&mut self) {
        self.invalid_acks = self.invalid_acks.saturating_add(1);
    }
}
