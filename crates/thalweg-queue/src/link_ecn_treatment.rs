//! Treatment of ECN codepoints by a link: cleared, changed, or packets dropped.

use thalweg_proto::Ecn;

/// Treatment of packets' ECN codepoints by a link, including its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EcnTreatment {
    /// Codepoints and marks of the queue are preserved, as by a tunnel in the normal mode of RFC 6040.
    #[default]
    Kept,
    /// Bleaching: all packets become Not-ECT before the queue, which then drops instead of marking.
    Bleached,
    /// ECT(1) becomes ECT(0) before the queue.
    Ect1ToEct0,
    /// Marks of the queue are lost: the link is in a tunnel whose egress uses only the inner header (RFC 2003).
    MarksLost,
    /// The link is in a tunnel in the compatibility mode of RFC 6040, section 4.3. Outer headers are Not-ECT, so the
    /// queue drops instead of marking, and inner headers are unchanged.
    TunnelCompatible,
}

impl EcnTreatment {
    /// All treatments.
    pub const ALL: [Self; 5] =
        [Self::Kept, Self::Bleached, Self::Ect1ToEct0, Self::MarksLost, Self::TunnelCompatible];

    /// Returns the name in scenario files and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Bleached => "bleached",
            Self::Ect1ToEct0 => "ect1-to-ect0",
            Self::MarksLost => "marks-lost",
            Self::TunnelCompatible => "tunnel-compatible",
        }
    }

    /// Returns the codepoint seen by the queue.
    #[inline]
    pub const fn codepoint_at_queue(self, ecn: Ecn) -> Ecn {
        match self {
            Self::Kept | Self::MarksLost => ecn,
            Self::Bleached | Self::TunnelCompatible => Ecn::NotEct,
            Self::Ect1ToEct0 => Self::ect1_to_ect0(ecn),
        }
    }

    /// Returns the codepoint on arrival; `marked` tells that the queue marked the packet.
    #[inline]
    pub const fn codepoint_on_arrival(self, ecn: Ecn, marked: bool) -> Ecn {
        match self {
            Self::Bleached => Ecn::NotEct,
            Self::MarksLost | Self::TunnelCompatible => ecn,
            Self::Kept | Self::Ect1ToEct0 if marked => Ecn::Ce,
            Self::Kept => ecn,
            Self::Ect1ToEct0 => Self::ect1_to_ect0(ecn),
        }
    }

    const fn ect1_to_ect0(ecn: Ecn) -> Ecn {
        match ecn {
            Ecn::Ect1 => Ecn::Ect0,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests each treatment against its table: the codepoint at the queue, and on arrival without and with a mark.
    use super::*;
    use Ecn::{Ce, Ect0, Ect1, NotEct};

    fn rows(treatment: EcnTreatment) -> [(Ecn, Ecn, Ecn); 4] {
        [NotEct, Ect0, Ect1, Ce].map(|ecn| {
            (
                treatment.codepoint_at_queue(ecn),
                treatment.codepoint_on_arrival(ecn, false),
                treatment.codepoint_on_arrival(ecn, treatment.codepoint_at_queue(ecn).is_capable()),
            )
        })
    }

    /// RFC 6040, figures 3 and 4, normal mode: the outer header is a copy, and a CE in it arrives where the inner one is ECN-capable.
    #[test]
    fn kept_is_a_tunnel_in_normal_mode() {
        assert_eq!(
            rows(EcnTreatment::Kept),
            [(NotEct, NotEct, NotEct), (Ect0, Ect0, Ce), (Ect1, Ect1, Ce), (Ce, Ce, Ce)]
        );
    }

    /// RFC 6040, figures 3 and 4, compatibility mode: the outer header is Not-ECT, and then the inner one arrives.
    #[test]
    fn a_compatible_tunnel_hides_the_codepoint_from_the_queue() {
        assert_eq!(
            rows(EcnTreatment::TunnelCompatible),
            [(NotEct, NotEct, NotEct), (NotEct, Ect0, Ect0), (NotEct, Ect1, Ect1), (NotEct, Ce, Ce)]
        );
    }

    /// RFC 6040, appendix A: what a simple tunnel of RFC 2003 does to a mark that was set within it.
    #[test]
    fn a_simple_tunnel_loses_marks() {
        assert_eq!(
            rows(EcnTreatment::MarksLost),
            [(NotEct, NotEct, NotEct), (Ect0, Ect0, Ect0), (Ect1, Ect1, Ect1), (Ce, Ce, Ce)]
        );
    }

    #[test]
    fn bleaching_clears_the_codepoint() {
        assert_eq!(rows(EcnTreatment::Bleached), [(NotEct, NotEct, NotEct); 4]);
    }

    #[test]
    fn ect1_may_become_ect0() {
        assert_eq!(
            rows(EcnTreatment::Ect1ToEct0),
            [(NotEct, NotEct, NotEct), (Ect0, Ect0, Ce), (Ect0, Ect0, Ce), (Ce, Ce, Ce)]
        );
    }
}
