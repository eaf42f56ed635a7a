//! Queueing-delay control of the source: derives the sending rate from the probed rate.

use super::{Base, RateConfig};
use crate::units::{Duration, Rate, Time};
use crate::window::{RttConfig, RttEstimator};

/// Sending rate of the source.
#[derive(Clone, Debug)]
pub struct Control {
    config: RateConfig,
    /// Sending rate in PDUs per second, the unit of all rates here.
    rate: f64,
    /// Last rate reported by the receiver.
    probed: f64,
    /// Factor that the last step applied to the probed rate, at most 1.
    factor: f64,
    rtt: RttEstimator,
    rtt_config: RttConfig,
    is_measured: bool,
    /// Time of the last STAT, and the number of PDUs acknowledged by then.
    last: Option<(Time, u64)>,
    /// The start-up phase is over: a backlog was observed.
    had_backlog: bool,
    /// Time of the last empty queue.
    empty_at: Time,
    /// Remaining steps of the drain.
    drain_periods_left: u32,
}

/// Periods of a drain: one until its effect is visible, one for the other sources to observe it.
const DRAIN_PERIODS: u32 = 2;

impl Control {
    /// Starts at the initial rate.
    pub fn new(config: RateConfig) -> Self {
        let rtt_config = RttConfig {
            floor: config.poll_floor,
            ceiling: config.poll_ceiling.max(config.poll_floor),
            margin: Duration::ZERO,
            ..RttConfig::default()
        };
        let start = config.start.as_f64() / config.pdu_bits();
        Self {
            config,
            rate: start,
            probed: start,
            factor: 1.0,
            rtt: RttEstimator::new(&rtt_config),
            rtt_config,
            is_measured: false,
            last: None,
            had_backlog: false,
            empty_at: Time::ZERO,
            drain_periods_left: 0,
        }
    }

