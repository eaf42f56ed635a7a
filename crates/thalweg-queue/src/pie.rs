//! The queue discipline PIE (RFC 8033).

use crate::impairment_spec::{above_zero, check_probability};
use crate::timestamped_fifo::TimestampedQueue;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Time};

/// Parameters of [`Pie`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Target delay.
    pub target: Duration,
    /// Update interval of the probability, above zero.
    pub update: Duration,
    /// Gain per second of delay above the target, per update, 0 or more.
    pub alpha: f64,
    /// Gain per second of delay increase since the last update, 0 or more.
    pub beta: f64,
    /// Maximum burst that passes a previously short queue.
    pub max_burst: Duration,
    /// Maximum probability for marking ECN-capable packets instead of dropping them, 0 to 1; 0 never marks.
    pub ecn_threshold: f64,
    /// Mean packet size; a queue of at most two such packets has no drops.
    pub mean_packet: Bytes,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn_threshold: 0.1,
            mean_packet: Bytes::new(1000),
        }
    }
}

/// Proportional Integral controller Enhanced (RFC 8033): arrivals are dropped at random. A controller adjusts the drop
/// probability to keep the queueing delay near the target.
///
/// Drops are spread by the accumulated probability (section 5.4 of the RFC), and a high probability grows by 0.02 an
/// update at most (section 5.5).
///
/// Urgent packets leave before all others and are never dropped early. An arrival without room is dropped.
///
/// Differences from the RFC:
///
/// | RFC | here | reason | effect |
/// | --- | --- | --- | --- |
/// | a timer updates the probability | due updates are made up at arrivals and departures | a queue has no timers, and nothing changes in between | none |
/// | the delay by the departure rate or by time stamps | the sojourn time of the last packet, by time stamps | exact | none |
/// | an idle queue's probability shrinks by 2 % an update without end | is zero once it is below 10^-9 | updates are made up in bounded time | none |
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    queue: TimestampedQueue,
    stream: RandomStream,
    probability: f64,
    /// Accumulated probability since the last drop.
    accumulated: f64,
    /// Sojourn time of the last packet.
    wait: Duration,
    /// Sojourn time at the last update.
    last_wait: Duration,
    burst_allowance: Duration,
    next_update: Time,
}

impl Pie {
    /// Creates an empty queue with this limit that draws from `stream`.
    pub const fn new(limit: Limit, config: PieConfig, stream: RandomStream) -> Self {
        Self {
            config,
            queue: TimestampedQueue::new(limit),
            stream,
            probability: 0.0,
            accumulated: 0.0,
            wait: Duration::ZERO,
            last_wait: Duration::ZERO,
            burst_allowance: config.max_burst,
            next_update: Time::ZERO,
        }
    }

    /// Returns the drop probability, as of the last update.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Performs the updates due until now.
    fn catch_up(&mut self, now: Time) {
        let every = self.config.update.max(Duration::from_picos(1));
        while self.next_update <= now {
            let before = (self.probability, self.last_wait, self.burst_allowance);
            self.update();
            self.next_update += every;
            let after = (self.probability, self.last_wait, self.burst_allowance);
            if before == after || self.next_update == Time::MAX {
                // Further updates change nothing.
                let periods = now.since(self.next_update).as_picos() / every.as_picos();
                self.next_update += every * periods;
                if self.next_update <= now {
                    self.next_update += every;
                }
                return;
            }
        }
    }

