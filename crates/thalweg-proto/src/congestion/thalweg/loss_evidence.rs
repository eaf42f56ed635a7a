//! Evidence on the origin of losses: a path loses packets at any rate, a full queue or a policer only at the higher one.
//!
//! Losses beyond the known loss rate of the path are congestion, and the flow responds as CUBIC does. The response is
//! the experiment: if losses are as frequent at the reduced rate, they are the path's, and the response is undone.
//! Loss events are counted: consecutive lost packets are one event, since paths lose in bursts. Their excess over those
//! of the path, and their deficit, are cumulative sums (Page 1954), which detect a small change if it lasts.

use core::ops::RangeInclusive;

/// Number of packets after which counts are halved: those of the path, and recent ones.
const PATH_MEMORY_PACKETS: f64 = 20_000.0;
const RECENT_MEMORY_PACKETS: f64 = 4_000.0;
/// Number of standard deviations of the path's losses in a round trip, and of loss events beyond, from which an excess
/// indicates congestion: few events are not normally distributed.
const CONGESTION_DEVIATIONS: f64 = 4.0;
const CHANCE_EVENTS: f64 = 3.0;
/// Number of standard deviations by which the path's losses may exceed their estimate.
const ESTIMATE_DEVIATIONS: f64 = 2.0;
/// Missing loss events, beyond the same deviations, from which the path loses fewer packets than before.
const MISSING_EVENTS: f64 = 10.0;
/// Number of standard deviations, and events, above the losses of the trial at which those of the last round trip before
/// the response were sudden, as at a policer whose bucket is empty: they are not the path's.
const SUDDEN_LOSSES: (f64, f64) = (3.0, 1.0);
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
}

