//! Detection of receivers that acknowledge data not received.
//!
//! A receiver that hides losses, or acknowledges data before it arrives, disables the sender's congestion control
//! (Savage et al. 1999, "TCP Congestion Control with a Misbehaving Receiver"; RFC 9000, section 21.4). The sender
//! therefore holds back one segment from time to time and sends the next ones (skipped segments, Sherwood et al. 2005,
//! "Misbehaving TCP Receivers Can Cause Internet-Wide Congestion Collapse"). A correct receiver reports the gap; the
//! segment is then sent like a lost one, without a response of the controller. An acknowledgement that covers the
//! segment before its transmission is proof of misbehaviour, and ends the connection. An acknowledgement of data that
//! was never sent (RFC 9000, section 13.1) and a decreasing count of CE marks (section 13.4.2.1) also end it.
//!
//! A check delays the data behind the segment at the receiver by a round trip. Once in 32 to 64 windows of the size at
//! the last check, a check begins if the window has a minimum size, more data is waiting and no gap is open. A receiver
//! that begins to misbehave just after a check is thus detected within 64 windows of that size. The position of
//! the segment depends on the arrival times of acknowledgements, which the receiver cannot predict to the clock's
//! resolution.
//!
//! Senders that trust their receivers, as TCP does, begin the checks when acknowledgements cover many segments each. A
//! correct receiver acknowledges each arrival, or every second one (RFC 5681, section 4.2): either acknowledgements
//! were lost, or data that they cover. Without these checks, a receiver that hides losses makes BBR double its rate
//! repeatedly, because all sent data counts as delivered. Without selective acknowledgement a duplicate acknowledgement
//! reports the gap.

use super::Sender;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::random::multiplicative_hash;
use crate::state_digest::hash_all;
use crate::transport::Failure;
use crate::units::Time;
use crate::window::{Ack, Recovery};
use core::hash::Hasher;
use core::ops::Range;

/// Minimum number of windows between two checks; the maximum is twice as many.
const MIN_CHECK_INTERVAL: u64 = 32;
/// Minimum number of windows of the smallest checked size before the first check; the maximum is twice as many.
const FIRST_CHECK_INTERVAL: u64 = 8;
/// Minimum backlog behind the withheld segment: a window, or this multiple of the smallest checked window. Applications
/// do not write further ahead at low rates.
const BACKLOG_WINDOWS: u64 = 2;
/// Largest detectable decrease of a CE count, and maximum number of outstanding segments for which its 16 bits are
/// unambiguous.
const MAX_CE_DECREASE: u16 = 1024;
const MAX_COUNTED: u32 = 8192;

/// Segments acknowledged between two decisions on the number of segments per acknowledgement, at least.
const STRETCH_SEGMENTS: u32 = 64;
/// Decisions in a row that begin the verification: one long gap between acknowledgements is an outage of the return path.
const STRETCHED_DECISIONS: u8 = 2;
/// Minimum window of senders that verify for this reason.
const MIN_STRETCHED_WINDOW: u32 = 8;

/// Segments per acknowledgement of a sender that does not verify yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckStretch {
    acks: u32,
    segments: u32,
    /// Decisions in a row with too many segments per acknowledgement.
    exceeded: u8,
}

impl AckStretch {
    /// Counts an acknowledgement of `segments`. Returns true if acknowledgements covered more than `max` each.
    #[inline(always)]
    pub fn record_and_check(&mut self, max: u32, segments: u32) -> bool {
        self.acks += 1;
        self.segments = self.segments.saturating_add(segments);
        self.segments >= STRETCH_SEGMENTS && self.decide(max)
    }

    #[inline(never)]
    fn decide(&mut self, max: u32) -> bool {
        let is_exceeded = self.segments > self.acks.saturating_mul(max);
        *self = Self { exceeded: if is_exceeded { self.exceeded + 1 } else { 0 }, ..Self::default() };
        if self.exceeded == STRETCHED_DECISIONS {
            self.exceeded = 0;
            return true;
        }
        false
    }

