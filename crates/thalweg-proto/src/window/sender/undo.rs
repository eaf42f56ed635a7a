//! Cuts of the window that turn out to have been mistaken are undone (RFC 3522, RFC 3708, RFC 4015).
//!
//! Before the first cut of an episode of loss the controller is copied. Each segment that is taken for lost is a suspect,
//! until the receiver tells that it was not lost: its first transmission came late, or its repair was needless
//! ([`Arrival`](crate::window::Arrival)), or it was acknowledged before it went again. When no suspect is left, nothing of the
//! episode was a loss, and the controller becomes what it was.
//!
//! # Differences from the specifications
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | RFC 3522 decides by the first acknowledgement after a repair, which timestamps attribute to the first transmission or to the repair | by a report for each segment | several segments may be taken for lost at once, of which some were | an episode with one true loss is not undone, nor one in which a segment came later than its repair |
//! | RFC 3708, section 2, waits for DSACKs of all repairs | for those or for late first transmissions, whichever come first | the receiver tells of both | undone up to a round trip earlier |
//! | RFC 4015, section 3.2: the window becomes what is in flight and a little, and slow start leads back to the old one | it becomes the old one at once (RFC 9438, section 4.9) | what was in flight before the cut mostly still is | a burst of what the cut had taken at most |
//! | a spurious time-out is found by [F-RTO](super::f_rto) (RFC 5682) | without that, the receiver tells what each arrival was; what is late goes again meanwhile, as the window of a slow start allows | one answer for losses found by any sign | a mistaken time-out is undone as surely, up to a round trip later, and costs up to a window sent again |
//! | RFC 4015, section 3.3 makes the retransmission timer more patient after a mistaken time-out | it measures round trips as ever, with an added margin | the timer's floor of 200 ms above the round trip | more than one mistaken time-out where delays jump by seconds |

use crate::digest::{Digest, feed};
use crate::units::Time;
use core::hash::Hasher;
use std::collections::BTreeSet;

/// An episode in which more is taken for lost is not undone: what is remembered is bounded.
const MOST_SUSPECTS: usize = 1 << 16;

/// The record by which a cut may turn out to be mistaken.
#[derive(Clone, Debug)]
pub(super) struct Undo<C> {
    /// The controller before the first cut of the episode.
    before: Option<C>,
    /// The starts of the segments that were taken for lost, and may have been.
    suspects: BTreeSet<u64>,
    /// Episodes that were undone.
    count: u32,
}

impl<C> Undo<C> {
    pub fn new() -> Self {
        Self { before: None, suspects: BTreeSet::new(), count: 0 }
    }

    /// Episodes that were undone.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// A new episode begins, with this controller: nothing of the last one is undone any more.
    pub fn begin(&mut self, before: C) {
        self.before = Some(before);
        self.suspects.clear();
    }

    /// The segment that starts here is taken for lost.
    pub fn suspect(&mut self, start: u64) {
        if self.suspects.len() >= MOST_SUSPECTS {
            self.abandon();
        }
        if self.before.is_some() {
            self.suspects.insert(start);
        }
    }

    /// The segment that starts here was lost, if it was taken for that.
    pub fn confirm(&mut self, start: u64) {
        if self.suspects.contains(&start) {
            self.abandon();
        }
    }

    /// The segment that starts here was not lost. True if it was a suspect.
    #[cold]
    #[inline(never)]
    pub fn clear(&mut self, start: u64) -> bool {
        self.suspects.remove(&start)
    }

    /// The window was cut for a reason that stands.
    pub fn abandon(&mut self) {
        self.before = None;
        self.suspects.clear();
    }

    /// The controller of before, where nothing of the episode was a loss.
    pub fn take(&mut self) -> Option<C> {
        if !self.suspects.is_empty() {
            return None;
        }
        let before = self.before.take()?;
        self.count = self.count.saturating_add(1);
        Some(before)
    }

    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H)
    where
        C: Digest,
    {
        feed(into, (self.before.is_some(), &self.suspects));
        if let Some(before) = &self.before {
            before.digest(now, into);
        }
    }
}
