//! Digests of endpoints, for state-space exploration.

use super::{Endpoint, Entry, State};
use core::hash::{Hash, Hasher};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::Time;

/// Digest of connections, handshakes and spent cookies. It excludes keys and random bytes, which the explorer controls,
/// as well as rates, budgets and flow state. States that differ only in these are equal.
impl Digest for Endpoint {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.listener.feed_state(self.listener_time(now), into);
        (self.answers.len(), self.events.len(), self.entries.len()).hash(into);
        for (index, entry) in self.entries.iter().enumerate() {
            let Some(Entry { generation, state, unauthenticated, .. }) = entry else {
                0.hash(into);
                continue;
            };
            (1, generation, unauthenticated).hash(into);
            match state {
                State::Connecting(connecting) => {
                    (1, connecting.source, &connecting.cookie, connecting.cookies, connecting.tries)
                        .hash(into);
                    (connecting.version, connecting.wrong, connecting.is_mtu_too_small).hash(into);
                    (connecting.next_retry.since(now), connecting.deadline.since(now)).hash(into);
                }
                State::Open(session) => {
                    // Of two connections with the same remote id, only one receives resets.
                    (3, self.remote_ids.get(&session.agreed().remote) == Some(&index)).hash(into);
                    session.feed_state(now, into);
                }
                State::Gone => 4.hash(into),
            }
        }
    }
}
