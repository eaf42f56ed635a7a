//! Detection of receivers and paths that conceal marks.
//!
//! A receiver that does not report CE, or a tunnel that loses it (RFC 3168, section 9.1, and RFC 6040), disables the
//! sender's congestion control at queues that mark. One new segment of 24 on average is therefore a probe, sent as
//! Not-ECT. A queue drops these where it marks the others, with equal probability (RFC 3168, section 5), and no receiver
//! can conceal that a segment is missing while [false acknowledgements](super::ack_verification) are detected.
//!
//! Each lost or marked segment is a signal. If all signals are reported, the share of probes among them is that among
//! the segments. A sequential test compares this hypothesis with the one that half of the signals are at probes (CUSUM,
//! Page 1954). Once the second is ten thousand times as likely, marks are concealed, and all segments are Not-ECT until
//! the path changes. On average at least as many signals pass between two false alarms. After a suspicious signal,
//! probes are three times as frequent.
//!
//! RFC 3540 detects concealed marks by a nonce, which uses up ECT(1). A CE set by the sender (RFC 9768, section 5.3)
//! detects receivers, but not tunnels.

use super::Sender;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::random::multiplicative_hash;
use crate::state_digest::hash_all;
use core::hash::Hasher;
use std::collections::VecDeque;

/// Minimum number of new segments between two probes; the maximum is twice as many.
const PROBE_INTERVAL: u32 = 16;
/// The same after a suspicious signal.
const SUSPICIOUS_INTERVAL: u32 = 5;
/// Maximum number of probes per window of data, at windows for which that makes them rarer: they divide batches.
const PER_WINDOW: u32 = 4;
/// Maximum number of outstanding probes: those of eight windows. While there are as many, new segments are not probes, and
/// fewer signals are at probes than the test expects: that may delay a detection, but causes no false one.
const MAX_OUTSTANDING: usize = 32;
/// Share of probes among the signals, if marks are concealed.
const CONCEALED_SHARE: f64 = 0.5;
/// Likelihood ratio above which marks are concealed.
const MIN_RATIO: f64 = 1e4;

/// Probes of a sender.
#[derive(Clone, Debug)]
pub(super) struct MarkProbes {
    /// Number of new segments before the next probe.
    wait: u32,
    /// Share of probes among new segments.
    share: f64,
    /// Starts of outstanding probes, in order.
    outstanding: VecDeque<u64>,
    /// Likelihood ratio of concealed to reported marks, at least 1.
    ratio: f64,
}

impl MarkProbes {
    pub fn new() -> Self {
        let mut probes = Self { wait: 0, share: 0.0, outstanding: VecDeque::new(), ratio: 1.0 };
        probes.schedule(0, PROBE_INTERVAL);
        probes
    }

    /// Returns true once marks are known to be concealed.
    pub fn is_concealed(&self) -> bool {
        self.ratio > MIN_RATIO
    }

    /// Determines the next probe after the segment at `start`.
    fn schedule(&mut self, start: u64, interval: u32) {
        // Not periodic: bursts may be.
        self.wait = interval + (multiplicative_hash(start) >> 32) as u32 % interval;
        self.share = 1.0 / (1.5 * f64::from(interval) + 0.5);
    }

    /// Records the transmission of a new segment at `start`, at a window of `window` segments. Returns true if it is a
    /// probe.
    fn on_new(&mut self, start: u64, window: f64) -> bool {
        if self.wait > 0 || self.outstanding.len() >= MAX_OUTSTANDING {
            self.wait = self.wait.saturating_sub(1);
            return false;
        }
        let interval = if self.ratio > 1.0 { SUSPICIOUS_INTERVAL } else { PROBE_INTERVAL };
        self.schedule(start, interval.max(window.min(1e6) as u32 / PER_WINDOW));
        self.outstanding.push_back(start);
        true
    }

    /// Records the loss of the first transmission of the segment at `start`.
    fn on_lost(&mut self, start: u64) {
        match self.outstanding.iter().position(|probe| *probe == start) {
            Some(index) => {
                self.outstanding.remove(index);
                self.ratio *= CONCEALED_SHARE / self.share;
            }
            None => self.on_other_signal(),
        }
    }

    /// Records a segment that was reported with CE, or the loss of one that was not a probe.
    fn on_other_signal(&mut self) {
        if !self.is_concealed() {
            self.ratio = (self.ratio * (1.0 - CONCEALED_SHARE) / (1.0 - self.share)).max(1.0);
        }
    }

    /// Forgets probes below `cumulative`, which have arrived.
    fn on_advance(&mut self, cumulative: u64) {
        while self.outstanding.front().is_some_and(|start| *start < cumulative) {
            self.outstanding.pop_front();
        }
    }

