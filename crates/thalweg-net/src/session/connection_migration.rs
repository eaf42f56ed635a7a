//! Connection migration: changes of the peer's address.

use super::{Session, Side};
use crate::identity::Entropy;
use crate::peer_path::Path;
use crate::wire::SAFE_DATAGRAM;
use crate::wire::frame::Frame;
use std::net::SocketAddr;
use thalweg_proto::units::Time;

impl Session {
    /// Returns true if the peer's current address is validated.
    pub fn is_validated(&self) -> bool {
        self.path.is_validated()
    }

    /// Handles the confirm that begins the session, of `size` bytes, from an address that may not be the validated one.
    pub fn on_confirm_from(&mut self, now: Time, from: SocketAddr, size: usize, entropy: &mut dyn Entropy) {
        if from != self.path.remote {
            self.migrate(now, from, size, entropy);
        }
    }

    /// Migrates to a new peer address.
    pub(super) fn migrate(&mut self, now: Time, from: SocketAddr, size: usize, entropy: &mut dyn Entropy) {
        if self.agreed.side == Side::Client && !self.config.follows {
            return;
        }
        if self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from) {
            self.stats.migrations += 1;
            return self.go_back(now, size);
        }
        if !self.move_limit.take(now) {
            return;
        }
        self.stats.migrations += 1;
        let limit = self.agreed.max_datagram_bytes.max(SAFE_DATAGRAM);
        let mut path = Path::unvalidated(from, limit, now, entropy).inheriting_ecn_from(&self.path);
        path.on_received(size);
        let last = core::mem::replace(&mut self.path, path);
        if last.is_validated() {
            // If an attacker only copied a packet, the peer is still at the old address and answers the challenge (RFC
            // 9000, section 9.3.3).
            entropy.fill(&mut self.recall);
            self.queue_control_frame(&Frame::Challenge(self.recall), Some(last.remote));
            self.fallback = Some(last);
        }
        self.set_maximum(now);
    }

    /// Returns to the last validated address.
    fn go_back(&mut self, now: Time, size: usize) {
        let Some(back) = self.fallback.take() else { return };
        self.path = back;
        self.path.on_received(size);
        self.set_maximum(now);
    }

    /// Handles the peer's answer to the challenge at its old address. An answer from there proves that it has not
    /// migrated.
    pub(super) fn on_recalled(&mut self, now: Time, from: SocketAddr) {
        if self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from) {
            self.go_back(now, 0);
        }
    }

    /// Completes validation of the new address. If more than the port changed, the path may be another: resets
    /// congestion state and round-trip estimates (RFC 9000, section 9.4). Path MTU discovery restarted with the address
    /// change.
    pub(super) fn on_validated(&mut self, now: Time) {
        // The amplification limit delayed the flows' output, and thus the processing of their input.
        for slot in &mut self.slots {
            slot.flow.discard_round_trip_samples();
        }
        let Some(last) = self.fallback.take() else { return };
        if last.remote.ip() == self.path.remote.ip() {
            return;
        }
        for slot in &mut self.slots {
            slot.flow.on_path_change(now, &self.agreed.scheme);
        }
        self.rtt = None;
        self.autotuning.on_path_change();
        self.ping(now);
    }
}
