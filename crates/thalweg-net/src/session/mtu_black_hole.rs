//! Detection of a path-MTU black hole: the path still delivers small packets but no longer those of the base size.
//!
//! RFC 8899, section 5.2, defines a state for it: the base size must be confirmed, and a path that fails this is
//! unusable. This module probes the base size when data in flight makes no progress for long, with any scheme.
//! Acknowledgements and keep-alives still arrive, so no timeout detects the black hole.

use super::{CloseReason, Session, code};
use crate::datagram_batch::{Batch, Purpose};
use crate::wire::frame::Frame;
use crate::wire::{AEAD_TAG, HEADER, SAFE_DATAGRAM};
use thalweg_proto::units::{Duration, Time};

/// Time without progress of data in flight before probing starts.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// Number of lost probes, while small packets arrive, that declare a black hole. With 50 % loss in each direction, as
/// many fail once in a hundred thousand times.
const MAX_LOST_PROBES: u32 = 40;

/// Progress of data on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes sent once at the last check, and the time of the last change.
    sent: u64,
    since: Time,
    /// Time of the next check; `MAX` while nothing is in flight.
    next_check: Time,
    tries: u32,
    /// Time of the last probe.
    probed: Time,
}

impl Progress {
    pub const fn new() -> Self {
        Self { sent: 0, since: Time::ZERO, next_check: Time::ZERO, tries: 0, probed: Time::ZERO }
    }

    /// Returns the next time to call [`Session::check_progress`].
    pub const fn due(&self) -> Time {
        self.next_check
    }

    /// Notes that data is in flight.
    pub fn expect(&mut self, now: Time) {
        if self.next_check == Time::MAX {
            (self.next_check, self.since) = (now + STALL_TIMEOUT, now);
        }
    }

    /// Notes the arrival of a packet of the base size.
    pub fn on_arrived(&mut self, now: Time) {
        (self.since, self.tries) = (now, 0);
    }
}

impl Session {
    /// Checks the progress of data, and probes the path if there is none. Returns false on a black hole, which closes
    /// the session.
    pub(super) fn check_progress(&mut self, now: Time, batch: &mut Batch) -> bool {
        if now < self.progress.next_check {
            return true;
        }
        if !self.may_probe() {
            self.progress.next_check = now + STALL_TIMEOUT;
            return true;
        }
        let Some(flow) = self.sending() else { return true };
        let (sent, in_flight) = (flow.sent_once(), flow.stats(now).sender.in_flight);
        let progress = &mut self.progress;
        if in_flight == 0 || sent != progress.sent {
            (progress.sent, progress.since, progress.tries) = (sent, now, 0);
            progress.next_check = if in_flight == 0 { Time::MAX } else { now + STALL_TIMEOUT };
            return true;
        }
        if now < progress.since + STALL_TIMEOUT {
            progress.next_check = progress.since + STALL_TIMEOUT;
            return true;
        }
        // Without any arrivals, the idle timeout applies.
        progress.tries += u32::from(self.last_received > progress.probed);
        if progress.tries > MAX_LOST_PROBES {
            let reason = "the path no longer carries packets of 1228 bytes (of 1248 over IPv6)";
            self.drain(now, Some((code::PATH_MTU_TOO_SMALL, reason)), CloseReason::PathMtuTooSmall);
            return false;
        }
        (progress.probed, progress.next_check) = (now, now + PROBE_INTERVAL);
        let to = self.path.remote;
        self.send(batch, to, Purpose::Probe, |into| {
            let start = into.len();
            Frame::Probe(SAFE_DATAGRAM).write(into);
            into.resize(start + usize::from(SAFE_DATAGRAM) - HEADER - AEAD_TAG, 0);
        });
        // Send a small packet beside the probe.
        self.ping(now);
        true
    }
}
