//! Undo of spurious window reductions (RFC 3522, RFC 3708, RFC 4015).
//!
//! The controller is copied before the first reduction of a recovery episode. Each segment declared lost is a suspect
//! until the receiver shows that it was not lost: its first transmission came late, or its retransmission was spurious
//! ([`Arrival`](crate::window::Arrival)), or it was acknowledged before it was retransmitted. When no suspect is left,
//! nothing of the episode was a loss, and the controller is restored.
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

/// Maximum number of suspects, which bounds the memory; an episode with more is not undone.
const MAX_SUSPECTS: usize = 1 << 16;

/// The state for undoing a spurious window reduction.
#[derive(Clone, Debug)]
pub(super) struct Undo<C> {
    /// Copy of the controller before the first reduction of the episode.
    before: Option<C>,
    /// Starts of the segments declared lost whose loss is not confirmed.
    suspects: BTreeSet<u64>,
    /// Number of undone episodes.
    count: u32,
}

impl<C> Undo<C> {
    pub fn new() -> Self {
        Self { before: None, suspects: BTreeSet::new(), count: 0 }
    }

    /// Returns the number of undone episodes.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Begins a new episode with this copy of the controller; the previous one can no longer be undone.
    pub fn begin(&mut self, before: C) {
        self.before = Some(before);
        self.suspects.clear();
    }

    /// Records that the segment at `start` was declared lost.
    pub fn suspect(&mut self, start: u64) {
        if self.suspects.len() >= MAX_SUSPECTS {
            self.abandon();
        }
        if self.before.is_some() {
            self.suspects.insert(start);
        }
    }

    /// Confirms the loss of the segment at `start`, if it is a suspect.
    pub fn confirm(&mut self, start: u64) {
        if self.suspects.contains(&start) {
            self.abandon();
        }
    }

    /// Records that the segment at `start` was not lost. Returns true if it was a suspect.
    #[cold]
    #[inline(never)]
    pub fn clear(&mut self, start: u64) -> bool {
        self.suspects.remove(&start)
    }

    /// Ends the episode without undo: the reduction was justified.
    pub fn abandon(&mut self) {
        self.before = None;
        self.suspects.clear();
    }

    /// Returns the copy of the controller if nothing of the episode was a loss.
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
