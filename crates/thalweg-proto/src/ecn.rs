//! Explicit congestion notification: the two ECN bits of the IP header.

/// The codepoint of a packet's ECN field (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a queue signals congestion by dropping the packet.
    #[default]
    NotEct = 0b00,
    /// ECN-capable; the sender has a scalable response to CE (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable; the sender treats CE as a loss (RFC 3168).
    Ect0 = 0b10,
    /// Congestion experienced: set by a queue on the path.
    Ce = 0b11,
}

impl Ecn {
    /// Returns the codepoint of the lower two bits.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the two bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns true if a queue may set CE in place of dropping the packet: all but Not-ECT.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Returns the codepoint for a retransmission of data first sent with this one. ECT(0) becomes Not-ECT (RFC 3168,
    /// section 6.1.5). ECT(1) stays: retransmissions use the same queue as other packets (RFC 8311, section 4.3).
    #[inline]
    pub const fn for_retransmission(self) -> Self {
        match self {
            Self::Ect1 => Self::Ect1,
            _ => Self::NotEct,
        }
    }

    /// Returns true if a queue on the path has set CE.
    #[inline]
    pub const fn is_ce(self) -> bool {
        matches!(self, Self::Ce)
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    /// RFC 3168, section 5, figure 1, and RFC 9331, section 4.1: the bits of each codepoint.
    #[test]
    fn codepoints_have_the_bits_of_the_standards() {
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(all.map(Ecn::bits), [0, 1, 2, 3]);
        assert_eq!(all.map(|ecn| Ecn::from_bits(0xfc | ecn.bits())), all);
        assert_eq!(all.map(Ecn::is_capable), [false, true, true, true]);
        assert_eq!(all.map(Ecn::is_ce), [false, false, false, true]);
    }

    /// RFC 3168, section 6.1.5, and RFC 8311, section 4.3.
    #[test]
    fn only_ect1_is_kept_for_retransmissions() {
        assert_eq!(Ecn::Ect1.for_retransmission(), Ecn::Ect1);
        assert_eq!([Ecn::NotEct, Ecn::Ect0, Ecn::Ce].map(Ecn::for_retransmission), [Ecn::NotEct; 3]);
    }
}