    /// Section 4.2 of the RFC.
    fn update(&mut self) {
        let PieConfig { target, alpha, beta, .. } = self.config;
        let wait = if self.queue.occupancy.packets() == 0 { Duration::ZERO } else { self.wait };
        let seconds = Duration::as_secs_f64;
        let error = seconds(wait) - seconds(target);
        let growth = seconds(wait) - seconds(self.last_wait);
        let mut change = alpha * error + beta * growth;
        // RFC 8033, section 4.2: the smaller the probability, the smaller the steps. With constant gains a
        // light load, with its small probability, would oscillate.
        let care = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        change /= care.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, by)| *by);
        // RFC 8033, section 5.5: one burst must not raise an already high probability to 1.
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        // RFC 8033, section 4.2: the small steps of a small probability would last long after the congestion.
        if wait.is_zero() && self.last_wait.is_zero() {
            self.probability *= 0.98;
            if self.probability < 1e-9 {
                self.probability = 0.0;
            }
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        // RFC 8033, section 4.4: a burst after a calm time passes without drops.
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.update);
        let half = self.config.target / 2;
        if self.probability <= 0.0 && wait < half && self.last_wait < half {
            self.burst_allowance = self.config.max_burst;
        }
        self.last_wait = wait;
    }

    /// Returns true if an arrival is to be dropped: sections 4.1 and 5.4 of the RFC.
    fn drops(&mut self) -> bool {
        // RFC 8033, section 5.4: the spread of drops restarts after a calm time.
        if self.probability <= 0.0 {
            self.accumulated = 0.0;
        }
        // RFC 8033, section 4.1: a short queue has no congestion to signal, and drops would idle the line.
        let is_short = self.last_wait < self.config.target / 2 && self.probability < 0.2;
        let is_small = self.queue.occupancy.bytes() <= 2 * self.config.mean_packet.get();
        if !self.burst_allowance.is_zero() || is_short || is_small {
            return false;
        }
        self.accumulated += self.probability;
        // RFC 8033, section 5.4: random drops alone come in runs, which cause timeouts, and in long gaps.
        if self.accumulated < 0.85 {
            return false;
        }
        let drops = self.accumulated >= 8.5 || self.stream.chance(self.probability);
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Time, mut entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        if entry.is_feedback {
            self.queue.occupancy.enqueue_urgent(entry, &mut self.queue.urgent, dropped);
            return;
        }
        if self.queue.occupancy.fits(entry.size) && self.drops() {
            // RFC 8033, section 5.1: at a high probability marks do not control the load, for example of
            // unresponsive flows.
            let marks = self.probability <= self.config.ecn_threshold && entry.mark();
            if !marks {
                dropped.push(DroppedPacket { entry, reason: DropReason::Early });
                return;
            }
        }
        self.queue.store(now, entry, dropped);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.catch_up(now);
        if let Some(entry) = self.queue.pop_urgent() {
            return Some(entry);
        }
        let (entry, since) = self.queue.pop()?;
        self.wait = now.since(since);
        Some(entry)
    }

    fn packets(&self) -> u64 {
        self.queue.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.occupancy.bytes()
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(limit, dropped);
    }
}

impl DisciplineConfig for PieConfig {
    type Queue = Pie;
    const NAME: &'static str = "pie";

    fn check(&self) -> Result<(), SpecError> {
        above_zero("update", self.update.as_secs_f64())?;
        above_zero("alpha", self.alpha)?;
        above_zero("beta", self.beta)?;
        check_probability("ecn_threshold", self.ecn_threshold)
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Pie {
        Pie::new(limit, *self, streams("pie"))
    }

    fn traits(&self) -> Traits {
        Traits { marks_ecn: self.ecn_threshold > 0.0, ..Traits::RANDOM_EARLY_DETECTION }
    }

    fn description(&self) -> String {
        format!("PIE queue, target {}", self.target)
    }
}

#[cfg(test)]
mod tests {
    //! Tests PIE: the controller's steps, the burst allowance, conditions without drops, and made-up updates.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::Ecn;

