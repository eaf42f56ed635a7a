//! An outage: acknowledgements end beneath a large window. What was in the network then comes as late as the outage was long, which says
//! nothing of a queue that packets meet now.

use crate::congestion::AckSample;
use crate::units::Time;

/// The knowledge of an outage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Outage {
    #[default]
    None,
    Lasts,
    /// Acknowledgements come again since then, of packets that left before.
    Ended(Time),
}

impl Outage {
    /// Time ran out, of a window that has `grown` or not: many that share a full queue run out of time, too, and have small ones. True if
    /// that, or the time-out before, is an outage.
    pub fn time_out(&mut self, grown: bool) -> bool {
        let is_there = grown || !matches!(self, Self::None);
        if is_there {
            *self = Self::Lasts;
        }
        is_there
    }

    /// An acknowledgement came: true if its delay is that of the path. It is one of an outage until a packet comes that left after it and
    /// was sent once: which one of several came is not known.
    pub fn is_over(&mut self, sample: &AckSample) -> bool {
        let now = sample.path.now;
        let ended = match *self {
            Self::None => return true,
            Self::Lasts => now,
            Self::Ended(at) => at,
        };
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

    /// Packets that left before the end of an outage, and those that left twice, say nothing of the path; the first that left once behind
    /// it ends that.
    #[test]
    fn an_outage_is_over_with_the_first_packet_behind_it() {
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