    pub fn feed_state<H: Hasher>(self, into: &mut H) {
        let Self { acks, segments, exceeded } = self;
        hash_all(into, (acks, segments, exceeded));
    }
}

/// State of the withheld segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// No feedback yet about later data.
    Withheld,
    /// The receiver reported the gap: the segment may be sent.
    Reported,
    /// The segment was sent.
    Sent,
}

/// Verification state of a sender.
#[derive(Clone, Debug)]
pub(super) struct ReceiverCheck {
    /// Minimum window for a check, in segments: below it a false acknowledgement gains little.
    min_window: u64,
    /// Segments sent since the last check, and the number after which the next one is due.
    sent_since_check: u64,
    interval: u64,
    /// Byte range of the withheld segment until its acknowledgement, and its state.
    gap: Option<(Range<u64>, Stage)>,
    /// Hash of the arrival times of acknowledgements.
    arrivals: u64,
}

impl ReceiverCheck {
    pub fn new(min_window: u32) -> Self {
        let min_window = u64::from(min_window.max(1));
        Self {
            min_window,
            sent_since_check: 0,
            interval: FIRST_CHECK_INTERVAL * min_window,
            gap: None,
            arrivals: 0,
        }
    }

    /// Creates the state of a sender whose acknowledgements cover many segments: the first check is due at once.
    pub fn begin_now() -> Self {
        Self { interval: 1, ..Self::new(MIN_STRETCHED_WINDOW) }
    }

    /// Mixes the arrival time of an acknowledgement into the position of the next check.
    fn note_arrival(&mut self, now: Time) {
        self.arrivals = multiplicative_hash(self.arrivals ^ now.as_picos()).rotate_left(23);
    }

    /// Returns true if a check is due.
    fn is_due(&self) -> bool {
        self.gap.is_none()
            && self.sent_since_check >= self.interval
            && self.sent_since_check - self.interval >= self.arrivals % self.interval
    }

    /// Withholds the segment at `gap`, at a window of `window` segments.
    fn begin(&mut self, gap: Range<u64>, window: u64) {
        self.gap = Some((gap, Stage::Withheld));
        (self.sent_since_check, self.interval) = (0, MIN_CHECK_INTERVAL * window);
    }

    /// Returns true if `ack` covers unsent data.
    fn is_false(&self, ack: &Ack, next: u64) -> bool {
        let covers = |range: &Range<u64>| {
            ack.cumulative > range.start
                || ack.blocks().any(|block| block.start < range.end && range.start < block.end)
        };
        let unsent = next..u64::MAX;
        covers(&unsent) || matches!(&self.gap, Some((gap, Stage::Withheld | Stage::Reported)) if covers(gap))
    }

    /// Processes a correct acknowledgement. An acknowledgement of data behind the withheld segment releases it; a
    /// `duplicate` is one without selective acknowledgement. Returns true if it was released now.
    fn accept(&mut self, ack: &Ack, duplicate: bool) -> bool {
        let Some((gap, stage)) = &mut self.gap else { return false };
        let is_duplicate = duplicate && ack.cumulative == gap.start;
        let is_reported =
            *stage == Stage::Withheld && (is_duplicate || ack.blocks().any(|block| block.start >= gap.end));
        if is_reported {
            *stage = Stage::Reported;
        }
        if ack.cumulative >= gap.end {
            self.gap = None;
        }
        is_reported
    }

    /// Records the transmission from `start` of a lost or the withheld segment. Returns true if it is the first
    /// transmission.
    fn record_transmission(&mut self, start: u64) -> bool {
        match &mut self.gap {
            Some((gap, stage)) if gap.start == start => core::mem::replace(stage, Stage::Sent) != Stage::Sent,
            _ => false,
        }
    }

