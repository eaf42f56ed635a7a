//! Digest of the state that determines future behaviour of an endpoint.
//!
//! POLL numbers are fed as distances from VT(PS), which only increases. Endpoints that differ only in their POLL count
//! then behave the same for PDUs whose N(PS) differs by the same amount.

use super::{Endpoint, Sscop, Variables};
use crate::payload::Payload;
use crate::state_digest::{Digest, hash_all};
use crate::units::Time;
use core::hash::{Hash, Hasher};

impl<P: Payload + Hash> Digest for Sscop<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        // Exhaustive destructuring: a new field cannot be forgotten.
        let Self {
            config: _,
            state,
            clear_buffers,
            variables,
            window_was_open,
            queue,
            transmission_buffer: sent,
            received,
            delivered,
            timers,
            parameters_to_retransmit,
            lower_layer_busy,
            polls,
            rtt,
            paced: _,
            rate,
            stats: _,
            pending_outputs: waiting,
            unnumbered,
        } = self;
        let Variables { vt_s, vt_ps, vt_a, vt_pa, vt_ms, vt_pd, vt_cc, vt_sq, vr_r, vr_h, vr_mr, vr_sq } =
            variables;
        hash_all(
            into,
            (state, clear_buffers, vt_s, vt_a, vt_ps.distance_from(*vt_pa), vt_ms, vt_pd, vt_cc, vt_sq),
        );
        hash_all(into, (vr_r, vr_h, vr_mr, vr_sq, window_was_open, queue));
        sent.feed_state(*vt_ps, into);
        received.feed_state(*delivered, into);
        timers.feed_state(now, into);
        hash_all(into, (parameters_to_retransmit, lower_layer_busy, waiting, unnumbered));
        // Round-trip times affect only the rate. The rate is fed with absolute times, which is correct but
        // distinguishes some equivalent states.
        if let Some(rate) = rate {
            hash_all(into, (now, format!("{rate:?}"), polls, rtt, sent.acknowledged()));
        }
    }
}

impl<P: Payload<Queue: Hash> + Hash> Digest for Endpoint<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self {
            sscop,
            segment: _,
            queue,
            is_opened,
            finishing,
            finished,
            writable_event_pending,
            failed,
            failure_reported,
            peer_is_silent,
            paused,
            unconsumed,
            consumed,
            limits: _,
        } = self;
        sscop.feed_state(now, into);
        hash_all(
            into,
            (queue, is_opened, finishing, finished, writable_event_pending, failed, failure_reported),
        );
        hash_all(into, (peer_is_silent, paused, unconsumed, consumed));
    }
}
