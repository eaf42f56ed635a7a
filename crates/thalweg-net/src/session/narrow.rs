//! A path that takes small packets and no longer those of the size that every path has to take.
//!
//! RFC 8899, section 5.2, has a state for it: the base size has to be confirmed, and where it is not the path is of no use. Here it
//! is asked for where data has been on the way for long and nothing came of it, whatever the scheme. Acknowledgements and
//! keep-alives go on, so that no time-out notices.

use super::{Closed, Session, code};
use crate::batch::{Batch, Purpose};
use crate::wire::frame::Frame;
use crate::wire::{HEADER, SAFE_DATAGRAM, TAG};
use thalweg_proto::units::{Duration, Time};

/// Data without progress for so long is looked into.
const PATIENCE: Duration = Duration::from_secs(5);

/// Probes are so far apart.
const INTERVAL: Duration = Duration::from_millis(500);

/// So many probes are lost, while small packets come, where the path is too narrow. Where half of all packets are lost each way,
/// as many fail once in a hundred thousand times.
const TRIES: u32 = 40;

/// The progress of data on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The bytes sent once when it was looked at last, and since when they are the same.
    sent: u64,
    since: Time,
    /// The time at which progress is looked at next; `MAX` while nothing is on the way.
    due: Time,
    tries: u32,
    /// The time at which the last probe was sent.
    asked: Time,
}

impl Progress {
    pub const fn new() -> Self {
        Self { sent: 0, since: Time::ZERO, due: Time::ZERO, tries: 0, asked: Time::ZERO }
    }

    /// The time at which [`Session::look_at_progress`] has something to do.
    pub const fn due(&self) -> Time {
        self.due
    }

    /// Something is on the way from now on.
    pub fn expect(&mut self, now: Time) {
        if self.due == Time::MAX {
            (self.due, self.since) = (now + PATIENCE, now);
        }
    }

    /// A packet of the size that every path takes has arrived.
    pub fn on_arrived(&mut self, now: Time) {
        (self.since, self.tries) = (now, 0);
    }
}

impl Session {
    /// Looks whether data gets through, and asks the path where it does not. False if it is too narrow, which ends the session.
    pub(super) fn look_at_progress(&mut self, now: Time, batch: &mut Batch) -> bool {
        if now < self.progress.due {
            return true;
        }
        if !self.may_probe() {
            self.progress.due = now + PATIENCE;
            return true;
        }
        let Some(flow) = self.sending() else { return true };
        let (sent, in_flight) = (flow.sent_once(), flow.stats(now).sender.in_flight);
        let progress = &mut self.progress;
        if in_flight == 0 || sent != progress.sent {
            (progress.sent, progress.since, progress.tries) = (sent, now, 0);
            progress.due = if in_flight == 0 { Time::MAX } else { now + PATIENCE };
            return true;
        }
        if now < progress.since + PATIENCE {
            progress.due = progress.since + PATIENCE;
            return true;
        }
        // Where nothing comes at all other rules hold.
        progress.tries += u32::from(self.last_heard > progress.asked);
        if progress.tries > TRIES {
            let reason = "the path does not carry packets of 1228 bytes any more (of 1248 over IPv6)";
            self.drain(now, Some((code::NARROW, reason)), Closed::Narrow);
            return false;
        }
        (progress.asked, progress.due) = (now, now + INTERVAL);
        let to = self.path.remote;
        self.send(batch, to, Purpose::Probe, |into| {
            let start = into.len();
            Frame::Probe(SAFE_DATAGRAM).write(into);
            into.resize(start + usize::from(SAFE_DATAGRAM) - HEADER - TAG, 0);
        });
        // And something small beside it.
        self.ping(now);
        true
    }
}
