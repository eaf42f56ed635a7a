//! Boxes in the middle of links, for the packets of real programs.

use thalweg_proto::units::Duration;

/// The boxes in the middle of a link. They act on real packets alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Middlebox {
    /// The link's first end, and all that is behind it, is inside: what leaves has the address of that end.
    pub nat: Option<NatKind>,
    /// Ports of UDP are others after this time, again and again.
    pub nat_rebind: Option<Duration>,
    /// UDP between two ports passes for so long, from its first packet on.
    pub udp_for: Option<Duration>,
}

/// The kinds of address translators (RFC 3489, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatKind {
    /// A port outside is that of one inside, and open to everybody.
    FullCone,
    /// The same, open to addresses that it has sent to.
    Restricted,
    /// The same, open to addresses and ports that it has sent to.
    PortRestricted,
    /// A port outside is of one inside and of one target, which alone may answer.
    Symmetric,
}
