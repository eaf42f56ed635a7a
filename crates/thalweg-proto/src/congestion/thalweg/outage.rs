//! Outage: acknowledgements stop under a large window. The packets then in flight arrive with the delay of the outage,
//! and that delay does not reflect the current queue.

use crate::congestion::AckSample;
use crate::units::Time;

/// State of the outage detection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Outage {
    #[default]
    None,
    Lasts,
    /// Acknowledgements of packets sent before have resumed at this time.
    Ended(Time),
}

impl Outage {
    /// Handles a time-out of a window that has `grown` or not; flows that share a full queue time out, too, with small
    /// windows. Returns true if this time-out, or the one before, is an outage.
    pub fn time_out(&mut self, grown: bool) -> bool {
        let is_there = grown || !matches!(self, Self::None);
        if is_there {
            *self = Self::Lasts;
        }
        is_there
    }

    /// Handles an acknowledgement; returns true if its delay is that of the path. Delays belong to an outage until the
    /// arrival of a packet sent after it and only once: for retransmitted packets the acknowledged copy is unknown.
    pub fn is_over(&mut self, sample: &AckSample) -> bool {
        let now = sample.path.now;
        let ended = match *self {
            Self::None => return true,
            Self::Lasts => now,
            Self::Ended(at) => at,
        };
        // RFC 6298, section 3: a retransmitted packet has no sample. A longer time than since the outage's
        // end includes the outage.
        let is_over = sample.rtt.is_some_and(|rtt| rtt <= now.since(ended));
        *self = if is_over { Self::None } else { Self::Ended(ended) };
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::thalweg::tests;
    use crate::units::Duration;

    fn acked(now: u64, rtt: Option<u64>) -> AckSample {
        tests::acked(Duration::from_millis(now), rtt.map(Duration::from_millis))
    }

    /// Packets sent before the end of an outage, and retransmitted packets, do not measure the path; the first packet
    /// sent once after it ends the outage.
    #[test]
    fn an_outage_ends_with_the_first_packet_after_it() {
        let mut outage = Outage::default();
        assert!(!outage.time_out(false), "one of many");
        assert!(outage.is_over(&acked(1, Some(900))));
        assert!(outage.time_out(true));
        assert!(outage.time_out(false), "the window is small by then");
        for (now, rtt) in [(5000, Some(4900)), (5001, None), (5050, Some(4900)), (5099, Some(100))] {
            assert!(!outage.is_over(&acked(now, rtt)), "{now}");
        }
        assert!(outage.is_over(&acked(5100, Some(100))));
        assert!(outage.is_over(&acked(5101, Some(4900))), "it is a path like any other");
    }
}
