//! The retransmission timer of a window sender (RFC 6298).

use crate::units::Time;

/// Retransmission timer of a sender, which also times window probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// Time of expiry; [`Time::MAX`] while stopped.
    expiry: Time,
    /// Expiries since the last acknowledgement.
    unanswered_expiries: u32,
    last_received: Time,
}

impl RetransmissionTimer {
    /// Creates a stopped timer.
    pub const fn new() -> Self {
        Self { expiry: Time::MAX, unanswered_expiries: 0, last_received: Time::ZERO }
    }

    /// Returns the time of expiry; [`Time::MAX`] while stopped.
    #[inline(always)]
    pub const fn at(&self) -> Time {
        self.expiry
    }

    /// Returns true unless the timer is stopped.
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.expiry < Time::MAX
    }

    /// Returns the number of expiries since the last acknowledgement.
    pub const fn unanswered_expiries(&self) -> u32 {
        self.unanswered_expiries
    }

    /// Returns the time of the last acknowledgement.
    pub const fn last_received(&self) -> Time {
        self.last_received
    }

    /// Sets the time of expiry.
    #[inline(always)]
    pub const fn set(&mut self, at: Time) {
        self.expiry = at;
    }

    /// Stops the timer.
    #[inline(always)]
    pub const fn stop(&mut self) {
        self.expiry = Time::MAX;
    }

    /// Records an acknowledgement.
    #[inline(always)]
    pub const fn note_received(&mut self, now: Time) {
        (self.unanswered_expiries, self.last_received) = (0, now);
    }

    /// Counts an expiry.
    pub const fn record_expiry(&mut self) {
        self.unanswered_expiries = self.unanswered_expiries.saturating_add(1);
    }
}
