//! The retransmission timer of a window sender (RFC 6298).

use crate::units::Time;

/// Retransmission timer of a sender, which also times window probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// Time of expiry; [`Time::MAX`] while stopped.
    expiry: Time,
    /// Expiries since the last acknowledgement.
    silent: u32,
    last_received: Time,
}

impl RetransmissionTimer {
    /// Creates a stopped timer.
    pub const fn new() -> Self {
        Self { expiry: Time::MAX, silent: 0, last_received: Time::ZERO }
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
    pub const fn silent(&self) -> u32 {
        self.silent
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
        (self.silent, self.last_received) = (0, now);
    }

    /// Counts an expiry.
    pub const fn note_expired(&mut self) {
        self.silent = self.silent.saturating_add(1);
    }
}
