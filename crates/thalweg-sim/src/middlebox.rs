//! Middleboxes on links, for the packets of real programs.

use thalweg_proto::units::Duration;

/// The middleboxes of a link. They act on real packets only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Middlebox {
    /// NAT: the link's first endpoint and everything behind it are inside; outgoing packets get the address of that
    /// endpoint.
    pub nat: Option<NatKind>,
    /// Interval at which the NAT rebinds UDP ports.
    pub nat_rebind: Option<Duration>,
    /// Time for which UDP passes between two ports, from their first packet on.
    pub udp_allowed_for: Option<Duration>,
}

/// NAT types (RFC 3489, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatKind {
    /// An external port maps to one internal endpoint and accepts packets from anyone.
    FullCone,
    /// Like full cone, but accepts only addresses that the internal endpoint has sent to.
    Restricted,
    /// Like full cone, but accepts only addresses and ports that the internal endpoint has sent to.
    PortRestricted,
    /// An external port maps to one internal endpoint and one destination; only the latter may answer.
    Symmetric,
}
