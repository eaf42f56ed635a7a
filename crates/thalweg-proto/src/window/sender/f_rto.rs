//! Forward RTO-recovery (F-RTO, RFC 5682, section 3.1, with selective acknowledgements). After a timeout the sender
//! retransmits only the first lost segment and then sends two new segments. The next acknowledgements show whether the
//! timeout was spurious.
//!
//! ```text
//!   timeout: first segment retransmitted ---+
//!                                            | new data acknowledged, but not all of it
//!                                            v
//!                                two new segments sent
//!                                            |
//!          more of the data sent before      | anything else: a duplicate, or one of the new segments
//!      +-------------------------------------+--------------------------------------+
//!      v                                                                            v
//!   spurious: nothing was lost, the window is restored                   genuine: losses repaired
//! ```
//!
//! # Differences from the specification
//!
//! | RFC 5682 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | discards previous selective acknowledgements (section 3.1, step 1) | keeps them, unless the receiver reneged | RFC 6675, section 5.1 | fewer retransmissions |
//! | sets the window to 2 or 3 segments after a genuine loss (steps 2a and 3a) | keeps the window that slow start reached from one segment | the controller limits the growth, and pacing controllers pace | larger where one acknowledgement covers many segments |
//! | takes any duplicate without new information for a loss (step 3a) | ignores the duplicate for the spurious retransmission of the first segment, if the receiver [reports it](crate::window::Arrival) | it indicates a spurious timeout | fewer wrong decisions |
//! | requires that data acknowledged in step 3b was not acknowledged before | requires also that it was not retransmitted before the timeout | a tail probe may have repaired it | none without a probe |
//! | leaves the response open (section 4 names RFC 4015) | restores the controller, as for other [undone reductions](super::spurious_reduction_undo) | one response | a burst of at most the reduction |

use super::{AckOutcome, Phase, Sender};
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::state_digest::{Digest, hash_all};
use crate::units::Time;
use crate::window::{Ack, Arrival};
use core::hash::Hasher;

/// New segments sent before further retransmissions (section 3.1, step 2b).
const NEW_SEGMENTS: u8 = 2;

/// Detection state of spurious timeouts.
#[derive(Clone, Debug)]
pub(super) struct FRto<C> {
    pending: Option<PendingTimeout<C>>,
    /// Number of spurious timeouts.
    count: u32,
}

/// A timeout whose cause is not yet known.
#[derive(Clone, Debug)]
struct PendingTimeout<C> {
    /// Copy of the controller before the timeout.
    controller_before: C,
    step: Step,
}

/// A step of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// The first segment was retransmitted (step 2).
    Waiting,
    /// New segments leave, and the next acknowledgement decides (steps 2b and 3).
    Probing {
        /// End of the data sent before the new segments (`RecoveryPoint`).
        recovery_point: u64,
        /// Number of new segments that may still leave.
        left: u8,
    },
}

/// The action of F-RTO while segments count as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FRtoAction {
    /// Send a new segment before lost ones.
    New,
    /// Send nothing before the next acknowledgement.
    Wait,
}

impl<C> FRto<C> {
    pub fn new() -> Self {
        Self { pending: None, count: 0 }
    }

    /// Returns the number of spurious timeouts.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Declares the timeout genuine.
    pub fn give_up(&mut self) {
        self.pending = None;
    }

    /// Starts detection after a timer expiry (step 1); `is_open` is true for the first expiry since new data was
    /// acknowledged.
    fn begin(&mut self, before: impl FnOnce() -> C, is_open: bool) {
        match &self.pending {
            _ if is_open => {
                self.pending = Some(PendingTimeout { controller_before: before(), step: Step::Waiting });
            }
            Some(PendingTimeout { step: Step::Waiting, .. }) => {}
            // Step 1: no detection within a recovery, as older retransmissions are still in flight.
            _ => self.pending = None,
        }
    }

