//! Explicit congestion notification (RFC 3168), the sender's part.
//!
//! # Differences from the specification
//!
//! | RFC 3168 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | ends agree on ECN when they connect (section 6.1.1) | both are told by their configuration | connections open without a handshake | none |
//! | the receiver echoes a mark until the sender tells that it has cut its window (section 6.1.3, CWR) | every acknowledgement tells how many segments have arrived with CE, as accurate feedback does (RFC 9768, section 3.2.2.2), in 16 bits for its 3 | schemes that count marks need each (the DEC bit) | 32767 marks may be told by acknowledgements that are lost before one is missed |
//! | with a window of one segment, a mark makes the sender wait for its retransmission timer (section 6.1.2) | the least threshold of a controller is two segments | as after a loss | many flows at a small queue keep two segments each on the way |

use super::{AckOutcome, Phase, Sender};
use crate::congestion::{Controller, LossKind, LossSample, Path};
use crate::payload::Payload;
use crate::units::Time;
use crate::window::Ack;

/// The window of data whose marks were answered last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Everything below this position in the stream left before the last cut.
    until: u64,
    /// A mark was the reason of that cut.
    by_mark: bool,
    /// The count of segments with CE of which the controller knows.
    reported: u16,
    cuts: u32,
}

impl Marks {
    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    /// The count of segments with CE of which the controller knows.
    #[inline]
    pub fn reported(&self) -> u16 {
        self.reported
    }

    /// The controller is told of all that `ack` counts.
    #[cold]
    #[inline(never)]
    pub fn report(&mut self, ack: &Ack) {
        self.reported = self.reported.wrapping_add(ack.newly_ce(self.reported));
    }

    /// The part of the state that decides the future.
    pub fn state(&self) -> (u64, bool, u16) {
        (self.until, self.by_mark, self.reported)
    }

    /// A mark, where all below `unacknowledged` has arrived and `next` is sent next: whether it is one of a new window.
    fn begin_mark(&mut self, unacknowledged: u64, next: u64) -> bool {
        if self.until > 0 && unacknowledged <= self.until {
            return false;
        }
        (self.until, self.by_mark) = (next, true);
        self.cuts = self.cuts.saturating_add(1);
        true
    }

    /// A loss: whether it cuts. One in a window that a mark has cut already does not (RFC 3168, section 6.1.2).
    fn begin_loss(&mut self, unacknowledged: u64, next: u64) -> bool {
        if self.by_mark && unacknowledged <= self.until {
            return false;
        }
        (self.until, self.by_mark) = (next, false);
        true
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// The receiver echoes a mark with an acknowledgement that brought this.
    #[cold]
    #[inline(never)]
    pub(super) fn on_mark(&mut self, now: Time, outcome: &AckOutcome<C::PacketInfo>) {
        // What is being repaired has cut the window of this data.
        if self.phase != Phase::Open || !self.begins_mark() {
            return;
        }
        self.abandon_undo();
        let path = self.path(now);
        // Before the acknowledgement, as what came with it was part of the window that is to be cut.
        let path = Path { outstanding: path.outstanding + outcome.segments, ..path };
        let path = self.cut_to_use(path);
        let sent_at = outcome.original().unwrap_or(now);
        self.controller.on_loss(&LossSample { path, kind: LossKind::Mark, sent_at, repeated: false });
    }

    /// A mark has come: whether it is one of a new window.
    fn begins_mark(&mut self) -> bool {
        let (unacknowledged, next) = (self.unacknowledged, self.scoreboard.next());
        self.told().marks.begin_mark(unacknowledged, next)
    }

    /// A loss is found: whether the controller is to cut for it.
    #[inline(never)]
    pub(super) fn cuts_for_loss(&mut self) -> bool {
        let (unacknowledged, next) = (self.unacknowledged, self.scoreboard.next());
        !self.config.ecn || self.told().marks.begin_loss(unacknowledged, next)
    }

    /// The timer expired, for which the controller cuts always.
    pub(super) fn note_timeout(&mut self) {
        if self.config.ecn {
            let until = self.scoreboard.next();
            let marks = &mut self.told().marks;
            (marks.until, marks.by_mark) = (until, false);
        }
    }
}
