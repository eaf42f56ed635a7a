//! The digest of all state that determines a sender's behaviour.

use super::Sender;
use super::lazy_pause_and_ecn_state::PauseAndEcnState;
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::state_digest::{Digest, hash_all, time_until};
use crate::units::Time;
use crate::window::VerifyAcks;
use core::hash::{Hash, Hasher};

impl<P, C> Digest for Sender<P, C>
where
    P: Payload<Queue: Hash> + Hash,
    C: Controller<PacketInfo: Hash> + Digest,
{
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        // Destructured without `..`, to cover every new field.
        let Self {
            config,
            controller,
            rtt,
            application,
            scoreboard,
            peer,
            phase,
            dupacks,
            exemption,
            pacer,
            timer,
            ack_stretch,
            limits,
            is_interrupted,
            pause_and_ecn,
            extensions,
            counters: _,
        } = self;
        controller.feed_state(now, into);
        let max_retransmissions = config.max_retransmissions;
        scoreboard.feed_state(now, max_retransmissions, into);
        let pause_and_ecn =
            pause_and_ecn.as_deref().cloned().unwrap_or_else(|| PauseAndEcnState::new(config.pause));
        pause_and_ecn.pause.feed_state(now, into);
        hash_all(into, (rtt, peer, scoreboard.next(), phase, dupacks, exemption));
        application.feed_state(into);
        // Expiries count only for a sender that gives up.
        hash_all(
            into,
            (time_until(timer.at(), now), timer.unanswered_expiries().min(max_retransmissions.unwrap_or(0))),
        );
        // A time in the past is due, regardless of its age.
        let (unpaced, next_send) = pacer.state();
        hash_all(into, (unpaced, time_until(next_send, now), now.since(pacer.last_sent())));
        hash_all(into, pause_and_ecn.marks.state());
        if matches!(config.verify_acks, VerifyAcks::AboveStretch(_)) {
            ack_stretch.feed_state(into);
        }
        if let Some(extensions) = extensions {
            // Only outstanding data can predate the path change.
            let path_since = extensions.path_since;
            hash_all(into, path_since.since(scoreboard.oldest().unwrap_or(path_since)));
            extensions.feed_state(now, into);
        }
        hash_all(into, (limits.underlying(), is_interrupted));
    }
}
