//! Transmissions that the congestion window does not limit, such as probes.

/// Pending transmissions regardless of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Exemption {
    /// The first lost segment is sent regardless of the congestion window (RFC 5681, section 3.2; RFC 6675, section 5,
    /// step 4.3).
    retransmission: bool,
    /// A window probe is sent regardless of both windows (RFC 9293, section 3.8.6.1).
    probe: bool,
}

impl Exemption {
    /// Exempts the first lost segment.
    #[inline(always)]
    pub const fn exempt_retransmission(&mut self) {
        self.retransmission = true;
    }

    /// Takes the exemption of the first lost segment, when it is sent.
    #[inline(always)]
    pub const fn take_retransmission(&mut self) -> bool {
        core::mem::replace(&mut self.retransmission, false)
    }

    /// Requests a window probe.
    pub const fn request_probe(&mut self) {
        self.probe = true;
    }

    /// Ends the request, when new data is sent.
    #[inline(always)]
    pub const fn end_probe(&mut self) {
        self.probe = false;
    }

    /// Returns true if a window probe is due.
    #[inline(always)]
    pub const fn is_probing(&self) -> bool {
        self.probe
    }

    /// Returns true if the next segment, lost or new, is exempt.
    #[inline(always)]
    pub const fn covers(&self, is_lost: bool) -> bool {
        self.retransmission && is_lost || self.probe
    }
}
