//! Coding of priorities in the DSCP of packets.

use super::LOWEST_PRIORITY;

/// Coding of priorities in the six bits of the DSCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// The class selector, the upper three bits (RFC 2474, section 4.2.2): class 0 is the lowest priority, class 5, which
    /// includes "expedited forwarding", and above the highest.
    #[default]
    Class,
    /// A bit for each priority, the leftmost for the highest (Yang and Fu 2001, section 2). Of several bits the highest
    /// priority counts. Packets without a bit have the lowest.
    SixBits,
}

impl Marking {
    /// Returns the priority of a packet with this DSCP, from 1 to [`LOWEST_PRIORITY`].
    pub const fn priority(self, dscp: u8) -> u8 {
        let dscp = dscp & ((1 << LOWEST_PRIORITY) - 1);
        match self {
            Self::Class => {
                let class = dscp >> 3;
                LOWEST_PRIORITY - if class < LOWEST_PRIORITY { class } else { LOWEST_PRIORITY - 1 }
            }
            Self::SixBits if dscp == 0 => LOWEST_PRIORITY,
            Self::SixBits => dscp.leading_zeros() as u8 - (u8::BITS as u8 - LOWEST_PRIORITY) + 1,
        }
    }

    /// Returns a DSCP that means a priority, clamped to the valid range.
    pub fn dscp(self, priority: u8) -> u8 {
        let below = LOWEST_PRIORITY - priority.clamp(1, LOWEST_PRIORITY);
        match self {
            Self::Class => below << 3,
            Self::SixBits => 1 << below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_priority_has_a_dscp() {
        for marking in [Marking::Class, Marking::SixBits] {
            for priority in 1..=LOWEST_PRIORITY {
                assert_eq!(marking.priority(marking.dscp(priority)), priority, "{marking:?}");
            }
        }
        assert_eq!([1, 2, 3, 4, 5, 6].map(|priority| Marking::SixBits.dscp(priority)), [32, 16, 8, 4, 2, 1]);
    }

    #[test]
    fn every_dscp_has_a_priority() {
        // Expedited forwarding, the highest class, and unmarked packets.
        assert_eq!([46, 63, 0].map(|dscp| Marking::Class.priority(dscp)), [1, 1, 6]);
        // Of several bits the leftmost counts.
        assert_eq!([63, 3, 0, 5].map(|dscp| Marking::SixBits.priority(dscp)), [1, 5, 6, 4]);
    }
}
