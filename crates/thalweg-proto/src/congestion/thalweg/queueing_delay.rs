//! Queueing delay: the excess of the packet delay over that of an empty path.

use crate::congestion::AckSample;
use crate::units::{Duration, Time};
use crate::window::RelativeDelay;

/// Minimum samples per piece of a round trip, and its minimum length as a fraction (1/n) of the round trip.
const MIN_PIECE: (u32, u64) = (12, 8);
/// Averaging time of the spread in round trips, for increase and decrease: a queue that comes and goes within a round
/// trip is soon forgotten.
const SAMPLE_MEMORY: (f64, f64) = (10.0, 4.0);
/// Multiple of the delay spread that may be chance.
const CHANCE_SPREAD: f64 = 3.0;

/// Base delay of the path, and delay of the current round trip, in seconds. One-way delays are relative to the first
/// packet, since only their differences are meaningful.
///
/// The minimum delay of several packets reflects the queue, except for jitter: part of its excess over the base delay,
/// up to the spread of delays within a round trip, may be chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    window: Duration,
    first: Option<RelativeDelay>,
    /// Minima over half to all of the window.
    base: WindowedMinimum,
    /// Shortest delay since the last drain began, time of the last sample at or near it, and the same within an interval
    /// from that beginning.
    shortest: f64,
    last_sample: Time,
    seen_in_interval: Time,
    interval_ends: Time,
    /// Minimum of this round trip.
    round: Samples,
    /// Minimum of its first piece.
    first_piece: f64,
    piece: Samples,
    piece_began: Time,
    /// Minimum of the last complete piece.
    last_piece: f64,
    /// Smoothed excess of a round trip's mean delay over its minimum, without the trend of the delay meanwhile.
    spread: f64,
    /// Delay of the newest packet, and the number of consecutive packets above the queried delay.
    newest: f64,
    waited: u32,
}

/// Windowed minimum delay: minima of this half of the window and of the last half.
#[derive(Clone, Copy, Debug)]
struct WindowedMinimum {
    halves: [f64; 2],
    turned: Time,
}

impl WindowedMinimum {
    const NONE: Self = Self { halves: [f64::INFINITY; 2], turned: Time::ZERO };

    /// Returns the minimum delay; infinite before the first sample.
    fn get(&self) -> f64 {
        self.halves[0].min(self.halves[1])
    }

    fn add(&mut self, value: f64) {
        self.halves[0] = self.halves[0].min(value);
    }

    /// Drops the minimum older than twice `half` at the end of each half.
    fn turn(&mut self, now: Time, half: Duration) {
        if now.since(self.turned) > half {
            *self = Self { halves: [f64::INFINITY, self.halves[0]], turned: now };
        }
    }
}

/// Set of samples.
#[derive(Clone, Copy, Debug)]
struct Samples {
    shortest: f64,
    sum: f64,
    count: u32,
}

impl Samples {
    const NONE: Self = Self { shortest: f64::INFINITY, sum: 0.0, count: 0 };

    fn add(&mut self, value: f64) {
        self.shortest = self.shortest.min(value);
        self.sum += value;
        self.count += 1;
    }

    fn spread(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / f64::from(self.count) - self.shortest }
    }
}