    /// Returns the current rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_sec((self.rate * self.config.pdu_bits()) as u64)
    }

    /// Returns the current rate in units per second.
    pub fn rate_in_units(&self) -> f64 {
        self.rate * self.config.pdu_bits() / f64::from(self.config.unit.bits())
    }

    /// Returns the timeout of a POLL: the smoothed round-trip time plus four deviations, doubled after each POLL
    /// without an answer. `None` before the first answer.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.is_measured.then(|| self.rtt.timeout())
    }

    /// Handles a POLL timeout.
    pub fn on_poll_timeout(&mut self) {
        self.rtt.back_off(&self.rtt_config);
    }

    /// Handles a USTAT: applies its rate with the correction of the last step.
    pub fn on_ustat(&mut self, probed: Option<Rate>) {
        if let Some(probed) = probed {
            self.probed = self.in_pdus(probed);
            self.set(self.probed * self.factor);
        }
    }

    /// Handles a STAT, received one round trip after its POLL, when `acknowledged` PDUs had been acknowledged in total.
    pub fn on_stat(&mut self, now: Time, rtt: Duration, acknowledged: u64, probed: Option<Rate>) {
        if let Some(probed) = probed {
            self.probed = self.in_pdus(probed);
        }
        self.rtt.sample(&self.rtt_config, rtt);
        self.is_measured = true;
        let last = self.last.replace((now, acknowledged));
        // The delivery rate. Without an earlier STAT there is no queueing delay either, and the value has no effect.
        let delivered = last.map_or(self.rate, |(then, before)| {
            let span = now.since(then).as_secs_f64().max(1e-12);
            (acknowledged - before) as f64 / span
        });
        // Chen and Chen 1999, section 4.4, steps 3 and 4: queueing delay, and VQO = delay * service rate.
        let shortest = self.rtt.min();
        let queueing = rtt.saturating_sub(shortest + self.config.jitter.min(shortest / 4)).as_secs_f64();
        let backlog = delivered * queueing;
        if backlog <= 1.0 {
            self.empty_at = now;
        }
        let rate = self.corrected(backlog, delivered, rtt.as_secs_f64().max(1e-9));
        self.factor = (rate / self.probed).min(1.0);
        self.set(rate);
        self.drain(now);
    }

    /// Applies steps 4 to 6 of the paper, with the configured amendments.
    fn corrected(&mut self, backlog: f64, delivered: f64, rtt_s: f64) -> f64 {
        let RateConfig { alpha, gain, growth, base, .. } = self.config;
        let probed = self.probed;
        // Step 6: with a VQO of at most a PDU the link has capacity left, and the probed rate applies.
        if backlog <= 1.0 {
            return match growth.filter(|_| self.had_backlog) {
                Some(growth) => probed.min((growth * delivered).max(delivered + 1.0 / rtt_s)),
                None => probed,
            };
        }
        self.had_backlog = true;
        let base = match base {
            Base::Probed => probed,
            Base::Delivered => probed.min(delivered),
        };
        // Step 6: one PDU more per round trip. Sources with equal backlogs have equal shares of a FIFO.
        if backlog <= alpha {
            return base + 1.0 / rtt_s;
        }
        // Step 6: at most half of the round trip, as a larger cut would distort the next probe.
        let hold = (gain * (backlog - alpha) / base.max(1e-9)).min(rtt_s / 2.0);
        base * (rtt_s - hold) / rtt_s
    }

    /// Drains the queue periodically, if configured.
    fn drain(&mut self, now: Time) {
        let Some(every) = self.config.drain_interval else { return };
        if self.drain_periods_left > 0 {
            self.drain_periods_left -= 1;
            // The queue is at its minimum.
            self.empty_at = now;
        } else if self.had_backlog && now.since(self.empty_at) >= every {
            self.drain_periods_left = DRAIN_PERIODS;
        }
        if self.drain_periods_left > 0 {
            self.set(self.rate / 2.0);
        }
    }

    fn in_pdus(&self, rate: Rate) -> f64 {
        rate.as_f64() / self.config.pdu_bits()
    }

    /// Sets the rate, at most the link's rate and at least one PDU per round trip.
    fn set(&mut self, rate: f64) {
        let minimum = if self.is_measured { 1.0 / self.rtt.smoothed().as_secs_f64().max(1e-9) } else { 0.0 };
        let maximum = self.config.max.as_f64() / self.config.pdu_bits();
        self.rate = rate.max(minimum).min(maximum).max(1e-6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// PDUs of 1000 octets, so 8 Mbit/s are 1000 PDU/s.
    fn control(config: RateConfig) -> Control {
        Control::new(RateConfig {
            pdu: 1000,
            max: Rate::from_mbits_per_sec(1000),
            start: Rate::from_mbits_per_sec(8),
            ..config
        })
    }

    /// Returns the rate after two STATs 100 ms apart: the first at the minimum round-trip time of 100 ms, the second of
    /// `rtt` with `acked` more PDUs and a probed rate of 2000 PDU/s.
    fn rate_after(config: RateConfig, rtt: u64, acked: u64) -> f64 {
        let mut control = control(config);
        let probed = Some(Rate::from_mbits_per_sec(16));
        control.on_stat(Time::ZERO + MS(100), MS(100), 0, probed);
        assert_eq!(control.rate, 2000.0);
        control.on_stat(Time::ZERO + MS(200), MS(rtt), acked, probed);
        control.rate
    }

    /// Expected values computed by hand from the printed rules: 100 PDUs in 100 ms are 1000 PDU/s.
    #[test]
    fn the_printed_rules() {
        let literal = RateConfig::literal();
        // No delay, no backlog: the probed rate.
        assert_eq!(rate_after(literal, 100, 100), 2000.0);
        // 2 ms x 1000 PDU/s = 2 PDUs: one more in a period of 102 ms.
        assert!((rate_after(literal, 102, 100) - (2000.0 + 1.0 / 0.102)).abs() < 1e-6);
        // 10 PDUs: (10 - 3) / 2000 = a pause of 3.5 ms in a period of 110 ms.
        assert!((rate_after(literal, 110, 100) - 2000.0 * (110.0 - 3.5) / 110.0).abs() < 1e-6);
        // 200 PDUs would take 98.5 ms of 300: less than half. 1000 PDUs: half.
        assert!((rate_after(literal, 300, 100) - 2000.0 * (300.0 - 98.5) / 300.0).abs() < 1e-6);
        assert!((rate_after(literal, 1100, 100) - 2000.0 * (1100.0 - 498.5) / 1100.0).abs() < 1e-6);
        assert!((rate_after(literal, 1100, 300) - 1000.0).abs() < 1e-6);
    }

    /// The same with the amendments: the base is the delivery rate, and half of the backlog is drained.
    #[test]
    fn the_amended_rules() {
        let amended = RateConfig::amended();
        assert!((rate_after(amended, 102, 100) - (1000.0 + 1.0 / 0.102)).abs() < 1e-6);
        // (10 - 3) / 2 / 1000 = 3.5 ms.
        assert!((rate_after(amended, 110, 100) - 1000.0 * (110.0 - 3.5) / 110.0).abs() < 1e-6);
        // Before the first backlog, probing is unbounded; afterwards the bound is 1.1 times the delivery rate.
        assert_eq!(rate_after(amended, 100, 100), 2000.0);
        let mut control = control(amended);
        let probed = Some(Rate::from_mbits_per_sec(16));
        for (at, rtt, acked) in [(100, 100, 0), (200, 110, 100), (300, 100, 200)] {
            control.on_stat(Time::ZERO + MS(at), MS(rtt), acked, probed);
        }
        assert!((control.rate - 1100.0).abs() < 1e-6);
    }

    #[test]
    fn late_answers_do_not_count_as_backlog() {
        let steady = RateConfig { jitter: MS(2), ..RateConfig::amended() };
        // 2 ms count as no delay; 4 ms count as 2 ms.
        assert_eq!(rate_after(steady, 102, 100), 2000.0);
        let more = 1.0 / 0.104;
        assert!((rate_after(steady, 104, 100) - (1000.0 + more)).abs() < 1e-6);
    }

    #[test]
    fn a_ustat_keeps_the_last_correction() {
        let mut control = control(RateConfig::literal());
        let probed = Some(Rate::from_mbits_per_sec(16));
        control.on_stat(Time::ZERO + MS(100), MS(100), 0, probed);
        control.on_stat(Time::ZERO + MS(200), MS(110), 100, probed);
        control.on_ustat(Some(Rate::from_mbits_per_sec(8)));
        assert!((control.rate - 1000.0 * (110.0 - 3.5) / 110.0).abs() < 1e-6);
        control.on_ustat(None);
        assert!((control.rate - 1000.0 * (110.0 - 3.5) / 110.0).abs() < 1e-6);
    }

    /// 100 ms plus four times 50 ms are 300 ms.
    #[test]
    fn time_outs_double_up_to_the_ceiling() {
        for (ceiling, expected) in
            [(1000, [300, 600, 1000, 1000]), (200, [200; 4]), (10_000, [300, 600, 1200, 2400])]
        {
            let mut control = control(RateConfig { poll_ceiling: MS(ceiling), ..RateConfig::amended() });
            control.on_stat(Time::ZERO + MS(100), MS(100), 0, None);
            for millis in expected {
                assert_eq!(control.poll_timeout(), Some(MS(millis)));
                control.on_poll_timeout();
            }
        }
    }

    #[test]
    fn a_drain_follows_a_long_time_without_an_empty_queue() {
        let config = RateConfig { drain_interval: Some(MS(1000)), ..RateConfig::amended() };
        let mut control = control(config);
        let probed = Some(Rate::from_mbits_per_sec(16));
        control.on_stat(Time::ZERO + MS(100), MS(100), 0, probed);
        let mut halved = Vec::new();
        for step in 2..30 {
            control.on_stat(Time::ZERO + MS(100 * step), MS(103), 100 * step, probed);
            if control.rate < 600.0 {
                halved.push(step);
            }
        }
        // Last empty at 0.1 s: the drain starts at 1.1 s and lasts two periods; the next starts at least 1 s after its
        // end.
        assert_eq!(halved, [11, 12, 23, 24]);
    }
}
