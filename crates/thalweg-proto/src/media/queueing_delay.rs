//! Queueing delay: its measurement (RFC 6817, section 3.1), its average (section 4.2.1.4), and its target, which rises
//! where loss-based flows fill the queue (section 4.2.1.4.1).

use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Number of minutes with a base delay each (BASE_HISTORY of RFC 6817, section 2.5).
const BASE_HISTORY: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// QDELAY_TARGET_LO and QDELAY_TARGET_HI in seconds.
pub(super) const TARGET_LO: f64 = 0.06;
const TARGET_HI: f64 = 0.4;
/// QDELAY_AVG_G.
const AVERAGE_GAIN: f64 = 0.25;
/// Number of samples for the variance, and for the average.
const VARIANCE_SAMPLES: usize = 200;
const AVERAGE_SAMPLES: usize = 50;
/// Loss event rate above which loss-based flows are assumed to compete.
const LOSS_RATE: f64 = 0.002;
/// Weight of a round trip in the loss event rate.
const LOSS_GAIN: f64 = 0.01;
/// Variance below which a queue counts as kept full by others.
const STEADY_VARIANCE: f64 = 0.2;

/// Unit of relative one-way delays, in seconds.
const DELAY_UNIT: f64 = 1.0 / 65_536.0;

/// Queueing delay on the path to the receiver.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    /// Minimum relative delay of each minute, the current one last, in 1/65536 s modulo 2^32.
    bases: VecDeque<u32>,
    minute: Time,
    /// Last queueing delay, in seconds.
    now: f64,
    /// qdelay_avg.
    average: f64,
    averaged: Time,
    /// qdelay_target.
    target: f64,
    /// Delays relative to [`TARGET_LO`].
    history: VecDeque<f64>,
    /// loss_event_rate.
    loss_rate: f64,
    competes: bool,
}

impl Delay {
    pub fn new(competes: bool) -> Self {
        Self {
            bases: VecDeque::new(),
            minute: Time::ZERO,
            now: 0.0,
            average: 0.0,
            averaged: Time::ZERO,
            target: TARGET_LO,
            history: VecDeque::new(),
            loss_rate: 0.0,
            competes,
        }
    }

    /// Returns the last delay in seconds.
    pub const fn last(&self) -> f64 {
        self.now
    }

    /// Returns the average in seconds.
    pub const fn average(&self) -> f64 {
        self.average
    }

    /// Returns the target in seconds.
    pub const fn target(&self) -> f64 {
        self.target
    }

    /// Records the relative one-way delay of a packet, from unsynchronised clocks.
    pub fn measure(&mut self, now: Time, relative: u32) {
        if self.bases.is_empty() || now.since(self.minute) >= MINUTE {
            self.minute = now;
            // RFC 6817, section 2.5: a base expires; otherwise a longer route would look like a queue
            // forever.
            self.bases.push_back(relative);
            if self.bases.len() > BASE_HISTORY {
                self.bases.pop_front();
            }
        }
        let above = |base: u32| relative.wrapping_sub(base) as i32;
        if let Some(current) = self.bases.back_mut().filter(|base| above(**base) < 0) {
            *current = relative;
        }
        // The excess over the minimum base is the largest.
        let maximum = self.bases.iter().map(|base| above(*base)).max().unwrap_or(0);
        self.now = f64::from(maximum.max(0)) * DELAY_UNIT;
    }

    /// Updates the average and the target, once per `every`.
    pub fn update(&mut self, now: Time, every: Duration) {
        if now.since(self.averaged) < every {
            return;
        }
        self.averaged = now;
        // Slow attack, fast decay.
        self.average = self.now.min(AVERAGE_GAIN * self.now + (1.0 - AVERAGE_GAIN) * self.average);
        if self.competes {
            self.adjust_target();
        }
    }

    /// Records the end of a round trip, with or without a loss.
    pub fn end_round(&mut self, is_loss: bool) {
        self.loss_rate += LOSS_GAIN * (f64::from(u8::from(is_loss)) - self.loss_rate);
    }