impl Delay {
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            first: None,
            base: WindowedMinimum::NONE,
            shortest: f64::INFINITY,
            last_sample: Time::ZERO,
            seen_in_interval: Time::ZERO,
            interval_ends: Time::MAX,
            round: Samples::NONE,
            first_piece: f64::INFINITY,
            piece: Samples::NONE,
            piece_began: Time::ZERO,
            last_piece: f64::INFINITY,
            spread: 0.0,
            newest: 0.0,
            waited: 0,
        }
    }

    /// Takes the delay of an acknowledgement. A sample within `tolerance` of the shortest since the last drain confirms
    /// it.
    pub fn sample(&mut self, sample: &AckSample, tolerance: f64) {
        let now = sample.connection.now;
        let value = match (sample.one_way_delay, sample.rtt) {
            (Some(delay), _) => {
                let first = *self.first.get_or_insert(delay);
                delay.above(first).as_secs_f64() - first.above(delay).as_secs_f64()
            }
            (None, Some(rtt)) if self.first.is_none() => rtt.as_secs_f64(),
            _ => return,
        };
        self.base.turn(now, self.window / 2);
        if value <= self.shortest + tolerance + self.spread {
            self.last_sample = now;
            if now < self.interval_ends {
                self.seen_in_interval = now;
            }
            self.shortest = self.shortest.min(value);
        }
        self.newest = value;
        self.base.add(value);
        self.round.add(value);
        self.piece.add(value);
        if self.piece.count >= MIN_PIECE.0
            && now.since(self.piece_began) * MIN_PIECE.1 >= sample.connection.smoothed_rtt
        {
            self.end_piece(now);
        }
    }

    /// Begins a drain: the shortest delay from now on counts, as nothing shorter is measurable.
    pub fn begin_drain(&mut self, now: Time, interval: Duration) {
        (self.last_sample, self.shortest) = (now, f64::INFINITY);
        (self.seen_in_interval, self.interval_ends) = (now, now + interval);
    }

    /// Returns the time since the shortest delay was last seen.
    pub fn age(&self, now: Time) -> Duration {
        now.since(self.last_sample)
    }

    /// Returns the time since the shortest delay was last seen in the interval after the last drain.
    pub fn age_in_interval(&self, now: Time) -> Duration {
        now.since(self.seen_in_interval)
    }

    /// Returns the smoothed excess of a round trip's mean delay over its minimum, in seconds.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// Returns the part of a queueing delay that may be chance.
    pub fn uncertainty(&self) -> f64 {
        CHANCE_SPREAD * self.spread
    }

    fn queueing(&self, shortest: f64) -> f64 {
        if shortest.is_finite() { (shortest - self.base.get() - self.uncertainty()).max(0.0) } else { 0.0 }
    }

    /// Returns the base delay; infinite before the first sample.
    pub fn base(&self) -> f64 {
        self.base.get()
    }

    /// Returns the shortest delay since the last drain began.
    pub fn shortest(&self) -> f64 {
        self.shortest
    }

    /// Takes the shortest delay since the last drain began for that of the empty path.
    pub fn accept_longer_path(&mut self) {
        self.base.halves = [f64::INFINITY, self.shortest];
    }

    /// Records an acknowledgement; returns true if a dozen consecutive packets had a queueing delay of more than `than`
    /// seconds. A sleeping host delays only a few packets, and a piece of a round trip takes longer to complete.
    pub fn waits(&mut self, than: f64) -> bool {
        self.waited = if self.queueing(self.newest) > than { self.waited.saturating_add(1) } else { 0 };
        self.waited >= MIN_PIECE.0
    }

    /// Returns the queueing delay of the last dozen packets.
    pub fn newest(&self) -> f64 {
        self.queueing(self.last_piece)
    }

    fn end_piece(&mut self, now: Time) {
        self.last_piece = core::mem::replace(&mut self.piece, Samples::NONE).shortest;
        self.first_piece = if self.first_piece.is_finite() { self.first_piece } else { self.last_piece };
        self.piece_began = now;
    }

    /// Ends a round trip and returns its queueing delay.
    pub fn end_round(&mut self) -> f64 {
        let round = core::mem::replace(&mut self.round, Samples::NONE);
        let queueing = self.queueing(round.shortest);
        if self.first_piece.is_finite() {
            let moved = (self.last_piece - self.first_piece).abs();
            let scatter = (round.spread() - moved).max(0.0);
            let memory = if scatter > self.spread { SAMPLE_MEMORY.0 } else { SAMPLE_MEMORY.1 };
            self.spread += (scatter - self.spread) / memory;
        }
        self.first_piece = f64::INFINITY;
        queueing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::thalweg::tests;
    use crate::random::RandomStream;

    const RTT: u64 = 100_000;

    fn acked_sample(now: u64, rtt: u64) -> AckSample {
        tests::acked(Duration::from_micros(now), Some(Duration::from_micros(rtt)))
    }

    /// Feeds round trips of a hundred packets, with a delay in microseconds by packet number; returns the last queueing
    /// delay.
    fn rounds(delay: &mut Delay, from: u64, count: u64, mut rtt: impl FnMut(u64) -> u64) -> f64 {
        let mut queueing = 0.0;
        for packet in 0..count * 100 {
            let now = from + packet * RTT / 100;
            delay.sample(&acked_sample(now, rtt(packet)), 1e-4);
            if packet % 100 == 99 {
                queueing = delay.end_round();
            }
        }
        queueing
    }

    #[test]
    fn the_queue_is_the_delay_common_to_all_packets() {
        let mut delay = Delay::new(Duration::from_secs(10));
        assert_eq!(rounds(&mut delay, 0, 10, |_| RTT), 0.0);
        let queueing = rounds(&mut delay, 10 * RTT, 10, |_| RTT + 5_000);
        assert!((queueing - 5e-3).abs() < 1e-6, "{queueing}");
        assert!((delay.newest() - 5e-3).abs() < 1e-6);
    }

    /// Delays that scatter by 20 ms are not detected as a queue; a queue of 60 ms is.
    #[test]
    fn jitter_is_not_counted_as_a_queue() {
        let mut stream = RandomStream::new(5, "jitter", 0);
        let mut delay = Delay::new(Duration::from_secs(10));
        let queueing = rounds(&mut delay, 0, 40, |_| RTT + stream.below(20_000));
        assert!(queueing < 1e-3, "{queueing}");
        let queueing = rounds(&mut delay, 40 * RTT, 1, |_| RTT + 10_000 + stream.below(10_000));
        assert!(queueing < 1e-3, "the least of a round trip may be chance: {queueing}");
        let queueing = rounds(&mut delay, 41 * RTT, 5, |_| RTT + 60_000 + stream.below(20_000));
        assert!((0.02..0.07).contains(&queueing), "{queueing}");
    }

    /// A dozen consecutive packets, none with a shorter delay.
    #[test]
    fn a_dozen_in_a_row_wait() {
        let mut delay = Delay::new(Duration::from_secs(10));
        let mut wait = |rtt| {
            delay.sample(&acked_sample(RTT, rtt), 1e-4);
            delay.waits(2e-3)
        };
        assert!(!wait(RTT));
        assert_eq!((0..13).map(|_| wait(RTT + 3_000)).filter(|waits| *waits).count(), 2);
        assert!(!wait(RTT + 1_000));
        assert_eq!((0..11).map(|_| wait(RTT + 3_000)).filter(|waits| *waits).count(), 0);
    }

    /// A queue that grows within a round trip does not increase the spread.
    #[test]
    fn growth_is_not_counted_as_jitter() {
        let mut delay = Delay::new(Duration::from_secs(10));
        rounds(&mut delay, 0, 10, |_| RTT);
        rounds(&mut delay, 10 * RTT, 3, |packet| RTT + packet * 100);
        assert!(delay.spread < 1e-3, "{}", delay.spread);
    }

    /// Losses of competing traffic shorten its queue every few seconds. What is seen of that after an interval does not
    /// count for a flow that waits for the next drain since then.
    #[test]
    fn a_queue_shortened_again_does_not_hide_the_end_of_an_interval() {
        let mut delay = Delay::new(Duration::from_secs(60));
        delay.begin_drain(Time::ZERO, Duration::from_secs(3));
        let ages = [(100, 2), (2_000, 2), (4_000, 2), (5_000, 3)].map(|(millis, rtts)| {
            delay.sample(&acked_sample(1_000 * millis, rtts * RTT), 1e-4);
            let now = Time::ZERO + Duration::from_millis(millis);
            (delay.age(now).as_secs_f64(), delay.age_in_interval(now).as_secs_f64())
        });
        assert_eq!(ages, [(0.0, 0.0), (0.0, 0.0), (0.0, 2.0), (1.0, 3.0)]);
    }

    #[test]
    fn a_longer_path_replaces_the_base_delay_in_time() {
        let mut delay = Delay::new(Duration::from_secs(10));
        rounds(&mut delay, 0, 10, |_| RTT);
        assert!(delay.age(Time::ZERO + Duration::from_secs(3)) > Duration::from_secs(1));
        let queueing = rounds(&mut delay, 10 * RTT, 120, |_| 2 * RTT);
        assert!(queueing < 1e-6, "{queueing}");
    }
}
