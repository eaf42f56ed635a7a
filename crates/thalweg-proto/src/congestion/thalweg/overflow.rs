//! Losses of an overflowing queue: they occur where delays peak.
//!
//! A path loses packets at any delay; a full queue loses packets whose neighbours have the longest delays. So the delay
//! around a loss is ranked among the delays of packets sent within a round trip before and after it. None of these
//! packets can be a response to the loss. Ranks are uniform for the path's own losses, and high for a queue's. (Delays
//! around losses also distinguish radio losses from congestion in Cen, Cosman and Voelker 2003, by thresholds.)

use crate::units::{Duration, Time};

/// Slices per round trip, and slices kept: the middle one is ranked.
const SLICES: u32 = 8;
const REMEMBERED: usize = 2 * SLICES as usize + 1;
/// Approximate number of ranks in the mean, and minimum number for a conclusion.
const MEMORY: f32 = 32.0;
const ENOUGH: f32 = 12.0;
/// Minimum mean rank at which losses are attributed to a queue: half-way from chance to always the longest.
const HIGH: f32 = 0.75;

/// Packet delays by transmission time, with the rank of losses among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overflow {
    /// Slices, oldest first.
    slices: [Slice; REMEMBERED],
    /// Mean rank of slices with losses, from 0 (shortest delay) to 1, and their number.
    rank: f32,
    ranked: f32,
    /// Mean delay of these slices.
    delay: f32,
}

/// Packets sent in an eighth of a round trip.
#[derive(Clone, Copy, Debug)]
struct Slice {
    began: Time,
    delay: f32,
    count: f32,
    lost: bool,
}

impl Overflow {
    pub const NONE: Self = Self {
        slices: [Slice { began: Time::ZERO, delay: 0.0, count: 0.0, lost: false }; REMEMBERED],
        rank: 0.0,
        ranked: 0.0,
        delay: 0.0,
    };

    /// Records the delay, in seconds, of a packet sent at `sent_at`.
    pub fn sample(&mut self, sent_at: Time, delay: f64, rtt: Duration) {
        let delay = delay as f32;
        let newest = &mut self.slices[REMEMBERED - 1];
        if newest.count > 0.0 && sent_at < newest.began + rtt / u64::from(SLICES) {
            if sent_at >= newest.began {
                newest.count += 1.0;
                newest.delay += (delay - newest.delay) / newest.count;
            }
            return;
        }
        self.slices.copy_within(1.., 0);
        self.slices[REMEMBERED - 1] = Slice { began: sent_at, delay, count: 1.0, lost: false };
        self.rank_middle();
    }

    /// Records the loss of a packet sent at `sent_at`.
    pub fn lost(&mut self, sent_at: Time) {
        let slice = self.slices.iter_mut().rev().find(|slice| slice.count > 0.0 && slice.began <= sent_at);
        if let Some(slice) = slice {
            slice.lost = true;
        }
    }

    fn rank_middle(&mut self) {
        let middle = self.slices[REMEMBERED / 2];
        // The newest slice is incomplete.
        let others = &self.slices[..REMEMBERED - 1];
        if !middle.lost || self.slices[0].count == 0.0 {
            return;
        }
        let below = others.iter().filter(|slice| slice.delay < middle.delay).count() as f32;
        let same = others.iter().filter(|slice| slice.delay == middle.delay).count() as f32 - 1.0;
        let rank = (below + same / 2.0) / (others.len() - 1) as f32;
        self.ranked = (self.ranked + 1.0).min(MEMORY);
        self.rank += (rank - self.rank) / self.ranked;
        self.delay += (middle.delay - self.delay) / self.ranked;
    }

    /// Returns the delay at which the lossy queue overflows, if there is one.
    pub fn full(&self) -> Option<f64> {
        (self.ranked >= ENOUGH && self.rank > HIGH).then_some(f64::from(self.delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    const RTT: Duration = Duration::from_millis(80);

    /// Sends sixteen thousand packets, ten per slice, with delays that vary by 20 ms; `is_lost` selects lost packets by
    /// delay, as a share of the maximum.
    fn full(mut is_lost: impl FnMut(f64) -> bool) -> Option<f64> {
        let mut overflow = Overflow::NONE;
        for packet in 0..16_000u64 {
            let sent_at = Time::ZERO + Duration::from_millis(packet);
            let share = (1.0 + libm::sin(packet as f64 / 30.0)) / 2.0;
            if is_lost(share) {
                overflow.lost(sent_at);
            } else {
                overflow.sample(sent_at, 0.02 * share, RTT);
            }
        }
        overflow.full()
    }

    #[test]
    fn losses_at_the_longest_delays_are_attributed_to_a_queue() {
        let delay = full(|share| share > 0.98).expect("a queue overflows");
        assert!((0.015..0.02).contains(&delay), "{delay}");
    }

    #[test]
    fn losses_at_any_delay_are_attributed_to_the_path() {
        for percent in [1, 10] {
            let mut stream = Stream::new(3, "losses", percent);
            assert_eq!(full(|_| stream.below(100) < percent), None, "{percent} %");
        }
    }

    /// Constant delays reveal nothing, nor do few losses.
    #[test]
    fn constant_delays_and_few_losses_give_no_result() {
        let mut overflow = Overflow::NONE;
        for packet in 0..2_000u64 {
            let sent_at = Time::ZERO + Duration::from_millis(packet);
            overflow.sample(sent_at, 0.01, RTT);
            overflow.lost(sent_at);
        }
        assert!(overflow.ranked > ENOUGH);
        assert_eq!(overflow.full(), None);
        let mut losses = 0;
        assert_eq!(
            full(|share| {
                losses += u32::from(share > 0.999);
                share > 0.999 && losses < 3
            }),
            None
        );
    }
}