    pub fn feed_state<H: Hasher>(&self, into: &mut H) {
        let Self { min_window: _, sent_since_check: sent, interval, gap, arrivals } = self;
        hash_all(into, (sent, interval, gap, arrivals));
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    fn verify(&self) -> Option<&ReceiverCheck> {
        self.extensions.as_deref()?.verify.as_ref()
    }

    fn verify_mut(&mut self) -> Option<&mut ReceiverCheck> {
        self.extensions.as_deref_mut()?.verify.as_mut()
    }

    /// Ends the connection after a false acknowledgement. Returns true if `ack` is plausible.
    #[inline(never)]
    pub(super) fn verify_ack(&mut self, now: Time, ack: &Ack) -> bool {
        if self.verify().is_none() {
            return true;
        }
        let has_sack = self.config.recovery == Recovery::Sack;
        let duplicate = !has_sack && ack.cumulative == self.peer.unacknowledged();
        let next = self.scoreboard.next();
        let is_counted = self.scoreboard.len() <= MAX_COUNTED;
        let behind = self.reported_ce_count().wrapping_sub(ack.ce);
        // Counts are compared only between increasing cumulative acknowledgements, as others may be reordered.
        let shrinks = ack.cumulative > self.peer.unacknowledged()
            && is_counted
            && (1..=MAX_CE_DECREASE).contains(&behind);
        let Some(verify) = self.verify_mut() else { return true };
        if verify.is_false(ack, next) || shrinks {
            self.application.abort(Failure::FalseAcknowledgement);
            return false;
        }
        verify.note_arrival(now);
        if verify.accept(ack, duplicate) && !has_sack {
            // The data behind it counts as in flight, and may fill the window.
            self.exemption.exempt_retransmission();
        }
        true
    }

    /// Returns true while only the withheld segment waits for retransmission.
    pub(super) fn is_withholding(&self) -> bool {
        let is_kept = self.verify().is_some_and(|verify| matches!(verify.gap, Some((_, Stage::Withheld))));
        is_kept && self.is_open() && self.scoreboard.lost() == 1
    }

    /// Returns true while the receiver's gap is the withheld segment.
    pub(super) fn has_withheld_gap(&self) -> bool {
        self.verify().is_some_and(|verify| verify.gap.is_some())
    }

    /// Returns the start of a withheld segment that was not sent yet.
    pub(super) fn withheld_start(&self) -> Option<u64> {
        self.verify()?.gap.as_ref().filter(|(_, stage)| *stage != Stage::Sent).map(|(gap, _)| gap.start)
    }

    /// Records a transmission; see [`ReceiverCheck::record_transmission`].
    pub(super) fn record_first_transmission(&mut self, start: u64) -> bool {
        self.verify_mut().is_some_and(|verify| verify.record_transmission(start))
    }

    /// Withholds a new segment of `length` bytes, if a check is due and more data follows.
    #[inline(never)]
    pub(super) fn withhold(&mut self, now: Time, length: u32) {
        let Some(verify) = self.verify_mut() else { return };
        verify.sent_since_check += 1;
        if !verify.is_due() || self.has_gap() {
            return;
        }
        // The decision is costly, and most segments do not need it.
        let window = self.controller.decision().window as u64;
        let Some(min_window) = self.verify().map(|verify| verify.min_window) else { return };
        if window < min_window {
            return;
        }
        let backlog = window.min(BACKLOG_WINDOWS * min_window) + 1;
        let segment = u64::from(self.config.segment);
        let start = self.scoreboard.next();
        let waits = self.application.backlog() >= backlog * segment;
        let fits =
            2 * segment <= self.peer.room(start) && self.scoreboard.len() + 2 <= self.config.max_window;
        if u64::from(length) < segment || !waits || !fits {
            return;
        }
        let Some(payload) = self.application.fill(length) else { return };
        self.scoreboard.push_unsent(now, &payload);
        let end = self.scoreboard.next();
        if let Some(verify) = self.verify_mut() {
            verify.begin(start..end, window);
        }
    }

    /// Returns true during loss detection or recovery, or while a gap is open.
    fn has_gap(&self) -> bool {
        !self.is_open() || self.scoreboard.has_sacked() || self.scoreboard.lost() > 0
    }
}
