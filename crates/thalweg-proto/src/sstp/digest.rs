//! The states that decide what the two ends do next, fed to a hasher, with numbers counted from an [`Origin`].

use super::receiver::{CALM, Group as Arriving, Pending, Reply};
use super::sender::{Group as Leaving, Record};
use super::{Acknowledgement, Origin, Receiver, Sender};
use crate::digest::{Digest, feed};
use crate::payload::Payload;
use crate::units::{Duration, Time};
use core::hash::{Hash, Hasher};

impl<P: Payload<Queue: Hash> + Hash> Sender<P> {
    /// [`Digest::digest`] with numbers counted from `origin`.
    pub fn digest_from<H: Hasher>(&self, now: Time, origin: Origin, into: &mut H) {
        // By name and without a rest, so that no new field is forgotten.
        let Self {
            config,
            queue,
            clock,
            low,
            high,
            records,
            resends,
            group,
            spare: _,
            next_shipment,
            last_control,
            position,
            writable,
            finishing,
            finished,
            paused,
            limits: _,
            answers: _,
            stats,
        } = self;
        clock.digest(now, into);
        feed(into, (queue, origin.segment(*low), origin.segment(*high), records.len(), resends.len()));
        let min_rtt = stats.common.min_rtt.unwrap_or(Duration::MAX);
        for Record { packets, whole, accepted, wanted, queued, resent, began: _, shipped } in records {
            // Beyond the shortest round trip all ages are the same: no request is early, no sample shorter. What is gone
            // for good has none.
            let is_gone = *accepted && !config.soft;
            let age = if is_gone { Duration::ZERO } else { now.since(*shipped).min(min_rtt) };
            feed(into, (packets, whole, accepted, wanted, queued, resent, age));
        }
        resends.iter().for_each(|&segment| feed(into, origin.segment(segment)));
        feed(
            into,
            group.map(|group| match group {
                Leaving::New(segment) => (false, origin.segment(segment)),
                Leaving::Resend(segment) => (true, origin.segment(segment)),
            }),
        );
        feed(into, (origin.shipment(*next_shipment), last_control.map(|last| origin.control(last))));
        feed(into, (origin.position(*position), min_rtt, writable, finishing, finished, paused));
    }
}

impl<P: Payload<Queue: Hash> + Hash> Digest for Sender<P> {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.digest_from(now, Origin::default(), into);
    }
}

impl<P: Payload + Hash> Receiver<P> {
    /// [`Digest::digest`] with numbers counted from `origin`.
    pub fn digest_from<H: Hasher>(&self, now: Time, origin: Origin, into: &mut H) {
        // By name and without a rest, so that no new field is forgotten.
        let Self {
            config,
            assembly,
            next_shipment,
            waiting,
            strikes,
            group,
            pending,
            held,
            replies,
            next_control,
            told_at,
            lost_at,
            answered_at,
            stats: _,
        } = self;
        assembly.digest(origin.segment, into);
        feed(into, (origin.shipment(*next_shipment), waiting.len(), strikes, pending.len(), held.len()));
        waiting.iter().for_each(|data| feed(into, origin.data(data.clone())));
        match group {
            Arriving::Nothing => feed(into, 0u8),
            Arriving::New(segment, last) => feed(into, (1u8, origin.segment(*segment), last)),
            Arriving::Resend(segment, last, asked) => {
                feed(into, (2u8, origin.segment(*segment), last, asked));
            }
        }
        let patience = self.repeat() + self.repeat();
        for Pending { segment, asked, at } in pending {
            let age = now.since((*at).max(*answered_at)).min(patience);
            feed(into, (origin.segment(*segment), asked, age));
        }
        held.iter().for_each(|&segment| feed(into, origin.segment(segment)));
        feed(into, replies.len());
        for reply in replies {
            feed(
                into,
                match *reply {
                    Reply::Pack(segment) => Reply::Pack(origin.segment(segment)),
                    Reply::Snak(segment) => Reply::Snak(origin.segment(segment)),
                    Reply::State => Reply::State,
                },
            );
        }
        feed(into, (origin.control(*next_control), now.since(*told_at).min(self.repeat())));
        if config.acknowledgement == Acknowledgement::Firm {
            feed(into, now.since(*lost_at).min(self.repeat() * CALM));
        }
    }
}

impl<P: Payload + Hash> Digest for Receiver<P> {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.digest_from(now, Origin::default(), into);
    }
}