    fn queue(config: PieConfig) -> Pie {
        Pie::new(Limit::Packets(1000), config, RandomStream::new(1, "test", 0))
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn entry(ecn: Ecn) -> Entry {
        Entry { ecn, ..ordinary_entry(0) }
    }

    fn fill(queue: &mut Pie, now: Time, count: u32) -> usize {
        let mut dropped = Vec::new();
        (0..count).for_each(|_| queue.enqueue(now, entry(Ecn::NotEct), &mut dropped));
        dropped.len()
    }

    #[test]
    fn the_probability_follows_the_controller() {
        // A packet that waited for 95 ms leaves at 95 ms. The update at 105 ms: (0.125 x 0.08 + 1.25 x 0.095) / 2048; that at
        // 120 ms: 0.125 x 0.08 and no growth, by 128, as the probability is between 1e-5 and 1e-4.
        let mut queue = queue(PieConfig::default());
        fill(&mut queue, ms(0), 10);
        queue.dequeue(ms(95), &mut Vec::new());
        queue.catch_up(ms(105));
        let first = (0.125 * 0.08 + 1.25 * 0.095) / 2048.0;
        assert!((queue.probability() - first).abs() < 1e-12, "{}", queue.probability());
        queue.catch_up(ms(120));
        assert!((queue.probability() - first - 0.125 * 0.08 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn a_high_probability_grows_slowly_and_shrinks_at_once() {
        let mut queue = queue(PieConfig::default());
        fill(&mut queue, ms(0), 10);
        queue.probability = 0.3;
        queue.wait = Duration::from_secs(1);
        queue.update();
        assert!((queue.probability() - 0.32).abs() < 1e-12);
        queue.wait = Duration::from_millis(15);
        queue.update();
        // A decrease of 1.25 x 0.985 s reduces the probability to zero.
        assert!(queue.probability() <= 0.0);
    }

    #[test]
    fn a_burst_passes_a_previously_short_queue() {
        // The probability is one, but for 150 ms nothing is dropped; then everything above two packets is.
        let mut queue = queue(PieConfig::default());
        fill(&mut queue, ms(0), 10);
        (queue.probability, queue.wait, queue.last_wait) =
            (1.0, Duration::from_secs(1), Duration::from_secs(1));
        assert_eq!(fill(&mut queue, ms(140), 10), 0);
        assert!(fill(&mut queue, ms(150), 10) >= 9);
    }

    #[test]
    fn short_waits_and_small_queues_have_no_drops() {
        // A delay below half the target with a probability below 0.2; and two queued packets at any probability.
        let mut queue = queue(PieConfig { max_burst: Duration::ZERO, ..PieConfig::default() });
        (queue.probability, queue.last_wait) = (0.19, Duration::from_millis(7));
        queue.next_update = ms(1000);
        assert_eq!(fill(&mut queue, ms(0), 100), 0);
        let mut queue = self::queue(PieConfig { max_burst: Duration::ZERO, ..PieConfig::default() });
        (queue.probability, queue.last_wait, queue.next_update) = (1.0, Duration::from_secs(1), ms(1000));
        assert_eq!(fill(&mut queue, ms(0), 3), 0);
        assert_eq!(fill(&mut queue, ms(0), 3), 3);
    }

    #[test]
    fn drops_are_spread_by_what_has_accumulated() {
        // At a probability of 0.1 no two drops are within eight arrivals, and a drop comes at 8.5 at the latest: of 10 000
        // arrivals, one in 8.5 + 9 or so is dropped.
        let mut queue = queue(PieConfig { max_burst: Duration::ZERO, ..PieConfig::default() });
        (queue.probability, queue.last_wait, queue.next_update) = (0.1, Duration::from_secs(1), ms(1000));
        fill(&mut queue, ms(0), 3);
        let (mut gap, mut gaps) = (0, Vec::new());
        for _ in 0..10_000 {
            gap += 1;
            if fill(&mut queue, ms(0), 1) > 0 {
                gaps.push(gap);
                gap = 0;
            } else {
                queue.queue.pop();
            }
        }
        assert!(gaps[1..].iter().all(|&gap| (9..=85).contains(&gap)), "{gaps:?}");
        assert!(gaps.len().abs_diff(10_000 / 18) < 60, "{}", gaps.len());
    }

    #[test]
    fn packets_are_marked_up_to_the_threshold() {
        for (probability, marked) in [(0.1, true), (0.11, false)] {
            let mut queue = queue(PieConfig { max_burst: Duration::ZERO, ..PieConfig::default() });
            (queue.last_wait, queue.next_update) = (Duration::from_secs(1), ms(1000));
            fill(&mut queue, ms(0), 3);
            (queue.probability, queue.accumulated) = (probability, 8.5);
            let mut dropped = Vec::new();
            queue.enqueue(ms(0), entry(Ecn::Ect0), &mut dropped);
            assert_eq!(dropped.is_empty(), marked);
            let last = std::iter::from_fn(|| queue.dequeue(ms(1), &mut Vec::new())).last();
            assert_eq!(last.is_some_and(|entry| entry.marked), marked);
        }
    }

    #[test]
    fn made_up_updates_are_bounded() {
        // After idle days the probability is zero, the burst allowance is restored, and the next update is soon.
        let mut queue = queue(PieConfig::default());
        (queue.probability, queue.last_wait) = (1.0, Duration::from_secs(1));
        let late = Time::ZERO + Duration::from_secs(200_000);
        queue.catch_up(late);
        assert!(queue.probability() <= 0.0);
        assert_eq!(queue.burst_allowance, Duration::from_millis(150));
        assert!(queue.next_update > late && queue.next_update <= late + Duration::from_millis(15));
    }
}
