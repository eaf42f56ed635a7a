//! Detection of receivers that acknowledge what they have not received.
//!
//! A receiver that hides losses, or acknowledges data before it arrives, takes the window of its sender away from the congestion that it causes
//! (Savage et al. 1999, "TCP Congestion Control with a Misbehaving Receiver"; RFC 9000, section 21.4). The sender therefore keeps one segment
//! back from time to time and sends the next ones (skipped segments, Sherwood et al. 2005, "Misbehaving TCP Receivers Can Cause Internet-Wide
//! Congestion Collapse"). A correct receiver reports the gap, and the segment is then sent as a lost one would be, without any answer of the
//! controller. An acknowledgement that covers it before it was sent is proof, and ends the connection. So is an acknowledgement of data beyond
//! all that was sent (RFC 9000, section 13.1), and a count of CE marks that shrinks (section 13.4.2.1).
//!
//! A check costs the data behind the segment a round trip of waiting at the receiver. It is made where the window has a least size, more waits to be
//! sent and no gap is open, once in 32 to 64 windows of the size at the last check. A receiver that begins to lie just after one is thus found
//! before 64 windows of that size are sent. The position follows from the arrival times of acknowledgements, which the receiver
//! cannot foresee to the clock's resolution.

use super::{Sender, Surrender};
use crate::congestion::Controller;
use crate::digest::feed;
use crate::payload::{Payload, Queue};
use crate::transport::Failure;
use crate::units::Time;
use crate::window::Ack;
use core::hash::Hasher;
use core::ops::Range;

/// Windows between two checks, at least; at most twice as many.
const WINDOWS: u64 = 32;
/// Windows of the smallest size that is checked before the first check, at least; at most twice as many.
const FIRST: u64 = 8;
/// Minimum backlog behind the segment that is kept back: a window, or this multiple of the smallest window that is checked. Applications
/// do not write further ahead at low rates.
const MAX_BACKLOG: u64 = 2;
/// The most by which a count of CE marks is seen to shrink, and the most segments outstanding for which its 16 bits are unambiguous.
const MAX_SHRINK: u16 = 1024;
const MAX_COUNTED: u32 = 8192;

/// The state of the segment that is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Nothing is known of what was sent after it.
    KeptBack,
    /// The receiver reported the gap: the segment may leave.
    Reported,
    /// It has left.
    Sent,
}

/// The checks of a sender.
#[derive(Clone, Debug)]
pub(super) struct Verify {
    /// The smallest window in segments that is checked: below it a false acknowledgement gains little.
    min_window: u64,
    /// Segments sent since the last check, and those after which the next one follows.
    sent: u64,
    interval: u64,
    /// The positions of the segment that was kept back, until it is acknowledged, and its state.
    gap: Option<(Range<u64>, Stage)>,
    /// A hash of the arrival times of acknowledgements.
    arrivals: u64,
}

impl Verify {
    pub fn new(min_window: u32) -> Self {
        let min_window = u64::from(min_window.max(1));
        Self { min_window, sent: 0, interval: FIRST * min_window, gap: None, arrivals: 0 }
    }

    /// Mixes the arrival time of an acknowledgement into the position of the next check.
    fn note_arrival(&mut self, now: Time) {
        // The odd constant is one of those that Steele and Vigna found to spread low bits best (2021).
        self.arrivals = (self.arrivals ^ now.as_picos()).wrapping_mul(0xd134_2543_de82_ef95).rotate_left(23);
    }

    /// True if enough segments have left for a check.
    fn is_due(&self) -> bool {
        self.gap.is_none()
            && self.sent >= self.interval
            && self.sent - self.interval >= self.arrivals % self.interval
    }

    /// Keeps the segment at `gap` back, at a window of `window` segments.
    fn begin(&mut self, gap: Range<u64>, window: u64) {
        self.gap = Some((gap, Stage::KeptBack));
        (self.sent, self.interval) = (0, WINDOWS * window);
    }

    /// True if `ack` covers any of a segment that was not sent.
    fn is_false(&self, ack: &Ack, next: u64) -> bool {
        let covers = |range: &Range<u64>| {
            ack.cumulative > range.start
                || ack.blocks().any(|block| block.start < range.end && range.start < block.end)
        };
        let unsent = next..u64::MAX;
        covers(&unsent) || matches!(&self.gap, Some((gap, Stage::KeptBack | Stage::Reported)) if covers(gap))
    }

