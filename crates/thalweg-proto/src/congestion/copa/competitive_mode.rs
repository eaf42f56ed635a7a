//! Default and competitive mode (section 2.2).

use crate::units::{Duration, Time};

/// Inverse of the nearly-empty threshold, as a share of the round-trip range (section 2.2: a tenth).
const NEARLY_EMPTY: u64 = 10;
/// Maximum number of own packets in a nearly empty queue, and as a share of 1 / delta of default mode. A lone sender with
/// the default delta queues 0 to 5 packets; the paper's tenth of that is half a packet, which even a packet in transmission
/// exceeds.
const NEARLY_EMPTY_PACKETS: f64 = 1.0;
const NEARLY_EMPTY_SHARE: f64 = 0.5;
/// Round trips without a nearly empty queue before competitive mode starts (section 2.2).
const MAX_ROUNDS_WITH_QUEUE: u64 = 5;

/// Mode, and its delta.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompetitiveMode {
    /// 1 / delta of default mode.
    default_inverse_delta: f64,
    /// Current 1 / delta.
    inverse_delta: f64,
    enabled: bool,
    competing: bool,
    /// Time of the last nearly empty queue, or of the first observation.
    emptied: Option<Time>,
    /// A loss occurred in this round trip.
    lost: bool,
}

impl CompetitiveMode {
    pub fn new(delta: f64, enabled: bool) -> Self {
        let default_inverse_delta = 1.0 / delta.max(f64::from(f32::EPSILON));
        Self {
            default_inverse_delta,
            inverse_delta: default_inverse_delta,
            enabled,
            competing: false,
            emptied: None,
            lost: false,
        }
    }

    /// Returns 1 / delta, in packets.
    pub const fn inverse_delta(&self) -> f64 {
        self.inverse_delta
    }

    pub const fn is_competing(&self) -> bool {
        self.competing
    }

    /// Handles an acknowledgement: the current queueing delay, the range of the last four round trips, and the number of
    /// own packets queued.
    pub fn update(
        &mut self,
        now: Time,
        smoothed_rtt: Duration,
        queueing_delay: Duration,
        rtt_range: Duration,
        queued_packets: f64,
    ) {
        let emptied = self.emptied.get_or_insert(now);
        // Section 2.2: Copa flows alone empty the queue every few round trips; a buffer-filling flow prevents
        // that.
        let few = NEARLY_EMPTY_PACKETS.min(NEARLY_EMPTY_SHARE * self.default_inverse_delta);
        if queueing_delay * NEARLY_EMPTY <= rtt_range
            || queued_packets <= few && queueing_delay * 2 <= rtt_range
        {
            *emptied = now;
        }
        self.competing = self.enabled && now.since(*emptied) > smoothed_rtt * MAX_ROUNDS_WITH_QUEUE;
        if !self.competing {
            (self.inverse_delta, self.lost) = (self.default_inverse_delta, false);
        }
    }

    /// Ends a round trip: without a loss, 1 / delta grows by one packet, as NewReno's window does.
    pub fn end_round(&mut self) {
        if self.competing && !self.lost {
            self.inverse_delta += 1.0;
        }
        self.lost = false;
    }

    /// Handles the first loss of an episode: halves 1 / delta, with the default value as the minimum.
    pub fn on_loss(&mut self) {
        if self.competing {
            self.inverse_delta = (self.inverse_delta / 2.0).max(self.default_inverse_delta);
            self.lost = true;
        }
    }

    /// Undoes the spurious losses since the state `before`.
    pub fn undo(&mut self, saved: &Self) {
        if self.competing {
            self.inverse_delta = self.inverse_delta.max(saved.inverse_delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    /// Section 2.2: five round trips without a queue below a tenth of the range; returns at the first such queue.
    #[test]
    fn competes_after_five_round_trips_without_an_empty_queue() {
        let mut mode = CompetitiveMode::new(0.5, true);
        assert_eq!(mode.inverse_delta(), 2.0);
        mode.update(at(0), MS(100), MS(3), MS(30), 9.0);
        for time in (10..=500).step_by(10) {
            mode.update(at(time), MS(100), MS(4), MS(30), 9.0);
            assert!(!mode.is_competing(), "{time} ms");
        }
        mode.update(at(501), MS(100), MS(4), MS(30), 9.0);
        assert!(mode.is_competing());
        for packets in 3..=20 {
            mode.end_round();
            assert_eq!(mode.inverse_delta(), f64::from(packets));
        }
        // Multiplicative decrease, no increase in the same round trip, and a minimum of the default value.
        mode.on_loss();
        mode.end_round();
        assert_eq!(mode.inverse_delta(), 10.0);
        for _ in 0..5 {
            mode.on_loss();
        }
        assert_eq!(mode.inverse_delta(), 2.0);
        mode.end_round();
        mode.end_round();
        mode.update(at(520), MS(100), MS(3), MS(30), 9.0);
        assert!(!mode.is_competing());
        assert_eq!(mode.inverse_delta(), 2.0);
    }

    /// One own packet of a lone sender that queues up to five is a nearly empty queue: 1.2 ms of 6 ms at 10 Mbit/s. At a
    /// queue of others it is none.
    #[test]
    fn one_own_packet_is_a_nearly_empty_queue() {
        let competes = |queueing_delay, queued_packets, delta| {
            let mut mode = CompetitiveMode::new(delta, true);
            (0..=60)
                .for_each(|step| mode.update(at(step * 10), MS(100), queueing_delay, MS(6), queued_packets));
            mode.is_competing()
        };
        assert!(!competes(MS(1), 0.9, 0.5) && !competes(MS(3), 1.0, 0.5));
        assert!(competes(MS(3), 1.1, 0.5), "more packets");
        assert!(competes(MS(4), 0.9, 0.5), "a queue that never becomes short");
        // This sender always has half a packet queued.
        assert!(competes(MS(3), 0.5, 2.0) && !competes(MS(3), 0.25, 2.0));
    }

    /// Without a queue there is no competing sender.
    #[test]
    fn an_empty_path_is_not_competing_traffic() {
        let mut mode = CompetitiveMode::new(0.5, true);
        for time in (0..10_000).step_by(100) {
            mode.update(at(time), MS(100), MS(0), MS(0), 0.0);
            assert!(!mode.is_competing(), "{time} ms");
        }
    }

    #[test]
    fn competitive_mode_requires_configuration() {
        let mut mode = CompetitiveMode::new(0.5, false);
        for time in (0..10_000).step_by(100) {
            mode.update(at(time), MS(100), MS(50), MS(60), 9.0);
            mode.end_round();
            mode.on_loss();
        }
        assert!(!mode.is_competing());
        assert_eq!(mode.inverse_delta(), 2.0);
    }
}
