//! The queue discipline DualPI2 (RFC 9332).

use crate::impairment_spec::{above_zero, check_probability};
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::VecDeque;
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};

/// Parameters of [`DualPi2`], with the names of RFC 9332, appendix A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Target delay of the classic queue (`target`).
    pub target: Duration,
    /// Maximum expected round-trip time (`RTT_max`), above zero: sets the controller's responsiveness.
    pub max_rtt: Duration,
    /// Update interval of the probability (`Tupdate`), above zero.
    pub update: Duration,
    /// Coupling factor (`k`), above zero: the marking probability of scalable flows is `k` times the square root of the
    /// drop probability of classic ones.
    pub coupling: f64,
    /// Delay in the low-latency queue above which packets may be marked (`minTh`).
    pub threshold: Duration,
    /// Additional delay above the threshold at which the marking probability reaches 1 (`range`).
    pub range: Duration,
    /// Share of the line for the classic queue while both queues have packets, 0 to 1.
    pub classic_share: f64,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            max_rtt: Duration::from_millis(100),
            update: Duration::from_millis(15),
            coupling: 2.0,
            threshold: Duration::from_micros(800),
            range: Duration::from_micros(400),
            classic_share: 0.1,
        }
    }
}

/// The coupled dual queue for low latency, low loss and scalable throughput (RFC 9332) with the controller of its
/// appendix A: PI2 for classic traffic, a ramp for the low-latency queue, and the two coupled.
///
/// Packets with ECT(1) or CE go to the low-latency queue, all others to the classic one. A proportional integral
/// controller adjusts a base probability `p'` to keep the delay of the classic queue near the target. Classic packets
/// are dropped, or marked if ECN-capable, with probability `p'` squared. Packets of the low-latency queue are marked
/// with the larger of `k p'` and a probability from their own delay. A scalable flow, which halves its rate at two
/// marks a round trip, and a classic one, whose rate falls with the square root of losses, thus get about the same
/// rate.
///
/// Once `k p'` reaches one, the line is overloaded: packets of both queues are dropped with probability `p'` squared,
/// whether ECN-capable or not (section 4.2.3 and appendix A.2).
///
/// Signals are spread evenly, not drawn (`recur` of the appendix). Urgent packets leave before all others and get no
/// signals.
///
/// Differences from the RFC:
///
/// | RFC | here | reason | effect |
/// | --- | --- | --- | --- |
/// | a timer updates the probability | due updates are made up at arrivals and departures | a queue has no timers, and the head does not change in between | none |
/// | any scheduler that gives the low-latency queue conditional priority | by weight, in bytes: the low-latency queue first, except for the classic queue's share while both have packets | as in Linux | none while the low-latency queue stays within its share |
/// | `Tupdate` is the smaller of `target` and a third of `RTT_max` | a separate parameter | both are visible then | none at the default values |
/// | a limit of 250 ms of the line | the limit of the queue | as for all disciplines | none |
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    low_latency: VecDeque<(Entry, Time)>,
    classic: VecDeque<(Entry, Time)>,
    /// Base probability `p'`, 0 to 1.
    base: f64,
    /// Delay at the last update (`prevq`).
    last_wait: Duration,
    next_update: Time,
    /// Accumulated probabilities of the low-latency queue's marks, its drops, and the classic queue's signals.
    marks: Recur,
    drops: Recur,
    signals: Recur,
    /// Bytes sent by the low-latency queue beyond its share while both have packets.
    low_latency_lead: f64,
}

/// Evenly spread signals of some probability (`recur` of RFC 9332, appendix A.1). Random ones add variance.
#[derive(Clone, Copy, Debug, Default)]
struct Recur(f64);

impl Recur {
    fn next(&mut self, probability: f64) -> bool {
        self.0 += probability;
        let is_due = self.0 > 1.0;
        if is_due {
            self.0 -= 1.0;
        }
        is_due
    }
}

/// Controller gains in 1/s, as multiples of its round-trip parameters (appendix A.1, lines 13 and 14).
const INTEGRAL_GAIN: f64 = 0.1;
const PROPORTIONAL_GAIN: f64 = 0.3;

