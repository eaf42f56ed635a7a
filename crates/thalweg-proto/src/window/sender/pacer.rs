//! Departure times of segments under a pacing rate.

use crate::congestion::Decision;
use crate::units::{Bytes, Time};

/// Segments sent without pacing when an application resumes after all written data was acknowledged (RFC 9002, section
/// 7.7: a burst of an initial window). Pacing would spread the data of an application-limited flow over a round trip.
const UNPACED_BURST: u8 = 10;

/// Pacing state of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Segments that may leave without pacing.
    unpaced: u8,
    /// Earliest time of the next transmission under pacing, without a burst.
    next_send: Time,
    last_sent: Time,
}

impl Pacer {
    /// Creates the state before the first transmission.
    pub const fn new() -> Self {
        Self { unpaced: 0, next_send: Time::ZERO, last_sent: Time::ZERO }
    }

    /// Returns the time of the last transmission.
    #[inline(always)]
    pub const fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// Returns the state that determines departures: the segments without pacing, and the time of the next one.
    pub const fn state(&self) -> (u8, Time) {
        (self.unpaced, self.next_send)
    }

    /// Allows a burst without pacing.
    pub const fn resume(&mut self) {
        self.unpaced = UNPACED_BURST;
    }

    /// Records a transmission.
    #[inline(always)]
    pub const fn note_sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Returns the departure time of a segment of `length` bytes, if it is in the future; otherwise counts the departure. `segment` is the length of a full segment, in bytes.
    #[inline(always)]
    pub fn departure(&mut self, now: Time, decision: &Decision, length: u32, segment: u32) -> Option<Time> {
        let rate = decision.pacing_rate.filter(|_| !self.take_unpaced())?;
        let segment_time = rate.transmission_time(Bytes::new(u64::from(length)));
        let burst = u64::from(decision.burst.max(1));
        // The pacing debt of earlier segments is at most a burst at the current rate, however low the rate was before.
        let full = rate.transmission_time(Bytes::new(u64::from(segment)));
        self.next_send = self.next_send.min(self.last_sent + full * burst);
        let at = self.next_send - segment_time * (burst - 1);
        if at > now {
            return Some(at);
        }
        self.next_send = self.next_send.max(now) + segment_time;
        None
    }

    /// Consumes one of the segments exempt from pacing.
    fn take_unpaced(&mut self) -> bool {
        let is_free = self.unpaced > 0;
        self.unpaced = self.unpaced.saturating_sub(1);
        is_free
    }
}
