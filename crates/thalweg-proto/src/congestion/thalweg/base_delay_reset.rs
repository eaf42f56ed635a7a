//! Base-delay reset: a queueing delay that stays constant, without extra losses, while this flow halves its window is a
//! longer path, not a queue.
//!
//! A queue of this flow's own would drain, one of competing flows would vary with their windows, and a full one would
//! lose more than the path does. A flow among many attributes their common losses to the path; its window is small.

use super::loss::Tally;
use super::many_flows::MAX_PATH_LOSS;

/// Maximum variation of the queueing delay between round trips, as a share of it.
const STILL: f64 = 0.1;
/// Round trips of constant delay required, and maximum share of the former window left by then.
const ROUNDS: u32 = 16;
const LEFT: f64 = 0.5;

/// Constant queueing delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseDelayReset {
    queueing: f64,
    /// Largest window meanwhile, in initial windows.
    window: f64,
    rounds: u32,
    tally: Tally,
}

impl BaseDelayReset {
    /// Evaluates a round trip with this queueing delay in seconds, window in initial windows, and packets, given the
    /// path's loss rate. Returns true if the delay is not that of a queue.
    pub fn has_moved(&mut self, queueing: f64, window: f64, tally: Tally, path_loss: f64) -> bool {
        if queueing <= 0.0 || (queueing - self.queueing).abs() > STILL * self.queueing {
            *self = Self { queueing, window, ..Self::default() };
            return false;
        }
        self.rounds += 1;
        self.window = self.window.max(window);
        self.tally.add(tally);
        let believed = if self.window > 1.0 { path_loss + MAX_PATH_LOSS } else { MAX_PATH_LOSS };
        let has_moved =
            self.rounds >= ROUNDS && window <= LEFT * self.window && self.tally.share() <= believed;
        if has_moved {
            *self = Self::default();
        }
        has_moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs twenty round trips with these delays and windows, the given number of lost packets per hundred, and the
    /// path's assumed loss rate.
    fn moves(queueing: impl Fn(f64) -> f64, window: impl Fn(f64) -> f64, lost: f64, path_loss: f64) -> bool {
        let mut detector = BaseDelayReset::default();
        (0..20).map(f64::from).any(|round| {
            let tally = Tally { sent: 100.0, lost, events: lost };
            detector.has_moved(queueing(round), window(round), tally, path_loss)
        })
    }

    #[test]
    fn a_delay_independent_of_the_window_resets_the_base_delay() {
        let shrinks = |round: f64| 4.0 - 0.12 * round;
        assert!(moves(|_| 0.01, shrinks, 1.0, 0.0));
        assert!(moves(|_| 0.01, shrinks, 6.0, 0.05), "so does the path");
        assert!(!moves(|_| 0.01, |round| shrinks(round) / 4.0, 6.0, 0.05), "one of many, which believes it");
        assert!(!moves(|round| 0.01 + 0.0005 * round, shrinks, 0.0, 0.0), "others make it longer");
        assert!(!moves(|_| 0.01, shrinks, 3.0, 0.0), "it is full");
        assert!(!moves(|_| 0.01, |_| 4.0, 0.0, 0.0), "nothing was tried");
        assert!(!moves(|_| 0.0, shrinks, 0.0, 0.0), "there is none");
    }
}