    /// Records a transmission of the segment that starts at byte `start`.
    pub fn on_sent(&mut self, start: u64) {
        if let Some(PendingTimeout { step: Step::Probing { recovery_point, left }, .. }) = &mut self.pending
            && start >= *recovery_point
        {
            *left = left.saturating_sub(1);
        }
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H)
    where
        C: Digest,
    {
        hash_all(into, self.pending.as_ref().map(|pending| pending.step));
        if let Some(pending) = &self.pending {
            pending.controller_before.feed_state(now, into);
        }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn f_rto(&mut self) -> Option<&mut FRto<C>> {
        self.extensions.as_deref_mut()?.f_rto.as_mut()
    }

    /// Starts detection before the controller learns of the timeout. If the receiver has `reneged`, everything is sent
    /// again.
    pub(super) fn begin_f_rto(&mut self, reneged: bool) {
        let is_open = self.is_open() && !reneged;
        let Self { extensions, controller, .. } = self;
        if let Some(f_rto) = extensions.as_deref_mut().and_then(|extensions| extensions.f_rto.as_mut()) {
            f_rto.begin(|| controller.clone(), is_open);
        }
    }

    /// Returns F-RTO's action in place of further retransmissions, if any.
    #[cold]
    #[inline(never)]
    pub(super) fn f_rto_action(&mut self) -> Option<FRtoAction> {
        let f_rto = self.extensions.as_deref()?.f_rto.as_ref()?;
        let Some(PendingTimeout { step: Step::Probing { left, .. }, .. }) = f_rto.pending else {
            return None;
        };
        if left == 0 {
            // Step 3: the next acknowledgement decides. A retransmission would make it ambiguous.
            return Some(FRtoAction::Wait);
        }
        let new = if self.application.is_drained() { None } else { self.new_length() };
        if new.is_some_and(|length| !self.is_too_small(length)) {
            return Some(FRtoAction::New);
        }
        if left < NEW_SEGMENTS {
            return Some(FRtoAction::Wait);
        }
        // Step 2b: without new data to send, no answer can decide.
        self.f_rto()?.give_up();
        None
    }

    /// Evaluates an acknowledgement for a timeout whose cause is not yet known.
    #[inline(never)]
    pub(super) fn resolve_timeout(
        &mut self,
        now: Time,
        ack: &Ack,
        outcome: &AckOutcome<C::PacketInfo>,
        advanced: bool,
        duplicate: bool,
    ) {
        let (phase, unacknowledged, next) = (self.phase, self.peer.unacknowledged(), self.scoreboard.next());
        let Some(f_rto) = self.f_rto() else { return };
        let Some(pending) = &mut f_rto.pending else { return };
        let Phase::Loss { recovery_point } = phase else { return f_rto.give_up() };
        match pending.step {
            // Step 2a: all data sent before the timeout is acknowledged, and no original is left to decide.
            _ if unacknowledged >= recovery_point => f_rto.give_up(),
            // Step 2b: part of the data is acknowledged. Two new segments make the receiver answer again.
            Step::Waiting if advanced => {
                pending.step = Step::Probing { recovery_point: next, left: NEW_SEGMENTS };
            }
            Step::Waiting => {}
            Step::Probing { recovery_point, .. } => {
                let at = |offset: u32| ack.cumulative + u64::from(offset);
                let blocks = ack.sack.iter().filter(|block| !block.is_empty());
                let highest = blocks.map(|block| at(block.end)).max().unwrap_or(0);
                if unacknowledged.max(highest) > recovery_point {
                    // Step 3a: a new segment arrived before data sent earlier, so that data is lost.
                    f_rto.give_up();
                } else if outcome.has_original() {
                    // Step 3b: a segment sent only once arrived, so the originals were late, not lost.
                    self.undo_timeout(now);
                } else if duplicate && ack.arrival != Arrival::Spurious {
                    f_rto.give_up();
                }
            }
        }
    }

    /// Undoes a spurious timeout: segments declared lost count as late, and the controller is restored.
    fn undo_timeout(&mut self, now: Time) {
        self.disable_undo();
        self.forget_cut();
        let connection = self.connection(now);
        let Some(f_rto) = self.f_rto() else { return };
        let Some(PendingTimeout { controller_before: before, .. }) = f_rto.pending.take() else { return };
        f_rto.count = f_rto.count.saturating_add(1);
        self.scoreboard.on_spurious_timeout(self.withheld_start());
        let Self { extensions, scoreboard, controller, .. } = self;
        if let Some(rack) = extensions.as_deref_mut().and_then(|extensions| extensions.rack.as_mut()) {
            rack.on_spurious_timeout(scoreboard);
        }
        if controller.would_undo(&before) {
            controller.on_undo(before, &connection);
        }
        self.phase = Phase::Open;
        self.dupacks.reset_count();
    }
}
