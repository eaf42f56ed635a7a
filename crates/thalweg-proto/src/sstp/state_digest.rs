//! Digests of the state that determines future behaviour of both endpoints, with numbers relative to an [`Origin`].

use super::receiver::{Group as Arriving, LOSS_FREE_ROUND_TRIPS, PendingRequest, Reply};
use super::sender::{Group as Leaving, Record};
use super::{Acknowledgement, Origin, Receiver, Sender};
use crate::payload::Payload;
use crate::state_digest::{Digest, hash_all};
use crate::units::{Duration, Time};
use core::hash::{Hash, Hasher};

impl<P: Payload<Queue: Hash> + Hash> Sender<P> {
    /// [`Digest::feed_state`] with numbers counted from `origin`.
    pub fn digest_from<H: Hasher>(&self, now: Time, origin: Origin, into: &mut H) {
        // Exhaustive destructuring: a new field cannot be forgotten.
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
        clock.feed_state(now, into);
        hash_all(into, (queue, origin.segment(*low), origin.segment(*high), records.len(), resends.len()));
        let min_rtt = stats.common.min_rtt.unwrap_or(Duration::MAX);
        for Record {
            packets,
            complete,
            accepted,
            requested_packets: wanted,
            queued,
            resent,
            first_sent: _,
            shipped,
        } in records
        {
            // Ages beyond the minimum round-trip time are equivalent: no request is early, no sample shorter. Data
            // released for good has no age.
            let is_gone = *accepted && !config.soft;
            let age = if is_gone { Duration::ZERO } else { now.since(*shipped).min(min_rtt) };
            hash_all(into, (packets, complete, accepted, wanted, queued, resent, age));
        }
        resends.iter().for_each(|&segment| hash_all(into, origin.segment(segment)));
        hash_all(
            into,
            group.map(|group| match group {
                Leaving::New(segment) => (false, origin.segment(segment)),
                Leaving::Resend(segment) => (true, origin.segment(segment)),
            }),
        );
        hash_all(into, (origin.shipment(*next_shipment), last_control.map(|last| origin.control(last))));
        hash_all(into, (origin.position(*position), min_rtt, writable, finishing, finished, paused));
    }
}

impl<P: Payload<Queue: Hash> + Hash> Digest for Sender<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.digest_from(now, Origin::default(), into);
    }
}

impl<P: Payload + Hash> Receiver<P> {
    /// [`Digest::feed_state`] with numbers counted from `origin`.
    pub fn digest_from<H: Hasher>(&self, now: Time, origin: Origin, into: &mut H) {
        // Exhaustive destructuring: a new field cannot be forgotten.
        let Self {
            config,
            assembly,
            next_shipment,
            out_of_order: waiting,
            keep_alives_since,
            group,
            pending,
            held_requests: held,
            replies,
            next_control,
            reported_at,
            lost_at,
            answered_at,
            stats: _,
        } = self;
        assembly.feed_state(origin.segment, into);
        hash_all(
            into,
            (origin.shipment(*next_shipment), waiting.len(), keep_alives_since, pending.len(), held.len()),
        );
        waiting.iter().for_each(|data| hash_all(into, origin.data(data.clone())));
        match group {
            Arriving::Nothing => hash_all(into, 0u8),
            Arriving::New(segment, last) => hash_all(into, (1u8, origin.segment(*segment), last)),
            Arriving::Resend(segment, last, requested) => {
                hash_all(into, (2u8, origin.segment(*segment), last, requested));
            }
        }
        let request_timeout = self.repeat() + self.repeat();
        for PendingRequest { segment, requested, requested_at: at } in pending {
            let age = now.since((*at).max(*answered_at)).min(request_timeout);
            hash_all(into, (origin.segment(*segment), requested, age));
        }
        held.iter().for_each(|&segment| hash_all(into, origin.segment(segment)));
        hash_all(into, replies.len());
        for reply in replies {
            hash_all(
                into,
                match *reply {
                    Reply::Pack(segment) => Reply::Pack(origin.segment(segment)),
                    Reply::Snak(segment) => Reply::Snak(origin.segment(segment)),
                    Reply::State => Reply::State,
                },
            );
        }
        hash_all(into, (origin.control(*next_control), now.since(*reported_at).min(self.repeat())));
        if config.acknowledgement == Acknowledgement::Firm {
            hash_all(into, now.since(*lost_at).min(self.repeat() * LOSS_FREE_ROUND_TRIPS));
        }
    }
}

impl<P: Payload + Hash> Digest for Receiver<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.digest_from(now, Origin::default(), into);
    }
}