/// Losses known as the path's, and the current trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// Packets sent while only the path lost packets.
    path_losses: LossCounts,
    /// Packets sent since the last response to losses.
    recent: LossCounts,
    trial: Option<Trial>,
    /// Loss events per packet that are the path's without proof.
    tolerated: f64,
    /// Loss events in excess of those of the path; at least 0.
    excess: f64,
    /// Loss events missing from those of the path; at least 0.
    deficit: f64,
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

    /// Returns true if more packets are lost than by the path, and more than tolerated; a round trip has `round` packets.
    /// After a response each further loss exceeds as well, until the excess has fallen.
    pub fn is_exceeded(&mut self, round: f64) -> bool {
        let expected = self.path_losses.rate().max(self.tolerated) * round;
        if expected == 0.0 {
            return true;
        }
        let limit = CHANCE_EVENTS + CONGESTION_DEVIATIONS * expected.sqrt();
        let is_exceeded = self.excess >= limit;
        self.excess = self.excess.min(limit);
        is_exceeded
    }

    /// Returns the loss events per packet that are not counted as an excess.
    fn explained(&self) -> f64 {
        let events = self.path_losses.events;
        let path = if events > 0.0 {
            (events + ESTIMATE_DEVIATIONS * events.sqrt()) / self.path_losses.sent
        } else {
            0.0
        };
        path.max(self.tolerated)
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

    /// Counts packets.
    pub fn count(&mut self, tally: LossCounts) {
        self.recent.add_to_memory(tally, RECENT_MEMORY_PACKETS);
        self.excess = (self.excess + tally.events - self.explained() * tally.sent).max(0.0);
        let persisting = PERSISTING_LOSS_RATIO.start() * self.rate();
        self.deficit = (self.deficit + persisting * tally.sent - tally.events).max(0.0);
    }

    /// Forgets the path's losses if they are no longer as frequent; a round trip has `round` packets. Otherwise the overflow
    /// of a queue could take their place.
    pub fn forget_former_losses(&mut self, round: f64) {
        let limit = MISSING_EVENTS + CONGESTION_DEVIATIONS * (self.rate() * round).sqrt();
        if self.deficit > limit {
            (self.path_losses, self.deficit) = (LossCounts::default(), 0.0);
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
            // At the higher rate the queue may have overflowed as well.
            self.path_losses.add_to_memory(low, PATH_MEMORY_PACKETS);
            (self.trial, self.recent) = (None, LossCounts::default());
            (self.excess, self.deficit) = (0.0, 0.0);
            return Some(trial.window);
        }
        let expected = low.sent * high;
        let is_decreased = expected >= DECREASE_EVENTS && ratio < DECREASED_LOSS_RATIO;
        if is_decreased && self.path_losses.events > 0.0 {
            // Those that remain are the path's.
            self.path_losses.add_to_memory(low, PATH_MEMORY_PACKETS);
        }
        let is_refuted =
            is_enough && ratio > *PERSISTING_LOSS_RATIO.end() || is_decreased || expected >= MAX_EVENTS;
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
        evidence.count(high);
        evidence.begin(1000.0, LossCounts::default());
        assert_eq!([evidence.end_round(), evidence.end_round()], [false, true]);
        assert_eq!(evidence.decide(700.0), None);
        evidence.count(low);
        (evidence.decide(700.0), evidence)
    }

    #[test]
    fn any_loss_is_congestion_until_losses_are_known() {
        let mut evidence = Evidence::default();
        assert!(evidence.is_exceeded(800.0));
        evidence.path_losses = tally(10_000.0, 100.0);
        // Of 1000 packets the path may lose 12, two standard deviations above the estimate. In a round trip of 800 packets
        // 14.3 events more may be chance.
        evidence.count(tally(1000.0, 26.0));
        assert!(!evidence.is_exceeded(800.0));
        evidence.count(tally(0.0, 1.0));
        assert!(evidence.is_exceeded(800.0));
    }

    /// "Losses": twice as many losses as the path's are congestion, if that lasts. (A flow in a queue shorter than its target
    /// lost 2.4 % instead of the path's 1 % for ever, and others starved.)
    #[test]
    fn a_small_excess_that_lasts_is_congestion() {
        for (events, expected) in [(2.0, Some(9)), (1.0, None)] {
            let mut evidence = Evidence { path_losses: tally(10_000.0, 100.0), ..Evidence::default() };
            let mut exceeded = (1..1000).filter(|_| {
                evidence.count(tally(100.0, events));
                evidence.is_exceeded(100.0)
            });
            assert_eq!(exceeded.next(), expected, "{events}");
            assert_eq!(exceeded.next(), expected.map(|round| round + 1), "{events}");
        }
    }

    /// "Losses": a path that loses fewer packets than before is unknown. (Overflows of a short queue took the place of losses that
    /// had ended.)
    #[test]
    fn losses_that_end_are_forgotten() {
        // Of each round trip of 400 packets 2.5 events are missing, and 10 + 4 sqrt(3.6) may be chance.
        for (events, expected) in [(0.0, Some(6)), (3.0, None)] {
            let mut evidence = Evidence { path_losses: tally(10_000.0, 100.0), ..Evidence::default() };
            let forgotten = (0..1000).find(|_| {
                evidence.count(tally(400.0, events));
                evidence.forget_former_losses(400.0);
                evidence.rate() == 0.0
            });
            assert_eq!(forgotten, expected, "{events}");
        }
    }

    /// Losses that remain after a response that helped are the path's.
    #[test]
    fn losses_at_the_reduced_rate_correct_the_estimate() {
        for (known, expected) in [(tally(1000.0, 20.0), (3000.0, 30.0)), (tally(0.0, 0.0), (0.0, 0.0))] {
            let mut evidence = Evidence { path_losses: known, ..Evidence::default() };
            evidence.count(tally(1000.0, 20.0));
            evidence.begin(1000.0, LossCounts::default());
            (0..2).for_each(|_| _ = evidence.end_round());
            evidence.count(tally(2000.0, 10.0));
            assert_eq!((evidence.decide(700.0), evidence.is_trial()), (None, false));
            assert_eq!((evidence.path_losses.sent, evidence.path_losses.events), expected);
        }
    }

    #[test]
    fn losses_that_persist_at_the_reduced_rate_are_the_paths() {
        let (before, evidence) = decide(tally(1000.0, 10.0), tally(400.0, 4.0));
        assert_eq!((before, evidence.is_trial()), (Some(1000.0), false));
        assert_eq!(evidence.rate(), (4.0 - 4f64.sqrt()) / 400.0);
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
        evidence.count(tally(90.0, 30.0));
        evidence.begin(1000.0, LossCounts::default());
        assert!(!evidence.is_trial());
    }

    /// A policer whose bucket is empty loses suddenly, and as much at the lower rate.
    #[test]
    fn sudden_losses_are_not_the_paths() {
        for (last, expected) in [(5.0, Some(1000.0)), (6.0, None)] {
            let mut evidence = Evidence::default();
            evidence.count(tally(1000.0, 10.0));
            evidence.begin(1000.0, tally(50.0, 2.0));
            evidence.count_earlier(tally(50.0, last - 2.0));
            assert_eq!([evidence.end_round(), evidence.end_round()], [false, true]);
            evidence.count(tally(400.0, 4.0));
            assert_eq!((evidence.decide(700.0), evidence.is_trial()), (expected, false), "{last}");
        }
    }

    /// A window that has regrown measures nothing.
    #[test]
    fn a_trial_ends_with_the_reduction() {
        let mut evidence = Evidence::default();
        evidence.count(tally(1000.0, 10.0));
        evidence.begin(1000.0, LossCounts::default());
        evidence.count(tally(1000.0, 10.0));
        assert_eq!((evidence.decide(860.0), evidence.is_trial(), evidence.rate()), (None, false, 0.0));
    }
}
