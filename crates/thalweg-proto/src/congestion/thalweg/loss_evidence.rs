//! Evidence on the origin of losses: a path loses packets at any rate, a full queue or a policer only at the higher one.
//!
//! A loss beyond the known loss rate of the path is congestion, and the flow responds as CUBIC does. The response is
//! the experiment: if losses are as frequent at the reduced rate, they are the path's, and the response is undone.
//! Loss events are counted: consecutive lost packets are one event, since paths lose in bursts.

use core::ops::RangeInclusive;

/// Number of packets after which counts are halved: those of the path, and recent ones.
const PATH_MEMORY_PACKETS: f64 = 20_000.0;
const RECENT_MEMORY_PACKETS: f64 = 4_000.0;
/// Number of standard deviations above the path's losses at which those of a round trip indicate congestion.
const CONGESTION_DEVIATIONS: f64 = 4.0;
/// Loss events that may be chance beyond that, where the path is known to lose packets: few events are not normally
/// distributed.
const CHANCE_EVENTS: f64 = 1.0;
/// Number of standard deviations, and events, above the losses of the trial at which those of the last round trip before
/// the response were sudden, as at a policer whose bucket is empty: they are not the path's.
const SUDDEN_LOSSES: (f64, f64) = (3.0, 1.0);
/// Number of standard deviations below the expected losses at which losses are significantly fewer.
const FEWER_LOSSES_DEVIATIONS: f64 = 1.7;
/// Maximum share of packets whose loss is attributed to the path, as few usable paths lose more, and number of standard
/// deviations above it from which that is significant. A flow that continues to send at 20 % loss can contribute to
/// congestion collapse (RFC 9743, section 5.1.1).
const MAX_SHARE: f64 = 0.17;
const SHARE_DEVIATIONS: f64 = 3.0;
/// Loss events at the reduced rate that decide a trial: a minimum, and as a multiple of the loss rate before. At a
/// high rate of losses a chance decrease is more likely, as more trials are made.
const PROOF_EVENTS: f64 = 3.0;
const PROOF_BY_RATE: f64 = 200.0;
/// Ratio of the loss rate at the reduced rate to that before within which losses persist.
const PERSISTING_LOSS_RATIO: RangeInclusive<f64> = 0.7..=3.0;
/// Expected events from which a loss rate below half of the former one ends a trial, and from which any other result
/// does.
const DECREASE_EVENTS: f64 = 10.0;
const DECREASED_LOSS_RATIO: f64 = 0.5;
const MAX_EVENTS: f64 = 40.0;
/// Round trips after which the queue of the former window has drained.
const DRAIN_ROUND_TRIPS: u32 = 1;
/// Share of the former window above which the rate is no longer reduced.
const MIN_REDUCED_WINDOW_SHARE: f64 = 0.85;

/// Counts of packets, lost packets and loss events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossCounts {
    pub sent: f64,
    pub lost: f64,
    pub events: f64,
}

impl LossCounts {
    /// Returns the share of packets lost.
    pub fn share(self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }

    /// Returns the loss events per packet.
    pub fn rate(self) -> f64 {
        if self.sent > 0.0 { self.events / self.sent } else { 0.0 }
    }

    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.events += other.events;
    }

    /// Returns true if the events exceed the `expected` number by more than chance, with an `allowance` of events.
    pub fn exceeds(self, expected: f64, allowance: f64) -> bool {
        self.events > expected + CONGESTION_DEVIATIONS * expected.sqrt() + allowance
    }

    /// Adds counts, halving the earlier ones beyond `memory` packets.
    fn add_to_memory(&mut self, other: Self, memory: f64) {
        self.add(other);
        if self.sent > memory {
            *self = Self { sent: self.sent / 2.0, lost: self.lost / 2.0, events: self.events / 2.0 };
        }
    }

    /// Returns true if there are significantly fewer events than at `rate` events per packet.
    fn is_fewer_than(self, rate: f64) -> bool {
        let expected = rate * self.sent;
        self.events < expected - FEWER_LOSSES_DEVIATIONS * expected.sqrt()
    }
}

