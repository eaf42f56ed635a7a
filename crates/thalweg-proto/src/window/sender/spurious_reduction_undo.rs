//! Undo of spurious window reductions (RFC 3522, RFC 3708, RFC 4015).
//!
//! The controller is copied before the first reduction of a recovery episode. Each segment declared lost is a suspect
//! until the receiver shows that it was not lost: its first transmission arrived late, its retransmission was spurious
//! ([`Arrival`](crate::window::Arrival)), or it was acknowledged before it was retransmitted. When no suspect is left,
//! the episode contained no loss, and the controller is restored.
//!
//! # Differences from the specifications
//!
//! | Specification | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | RFC 3522 decides by the first acknowledgement after a retransmission, which timestamps attribute to the original transmission or to the retransmission | decides by a report for each segment | several segments may be declared lost at once, only some of them correctly | no undo of an episode with one true loss, nor of one with a segment that arrived after its retransmission |
//! | RFC 3708, section 2, waits for DSACKs of all retransmissions | waits for DSACKs or late original transmissions, whichever come first | the receiver reports both | undo up to a round trip earlier |
//! | RFC 4015, section 3.2: the window becomes slightly more than the flight, and slow start restores the old one | restores the old window at once (RFC 9438, section 4.9) | most of the flight before the reduction is still outstanding | a burst of at most the reduction |
//! | [F-RTO](super::f_rto) (RFC 5682) detects a spurious timeout | without F-RTO, the receiver reports the kind of each arrival; late segments are meanwhile retransmitted as slow start allows | one response to losses found by any signal | a spurious timeout is undone as reliably, up to a round trip later, at the cost of up to a window of retransmissions |
//! | RFC 4015, section 3.3 raises the retransmission timeout after a spurious one | measures round trips as before, with an added margin | the timeout is at least 200 ms above the round trip | more than one spurious timeout where delays jump by seconds |

use crate::state_digest::{Digest, hash_all};
use crate::units::Time;
use core::hash::Hasher;
use std::collections::BTreeSet;

/// Maximum number of suspects, which bounds the memory; an episode with more is not undone.
const MAX_SUSPECTS: usize = 1 << 16;

/// The state for undoing a spurious window reduction.
#[derive(Clone, Debug)]
pub(super) struct Undo<C> {
    /// Copy of the controller before the first reduction of the episode.
    controller_before: Option<C>,
    /// Starts of the segments declared lost whose loss is not confirmed.
    suspects: BTreeSet<u64>,
    /// Number of undone episodes.
    count: u32,
}

impl<C> Undo<C> {
    pub fn new() -> Self {
        Self { controller_before: None, suspects: BTreeSet::new(), count: 0 }
    }

    /// Returns the number of undone episodes.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Begins a new episode with this copy of the controller; the previous one can no longer be undone.
    pub fn begin(&mut self, before: C) {
        self.controller_before = Some(before);
        self.suspects.clear();
    }

    /// Records that the segment at `start` was declared lost.
    pub fn suspect(&mut self, start: u64) {
        if self.suspects.len() >= MAX_SUSPECTS {
            self.abandon();
        }
        if self.controller_before.is_some() {
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
        self.controller_before = None;
        self.suspects.clear();
    }

    /// Returns the copy of the controller if nothing of the episode was a loss.
    pub fn take(&mut self) -> Option<C> {
        if !self.suspects.is_empty() {
            return None;
        }
        let before = self.controller_before.take()?;
        self.count = self.count.saturating_add(1);
        Some(before)
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H)
    where
        C: Digest,
    {
        hash_all(into, (self.controller_before.is_some(), &self.suspects));
        if let Some(before) = &self.controller_before {
            before.feed_state(now, into);
        }
    }
}