impl DualPi2 {
    /// Creates two empty queues with a common limit.
    pub fn new(limit: Limit, config: DualPi2Config) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            low_latency: VecDeque::new(),
            classic: VecDeque::new(),
            base: 0.0,
            last_wait: Duration::ZERO,
            next_update: Time::ZERO,
            marks: Recur::default(),
            drops: Recur::default(),
            signals: Recur::default(),
            low_latency_lead: 0.0,
        }
    }

    /// Returns the drop or mark probability of classic packets (`p_C`), as of the last update.
    pub const fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// Returns the coupled mark probability of the low-latency queue (`p_CL`).
    pub const fn coupled_probability(&self) -> f64 {
        self.config.coupling * self.base
    }

    /// Performs the updates due until now.
    fn catch_up(&mut self, now: Time) {
        let every = self.config.update.max(Duration::from_picos(1));
        while self.next_update <= now {
            let wait = self.wait(self.next_update);
            // Only arrivals and departures change the state from here on: the queue is empty, or overloaded.
            let is_settled = wait.is_zero() && self.last_wait.is_zero() && self.base <= 0.0
                || self.base >= 1.0 && wait > self.config.target;
            if is_settled {
                let periods = now.since(self.next_update).as_picos() / every.as_picos();
                self.next_update += every * periods;
                self.last_wait = self.wait(self.next_update);
            } else {
                self.update(wait);
            }
            self.next_update += every;
            if self.next_update == Time::MAX {
                return;
            }
        }
    }

    /// Returns the delay of the longest-queued packet at `at` (`curq`).
    fn wait(&self, at: Time) -> Duration {
        let since = |queue: &VecDeque<(Entry, Time)>| {
            queue.front().map_or(Duration::ZERO, |(_, arrival)| at.since(*arrival))
        };
        since(&self.classic).max(since(&self.low_latency))
    }

    /// `dualpi2_update` of RFC 9332, appendix A.1.
    fn update(&mut self, wait: Duration) {
        let seconds = Duration::as_secs_f64;
        let rtt = seconds(self.config.max_rtt);
        let alpha = INTEGRAL_GAIN * seconds(self.config.update) / (rtt * rtt);
        let beta = PROPORTIONAL_GAIN / rtt;
        let error = seconds(wait) - seconds(self.config.target);
        let growth = seconds(wait) - seconds(self.last_wait);
        self.base = (self.base + alpha * error + beta * growth).clamp(0.0, 1.0);
        self.last_wait = wait;
    }

    /// Returns the native mark probability from the delay of a low-latency packet (`laqm`); zero if it leaves the queue
    /// empty.
    fn native_probability(&self, wait: Duration) -> f64 {
        let DualPi2Config { threshold, range, .. } = self.config;
        if self.low_latency.is_empty() || wait <= threshold {
            0.0
        } else if wait - threshold >= range {
            1.0
        } else {
            (wait - threshold).as_secs_f64() / range.as_secs_f64()
        }
    }

    /// Returns true if the low-latency queue is next.
    fn is_low_latency_next(&mut self) -> bool {
        match (self.low_latency.front(), self.classic.front()) {
            (Some((entry, _)), Some((other, _))) => {
                let share = self.config.classic_share;
                // RFC 9332, section 4.2.2: conditional priority, since strict priority would starve the
                // classic queue.
                let owed = (1.0 - share) * f64::from(other.size);
                let low_latency = share <= 0.0 || self.low_latency_lead < owed;
                self.low_latency_lead += if low_latency { share * f64::from(entry.size) } else { -owed };
                low_latency
            }
            (first, _) => {
                // A queue without packets has no claim to its past share.
                self.low_latency_lead = 0.0;
                first.is_some()
            }
        }
    }

    /// Dequeues from the low-latency queue: `None` if the packet was dropped.
    fn serve_low_latency(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let (mut entry, arrival) = self.low_latency.pop_front()?;
        self.occupancy.remove(&entry);
        let coupled = self.coupled_probability();
        // RFC 9332, appendix A.2: at a mark probability of one, more load changes no mark, so drops must
        // control it.
        let probability = if coupled < 1.0 {
            coupled.max(self.native_probability(now.since(arrival)))
        } else if self.drops.next(self.classic_probability()) {
            dropped.push(DroppedPacket { entry, reason: DropReason::Early });
            return None;
        } else {
            coupled
        };
        if self.marks.next(probability.min(1.0)) {
            entry.mark();
        }
        Some(entry)
    }

    /// Dequeues from the classic queue: `None` if the packet was dropped.
    fn serve_classic(&mut self, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let (mut entry, _) = self.classic.pop_front()?;
        self.occupancy.remove(&entry);
        if self.signals.next(self.classic_probability())
            // RFC 9332, appendix A.2: an overloaded line drops ECN-capable packets too, or they would
            // displace the others.
            && (self.coupled_probability() >= 1.0 || !entry.mark())
        {
            dropped.push(DroppedPacket { entry, reason: DropReason::Early });
            return None;
        }
        Some(entry)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
        } else if self.occupancy.fits(entry.size) {
            self.occupancy.add(&entry);
            // RFC 9332, section 2.3, and RFC 9331, section 5.1: CE too, since its former codepoint may have
            // been ECT(1).
            let queue = match entry.ecn {
                Ecn::Ect1 | Ecn::Ce => &mut self.low_latency,
                Ecn::Ect0 | Ecn::NotEct => &mut self.classic,
            };
            queue.push_back((entry, now));
        } else {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.catch_up(now);
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        while !self.low_latency.is_empty() || !self.classic.is_empty() {
            let served = if self.is_low_latency_next() {
                self.serve_low_latency(now, dropped)
            } else {
                self.serve_classic(dropped)
            };
            if served.is_some() {
                return served;
            }
        }
        None
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        while self.occupancy.is_exceeded() {
            // Of the two queues, the one with the later last arrival drops it.
            let arrival = |line: &VecDeque<(Entry, Time)>| line.back().map(|(_, arrival)| *arrival);
            let line = if arrival(&self.low_latency) > arrival(&self.classic) {
                &mut self.low_latency
            } else {
                &mut self.classic
            };
            let Some((entry, _)) = line.pop_back() else { break };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for DualPi2Config {
    type Queue = DualPi2;
    const NAME: &'static str = "dualpi2";

    fn check(&self) -> Result<(), SpecError> {
        above_zero("update", self.update.as_secs_f64())?;
        above_zero("max_rtt", self.max_rtt.as_secs_f64())?;
        above_zero("coupling", self.coupling)?;
        check_probability("classic_share", self.classic_share)
    }

    fn make(&self, limit: Limit, _streams: RandomStreams<'_>) -> DualPi2 {
        DualPi2::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits { keeps_arrival_order: false, is_random: false, ..Traits::RANDOM_EARLY_DETECTION }
    }

    fn description(&self) -> String {
        format!(
            "DualPI2 queue, target {}, marks of low latency above {}, in all",
            self.target, self.threshold
        )
    }
}

#[cfg(test)]
mod tests {
    //! Tests the rules of appendix A of RFC 9332: classification, controller steps, both probabilities, overload, and
    //! no starvation of the classic queue.
    use super::*;
    use crate::test_helpers::ordinary_entry;

    fn queue() -> DualPi2 {
        DualPi2::new(Limit::Packets(10_000), DualPi2Config::default())
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn fill(queue: &mut DualPi2, now: Time, ecn: Ecn, count: u32) {
        for packet in 0..count {
            queue.enqueue(now, Entry { ecn, ..ordinary_entry(packet) }, &mut Vec::new());
        }
    }

    /// Returns the packets that leave at `now`, and the number of drops.
    fn drain(queue: &mut DualPi2, now: Time) -> (Vec<Entry>, usize) {
        let mut dropped = Vec::new();
        let left = std::iter::from_fn(|| queue.dequeue(now, &mut dropped)).collect();
        (left, dropped.len())
    }

    /// RFC 9332, section 2.3, and RFC 9331, section 5.1: ECT(1) and CE are low-latency traffic, which goes
    /// first.
    #[test]
    fn codepoints_choose_the_queue() {
        let mut queue = queue();
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            fill(&mut queue, at(0), ecn, 1);
        }
        let left: Vec<Ecn> = drain(&mut queue, at(1)).0.iter().map(|entry| entry.ecn).collect();
        assert_eq!(left, [Ecn::Ect1, Ecn::Ce, Ecn::NotEct, Ecn::Ect0]);
    }

    /// RFC 9332, appendix A.1: alpha = 0.1 x 15 ms / (100 ms)^2 = 0.15 Hz, beta = 0.3 / 100 ms = 3 Hz.
    #[test]
    fn the_base_probability_follows_the_controller() {
        let mut queue = queue();
        fill(&mut queue, at(0), Ecn::NotEct, 10);
        // At 15 ms the head waits for the target: beta x 15 ms. At 30 ms: alpha x 15 ms + beta x 15 ms more.
        queue.catch_up(at(15_000));
        assert!((queue.base - 3.0 * 0.015).abs() < 1e-12, "{}", queue.base);
        queue.catch_up(at(30_000));
        let expected = 2.0 * 3.0 * 0.015 + 0.15 * 0.015;
        assert!((queue.base - expected).abs() < 1e-12, "{}", queue.base);
        assert!((queue.coupled_probability() - 2.0 * expected).abs() < 1e-12);
        assert!((queue.classic_probability() - expected * expected).abs() < 1e-12);
    }

    /// RFC 9332, appendix A.1: no mark up to 800 us, all from 1.2 ms on, half of them at 1 ms; never the last packet.
    #[test]
    fn the_low_latency_queue_is_marked_by_its_sojourn_time() {
        for (wait, marked) in [(800, 0), (1000, 499), (1200, 999)] {
            let mut queue = queue();
            fill(&mut queue, at(0), Ecn::Ect1, 1000);
            let (left, dropped) = drain(&mut queue, at(wait));
            let marks = left.iter().filter(|entry| entry.ecn.is_ce()).count();
            assert!(marks.abs_diff(marked) <= 1 && dropped == 0, "{wait} us: {marks} marks, {dropped} drops");
            assert!(!left[999].ecn.is_ce());
        }
    }

    /// RFC 9332, section 2.1: p_C = p'^2 and p_CL = k p'.
    #[test]
    fn classic_and_scalable_probabilities_are_coupled() {
        let counted = |ecn| {
            let mut queue = queue();
            queue.next_update = at(1_000_000);
            queue.base = 0.2;
            fill(&mut queue, at(0), ecn, 10_000);
            let (left, dropped) = drain(&mut queue, at(10));
            (left.iter().filter(|entry| entry.ecn.is_ce()).count(), dropped)
        };
        let near = |found: usize, expected: usize| found.abs_diff(expected) <= 1;
        let (marks, drops) = counted(Ecn::NotEct);
        assert!(marks == 0 && near(drops, 400), "{marks} {drops}");
        let (marks, drops) = counted(Ecn::Ect0);
        assert!(near(marks, 400) && drops == 0, "{marks} {drops}");
        let (marks, drops) = counted(Ecn::Ect1);
        assert!(near(marks, 4_000) && drops == 0, "{marks} {drops}");
    }

    /// RFC 9332, appendix A.2: with p_CL at its maximum, both queues drop with p_C for any codepoint, and the other
    /// packets of the low-latency queue are marked.
    #[test]
    fn an_overloaded_line_drops_ecn_capable_packets_too() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let mut queue = queue();
            queue.next_update = at(1_000_000);
            queue.base = 0.5;
            fill(&mut queue, at(0), ecn, 10_000);
            let (left, dropped) = drain(&mut queue, at(10));
            assert!(dropped.abs_diff(2_500) <= 1, "{ecn:?}: {dropped}");
            let marks = left.iter().filter(|entry| entry.ecn.is_ce()).count();
            assert_eq!(marks + 1, if ecn == Ecn::Ect1 { left.len() } else { 1 }, "{ecn:?}");
        }
    }

    /// RFC 9332, section 4.2.2: a low-latency queue that is never empty leaves the classic one its share of the bytes.
    #[test]
    fn the_classic_queue_is_not_starved() {
        let mut queue = queue();
        queue.next_update = at(1_000_000);
        fill(&mut queue, at(0), Ecn::Ect1, 5_000);
        fill(&mut queue, at(0), Ecn::Ect0, 5_000);
        let classic =
            (0..2_000).filter(|_| queue.dequeue(at(1), &mut Vec::new()).unwrap().ecn == Ecn::Ect0).count();
        assert!(classic.abs_diff(200) <= 1, "{classic}");
    }

    /// RFC 9332, appendix A.1: an idle queue resets, and the number of updates made up after a long outage is bounded.
    #[test]
    fn made_up_updates_are_bounded() {
        let mut queue = queue();
        (queue.base, queue.last_wait) = (1.0, Duration::from_secs(1));
        let late = Time::ZERO + Duration::from_secs(200_000);
        queue.catch_up(late);
        assert!(queue.base <= 0.0);
        assert!(queue.next_update > late && queue.next_update <= late + Duration::from_millis(15));
        fill(&mut queue, late, Ecn::NotEct, 1);
        let later = late + Duration::from_secs(200_000);
        queue.catch_up(later);
        assert!(queue.base >= 1.0 && queue.next_update > later);
    }
}
