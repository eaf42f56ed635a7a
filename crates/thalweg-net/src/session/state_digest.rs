//! Digests of sessions, for state-space exploration.

use super::{Phase, Session};
use core::hash::{Hash, Hasher};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::Time;

/// Digest of the connection and its path: addresses, expected packet numbers and pending control frames. It excludes
/// budgets, path MTU discovery and flow state.
impl Digest for Session {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let agreed = &self.agreed;
        (agreed.peer, agreed.local, agreed.remote, agreed.binding, agreed.token, agreed.is_authorised)
            .hash(into);
        (self.is_untrusted(), self.peer_done, self.own_stream_acked, self.newest, self.events.len())
            .hash(into);
        self.encryptor.next_number().hash(into);
        self.decryptor.feed_state(now, into);
        self.path.feed_state(now, into);
        if let Some(fallback) = &self.fallback {
            self.recall.hash(into);
            fallback.feed_state(now, into);
        }
        self.control_frames.hash(into);
        self.datagrams.iter().for_each(|datagram| datagram.as_bytes().hash(into));
        self.confirm.as_ref().map(|confirm| (confirm.next_send.since(now), confirm.tries)).hash(into);
        self.ping_sent.map(|(token, at)| (token, now.since(at))).hash(into);
        (now.since(self.last_received), now.since(self.last_ping)).hash(into);
        match &self.phase {
            Phase::Open => 0.hash(into),
            Phase::Draining(draining) => {
                let (until, due) = (draining.until.since(now), draining.next_repetition.since(now));
                (1, &draining.close, until, due, draining.tries).hash(into);
            }
            Phase::Over => 2.hash(into),
        }
    }
}