/// Losses known as the path's, and the current trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// Packets sent while only the path lost packets.
    path_losses: LossCounts,
    /// Packets sent since the last response to losses.
    recent: LossCounts,
    trial: Option<Trial>,
    /// Packets of drains that have not yet been evaluated.
    control: LossCounts,
    /// Loss events per packet that are the path's without proof.
    tolerated: f64,
}

/// Response to losses, until their origin is known.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// Window before the response, in bytes.
    window: f64,
    high: LossCounts,
    /// Packets of the last round trip before the response, some of which are answered after it.
    last: LossCounts,
    /// Finished round trips.
    rounds: u32,
}

impl Trial {
    /// Returns true if the last round trip before the response lost more packets than at `rate` events per packet.
    fn is_sudden(&self, rate: f64) -> bool {
        let expected = self.last.sent * rate;
        self.last.events > expected + SUDDEN_LOSSES.0 * expected.sqrt() + SUDDEN_LOSSES.1
    }
}

impl Evidence {
    /// Creates the evidence of a flow that attributes this share of its packets to the path without proof.
    pub fn tolerating(share: f64) -> Self {
        Self { tolerated: share, ..Self::default() }
    }

    /// Returns the loss events per packet that are attributed to the path: one standard deviation below the estimate,
    /// so that few losses prove little.
    pub fn rate(&self) -> f64 {
        let events = self.path_losses.events;
        if self.path_losses.sent > 0.0 {
            (events - events.sqrt()).max(0.0) / self.path_losses.sent
        } else {
            0.0
        }
    }

    /// Returns true if the losses of a round trip of `round` packets exceed the path's and those tolerated; `tally` counts those known so
    /// far.
    pub fn exceeded_by(&self, tally: LossCounts, round: f64) -> bool {
        let packets = tally.sent.max(round);
        let (expected, tolerated) = (self.path_losses.rate() * packets, self.tolerated * packets);
        // Both counts vary: that of this round trip, and that of the known losses.
        let variance = expected * (1.0 + expected / self.path_losses.events.max(1.0));
        let allowance = if expected > 0.0 { CHANCE_EVENTS } else { 0.0 };
        let explained = expected + CONGESTION_DEVIATIONS * variance.sqrt() + allowance;
        tally.events > explained.max(tolerated + CONGESTION_DEVIATIONS * tolerated.sqrt())
            || self.surely_exceeds_max_share(tally)
    }

    /// Returns true if more of the recent packets are lost than on any usable path.
    pub fn is_hopeless(&self) -> bool {
        self.surely_exceeds_max_share(self.recent)
    }

    /// Returns the maximum share of packets whose loss is attributed to the path.
    fn max_share(&self) -> f64 {
        MAX_SHARE.max(self.tolerated)
    }

    /// Returns true if more than that share of the packets of `tally` is lost.
    pub fn exceeds_max_share(&self, tally: LossCounts) -> bool {
        tally.share() > self.max_share()
    }

    /// Returns true if that is more than chance.
    fn surely_exceeds_max_share(&self, tally: LossCounts) -> bool {
        let (expected, burst) = (self.max_share() * tally.sent, tally.lost / tally.events.max(1.0));
        tally.lost > expected + SHARE_DEVIATIONS * (expected * burst).sqrt()
    }

    /// Counts packets; `in_drain` marks those sent at a reduced rate for another reason than losses.
    pub fn count(&mut self, tally: LossCounts, in_drain: bool) {
        self.recent.add_to_memory(tally, RECENT_MEMORY_PACKETS);
        if in_drain {
            self.control.add(tally);
        }
    }

    /// Evaluates the packets of drains, once enough losses are expected among them. If they lost fewer than at the full
    /// rate, the others were congestion.
    pub fn evaluate_drains(&mut self) {
        if self.path_losses.rate() * self.control.sent < PROOF_EVENTS {
            return;
        }
        let control = core::mem::take(&mut self.control);
        let high = self.recent.rate();
        let are_fewer = control.is_fewer_than(self.path_losses.rate())
            || control.rate() < *PERSISTING_LOSS_RATIO.start() * high && control.is_fewer_than(high);
        if are_fewer {
            self.path_losses = control;
        } else {
            self.path_losses.add_to_memory(control, PATH_MEMORY_PACKETS);
        }
    }

