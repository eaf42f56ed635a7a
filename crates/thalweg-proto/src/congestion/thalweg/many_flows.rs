//! Detection of many flows: a queue stays long whatever this flow does, and losses are then congestion.
//!
//! A loss probe tests whether losses depend on this flow's rate. With many flows on a path they do not depend on any
//! single flow: each flow would attribute all losses to the path, and none would yield. The queue distinguishes the two
//! cases: random losses leave it at the flows' target.

use super::Thalweg;
use super::loss::Tally;
use super::steady_state::LONG;

/// Round trips with a long queue before it counts as persistent.
const MIN_QUEUE_ROUNDS: u32 = 3;
/// Minimum queue that indicates many flows, as a share of the shortest round-trip time. A single flow on a long path
/// causes shorter queues, and needs more than these round trips to drain them. Many flows are slow flows; twice their
/// queue target is longer.
const SHORTEST: f64 = 0.0625;
/// Share of the longest queue of these round trips below which the queue counts as draining.
const SHRINKS: f64 = 0.8;
/// Maximum packet-loss rate attributed to the path beside such a queue, as BBR's bound for congestion losses.
pub(super) const MAX_PATH_LOSS: f64 = 0.02;
/// Reduction after excess losses, as a share of the data arriving in a round trip; as CUBIC's (RFC 9438, section 4.6).
const CUT: f64 = 0.3;
/// Number of packets after which the loss counts are halved.
const MEMORY: f64 = 200.0;
/// Minimum window, in segments: by default, and among many flows, as CUBIC's (RFC 5681, section 3.1).
const MIN_WINDOWS: (f64, f64) = (4.0, 2.0);

/// State of a persistent queue, and recent losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ManyFlows {
    rounds: u32,
    longest: f64,
    recent: Tally,
}

impl ManyFlows {
    /// Records a round trip with this queueing delay in seconds; `is_long` marks a delay above the target.
    fn watch(&mut self, queueing: f64, is_long: bool) {
        if !is_long || queueing < SHRINKS * self.longest {
            self.rounds = u32::from(is_long);
            self.longest = if is_long { queueing } else { 0.0 };
        } else {
            self.rounds += 1;
            self.longest = self.longest.max(queueing);
        }
    }

    /// Returns true while the queue persists.
    pub fn is_there(self) -> bool {
        self.rounds >= MIN_QUEUE_ROUNDS
    }

    /// Returns the minimum window in segments. Four allow loss detection by later arrivals on a lossy path; many flows
    /// on a path may together exceed its capacity with that.
    fn least(self) -> f64 {
        if self.is_there() || self.recent.is_hopeless() { MIN_WINDOWS.1 } else { MIN_WINDOWS.0 }
    }

    /// Returns the maximum loss rate attributed to the path, in addition to its known loss rate.
    pub fn max_path_loss(self) -> f64 {
        if self.is_there() { MAX_PATH_LOSS } else { f64::INFINITY }
    }
}

impl Thalweg {
    /// Returns the minimum window in bytes.
    pub(super) fn least(&self) -> f64 {
        self.router_feedback.least(self.many_flows.least()) * self.segment
    }

    /// Evaluates a round trip with these losses: tests for a persistent queue against the long-term minimum delay, as
    /// the minimum of a few seconds soon includes a full queue.
    pub(super) fn detect_many_flows(&mut self, tally: Tally) {
        self.many_flows.recent.add_to_memory(tally, MEMORY);
        let queueing = self.delay.standing();
        let is_long = queueing > (LONG * self.target(self.rate())).max(SHORTEST * self.min_rtt);
        self.many_flows.watch(queueing, is_long);
    }

    /// Responds to excess losses beside a persistent queue, in a round trip that took `useful` bytes without it.
    pub(super) fn yield_to_losses(&mut self, useful: f64) {
        self.delay.remember();
        self.window = (self.window.min(useful) * (1.0 - CUT)).max(self.least());
        self.pace.slow_down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draining_queue_does_not_indicate_many_flows() {
        let mut many_flows = ManyFlows::default();
        let mut watch = |queueing: f64, is_long| {
            many_flows.watch(queueing, is_long);
            many_flows.is_there()
        };
        // A drain as after slow start.
        assert!(![12.0, 9.0, 7.0, 5.5, 4.0].map(|queueing| watch(queueing, true)).contains(&true));
        assert!(!watch(1.0, false));
        assert_eq!([10.0, 11.0, 10.0, 9.5].map(|queueing| watch(queueing, true)), [false, false, true, true]);
        assert!(!watch(9.0, false), "it is short enough");
        assert!(!watch(9.0, true));
    }

    #[test]
    fn windows_of_two_segments_require_many_flows() {
        let mut many_flows = ManyFlows::default();
        let mut lose = |lost| {
            many_flows.recent.add_to_memory(Tally { sent: 100.0, lost, events: lost }, MEMORY);
            many_flows.least()
        };
        assert_eq!([20.0, 40.0, 10.0].map(&mut lose), [4.0, 2.0, 4.0]);
        (0..3).for_each(|_| many_flows.watch(10.0, true));
        assert_eq!(many_flows.least(), 2.0);
    }

    #[test]
    fn small_loss_samples_are_ignored_with_many_flows() {
        let mut many_flows = ManyFlows::default();
        assert_eq!(many_flows.max_path_loss(), f64::INFINITY);
        (0..3).for_each(|_| many_flows.watch(10.0, true));
        assert_eq!(many_flows.max_path_loss(), MAX_PATH_LOSS);
    }
}
