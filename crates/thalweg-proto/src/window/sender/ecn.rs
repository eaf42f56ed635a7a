//! Sender side of explicit congestion notification (RFC 3168).
//!
//! # Differences from the specification
//!
//! | RFC 3168 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | endpoints negotiate ECN during connection setup (section 6.1.1) | both are configured | connections open without a handshake | none |
//! | the receiver echoes a mark until the sender confirms its window reduction (section 6.1.3, CWR) | every acknowledgement carries the count of segments received with CE, as accurate ECN feedback does (RFC 9768, section 3.2.2.2), in 16 bits instead of 3 | schemes that count marks need each (the DEC bit) | lost acknowledgements may carry up to 32767 marks before one is missed |
//! | with a window of one segment, a mark makes the sender wait for its retransmission timer (section 6.1.2) | the minimum ssthresh of a controller is two segments | as after a loss | many flows at a small queue keep two segments each in flight |

use super::{AckOutcome, Phase, Sender};
use crate::congestion::{ConnectionState, Controller, LossKind, LossSample};
use crate::payload::Payload;
use crate::units::Time;
use crate::window::Ack;

/// The window of data of the last response to a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// End of the data sent before the last window reduction.
    reduction_end: u64,
    /// True if a mark caused that reduction.
    by_mark: bool,
    /// Count of CE-marked segments already reported to the controller.
    reported: u16,
    cuts: u32,
}

impl Marks {
    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Returns the count of CE-marked segments already reported to the controller.
    #[inline]
    pub fn reported_ce_count(&self) -> u16 {
        self.reported
    }

    /// Records that the controller has received the count of `ack`.
    #[cold]
    #[inline(never)]
    pub fn report(&mut self, ack: &Ack) {
        self.reported = self.reported.wrapping_add(ack.newly_ce(self.reported));
    }

    /// Returns the state that determines future behaviour.
    pub fn state(&self) -> (u64, bool, u16) {
        (self.reduction_end, self.by_mark, self.reported)
    }

    /// Records a mark; returns true if it belongs to a new window of data. All data below `unacknowledged` has arrived,
    /// and `next` is sent next.
    fn begin_mark(&mut self, unacknowledged: u64, next: u64) -> bool {
        // RFC 3168, section 6.1.2: at most one reduction per window of data, as a queue marks many packets.
        if self.reduction_end > 0 && unacknowledged <= self.reduction_end {
            return false;
        }
        (self.reduction_end, self.by_mark) = (next, true);
        self.cuts = self.cuts.saturating_add(1);
        true
    }

    /// Records a loss; returns true if it reduces the window. A loss in a window already reduced for a mark does not
    /// (RFC 3168, section 6.1.2).
    fn begin_loss(&mut self, unacknowledged: u64, next: u64) -> bool {
        if self.by_mark && unacknowledged <= self.reduction_end {
            return false;
        }
        (self.reduction_end, self.by_mark) = (next, false);
        true
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Handles an acknowledgement that echoes a mark; `outcome` is its effect on the scoreboard.
    #[cold]
    #[inline(never)]
    pub(super) fn on_mark(&mut self, now: Time, outcome: &AckOutcome<C::PacketInfo>) {
        // The current recovery has already reduced the window for this data.
        if self.phase != Phase::Open || !self.begins_mark() {
            return;
        }
        // An undo would restore a window from before the mark, although congestion is now confirmed.
        self.disable_undo();
        let connection = self.connection(now);
        // State before the acknowledgement: its segments were part of the window to be reduced.
        let connection =
            ConnectionState { outstanding: connection.outstanding + outcome.segments, ..connection };
        let connection = self.limit_to_used_window(connection);
        let sent_at = outcome.original().unwrap_or(now);
        self.controller.on_loss(&LossSample { connection, kind: LossKind::Mark, sent_at, repeated: false });
    }

    /// Records a mark; returns true if it belongs to a new window of data.
    fn begins_mark(&mut self) -> bool {
        let (unacknowledged, next) = (self.peer.unacknowledged(), self.scoreboard.next());
        self.pause_and_ecn().marks.begin_mark(unacknowledged, next)
    }

    /// Records a loss; returns true if the controller must reduce the window.
    #[inline(never)]
    pub(super) fn reduces_window_on_loss(&mut self) -> bool {
        let (unacknowledged, next) = (self.peer.unacknowledged(), self.scoreboard.next());
        !self.config.ecn || self.pause_and_ecn().marks.begin_loss(unacknowledged, next)
    }

    /// Records a timer expiry, for which the controller always reduces the window.
    pub(super) fn record_timeout(&mut self) {
        if self.config.ecn {
            let until = self.scoreboard.next();
            let marks = &mut self.pause_and_ecn().marks;
            (marks.reduction_end, marks.by_mark) = (until, false);
        }
    }
}