    /// Returns true while the origin of losses is undecided.
    pub fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Begins a trial with the reduction of a window of `window` bytes; `last` counts the packets of the round trip
    /// answered so far. Nothing is proven by losses that no path has.
    pub fn begin(&mut self, window: f64, last: LossCounts) {
        let high = core::mem::take(&mut self.recent);
        self.trial = (!self.exceeds_max_share(high)).then_some(Trial { window, high, last, rounds: 0 });
    }

    /// Counts packets that were sent before the response, and answered after it.
    pub fn count_earlier(&mut self, tally: LossCounts) {
        if let Some(trial) = &mut self.trial {
            trial.last.add(tally);
        }
    }

    /// Ends a trial without a result: the losses remain congestion.
    pub fn abandon(&mut self) {
        self.trial = None;
    }

    /// Ends a round trip; returns true if its queueing delay is that of the reduced rate.
    pub fn end_round(&mut self) -> bool {
        self.trial.as_mut().is_some_and(|trial| {
            trial.rounds += 1;
            trial.rounds > DRAIN_ROUND_TRIPS
        })
    }

    /// Decides the trial, at this window in bytes. Returns the window before the response if the losses are the
    /// path's.
    pub fn decide(&mut self, window: f64) -> Option<f64> {
        let trial = self.trial?;
        let (low, high) = (self.recent, trial.high.rate());
        if window > MIN_REDUCED_WINDOW_SHARE * trial.window {
            self.trial = None;
            return None;
        }
        if trial.rounds <= DRAIN_ROUND_TRIPS {
            return None;
        }
        let is_enough = low.events >= PROOF_EVENTS.max(PROOF_BY_RATE * high);
        let ratio = low.rate() / high;
        if is_enough && trial.is_sudden(low.rate()) {
            self.trial = None;
            return None;
        }
        if is_enough && PERSISTING_LOSS_RATIO.contains(&ratio) && !self.exceeds_max_share(low) {
            self.path_losses.add_to_memory(low, PATH_MEMORY_PACKETS);
            self.path_losses.add_to_memory(trial.high, PATH_MEMORY_PACKETS);
            (self.trial, self.recent) = (None, LossCounts::default());
            return Some(trial.window);
        }
        let expected = low.sent * high;
        let is_refuted = is_enough && ratio > *PERSISTING_LOSS_RATIO.end()
            || expected >= DECREASE_EVENTS && ratio < DECREASED_LOSS_RATIO
            || expected >= MAX_EVENTS;
        if is_refuted {
            self.trial = None;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(sent: f64, events: f64) -> LossCounts {
        LossCounts { sent, lost: events, events }
    }

    /// Returns the result of a trial with these packets before and after a reduction from 1000 to 700 bytes.
    fn decide(high: LossCounts, low: LossCounts) -> (Option<f64>, Evidence) {
        let mut evidence = Evidence::default();
        evidence.count(high, false);
        evidence.begin(1000.0, LossCounts::default());
        assert_eq!([evidence.end_round(), evidence.end_round()], [false, true]);
        assert_eq!(evidence.decide(700.0), None);
        evidence.count(low, false);
        (evidence.decide(700.0), evidence)
    }

    #[test]
    fn any_loss_is_congestion_until_losses_are_known() {
        let mut evidence = Evidence::default();
        assert!(evidence.exceeded_by(tally(1.0, 1.0), 800.0));
        evidence.path_losses = tally(10_000.0, 100.0);
        // 8 events are expected in a round trip of 800 packets, whose first half has arrived.
        assert!(!evidence.exceeded_by(tally(400.0, 20.0), 800.0));
        assert!(evidence.exceeded_by(tally(400.0, 21.0), 800.0));
        // Few paths lose more than a sixth; of few packets, or of a few bursts, that may be chance.
        evidence.path_losses = tally(1000.0, 200.0);
        assert!(evidence.exceeded_by(tally(2000.0, 400.0), 2000.0));
        assert!(!evidence.exceeded_by(tally(1000.0, 200.0), 2000.0));
        let bursts = LossCounts { sent: 2000.0, lost: 400.0, events: 50.0 };
        assert!(!evidence.exceeded_by(bursts, 2000.0));
    }

    #[test]
    fn losses_that_persist_at_the_reduced_rate_are_the_paths() {
        let (before, evidence) = decide(tally(1000.0, 10.0), tally(400.0, 4.0));
        assert_eq!((before, evidence.is_trial()), (Some(1000.0), false));
        assert_near(evidence.rate(), (14.0 - 14f64.sqrt()) / 1400.0);
        let (before, evidence) = decide(tally(1000.0, 10.0), tally(200.0, 2.0));
        assert_eq!((before, evidence.is_trial(), evidence.rate()), (None, true, 0.0), "too few to decide");
        let (before, evidence) = decide(tally(1000.0, 40.0), tally(150.0, 6.0));
        assert_eq!((before, evidence.is_trial()), (None, true), "too few at this rate");
    }

    #[test]
    fn losses_that_change_with_the_rate_are_congestion() {
        for (high, low) in [
            (tally(1000.0, 10.0), tally(1000.0, 4.0)),
            (tally(1000.0, 10.0), tally(4000.0, 26.0)),
            (tally(1000.0, 10.0), tally(100.0, 4.0)),
            (tally(1000.0, 0.0), tally(100.0, 3.0)),
        ] {
            let (before, evidence) = decide(high, low);
            assert_eq!((before, evidence.is_trial(), evidence.rate()), (None, false, 0.0), "{low:?}");
        }
        // No path loses a third, and none is tried.
        let mut evidence = Evidence::default();
        evidence.count(tally(90.0, 30.0), false);
        evidence.begin(1000.0, LossCounts::default());
        assert!(!evidence.is_trial());
    }

    /// A policer whose bucket is empty loses suddenly, and as much at the lower rate.
    #[test]
    fn sudden_losses_are_not_the_paths() {
        for (last, expected) in [(5.0, Some(1000.0)), (6.0, None)] {
            let mut evidence = Evidence::default();
            evidence.count(tally(1000.0, 10.0), false);
            evidence.begin(1000.0, tally(50.0, 2.0));
            evidence.count_earlier(tally(50.0, last - 2.0));
            assert_eq!([evidence.end_round(), evidence.end_round()], [false, true]);
            evidence.count(tally(400.0, 4.0), false);
            assert_eq!((evidence.decide(700.0), evidence.is_trial()), (expected, false), "{last}");
        }
    }

    /// A window that has regrown measures nothing.
    #[test]
    fn a_trial_ends_with_the_reduction() {
        let mut evidence = Evidence::default();
        evidence.count(tally(1000.0, 10.0), false);
        evidence.begin(1000.0, LossCounts::default());
        evidence.count(tally(1000.0, 10.0), false);
        assert_eq!((evidence.decide(860.0), evidence.is_trial(), evidence.rate()), (None, false, 0.0));
    }

    /// Packets of drains replace the estimate if they lose significantly less, and confirm it otherwise.
    #[test]
    fn drains_correct_what_is_known() {
        for (events, expected) in [(0.0, 0.0), (3.0, (13.0 - 13f64.sqrt()) / 1300.0)] {
            let mut evidence = Evidence { path_losses: tally(1000.0, 10.0), ..Evidence::default() };
            evidence.count(tally(200.0, events), true);
            evidence.evaluate_drains();
            assert_eq!(evidence.path_losses.sent, 1000.0, "two events are too few");
            evidence.count(tally(100.0, 0.0), true);
            evidence.evaluate_drains();
            assert!((evidence.rate() - expected).abs() < 1e-9, "{events}");
        }
    }

    fn assert_near(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9, "{value} for {wanted}");
    }
}