    /// Takes a correct acknowledgement. One of data behind the segment that is kept back lets it go.
    fn accept(&mut self, ack: &Ack) {
        let Some((gap, stage)) = &mut self.gap else { return };
        if *stage == Stage::KeptBack && ack.blocks().any(|block| block.start >= gap.end) {
            *stage = Stage::Reported;
        }
        if ack.cumulative >= gap.end {
            self.gap = None;
        }
    }

    /// A lost segment, or the one that was kept back, is about to leave from `start`. True if it has not left before.
    fn leaves(&mut self, start: u64) -> bool {
        match &mut self.gap {
            Some((gap, stage)) if gap.start == start => core::mem::replace(stage, Stage::Sent) != Stage::Sent,
            _ => false,
        }
    }

    pub fn digest<H: Hasher>(&self, into: &mut H) {
        let Self { min_window: _, sent, interval, gap, arrivals } = self;
        feed(into, (sent, interval, gap, arrivals));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn verify(&self) -> Option<&Verify> {
        self.extensions.as_deref()?.verify.as_ref()
    }

    fn verify_mut(&mut self) -> Option<&mut Verify> {
        self.extensions.as_deref_mut()?.verify.as_mut()
    }

    /// Ends the connection for an acknowledgement that cannot be true. True if `ack` may be.
    #[inline(never)]
    pub(super) fn accepts(&mut self, now: Time, ack: &Ack) -> bool {
        if self.verify().is_none() {
            return true;
        }
        let next = self.scoreboard.next();
        let is_counted = self.scoreboard.len() <= MAX_COUNTED;
        let behind = self.reported().wrapping_sub(ack.ce);
        // Marks are counted from one cumulative acknowledgement to a higher one: others may have been overtaken.
        let shrinks =
            ack.cumulative > self.unacknowledged && is_counted && (1..=MAX_SHRINK).contains(&behind);
        let Some(verify) = self.verify_mut() else { return true };
        if verify.is_false(ack, next) || shrinks {
            self.surrender = Surrender::Due(Failure::FalseAcknowledgement);
            return false;
        }
        verify.note_arrival(now);
        verify.accept(ack);
        true
    }

    /// True while the only segment that waits to be sent again is the one that is kept back.
    pub(super) fn keeps_back(&self) -> bool {
        let is_kept = self.verify().is_some_and(|verify| matches!(verify.gap, Some((_, Stage::KeptBack))));
        is_kept && self.is_open() && self.scoreboard.lost() == 1
    }

    /// True while a gap in what has arrived is of the sender's making.
    pub(super) fn has_own_gap(&self) -> bool {
        self.verify().is_some_and(|verify| verify.gap.is_some())
    }

    /// The start of a segment that was kept back and has not left.
    pub(super) fn unsent(&self) -> Option<u64> {
        self.verify()?.gap.as_ref().filter(|(_, stage)| *stage != Stage::Sent).map(|(gap, _)| gap.start)
    }

    /// See [`Verify::leaves`].
    pub(super) fn leaves_for_the_first_time(&mut self, start: u64) -> bool {
        self.verify_mut().is_some_and(|verify| verify.leaves(start))
    }

    /// A new segment of `length` bytes is about to leave: keeps it back, if a check is due and others wait behind it.
    #[inline(never)]
    pub(super) fn keep_back(&mut self, now: Time, length: u32) {
        let Some(verify) = self.verify_mut() else { return };
        verify.sent += 1;
        if !verify.is_due() || self.has_gap() {
            return;
        }
        // A controller computes its decision, which most segments would ask for in vain.
        let window = self.controller.decision().window as u64;
        let Some(min_window) = self.verify().map(|verify| verify.min_window) else { return };
        if window < min_window {
            return;
        }
        let backlog = window.min(MAX_BACKLOG * min_window) + 1;
        let segment = u64::from(self.config.segment);
        let start = self.scoreboard.next();
        let waits = self.queue.len() >= backlog * segment;
        let fits = start.saturating_add(2 * segment) <= self.peer_limit
            && self.scoreboard.len() + 2 <= self.config.max_window;
        if u64::from(length) < segment || !waits || !fits {
            return;
        }
        let Some(payload) = self.queue.fill(length) else { return };
        self.scoreboard.push_unsent(now, &payload);
        let end = self.scoreboard.next();
        if let Some(verify) = self.verify_mut() {
            verify.begin(start..end, window);
        }
    }

    /// True while losses are repaired or looked for, or a gap is open.
    fn has_gap(&self) -> bool {
        !self.is_open() || self.scoreboard.has_sacked() || self.scoreboard.lost() > 0
    }
}