    /// Section 4.2.1.4.1, adjust_qdelay_target.
    fn adjust_target(&mut self) {
        self.history.push_back(self.now / TARGET_LO);
        if self.history.len() > VARIANCE_SAMPLES {
            self.history.pop_front();
        }
        let mean =
            |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count.max(1) as f64;
        let all = mean(&mut self.history.iter().copied(), self.history.len());
        let variance = mean(&mut self.history.iter().map(|of| (of - all) * (of - all)), self.history.len());
        let recent = self.history.len().min(AVERAGE_SAMPLES);
        let average = mean(&mut self.history.iter().rev().take(recent).copied(), recent);
        let new = (average + variance.sqrt()) * TARGET_LO;
        let target = if self.loss_rate > LOSS_RATE {
            1.5 * new
        } else if variance < STEADY_VARIANCE {
            new
        } else if new < TARGET_LO {
            new.max(self.target * 0.5)
        } else {
            self.target * 0.9
        };
        self.target = target.clamp(TARGET_LO, TARGET_HI);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Converts milliseconds to the unit of delays.
    fn units(millis: u32) -> u32 {
        millis * 65_536 / 1000
    }

    const SAMPLE_INTERVAL: Duration = Duration::from_millis(25);

    /// RFC 6817, sections 2.4.2 and 3.1: the queueing delay is the excess over the minimum of ten minutes, for any
    /// clock offset.
    #[test]
    fn queueing_delay_is_above_the_least() {
        let offset = 0xFFFF_F000;
        let mut delay = Delay::new(true);
        let mut after = |secs: u64, millis: u32| {
            delay.measure(at(secs * 1000), units(millis).wrapping_add(offset));
            (delay.last() * 1000.0).round()
        };
        assert_eq!([after(0, 30), after(1, 50), after(2, 20), after(3, 100)], [0.0, 20.0, 0.0, 80.0]);
        // After ten minutes a longer path no longer counts as a queue.
        for minute in 1..10 {
            assert_eq!(after(minute * 60 + 5, 60), 40.0, "minute {minute}");
        }
        assert_eq!(after(605, 60), 0.0);
    }

    /// Section 4.2.1.4: the average follows an increase by a quarter, and a decrease at once.
    #[test]
    fn the_average_attacks_slowly_and_decays_fast() {
        let mut delay = Delay::new(false);
        let mut after = |millis: u64, queue: u32| {
            delay.measure(at(millis), units(1000 + queue));
            delay.update(at(millis), SAMPLE_INTERVAL);
            (delay.average() * 1000.0).round()
        };
        assert_eq!([after(25, 0), after(50, 80), after(60, 200), after(75, 80)], [0.0, 20.0, 20.0, 35.0]);
        assert_eq!(after(100, 10), 10.0);
    }

    /// Section 4.2.1.4.1: a steady queue raises the target to its delay, at most QDELAY_TARGET_HI, and losses to 1.5
    /// times that. Without a queue the target returns to QDELAY_TARGET_LO.
    #[test]
    fn the_target_follows_loss_based_flows() {
        let hold = |delay: &mut Delay, from: u64, queue: u32, rounds: u64| {
            for round in 0..rounds {
                let now = at((from + round) * 25);
                delay.measure(now, units(1000 + queue));
                delay.update(now, SAMPLE_INTERVAL);
            }
            (delay.target() * 1000.0).round()
        };
        let mut delay = Delay::new(true);
        assert_eq!(hold(&mut delay, 1, 0, 10), 60.0);
        assert_eq!(hold(&mut delay, 11, 150, 400), 150.0);
        delay.end_round(true);
        assert_eq!(hold(&mut delay, 411, 150, 1), 225.0);
        assert_eq!(hold(&mut delay, 412, 390, 300), 400.0);
        for _ in 0..500 {
            delay.end_round(false);
        }
        assert_eq!(hold(&mut delay, 712, 0, 400), 60.0);
        let mut alone = Delay::new(false);
        assert_eq!(hold(&mut alone, 1, 0, 1), 60.0);
        assert_eq!(hold(&mut alone, 2, 150, 400), 60.0);
    }
}