    pub fn feed_state<H: Hasher>(&self, into: &mut H) {
        let Self { wait, share, outstanding, ratio } = self;
        hash_all(into, (wait, share.to_bits(), outstanding, ratio.to_bits()));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn mark_probes(&mut self) -> Option<&mut MarkProbes> {
        self.extensions.as_deref_mut()?.mark_probes.as_mut()
    }

    /// Returns true once marks are known to be concealed: segments are Not-ECT from then on.
    pub(super) fn are_marks_concealed(&self) -> bool {
        let extensions = self.extensions.as_deref();
        extensions
            .and_then(|extensions| extensions.mark_probes.as_ref())
            .is_some_and(MarkProbes::is_concealed)
    }

    /// Records the transmission of a new segment at `start`. Returns true if it is a probe.
    pub(super) fn is_mark_probe(&mut self, start: u64) -> bool {
        let window = self.controller.decision().window;
        self.mark_probes().is_some_and(|probes| probes.on_new(start, window))
    }

    /// Records the loss of the first transmission of the segment at `start`.
    pub(super) fn note_first_loss(&mut self, start: u64) {
        if let Some(probes) = self.mark_probes() {
            probes.on_lost(start);
        }
    }

    /// Records an acknowledgement up to `cumulative` that reports `marks` segments with CE.
    pub(super) fn advance_mark_probes(&mut self, cumulative: u64, marks: u32) {
        if let Some(probes) = self.mark_probes() {
            (0..marks).for_each(|_| probes.on_other_signal());
            probes.on_advance(cumulative);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends 10,000 segments at a window of 50. Every `every`-th probe is lost, and every `marked`-th other is marked.
    /// Returns the state, and the number of probes.
    fn play(every: u32, marked: u32) -> (MarkProbes, u32) {
        let mut state = MarkProbes::new();
        let (mut probes, mut others) = (0, 0);
        for start in 0..10_000 {
            if state.on_new(1000 * start, 50.0) {
                probes += 1;
                if probes % every == 0 {
                    state.on_lost(1000 * start);
                }
            } else {
                others += 1;
                if others % marked == 0 {
                    state.on_other_signal();
                }
            }
            state.on_advance(1000 * start);
        }
        (state, probes)
    }

    #[test]
    fn concealed_marks_are_found_by_the_losses_of_probes() {
        assert!(play(10, u32::MAX).0.is_concealed());
    }

    #[test]
    fn equal_shares_of_losses_and_marks_are_not_concealed() {
        for every in [1, 2, 5, 20] {
            assert!(!play(every, every).0.is_concealed(), "{every}");
        }
    }

    #[test]
    fn a_receiver_that_reports_a_tenth_of_the_marks_conceals_the_others() {
        assert!(play(5, 50).0.is_concealed());
    }

    #[test]
    fn without_signals_one_segment_in_24_is_a_probe() {
        let (state, probes) = play(u32::MAX, u32::MAX);
        assert!((390..440).contains(&probes), "{probes}");
        assert!((state.share - 1.0 / 24.5).abs() < 1e-12, "{}", state.share);
    }

    /// With four probes per window, batches of hundreds of segments stay whole.
    #[test]
    fn large_windows_have_few_probes() {
        let mut state = MarkProbes::new();
        let probes = (0..100_000).filter(|start| {
            state.on_advance(*start);
            state.on_new(*start, 8000.0)
        });
        assert!((25..55).contains(&probes.count()));
    }

    /// While no cumulative acknowledgement advances, segments beyond the last permitted probe are not probes: equal losses
    /// of both are not evidence, and those of probes alone are.
    #[test]
    fn a_segment_beyond_the_maximum_of_outstanding_probes_is_none() {
        let mut state = MarkProbes::new();
        let (probes, others): (Vec<u64>, Vec<u64>) =
            (0..10_000).partition(|start| state.on_new(*start, 50.0));
        assert_eq!(probes.len(), MAX_OUTSTANDING);
        let mut concealing = state.clone();
        (0..10_000).for_each(|start| state.on_lost(start));
        assert!(!state.is_concealed() && state.outstanding.is_empty());
        probes.iter().for_each(|start| concealing.on_lost(*start));
        assert!(concealing.is_concealed());
        others.iter().for_each(|start| concealing.on_lost(*start));
        assert!(concealing.is_concealed());
    }

    #[test]
    fn losses_of_other_segments_are_no_evidence() {
        let mut state = MarkProbes::new();
        (0..100).for_each(|start| {
            state.on_new(start, 1.0);
            state.on_lost(start);
        });
        assert!(!state.is_concealed() && state.outstanding.is_empty());
    }
}
