//! What decides what a sender does next.

use super::Sender;
use crate::congestion::Controller;
use crate::digest::{Digest, feed, until};
use crate::payload::Payload;
use crate::units::Time;
use core::hash::{Hash, Hasher};

impl<P, C> Digest for Sender<P, C>
where
    P: Payload<Queue: Hash> + Hash,
    C: Controller<PacketInfo: Hash> + Digest,
{
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.controller.digest(now, into);
        self.rtt.hash(into);
        self.queue.hash(into);
        self.outstanding.digest(now, into);
        feed(into, (self.unacknowledged, self.next, self.peer_limit, self.phase));
        feed(into, (self.duplicates, self.limited, self.departed, self.repair_now, self.probe_now));
        feed(into, (until(self.timer, now), self.silent));
        // What is due already is due, however long.
        feed(into, (until(self.next_send, now), now.since(self.last_sent)));
        feed(into, (self.limit, self.signal, self.writable, self.finishing, self.finished));
        feed(into, (self.failed, self.failure_told, self.paused));
    }
}
